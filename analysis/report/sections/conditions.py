"""Sections on differences between conditions."""

from collections.abc import Sequence
from typing import NamedTuple

from ...participants.measures import Measure
from ...stats.crossed import CrossedTest
from ...stats.equivalence import Equivalence
from ...stats.results import TARGETS, Finding, Target
from ...study.analysis import Study
from ...study.comparisons import Comparison
from ...study.inference import Inference
from ...study.systems import group_styles
from ..page import Block, Points, Section, Text
from ..tables import (
    Cell,
    Column,
    Table,
    build_field_columns,
    format_interval,
    format_number,
    format_p,
    format_value_cell,
)
from .claims import find_format, format_pair_label
from .participants import FORMATS

ABOUT: dict[Target, str] = {
    "items_like_these": "About items like these, answered by people like these",
    "these_items": "About these items, answered by people like these",
}
SHORT: dict[Target, str] = {"items_like_these": "about items like these", "these_items": "about these items"}
HOW: dict[Target, str] = {
    "items_like_these": "Participants and items are samples. Difference, interval and p come from one t "
    "distribution: the variance is that over participants plus that over items, less the residual that is in "
    "both (quasi-F; Cornfield and Tukey 1956, Clark 1973), with Satterthwaite's degrees of freedom.",
    "these_items": "The items are given, the participants a sample. {tests}; the interval holds the "
    "differences that the same permutations do not reject. Effect sizes, too, are about these items.",
}
HOW_TESTED = {  # whether the same participants saw both conditions
    False: "p comes from {permutations} permutations of participants between two conditions (all of them if "
    "there are fewer)",
    True: "if the same participants saw both conditions, p comes from {permutations} random swaps of the two "
    "within participants (all of them up to 15 participants)",
}
PAIRED = (
    "Conditions that the same participants saw are compared within them: the difference is the mean of the "
    "changes of those who have both values, so it may differ from that of the two means."
)


def build_differences_section(study: Study, inference: Inference) -> Section:
    """Show every comparison for both targets, the plan's target first."""
    comparisons = inference.family.comparisons
    titles = study.titles
    blocks: list[Block] = [Text(_describe_comparisons(inference, titles))]
    if any(comparison.paired for comparison in comparisons):
        blocks.append(Text(PAIRED))
    if inference.omnibus:
        blocks.append(_tabulate_omnibus_tests(inference, titles))
    blocks += _build_target_blocks(comparisons, titles, inference, "differences")
    if margins := [
        comparison
        for comparison in comparisons
        if not comparison.reason and comparison.equivalence is not None
    ]:
        blocks.append(_tabulate_equivalence(margins, titles, inference.plan.target, inference.plan.alpha))
    return Section("differences", "Differences between conditions", blocks)


def _build_target_blocks(
    comparisons: Sequence[Comparison], titles: dict[str, str], inference: Inference, name: str
) -> list[Block]:
    """Build a table for each target, what is missing, and the assumptions."""
    blocks: list[Block] = []
    plan = inference.plan
    shown = [comparison for comparison in comparisons if not comparison.reason]
    for target in sorted(TARGETS, key=lambda about: about != plan.target) if shown else ():
        tests = ", and ".join(
            words.format(permutations=f"{plan.permutations:,}")
            for paired, words in HOW_TESTED.items()
            if paired in {comparison.paired for comparison in comparisons}
        )
        role = ""
        if inference.declared and name == "differences":
            role = (
                " Confirmatory."
                if target == plan.target
                else " Exploratory: the plan is about the other claim."
            )
        blocks.append(Text(f"{ABOUT[target]}.{role} {HOW[target].format(tests=tests)}"))
        blocks.append(_tabulate_differences(comparisons, shown, titles, plan.alpha, target, name))
    refused = dict.fromkeys(
        f"{format_pair_label(comparison, titles)} in {_lower_first_letter(comparison.measure.label)}: "
        f"{comparison.reason}."
        for comparison in comparisons
        if comparison.reason
    )
    if refused:
        blocks += [Text("Not compared:"), Points(list(refused))]
    assumed = dict.fromkeys(
        sentence
        for comparison in shown
        for target in TARGETS
        for sentence in comparison.about(target).assumptions
    )
    if assumed:
        blocks += [Text("Assumptions:"), Points(list(assumed))]
    return blocks


def _tabulate_omnibus_tests(inference: Inference, titles: dict[str, str]) -> Table:
    rows = [
        _Tested(omnibus.measure, about, omnibus.tests[about], omnibus.adjusted[about])
        for about in sorted(TARGETS, key=lambda name: name != inference.plan.target)
        for omnibus in inference.omnibus
        if about in omnibus.tests
    ]
    columns = [
        Column("measure", "measure.key", "Measure", lambda row: Cell(row.measure.label)),
        Column("target", "target", "About", lambda row: Cell(SHORT[row.target]), is_text=True),
        Column("f", "test.f", "F", lambda row: format_number(row.test.f)),
        Column("numerator_freedom denominator_freedom", "test.freedom"),
        Column("p", "test.p", "p", lambda row: format_p(row.test.p)),
        Column("p_holm", "adjusted", "p, Holm", lambda row: format_p(row.adjusted)),
    ]
    names = ", ".join(titles[name] for name in inference.omnibus[0].conditions)
    return Table.from_columns("omnibus", f"Tests that conditions are all alike: {names}", rows, columns)


class _Tested(NamedTuple):
    """An omnibus test for one target."""

    measure: Measure
    target: Target
    test: CrossedTest
    adjusted: float | None


def build_styles_section(study: Study, inference: Inference) -> Section | None:
    """Compare the styles in which a system is shown; None without any."""
    comparisons = inference.styles.comparisons
    if not comparisons:
        return None
    titles = study.titles
    several = [(system, shown) for system, shown in group_styles(study.conditions).items() if len(shown) > 1]
    named = "; ".join(
        f"{system}: {', '.join(condition.title for condition in shown)}" for system, shown in several
    )
    stands = ", ".join(
        condition.title for condition in study.systems if any(condition in shown for _, shown in several)
    )
    blocks: list[Block] = [
        Text(
            f"These conditions show the same system, so they compare styles of showing it, not systems "
            f"({named}). In rankings and correlations over systems only {stands} counts. The comparisons are "
            "exploratory unless the plan names them; p is corrected by Holm's method over this table."
        )
    ]
    blocks += _build_target_blocks(comparisons, titles, inference, "styles")
    return Section("styles", "Styles of the same system", blocks)


def _describe_comparisons(inference: Inference, titles: dict[str, str]) -> str:
    size, alpha = inference.family.size, inference.plan.alpha
    corrected = (
        "p is corrected for multiple comparisons by Holm's method; the intervals "
        f"({100 * (1 - alpha):g} %) are those of single comparisons and agree with the uncorrected p."
    )
    if inference.declared:
        return (
            f"The plan declared {size} comparisons before the data; they are confirmatory "
            f"{SHORT[inference.plan.target]}, alpha {alpha:g}. {corrected}"
        )
    if inference.from_unexplained:
        contrasts = (
            "conditions with explanations are compared in the main measures with the one that shows the same "
            "without"
            + (
                ", and all in the accuracy of final answers with the one without advice"
                if inference.has_control
                else ""
            )
        )
        return (
            f"No family was declared (report --plan), so {contrasts}: {size} comparisons, all exploratory, "
            f"which can suggest, not confirm. {corrected}"
        )
    contrasts = (
        f"each condition is compared with {titles[inference.baseline]} in the main measures"
        if inference.baseline
        else "all pairs of conditions are compared in the main measures"
    )
    return (
        f"No family was declared (report --plan), so {contrasts}, the ground truth left out: {size} "
        f"comparisons, all exploratory, which can suggest, not confirm. {corrected}"
    )


def _tabulate_differences(
    comparisons: Sequence[Comparison],
    shown: Sequence[Comparison],
    titles: dict[str, str],
    alpha: float,
    target: Target,
    name: str,
) -> Table:
    effects = [
        Column("hedges_g", "hedges_g.estimate", "Hedges' g", lambda row: _format_cell(row.hedges_g)),
        Column("hedges_g_low hedges_g_high", "hedges_g.interval"),
        Column("cliffs_delta", "cliffs_delta.estimate"),
        Column("cliffs_delta_low cliffs_delta_high", "cliffs_delta.interval"),
        Column(
            "superiority",
            "superiority.estimate",
            "Superiority (%)",
            lambda row: _format_cell(row.superiority, 100, 0),
        ),
        Column("ratio", "ratio.estimate"),
        Column("ratio_low ratio_high", "ratio.interval"),
    ]
    columns = [
        Column("measure", "measure.key", "Measure", lambda row: _format_measure_cell(row, titles)),
        *build_field_columns("first", "second"),
        Column("first_value second_value", "values"),
        Column(
            "difference",
            f"{target}.estimate",
            "Difference",
            lambda row: _format_in_own_unit(row, row.about(target)),
        ),
        Column("low high", f"{target}.interval"),
        Column("p", f"{target}.p", "p", lambda row: format_p(row.about(target).p)),
        Column(
            "p_holm",
            lambda row: row.adjusted[target],
            "p, Holm",
            lambda row: _format_holm_cell(row.adjusted[target], alpha),
        ),
        *(effects if target == "these_items" else []),
        Column("first_n second_n", f"{target}.n"),
        *build_field_columns("paired"),
        Column("reason", lambda row: row.reason or row.about(target).reason),
    ]
    notes = ["Shares are in percentage points. A geometric mean is compared as a ratio, second by first."]
    if target == "these_items":
        notes.append(
            "Hedges' g is a difference in standard deviations between participants; superiority is the "
            "probability that a participant of the second condition has the higher value (within "
            "participants, the share whose second value is higher, ties half)."
        )
        name += "_these_items"
    caption = f"Second condition minus first, {SHORT[target]}"
    return Table.from_columns(name, caption, comparisons, columns, notes, shown=shown, wide=True)


def _tabulate_equivalence(
    shown: Sequence[Comparison], titles: dict[str, str], target: Target, alpha: float
) -> Table:
    columns = [
        Column("measure", "measure.key", "Measure", lambda row: _format_measure_cell(row, titles)),
        *build_field_columns("first", "second"),
        Column(
            "margin_low margin_high",
            "equivalence.margin",
            "Margin",
            lambda row: _format_margin(row.measure, row.equivalence),
        ),
        Column(
            "difference",
            "equivalence.estimate",
            f"Difference, {100 * (1 - 2 * alpha):g} %",
            lambda row: _format_in_own_unit(row, row.equivalence),
        ),
        Column("low high", "equivalence.interval"),
        Column("p", "equivalence.p", "p", lambda row: format_p(row.equivalence.p)),
        Column(
            "equivalent",
            "equivalence.equivalent",
            "Two one-sided tests",
            lambda row: _format_verdict(row.equivalence),
            is_text=True,
        ),
        Column("reason", "equivalence.reason"),
    ]
    caption = f"Equivalence within the declared margins, {SHORT[target]}"
    return Table.from_columns("equivalence", caption, shown, columns)


def _format_margin(measure: Measure, test: Equivalence) -> str:
    factor, decimals, _ = find_format(measure)
    return format_interval(test.margin, decimals, factor)


def _format_verdict(test: Equivalence) -> str:
    return test.reason or ("equivalent" if test.equivalent else "not shown to be equivalent")


def _format_measure_cell(row: Comparison, titles: dict[str, str]) -> Cell:
    return Cell(_format_measure_name(row.measure), detail=format_pair_label(row, titles))


def _format_holm_cell(adjusted: float | None, alpha: float) -> Cell:
    significant = adjusted is not None and adjusted <= alpha
    return Cell(format_p(adjusted), "marked" if significant else "")


def _format_in_own_unit(row: Comparison, result: Finding) -> Cell:
    """Format a result in the unit of its measure."""
    factor, decimals, _ = find_format(row.measure)
    return _format_cell(result, factor, decimals)


def _format_cell(result: Finding, factor: float = 1, decimals: int = 2) -> Cell:
    return format_value_cell(
        result.estimate, result.interval, factor, decimals, missing="refused", reason=result.reason
    )


def _format_measure_name(measure: Measure) -> str:
    return measure.label + (" (ratio)" if measure.geometric else FORMATS[measure.unit].suffix)


def _lower_first_letter(text: str) -> str:
    return text[:1].lower() + text[1:]
