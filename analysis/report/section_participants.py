"""Sections on participants: flow, exclusions, measures, missing data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..participants.attrition import (
    AttritionTest,
    completion_test,
    excluded_shares,
    exclusion_test,
    participant_flow,
    position_test,
    swapped_exclusion_test,
)
from ..participants.bundle import ConditionFlow
from ..participants.estimates import Estimate
from ..participants.exclusion_rules import CLOCK_LABELS, Exclusions
from ..participants.measures import Measure
from ..study.analysis import Study, View
from .distribution_figures import boxes_figure, likert_figure, times_figure
from .figures import certainty_figure, condition_figure
from .flow_diagram import flow_svg
from .page import Block, Data, Figure, Points, Section, Text
from .tables import Cell, Column, Table, csv_rows, fields, interval, number, scale


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
SEVERAL_CONDITIONS = (
    "Each participant saw several conditions, so the flow counts participants by their group, and a "
    "participant who leaves is lost to all conditions of the group."
)


def participants_section(study: Study) -> Section:
    """Show the participant flow and the losses by condition."""
    blocks: list[Block] = [Text(_who_counts(study))]
    flow = study.bundle.flow.get(study.mode)
    if flow is None:
        blocks.append(Text("The bundle holds no participant flow for this mode.", "note"))
    else:
        blocks.append(_flow_table(study, flow.conditions, flow.consented))
        if study.allocation.design != "between":
            blocks.append(Text(SEVERAL_CONDITIONS, "note"))
    blocks += _attrition(study)
    return Section("participants", "Participants", blocks)


def _attrition(study: Study) -> list[Block]:
    """Draw the flow, and test if conditions lost participants alike."""
    rules = [rule.name for rule in study.bundle.rules]
    names = study.exclusions.names
    groups = study.allocation.groups
    recorded = study.bundle.flow.get(study.mode)
    flow = participant_flow(study.conditions, recorded, study.trials, names, rules, groups)
    caption = "From consent to retained trials. Dashed boxes are losses."
    spoken = "; ".join(
        f"{condition.title}: {condition.assigned if condition.assigned is not None else 'unknown'} assigned, "
        f"{condition.contributing} with retained trials, "
        f"{condition.retained} of {condition.trials} trials retained"
        for condition in flow.arms
    )
    diagram = Figure("participant-flow", caption, f"Participant flow. {spoken}.", flow_svg(flow))
    streams = np.random.default_rng([study.options.seed, 7]).spawn(3)
    tests = [
        completion_test(flow, rng=streams[0]),
        position_test(flow, rng=streams[1]),
        *_exclusion_tests(study, rng=streams[2]),
    ]
    return [diagram, Points([test.sentence for test in tests])]


def _exclusion_tests(study: Study, rng: np.random.Generator) -> list[AttritionTest]:
    """Test if the rules exclude as many trials in each condition.

    Between participants, or within those who saw several conditions.
    """
    names, groups = study.exclusions.names, study.allocation.groups
    if study.allocation.design == "between":
        return [exclusion_test(excluded_shares(study.conditions, study.trials, names), rng=rng)]
    titles = {condition.name: condition.title for condition in study.conditions}
    hit = pd.Series([float(bool(n)) for n in names], index=study.trials.index)
    own = hit.groupby([study.trials["participant_id"], study.trials["condition"]]).mean().unstack()
    tests = []
    for conditions in groups.values():
        if len(conditions) > 1:
            seen = own.reindex(columns=list(conditions)).dropna(how="all")
            shares = {titles[name]: seen[name].to_numpy(float) for name in conditions}
            tests.append(swapped_exclusion_test(shares, rng=rng))
    return tests


def exclusions_section(study: Study) -> Section:
    """Show the exclusions by rule and condition, and the published figure."""
    exclusions = study.exclusions
    if not study.bundle.rules:
        text = f"The study has no exclusion rules: all {exclusions.total} submitted trials are retained."
        return Section("exclusions", "Exclusions", [Text(text)])
    blocks: list[Block] = [
        Text(
            f"The rules exclude {exclusions.excluded} of {exclusions.total} submitted trials "
            f"({_percent(exclusions.percent)}). A missing time or answer never excludes a trial. The "
            "report gives results with and without the exclusions."
        ),
        _rules_table(study, exclusions),
        _excluded_table(study, exclusions),
    ]
    if exclusions.overlap:
        blocks.append(_overlap_table(exclusions))
    else:
        blocks.append(Text("No trial is excluded by more than one rule."))
    blocks += _published(study, exclusions)
    disagreement = _stored_disagreement(study)
    if disagreement:
        blocks.append(Text(disagreement, "note"))
    return Section("exclusions", "Exclusions", blocks)


def measures_section(study: Study) -> Section:
    """Show the measures per condition, with and without exclusions, pooled."""
    view = study.retained
    available = [m for m in view.estimates.measures if view.estimates.available(m.key)]
    clock = CLOCK_LABELS[study.clock] if study.clock else "no clock (there is no time in the data)"
    return Section(
        "measures",
        "Measures per condition",
        [
            Text(f"{_how_averaged(study)} Times are those of {clock}."),
            _measures_table(study, available),
            _comparison_table(study, available),
            _pooled_table(study, available),
            _participants_data(study, available),
        ],
    )


def _how_averaged(study: Study) -> str:
    text = "Each value is a mean over participants of their own values, so that each participant counts once."
    if not study.options.resamples:
        return f"{text} Confidence intervals were switched off (--resamples 0)."
    return (
        f"{text} In brackets: 95 % confidence intervals (percentiles) of a two-way bootstrap, which "
        "resamples participants "
        f"{DRAWN[study.allocation.design]} and items across the study ({study.options.resamples} "
        "replicates), widened for few participants."
    )


def figures_section(study: Study) -> Section:
    """Draw the figures of the 2020 paper, as far as the data allow."""
    captions = {
        "agreement": "Agreement: share of trials rated correct.",
        "fraction_correct": "Fraction of correct ratings.",
        "fp": "False positives, as a share of all responses: the answer is rated correct and is wrong.",
        "over_estimation": "Over-estimation: agreement minus the system's accuracy on the same trials.",
    }
    with_points = (
        " Small marks are participants, the large one is their mean with its 95 % confidence interval."
    )
    if study.allocation.design != "between":
        with_points += " Thin lines join the values of one participant who saw both conditions."
    figures = [condition_figure(study, key, text + with_points) for key, text in captions.items()]
    headline = [measure for measure in study.retained.estimates.measures if measure.headline]
    whole = (
        certainty_figure(study),
        likert_figure(study),
        boxes_figure(study, headline),
        times_figure(study),
    )
    shown: list[Block] = [figure for figure in (*figures, *whole) if figure]
    missing = [
        text.split(":")[0].rstrip(".").lower()
        for (key, text), f in zip(captions.items(), figures, strict=True)
        if not f
    ]
    if missing:
        shown.append(
            Text(f"Not drawn because data are missing: {', '.join(missing)}. See the next section.", "note")
        )
    return Section("figures", "Figures", shown)


def missing_section(study: Study) -> Section:
    """List unavailable measures with the reason, and partly missing data."""
    estimates = study.retained.estimates
    reasons: dict[str, list[str]] = {}
    for measure in estimates.measures:
        for reason, conditions in _reasons(estimates.table, estimates.conditions, measure).items():
            where = "" if len(conditions) == len(estimates.conditions) else f" (in {', '.join(conditions)})"
            reasons.setdefault(reason, []).append(measure.label + where)
    sentences = [f"{_upper(reason)}. Not available: {'; '.join(names)}." for reason, names in reasons.items()]
    sentences += _partly_missing(study)
    if not sentences:
        return Section("missing", "Missing from the data", [Text("Every measure can be computed.")])
    intro = "The report leaves out these measures. They are unknown, which is not the same as zero."
    return Section("missing", "Missing from the data", [Text(intro), Points(sentences)])


def estimate_cell(estimate: Estimate) -> Cell:
    """Format a value, its interval and the number of undefined values."""
    if estimate.value is None:
        return Cell("not available", "missing")
    shown = FORMATS[estimate.measure.unit]
    scaled = scale(estimate.interval, shown.factor)
    undefined = f"{estimate.undefined} undefined" if estimate.undefined else ""
    detail = ", ".join(part for part in (interval(scaled, shown.decimals), undefined) if part)
    return Cell(_shown(estimate.measure, estimate.value), "", detail)


def _who_counts(study: Study) -> str:
    people, trials = len(study.people), len(study.trials)
    unfinished = int((study.people["status"] == "active").sum())
    text = (
        f"{people} participants submitted {trials} trials in mode {study.mode}, version "
        f"{study.version.version} of the study."
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


def _flow_table(study: Study, flow: dict[str, ConditionFlow], consented: int | None) -> Table:
    titles = {condition.name: condition.title for condition in study.conditions}
    rows = [
        (" and ".join(titles[name] for name in own), flow.get(group, ConditionFlow()))
        for group, own in study.allocation.groups.items()
    ]
    header = ["Condition", "Assigned", "Started", "Completed", "Active", "Withdrawn", "Dropped, after item"]
    notes = [f"{consented} participants consented."] if consented is not None else []
    return Table(
        "participant_flow",
        "Participant flow per condition",
        header,
        [
            [
                Cell(title),
                *(Cell(str(n)) for n in (f.assigned, f.started, f.completed, f.active, f.withdrawn)),
                Cell(
                    ", ".join(f"{n} after {k}" for k, n in sorted(f.dropped_at.items(), key=_item)) or "none"
                ),
            ]
            for title, f in rows
        ],
        notes,
        words=(6,),
    )


def _item(entry: tuple[str, int]) -> int:
    return int(entry[0])


def _rules_table(study: Study, exclusions: Exclusions) -> Table:
    columns = [
        Column("", "name", "Rule"),
        Column("", lambda rule: _upper(rule.describe()), "Excludes a trial", is_text=True),
        Column("", lambda rule: exclusions.by_rule[rule.name], "Trials hit"),
        Column("", lambda rule: exclusions.only_by_rule[rule.name], "By this rule alone"),
    ]
    return Table.from_columns("exclusion_rules", "Exclusion rules", study.bundle.rules, columns)


def _excluded_table(study: Study, exclusions: Exclusions) -> Table:
    rows = []
    for condition in study.conditions:
        trials, hit = exclusions.by_condition.get(condition.name, (0, 0))
        share = 100 * hit / trials if trials else None
        rows.append([Cell(condition.title), Cell(str(trials)), Cell(str(hit)), Cell(number(share, 2))])
    rows.append(
        [
            Cell("All"),
            Cell(str(exclusions.total)),
            Cell(str(exclusions.excluded)),
            Cell(number(exclusions.percent, 2)),
        ]
    )
    header = ["Condition", "Submitted trials", "Excluded", "Excluded (%)"]
    return Table("exclusions_by_condition", "Excluded trials per condition", header, rows)


def _overlap_table(exclusions: Exclusions) -> Table:
    rows = [[Cell(" and ".join(names)), Cell(str(count))] for names, count in exclusions.overlap.items()]
    return Table(
        "exclusion_overlap", "Trials excluded by exactly these rules together", ["Rules", "Trials"], rows
    )


def _published(study: Study, exclusions: Exclusions) -> list[Block]:
    published = study.version.published
    if published is None:
        return []
    blocks: list[Block] = []
    if published.excluded_percent is not None:
        blocks.append(
            Text(
                f"The publication of this study reports {published.excluded_percent:.2f} % of the responses "
                f"as excluded; the rules above give {exclusions.excluded} of {exclusions.total}, "
                f"{_percent(exclusions.percent)}. "
                "This report uses the recomputed exclusions."
            )
        )
    if published.note:
        blocks.append(Text(published.note, "note"))
    return blocks


def _stored_disagreement(study: Study) -> str:
    """Describe differences between the export's marks and the rules."""
    stored = study.trials["excluded_by"].fillna("")
    if not (stored != "").any():
        return ""
    same = [
        set(filter(None, text.split(";"))) == set(names)
        for text, names in zip(stored, study.exclusions.names, strict=True)
    ]
    wrong = len(same) - sum(same)
    if not wrong:
        return ""
    return (
        f"In {wrong} trials the column excluded_by of the bundle differs from what its rules give; "
        "this report applies the rules."
    )


def _measures_table(study: Study, measures: Sequence[Measure]) -> Table:
    estimates = study.retained.estimates
    rows = [
        [Cell(_row_name(m), detail=m.definition)]
        + [estimate_cell(estimates.get(m.key, condition.name)) for condition in study.conditions]
        for m in measures
    ]
    notes = [
        "“Undefined” counts participants for whom the formula divides by zero; the mean leaves them out."
    ]
    return Table(
        "measures",
        "Measures per condition, with exclusions",
        ["Measure", *_heads(study, study.retained)],
        rows,
        notes,
        *_estimates_data(study),
    )


def _comparison_table(study: Study, measures: Sequence[Measure]) -> Table:
    def row(m: Measure, name: str) -> list[Cell]:
        both = [view.estimates.get(m.key, name).value for view in (study.retained, study.everything)]
        change = both[1] - both[0] if both[0] is not None and both[1] is not None else None
        return [Cell(_shown(m, value)) for value in (*both, change)]

    header = ["Measure"]
    for condition in study.conditions:
        header += [f"{condition.title}: with", "without", "change"]
    rows = [
        [Cell(_row_name(m)), *(cell for condition in study.conditions for cell in row(m, condition.name))]
        for m in measures
    ]
    caption = "The same measures with and without the exclusions"
    return Table("measures_without_exclusions", caption, header, rows, wide=True)


def _pooled_table(study: Study, measures: Sequence[Measure]) -> Table:
    estimates = study.retained.estimates
    rows = [
        [
            Cell(_row_name(m)),
            *(Cell(_shown(m, estimates.get(m.key, condition.name).pooled)) for condition in study.conditions),
        ]
        for m in measures
    ]
    notes = [
        "For comparison only: pooling gives more weight to participants with more retained trials, and "
        "ignores that trials of one participant depend on each other."
    ]
    return Table(
        "measures_pooled",
        "The same formulas over all retained trials of a condition at once",
        ["Measure", *(condition.title for condition in study.conditions)],
        rows,
        notes,
    )


def _participants_data(study: Study, measures: Sequence[Measure]) -> Data:
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


def _estimates_data(study: Study) -> tuple[list[str], list[list[object]]]:
    columns = [
        Column("condition"),
        Column("measure", "measure.key"),
        Column("unit", "measure.unit"),
        Column("wanted", "measure.wanted"),
        Column("value"),
        Column("low high", "interval"),
        *fields("participants", "undefined", "trials", "pooled", "reason"),
    ]
    header, rows = csv_rows(columns, study.retained.estimates.table.values())
    _, without = csv_rows(columns, study.everything.estimates.table.values())
    return ["exclusions", *header], [
        *(["with", *row] for row in rows),
        *(["without", *row] for row in without),
    ]


def _heads(study: Study, view: View) -> list[str]:
    sizes = {grid.condition: (len(grid.participants), grid.trials) for grid in view.grids}
    return [
        f"{condition.title} ({sizes[condition.name][0]} participants, {sizes[condition.name][1]} trials)"
        for condition in study.conditions
    ]


def _reasons(
    table: dict[tuple[str, str], Estimate], conditions: Sequence[str], measure: Measure
) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for condition in conditions:
        estimate = table[measure.key, condition]
        if estimate.reason:
            reasons.setdefault(estimate.reason, []).append(condition)
    return reasons


def _partly_missing(study: Study) -> list[str]:
    trials = study.retained.trials
    sentences = []
    recorded = int(trials["system_correct"].notna().sum())
    if 0 < recorded < len(trials):
        sentences.append(
            f"It is not recorded for {len(trials) - recorded} of {len(trials)} retained trials whether the "
            "system's answer is correct; the measures that need it use the others."
        )
    for question in study.version.item_questionnaire:
        answered = int(trials[question.key].notna().sum())
        if question.role != "known_before" and 0 < answered < len(trials):
            sentences.append(
                f"The question {question.key} has no answer in {len(trials) - answered} of {len(trials)} "
                "retained trials; the measures that need it use the others."
            )
    return sentences


def _row_name(measure: Measure) -> str:
    return measure.label + FORMATS[measure.unit].suffix


def _shown(measure: Measure, value: float | None) -> str:
    shown = FORMATS[measure.unit]
    return number(None if value is None else value * shown.factor, shown.decimals)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} %"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
