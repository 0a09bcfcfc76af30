"""Differences between conditions: two targets, omnibus, Holm, refusals.

The interval and p of each target agree in every row.
"""

# mypy: disable-error-code="operator, type-var"
# A None where a test expects a value fails the test by itself.

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.participants.estimates import estimate
from analysis.participants.measures import MEASURES
from analysis.stats.results import TARGETS
from analysis.study.comparisons import compare, compare_family, holm, omnibus
from analysis.study.contrasts import all_pairs, pair_with_baseline
from tests.analysis.participants.test_estimates import grid_of

BY_KEY = {measure.key: measure for measure in MEASURES}
SOME = [BY_KEY["agreement"], BY_KEY["time_mean"], BY_KEY["time_geometric"]]


def crossed(rng, people=(20, 20), items=20, shift=(0.0, 0.0), person_sd=0.5, item_sd=0.8, own_item_sd=0.0):
    """Simulate two conditions rating the same items.

    shift: on the logit and on the log time.
    own_item_sd: how much an item's effect depends on the condition.
    """
    item = rng.normal(0, item_sd, (1, items))
    grids = []
    for name, count, size in zip("ab", people, (0.0, 1.0), strict=True):
        effects = rng.normal(0, person_sd, (count, 1)) + item + rng.normal(0, own_item_sd, (1, items))
        chance = 1 / (1 + np.exp(-(0.7 + effects + size * shift[0])))
        rated = (rng.random((count, items)) < chance).astype(float)
        logs = 4 + 0.3 * effects + size * shift[1] + rng.normal(0, 0.4, (count, items))
        grids.append(grid_of(rated, np.exp(logs), name))
    return grids


def estimates_of(seed=1, **design):
    rng = np.random.default_rng(seed)
    return estimate(crossed(rng, **design), SOME, rng=rng, resamples=0)


def test_it_works():
    estimates = estimates_of(shift=(1.0, 0.3))
    comparison = compare(estimates, "agreement", "a", "b", rng=np.random.default_rng(1), margin=(-0.1, 0.1))
    value = [estimates.get("agreement", name).value for name in "ab"]
    assert comparison.values == tuple(value)
    for target in TARGETS:
        finding = comparison.about(target)
        assert finding.estimate == pytest.approx(value[1] - value[0])
        assert finding.interval[0] < finding.estimate < finding.interval[1]
        assert finding.n == (20, 20)
        assert 0 < finding.p < 0.05
    assert "permutation" in comparison.these_items.method
    assert "quasi-F" in comparison.items_like_these.method
    assert comparison.hedges_g.estimate > 0
    assert comparison.superiority.estimate == pytest.approx((1 + comparison.cliffs_delta.estimate) / 2)
    assert comparison.ratio is None
    assert comparison.equivalence.equivalent is False


def test_a_geometric_measure_is_compared_as_a_ratio():
    estimates = estimates_of(shift=(0.0, 0.5))
    rng = np.random.default_rng(1)
    comparison = compare(estimates, "time_geometric", "a", "b", rng=rng, margin=(0.8, 1.25))
    first, second = estimates.per_participant["time_geometric"]
    for target in TARGETS:
        finding = comparison.about(target)
        assert finding.estimate == pytest.approx(stats.gmean(second) / stats.gmean(first))
        assert finding.quantity == "ratio of geometric means"
        assert finding.estimate == pytest.approx(comparison.ratio.estimate)
        assert finding.interval[0] < np.exp(0.5) < finding.interval[1]
    assert comparison.hedges_g.estimate > 0
    with pytest.raises(ValueError, match="margin of a ratio"):
        compare(estimates, "time_geometric", "a", "b", rng=rng, margin=(-5, 5))


def test_intervals_exclude_no_difference_exactly_if_p_is_small():
    """The effects lie around the edge of significance, at two levels.

    The measures are a share and a ratio.
    """
    rng, edges = np.random.default_rng(2), 0
    for turn in range(25):
        grids = crossed(
            rng, people=(6, 7), items=10, shift=(turn / 25, turn / 50), own_item_sd=turn % 2 * 0.5
        )
        estimates = estimate(grids, SOME, rng=rng, resamples=0)
        for key, nothing in (("agreement", 0.0), ("time_geometric", 1.0)):
            for level in (0.95, 0.8):
                comparison = compare(estimates, key, "a", "b", rng=rng, permutations=99, level=level)
                for finding in (comparison.these_items, comparison.items_like_these):
                    low, high = finding.interval
                    assert (low <= nothing <= high) == (finding.p > 1 - level)
                    edges += 1 - level < finding.p < 2 * (1 - level)
    assert edges


def test_one_item_that_decides_everything_speaks_of_these_items_only():
    """The second condition is better on one item of ten, for everybody.

    On other items it may not be.
    """
    rng = np.random.default_rng(3)
    rated = rng.random((24, 10)) < 0.5
    rated[:12, 0], rated[12:, 0] = False, True
    rated[:, 1:] = np.resize([[True, False], [False, True]], (24, 9))  # nobody differs in the other nine
    grids = [grid_of(rated[rows].astype(float), np.full((12, 10), 60.0), name)
             for rows, name in ((slice(0, 12), "a"), (slice(12, 24), "b"))]  # fmt: skip
    comparison = compare(estimate(grids, SOME, rng=rng, resamples=0), "agreement", "a", "b", rng=rng)
    assert comparison.these_items.p < 0.001
    assert comparison.items_like_these.p > 0.2
    assert comparison.items_like_these.estimate == comparison.these_items.estimate == pytest.approx(0.1)


def test_what_items_do_to_both_conditions_cancels():
    """Items that differ widely widen neither interval of the difference."""
    width = {}
    for item_sd in (0.0, 3.0):
        estimates = estimates_of(people=(40, 40), items=8, item_sd=item_sd, person_sd=0.1)
        finding = compare(
            estimates, "time_geometric", "a", "b", rng=np.random.default_rng(1)
        ).items_like_these
        width[item_sd] = np.log(finding.interval[1] / finding.interval[0])
    assert width[3.0] == pytest.approx(width[0.0], rel=0.02)


def test_the_omnibus_test_of_two_conditions_is_their_comparison():
    estimates = estimates_of(seed=3, shift=(0.5, 0.2), own_item_sd=0.5)
    for omnibus_test in omnibus(estimates, ["agreement", "time_geometric"], "ab"):
        pair = compare(estimates, omnibus_test.measure.key, "a", "b", rng=np.random.default_rng(1))
        assert omnibus_test.p("items_like_these") == pytest.approx(pair.items_like_these.p)
        test = omnibus_test.tests["these_items"]
        values = [
            np.log(v) if omnibus_test.measure.geometric else v
            for v in estimates.per_participant[omnibus_test.measure.key]
        ]
        welch = stats.ttest_ind(*values, equal_var=False)
        assert (test.f, test.p) == pytest.approx((welch.statistic**2, welch.pvalue))
        assert omnibus_test.adjusted["these_items"] >= omnibus_test.p("these_items")


def test_an_unknown_condition_of_an_omnibus_test_is_named():
    with pytest.raises(ValueError, match="those of the estimates, not c"):
        omnibus(estimates_of(seed=3), ["agreement"], "abc")


def test_a_planted_effect_is_found_and_none_is_not():
    family = compare_family(
        estimates_of(seed=4, people=(40, 40), shift=(0.0, 0.5)),
        all_pairs(["agreement", "time_geometric"], ["a", "b"]),
        rng=np.random.default_rng(1),
        margins={"agreement": (-0.15, 0.15)},
    )
    rating, time = family.comparisons
    for target in TARGETS:
        assert time.adjusted[target] < 0.01
        assert time.about(target).interval[0] > 1
        assert rating.adjusted[target] > 0.05
        assert rating.about(target).interval[0] < 0 < rating.about(target).interval[1]
    assert rating.equivalence.p < 0.05
    assert "quasi-F" in rating.equivalence.method
    # Two one-sided tests at 5 % say what the 90 % interval says.
    assert -0.15 < rating.equivalence.interval[0] < rating.equivalence.interval[1] < 0.15


def test_swapping_the_conditions_flips_the_sign():
    estimates = estimates_of(seed=5)
    there, back = (
        compare(estimates, "time_mean", *pair, rng=np.random.default_rng(1)) for pair in ("ab", "ba")
    )
    assert back.items_like_these.estimate == -there.items_like_these.estimate
    assert back.items_like_these.p == pytest.approx(there.items_like_these.p)
    low, high = there.items_like_these.interval
    assert back.items_like_these.interval == pytest.approx((-high, -low))


def test_another_unit_scales_and_other_names_change_nothing():
    grids = crossed(np.random.default_rng(6))
    renamed = [
        replace(g, participants=tuple(f"x{i}" for i in range(20)), seconds=60 * g.seconds) for g in grids
    ]
    base, scaled = (
        compare(
            estimate(study_grids, SOME, rng=np.random.default_rng(1), resamples=0), "time_mean", "a", "b",
            rng=np.random.default_rng(1), permutations=199,
        )
        for study_grids in (grids, renamed)
    )  # fmt: skip
    for target in TARGETS:
        assert scaled.about(target).p == pytest.approx(base.about(target).p)
        assert scaled.about(target).interval == pytest.approx(
            tuple(60 * bound for bound in base.about(target).interval)
        )


def test_holm_as_r():
    """Holm's adjustment agrees with R.

    R: p.adjust(c(.01, .04, .03, .005, .6), "holm") is 0.040 0.090 0.090 0.025 0.600.
    """
    assert holm([0.01, 0.04, 0.03, 0.005, 0.6]) == pytest.approx([0.040, 0.090, 0.090, 0.025, 0.600])
    assert holm([]) == []
    assert holm([0.7, None]) == [1.0, None]
    with pytest.raises(ValueError, match="above 0"):
        holm([0.0])


def test_holm_keeps_the_family_level():
    rng = np.random.default_rng(7)
    shared = rng.normal(size=(2000, 1))
    p = 2 * stats.norm.sf(np.abs(0.7 * shared + np.sqrt(0.51) * rng.normal(size=(2000, 6))))
    rejected = sum(min(holm(row)) <= 0.05 for row in p)
    assert rejected <= stats.binom.ppf(0.995, 2000, 0.05)


def test_a_comparison_depends_on_no_other():
    estimates = estimates_of(seed=8)
    alone = compare_family(estimates, [("agreement", "a", "b")], rng=np.random.default_rng(1))
    more = compare_family(
        estimates, all_pairs(["agreement", "time_mean"], "ab"), rng=np.random.default_rng(1)
    )
    assert alone.comparisons[0].these_items == more.comparisons[0].these_items
    assert more.size == 2
    for target in TARGETS:
        assert more.comparisons[0].adjusted[target] >= alone.comparisons[0].adjusted[target]
    assert pair_with_baseline(["x"], "b", "abc") == [("x", "b", "a"), ("x", "b", "c")]


def test_refusals():
    few = estimates_of(people=(1, 20))
    comparison = compare(few, "agreement", "a", "b", rng=np.random.default_rng(1), margin=(-0.1, 0.1))
    findings = [
        comparison.these_items, comparison.items_like_these, comparison.hedges_g,
        comparison.cliffs_delta, comparison.equivalence,
    ]  # fmt: skip
    for finding in findings:
        assert (finding.estimate, finding.interval, finding.p) == (None, None, None)
        assert "at least 2 participants" in finding.reason
    one_item = compare(estimates_of(items=1), "agreement", "a", "b", rng=np.random.default_rng(1))
    assert one_item.these_items.interval is not None
    assert "at least 2 items" in one_item.items_like_these.reason


def test_a_ratio_that_nothing_bounds_has_no_interval():
    """Times of two participants and two items differ by orders of magnitude."""
    times = ([[1.0, 2.0], [3e3, 5e3]], [[40.0, 2e4], [9e5, 8.0]])
    grids = [
        grid_of(np.ones((2, 2)), np.array(seconds), name) for seconds, name in zip(times, "ab", strict=True)
    ]
    rng = np.random.default_rng(1)
    comparison = compare(estimate(grids, SOME, rng=rng, resamples=0), "time_geometric", "a", "b", rng=rng)
    assert comparison.items_like_these.p > 0.05
    assert comparison.items_like_these.interval is None
    assert "do not bound the ratio" in comparison.items_like_these.reason


def test_values_that_do_not_vary():
    always = [
        grid_of(np.full((4, 5), rated), np.full((4, 5), 60.0), name)
        for name, rated in (("a", 0.0), ("b", 1.0))
    ]
    rng = np.random.default_rng(1)
    estimates = estimate(always, SOME, rng=rng, resamples=0)
    comparison = compare(estimates, "agreement", "a", "b", rng=rng)
    assert (comparison.items_like_these.estimate, comparison.items_like_these.interval) == (None, None)
    assert "do not vary within the conditions" in comparison.items_like_these.reason
    assert comparison.these_items.p == pytest.approx(2 / 70)
    assert comparison.these_items.interval[0] > 0
    assert compare(estimates, "time_mean", "a", "b", rng=rng).these_items.reason == (
        "every participant has the same value"
    )


def test_a_measure_without_values_is_refused():
    rng = np.random.default_rng(1)
    estimates = estimate(crossed(rng), [BY_KEY["over_estimation"], SOME[0]], rng=rng, resamples=0)
    family = compare_family(estimates, all_pairs(["over_estimation", "agreement"], "ab"), rng=rng)
    refused, tested = family.comparisons
    assert "condition a has no value: it is not recorded whether" in refused.reason
    for target in TARGETS:
        finding = refused.about(target)
        assert (finding.p, finding.estimate, refused.adjusted[target]) == (None, None, None)
        # The refused one was declared and counts.
        assert tested.adjusted[target] == min(1.0, 2 * tested.about(target).p)
    assert "has no value" in omnibus(estimates, ["over_estimation"], "ab")[0].reason


def test_malformed_input():
    estimates, rng = estimates_of(), np.random.default_rng(1)
    with pytest.raises(ValueError, match="measure 'nothing' was not estimated"):
        compare(estimates, "nothing", "a", "b", rng=rng)
    with pytest.raises(ValueError, match="second must be a condition, not 'c'"):
        compare(estimates, "agreement", "a", "c", rng=rng)
    with pytest.raises(ValueError, match="same condition"):
        compare(estimates, "agreement", "a", "a", rng=rng)
    with pytest.raises(ValueError, match="level must lie"):
        compare(estimates, "agreement", "a", "b", rng=rng, level=1.0)
    with pytest.raises(ValueError, match="twice"):
        compare_family(estimates, [("agreement", "a", "b")] * 2, rng=rng)
