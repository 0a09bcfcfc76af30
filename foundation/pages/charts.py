"""Small charts as shapes in percent of their box, for SVG in templates.

Percent instead of pixels, so that a chart fits a phone and a wide screen without scaling its strokes. The
template ``chart_columns.html`` draws columns with their table; ``frame.js`` shows the value of a mark under
the pointer and moves between marks by keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass

GAP = 0.18  # of the width of a column
FEWEST = 8  # slots, so that a single column is no wall
HEADROOM = 4.0  # percent above the highest column


@dataclass(frozen=True)
class Column:
    """A column: its label and value, the slot that it stands in, and its box."""

    label: str
    value: float
    slot: str
    slot_width: str
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True)
class Columns:
    """The columns of a chart, and the value at its top."""

    columns: list[Column]
    most: float


@dataclass(frozen=True)
class Part:
    """A part of a bar: its CSS class, label, number, and position in percent."""

    css: str
    label: str
    number: int
    x: str
    width: str


@dataclass(frozen=True)
class Interval:
    """A value with its confidence interval, in percent of the width.

    Low and high are empty without an interval.
    """

    label: str
    style: str
    value: float
    low: float | None
    high: float | None
    at: str
    start: str
    end: str


def build_columns(rows: Sequence[tuple[str, float]], *, most: float | None = None) -> Columns | None:
    """Return columns from labels and values; None without any.

    Args:
        rows: Label and value of each.
        most: The value at the top of the chart, by default the largest.
    """
    if not rows:
        return None
    top = most if most is not None else max(value for _label, value in rows) or 1
    step = 100 / max(len(rows), FEWEST)
    shapes = []
    for index, (label, value) in enumerate(rows):
        height = (100 - HEADROOM) * value / top
        box = (index * step, step, (index + GAP / 2) * step, 100 - height, (1 - GAP) * step, height)
        shapes.append(Column(label, value, *map(format_percent, box)))
    return Columns(shapes, top)


def build_bar_parts(rows: Sequence[tuple[str, str, int]], *, length: int | None = None) -> list[Part]:
    """Return the parts of a bar, without empty ones.

    Args:
        rows: CSS class, label and number of each.
        length: The number that fills the bar, by default the sum.
    """
    whole = length or sum(number for _css, _label, number in rows) or 1
    shapes, start = [], 0
    for css, label, number in rows:
        if number:
            box = (100 * start / whole, 100 * number / whole)
            shapes.append(Part(css, label, number, *map(format_percent, box)))
        start += number
    return shapes


def build_intervals(
    rows: Sequence[tuple[str, str, float, float | None, float | None]],
) -> tuple[list[Interval], str]:
    """Return values with intervals on one axis, and the place of zero.

    The place is empty if zero is not on the axis.

    Args:
        rows: Label, style, value, low and high of each.
    """
    numbers = [n for _label, _style, *values in rows for n in values if n is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    if low > 0 and low < high / 2:
        low = 0.0
    margin = 0.06 * ((high - low) or 1)
    low, high = low - margin, high + margin

    def position(value: float | None) -> str:
        return "" if value is None else format_percent(100 * (value - low) / (high - low))

    shapes = [
        Interval(label, style, value, start, end, position(value), position(start), position(end))
        for label, style, value, start, end in rows
    ]
    return shapes, position(0.0) if low <= 0 <= high else ""


def format_percent(value: float) -> str:
    """Return a length for an attribute of SVG."""
    return f"{value:.2f}%"
