"""Sections on participants: flow, exclusions, measures, missing data."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...participants.attrition import (
    COUNTS,
    AttritionTest,
    ParticipantFlow,
    completion_test,
    compute_excluded_shares,
    exclusion_test,
    participant_flow,
    position_test,
    swapped_exclusion_test,
)
from ...participants.bundle import ConditionFlow
from ...participants.estimates import Estimate
from ...participants.exclusion_rules import CLOCK_LABELS
from ...participants.measures import Measure
from ...participants.study_version import Kind
from ...stats.streams import derive_stream
from ...study.analysis import Study
from ..page import Block, Data, Figure, Points, Section, Text
from ..plots.distributions import draw_boxes_figure, draw_likert_figure, draw_times_figure
from ..plots.flow_diagram import draw_flow_svg
from ..plots.intervals import draw_certainty_figure, draw_condition_figure, prepare_flow_prints
from ..tables import (
    Cell,
    Column,
    Table,
    build_field_columns,
    capitalise_sentence,
    format_count,
    format_interval,
    format_number,
)


@dataclass(frozen=True)
class Format:
    """Format of a unit: factor, decimals and suffix of the measure's name."""

    factor: float
    decimals: int
    suffix: str


FORMATS = {
    "share": Format(100, 1, " (%)"),
    "seconds": Format(1, 1, " (s)"),
    "points": Format(1, 2, ""),
    "number": Format(1, 2, ""),
}


DRAWN = {
    "between": "within their condition",
    "within": "with all their conditions",
    "mixed": "within their group, with all its conditions,",
}
DRAWN_MEASURES: dict[Kind, dict[str, str]] = {  # with their captions; others are on the first screen
    "verification": {
        "agreement": "Agreement: share of trials rated correct.",
        "fraction_correct": "Fraction of correct ratings.",
        "fp": "False positives, as a share of all responses: the answer is rated correct and is wrong.",
        "over_estimation": "Over-estimation: agreement minus the system's accuracy on the same trials.",
    },
    "advice": {
        "final_accuracy": "Accuracy of final answers.",
        "under_reliance": "Under-reliance: share of wrong first answers that right advice did not correct.",
        "advice_agreement": "Agreement with advice: share of final answers that equal it.",
        "switch_fraction": "Switch fraction: share of final answers that equal the advice, where the first "
        "answer did not.",
        "confidence_change": "Change of confidence from the first to the final answer.",
    },
    "simulation": {
        "before_accuracy": "Accuracy before the learning block.",
        "after_accuracy": "Accuracy after the learning block.",
    },
    "preference": {},
    "counterfactual": {
        "prediction_accuracy": "Accuracy of predictions: share of answers that are right predictions.",
    },
}
SEVERAL_CONDITIONS = (
    "Each participant saw several conditions, so the flow counts participants by their group, and a "
    "participant who leaves is lost to all conditions of the group."
)


def build_participants_section(study: Study) -> Section:
    """Show the participant flow and the losses by condition."""
    blocks: list[Block] = [Text(_describe_participants(study)), _draw_flow_figure(study)]
    if study.bundle.flow.get(study.mode) and study.allocation.design != "between":
        blocks.append(Text(SEVERAL_CONDITIONS, "note"))
    return Section(
        "participants", "Flow of participants", [*blocks, *_test_attrition(study), *_tabulate_flow(study)]
    )


def count_participant_flow(study: Study) -> ParticipantFlow:
    """Count the flow of the participants who count."""
    exclusions = study.exclusions
    recorded = study.bundle.flow.get(study.mode)
    rules = [rule.name for rule in study.bundle.rules]
    groups = study.allocation.groups
    return participant_flow(
        study.conditions, recorded, study.trials, exclusions.names, rules, groups, exclusions.people
    )


def _draw_flow_figure(study: Study) -> Figure:
    flow = count_participant_flow(study)
    caption = "From consent to retained trials. Dashed boxes are losses."
    if study.mode not in study.bundle.flow:
        caption += " The bundle holds no counts from before the first trial."
    spoken = "; ".join(
        f"{condition.title}: {condition.assigned if condition.assigned is not None else 'unknown'} assigned, "
        f"{condition.contributing} with retained trials, "
        f"{condition.retained} of {condition.trials} trials retained"
        for condition in flow.conditions
    )
    alternative = f"Participant flow. {spoken}."
    return Figure(
        "participant-flow", caption, alternative, draw_flow_svg(flow), prints=prepare_flow_prints(flow)
    )


def _test_attrition(study: Study) -> list[Block]:
    """Test if conditions lost participants alike; name what was not tested."""
    flow, rng = count_participant_flow(study), np.random.default_rng(study.options.seed)
    tests = [
        completion_test(flow, rng=derive_stream(rng, "completion")),
        position_test(flow, rng=derive_stream(rng, "position")),
        *_test_exclusions(study, rng),
    ]
    sentences = [test.sentence for test in tests if test.p is not None]
    untested = [
        f"{test.question[:1].lower()}{test.question[1:]} ({test.reason})" for test in tests if test.p is None
    ]
    if untested:
        sentences.append(f"Differences between conditions were not tested for: {'; '.join(untested)}.")
    return [Points(sentences)]


def _test_exclusions(study: Study, rng: np.random.Generator) -> list[AttritionTest]:
    """Test if the rules exclude as many trials in each condition.

    Between participants, or within those who saw several conditions.
    """
    names, groups = study.exclusions.names, study.allocation.groups
    if study.task.pairs:
        return []
    if study.allocation.design == "between":
        shares = compute_excluded_shares(study.conditions, study.trials, names)
        return [exclusion_test(shares, rng=derive_stream(rng, "exclusions"))]
    titles = study.titles
    hit = pd.Series([float(bool(n)) for n in names], index=study.trials.index)
    who = study.trials["participant_id"]
    own = hit.groupby([who, study.trials["condition"]]).mean().unstack().reindex(who.unique())
    tests = []
    for group, conditions in groups.items():
        if len(conditions) > 1:
            seen = own.reindex(columns=list(conditions)).dropna(how="all")
            shares = {titles[name]: seen[name].to_numpy(float) for name in conditions}
            tests.append(swapped_exclusion_test(shares, rng=derive_stream(rng, "exclusions", group)))
    return tests


def build_measures_section(study: Study) -> Section:
    """Show the measures per condition, and what the exclusions change."""
    view = study.retained
    available = [m for m in view.estimates.measures if view.estimates.has_value(m.key)]
    clock = CLOCK_LABELS[study.clock] if study.clock else "no clock (there is no time in the data)"
    timed = any("time" in measure.needs for measure in view.estimates.measures)
    return Section(
        "measures",
        "Measures per condition",
        [
            Text(
                f"{_explain_averaging(study)} Times are those of {clock}."
                if timed
                else _explain_averaging(study)
            ),
            _tabulate_measures(study, available),
            Text(_describe_exclusion_effect(study, available)),
            _tabulate_participants(study, available),
        ],
    )


def _explain_averaging(study: Study) -> str:
    text = "Each value is a mean over participants of their own values, so that each participant counts once."
    if not study.options.resamples:
        return f"{text} Confidence intervals were switched off (--resamples 0)."
    return (
        f"{text} In brackets: 95 % confidence intervals (percentiles) of a two-way bootstrap, which "
        f"resamples participants {DRAWN[study.allocation.design]} and items across the study "
        f"({study.options.resamples} replicates), widened for few participants."
    )


def build_figures_section(study: Study) -> Section:
    """Draw the main measures, as far as the data allow.

    Those of judging a system are the figures of the 2020 paper.
    """
    captions = DRAWN_MEASURES[study.version.task.kind]
    with_points = (
        " Small marks are participants, the large one is their mean with its 95 % confidence interval."
    )
    if study.allocation.design != "between":
        with_points += " Thin lines join the values of one participant who saw both conditions."
    figures = [draw_condition_figure(study, key, text + with_points) for key, text in captions.items()]
    headline = [measure for measure in study.retained.estimates.measures if measure.headline]
    whole = (
        draw_certainty_figure(study),
        draw_likert_figure(study),
        draw_boxes_figure(study, headline),
        draw_times_figure(study),
    )
    drawn = [figure for figure in (*figures, *whole) if figure]
    shown: list[Block] = [*sorted(drawn, key=lambda figure: not figure.half)]
    missing = [
        text.split(":")[0].rstrip(".").lower()
        for (key, text), f in zip(captions.items(), figures, strict=True)
        if not f
    ]
    if missing:
        shown.append(Text(f"Not drawn because data are missing: {', '.join(missing)}.", "note"))
    return Section("figures", "Distributions", shown)


def build_missing_section(study: Study) -> Section:
    """List unavailable measures with the reason, and partly missing data."""
    estimates = study.retained.estimates
    reasons: dict[str, list[str]] = {}
    for measure in estimates.measures:
        for reason, conditions in _group_conditions_by_reason(
            estimates.table, estimates.conditions, measure
        ).items():
            where = "" if len(conditions) == len(estimates.conditions) else f" (in {', '.join(conditions)})"
            reasons.setdefault(reason, []).append(measure.label + where)
    sentences = [
        f"{capitalise_sentence(reason)}. Not available: {'; '.join(names)}."
        for reason, names in reasons.items()
    ]
    sentences += _list_partly_missing(study)
    if not sentences:
        return Section("missing", "Missing from the data", [Text("Every measure can be computed.")])
    intro = "The report leaves out these measures. They are unknown, which is not the same as zero."
    return Section("missing", "Missing from the data", [Text(intro), Points(sentences)])


def format_estimate_cell(estimate: Estimate) -> Cell:
    """Format a value, its interval and the number of undefined values."""
    if estimate.value is None:
        return Cell("not available" if estimate.is_asked else "not asked", "missing")
    shown = FORMATS[estimate.measure.unit]
    bounds = format_interval(estimate.interval, shown.decimals, shown.factor)
    undefined = f"{estimate.undefined} undefined" if estimate.undefined else ""
    detail = ", ".join(filter(None, (bounds, undefined)))
    return Cell(_format_value(estimate.measure, estimate.value), "", detail)


def _describe_participants(study: Study) -> str:
    people, trials = len(study.people), len(study.trials)
    unfinished = int((study.people["status"] == "active").sum())
    text = (
        f"{format_count(people, 'participant')} submitted {format_count(trials, 'trial')} "
        f"in mode {study.mode}, version {study.version.version} of the study."
    )
    if unfinished:
        text += f" {unfinished} of them had not finished; their submitted trials count."
    if study.withdrawn:
        text += f" {study.withdrawn} more withdrew and are left out of everything below."
    for mode, count in study.other_modes.items():
        text += f" {count} trials of mode {mode} are left out."
    for version, count in study.other_versions.items():
        text += f" {count} trials of version {version} are left out."
    return text


def _tabulate_flow(study: Study) -> list[Block]:
    """Tabulate the counts of the flow, and the places of those who left."""
    flow = study.bundle.flow.get(study.mode)
    if flow is None:
        return []
    counts = {group: flow.conditions.get(group, ConditionFlow()) for group in study.allocation.groups}
    rows = [(group, *(getattr(own, name) for name in COUNTS)) for group, own in counts.items()]
    dropouts = [(group, int(k), n) for group, own in counts.items() for k, n in own.dropped_at.items()]
    tables: list[Block] = [
        Data("participant_flow", "Participant flow per condition", ("condition", *COUNTS), rows)
    ]
    if dropouts:
        header = ("condition", "items_submitted", "participants")
        tables.append(Data("dropouts", "Participants who left, by submitted items", header, sorted(dropouts)))
    return tables


class _Estimated(NamedTuple):
    """An estimate with or without the exclusions."""

    exclusions: str
    estimate: Estimate


def _tabulate_measures(study: Study, measures: Sequence[Measure]) -> Table:
    views = {"with": study.retained, "without": study.everything}
    records = [
        _Estimated(exclusions, estimate)
        for exclusions, view in views.items()
        for estimate in view.estimates.table.values()
    ]
    columns = [
        Column("exclusions"),
        Column("condition", "estimate.condition"),
        Column("measure", "estimate.measure.key"),
        *build_field_columns("unit", "wanted", of="estimate.measure"),
        Column("value", "estimate.value", cell=lambda row: format_estimate_cell(row.estimate)),
        Column("low high", "estimate.interval"),
        *build_field_columns("participants", "undefined", "trials", "pooled", "reason", of="estimate"),
    ]
    return Table.from_records(
        "measures",
        "Measures per condition, with exclusions",
        records,
        columns,
        ["“Undefined” counts participants for whom the formula divides by zero; the mean leaves them out."],
        rows=[("with", measure) for measure in measures],
        heads=[
            Column(
                "",
                heading="Measure",
                cell=lambda row: Cell(_format_measure_name(row[1]), detail=row[1].definition),
            )
        ],
        across=_build_headings(study),
        keys=lambda row: ((row.exclusions, row.estimate.measure), row.estimate.condition),
        wide=len(study.conditions) > 5,
    )


def _describe_exclusion_effect(study: Study, measures: Sequence[Measure]) -> str:
    """Name the measures that the exclusions change most."""
    if not study.exclusions.excluded:
        return ""
    changes = []
    for m, condition in product(measures, study.conditions):
        kept, every = (v.estimates.get(m.key, condition.name) for v in (study.retained, study.everything))
        if kept.value is not None and every.value is not None and kept.value != every.value:
            width = kept.interval[1] - kept.interval[0] if kept.interval else 0.0
            changes.append(
                (abs(every.value - kept.value) / width if width else 0.0, m, condition, kept, every)
            )
    if not changes:
        return "Without the exclusions all measures are the same."
    share, m, condition, kept, every = max(changes, key=lambda change: change[0])
    return (
        "Without the exclusions no measure changes by more than "
        f"{100 * share:.0f} % of the width of its confidence interval (most: {m.label.lower()} of "
        f"{condition.title}, {_format_value(m, kept.value)} with and {_format_value(m, every.value)} "
        "without them); measures.csv has every value with, without, and pooled over trials."
        if share
        else "measures.csv has every value with and without the exclusions, and pooled over trials."
    )


def _tabulate_participants(study: Study, measures: Sequence[Measure]) -> Data:
    """Tabulate every participant's own values over retained trials."""
    estimates, rows = study.retained.estimates, []
    for column, grid in enumerate(study.retained.grids):
        given = [m for m in measures if estimates.get(m.key, grid.condition).value is not None]
        own = {m.key: estimates.per_participant[m.key][column] for m in given}
        trials = grid.present.sum(axis=1)
        for row, who in enumerate(grid.participants):
            values = [float(own[m.key][row]) if m.key in own else np.nan for m in measures]
            own_values = [None if np.isnan(value) else value for value in values]
            rows.append((who, grid.condition, int(trials[row]), *own_values))
    header = ("participant_id", "condition", "trials", *(m.key for m in measures))
    return Data("participant_measures", "Every measure of every participant", header, rows)


def _build_headings(study: Study) -> dict[str, str]:
    """Return the heading of each condition."""
    titles = study.titles
    return {
        grid.condition: f"{titles[grid.condition]} "
        f"({format_count(len(grid.participants), 'participant')}, {format_count(grid.trials, 'trial')})"
        for grid in study.retained.grids
    }


def _group_conditions_by_reason(
    table: dict[tuple[str, str], Estimate], conditions: Sequence[str], measure: Measure
) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for condition in conditions:
        estimate = table[measure.key, condition]
        if estimate.reason:
            reasons.setdefault(estimate.reason, []).append(condition)
    return reasons


def _list_partly_missing(study: Study) -> list[str]:
    trials = study.retained.trials
    sentences = []
    recorded = int(trials["system_correct"].notna().sum())
    if 0 < recorded < len(trials):
        sentences.append(
            f"It is not recorded for {len(trials) - recorded} of {len(trials)} retained trials whether the "
            "system's answer is correct; the measures that need it use the others."
        )
    for question in study.version.item_questionnaire:
        asked = trials if question.only is None else trials[trials["condition"].isin(question.only)]
        answered = int(asked[question.key].notna().sum())
        if question.role != "known_before" and 0 < answered < len(asked):
            sentences.append(
                f"The question {question.key} has no answer in {len(asked) - answered} of {len(asked)} "
                "retained trials that ask it; the measures that need it use the others."
            )
    return sentences


def _format_measure_name(measure: Measure) -> str:
    return measure.label + FORMATS[measure.unit].suffix


def _format_value(measure: Measure, value: float | None) -> str:
    shown = FORMATS[measure.unit]
    return format_number(None if value is None else value * shown.factor, shown.decimals)
