"""Differences on the first screen: sentences and forest plots."""

from collections.abc import Sequence
from typing import NamedTuple

from ...participants.measures import Measure
from ...stats.results import Target
from ...study.analysis import Study
from ...study.comparisons import Comparison
from ..page import Figure
from ..plots.intervals import ForestRow, draw_forest_figure
from ..tables import format_interval, format_number, format_p
from .participants import FORMATS

MOST_ROWS = 9  # of the first screen's forest plots; the tables below have all
MOST_NAMED = 2  # differences that the first screen spells out
# The first that the data have.
MAIN_MEASURES = (
    *("over_estimation", "fraction_correct", "fp", "agreement", "over_reliance", "final_accuracy"),
    *("simulation_effect", "precision"),
)
TARGET_WORDS: dict[Target, str] = {
    "items_like_these": "about items like these: participants and items count as samples",
    "these_items": "about these items: participants count as a sample",
}


class Claim(NamedTuple):
    """A difference with the interval and corrected p of one target."""

    comparison: Comparison
    estimate: float | None
    interval: tuple[float, float] | None
    n: tuple[int, int]
    p: float | None

    def is_clear(self, alpha: float) -> bool:
        """Test whether the corrected test rejects."""
        return self.p is not None and self.p <= alpha


def build_claims(comparisons: Sequence[Comparison], target: Target) -> list[Claim]:
    """Return the comparisons that have an estimate, in their order."""
    about = [(comparison, comparison.about(target)) for comparison in comparisons]
    claims = [
        Claim(comparison, finding.estimate, finding.interval, finding.n, comparison.adjusted[target])
        for comparison, finding in about
    ]
    return [claim for claim in claims if claim.estimate is not None]


def select_first_rows(claims: Sequence[Claim], alpha: float) -> list[Claim]:
    """Return the rows of a forest plot: clear ones, then the main measure."""
    if len(claims) <= MOST_ROWS:
        return list(claims)
    present = [claim.comparison.measure.key for claim in claims]
    main = next((key for key in MAIN_MEASURES if key in present), present[0])
    ordered = sorted(
        claims, key=lambda claim: (not claim.is_clear(alpha), claim.comparison.measure.key != main)
    )
    return ordered[:MOST_ROWS]


def describe_clear_claims(study: Study, claims: Sequence[Claim], alpha: float) -> list[str]:
    """Name the differences that are clear after correction."""
    clear = sorted((claim for claim in claims if claim.is_clear(alpha)), key=lambda claim: claim.p or 0.0)
    if not clear:
        return [
            f"None of {len(claims)} comparisons is clear after Holm’s correction. That does not show that "
            "the conditions are alike: the intervals give the differences that remain possible."
        ]
    points = [f"{len(clear)} of {len(claims)} comparisons are clear after Holm’s correction."]
    return points + [describe_difference(claim, study.titles) for claim in clear[:MOST_NAMED]]


def describe_difference(claim: Claim, titles: dict[str, str]) -> str:
    """State a difference with its interval and p."""
    pair, (factor, decimals, unit) = claim.comparison, find_format(claim.comparison.measure)
    value = format_number((claim.estimate or 0.0) * factor, decimals)
    between = " as a ratio to " if pair.measure.geometric else " minus "
    return (
        f"{pair.measure.label}: {titles[pair.second]}{between}{titles[pair.first]} is {value}{unit} "
        f"{format_interval(claim.interval, decimals, factor)}, p {format_p(claim.p)}."
    )


def draw_claims_figure(
    study: Study, shown: Sequence[Claim], alpha: float, name: str, caption: str
) -> Figure | None:
    """Draw claims, those about a measure together."""
    measures = list(dict.fromkeys(claim.comparison.measure for claim in shown))
    alike = len({_format_sizes(claim) for claim in shown}) == 1
    rows = [
        _build_forest_row(study, claim, alpha, n_in_panel=alike)
        for claim in sorted(shown, key=lambda claim: measures.index(claim.comparison.measure))
    ]
    return draw_forest_figure(name, caption, rows)


def _build_forest_row(study: Study, claim: Claim, alpha: float, *, n_in_panel: bool) -> ForestRow:
    pair, titles = claim.comparison, study.titles
    factor, _, unit = find_format(pair.measure)
    geometric = pair.measure.geometric
    panel = f"{pair.measure.label} ({'ratio' if geometric else unit.strip() or 'points'})"
    label = f"{titles[pair.second]}{' / ' if geometric else ' − '}{titles[pair.first]}"
    n = f", n\u00a0=\u00a0{_format_sizes(claim)}"
    return ForestRow(
        panel=panel + n if n_in_panel else panel,
        label=label if n_in_panel else label + n,
        estimate=(claim.estimate or 0.0) * factor,
        interval=claim.interval and (claim.interval[0] * factor, claim.interval[1] * factor),
        no_difference=1.0 if geometric else 0.0,
        is_clear=claim.is_clear(alpha),
    )


def _format_sizes(claim: Claim) -> str:
    first, second = claim.n
    return str(first) if claim.comparison.paired else f"{first} and {second}"


def find_format(measure: Measure) -> tuple[float, int, str]:
    """Return factor, decimals and unit of a difference; a ratio has no unit."""
    if measure.geometric:
        return 1, 2, ""
    shown = FORMATS[measure.unit]
    units = {"share": " percentage points", "seconds": " s"}
    return shown.factor, shown.decimals, units.get(measure.unit, "")


def format_pair_label(pair: Comparison, titles: dict[str, str]) -> str:
    """Name the conditions of a comparison, second minus or by first."""
    return f"{titles[pair.second]} {'by' if pair.measure.geometric else '−'} {titles[pair.first]}"
