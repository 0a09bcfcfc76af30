"""Published values, each table with its place in the paper."""

import json
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

Value = float | str | None


class Grid(BaseModel):
    """A table of a paper; None for an empty cell."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    place: str  # words: allow - a key of the files of published values
    columns: tuple[str, ...]
    rows: dict[str, tuple[Value, ...]]
    decimals: int = 2

    def get(self, row: str, column: str) -> Value:
        """Return the value in a row and column."""
        return self.rows[row][self.columns.index(column)]

    def numbers(self, row: str) -> list[float]:
        """Return the values of a row without empty cells."""
        return [value for value in self.rows[row] if isinstance(value, int | float)]


class Paper(BaseModel):
    """A publication with its values."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    citation: str
    release: str
    licence: str
    grids: dict[str, Grid] = {}
    facts: dict[str, float] = {}


@cache
def load_paper(name: str) -> Paper:
    """Return the published values of a paper, such as "schuff2020"."""
    text = files(__name__).joinpath(f"{name}.json").read_text("utf-8")
    return Paper.model_validate(json.loads(text))
