"""Differences between conditions, for two targets, and omnibus tests.

A statement is about these items, which other participants might have seen, or about items like these, which
are a sample too. Each target has estimate, confidence interval and p of one distribution, so that the
interval excludes no difference exactly if p is at most 1 − its level.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log

import numpy as np

from ..participants.estimates import Estimates
from ..participants.measures import Measure
from ..stats.arguments import check_choice, check_level
from ..stats.arrays import Array
from ..stats.crossed import TOO_FEW_ITEMS, Block, CrossedTest, crossed_test
from ..stats.effect_sizes import cliffs_delta, hedges_g, probability_of_superiority, ratio_of_geometric_means
from ..stats.equivalence import Equivalence, check_margin, equivalence
from ..stats.paired import (
    NORMAL_CHANGES,
    average_g,
    delta_within,
    ratio_within,
    sign_flip_test,
    superiority_within,
)
from ..stats.permutation import permutation_test
from ..stats.results import (
    INDEPENDENT,
    LEAST,
    NORMAL_MEANS,
    SAMPLED_ITEMS,
    TARGETS,
    Finding,
    Target,
)
from ..stats.streams import derive_stream

MOST_LOG = 20.0  # a ratio beyond its exponential, 500 million, is bounded by nothing
UNBOUNDED = "so few participants or items do not bound the ratio, so it has no interval"
MOST_UNDEFINED = 0.05  # of participants and items, where leaving out the item leaves nothing
UNDEFINED_WITHOUT = (
    "without single items the measure is undefined for more than one participant in twenty, so nothing says "
    "how items change it"
)
NO_GRIDS = "the estimates hold no trials, which say how items differ"
CROSSED = "quasi-F over participants and items, Satterthwaite's degrees of freedom"
QUANTITIES = {  # of a difference: whether it is paired, and geometric
    (False, False): "difference of means",
    (False, True): "ratio of geometric means",
    (True, False): "mean change",
    (True, True): "geometric mean of the participants' own ratios",
}


@dataclass(frozen=True)
class _Methods:
    """Methods for values in two conditions; each gives a `Finding`."""

    test: Callable[..., Finding]
    g: Callable[..., Finding]
    delta: Callable[..., Finding]
    superiority: Callable[..., Finding]
    ratio: Callable[..., Finding]


BETWEEN = _Methods(
    permutation_test, hedges_g, cliffs_delta, probability_of_superiority, ratio_of_geometric_means
)
WITHIN = _Methods(sign_flip_test, average_g, delta_within, superiority_within, ratio_within)


@dataclass(frozen=True)
class Comparison:
    """One measure in a second condition against a first.

    Attributes:
        measure: The measure, which has the unit.
        first: Name of the condition to compare with.
        second: Name of the condition whose difference from the first is estimated.
        values: The two conditions' values; None if undefined.
        these_items: The difference (the ratio, for a geometric measure) with interval and p, about these
            items.
        items_like_these: The same about items like these.
        hedges_g: Standardised difference, about these items, as all below.
        cliffs_delta: Cliff's delta.
        superiority: Probability of superiority.
        ratio: Ratio of geometric means over participants, for times; None for others.
        equivalence: About the target that was asked for; None without a margin.
        adjusted: Holm's p over the family, by target.
        reason: Why nothing is compared; empty otherwise.
        paired: True if the same participants saw both; all but `values` is then about the changes of those
            who have both values.
    """

    measure: Measure
    first: str
    second: str
    values: tuple[float | None, float | None]
    these_items: Finding
    items_like_these: Finding
    hedges_g: Finding
    cliffs_delta: Finding
    superiority: Finding
    ratio: Finding | None
    equivalence: Equivalence | None
    adjusted: Mapping[Target, float | None] = field(default_factory=dict)
    reason: str = ""
    paired: bool = False

    def about(self, target: Target) -> Finding:
        """Return the difference for the target.

        Args:
            target: "these_items" or "items_like_these".

        Returns:
            The difference, or the ratio of a geometric measure, with interval and p.

        Raises:
            ValueError: The target is not one of these.
        """
        check_choice(target, TARGETS, "target")
        return self.these_items if target == "these_items" else self.items_like_these


@dataclass(frozen=True)
class Omnibus:
    """The test that a measure is alike in all of several conditions.

    Attributes:
        measure: The measure.
        conditions: Names.
        tests: The test of each target that has one.
        adjusted: Holm's p over the measures, by target.
        reason: Why there is no test; empty otherwise.
    """

    measure: Measure
    conditions: tuple[str, ...]
    tests: Mapping[Target, CrossedTest] = field(default_factory=dict)
    adjusted: Mapping[Target, float | None] = field(default_factory=dict)
    reason: str = ""

    def p(self, target: Target) -> float | None:
        """Return p for the target, not corrected.

        Args:
            target: "these_items" or "items_like_these".

        Returns:
            None if there is no test.
        """
        return self.tests[target].p if target in self.tests else None


@dataclass(frozen=True)
class Family:
    """Comparisons that were declared together; Holm counts refused ones too.

    Attributes:
        comparisons: In the order in which they were declared.
    """

    comparisons: tuple[Comparison, ...]

    @property
    def size(self) -> int:
        """Return the number of comparisons, which Holm corrects for."""
        return len(self.comparisons)


def compare_family(
    estimates: Estimates,
    family: Sequence[tuple[str, str, str]],
    *,
    rng: np.random.Generator,
    permutations: int = 9_999,
    margins: Mapping[str, tuple[float, float]] | None = None,
    target: Target = "items_like_these",
    level: float = 0.95,
) -> Family:
    """Compare what was declared, with Holm's adjusted p over all of it.

    Args:
        estimates: All measures in all conditions.
        family: A measure's key, a first and a second condition for each comparison.
        rng: Each comparison gets a stream by its names, so that none depends on the others.
        permutations: Number of random permutations for each test.
        margins: Lower and upper bound of an equivalence test by measure key, declared beforehand, in the unit
            of the measure; a ratio for geometric measures.
        target: The items that the equivalence tests are about.
        level: Of the confidence intervals.

    Returns:
        The comparisons in the order of the family.

    Raises:
        ValueError: A measure or condition is unknown, a comparison comes twice, or a margin is impossible.
    """
    if len(set(family)) < len(family):
        raise ValueError("family holds a comparison twice")
    margins = margins or {}
    comparisons = [
        compare(
            estimates,
            *declared,
            rng=derive_stream(rng, *declared),
            permutations=permutations,
            margin=margins.get(declared[0]),
            target=target,
            level=level,
        )
        for declared in family
    ]
    adjusted = {about: holm([comparison.about(about).p for comparison in comparisons]) for about in TARGETS}
    return Family(
        tuple(
            replace(comparison, adjusted={about: values[index] for about, values in adjusted.items()})
            for index, comparison in enumerate(comparisons)
        )
    )


def compare(
    estimates: Estimates,
    measure: str,
    first: str,
    second: str,
    *,
    rng: np.random.Generator,
    permutations: int = 9_999,
    margin: tuple[float, float] | None = None,
    target: Target = "items_like_these",
    level: float = 0.95,
) -> Comparison:
    """Compare a measure between two conditions in every way the data support.

    A geometric measure is compared as a ratio; its test and effect sizes are on the log scale. Conditions
    that the same participants saw are compared within them (`analysis.stats.paired`). About these items:
    permutations and the interval that they do not reject. About items like these: `analysis.stats.crossed`.

    Args:
        estimates: All measures in all conditions.
        measure: Key of the measure.
        first: The condition to compare with.
        second: The condition whose difference from the first is estimated.
        rng: Source of random permutations.
        permutations: Number of random permutations, at least 1.
        margin: Lower and upper bound of an equivalence test, in the unit of the measure, or a ratio for a
            geometric one; None for no test.
        target: The items that the equivalence test is about.
        level: Of the confidence intervals.

    Returns:
        The difference for both targets, effect sizes and the equivalence test; a refused result has a reason.

    Raises:
        ValueError: The measure, a condition, the margin, the target or the level is wrong.
    """
    check_level(level)
    check_choice(target, TARGETS, "target")
    definition, columns = _find(estimates, measure, first, second)
    if margin is not None:
        check_margin(margin, ratio=definition.geometric)
    before, after = _select_values(estimates, definition, columns)
    paired = estimates.has_same_participants(first, second)
    methods = WITHIN if paired else BETWEEN
    scale = np.log if definition.geometric else np.asarray
    timed = definition.unit == "seconds" and not (np.concatenate([before, after]) <= 0).any()
    missing = _explain_missing(estimates, measure, (first, second))
    fixed = methods.test(scale(before), scale(after), rng=rng, permutations=permutations, level=level)
    crossed = _test_conditions(estimates, definition, (first, second), items=True)
    return Comparison(
        measure=definition,
        first=first,
        second=second,
        values=(estimates.get(measure, first).value, estimates.get(measure, second).value),
        these_items=_convert_to_own_scale(definition, paired, fixed),
        items_like_these=_build_crossed_finding(definition, paired, crossed, fixed, level),
        hedges_g=methods.g(scale(before), scale(after), level=level),
        cliffs_delta=methods.delta(before, after, level=level),
        superiority=methods.superiority(before, after, level=level),
        ratio=methods.ratio(before, after, level=level) if timed else None,
        equivalence=_test_equivalence(
            definition, (before, after), margin, crossed, target, paired=paired, alpha=1 - level
        ),
        reason=missing,
        paired=paired,
    )


def omnibus(estimates: Estimates, measures: Sequence[str], conditions: Sequence[str]) -> list[Omnibus]:
    """Test for each measure if the conditions are all alike.

    Both targets have quasi-F tests (`analysis.stats.crossed`). Holm's correction is over the measures.

    Args:
        estimates: All measures in all conditions.
        measures: Keys of the measures.
        conditions: Names of at least two conditions.

    Returns:
        One test per measure, in their order; a refused one has a reason.

    Raises:
        ValueError: A measure or a condition is unknown, or there are measures and fewer than two conditions.
    """
    if measures and len(conditions) < 2:
        raise ValueError(f"conditions must name at least 2, not {list(conditions)}")
    tests = [_build_omnibus(estimates, key, tuple(conditions)) for key in measures]
    adjusted = {about: holm([test.p(about) for test in tests]) for about in TARGETS}
    return [
        replace(test, adjusted={about: values[index] for about, values in adjusted.items()})
        for index, test in enumerate(tests)
    ]


def _build_omnibus(estimates: Estimates, key: str, conditions: tuple[str, ...]) -> Omnibus:
    definition, _ = _find(estimates, key, *conditions[:2])
    if unknown := set(conditions) - set(estimates.conditions):
        raise ValueError(f"conditions must be those of the estimates, not {', '.join(sorted(unknown))}")
    if reason := _explain_missing(estimates, key, conditions):
        return Omnibus(definition, conditions, reason=reason)
    tests = {
        about: _test_conditions(estimates, definition, conditions, items=about == "items_like_these")
        for about in TARGETS
    }
    reasons = dict.fromkeys(result for result in tests.values() if isinstance(result, str))
    kept = {about: test for about, test in tests.items() if isinstance(test, CrossedTest)}
    return Omnibus(definition, conditions, kept, reason="; ".join(reasons))


def _test_conditions(
    estimates: Estimates, measure: Measure, conditions: Sequence[str], *, items: bool
) -> CrossedTest | str:
    """Test the conditions over participants and items, or return a reason.

    items: they are a sample too.
    """
    blocks: dict[int, list[str]] = {}
    for name in conditions:
        index = estimates.conditions.index(name)
        blocks.setdefault(estimates.groups[index] if estimates.groups else index, []).append(name)
    if estimates.per_participant.get(measure.key) is None:
        return "no condition has a value"
    built = [_build_block(estimates, measure, names, items=items) for names in blocks.values()]
    if any(isinstance(block, str) for block in built):
        return next(block for block in built if isinstance(block, str))
    test = crossed_test([block for block in built if isinstance(block, Block)], items=items)
    return test if not test.reason else test.reason


def _build_block(estimates: Estimates, measure: Measure, names: Sequence[str], *, items: bool) -> Block | str:
    """Return the values of participants who have all, and items' influence."""
    indices = [estimates.conditions.index(name) for name in names]
    values = np.stack([estimates.per_participant[measure.key][index] for index in indices], axis=1)
    with np.errstate(divide="ignore"):
        values = np.log(values) if measure.geometric else values
    whole = ~np.isnan(values).any(axis=1)
    if not whole.any():
        return "no participant has a value in every condition"
    if not items:
        return Block(values[whole], np.zeros((int(whole.sum()), len(names), 0)))
    if not estimates.grids:
        return NO_GRIDS
    if len(estimates.grids[0].items) < LEAST:
        return TOO_FEW_ITEMS
    influence = np.stack([estimates.item_influence(measure, name)[whole] for name in names], axis=1)
    undefined = np.isnan(influence)
    if undefined.any(axis=(1, 2)).mean() > MOST_UNDEFINED:
        return UNDEFINED_WITHOUT
    return Block(values[whole], np.where(undefined, 0.0, influence))


def _build_crossed_finding(
    measure: Measure, paired: bool, crossed: CrossedTest | str, fixed: Finding, level: float
) -> Finding:
    """Give the test of items like these the form of that of these items."""
    result = Finding(QUANTITIES[paired, False], fixed.n, CROSSED, level=level)
    if isinstance(crossed, str) or fixed.estimate is None:
        return replace(result, reason=fixed.reason or str(crossed))
    finding = replace(
        result,
        estimate=crossed.estimate,
        interval=crossed.interval(level),
        p=crossed.p,
        freedom=crossed.freedom[1],
        assumptions=(INDEPENDENT, SAMPLED_ITEMS, NORMAL_CHANGES if paired else NORMAL_MEANS),
    )
    return _convert_to_own_scale(measure, paired, finding)


def _convert_to_own_scale(measure: Measure, paired: bool, finding: Finding) -> Finding:
    """From logarithms to the ratio, if the measure is geometric."""
    if not measure.geometric:
        return finding
    if finding.interval and max(map(abs, finding.interval)) > MOST_LOG:
        finding = replace(finding, interval=None, reason=UNBOUNDED)
    return finding.convert_to(QUANTITIES[paired, True], exp)


def _test_equivalence(
    measure: Measure,
    values: tuple[Array, Array],
    margin: tuple[float, float] | None,
    crossed: CrossedTest | str,
    target: Target,
    *,
    paired: bool,
    alpha: float,
) -> Equivalence | None:
    """Test equivalence about the target; None without a margin."""
    if margin is None:
        return None
    fixed = equivalence(*values, margin, ratio=measure.geometric, paired=paired, alpha=alpha)
    if target == "these_items":
        return fixed
    if isinstance(crossed, str) or fixed.reason:
        return Equivalence(
            quantity=fixed.quantity, n=fixed.n, method=CROSSED, level=fixed.level, margin=margin, alpha=alpha,
            reason=fixed.reason or str(crossed),
        )  # fmt: skip
    back = exp if measure.geometric else float
    low, high = (log(bound) if measure.geometric else bound for bound in margin)
    above, below = crossed.p_beyond(low, above=True), crossed.p_beyond(high, above=False)
    p = max(above, below)
    ends = crossed.interval(fixed.level)
    bounded = not measure.geometric or max(map(abs, ends)) <= MOST_LOG
    return replace(
        fixed,
        method=f"two one-sided tests, {CROSSED}",
        estimate=back(crossed.estimate),
        interval=(back(ends[0]), back(ends[1])) if bounded else None,
        p=p,
        assumptions=(INDEPENDENT, SAMPLED_ITEMS, NORMAL_CHANGES if paired else NORMAL_MEANS),
        p_above_lower=above,
        p_below_upper=below,
        freedom=crossed.freedom[1],
        equivalent=p <= alpha,
    )


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values by Holm's method over a family of m tests.

    Running maximum of min(1, (m − i + 1) p_(i)). Keeps the chance of any false rejection at the level,
    whatever the dependence (Holm 1979).

    Args:
        p_values: One per test; None for a test that was refused, which still counts in m: it was declared.

    Returns:
        Adjusted values in the same order; None stays None.

    Raises:
        ValueError: A value does not lie in (0, 1].

    Examples:
        >>> holm([0.01, 0.04, None])
        [0.03, 0.08, None]
    """
    for p in p_values:
        if p is not None and not 0 < p <= 1:
            raise ValueError(f"a p must lie above 0 and not above 1, not {p}")
    ordered = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, index) in enumerate(ordered):
        running = max(running, min(1.0, (len(p_values) - rank) * p))
        adjusted[index] = running
    return adjusted


def _find(estimates: Estimates, measure: str, first: str, second: str) -> tuple[Measure, tuple[int, int]]:
    definition = next((m for m in estimates.measures if m.key == measure), None)
    if definition is None:
        raise ValueError(f"measure {measure!r} was not estimated")
    for name, condition in (("first", first), ("second", second)):
        if condition not in estimates.conditions:
            raise ValueError(f"{name} must be a condition, not {condition!r}")
    if first == second:
        raise ValueError(f"first and second are the same condition: {first!r}")
    return definition, (estimates.conditions.index(first), estimates.conditions.index(second))


def _select_values(estimates: Estimates, measure: Measure, columns: tuple[int, int]) -> tuple[Array, Array]:
    """Return every participant's value in both conditions, NaN if undefined."""
    groups = estimates.per_participant.get(measure.key)
    if groups is None or any(
        estimates.get(measure.key, estimates.conditions[c]).value is None for c in columns
    ):
        return np.array([]), np.array([])
    return groups[columns[0]], groups[columns[1]]


def _explain_missing(estimates: Estimates, measure: str, conditions: Iterable[str]) -> str:
    """Why a condition has no value, "" if both have one."""
    for condition in conditions:
        entry = estimates.get(measure, condition)
        if entry.value is None:
            return f"condition {condition} has no value: {entry.reason}"
    return ""
