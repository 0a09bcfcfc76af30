"""Figures of the report, in the widths of two publishers' columns.

The same numbers give the same bytes. Conditions differ by mark and line as well as by colour, so that a
figure reads in grey; fonts are embedded as TrueType, because publishers refuse Type 3.

The colours are those of `style_conditions`. After the figures 2 and 4 of Schuff et al. 2020.
"""

import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby, pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ...participants.attrition import ParticipantFlow
from ...participants.condition_styles import COLOURS, GREY, MARKERS, number_conditions
from ...participants.estimates import Estimate, Estimates
from ...participants.time_by_certainty import TimeAtCertainty
from ...study.analysis import Study, View
from ...study.human_vs_model import Quantity, Relations
from ..page import FORMS, Figure
from ..tables import format_count, format_interval, format_number
from .flow_diagram import compute_flow_layout

INK = "#1c2430"
GRID = "#e3e7ec"
PNG_DPI = 300
COLUMN, TEXT = 3.03, 6.30  # inches: column and text width of the ACL style
CHI = {COLUMN: 3.33, TEXT: 7.0}  # those of acmart's sigconf, as CHI uses it
STYLES = ("-", "--", "-.", ":")
MOST_LINES = 100  # participants whose changes remain distinguishable
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "text.parse_math": False,  # the titles of conditions are no formulae, whatever dollars they hold
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "svg.hashsalt": "touchstone",
    "svg.fonttype": "path",
    "path.simplify": False,
}
METADATA: dict[str, dict[str, Any]] = {  # nothing that differs between two runs
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
UNITS = {"share": "%", "seconds": "s", "points": "points", "number": ""}
SCALE = {"share": 100.0}
DIFFERENCES = (  # 0 is marked
    *("over_estimation", "complementarity", "confidence_change", "above_chance", "after_above_chance"),
    "simulation_effect",
)


@dataclass(frozen=True)
class Style:
    """The style of a condition in every figure."""

    title: str
    colour: str
    marker: str


def assign_styles(study: Study) -> dict[str, Style]:
    """Assign a style to each condition; ground truth is grey."""
    numbers = number_conditions(
        (condition.name, condition.system is None or condition.ground_truth) for condition in study.conditions
    )
    styles = {}
    for condition in study.conditions:
        number = numbers[condition.name]
        style = (GREY, "X") if number is None else (COLOURS[number], MARKERS[number])
        styles[condition.name] = Style(condition.title, *style)
    return styles


def draw_condition_figure(study: Study, measure: str, caption: str) -> Figure | None:
    """Draw a measure per condition: participants and their mean.

    None if no condition has the measure.
    """
    estimates = study.retained.estimates
    if not estimates.has_value(measure):
        return None
    shown = [name for name in estimates.conditions if estimates.get(measure, name).value is not None]
    first = estimates.get(measure, shown[0]).measure
    scale, styles = SCALE.get(first.unit, 1.0), assign_styles(study)
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(COLUMN, 0.36 * len(shown) + 0.6))
        axes = canvas.subplots()
        _draw_changes(axes, estimates, measure, shown, scale)
        for y, name in enumerate(shown):
            values = _list_participant_values(estimates, measure, name) * scale
            _draw_condition(axes, y, values, estimates.get(measure, name), scale, styles[name])
        labels = [
            label_with_n(styles[name].title, estimates.get(measure, name).participants) for name in shown
        ]
        axes.set_yticks(range(len(shown)), labels)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(format_axis_label(first.label, first.unit))
        axes.grid(axis="x", color=GRID, linewidth=0.6)
        if first.key in DIFFERENCES:
            axes.axvline(0, color=INK, linewidth=0.8)
    sentences = [
        f"{styles[name].title}: {_describe_estimate(estimates.get(measure, name), scale)}, "
        f"{format_count(estimates.get(measure, name).participants, 'participant')}"
        for name in shown
    ]
    alternative = f"{first.label} ({UNITS[first.unit] or 'no unit'}) per condition. {'. '.join(sentences)}."
    name = f"{measure.replace('_', '-')}-by-condition"
    return render_figure(canvas, name, caption, alternative, half=True)


def _draw_changes(axes: Axes, estimates: Estimates, measure: str, shown: Sequence[str], scale: float) -> None:
    """Join the values of participants who saw two conditions."""
    for y, pair in enumerate(pairwise(shown)):
        if estimates.has_same_participants(*pair):
            values = np.array([_list_participant_values(estimates, measure, name) for name in pair]) * scale
            if values.shape[1] <= MOST_LINES:
                axes.plot(values, [y, y + 1], color=GREY, linewidth=0.5, alpha=0.35, zorder=1)


def draw_certainty_figure(study: Study) -> Figure | None:
    """Draw completion time at each level of certainty."""
    view = study.retained
    times = [entry for entry in view.times if entry.seconds is not None]
    if not times:
        return None
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(COLUMN, 2.75))
        axes = canvas.subplots()
        _draw_times(axes, assign_styles(study), times)
        axes.set_xticks(
            [entry.level for entry in times],
            [f"{_format_level_label(study, entry.level)}\nn = {entry.trials}" for entry in times],
            fontsize=6,
        )
        axes.set_ylim(bottom=0)
        axes.set_ylabel("Completion time (s)")
        axes.set_xlabel("Certainty of the rating; n trials")
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        canvas.legend(loc="outside lower center", ncols=2, frameon=False)
    spoken = "; ".join(
        f"certainty {entry.level}: {format_number(entry.seconds, 1)} s"
        + (f" ({_format_range(entry.interval, 1.0, 1)})" if entry.interval else "")
        + f", {format_count(entry.trials, 'trial')} of {format_count(entry.participants, 'participant')}"
        for entry in times
    )
    caption = (
        "Mean completion time at each level of certainty, participants first; the black line takes all "
        "conditions together, with 95 % two-way bootstrap intervals."
    )
    alternative = f"Completion time against certainty: {spoken}."
    return render_figure(canvas, "time-by-certainty", caption, alternative, half=True)


def _draw_times(axes: Axes, styles: dict[str, Style], times: Sequence[TimeAtCertainty]) -> None:
    """Draw a line per condition, and one of all with its intervals."""
    for turn, (name, style) in enumerate(styles.items()):
        entries = [entry for entry in times if entry.by_condition.get(name) is not None]
        axes.plot(
            [entry.level for entry in entries], [entry.by_condition[name] or 0.0 for entry in entries],
            color=style.colour, marker=style.marker, markersize=3.5, linewidth=0.9,
            linestyle=STYLES[turn % len(STYLES)], alpha=0.8, label=style.title,
        )  # fmt: skip
    for entry in times:
        if entry.interval:
            axes.vlines(entry.level, *entry.interval, color=INK, linewidth=1.2)
    levels, seconds = [entry.level for entry in times], [entry.seconds or 0.0 for entry in times]
    axes.plot(levels, seconds, "o-", color=INK, markersize=5, linewidth=1.8, label="all conditions")


@dataclass(frozen=True)
class ForestRow:
    """A difference with its interval; `is_clear` if its test rejects."""

    panel: str
    label: str
    estimate: float
    interval: tuple[float, float] | None
    no_difference: float
    is_clear: bool


def draw_forest_figure(name: str, caption: str, rows: Sequence[ForestRow]) -> Figure | None:
    """Draw differences, one panel per measure; None without rows."""
    if not rows:
        return None
    panels = {title: list(own) for title, own in groupby(rows, lambda row: row.panel)}
    heights = [len(own) + 1.3 for own in panels.values()]
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(COLUMN, 0.29 * sum(heights) + 0.1))
        axes = canvas.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for panel, (title, own) in zip(axes, panels.items(), strict=True):
            _draw_forest(panel, own)
            panel.set_title(wrap_text(title, 44), loc="left")
    spoken = "; ".join(
        f"{row.panel}, {row.label}: {format_number(row.estimate)} {format_interval(row.interval)}".strip()
        + (", clear after correction" if row.is_clear else "")
        for row in rows
    )
    return render_figure(canvas, name, caption, f"Differences: {spoken}.", half=True)


def _draw_forest(panel: Axes, rows: Sequence[ForestRow]) -> None:
    """Draw one row per difference; a filled mark is a clear one."""
    panel.axvline(rows[0].no_difference, color=INK, linewidth=0.8)
    for y, row in enumerate(rows):
        panel.text(
            0, y - 0.22, row.label, transform=panel.get_yaxis_transform(), fontsize=6.5, va="bottom",
            bbox={"facecolor": "white", "linewidth": 0, "pad": 0.3},
        )  # fmt: skip
        if row.interval:
            panel.hlines(y, *row.interval, color=INK, linewidth=1.2)
        face = INK if row.is_clear else "white"
        panel.plot(
            row.estimate, y, "D" if row.is_clear else "o", color=INK, markersize=4.2, markerfacecolor=face
        )
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    panel.set_ylim(len(rows) - 0.6, -0.95)
    panel.grid(axis="x", color=GRID, linewidth=0.6)
    panel.xaxis.set_major_locator(MaxNLocator(6))


def draw_scores_figure(
    study: Study, view: View, measure: Quantity, scores: Sequence[Quantity], name: str, caption: str
) -> Figure | None:
    """Draw a human measure against each score, one panel per score.

    None if there is no score to show.
    """
    if not scores:
        return None
    styles = assign_styles(study)
    estimates = [view.estimates.get(measure.key, condition.name) for condition in study.systems]
    scale = SCALE.get(estimates[0].measure.unit, 1.0)
    columns = min(4, len(scores))
    rows = -(-len(scores) // columns)
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(TEXT if columns > 2 else COLUMN, 1.55 * rows + 0.7))
        panels = canvas.subplots(rows, columns, sharey=True, squeeze=False)
        for panel, score in zip(panels.flat, scores, strict=False):
            _draw_pairs(panel, study, estimates, score, scale, styles)
            panel.set_title(_label_with_rank(score, measure, view.relations))
        for panel in panels.flat[len(scores) :]:
            panel.set_visible(False)
        canvas.supylabel(format_axis_label(measure.label, estimates[0].measure.unit), fontsize=7.5)
        handles, labels = panels.flat[0].get_legend_handles_labels()
        canvas.legend(
            handles, labels, loc="outside lower center", ncols=4 if columns > 2 else 2, frameon=False,
            title=f"n = {len(labels)} systems; scores in percent",
        )  # fmt: skip
    alternative = f"{measure.label} against {len(scores)} model scores. " + " ".join(
        _describe_pair(score, measure, view.relations) for score in scores
    )
    return render_figure(canvas, name, caption, alternative)


def prepare_flow_prints(flow: ParticipantFlow) -> Callable[[str], dict[str, bytes]]:
    """Return what draws the flow diagram for papers."""
    layout = compute_flow_layout(flow)
    width = COLUMN if len(flow.conditions) < 3 else TEXT
    points = 72 * width / layout.width  # of a pixel
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(width, width * layout.height / layout.width))
        axes = canvas.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, layout.width)
        axes.set_ylim(layout.height, 0)
        for x, top, bottom in layout.arrows:
            axes.annotate(
                "", (x, bottom), (x, top), arrowprops={"arrowstyle": "-|>", "linewidth": 0.6, "color": INK}
            )
        for box in layout.boxes:
            face, line = ("#f2f2f2", "--") if box.loss else ("white", "-")
            patch = Rectangle((box.x, box.y), box.width, box.height, edgecolor=INK, facecolor=face)
            patch.set(linewidth=0.6, linestyle=line)
            axes.add_patch(patch)
            for y, line in zip(box.baselines, box.lines, strict=True):
                axes.text(box.middle, y, line, ha="center", fontsize=min(7.5, 11 * points))
    return cache(partial(_render_prints, canvas, width, b""))


def _draw_condition(
    axes: Axes, y: int, values: np.ndarray, estimate: Estimate, scale: float, style: Style
) -> None:
    values = np.sort(values[~np.isnan(values)])
    y_values = y + compute_scatter_offsets(len(values), 0.5)
    draw_participants(axes, values, y_values, style, sizes=(11, 4), alphas=(0.45, 0.15))
    if estimate.interval:
        low, high = (bound * scale for bound in estimate.interval)
        axes.hlines(y, low, high, color=INK, linewidth=1.5)
        axes.vlines([low, high], y - 0.09, y + 0.09, color=INK, linewidth=1.5)
    assert estimate.value is not None
    axes.scatter(
        [estimate.value * scale], [y], s=38, color=style.colour, marker=style.marker, edgecolors=INK,
        linewidths=0.9, zorder=3,
    )  # fmt: skip


def _draw_pairs(
    panel: Axes,
    study: Study,
    estimates: Sequence[Estimate],
    score: Quantity,
    scale: float,
    styles: dict[str, Style],
) -> None:
    for system, (condition, estimate) in enumerate(zip(study.systems, estimates, strict=True)):
        style, x = styles[condition.name], score.values[system] * 100
        if estimate.value is None or np.isnan(x):
            continue
        if estimate.interval:
            low, high = estimate.interval
            panel.vlines(x, low * scale, high * scale, color=style.colour, linewidth=1.1)
        y = estimate.value * scale
        if bounds := score.interval(system):
            panel.hlines(y, bounds[0] * 100, bounds[1] * 100, color=style.colour, linewidth=1.1)
        panel.scatter([x], [y], color=style.colour, marker=style.marker, s=22, zorder=3, label=style.title)
    panel.margins(x=0.18)
    panel.xaxis.set_major_locator(MaxNLocator(3))
    panel.grid(color=GRID, linewidth=0.6)


def _list_participant_values(estimates: Estimates, measure: str, condition: str) -> np.ndarray:
    return estimates.per_participant[measure][estimates.conditions.index(condition)]


def _label_with_rank(score: Quantity, measure: Quantity, relations: Relations) -> str:
    relation = relations.get(measure.key, score.key)
    sign = relation.rank.sign if relation.rank and relation.n == len(relations.systems) else ""
    share = "" if relation.sign_share is None else f" {int(100 * relation.sign_share + 1e-9)} %"
    return f"{score.label}  ({sign.replace('-', '−')}{share})" if sign else score.label


def _describe_pair(score: Quantity, measure: Quantity, relations: Relations) -> str:
    relation = relations.get(measure.key, score.key)
    if relation.n < len(relations.systems):
        return f"{score.label}: known for {relation.n} systems only."
    sign = relation.rank.sign if relation.rank else ""
    words = {"+": "same ranking", "-": "reversed ranking", "": "neither the same nor the reversed ranking"}
    return f"{score.label}: {words[sign]}."


def _describe_estimate(estimate: Estimate, scale: float) -> str:
    decimals = 1 if scale == 100 else 2
    value = format_number((estimate.value or 0.0) * scale, decimals)
    return f"{value} ({_format_range(estimate.interval, scale, decimals)})" if estimate.interval else value


def _format_range(bounds: tuple[float, float], scale: float, decimals: int) -> str:
    return f"95 % interval {format_interval((bounds[0] * scale, bounds[1] * scale), decimals)}"


def format_axis_label(label: str, unit: str) -> str:
    """Name and unit, in lines that fit beside an axis."""
    text = f"{label}\u00a0({UNITS[unit]})" if UNITS[unit] else label
    return "\n".join(textwrap.wrap(text, 34))


def _format_level_label(study: Study, level: int) -> str:
    question = study.version.question("certainty")
    labels = getattr(question.scale, "labels", None) if question else None
    return f"{level} {wrap_text(labels[level - 1], 9)}" if labels and len(labels) >= level else str(level)


def label_with_n(title: str, n: int, width: int = 20) -> str:
    """Label a condition with its participants."""
    return wrap_text(f"{title} (n\u00a0=\u00a0{n})", width)


def wrap_text(text: str, width: int = 12) -> str:
    """Wrap text at `width` characters; a longer word stays whole."""
    return "\n".join(textwrap.wrap(text, width, break_long_words=False)) or text


def compute_scatter_offsets(count: int, width: float) -> np.ndarray:
    """Spread points evenly across `width` by multiples of the golden ratio."""
    return ((np.arange(count) * 0.618034) % 1 - 0.5) * width


def draw_participants(
    axes: Axes,
    x: np.ndarray,
    y: np.ndarray,
    style: Style,
    *,
    sizes: tuple[int, int],
    alphas: tuple[float, float] = (0.6, 0.2),
) -> None:
    """Draw a mark per participant; second size and alpha above 100 of them."""
    many = len(x) > 100
    axes.scatter(
        x, y, s=sizes[many], color=style.colour, marker=style.marker, alpha=alphas[many], linewidths=0,
        rasterized=len(x) > 500,
    )  # fmt: skip


def render_figure(canvas: Canvas, name: str, caption: str, alternative: str, *, half: bool = False) -> Figure:
    """Return the canvas as a figure, with what draws its files for papers.

    The width becomes that of the nearest column. The files are drawn once, when they are written.
    """
    width = COLUMN if canvas.get_figwidth() < (COLUMN + TEXT) / 2 else TEXT
    svg = _save_forms(canvas, width, ["svg"])[0]
    return Figure(
        name, caption, alternative, svg.decode(), half, cache(partial(_render_prints, canvas, width, svg))
    )


def _render_prints(canvas: Canvas, width: float, svg: bytes, name: str) -> dict[str, bytes]:
    """Draw every form, and for papers the width of CHI, too.

    The same drawing gives the same bytes. ``svg`` is the canvas in the first width; it is drawn here if it is
    empty.
    """
    files = {f"{name}.svg": svg} if svg else {}
    left = [form for form in FORMS if not svg or form != "svg"]
    for_chi = FORMS if len(FORMS) > 1 else ()
    for folder, wide, forms in (("", width, left), ("chi/", CHI[width], for_chi)):
        saved = _save_forms(canvas, wide, forms) if forms else []
        files |= {f"{folder}{name}.{form}": data for form, data in zip(forms, saved, strict=True)}
    return files


def _save_forms(canvas: Canvas, width: float, forms: Sequence[str]) -> list[bytes]:
    """Lay the canvas out once, and save it in each form."""
    files = [io.BytesIO() for _ in forms]
    with mpl.rc_context(STYLE):
        canvas.set_figwidth(width)
        for axes in canvas.axes:  # back to the grid, so that a layout does not depend on the one before
            if spec := axes.get_subplotspec():
                axes.set_subplotspec(spec)
        layout = ConstrainedLayoutEngine()
        canvas.set_layout_engine(layout)
        layout.execute(canvas)  # without the drawing of `draw_without_rendering`
        canvas.set_layout_engine(None)  # "none" would draw twice more for nothing
        for axes in canvas.axes:  # the solver's last digits differ from run to run
            left, bottom, wide, high = (round(bound, 6) for bound in axes.get_position().bounds)
            axes.set_position((left, bottom, wide, high))
            axes.set_in_layout(True)
        for file, form in zip(files, forms, strict=True):
            canvas.savefig(file, format=form, dpi=PNG_DPI, metadata=METADATA[form])
    return [file.getvalue() for file in files]
