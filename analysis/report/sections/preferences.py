"""Preferences: first screen, and section on strengths and sides."""

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure as Canvas

from ...participants.tasks.preference import name_win_rate
from ...study.analysis import Study
from ...study.preferences import Preference, Share, fit_preferences
from ..page import Block, Card, Figure, Section, Text
from ..plots.intervals import COLUMN, GRID, INK, STYLE, assign_styles, label_with_n, render_figure, wrap_text
from ..tables import Cell, Column, Table, format_interval, format_number, format_value_cell

CAPTION = (
    "Strength of each condition on a logarithmic scale with its 95 % interval over participants: a condition "
    "that is 0.69 above another is preferred twice as often as the other is. Ties count by Davidson’s model."
)
INTRO = (
    "A trial compares two conditions. The win rate is the share that a condition wins, with ties as halves. "
    "Strengths take into account against whom: they are those of Bradley and Terry, with ties by Davidson "
    "(1970), fitted over all comparisons. Their logarithms have the mean 0; intervals resample participants."
)


class _Strength(NamedTuple):
    """The strength of a condition on a criterion, with its counts."""

    preference: Preference
    condition_index: int

    @property
    def condition(self) -> str:
        return self.preference.conditions[self.condition_index]

    @property
    def log(self) -> float | None:
        value = float(self.preference.strengths.logs[self.condition_index])
        return None if np.isnan(value) else value

    @property
    def interval(self) -> tuple[float, float] | None:
        intervals = self.preference.strengths.intervals
        return intervals[self.condition_index] if intervals else None

    @property
    def counts(self) -> tuple[int, int, int]:
        """Wins, ties and losses."""
        wins, ties = (
            counts.sum(axis=0) for counts in (self.preference.compared.wins, self.preference.compared.ties)
        )
        return (
            int(wins[self.condition_index].sum()),
            int(ties[self.condition_index].sum()),
            int(wins[:, self.condition_index].sum()),
        )


def build_preference_cards(study: Study) -> list[Card]:
    """Say which condition is preferred, and if the side matters."""
    fitted = fit_preferences(study)
    if not fitted:
        return [Card("Which is preferred?", ["No retained trial has an answer."])]
    titles = study.titles
    return [
        Card(
            "Which is preferred?",
            [_describe_order(study, preference, titles) for preference in fitted],
            _draw_strengths_figure(study, fitted),
        ),
        Card("Does the side matter?", [_describe_sides(preference) for preference in fitted]),
    ]


def build_preferences_section(study: Study) -> Section | None:
    """Show strengths, results of each pair, and sides; None without answers."""
    fitted = fit_preferences(study)
    if not fitted:
        return None
    titles = study.titles
    blocks: list[Block] = [Text(INTRO), _tabulate_strengths(fitted, titles), _tabulate_pairs(fitted, titles)]
    return Section("preferences", "Preferences", [*blocks, _tabulate_sides(fitted)])


def _describe_order(study: Study, preference: Preference, titles: dict[str, str]) -> str:
    """Name the conditions by win rate, the highest first."""
    key = name_win_rate(preference.criterion)
    rates = [study.retained.estimates.get(key, name) for name in preference.conditions]
    given = sorted((rate for rate in rates if rate.value is not None), key=lambda rate: -(rate.value or 0.0))
    shown = ", ".join(f"{titles[rate.condition]} {_format_rate(rate.value, rate.interval)}" for rate in given)
    reason = preference.strengths.reason
    return f"“{preference.criterion.text}” Win rates: {shown}." + (
        f" No strengths: {reason}." if reason else ""
    )


def _format_rate(value: float | None, bounds: tuple[float, float] | None) -> str:
    return f"{format_number(100 * (value or 0.0), 1)} % {format_interval(bounds, 1, 100)}".rstrip()


def _describe_sides(preference: Preference) -> str:
    left, about = preference.left, f"“{preference.criterion.text}”"
    if left.value is None:
        return f"{about} Every comparison is a tie."
    low, high = left.interval or (0.0, 1.0)
    verdict = (
        "The left side is favoured"
        if low > 0.5
        else "The right side is favoured"
        if high < 0.5
        else "No side bias is clear"
    )
    return (
        f"{about} {verdict}: the left side wins {_format_rate(left.value, left.interval)} of the decided "
        f"comparisons. Ties: {_format_rate(preference.tied.value, None)}."
    )


def _list_strengths(fitted: Sequence[Preference]) -> list[_Strength]:
    return [
        _Strength(preference, index) for preference in fitted for index in range(len(preference.conditions))
    ]


def _tabulate_strengths(fitted: Sequence[Preference], titles: dict[str, str]) -> Table:
    columns = [
        Column("criterion", "preference.criterion.key", "Criterion", is_text=True),
        Column("condition", heading="Condition", cell=lambda row: titles[row.condition], is_text=True),
        Column("wins", lambda row: row.counts[0], "Wins"),
        Column("ties", lambda row: row.counts[1], "Ties"),
        Column("losses", lambda row: row.counts[2], "Losses"),
        Column("log_strength", "log", "Strength (log)", lambda row: format_value_cell(row.log, row.interval)),
        Column("log_strength_low log_strength_high", "interval"),
        Column("reason", "preference.strengths.reason"),
    ]
    notes = [
        f"{preference.criterion.key}: {preference.strengths.reason}."
        for preference in fitted
        if preference.strengths.reason
    ] + [
        f"{preference.criterion.key}: Davidson’s ν is {format_number(preference.strengths.ties)}."
        for preference in fitted
        if preference.strengths.ties and not preference.strengths.reason
    ]
    return Table.from_columns(
        "strengths", "Strengths of the conditions", _list_strengths(fitted), columns, notes
    )


class _Pair(NamedTuple):
    """The comparisons of two conditions on a criterion."""

    criterion: str
    first: str
    second: str
    wins: int
    ties: int
    losses: int


def _tabulate_pairs(fitted: Sequence[Preference], titles: dict[str, str]) -> Table:
    pairs = []
    for preference in fitted:
        wins, ties = preference.compared.wins.sum(axis=0), preference.compared.ties.sum(axis=0)
        pairs += [
            _Pair(preference.criterion.key, first, second, int(wins[i, j]), int(ties[i, j]), int(wins[j, i]))
            for i, first in enumerate(preference.conditions)
            for j, second in enumerate(preference.conditions)
            if i < j and wins[i, j] + wins[j, i] + ties[i, j]
        ]
    columns = [
        Column("criterion", heading="Criterion", is_text=True),
        Column("first", heading="First", cell=lambda row: titles[row.first], is_text=True),
        Column("second", heading="Second", cell=lambda row: titles[row.second], is_text=True),
        Column("wins", heading="First preferred"),
        Column("ties", heading="Alike"),
        Column("losses", heading="Second preferred"),
    ]
    return Table.from_columns("preferences_by_pair", "Comparisons of each pair", pairs, columns)


def _tabulate_sides(fitted: Sequence[Preference]) -> Table:
    columns = [
        Column("criterion", "criterion.key", "Criterion", is_text=True),
        Column("comparisons", "compared.count", "Comparisons"),
        Column("left", "left.value", "Left preferred (%)", lambda row: _format_percent_cell(row.left)),
        Column("left_low left_high", "left.interval"),
        Column("tied", "tied.value", "Alike (%)", lambda row: _format_percent_cell(row.tied)),
        Column("tied_low tied_high", "tied.interval"),
        Column("participants", "tied.participants", "Participants"),
    ]
    notes = ["Left: of the decided comparisons, participants first; 50 % without a bias. 95 % t intervals."]
    return Table.from_columns("sides", "Sides and ties", fitted, columns, notes)


def _format_percent_cell(share: Share) -> Cell:
    return format_value_cell(share.value, share.interval, 100, 1)


def _draw_strengths_figure(study: Study, fitted: Sequence[Preference]) -> Figure | None:
    """Draw the strengths, one panel per criterion; None without any."""
    shown = [preference for preference in fitted if not preference.strengths.reason]
    if not shown:
        return None
    styles = assign_styles(study)
    heights = [len(preference.conditions) + 1.3 for preference in shown]
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(COLUMN, 0.3 * sum(heights) + 0.3))
        panels = canvas.subplots(len(shown), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
        for panel, preference in zip(panels, shown, strict=True):
            rows = [_Strength(preference, index) for index in range(len(preference.conditions))]
            for y, row in enumerate(rows):
                style = styles[row.condition]
                if row.interval:
                    panel.hlines(y, *row.interval, color=INK, linewidth=1.5)
                panel.scatter(
                    [row.log], [y], s=38, color=style.colour, marker=style.marker, edgecolors=INK,
                    linewidths=0.9, zorder=3,
                )  # fmt: skip
            people = len(preference.compared.wins)
            panel.set_yticks(
                range(len(rows)), [label_with_n(styles[row.condition].title, people) for row in rows]
            )
            panel.set_ylim(len(rows) - 0.4, -0.6)
            panel.axvline(0, color=INK, linewidth=0.8)
            panel.grid(axis="x", color=GRID, linewidth=0.6)
            panel.set_title(wrap_text(preference.criterion.text, 44), loc="left")
        panels[-1].set_xlabel("Strength (logarithm)")
    spoken = "; ".join(
        f"{preference.criterion.key}, {styles[row.condition].title}: {format_number(row.log)} "
        f"{format_interval(row.interval)}"
        for preference in shown
        for row in _list_strengths([preference])
    )
    return render_figure(canvas, "strengths", CAPTION, f"Log strengths: {spoken}.", half=True)
