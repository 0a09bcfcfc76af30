"""Figures of distributions: diverging bars, box plots and rainclouds.

After Figures 9 and 10 of Schuff et al. 2020. Diverging bars: Heiberger and Robbins 2014 (Journal of
Statistical Software 57). Rainclouds: Allen et al. 2019 (Wellcome Open Research 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure as Canvas
from scipy.stats import gaussian_kde

from ...participants.estimates import Estimates
from ...participants.measures import Measure
from ...participants.study_version import Points, Question
from ...participants.trial_grid import Grid
from ...stats.arrays import Array
from ...study.analysis import Study
from ..page import Figure
from ..tables import format_number
from .intervals import (
    COLUMN,
    GRID,
    INK,
    SCALE,
    STYLE,
    TEXT,
    Style,
    assign_styles,
    compute_scatter_offsets,
    draw_participants,
    format_axis_label,
    label_with_n,
    render_figure,
    wrap_text,
)

DIVERGING = "PuOr"  # told apart with every common colour blindness, and its halves in grey by their lightness
MIDDLE = "#dadada"
LEAST_LABELLED = 0.07  # share below which a bar has no room for its number
PER_ROW = 4  # panels
CHARACTERS = 100  # of a legend's line above a panel
HATCH = "/////"
BOX_HATCHES = ("", "////", "....", "xxxx", "----", "||||", "++++")


@dataclass(frozen=True)
class Shares:
    """Frequency of each level of a scale in one condition.

    shares: one per level, a mean over the participants who answered of their own shares. answers: given.
    """

    condition: str
    shares: Array
    participants: int
    answers: int


def compute_level_shares(grid: Grid, question: Question) -> Shares | None:
    """Shares of the levels of a question with points, participants first.

    None if nobody of the condition answered it. An answer of the post survey counts like one trial.
    """
    assert isinstance(question.scale, Points)
    name = question.role or question.key
    answers = grid.answers.get(name)
    if answers is None:
        answers = grid.post[name][:, None] if name in grid.post else np.empty((0, 1))
    chosen = np.stack([(answers == level).sum(axis=1) for level in range(1, question.scale.points + 1)])
    totals = chosen.sum(axis=0)
    if not totals.any():
        return None
    own = chosen[:, totals > 0] / totals[totals > 0]
    return Shares(grid.condition, own.mean(axis=1), int((totals > 0).sum()), int(totals.sum()))


def draw_likert_figure(study: Study) -> Figure | None:
    """Draw diverging bars of every question with points.

    One bar per condition, centred on the middle of the scale; None without such a question or answers.
    """
    version = study.version
    panels = []
    for question in (*version.item_questionnaire, *version.post_survey):
        if isinstance(question.scale, Points):
            shares_by_condition = [compute_level_shares(grid, question) for grid in study.retained.grids]
            if shown := [shares for shares in shares_by_condition if shares]:
                panels.append((question, question.scale, shown))
    if not panels:
        return None
    styles = assign_styles(study)
    legends = [
        0 if index and scale == panels[index - 1][1] else _count_legend_rows(scale)
        for index, (_, scale, _) in enumerate(panels)
    ]
    heights = [
        0.3 + 0.2 * len(shown) + 0.15 * rows for (_, _, shown), rows in zip(panels, legends, strict=True)
    ]
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(TEXT, sum(heights) + 0.45))
        axes = canvas.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for panel, (question, scale, shown), rows in zip(axes, panels, legends, strict=True):
            _draw_bars(panel, scale, shown, styles, rows)
            panel.set_title(wrap_text(question.text, 90), loc="left", pad=4 + 9 * rows)
        left = min(panel.dataLim.x0 for panel in axes)
        right = max(panel.dataLim.x1 for panel in axes)
        ticks = np.arange(25 * np.floor(left / 25), right + 1, 25)
        for panel in axes:
            panel.set_xticks(ticks, [f"{abs(tick):.0f}" for tick in ticks])
            panel.set_xlim(left - 2, right + 2)
        axes[-1].set_xlabel(
            "Share of answers (%): left of the line below the middle of the scale, right above"
        )
    caption = (
        "Answers to each question with a scale: mean over participants of their own shares. A middle level "
        "stands half on each side of the line."
    )
    spoken = " ".join(_describe_bars(question, shown, styles) for question, _, shown in panels)
    return render_figure(canvas, "answers-by-condition", caption, f"Distribution of answers. {spoken}")


def draw_boxes_figure(study: Study, measures: Sequence[Measure]) -> Figure | None:
    """Draw box plots over participants, one panel per measure with values."""
    estimates = study.retained.estimates
    shown = [measure for measure in measures if estimates.has_value(measure.key)]
    if not shown:
        return None
    styles = assign_styles(study)
    columns = min(PER_ROW, len(shown))
    rows = -(-len(shown) // columns)
    people = {grid.condition: len(grid.participants) for grid in study.retained.grids}
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(TEXT if columns > 2 else COLUMN, 1.45 * rows + 0.5))
        panels = canvas.subplots(rows, columns, squeeze=False)
        for panel, measure in zip(panels.flat, shown, strict=False):
            _draw_boxes(panel, measure, estimates, styles)
        for panel in panels.flat[len(shown) :]:
            panel.set_visible(False)
        canvas.legend(
            handles=[
                _build_legend_key(number, style, people[name])
                for number, (name, style) in enumerate(styles.items())
            ],
            loc="outside lower center",
            ncols=4 if columns > 2 else 2,
            frameon=False,
        )
    caption = (
        "Measures over participants: the box spans the middle half with the median as a line, the whiskers "
        "reach the last participant within one and a half of its height; small marks are participants."
    )
    spoken = " ".join(
        f"{measure.label}: "
        + "; ".join(
            f"{styles[name].title} median {format_number(_median(own, measure), 2)}"
            for name, own in zip(estimates.conditions, estimates.per_participant[measure.key], strict=True)
            if (~np.isnan(own)).any()
        )
        + "."
        for measure in shown
    )
    return render_figure(canvas, "measures-as-boxes", caption, f"Box plots over participants. {spoken}")


def draw_times_figure(study: Study) -> Figure | None:
    """Draw completion times as rainclouds on a logarithmic axis.

    Shows the density of trials, a box and the participants' medians; None if no time above 0 is known.
    """
    styles = assign_styles(study)
    times = {grid.condition: _select_times(grid) for grid in study.retained.grids}
    shown = [name for name, known in times.items() if known.size]
    if not shown:
        return None
    estimates = study.retained.estimates
    medians = dict(zip(estimates.conditions, estimates.per_participant["time_median"], strict=True))
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(COLUMN, 0.5 * len(shown) + 0.6))
        axes = canvas.subplots()
        for row, name in enumerate(shown):
            _draw_cloud(axes, len(shown) - 1 - row, times[name], medians[name], styles[name])
        axes.set_xscale("log")
        ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if _is_within(t, times)]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        labels = [label_with_n(styles[name].title, times[name].size, 18) for name in reversed(shown)]
        axes.set_yticks(range(len(shown)), labels)
        axes.set_xlabel("Completion time (s, log scale)")
        axes.grid(axis="x", color=GRID, linewidth=0.6)
    caption = (
        "Completion times: the cloud is the density of n retained trials, the box their quartiles and "
        "median, the small marks below are the participants' medians."
    )
    spoken = "; ".join(
        f"{styles[name].title}: quartiles "
        f"{', '.join(format_number(q, 1) for q in _quartiles(times[name]))} s, "
        f"{times[name].size} trials"
        for name in shown
    )
    alternative = f"Completion times per condition. {spoken}."
    return render_figure(canvas, "times-by-condition", caption, alternative, half=True)


def _draw_bars(
    panel: Axes, scale: Points, all_shares: Sequence[Shares], styles: dict[str, Style], legend_rows: int
) -> None:
    """Draw a bar per condition; levels below the middle are hatched."""
    levels = scale.points
    colours = mpl.colormaps[DIVERGING](np.linspace(0.08, 0.92, levels))
    if levels % 2:
        colours[levels // 2] = mpl.colors.to_rgba(MIDDLE)
    hatches = [HATCH if level < levels // 2 else "" for level in range(levels)]
    for row, shares in enumerate(reversed(all_shares)):
        percent = 100 * shares.shares
        below = percent[: levels // 2].sum() + (percent[levels // 2] / 2 if levels % 2 else 0.0)
        left = np.concatenate([[0.0], percent.cumsum()[:-1]]) - below
        panel.barh(
            row,
            percent,
            left=left,
            height=0.76,
            color=colours,
            hatch=hatches,
            edgecolor="white",
            linewidth=0.5,
        )
        for start, share, colour in zip(left, percent, colours, strict=True):
            if share >= 100 * LEAST_LABELLED:
                dark = colour[:3] @ (0.299, 0.587, 0.114) < 0.55
                panel.text(
                    start + share / 2, row, f"{share:.0f}", ha="center", va="center", fontsize=6.5,
                    color="white" if dark else INK, bbox={"facecolor": colour, "linewidth": 0, "pad": 0.6},
                )  # fmt: skip
    panel.axvline(0, color=INK, linewidth=0.8, zorder=0.5)  # behind the bars and their numbers
    labels = [label_with_n(styles[s.condition].title, s.participants, 26) for s in reversed(all_shares)]
    panel.set_yticks(range(len(all_shares)), labels)
    if legend_rows:
        panel.legend(
            handles=[
                mpl.patches.Patch(facecolor=colour, edgecolor="white", hatch=hatch, label=str(level))
                for level, colour, hatch in zip(_name_levels(scale), colours, hatches, strict=True)
            ],
            loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=6.5, handlelength=1.2,
            ncols=-(-levels // legend_rows), columnspacing=1.0, borderaxespad=0.1, borderpad=0.1,
        )  # fmt: skip


def _count_legend_rows(scale: Points) -> int:
    """Return the lines that a legend of the levels needs above its panel."""
    return -(-sum(len(name) + 5 for name in _name_levels(scale)) // CHARACTERS)


def _name_levels(scale: Points) -> list[str]:
    labels = scale.labels or []
    return [
        f"{level} {labels[level - 1]}" if len(labels) >= level else str(level)
        for level in range(1, scale.points + 1)
    ]


def _draw_boxes(panel: Axes, measure: Measure, estimates: Estimates, styles: dict[str, Style]) -> None:
    per_condition = zip(estimates.conditions, estimates.per_participant[measure.key], strict=True)
    values = {name: own[~np.isnan(own)] * SCALE.get(measure.unit, 1.0) for name, own in per_condition}
    for x, name in enumerate(styles):
        _draw_box(panel, x, values[name], styles[name])
    panel.set_title(wrap_text(format_axis_label(measure.label, measure.unit), 24))
    panel.set_xticks([])
    panel.grid(axis="y", color=GRID, linewidth=0.6)


def _draw_box(panel: Axes, x: int, values: Array, style: Style) -> None:
    if not values.size:
        return
    panel.boxplot(
        [values], positions=[x], widths=0.62, showfliers=False, patch_artist=True, manage_ticks=False,
        boxprops={
            "facecolor": to_rgba(style.colour, 0.2), "edgecolor": style.colour, "linewidth": 0.7,
            "hatch": BOX_HATCHES[x % len(BOX_HATCHES)],
        },
        medianprops={"color": INK, "linewidth": 1.3},
        whiskerprops={"color": style.colour, "linewidth": 0.7},
        capprops={"color": style.colour, "linewidth": 0.7},
    )  # fmt: skip
    draw_participants(
        panel, x + compute_scatter_offsets(len(values), 0.5), np.sort(values), style, sizes=(6, 2)
    )


def _draw_cloud(axes: Axes, y: int, times: Array, medians: Array, style: Style) -> None:
    logs = np.log(times)
    if logs.size > 1 and np.ptp(logs) > 0:
        at = np.linspace(logs.min(), logs.max(), 200)
        density = gaussian_kde(logs)(at)
        axes.fill_between(
            np.exp(at), y + 0.12, y + 0.12 + 0.42 * density / density.max(), color=style.colour, alpha=0.35,
            linewidth=0,
        )  # fmt: skip
    axes.boxplot(
        [times], positions=[y], widths=0.13, orientation="horizontal", showfliers=False, patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": style.colour, "alpha": 0.5, "edgecolor": INK, "linewidth": 0.6},
        medianprops={"color": INK, "linewidth": 1.3},
    )  # fmt: skip
    own = np.sort(medians[~np.isnan(medians)])
    own = own[own > 0]
    draw_participants(axes, own, y - 0.24 + compute_scatter_offsets(len(own), 0.16), style, sizes=(8, 3))


def _build_legend_key(number: int, style: Style, people: int) -> mpl.patches.Patch:
    return mpl.patches.Patch(
        facecolor=to_rgba(style.colour, 0.2), edgecolor=style.colour,
        hatch=BOX_HATCHES[number % len(BOX_HATCHES)], label=f"{style.title} (n = {people})",
    )  # fmt: skip


def _select_times(grid: Grid) -> Array:
    return grid.seconds[grid.seconds > 0]


def _quartiles(values: Array) -> list[float]:
    return [float(q) for q in np.quantile(values, [0.25, 0.5, 0.75])]


def _is_within(tick: float, times: dict[str, Array]) -> bool:
    seconds = np.concatenate(list(times.values()))
    return bool(seconds.min() / 1.6 <= tick <= seconds.max() * 1.6)


def _median(values: Array, measure: Measure) -> float:
    return float(np.nanmedian(values)) * SCALE.get(measure.unit, 1.0)


def _describe_bars(question: Question, all_shares: Sequence[Shares], styles: dict[str, Style]) -> str:
    rows = "; ".join(
        f"{styles[shares.condition].title} "
        + ", ".join(f"{level}: {share:.0f} %" for level, share in enumerate(100 * shares.shares, start=1))
        for shares in all_shares
    )
    return f"{question.text} {rows}."
