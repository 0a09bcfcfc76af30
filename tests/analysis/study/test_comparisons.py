"""Differences between conditions: coverage with crossed items, Holm, the whole comparison, refusals."""

# mypy: disable-error-code="operator, type-var"
# A None where a test expects a value fails the test by itself.

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.participants.estimates import estimate
from analysis.participants.measures import MEASURES
from analysis.study.comparisons import all_pairs, compare, compare_family, difference, holm
from tests.analysis.participants.test_estimates import grid_of

BY_KEY = {measure.key: measure for measure in MEASURES}
SOME = [BY_KEY["agreement"], BY_KEY["time_mean"], BY_KEY["time_geometric"]]


def crossed(rng, people=(20, 20), items=20, shift=(0.0, 0.0), person_sd=0.5, item_sd=0.8, own_item_sd=0.0):
    """Two conditions rating the same items. shift: on the logit and on the log time.

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


def estimates_of(seed=1, resamples=400, **design):
    rng = np.random.default_rng(seed)
    return estimate(crossed(rng, **design), SOME, rng=rng, resamples=resamples)


def test_it_works():
    estimates = estimates_of(shift=(1.0, 0.3))
    found = compare(estimates, "agreement", "a", "b", rng=np.random.default_rng(1), margin=(-0.1, 0.1))
    value = [estimates.get("agreement", name).value for name in "ab"]
    assert found.values == tuple(value)
    for finding in (found.percentile, found.bca):
        assert finding.estimate == pytest.approx(value[1] - value[0])
        assert finding.interval[0] < finding.estimate < finding.interval[1]
        assert finding.n == (20, 20)
    assert "BCa" in found.bca.method
    assert "percentile" in found.percentile.method
    assert 0 < found.p < 0.05
    assert found.hedges_g.estimate > 0
    assert found.superiority.estimate == pytest.approx((1 + found.cliffs_delta.estimate) / 2)
    assert found.ratio is None
    assert found.equivalence.equivalent is False


def test_a_geometric_measure_is_compared_as_a_ratio():
    estimates = estimates_of(shift=(0.0, 0.5))
    rng = np.random.default_rng(1)
    found = compare(estimates, "time_geometric", "a", "b", rng=rng, margin=(0.8, 1.25))
    first, second = estimates.per_participant["time_geometric"]
    assert found.bca.estimate == pytest.approx(stats.gmean(second) / stats.gmean(first))
    assert found.bca.quantity == "ratio of geometric means"
    assert found.bca.estimate == pytest.approx(found.ratio.estimate)
    assert found.bca.interval[0] < np.exp(0.5) < found.bca.interval[1]
    assert found.hedges_g.estimate > 0
    with pytest.raises(ValueError, match="margin of a ratio"):
        compare(estimates, "time_geometric", "a", "b", rng=rng, margin=(-5, 5))


@pytest.mark.parametrize("own_item_sd", [0.0, 0.8])
def test_intervals_cover_the_truth_as_often_as_they_say(own_item_sd):
    """500 studies, items acting alike and unlike in the conditions; too often is allowed (pigeonhole)."""
    rng, studies = np.random.default_rng(2), 500
    truth = {"time_geometric": np.exp(0.4), "agreement": 0.0}
    covered = {(key, method): 0 for key in truth for method in ("percentile", "bca")}
    for _ in range(studies):
        design = {"people": (16, 24), "items": 20, "shift": (0.0, 0.4), "own_item_sd": own_item_sd}
        estimates = estimate(crossed(rng, **design), [SOME[0], SOME[2]], rng=rng, resamples=250)
        for key, method in covered:
            low, high = difference(estimates, key, "a", "b", method=method).interval
            covered[key, method] += low <= truth[key] <= high
    # With 20 items and 16 participants a bootstrap interval is a little short: 93 % is the bound.
    assert min(covered.values()) >= stats.binom.ppf(0.005, studies, 0.93)


def test_what_items_do_to_both_conditions_cancels():
    """Items that differ widely widen each condition's interval, not that of the difference."""
    estimates = estimates_of(people=(40, 40), items=8, item_sd=3.0, person_sd=0.1, resamples=800)
    low, high = difference(estimates, "time_geometric", "a", "b").interval
    alone = estimates.get("time_geometric", "a").interval
    assert np.log(high / low) < np.log(alone[1] / alone[0]) / 2


def test_the_spread_is_that_of_the_two_samples_and_the_items():
    """Variance of the replicated difference against its closed form for crossed sampling (Owen 2007)."""
    rng = np.random.default_rng(3)
    grids = crossed(rng, people=(25, 30), items=24, own_item_sd=1.0)
    draws = estimate(grids, SOME, rng=rng, resamples=4000).replicates["time_mean"]
    expected, columns = 0.0, []
    for grid in grids:
        centred = grid.seconds - grid.seconds.mean()
        rows, column = centred.mean(axis=1), centred.mean(axis=0)
        rest = centred - rows[:, None] - column[None]
        expected += (rows**2).mean() / len(rows) + (rest**2).mean() / rest.size
        columns.append(column)
    expected += ((columns[1] - columns[0]) ** 2).mean() / 24
    assert np.var(draws[:, 1] - draws[:, 0]) == pytest.approx(expected, rel=0.1)


def test_a_planted_effect_is_found_and_none_is_not():
    found = compare_family(
        estimates_of(seed=4, people=(40, 40), shift=(0.0, 0.5)),
        all_pairs(["agreement", "time_geometric"], ["a", "b"]),
        rng=np.random.default_rng(1),
        margins={"agreement": (-0.15, 0.15)},
    )
    rating, time = found.comparisons
    assert time.adjusted_p < 0.01
    assert time.bca.interval[0] > 1
    assert rating.adjusted_p > 0.05
    assert rating.percentile.interval[0] < 0 < rating.percentile.interval[1]
    assert rating.equivalence.p < 0.05


def test_swapping_the_conditions_flips_the_sign():
    estimates = estimates_of(seed=5)
    for method in ("percentile", "bca"):
        there = difference(estimates, "time_mean", "a", "b", method=method)
        back = difference(estimates, "time_mean", "b", "a", method=method)
        assert back.estimate == -there.estimate
        assert back.interval == pytest.approx((-there.interval[1], -there.interval[0]))


def test_another_unit_scales_and_other_names_change_nothing():
    grids = crossed(np.random.default_rng(6))
    base = difference(
        estimate(grids, SOME, rng=np.random.default_rng(1), resamples=200), "time_mean", "a", "b"
    )
    renamed = [
        replace(g, participants=tuple(f"x{i}" for i in range(20)), seconds=60 * g.seconds) for g in grids
    ]
    scaled = estimate(renamed, SOME, rng=np.random.default_rng(1), resamples=200)
    found = difference(scaled, "time_mean", "a", "b")
    assert found.estimate == pytest.approx(60 * base.estimate)
    assert found.interval == pytest.approx(tuple(60 * bound for bound in base.interval))


def test_holm_as_r():
    """R: p.adjust(c(.01, .04, .03, .005, .6), "holm") is 0.040 0.090 0.090 0.025 0.600."""
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
    estimates = estimates_of(seed=8, resamples=50)
    alone = compare_family(estimates, [("agreement", "a", "b")], rng=np.random.default_rng(1))
    more = compare_family(
        estimates, all_pairs(["agreement", "time_mean"], "ab"), rng=np.random.default_rng(1)
    )
    assert alone.comparisons[0].permutation == more.comparisons[0].permutation
    assert more.size == 2
    assert more.comparisons[0].adjusted_p >= alone.comparisons[0].adjusted_p


def test_refusals():
    few = estimates_of(people=(1, 20), resamples=20)
    found = compare(few, "agreement", "a", "b", rng=np.random.default_rng(1), margin=(-0.1, 0.1))
    findings = [
        found.percentile, found.bca, found.permutation, found.hedges_g, found.cliffs_delta, found.equivalence,
    ]  # fmt: skip
    for finding in findings:
        assert (finding.estimate, finding.interval, finding.p) == (None, None, None)
        assert "at least 2 participants" in finding.reason
    none = difference(estimates_of(resamples=0), "agreement", "a", "b")
    assert none.estimate is not None
    assert (none.interval, none.reason) == (None, "no bootstrap replicates were drawn")


def test_values_that_do_not_vary():
    always = [
        grid_of(np.full((4, 5), rated), np.full((4, 5), 60.0), name)
        for name, rated in (("a", 0.0), ("b", 1.0))
    ]
    rng = np.random.default_rng(1)
    estimates = estimate(always, SOME, rng=rng, resamples=50)
    found = compare(estimates, "agreement", "a", "b", rng=rng)
    assert found.bca.estimate == 1.0
    assert found.bca.interval is None
    assert "do not vary within either condition" in found.bca.reason
    assert found.p == pytest.approx(2 / 70)
    assert compare(estimates, "time_mean", "a", "b", rng=rng).permutation.reason == (
        "every participant has the same value"
    )


def test_a_measure_without_values_is_refused():
    rng = np.random.default_rng(1)
    estimates = estimate(crossed(rng), [BY_KEY["over_estimation"], SOME[0]], rng=rng, resamples=20)
    family = compare_family(estimates, all_pairs(["over_estimation", "agreement"], "ab"), rng=rng)
    refused, tested = family.comparisons
    assert "condition a has no value: it is not recorded whether" in refused.reason
    assert (refused.p, refused.adjusted_p, refused.bca.estimate) == (None, None, None)
    assert tested.adjusted_p == min(1.0, 2 * tested.p)  # the refused one was declared and counts


def test_malformed_input():
    estimates = estimates_of(resamples=0)
    with pytest.raises(ValueError, match="measure 'nothing' was not estimated"):
        difference(estimates, "nothing", "a", "b")
    with pytest.raises(ValueError, match="second is no condition: 'c'"):
        difference(estimates, "agreement", "a", "c")
    with pytest.raises(ValueError, match="same condition"):
        difference(estimates, "agreement", "a", "a")
    with pytest.raises(ValueError, match="twice"):
        compare_family(estimates, [("agreement", "a", "b")] * 2, rng=np.random.default_rng(1))
