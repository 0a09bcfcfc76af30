"""Section on scales: scores per condition, and the reliability of each."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ...participants.study_version import ScaleScore
from ...stats.arrays import Array
from ...stats.reliability import Reliability, reliability
from ...study.analysis import Study
from ..page import Block, Section, Text
from ..tables import Cell, Column, Table, build_field_columns, format_number, format_value_cell
from .participants import format_estimate_cell

HOW = (
    "A score is the mean of the items of a scale, by its published key: reversed items are turned round, and "
    "the answers are set on the range of the score. A participant who left out an item has no score. Scores "
    "of scales beside the items are averaged over each participant's retained trials first."
)
HOW_RELIABLE = (
    "Alpha is Cronbach's, with the interval of Feldt (1965); omega is that of one factor (McDonald 1999). "
    "Both are over all participants who answered every item; for scales beside the items, over each "
    "participant's mean answers."
)


BEFORE = (
    "Scores before the items describe the participants; no condition can have changed them, so they are "
    "described and not compared."
)


class _Row(NamedTuple):
    """A scale with its reliability."""

    score: ScaleScore
    reliability: Reliability


class _Before(NamedTuple):
    """A score before the items, of the participants of a condition."""

    score: ScaleScore
    condition: str
    participants: int
    mean: float | None
    deviation: float | None


def build_scales_section(study: Study) -> Section | None:
    """Show the scores of scales by condition; None if the study has none."""
    every = study.version.scale_scores
    scores = [score for score in every if score.table != "pre_survey"]
    before = [score for score in every if score.table == "pre_survey" and study.bundle.pre_survey is not None]
    blocks: list[Block] = [Text(HOW)]
    if scores:
        blocks.append(_tabulate_by_condition(study, scores))
    if before:
        blocks.append(_tabulate_scores_before(study, before))
    rows = [_Row(score, reliability(_compute_answer_shares(study, score))) for score in (*scores, *before)]
    return Section("scales", "Scales", [*blocks, _tabulate_reliability(rows)]) if rows else None


def _tabulate_by_condition(study: Study, scores: list[ScaleScore]) -> Table:
    estimates = study.retained.estimates
    columns = {score.column: score for score in scores}
    return Table.from_records(
        "scale_scores",
        "Scores of scales per condition, means over participants with 95 % confidence intervals",
        [estimate for estimate in estimates.table.values() if estimate.measure.key in columns],
        [
            Column("condition"),
            Column("score", "measure.key"),
            Column(
                "value",
                cell=lambda estimate: format_estimate_cell(estimate) if estimate else Cell("–", "missing"),
            ),
            Column("low high", "interval"),
            *build_field_columns("participants", "undefined", "reason"),
        ],
        rows=list(columns),
        heads=[Column("", heading="Scale", cell=lambda key: _format_scale_cell(columns[key]))],
        across=study.titles,
        keys=lambda estimate: (estimate.measure.key, estimate.condition),
    )


def _tabulate_scores_before(study: Study, scores: list[ScaleScore]) -> Table:
    """Describe scores before the items, of all participants and by condition."""
    people = study.people
    own = [
        (condition.title, people.loc[people["condition"] == condition.name]) for condition in study.conditions
    ]
    groups = [("All", people), *((title, members) for title, members in own if len(members))]
    rows = []
    for score in scores:
        for title, members in groups:
            values = _read_answers_before(study, [score.column], members["participant_id"])[
                score.column
            ].dropna()
            mean = float(values.mean()) if len(values) else None
            deviation = float(values.std(ddof=1)) if len(values) > 1 else None
            rows.append(_Before(score, title, len(values), mean, deviation))
    columns = [
        Column("score", "score.column", "Scale", lambda row: _format_scale_cell(row.score)),
        Column("condition", "condition", "Condition", is_text=True),
        Column("participants", "participants", "Participants"),
        Column("mean", "mean", "Mean", lambda row: Cell(format_number(row.mean))),
        Column(
            "deviation", "deviation", "Standard deviation", lambda row: Cell(format_number(row.deviation))
        ),
    ]
    caption = "Scores of scales before the items"
    return Table.from_columns("scale_scores_before", caption, rows, columns, [BEFORE])


def _read_answers_before(study: Study, names: list[str], people: pd.Series) -> pd.DataFrame:
    """Return answers before the items as numbers; yes is 1."""
    assert study.bundle.pre_survey is not None  # the callers have looked
    answers = study.bundle.pre_survey.set_index("participant_id").reindex(people)[names]
    return answers.replace({"true": "1", "false": "0"}).apply(pd.to_numeric)


def _format_scale_cell(score: ScaleScore) -> Cell:
    low, high = score.range
    direction = f"; higher: {score.higher}" if score.higher else ""
    return Cell(score.title, detail=f"{low:g} to {high:g}{direction}")


def _tabulate_reliability(rows: list[_Row]) -> Table:
    columns = [
        Column("score", "score.column"),
        Column("", lambda row: row.score.title, "Scale", is_text=True),
        Column("items", lambda row: len(row.score.items), "Items"),
        Column("participants", "reliability.participants", "Participants"),
        Column(
            "alpha",
            "reliability.alpha",
            "Alpha",
            lambda row: format_value_cell(
                row.reliability.alpha, row.reliability.interval, reason=row.reliability.reason
            ),
        ),
        Column("alpha_low alpha_high", "reliability.interval"),
        Column(
            "omega",
            "reliability.omega",
            "Omega",
            lambda row: Cell(format_number(row.reliability.omega), detail=row.reliability.omega_reason),
        ),
        Column("source", "score.source", "Key", is_text=True),
    ]
    caption = "Reliability of the scales"
    return Table.from_columns("scale_reliability", caption, rows, columns, [HOW_RELIABLE], wide=True)


def _compute_answer_shares(study: Study, score: ScaleScore) -> Array:
    """Return participants × items as shares, reversed items turned round."""
    names = [item.key for item in score.items]
    if score.table == "trials":
        frame = study.retained.trials.groupby("participant_id")[names].mean()
    elif score.table == "pre_survey":
        frame = _read_answers_before(study, names, study.people["participant_id"])
    else:
        post = study.bundle.post_survey
        frame = pd.DataFrame(columns=names, dtype=float)
        if post is not None:
            frame = post[post["participant_id"].isin(study.people["participant_id"])][names]
    low = np.array([item.low for item in score.items])
    share = (frame.to_numpy(float) - low) / (np.array([item.high for item in score.items]) - low)
    return np.where([item.reversed for item in score.items], 1 - share, share)
