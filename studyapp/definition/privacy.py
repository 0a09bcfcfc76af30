"""What a study promises about people's data: withdrawal, and how long data are kept.

Pure: no Django.
"""

from datetime import date
from typing import Literal

from pydantic import Field

from foundation.frozen_model import FrozenModel


class Privacy(FrozenModel):
    """What becomes of a person's data on withdrawal and at the end of the retention."""

    withdrawal: Literal["exclude", "delete"] = Field(
        default="exclude",
        description="what a withdrawal does: `exclude` keeps the answers in the database and out of every "
        "export, `delete` deletes them",
    )
    retain_until: date | None = Field(
        default=None,
        description="last day on which data that lead to a person are kept, such as `2027-12-31`; if left "
        "out, until somebody acts",
    )
    at_retention: Literal["anonymise", "delete"] = Field(
        default="anonymise", description="what is done on the day after"
    )
