"""Small charts as shapes in percent of their box.

Templates draw them as SVG. Percent instead of pixels, so that a chart fits a phone and a wide screen without
scaling its strokes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from studyapp.queries.progress import STATES, ConditionProgress

GAP = 0.18  # of the width of a column
FEWEST = 8  # slots, so that a single column is no wall
HEADROOM = 4.0  # percent above the highest column


@dataclass(frozen=True)
class Column:
    """A column of a histogram, in percent, with its label."""

    x: str
    y: str
    width: str
    height: str
    label: str
    count: int


@dataclass(frozen=True)
class Part:
    """A part of a bar of progress: the state, and its place in percent."""

    state: str
    count: int
    x: str
    width: str


@dataclass(frozen=True)
class Progress:
    """A bar of progress, as long as the quota or what was assigned.

    ``look`` is the colour of the condition, ``quota`` the place of the quota in percent, empty if it is
    the end of the bar or missing.
    """

    row: ConditionProgress
    look: str
    parts: list[Part]
    quota: str


@dataclass(frozen=True)
class Interval:
    """A value with its interval, in percent of the width.

    Low and high are empty without an interval.
    """

    label: str
    look: str
    value: float
    low: float | None
    high: float | None
    at: str
    start: str
    end: str


def columns(bars: Sequence[tuple[str, int]]) -> list[Column]:
    """Return the columns of a histogram from labels and counts."""
    most = max((count for _label, count in bars), default=0) or 1
    step = 100 / max(len(bars), FEWEST)
    shapes = []
    for place, (label, count) in enumerate(bars):
        height = (100 - HEADROOM) * count / most
        shapes.append(
            Column(
                _percent((place + GAP / 2) * step),
                _percent(100 - height),
                _percent((1 - GAP) * step),
                _percent(height),
                label,
                count,
            )
        )
    return shapes


def progress_bar(row: ConditionProgress, look: str) -> Progress:
    """Return the bar of a condition."""
    length = max(row.quota or 0, row.assigned) or 1
    parts, start = [], 0
    for state in STATES:
        count = getattr(row, state)
        if count:
            parts.append(Part(state, count, _percent(100 * start / length), _percent(100 * count / length)))
        start += count
    is_inside = row.quota is not None and row.quota < length
    return Progress(row, look, parts, _percent(100 * (row.quota or 0) / length) if is_inside else "")


def intervals(
    rows: Sequence[tuple[str, str, float, float | None, float | None]],
) -> tuple[list[Interval], str]:
    """Return values with intervals on one axis, and the place of zero.

    The place is empty if zero is not on the axis.

    Args:
        rows: Label, look, value, low and high of each.
    """
    numbers = [n for _label, _look, *values in rows for n in values if n is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    if low > 0 and low < high / 2:
        low = 0.0
    margin = 0.06 * ((high - low) or 1)
    low, high = low - margin, high + margin

    def place(value: float | None) -> str:
        return "" if value is None else _percent(100 * (value - low) / (high - low))

    shapes = [
        Interval(label, look, value, start, end, place(value), place(start), place(end))
        for label, look, value, start, end in rows
    ]
    return shapes, place(0.0) if low <= 0 <= high else ""


def _percent(value: float) -> str:
    return f"{value:.2f}%"
