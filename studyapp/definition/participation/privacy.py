"""Promises of a study about data: withdrawal and retention.

Pure: no Django.
"""

from datetime import date
from typing import Literal

from pydantic import Field

from foundation.frozen_model import FrozenModel


class Privacy(FrozenModel):
    """Treatment of a participant's data on withdrawal and after retention."""

    withdrawal: Literal["exclude", "delete"] = Field(
        default="exclude",
        description="effect of a withdrawal: `exclude` keeps the answers in the database and out of every "
        "export, `delete` deletes them",
    )
    retain_until: date | None = Field(
        default=None,
        description="last day on which the site keeps personal data, such as `2027-12-31`; if left out, it "
        "keeps them until somebody removes them",
    )
    at_retention: Literal["anonymise", "delete"] = Field(
        default="anonymise", description="what happens on the day after"
    )
