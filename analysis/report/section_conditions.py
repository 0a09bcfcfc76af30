"""Sections on differences between conditions."""

from collections.abc import Sequence

from ..participants.measures import Measure
from ..stats.equivalence import Equivalence
from ..stats.results import Finding
from ..study.analysis import Study
from ..study.comparisons import Comparison
from ..study.inference import Inference
from ..study.systems import styles
from .page import Block, Points, Section, Text
from .section_participants import FORMATS
from .tables import Cell, Column, Table, fields, interval, p_text, scale, value_cell

HOW_TESTED = {  # whether the same participants saw both conditions
    False: "p comes from {permutations} permutations of participants between the two conditions (all of them "
    "if there are fewer). Hedges' g is a difference in standard deviations between participants; "
    "superiority is the probability that a participant of the second condition has the higher value. Each "
    "participant counts once.",
    True: "Conditions that the same participants saw are compared within them: the difference is the mean of "
    "the changes of those who have both values, so it may differ from that of the two means; participants "
    "are resampled with both conditions; p comes from {permutations} random swaps of the two conditions "
    "within participants (all of them up to 15 participants). Hedges' g is the mean change in average "
    "standard deviations of the two conditions; superiority is the share of participants with the higher "
    "value in the second, ties half.",
}


def differences_section(study: Study, inference: Inference) -> Section:
    """Show every comparison with interval, test, correction and effect size."""
    family = inference.family
    titles = {condition.name: condition.title for condition in study.conditions}
    blocks: list[Block] = [Text(_what_is_compared(inference)), Text(_how_compared(study, inference))]
    shown = [one for one in family.comparisons if not one.reason]
    if shown:
        blocks.append(_differences_table(family.comparisons, shown, titles, inference.plan.alpha))
    if margins := [one for one in shown if one.equivalence is not None]:
        blocks.append(_equivalence_table(margins, titles))
    refused = dict.fromkeys(
        f"{_pair(one, titles)} in {_lower(one.measure.label)}: {one.reason}."
        for one in family.comparisons
        if one.reason
    )
    if refused:
        blocks += [Text("Not compared:"), Points(list(refused))]
    assumed = dict.fromkeys(
        sentence for one in shown for found in (one.bca, one.permutation) for sentence in found.assumptions
    )
    if assumed:
        blocks += [Text("Assumptions:"), Points(list(assumed))]
    return Section("differences", "Differences between conditions", blocks)


def styles_section(study: Study, inference: Inference) -> Section | None:
    """Compare the styles in which a system is shown; None without any."""
    comparisons = inference.styles.comparisons
    if not comparisons:
        return None
    titles = {condition.name: condition.title for condition in study.conditions}
    several = [(system, shown) for system, shown in styles(study.conditions).items() if len(shown) > 1]
    named = "; ".join(f"{system}: {', '.join(one.title for one in shown)}" for system, shown in several)
    stands = ", ".join(one.title for one in study.systems if any(one in shown for _, shown in several))
    blocks: list[Block] = [
        Text(
            f"These conditions show the same system, so they compare styles of showing it, not systems "
            f"({named}). In rankings and correlations over systems only {stands} counts. The comparisons are "
            "exploratory unless the plan names them; p is corrected by Holm's method over this table."
        )
    ]
    shown = [one for one in comparisons if not one.reason]
    if shown:
        alpha = inference.plan.alpha
        blocks.append(_differences_table(comparisons, shown, titles, alpha, name="styles"))
    refused = [
        f"{_pair(one, titles)} in {_lower(one.measure.label)}: {one.reason}."
        for one in comparisons
        if one.reason
    ]
    if refused:
        blocks += [Text("Not compared:"), Points(refused)]
    return Section("styles", "Styles of the same system", blocks)


def _what_is_compared(inference: Inference) -> str:
    size = inference.family.size
    if inference.declared:
        return (
            f"The plan declared {size} comparisons before the data; they are confirmatory. p is corrected "
            f"for multiple comparisons by Holm's method, alpha {inference.plan.alpha:g}."
        )
    return (
        f"No family was declared (report --plan), so all {size} pairs of conditions and main measures are "
        "compared, and all of it is exploratory: it can suggest, not confirm. p is corrected for multiple "
        "comparisons by Holm's method."
    )


def _how_compared(study: Study, inference: Inference) -> str:
    intervals = (
        f"Confidence intervals are BCa intervals of {study.options.resamples} two-way bootstrap "
        "replicates; those of a ratio, for times, are of the ratio. "
        if study.options.resamples
        else "Confidence intervals were switched off (--resamples 0). "
    )
    paired = {one.paired for one in inference.family.comparisons}
    return intervals + " ".join(
        words.format(permutations=f"{inference.plan.permutations:,}")
        for is_paired, words in HOW_TESTED.items()
        if is_paired in paired
    )


def _differences_table(
    comparisons: Sequence[Comparison],
    shown: Sequence[Comparison],
    titles: dict[str, str],
    alpha: float,
    name: str = "differences",
) -> Table:
    columns = [
        Column("measure", "measure.key", "Measure", lambda row: _measure_cell(row, titles)),
        *fields("first", "second"),
        Column("first_value second_value", "values"),
        Column("difference", "bca.estimate", "Difference", lambda row: _own_cell(row, row.bca)),
        Column("bca_low bca_high", "bca.interval"),
        Column("percentile_low percentile_high", "percentile.interval"),
        Column("p", heading="p", cell=lambda row: p_text(row.p)),
        Column("p_holm", "adjusted_p", "p, Holm", lambda row: _holm_cell(row, alpha)),
        Column("hedges_g", "hedges_g.estimate", "Hedges' g", lambda row: _cell(row.hedges_g)),
        Column("hedges_g_low hedges_g_high", "hedges_g.interval"),
        Column("cliffs_delta", "cliffs_delta.estimate"),
        Column("cliffs_delta_low cliffs_delta_high", "cliffs_delta.interval"),
        Column(
            "superiority",
            "superiority.estimate",
            "Superiority (%)",
            lambda row: _cell(row.superiority, 100, 0),
        ),
        Column("ratio", "ratio.estimate"),
        Column("ratio_low ratio_high", "ratio.interval"),
        Column("first_n second_n", "bca.n"),
        *fields("paired", "reason"),
    ]
    notes = ["Shares are in percentage points. A geometric mean is compared as a ratio, second by first."]
    caption = "Second condition minus first"
    return Table.from_columns(name, caption, comparisons, columns, notes, shown=shown, wide=True)


def _equivalence_table(shown: Sequence[Comparison], titles: dict[str, str]) -> Table:
    columns = [
        Column("", heading="Measure", cell=lambda row: _measure_cell(row, titles)),
        Column("", heading="Margin", cell=lambda row: _margin(row.measure, row.equivalence)),
        Column("", heading="Difference, 90 %", cell=lambda row: _own_cell(row, row.equivalence)),
        Column("", heading="p", cell=lambda row: p_text(row.equivalence.p)),
        Column("", heading="Two one-sided tests", cell=lambda row: _verdict(row.equivalence), is_text=True),
    ]
    return Table.from_columns("equivalence", "Equivalence within the declared margins", shown, columns)


def _margin(measure: Measure, test: Equivalence) -> str:
    factor, decimals = _scale(measure)
    return interval(scale(test.margin, factor), decimals)


def _verdict(test: Equivalence) -> str:
    return test.reason or ("equivalent" if test.equivalent else "not shown to be equivalent")


def _measure_cell(row: Comparison, titles: dict[str, str]) -> Cell:
    return Cell(_name(row.measure), detail=_pair(row, titles))


def _holm_cell(row: Comparison, alpha: float) -> Cell:
    significant = row.adjusted_p is not None and row.adjusted_p <= alpha
    return Cell(p_text(row.adjusted_p), "marked" if significant else "")


def _own_cell(row: Comparison, result: Finding) -> Cell:
    """Format a result in the unit of its measure."""
    return _cell(result, *_scale(row.measure))


def _cell(result: Finding, factor: float = 1, decimals: int = 2) -> Cell:
    return value_cell(
        result.estimate, result.interval, factor, decimals, missing="refused", reason=result.reason
    )


def _scale(measure: Measure) -> tuple[float, int]:
    """Return factor and decimals of a difference; a ratio has no unit."""
    if measure.geometric:
        return 1, 2
    shown = FORMATS[measure.unit]
    return shown.factor, shown.decimals


def _name(measure: Measure) -> str:
    return measure.label + (" (ratio)" if measure.geometric else FORMATS[measure.unit].suffix)


def _pair(comparison: Comparison, titles: dict[str, str]) -> str:
    sign = "by" if comparison.measure.geometric else "−"
    return f"{titles[comparison.second]} {sign} {titles[comparison.first]}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
