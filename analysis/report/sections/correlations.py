"""Section on correlations of human measures and model scores."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...planning.declared_plan import Plan
from ...planning.systems_needed import Scenario, choose_correlations, estimate_noise, plan_systems
from ...stats.correlations import (
    COEFFICIENTS,
    LEAST_FOR_P,
    LEAST_SYSTEMS,
    Coefficient,
    Correlation,
    compute_smallest_p,
)
from ...stats.streams import derive_stream
from ...study.comparisons import holm
from ...study.human_vs_model import (
    Quantity,
    Relation,
    Relations,
    choose_main_relation,
    select_declared_scores,
)
from ..page import Block, Data, Section, Text
from ..tables import (
    Cell,
    Column,
    Table,
    build_csv_rows,
    build_field_columns,
    format_interval,
    format_number,
    format_p,
)
from .systems import Part, explain_too_few_systems, format_head, format_percent, split_into_parts

NAMES: dict[Coefficient, str] = {
    "pearson": "Pearson r",
    "spearman": "Spearman rho",
    "kendall": "Kendall tau-b",
}
TARGET = 0.8  # power that is asked for
OPEN = 0.995  # an end that is shown as 1.00

FIXED_SYSTEMS = (
    "The systems and their scores stay as they are. The confidence intervals therefore describe the "
    "uncertainty about these systems, not about other systems."
)
REGION = (
    "95 % intervals: the smallest and the largest coefficient in the region that holds the central 95 % of "
    "the bootstrap replicates of all systems together. They are conservative (too wide rather than too "
    "narrow)."
)
TWO_WAY = (
    f"In brackets: {REGION} Participants and items are resampled (two-way bootstrap) and the human measures "
    f"aggregated again. {FIXED_SYSTEMS}"
)
OVER_PARTICIPANTS = (
    f"In brackets: {REGION} Participants are resampled within their system, or all together if any of them "
    "judged several systems. Items cannot be resampled because the table does not hold them: the statements "
    f"are about these items, and intervals that also allowed for other items would be wider. {FIXED_SYSTEMS}"
)
SWITCHED_OFF = "Confidence intervals were switched off (--resamples 0)."
NOTHING_TO_RESAMPLE = (
    "There are no confidence intervals: the table holds one value per system, without its "
    "uncertainty. A table with a row per system and participant (second column: participant) gives "
    "intervals; a folder of trials (`report`) gives those that also allow for other items."
)
OPEN_INTERVALS = (
    "An interval from −1 to 1 is shown as “open”: nothing is ruled out. The percentage is the direction "
    "probability, the share of replicates with a positive correlation; in them the questions of the score, "
    "if they are known, are resampled too."
)


def build_correlations_section(relations: Relations, *, intervals: str, plan: Plan | None = None) -> Section:
    """Show the correlation of every measure with every score.

    Args:
        relations: Measures related to scores.
        intervals: Sentences on the confidence intervals, or on why there are none.
        plan: Declares the scores and the coefficient that the page shows; the file has all.

    Raises:
        AnalysisError: The plan names a score that the systems do not have.
    """
    n, plan = len(relations.systems), plan or Plan()
    if not relations.pairs or n < LEAST_SYSTEMS:
        pairs = [_tabulate_all_pairs(relations, plan, {})] if relations.pairs else []
        return Section("correlations", "Correlations", [Text(explain_too_few_systems(relations)), *pairs])
    scores = select_declared_scores(relations, plan)
    adjusted = {
        (measure.key, coefficient): _adjust_p_values(relations, measure, scores, coefficient)
        for measure in relations.measures
        for coefficient in COEFFICIENTS
    }
    drawn = any(measure.replicates is not None for measure in relations.measures)
    notes = [
        *explain_system_count(n),
        *([_describe_family(scores, plan)] if n >= LEAST_FOR_P else []),
        intervals,
    ]
    blocks: list[Block] = [Text(" ".join(notes)), *([Text(OPEN_INTERVALS)] if drawn else [])]
    blocks += [
        _tabulate_correlations(relations, scores, part, plan, adjusted)
        for part in split_into_parts(relations.measures, 10)
    ]
    blocks += [_tabulate_all_pairs(relations, plan, adjusted), *show_needed_systems(relations, plan)]
    return Section("correlations", "Correlations", blocks)


def explain_system_count(n: int) -> list[str]:
    """Describe what correlations over n systems can and cannot show."""
    rank_p, pearson_p = compute_smallest_p(n, "spearman"), compute_smallest_p(n, "pearson")
    smallest = (
        f"With n = {n} systems the smallest two-sided p that any ranking could reach is {rank_p:.2g} "
        f"({pearson_p:.2g} for Pearson’s r)"
    )
    if n == LEAST_SYSTEMS:
        return [
            f"n = {n}. With two systems every correlation is +1 or −1, whatever the score: it only says "
            "whether the system with the better score is also ahead with people, and proves nothing about "
            "others. No p below 1 could ever be reached."
        ]
    if n < LEAST_FOR_P:
        return [
            f"n = {n}. Over so few systems a correlation describes these systems and proves nothing about "
            "others: a coefficient near 1 or −1 is common by chance alone.",
            f"{smallest}, so no p values are given; they are given from {LEAST_FOR_P} systems on.",
        ]
    return [f"n = {n}. p is two-sided, from permutations of the systems.", f"{smallest}."]


def show_needed_systems(relations: Relations, plan: Plan) -> list[Block]:
    """Show how many systems a study would need to show a relation."""
    main = choose_main_relation(relations, plan)
    if main is None or main.rank is None:
        return []
    correlation = main.correlations[plan.coefficient]
    noise = measure_noise(main.measure)
    rng = derive_stream(np.random.default_rng(plan.seed), "systems needed")
    rows = plan_systems(
        choose_correlations(correlation.value),
        noise,
        rng,
        coefficient=plan.coefficient,
        target=TARGET,
        alpha=plan.alpha,
    )
    return [
        Text(_describe_needed_systems(main, rows, noise, plan)),
        tabulate_needed_systems(rows, noise, plan.coefficient, target=TARGET, alpha=plan.alpha),
    ]


def tabulate_needed_systems(
    rows: Sequence[Scenario], noise: float | None, coefficient: Coefficient, *, target: float, alpha: float
) -> Table:
    """Tabulate the systems needed for each true correlation."""
    columns = [
        Column("correlation", heading="True correlation", cell=lambda row: format_number(row.correlation)),
        Column("systems", "without.systems", "Systems, no noise", lambda row: str(row.without)),
        Column("power", "without.power.value"),
    ]
    if noise is not None:
        columns += [
            Column(
                "systems_with_noise",
                "noisy.systems",
                f"Systems, noise {format_number(noise)}",
                lambda row: str(row.noisy),
            ),
            Column("power_with_noise", "noisy.power.value"),
        ]
    caption = f"Systems needed for a power of {target:g} ({NAMES[coefficient]}, alpha {alpha:g})"
    return Table.from_columns("systems_needed", caption, rows, columns)


def measure_noise(measure: Quantity) -> float | None:
    """Return the noise of people's means of the systems; None if unknown."""
    if measure.replicates is None:
        return None
    is_known = ~np.isnan(measure.values)
    draws = measure.replicates[:, is_known]
    draws = draws[~np.isnan(draws).any(axis=1)]
    return estimate_noise(measure.values[is_known], draws) if len(draws) and is_known.sum() > 1 else None


def _describe_needed_systems(
    main: Relation, rows: Sequence[Scenario], noise: float | None, plan: Plan
) -> str:
    label, middle = main.measure.label, rows[len(rows) // 2]
    text = (
        f"To show at alpha {plan.alpha:g} and with a power of {TARGET:g} that one declared score goes along "
        f"with {label}, a study needs {middle.without} systems if the true correlation is "
        f"{middle.correlation:g} and people’s means have no noise"
    )
    if noise is not None:
        return (
            f"{text}, and {middle.noisy} with the noise of this study (the standard error of a system’s mean "
            f"is {format_number(noise)} standard deviations between systems; a scenario, because so few "
            "systems "
            "hardly show how much systems differ)."
        )
    if main.measure.replicates is None:
        return f"{text}; noise, which is unknown here, raises the number."
    return (
        f"{text}. In this study the systems differ in {label} by no more than the noise of its participants "
        "and items, so more systems alone would not do; more participants or items have to come with them."
    )


def _describe_family(scores: Sequence[Quantity], plan: Plan) -> str:
    which = "declared scores" if plan.scores else "headline scores, because the plan declares none"
    return (
        "p is corrected by Holm’s method; the family is, for each human measure by itself, its correlations "
        f"with the {len(scores)} {which}."
    )


def _adjust_p_values(
    relations: Relations, measure: Quantity, scores: Sequence[Quantity], coefficient: Coefficient
) -> dict[str, float | None]:
    """Correct a measure's p over the scores, by key of the score."""
    pairs = [relations.get(measure.key, score.key).correlations.get(coefficient) for score in scores]
    p_values = holm([correlation.p if correlation else None for correlation in pairs])
    return dict(zip((score.key for score in scores), p_values, strict=True))


_Adjusted = dict[tuple[str, Coefficient], dict[str, float | None]]


class _Coefficient(NamedTuple):
    """A coefficient of a measure and a score; None for a pair without any."""

    measure: str
    score: str
    relation: Relation
    coefficient: Coefficient | None
    correlation: Correlation | None
    p_holm: float | None


def _tabulate_all_pairs(relations: Relations, plan: Plan, adjusted: _Adjusted) -> Data:
    """Tabulate all pairs: one row per measure, score and coefficient."""
    rows = [
        _Coefficient(*pair, relation, name, found, adjusted.get((pair[0], name), {}).get(pair[1]))
        for pair, relation in relations.pairs.items()
        for name, found in relation.correlations.items()
    ]
    rows += [
        _Coefficient(*pair, relation, None, None, None)
        for pair, relation in relations.pairs.items()
        if not relation.correlations
    ]
    columns = [
        *build_field_columns("measure", "score"),
        Column("n", "relation.n"),
        Column("rank", "relation.rank.sign"),
        Column("sign_share", "relation.sign_share"),
        Column("sign_recurs", lambda row: _is_recurring(row.relation, plan.sign_share)),
        Column("same_share", "relation.shares.same"),
        Column("reversed_share", "relation.shares.reversed"),
        Column("score_drawn", "relation.is_score_drawn"),
        Column("tied", "relation.rank.tied"),
        Column("desirable", "relation.desirable"),
        Column("coefficient"),
        Column("value", "correlation.value"),
        Column("low high", "correlation.interval"),
        Column("positive", "correlation.positive"),
        Column("p", "correlation.p"),
        Column("p_holm"),
        *build_field_columns("p_method", "smallest_p", of="correlation"),
        Column("reason", lambda row: (row.correlation or row.relation).reason),
    ]
    words = "Every measure with every score and all three coefficients, in full precision"
    return Data("correlations", words, *build_csv_rows(columns, rows))


def _is_recurring(relation: Relation, least: float) -> bool | None:
    return None if relation.sign_share is None else relation.is_recurring(least)


def _tabulate_correlations(
    relations: Relations, scores: Sequence[Quantity], part: Part, plan: Plan, adjusted: _Adjusted
) -> Table:
    n, coefficient = len(relations.systems), plan.coefficient
    shown = {score.key: format_head(score) for score in scores}

    def cell(relation: Relation) -> Cell:
        p = adjusted[relation.measure.key, coefficient].get(relation.score.key)
        return _format_cell(relation, relation.correlations.get(coefficient), p, n)

    return Table.from_records(
        f"correlations_{coefficient}{part.suffix}",
        f"{NAMES[coefficient]}, n = {n} systems{part}",
        list(relations.pairs.values()),
        [Column("", cell=cell)],
        rows=list(shown),
        heads=[Column("", shown.get, "Model score")],
        across={measure.key: measure.label for measure in part.shown},
        keys=lambda relation: (relation.score.key, relation.measure.key),
        wide=True,
    )


def _format_cell(relation: Relation, correlation: Correlation | None, p: float | None, systems: int) -> Cell:
    if correlation is None or correlation.value is None:
        return Cell("n/a", "missing")
    bounds = correlation.interval
    nothing = bounds is not None and bounds[0] <= -OPEN and bounds[1] >= OPEN
    details = [
        "open" if nothing else format_interval(bounds),
        "" if correlation.positive is None else format_percent(correlation.positive),
        "" if p is None else f"p {format_p(p)}",
        f"n = {relation.n}" if relation.n < systems else "",
    ]
    return Cell(format_number(correlation.value), "", ", ".join(filter(None, details)))
