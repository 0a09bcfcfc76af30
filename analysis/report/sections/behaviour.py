"""Section on behaviour: learning, certainty, agreement and items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...participants.confidence_calibration import Calibration, calibration
from ...participants.exclusion_rules import CLOCK_COLUMNS
from ...participants.item_statistics import ITEM_MEASURES, ItemValue, item_measures, trial_table
from ...participants.krippendorff import Agreement, agreements, choose_metric
from ...participants.learning_curves import Learning, arrange_positions, learning
from ...participants.means_of_participants import EVERYBODY, ParticipantMean
from ...participants.study_version import Bounds
from ...participants.study_version import Points as Scale
from ...participants.trial_grid import Grid, group_grids, merge_shared
from ...stats.streams import derive_stream
from ...study.analysis import Study
from ..page import Block, Data, Section, Text
from ..tables import Cell, Column, Table, build_csv_rows, build_field_columns, format_value_cell

SHOWN_TRAITS = {
    "seconds": (1.0, 1),
    "fraction_correct": (100.0, 1),
    "certainty": (1.0, 2),
    "final_accuracy": (100.0, 1),
    "prediction_accuracy": (100.0, 1),
}
MOST_TRIALS = 200_000  # in the table of trials; a larger one repeats the bundle at length


@dataclass(frozen=True)
class Behaviour:
    """Behaviour in retained trials; lists are empty if the data lack it."""

    learning: list[Learning]
    calibration: list[Calibration]
    agreement: list[Agreement]
    items: list[ItemValue]


def describe_behaviour(study: Study) -> Behaviour:
    """Compute the behaviour in retained trials, with the study's seed."""
    view = study.retained
    resamples = study.options.resamples
    rng = np.random.default_rng(study.options.seed)
    grids = [grid for grid in view.grids if grid.participants]
    ways = _merge_grids(grids)
    questions = {
        question.role or question.key: choose_metric(question)
        for question in study.version.item_questionnaire
        if not isinstance(question.scale, Bounds)
    }
    certainty = study.version.question("certainty")
    levels = certainty.scale.points if certainty and isinstance(certainty.scale, Scale) else 0
    return Behaviour(
        learning=learning(
            ways,
            [arrange_positions(grid, view.trials) for grid in ways],
            rng=derive_stream(rng, "learning"),
            resamples=resamples,
        ),
        calibration=calibration(grids, levels, rng=derive_stream(rng, "calibration"), resamples=resamples)
        if levels
        else [],
        agreement=agreements(grids, questions, rng=derive_stream(rng, "agreement"), resamples=resamples),
        items=item_measures(grids, study.task.item_shares),
    )


def _merge_grids(grids: Sequence[Grid]) -> list[Grid]:
    """Merge the grids of participants who saw several conditions.

    They learn across their conditions, each of which comes at some of their positions only.
    """
    groups: dict[int, list[Grid]] = {}
    for group, grid in zip(group_grids(grids), grids, strict=True):
        groups.setdefault(group, []).append(grid)
    return [
        merge_shared(own, " and ".join(grid.condition for grid in own)) if len(own) > 1 else own[0]
        for own in groups.values()
    ]


def build_behaviour_section(study: Study, behaviour: Behaviour) -> Section:
    """Show learning, calibration and agreement; link items and trials."""
    titles = study.titles | {EVERYBODY: "All conditions"}
    titles |= {
        " and ".join(own): " and ".join(titles[name] for name in own)
        for own in study.allocation.groups.values()
    }
    blocks: list[Block] = [_build_learning_block(behaviour.learning, titles)]
    if study.allocation.design != "between":
        text = (
            "Participants who saw several conditions learn across them, so learning is shown over all their "
            "items and not by condition."
        )
        blocks.append(Text(text, "note"))
    if behaviour.calibration:
        blocks.append(_tabulate_calibration(behaviour.calibration, titles))
    else:
        blocks.append(
            Text("Calibration needs certainty ratings, and answers known to be correct or wrong.", "note")
        )
    if behaviour.agreement:
        blocks.append(_tabulate_agreement(behaviour.agreement, titles))
    blocks.append(_tabulate_items(behaviour.items, study.task.item_shares))
    blocks.append(_tabulate_trials(study))
    return Section("behaviour", "Behaviour of participants", blocks)


class _Point(NamedTuple):
    """A mean of a learning curve, by its positions."""

    curve: Learning
    positions: str
    mean: ParticipantMean


def _build_learning_block(curves: Sequence[Learning], titles: dict[str, str]) -> Block:
    shown = [curve for curve in curves if curve.trait in SHOWN_TRAITS]
    if not shown:
        return Text("The positions of trials are unknown, so learning cannot be assessed.", "note")
    points = []
    for curve in curves:
        points += [_Point(curve, f"{block.first}-{block.last}", block.mean) for block in curve.blocks]
        points += [_Point(curve, "change", curve.change), _Point(curve, "slope", curve.slope)]
    columns = [
        *build_field_columns("trait", "condition", of="curve"),
        Column("positions"),
        Column(
            "value",
            "mean.value",
            cell=lambda point: _format_mean_cell(point.mean, *SHOWN_TRAITS[point.curve.trait]),
        ),
        Column("low high", "mean.interval"),
        Column("participants", "mean.participants"),
    ]
    blocks = {f"{block.first}-{block.last}": f"Items {block.first}–{block.last}" for block in shown[0].blocks}
    return Table.from_records(
        "learning",
        "Learning: the same measures by position in the participant's order",
        points,
        columns,
        [
            "Means over participants with 95 % two-way bootstrap intervals; the last column is within "
            "participants, with t intervals."
        ],
        rows=shown,
        heads=[Column("", heading="Measure", cell=lambda curve: _format_curve_cell(curve, titles))],
        across=blocks | {"change": "Last − first"},
        keys=lambda point: (point.curve, point.positions),
        wide=len(blocks) > 3,
    )


def _format_curve_cell(curve: Learning, titles: dict[str, str]) -> Cell:
    unit = {"seconds": " (s)", "share": " (%)"}.get(curve.unit, "")
    return Cell(f"{curve.label}{unit}", detail=titles[curve.condition])


class _Statistic(NamedTuple):
    """A statistic of calibration, with the format of its cell."""

    row: Calibration
    statistic: str
    mean: ParticipantMean
    factor: float
    decimals: int


def _tabulate_calibration(calibrations: Sequence[Calibration], titles: dict[str, str]) -> Table:
    statistics = []
    for row in calibrations:
        statistics += [
            _Statistic(row, f"right at {level.level}", level.right, 100, 0) for level in row.levels
        ]
        statistics.append(_Statistic(row, "slope", row.slope, 100, 1))
        statistics += [_Statistic(row, "auroc", row.auroc, 1, 2), _Statistic(row, "gamma", row.gamma, 1, 2)]
    columns = [
        Column("condition", "row.condition"),
        Column("statistic"),
        Column(
            "value",
            "mean.value",
            cell=lambda record: _format_mean_cell(record.mean, record.factor, record.decimals),
        ),
        Column("low high", "mean.interval"),
        *build_field_columns("participants", "undefined", of="mean"),
    ]
    levels = {f"right at {level.level}": f"Certainty {level.level}" for level in calibrations[0].levels}
    return Table.from_records(
        "calibration",
        "Calibration: is certainty a sign of being right?",
        statistics,
        columns,
        [
            "Share of right ratings (%) at each level of certainty. Slope: percentage points per level. "
            "AUROC: how often a right rating is more certain than a wrong one of the same participant (0.5 "
            "is chance). Gamma: the same pairs without ties."
        ],
        rows=calibrations,
        heads=[Column("", lambda row: titles[row.condition], "Condition")],
        across=levels | {"slope": "Slope", "auroc": "AUROC", "gamma": "Gamma"},
        keys=lambda record: (record.row, record.statistic),
        wide=True,
    )


def _tabulate_agreement(agreements: Sequence[Agreement], titles: dict[str, str]) -> Table:
    undefined = dict.fromkeys(
        f"Undefined: {row.alpha.reason}." for row in agreements if row.alpha.value is None
    )
    metrics = {row.question: row.alpha.metric for row in agreements}
    columns = [
        Column("question"),
        Column("condition"),
        Column("metric", "alpha.metric"),
        Column("alpha", "alpha.value", cell=_format_alpha_cell),
        Column("low high", "alpha.interval"),
        Column("items", "alpha.items"),
        Column("ratings", "alpha.ratings"),
        Column("reason", "alpha.reason"),
    ]
    notes = [
        "Krippendorff's alpha: 1 is perfect agreement, 0 that of chance. Items with two ratings or more.",
        *undefined,
    ]
    return Table.from_records(
        "agreement",
        "Agreement among the participants of a condition",
        agreements,
        columns,
        notes,
        rows=list(metrics),
        heads=[
            Column("", heading="Question", cell=lambda key: Cell(key.replace("_", " "), detail=metrics[key]))
        ],
        across={row.condition: titles[row.condition] for row in agreements},
        keys=lambda row: (row.question, row.condition),
        wide=True,
    )


def _format_alpha_cell(row: Agreement | None) -> Cell:
    return (
        format_value_cell(row.alpha.value, row.alpha.interval, missing="undefined")
        if row
        else Cell("–", "missing")
    )


def _tabulate_items(items: Sequence[ItemValue], shares: Mapping[str, str]) -> Data:
    columns = [
        *build_field_columns("condition", "item", "measure"),
        Column("definition", lambda row: {**ITEM_MEASURES, **shares}[row.measure]),
        Column("value"),
        Column("low high", "interval"),
        *build_field_columns("n", "missing", "reason"),
    ]
    return Data("items", "Every measure of every item", *build_csv_rows(columns, items))


def _tabulate_trials(study: Study) -> Block:
    if len(study.trials) > MOST_TRIALS:
        return Text(f"The table of trials is left out: there are more than {MOST_TRIALS:,} of them.", "note")
    rating = study.version.question("correctness_rating")
    table = trial_table(
        study.trials,
        study.exclusions.names,
        clock=CLOCK_COLUMNS[study.clock] if study.clock else None,
        rating=rating.key if rating else None,
    )
    table = table.assign(**study.task.values(study.trials))
    rows = table.astype(object).where(table.notna(), None).itertuples(index=False, name=None)
    return Data("trials", "Every trial with what it contributes", list(table.columns), list(rows))


def _format_mean_cell(mean: ParticipantMean, factor: float, decimals: int) -> Cell:
    return format_value_cell(mean.value, mean.interval, factor, decimals, reason=mean.reason)
