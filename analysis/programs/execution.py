"""Results of a program, given the objects at its nodes.

Outputs are keyed by representative node. A missing one makes it and all that
depends on it unknown: None. Nothing is guessed: `and` of false and unknown is
unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .modules import Type
from .program import Program
from .values import date_of, number_of

Value = bool | int | float | str
"""The value of a node: a truth value, a number, or a date as ISO 8601 text."""


class FoundBox(NamedTuple):
    """A box in an image (0: left): left, top, right, bottom, all in one unit.

    Attributes:
        image: 0 for the left one.
        box: Left, top, right, bottom.
    """

    image: int
    box: tuple[float, float, float, float]


class FoundSpan(NamedTuple):
    """A stretch of the passage, end exclusive.

    Attributes:
        start: First token or code point.
        end: The one after the last.
        quote: Text of the span.
        value: The number or the date (ISO 8601, may lack day or month) that it stands for, if the module
            finds those; None to read it from the quote.
        sources: Spans (start, end) of the objects that it is linked to.
    """

    start: int
    end: int
    quote: str = ""
    value: Value | None = None
    sources: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Execution:
    """Results of a program, a tuple each over its nodes.

    Attributes:
        values: Of a node that gives a number or truth, that; of boxes and spans, how many there are; of
            numbers and dates in the text, the one that they all state. None if unknown, or if the runs
            differ.
        runs: The value in each run. A node runs once, but below the modules that take each image alone it
            runs for the left and for the right image (below `in-one-other-image`: left, then right, as the
            one).
        objects: The output of a node that gives objects, over all its runs; None for others and if unknown.
    """

    values: tuple[Value | None, ...]
    runs: tuple[tuple[Value | None, ...], ...]
    objects: tuple[tuple[FoundBox, ...] | tuple[FoundSpan, ...] | None, ...]

    @property
    def value(self) -> Value | None:
        """The value of the whole program."""
        return self.values[0]


def compute_value(objects: Sequence[FoundBox] | Sequence[FoundSpan] | None, type_: Type) -> Value | None:
    """Return the value of objects: their number, or the number they all state.

    A date counts like a number.
    """
    if objects is None:
        return None
    if type_ in ("boxes", "spans"):
        return len(objects)
    return read_stated_value(objects, type_)


def read_stated_value(objects: Sequence[Any], type_: Type) -> Value | None:
    """Return the number or date that all spans state; None without one."""
    values = {span.value if span.value is not None else _read(span.quote, type_) for span in objects}
    return values.pop() if len(values) == 1 else None


def read_values(objects: Sequence[FoundSpan], type_: Type) -> list[Value | None]:
    """Return the number or date of each span."""
    return [span.value if span.value is not None else _read(span.quote, type_) for span in objects]


def _read(quote: str, type_: Type) -> Value | None:
    return date_of(quote) if type_ == "dates" else number_of(quote)


def check_representatives(program: Program, given: Mapping[int, Any], what: str) -> None:
    """Raise ValueError for outputs or values at a node without effect.

    A node that is not a representative has none.
    """
    for index in given:
        if not 0 <= index < len(program.nodes) or program.representative[index] != index:
            raise ValueError(f"{what} are given at node {index}, which is not a representative of {program}")
