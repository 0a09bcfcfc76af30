"""Boundaries of alpha spending agree with published values.

Another algorithm gives the same spent alpha, and simulation the same costs.
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.stats.sequential import (
    boundaries,
    cost_of_interim_analyses,
    crossing_probabilities,
    decide,
    observed_z,
    spent_alpha,
)

# R: gsDesign(k, test.type = 2, alpha = 0.025, sfu = sfLDOF or sfLDPocock)$upper$bound; ldbounds and RTSA give
# the same. Their program is that of Reboussin, DeMets, Kim and Lan 2000 (Controlled Clinical Trials 21).
PUBLISHED = {
    ("obrien_fleming", 2): [2.963, 1.969],
    ("obrien_fleming", 3): [3.710303, 2.511427, 1.993048],
    ("obrien_fleming", 4): [4.333, 2.963, 2.359, 2.014],
    ("obrien_fleming", 5): [4.877, 3.357, 2.680, 2.290, 2.031],
    ("pocock", 2): [2.157, 2.201],
    ("pocock", 5): [2.438, 2.427, 2.410, 2.397, 2.386],
}
SPENDINGS: Any = ["obrien_fleming", "pocock"]


def list_equal_fractions(number):
    return [turn / number for turn in range(1, number + 1)]


def test_it_works():
    bounds = boundaries([0.5, 1.0])
    assert [analysis.fraction for analysis in bounds.analyses] == [0.5, 1.0]
    assert bounds.analyses[0].p == pytest.approx(2 * stats.norm.sf(bounds.analyses[0].z))
    assert bounds.analyses[-1].spent == pytest.approx(0.05)
    going_on, stopping = decide(bounds, [1.2]), decide(bounds, [1.2, -2.5])
    assert (going_on.stop, stopping.stop) == (False, True)
    assert "goes on" in going_on.sentence
    assert "interim analysis 2 of 2" in stopping.sentence.lower()


@pytest.mark.parametrize(("spending", "number"), PUBLISHED)
def test_published_boundaries(spending, number):
    bounds = boundaries(list_equal_fractions(number), spending=spending)
    precision = 1e-6 if (spending, number) == ("obrien_fleming", 3) else 0.0006
    assert [analysis.z for analysis in bounds.analyses] == pytest.approx(
        PUBLISHED[spending, number], abs=precision
    )


@pytest.mark.parametrize("spending", SPENDINGS)
@pytest.mark.parametrize("fractions", [[0.3, 0.5, 1.0], [0.11, 0.6, 0.62]])
def test_another_algorithm_gives_the_spent_alpha(spending, fractions):
    """The multivariate normal of scipy (Genz) gives the spent alpha.

    Its correlation is sqrt(s/t); alpha is the probability of not staying inside the boundaries.
    """
    bounds = boundaries(fractions, spending=spending, alpha=0.1)
    t, z = np.array(fractions), np.array([analysis.z for analysis in bounds.analyses])
    correlation = np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t))
    for k in range(1, len(t) + 1):
        normal = stats.multivariate_normal(np.zeros(k), correlation[:k, :k])
        inside = normal.cdf(z[:k], lower_limit=-z[:k], rng=np.random.default_rng(1))
        assert 1 - inside == pytest.approx(bounds.analyses[k - 1].spent, abs=2e-4)


@pytest.mark.parametrize("spending", SPENDINGS)
def test_a_single_look_is_the_plain_test(spending):
    bounds = boundaries([1.0], spending=spending, alpha=0.01)
    assert bounds.analyses[0].z == pytest.approx(stats.norm.isf(0.005))
    cost = cost_of_interim_analyses(bounds)
    assert (cost.inflation, cost.power_without_more) == pytest.approx((1, 0.8))


def test_later_looks_leave_earlier_boundaries():
    early, full = boundaries([0.2, 0.5]), boundaries([0.2, 0.5, 0.7, 1.0])
    assert [analysis.z for analysis in early.analyses] == pytest.approx(
        [analysis.z for analysis in full.analyses[:2]]
    )


@pytest.mark.parametrize("spending", SPENDINGS)
def test_type_one_error_power_and_expected_sample_by_simulation(spending):
    rng, studies = np.random.default_rng(1), 40_000
    bounds: Any = boundaries(list_equal_fractions(4), spending=spending)
    cost, z = (
        cost_of_interim_analyses(bounds, power=0.8),
        np.array([analysis.z for analysis in bounds.analyses]),
    )
    single = stats.norm.isf(0.025) + stats.norm.isf(0.2)
    for drift, rate, sample in (
        (0.0, 0.05, cost.expected_null),
        (single * np.sqrt(cost.inflation), 0.8, cost.expected_effect),
    ):
        walks = np.cumsum(rng.normal(drift / 4, 0.5, (studies, 4)), axis=1) / np.sqrt(list_equal_fractions(4))
        crossed = np.abs(walks) >= z
        band = stats.binom.ppf([0.001, 0.999], studies, rate) / studies
        assert band[0] <= crossed.any(axis=1).mean() <= band[1]
        stop = np.where(crossed.any(axis=1), crossed.argmax(axis=1), 3)
        assert np.mean((stop + 1) / 4) * cost.inflation == pytest.approx(sample, abs=0.01)


def test_looks_at_small_samples_keep_alpha():
    """Monitoring of small samples by Welch's t keeps alpha.

    It is the whole monitoring on participants' values: t at 5, 10 and 20 people a condition, converted to z.
    """
    rng, bounds, studies = np.random.default_rng(2), boundaries([0.25, 0.5, 1.0], spending="pocock"), 500
    stopped = 0
    for _ in range(studies):
        first, second = rng.normal(0, 1, 20), rng.normal(0, 2, 20)
        z = [observed_z(first[:n], second[:n]) for n in (5, 10, 20)]
        stopped += any(abs(value) >= analysis.z for value, analysis in zip(z, bounds.analyses, strict=True))
    low, high = stats.binom.ppf([0.001, 0.999], studies, 0.05)
    assert low <= stopped <= high


def test_observed_z():
    first, second = [1.0, 2, 3, 4], [3.0, 4, 6, 9]
    p = stats.ttest_ind(first, second, equal_var=False).pvalue
    assert observed_z(first, second) == pytest.approx(stats.norm.isf(p / 2))
    assert observed_z(second, first) == pytest.approx(-stats.norm.isf(p / 2))
    with pytest.raises(ValueError, match="no z can be given"):
        observed_z([1.0], [2.0, 3.0])


def test_looks_cost_and_pocock_costs_more():
    obrien, pocock = (
        cost_of_interim_analyses(boundaries(list_equal_fractions(5), spending=s)) for s in SPENDINGS
    )
    assert 1 < obrien.inflation < 1.05 < 1.15 < pocock.inflation < 1.3
    assert pocock.expected_effect < obrien.expected_effect < 1
    assert pocock.power_without_more < obrien.power_without_more < 0.8


def test_spending_grows_to_alpha():
    for spending in SPENDINGS:
        spent = [spent_alpha(spending, t, 0.05) for t in np.linspace(0.01, 1, 50)]
        assert (np.diff(spent) > 0).all()
        assert spent[-1] == pytest.approx(0.05)


def test_very_early_and_near_looks():
    bounds = boundaries([0.02, 0.5, 0.501, 1.0])
    assert crossing_probabilities(bounds).sum() == pytest.approx(0.05, abs=1e-6)
    assert bounds.analyses[0].p > 0


@pytest.mark.parametrize(
    ("fractions", "more", "words"),
    [
        ([], {}, "1 to 50 interim analyses"),
        ([0.5, 0.5], {}, "increase"),
        ([0.5, 1.2], {}, "end at 1"),
        ([0.0, 1.0], {}, "increase"),
        ([float("nan"), 1.0], {}, "increase"),
        ([1.0], {"alpha": 0.0}, "alpha"),
        ([1.0], {"spending": "mine"}, "spending must be one of"),
    ],
)
def test_malformed_boundaries_are_named(fractions, more, words):
    with pytest.raises(ValueError, match=words):
        boundaries(fractions, **more)


def test_malformed_decisions_and_costs_are_named():
    bounds = boundaries([0.5, 1.0])
    for observed, words in (
        ([], "1 to 2"),
        ([1, 1, 1], "1 to 2"),
        ([np.nan], "finite"),
        ([4, 1], "reached the boundary"),
    ):
        with pytest.raises(ValueError, match=words):
            decide(bounds, observed)
    with pytest.raises(ValueError, match="fraction 1"):
        cost_of_interim_analyses(boundaries([0.5]))
    with pytest.raises(ValueError, match="power"):
        cost_of_interim_analyses(bounds, power=0.04)
    assert "does not show that there is none" in decide(bounds, [0.1, 0.2]).sentence
