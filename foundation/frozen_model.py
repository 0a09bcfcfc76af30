"""The base of immutable typed values."""

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """An immutable model that rejects unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)
