"""Visual bias as tables and figures, on a page or as plain text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import NullLocator

from ..participants.condition_styles import COLOURS, GREY, MARKERS
from ..report.page import Block, Figure, Page, Section, Text
from ..report.plots.intervals import GRID, INK, STYLE, render_figure
from ..report.tables import Cell, Column, Table, format_interval, format_number, format_p
from ..stats.bootstrap_sums import Quantity
from ..visual_bias.pairs import PARTS, Frequency, Part, VisualBias
from ..visual_bias.systems import Delta, SystemScores

Systems = Mapping[str, SystemScores]
PERCENT = 100
PAIRS_NOTE = (
    "Examples of one image pair depend on each other; intervals (95 %, BCa) are from a bootstrap over image "
    "pairs, p from a studentised permutation of image pairs. Each p stands for itself."
)


def build_page(bias: VisualBias, systems: Systems, facts: Mapping[str, str]) -> Page:
    """Build the page on a dataset, and on systems if there are any."""
    pairs: list[Block] = [
        Text(describe_majority_accuracy(bias)),
        *tabulate_bias(bias),
        _draw_pairs_figure(bias),
    ]
    sections = [Section("pairs", "Bias in image pairs", pairs)]
    if systems:
        blocks: list[Block] = [*tabulate_systems(systems), _draw_systems_figure(systems)]
        sections.append(Section("systems", "Bias in systems", blocks))
    return Page("Visual bias", "", facts, sections)


def describe_majority_accuracy(bias: VisualBias) -> str:
    """Describe the accuracy of the majority label in a sentence."""
    return (
        f"Answering every example with the majority label of its image pair (ties: true) is right about "
        f"{_format_percent(bias.majority_accuracy, 2)} % of {len(bias.ids)} examples of "
        f"{len(bias.sizes)} pairs. "
        f"No system that looks at the images only can do better."
    )


def tabulate_bias(bias: VisualBias) -> list[Table]:
    """Tabulate pairs by frequency, and the sizes of the parts."""
    return [_tabulate_frequencies(bias), _tabulate_parts(bias)]


def tabulate_systems(systems: Systems) -> list[Table]:
    """Tabulate the accuracy of systems, and each value with interval and p."""
    return [_tabulate_overview(systems), _tabulate_details(systems)]


def format_plain_text(table: Table) -> str:
    """Format a table in aligned columns, below its caption."""
    lines = [list(table.header), *([cell.plain for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    words = {0, *table.words}
    aligned = (
        "  ".join(
            text.ljust(width) if index in words else text.rjust(width)
            for index, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
    return "\n".join([table.caption, *aligned, *table.notes])


def _tabulate_frequencies(bias: VisualBias) -> Table:
    columns = [
        Column("frequency", heading="Examples of a pair"),
        Column("pairs", heading="Pairs"),
        Column("expected_same", "", "Expected same", lambda row: format_number(row.expected_same)),
        Column("expected_share", "", "Expected %", lambda row: _format_percent(row.expected_share, 2)),
        Column("observed_same", heading="Observed same"),
        Column("observed_share", "", "Observed %", lambda row: _format_percent(row.observed_share, 2)),
    ]
    note = (
        "Same: one label throughout. Expected: 2^(1 − n) of the pairs of n examples, were labels independent."
    )
    caption = "Image pairs by frequency"
    return Table.from_columns("pair_frequencies", caption, bias.frequencies, columns, [note])


@dataclass(frozen=True)
class PartSize:
    """Size of a part of the data; no accuracy without an example."""

    examples: int
    pairs: int
    majority_label_accuracy: float | None


def compute_part_sizes(bias: VisualBias) -> dict[Part, PartSize]:
    """Return the size of each part, and how far its majority labels go."""
    right = bias.majority_labels == bias.labels
    sizes = {}
    for part in PARTS:
        members = bias.examples_of(part)
        accuracy = float(right[members].mean()) if members.any() else None
        sizes[part] = PartSize(int(members.sum()), int(bias.pairs_of(part).sum()), accuracy)
    return sizes


def _tabulate_parts(bias: VisualBias) -> Table:
    meanings = {
        "all": "",
        "balanced": "pairs with both labels",
        "unbalanced": "pairs of several examples, one label",
    }
    columns = [
        Column("part", lambda row: row[0], "Part"),
        Column("", lambda row: meanings[row[0]], "Which", is_text=True),
        Column("examples", lambda row: row[1].examples, "Examples"),
        Column("pairs", lambda row: row[1].pairs, "Pairs"),
        Column(
            "majority_accuracy",
            lambda row: row[1].majority_label_accuracy,
            "Majority label right %",
            lambda row: _format_percent(row[1].majority_label_accuracy, 2),
        ),
    ]
    return Table.from_columns("parts", "Parts of the data", list(compute_part_sizes(bias).items()), columns)


def _tabulate_overview(systems: Systems) -> Table:
    def format_delta_cell(scores: SystemScores, delta: Delta) -> Cell:
        value = scores.accuracy[delta.first].value
        return Cell(
            _format_percent(value), detail="" if value is None else f"({_format_signed(delta.difference)})"
        )

    columns = [
        Column("", lambda row: row[0], "System"),
        Column("", lambda row: _format_percent(row[1].accuracy["all"].value), "All"),
        Column("", heading="Balanced", cell=lambda row: format_delta_cell(row[1], row[1].deltas[0])),
        Column("", heading="Unbalanced", cell=lambda row: format_delta_cell(row[1], row[1].deltas[1])),
    ]
    note = "Accuracy in percent; in brackets the difference to all examples."
    return Table.from_columns("systems", "Accuracy of systems", list(systems.items()), columns, [note])


class _Detail(NamedTuple):
    """An accuracy of a system on a part, or a difference of two."""

    system: str
    what: str
    quantity: Quantity
    delta: Delta | None = None


def _tabulate_details(systems: Systems) -> Table:
    rows = []
    for name, scores in systems.items():
        rows += [_Detail(name, part, accuracy) for part, accuracy in scores.accuracy.items()]
        rows += [
            _Detail(name, format_contrast_key(delta), delta.difference, delta) for delta in scores.deltas
        ]
    columns = [
        Column("system", heading="System"),
        Column("what", "", "What", lambda row: row.what.replace("-", " − "), is_text=True),
        Column(
            "examples",
            lambda row: None if row.delta else row.quantity.n,
            "Examples",
            lambda row: "" if row.delta else str(row.quantity.n),
        ),
        Column(
            "value",
            "quantity.value",
            "%",
            lambda row: _format_signed(row.quantity) if row.delta else _format_percent(row.quantity.value),
        ),
        Column("low high", "quantity.bounds", "95 % interval", lambda row: _format_bounds(row.quantity)),
        Column("p", "delta.p", "p", lambda row: format_p(row.delta.p) if row.delta else ""),
    ]
    caption = "Accuracy and differences, with uncertainty"
    return Table.from_columns("system_accuracy", caption, rows, columns, [PAIRS_NOTE])


def format_contrast_key(delta: Delta) -> str:
    """Return the key of a difference in JSON and CSV."""
    return f"{delta.first}-{delta.second}"


def _draw_pairs_figure(bias: VisualBias) -> Figure:
    rows = bias.frequencies
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(7.4, 3.2), layout="constrained")
        left, right = canvas.subplots(1, 2)
        _draw_counts(left, rows)
        _draw_shares(right, [row for row in rows if row.frequency > 1])
        for axes in (left, right):
            _format_count_axis(axes, rows[-1].frequency)
    spoken = "; ".join(
        f"{row.pairs} pairs in {row.frequency} examples each, {row.observed_same} of them with one label "
        f"throughout ({_format_percent(row.observed_share)} %, "
        f"expected {_format_percent(row.expected_share)} %)"
        for row in rows
    )
    caption = (
        "Left: image pairs by the number of their examples, on a logarithmic scale. Right: share of the "
        "pairs with one label throughout, beside what independent labels would give."
    )
    return render_figure(canvas, "pair-frequencies", caption, f"Image pairs by frequency: {spoken}.")


def _draw_counts(axes: Axes, rows: Sequence[Frequency]) -> None:
    most = max(row.pairs for row in rows)
    axes.bar_label(axes.bar([row.frequency for row in rows], [row.pairs for row in rows], color=COLOURS[0]))
    axes.set_yscale("log")
    axes.set_ylim(0.5, 3 * most)
    # Plain numbers: powers of ten would need the fonts of formulae.
    axes.set_yticks([10**power for power in range(len(str(most)))], minor=False)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylabel("Image pairs")


def _draw_shares(axes: Axes, rows: Sequence[Frequency]) -> None:
    x = [row.frequency for row in rows]
    axes.plot(x, [PERCENT * row.expected_share for row in rows], "o--", color=GREY, label="expected")
    axes.plot(x, [PERCENT * row.observed_share for row in rows], "s", color=COLOURS[1], label="observed")
    axes.set_ylim(0, 105)
    axes.set_ylabel("Pairs with one label throughout (%)")
    if rows:
        axes.legend(frameon=False)


def _format_count_axis(axes: Axes, largest: int) -> None:
    axes.set_xticks(range(1, largest + 1, max(1, largest // 10)))
    axes.set_xlim(0.4, largest + 0.6)
    axes.set_xlabel("Examples of a pair")
    axes.grid(axis="y", color=GRID, linewidth=0.8)


def _draw_systems_figure(systems: Systems) -> Figure:
    offsets = (np.arange(len(systems)) - (len(systems) - 1) / 2) * min(0.2, 0.7 / len(systems))
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(7.4, 3.6), layout="constrained")
        axes = canvas.subplots()
        for turn, (name, scores) in enumerate(systems.items()):
            style = turn % len(COLOURS)
            _draw_system(axes, scores, float(offsets[turn]), COLOURS[style], MARKERS[style], name)
        axes.set_xticks(range(len(PARTS)), PARTS)
        axes.set_xlim(-0.6, len(PARTS) - 0.4)
        axes.axhline(50, color=INK, linewidth=0.8, linestyle=":")
        axes.set_ylabel("Accuracy (%)")
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    spoken = ". ".join(f"{name}: {_describe_accuracies(scores)}" for name, scores in systems.items())
    caption = "Accuracy on all, balanced and unbalanced examples, with 95 % intervals; dotted: chance."
    return render_figure(canvas, "accuracy-by-part", caption, f"Accuracy by part. {spoken}.")


def _draw_system(
    axes: Axes, scores: SystemScores, offset: float, colour: str, marker: str, name: str
) -> None:
    accuracies = [
        (x, accuracy) for x, part in enumerate(PARTS) if (accuracy := scores.accuracy[part]).value is not None
    ]
    for x, accuracy in accuracies:
        if accuracy.interval:
            low, high = accuracy.interval.bounds
            axes.vlines(x + offset, PERCENT * low, PERCENT * high, color=colour, linewidth=1.6)
    positions = [x + offset for x, _ in accuracies]
    values = [PERCENT * (accuracy.value or 0.0) for _, accuracy in accuracies]
    axes.plot(positions, values, marker, color=colour, label=name)


def _describe_accuracies(scores: SystemScores) -> str:
    return ", ".join(
        f"{part} {_format_percent(accuracy.value)} %"
        + (f" {_format_bounds(accuracy)}" if accuracy.interval else "")
        for part, accuracy in scores.accuracy.items()
        if accuracy.value is not None
    )


def _format_percent(share: float | None, decimals: int = 1) -> str:
    return format_number(None if share is None else PERCENT * share, decimals)


def _format_signed(quantity: Quantity) -> str:
    """Format percentage points with their sign, +0.0 for none."""
    text = _format_percent(quantity.value)
    return text if quantity.value is None or text.startswith("−") else f"+{text}"


def _format_bounds(quantity: Quantity) -> str:
    return format_interval(quantity.bounds, 1, PERCENT)
