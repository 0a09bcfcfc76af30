"""Section on effects that were not found, and the smallest detectable."""

from dataclasses import dataclass
from math import exp, log

from scipy.special import stdtrit

from ...planning.declared_plan import Plan
from ...planning.power import compute_smallest_effect
from ...stats.results import Finding
from ...study.analysis import Study
from ...study.comparisons import Comparison
from ...study.inference import Inference
from ..page import Block, Section, Text
from ..tables import Cell, Column, Table, format_interval, format_number, format_p
from .claims import TARGET_WORDS, find_format, format_pair_label
from .correlations import TARGET

TITLE = "Effects that were not found"


@dataclass(frozen=True)
class NotFound:
    """A comparison that is not significant.

    Attributes:
        finding: Its difference with interval, which gives the standard error.
        adjusted_p: Holm's.
        smallest: Smallest true difference that its test finds with a power of `TARGET` at the plan's alpha;
            for a geometric measure the ratio above 1.
        corrected: The same at alpha divided by the size of the family, where Holm's method begins.
    """

    comparison: Comparison
    finding: Finding
    adjusted_p: float | None
    smallest: float
    corrected: float


def build_undetected_section(study: Study, inference: Inference) -> Section | None:
    """Show what the study could have found; None if it found everything.

    Comparisons without an interval, and therefore without a standard error, are left out.
    """
    family, alpha = inference.family, inference.plan.alpha
    rows = [
        row
        for comparison in family.comparisons
        if (row := read_comparison(comparison, inference.plan, family.size)) is not None
    ]
    if not rows:
        return None
    intro = (
        f"A difference that is not significant may be there all the same. For {len(rows)} of {family.size} "
        "comparisons the table says how large a true difference must be for this study to find it with a "
        f"power of {TARGET:g} at alpha {alpha:g}, given the variation in its data. Holm’s correction asks "
        f"for more, at most for the difference “with Holm”. All of it is "
        f"{TARGET_WORDS[inference.plan.target]}."
    )
    blocks: list[Block] = [Text(intro), _tabulate_comparisons(rows, study.titles)]
    if not inference.plan.margins:
        text = "The plan declares no margins of equivalence, so nothing here can be called equal."
        blocks.append(Text(text, "note"))
    return Section("not-found", TITLE, blocks)


def read_comparison(comparison: Comparison, plan: Plan, size: int) -> NotFound | None:
    """Return a comparison that is not significant; None for any other.

    It is about the target of the plan, as the confirmatory test is.
    """
    alpha = plan.alpha
    finding, adjusted = comparison.about(plan.target), comparison.adjusted.get(plan.target)
    if finding.interval is None or adjusted is None or adjusted <= alpha:
        return None
    geometric = comparison.measure.geometric
    low, high = (log(end) if geometric else end for end in finding.interval)
    freedom = finding.freedom or (finding.n[0] - 1 if comparison.paired else sum(finding.n) - 2)
    # The interval is as wide as twice the quantile of t times the standard error.
    error = (high - low) / 2 / float(stdtrit(freedom, (1 + finding.level) / 2))
    if not error > 0:
        return None
    effects = (
        compute_smallest_effect(error, freedom, target=TARGET, alpha=level) for level in (alpha, alpha / size)
    )
    smallest, corrected = (exp(effect) if geometric else effect for effect in effects)
    return NotFound(comparison, finding, adjusted, smallest, corrected)


def explain_comparison(row: NotFound) -> str:
    """Say what the comparison leaves open."""
    measure, test = row.comparison.measure, row.comparison.equivalence
    factor, decimals, unit = find_format(measure)
    could = format_number(row.smallest * factor, decimals)
    if measure.geometric:
        could = f"a ratio of {could} (or {format_number(1 / row.smallest, decimals)})"
    else:
        could = f"a difference of {could}{unit}"
    if test is None or test.equivalent is None:
        return f"Open. Anything smaller than {could} this study would often have missed."
    margin = format_interval(test.margin, decimals, factor)
    if test.equivalent:
        return f"Equivalent within the declared {margin} (p {format_p(test.p)})."
    return (
        f"Open. Neither a difference nor equivalence within the declared {margin} is shown (p "
        f"{format_p(test.p)}); anything smaller than {could} this study would often have missed."
    )


def _tabulate_comparisons(rows: list[NotFound], titles: dict[str, str]) -> Table:
    def format_scaled(row: NotFound, value: float) -> str:
        factor, decimals, _ = find_format(row.comparison.measure)
        return format_number(value * factor, decimals)

    def difference(row: NotFound) -> Cell:
        factor, decimals, _ = find_format(row.comparison.measure)
        ends = format_interval(row.finding.interval, decimals, factor)
        return Cell(format_scaled(row, row.finding.estimate or 0.0), detail=ends)

    columns = [
        Column(
            "measure",
            "comparison.measure.key",
            "Measure",
            lambda row: Cell(row.comparison.measure.label, detail=format_pair_label(row.comparison, titles)),
        ),
        Column("first", "comparison.first"),
        Column("second", "comparison.second"),
        Column("difference", "finding.estimate", "Difference", difference),
        Column("low high", "finding.interval"),
        Column("p_holm", "adjusted_p", "p, Holm", lambda row: format_p(row.adjusted_p)),
        Column("smallest", "smallest", "Could find", lambda row: format_scaled(row, row.smallest)),
        Column("smallest_holm", "corrected", "With Holm", lambda row: format_scaled(row, row.corrected)),
    ]
    columns.append(Column("", heading="That means", cell=explain_comparison, is_text=True))
    notes = [
        "Shares are in percentage points. Of a geometric mean, ratios; a ratio below 1 counts as its inverse."
    ]
    return Table.from_columns("not_found", f"Smallest effects, power {TARGET:g}", rows, columns, notes)
