"""Figures of the report, as SVG with an alternative text.

The same numbers give the same bytes.

The colours are those of `condition_looks`. After the figures 2 and 4 of Schuff et al. 2020.
"""

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from ..participants.condition_looks import COLOURS, GREY, MARKERS, look_numbers
from ..participants.estimates import Estimate, Estimates
from ..study.analysis import Study, View
from ..study.human_vs_model import Quantity, Relations
from .page import Figure
from .tables import interval, number

INK = "#1c2430"
PNG_DPI = 150
MOST_LINES = 100  # participants whose changes remain distinguishable
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "svg.hashsalt": "touchstone",
    "svg.fonttype": "path",
    "path.simplify": False,
}
UNITS = {"share": "%", "seconds": "s", "points": "points", "number": ""}
SCALE = {"share": 100.0}


@dataclass(frozen=True)
class Look:
    """How a condition is drawn, in every figure."""

    title: str
    colour: str
    marker: str


def looks(study: Study) -> dict[str, Look]:
    """Assign a style to each condition; ground truth is grey."""
    numbers = look_numbers(
        (condition.name, condition.system is None or condition.ground_truth) for condition in study.conditions
    )
    styles = {}
    for condition in study.conditions:
        number = numbers[condition.name]
        style = (GREY, "X") if number is None else (COLOURS[number], MARKERS[number])
        styles[condition.name] = Look(condition.title, *style)
    return styles


def condition_figure(study: Study, measure: str, caption: str) -> Figure | None:
    """Draw a measure per condition: participants and their mean.

    None if no condition has the measure.
    """
    estimates = study.retained.estimates
    if not estimates.available(measure):
        return None
    shown = [name for name in estimates.conditions if estimates.get(measure, name).value is not None]
    first = estimates.get(measure, shown[0]).measure
    scale, styles = SCALE.get(first.unit, 1.0), looks(study)
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(max(4.0, 1.05 * len(shown) + 1.1), 3.5), layout="constrained")
        axes = canvas.subplots()
        _draw_changes(axes, estimates, measure, shown, scale)
        for x, name in enumerate(shown):
            values = _participants(estimates, measure, name) * scale
            _draw_condition(axes, x, values, estimates.get(measure, name), scale, styles[name])
        axes.set_xticks(range(len(shown)), [wrapped(styles[name].title) for name in shown])
        axes.set_xlim(-0.6, len(shown) - 0.4)
        axes.set_ylabel(axis_label(first.label, first.unit))
        axes.grid(axis="y", color="#e3e7ec", linewidth=0.8)
        if first.key == "over_estimation":
            axes.axhline(0, color=INK, linewidth=0.8)
        svg, png = drawn(canvas)
    sentences = [
        f"{styles[name].title}: {_spoken(estimates.get(measure, name), scale)}, "
        f"{estimates.get(measure, name).participants} participants"
        for name in shown
    ]
    alternative = f"{first.label} ({UNITS[first.unit] or 'no unit'}) per condition. {'. '.join(sentences)}."
    return Figure(f"{measure.replace('_', '-')}-by-condition", caption, alternative, svg, half=True, png=png)


def _draw_changes(axes: Axes, estimates: Estimates, measure: str, shown: Sequence[str], scale: float) -> None:
    """Join the values of participants who saw two conditions."""
    for x, pair in enumerate(pairwise(shown)):
        if estimates.paired(*pair):
            values = np.array([_participants(estimates, measure, name) for name in pair]) * scale
            if values.shape[1] <= MOST_LINES:
                axes.plot([x, x + 1], values, color=GREY, linewidth=0.6, alpha=0.35, zorder=1)


def certainty_figure(study: Study) -> Figure | None:
    """Draw completion time at each level of certainty."""
    view = study.retained
    times = [entry for entry in view.times if entry.seconds is not None]
    if not times:
        return None
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(7.4, 4.2), layout="constrained")
        axes = canvas.subplots()
        for name, look in looks(study).items():
            entries = [entry for entry in times if entry.by_condition.get(name) is not None]
            axes.plot(
                [entry.level for entry in entries], [entry.by_condition[name] or 0.0 for entry in entries],
                color=look.colour, marker=look.marker, markersize=5, linewidth=1, alpha=0.75,
                label=look.title,
            )  # fmt: skip
        for entry in times:
            if entry.interval:
                axes.vlines(entry.level, *entry.interval, color=INK, linewidth=1.6)
        levels = [entry.level for entry in times]
        seconds = [entry.seconds or 0.0 for entry in times]
        axes.plot(levels, seconds, "o-", color=INK, markersize=8, linewidth=2.2, label="all conditions")
        axes.set_xticks(levels, [_level_label(study, level) for level in levels])
        axes.set_ylim(bottom=0)
        axes.set_ylabel("Completion time (s)")
        axes.set_xlabel("Certainty of the rating")
        axes.grid(axis="y", color="#e3e7ec", linewidth=0.8)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        svg, png = drawn(canvas)
    spoken = "; ".join(
        f"certainty {entry.level}: {number(entry.seconds, 1)} s"
        + (f" ({_range(entry.interval, 1.0, 1)})" if entry.interval else "")
        + f", {entry.trials} trials of {entry.participants} participants"
        for entry in times
    )
    caption = (
        "Mean completion time at each level of certainty, participants first; the black line takes all "
        "conditions together, with 95 % two-way bootstrap intervals."
    )
    return Figure("time-by-certainty", caption, f"Completion time against certainty: {spoken}.", svg, png=png)


def scores_figure(
    study: Study, view: View, measure: Quantity, scores: Sequence[Quantity], name: str, caption: str
) -> Figure | None:
    """Draw a human measure against each score, one panel per score.

    None if there is no score to show.
    """
    if not scores:
        return None
    styles = looks(study)
    estimates = [view.estimates.get(measure.key, condition.name) for condition in study.systems]
    scale = SCALE.get(estimates[0].measure.unit, 1.0)
    columns = min(4, len(scores))
    rows = -(-len(scores) // columns)
    with mpl.rc_context(STYLE | {"font.size": 9, "axes.titlesize": 9}):
        canvas = Canvas(figsize=(2.35 * columns + 0.6, 2.15 * rows + 0.75), layout="constrained")
        panels = canvas.subplots(rows, columns, sharey=True, squeeze=False)
        for panel, score in zip(panels.flat, scores, strict=False):
            _draw_pairs(panel, study, estimates, score, scale, styles)
            panel.set_title(_with_rank(score, measure, view.relations))
        for panel in panels.flat[len(scores) :]:
            panel.set_visible(False)
        canvas.supylabel(axis_label(measure.label, estimates[0].measure.unit), fontsize=10)
        handles, labels = panels.flat[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False)
        svg, png = drawn(canvas)
    alternative = f"{measure.label} against {len(scores)} model scores. " + " ".join(
        _spoken_pair(score, measure, view.relations) for score in scores
    )
    return Figure(name, caption, alternative, svg, png=png)


def _draw_condition(
    axes: Axes, x: int, values: np.ndarray, estimate: Estimate, scale: float, look: Look
) -> None:
    values = np.sort(values[~np.isnan(values)])
    x_values = x + scatter_offsets(len(values), 0.44)
    draw_participants(axes, x_values, values, look, sizes=(22, 6), alphas=(0.45, 0.15))
    if estimate.interval:
        low, high = (bound * scale for bound in estimate.interval)
        axes.vlines(x, low, high, color=INK, linewidth=2.2)
        axes.hlines([low, high], x - 0.07, x + 0.07, color=INK, linewidth=2.2)
    assert estimate.value is not None
    axes.scatter(
        [x], [estimate.value * scale], s=85, color=look.colour, marker=look.marker, edgecolors=INK,
        linewidths=1.4, zorder=3,
    )  # fmt: skip


def _draw_pairs(
    panel: Axes,
    study: Study,
    estimates: Sequence[Estimate],
    score: Quantity,
    scale: float,
    styles: dict[str, Look],
) -> None:
    for system, (condition, estimate) in enumerate(zip(study.systems, estimates, strict=True)):
        look, x = styles[condition.name], score.values[system] * 100
        if estimate.value is None or np.isnan(x):
            continue
        if estimate.interval:
            low, high = estimate.interval
            panel.vlines(x, low * scale, high * scale, color=look.colour, linewidth=1.4)
        y = estimate.value * scale
        if bounds := score.interval(system):
            panel.hlines(y, bounds[0] * 100, bounds[1] * 100, color=look.colour, linewidth=1.4)
        panel.scatter([x], [y], color=look.colour, marker=look.marker, s=42, zorder=3, label=look.title)
    panel.margins(x=0.18)
    panel.xaxis.set_major_locator(MaxNLocator(3))
    panel.grid(color="#e3e7ec", linewidth=0.6)


def _participants(estimates: Estimates, measure: str, condition: str) -> np.ndarray:
    return estimates.per_participant[measure][estimates.conditions.index(condition)]


def _with_rank(score: Quantity, measure: Quantity, relations: Relations) -> str:
    relation = relations.get(measure.key, score.key)
    sign = relation.rank.sign if relation.rank and relation.n == len(relations.systems) else ""
    share = "" if relation.sign_share is None else f" {int(100 * relation.sign_share + 1e-9)} %"
    return f"{score.label}  ({sign.replace('-', '−')}{share})" if sign else score.label


def _spoken_pair(score: Quantity, measure: Quantity, relations: Relations) -> str:
    relation = relations.get(measure.key, score.key)
    if relation.n < len(relations.systems):
        return f"{score.label}: known for {relation.n} systems only."
    sign = relation.rank.sign if relation.rank else ""
    words = {"+": "same ranking", "-": "reversed ranking", "": "neither the same nor the reversed ranking"}
    return f"{score.label}: {words[sign]}."


def _spoken(estimate: Estimate, scale: float) -> str:
    decimals = 1 if scale == 100 else 2
    value = number((estimate.value or 0.0) * scale, decimals)
    return f"{value} ({_range(estimate.interval, scale, decimals)})" if estimate.interval else value


def _range(bounds: tuple[float, float], scale: float, decimals: int) -> str:
    return f"95 % interval {interval((bounds[0] * scale, bounds[1] * scale), decimals)}"


def axis_label(label: str, unit: str) -> str:
    """Name and unit, in lines that fit beside an axis."""
    text = f"{label}\u00a0({UNITS[unit]})" if UNITS[unit] else label
    return "\n".join(textwrap.wrap(text, 34))


def _level_label(study: Study, level: int) -> str:
    question = study.version.question("certainty")
    labels = getattr(question.scale, "labels", None) if question else None
    return f"{level}\n{wrapped(labels[level - 1])}" if labels and len(labels) >= level else str(level)


def wrapped(text: str, width: int = 12) -> str:
    """Wrap text at `width` characters; a longer word stays whole."""
    return "\n".join(textwrap.wrap(text, width, break_long_words=False)) or text


def scatter_offsets(count: int, width: float) -> np.ndarray:
    """Spread points evenly across `width` by multiples of the golden ratio."""
    return ((np.arange(count) * 0.618034) % 1 - 0.5) * width


def draw_participants(
    axes: Axes,
    x: np.ndarray,
    y: np.ndarray,
    look: Look,
    *,
    sizes: tuple[int, int],
    alphas: tuple[float, float] = (0.6, 0.2),
) -> None:
    """Draw a mark per participant; second size and alpha above 100 of them."""
    many = len(x) > 100
    axes.scatter(
        x, y, s=sizes[many], color=look.colour, marker=look.marker, alpha=alphas[many], linewidths=0,
        rasterized=len(x) > 500,
    )  # fmt: skip


def drawn(canvas: Canvas) -> tuple[str, bytes]:
    """The canvas as SVG and as PNG; the same drawing gives the same bytes."""
    text, image = io.StringIO(), io.BytesIO()
    canvas.draw_without_rendering()
    canvas.set_layout_engine(None)  # laid out once, for both; "none" would draw twice more for nothing
    canvas.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    canvas.savefig(image, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return text.getvalue(), image.getvalue()
