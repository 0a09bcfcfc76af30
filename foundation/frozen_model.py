"""The base of typed values that never change once made."""

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """Immutable, and an unknown field is an error rather than ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)
