"""Two one-sided tests of equivalence agree with R and keep their level.

A test that does not show equivalence does not show a difference either.
"""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

import numpy as np
import pytest
from scipy import stats

from analysis.stats.equivalence import equivalence
from tests.analysis.stats.test_effect_sizes import A, B


def test_against_r():
    """R 4.2.2, with a and b of test_effect_sizes.py.

    t.test(b, a, mu = -30, alternative = "greater")$p.value   # 9.15938577492e-06
    t.test(b, a, mu = 30, alternative = "less")$p.value       # 0.029933831141
    t.test(b, a, conf.level = .9)$conf.int                    # 4.38622822627 to 28.02805748801
    """
    finding = equivalence(A, B, (-30, 30))
    assert finding.p_above_lower == pytest.approx(9.15938577492e-06)
    assert finding.p_below_upper == pytest.approx(0.029933831141)
    assert finding.p == finding.p_below_upper
    assert finding.interval == pytest.approx((4.38622822627, 28.02805748801))
    assert finding.equivalent is True
    assert finding.sentence == (
        "The conditions are equivalent within -30 to 30 (two one-sided tests, p = 0.0299)."
    )


@pytest.mark.parametrize("upper", [20.0, 28.0, 28.1, 40.0])
def test_test_and_interval_agree(upper):
    finding = equivalence(A, B, (-40, upper))
    assert finding.equivalent == (finding.interval[1] < upper)


def test_what_is_not_shown_to_be_equivalent_is_not_called_different():
    finding = equivalence(A, B, (-20, 20))
    assert not finding.equivalent
    assert "does not show a difference either" in finding.sentence


def test_a_ratio_is_tested_on_the_log_scale():
    finding = equivalence(A, B, (0.5, 2.0), ratio=True)
    plain = equivalence(np.log(A), np.log(B), (np.log(0.5), np.log(2.0)))
    assert finding.p == pytest.approx(plain.p)
    assert finding.estimate == pytest.approx(np.exp(plain.estimate))
    assert finding.interval == pytest.approx(tuple(np.exp(plain.interval)))


def test_type_one_error_at_the_margin():
    """At most 5 % of studies claim equivalence at the margin.

    The true difference is exactly the margin.
    """
    rng, studies = np.random.default_rng(1), 1000
    claimed = sum(
        bool(equivalence(rng.normal(0, 1, 15), rng.normal(1, 2, 25), (-1, 1)).equivalent)
        for _ in range(studies)
    )
    assert claimed <= stats.binom.ppf(0.995, studies, 0.05)


def test_power_far_inside_the_margin():
    rng = np.random.default_rng(2)
    claimed = [
        equivalence(rng.normal(0, 1, 40), rng.normal(0, 1, 40), (-1, 1)).equivalent for _ in range(100)
    ]
    assert sum(claimed) > 90


def test_metamorphic():
    base = equivalence(A, B, (-30, 40))
    swapped = equivalence(B, A, (-40, 30))
    assert (swapped.p, swapped.estimate) == pytest.approx((base.p, -base.estimate))
    assert swapped.p_above_lower == pytest.approx(base.p_below_upper)
    scaled = equivalence(10 * np.array(A), 10 * np.array(B), (-300, 400))
    assert scaled.p == pytest.approx(base.p)


def test_refusals():
    finding = equivalence([1.0], [1.0, 2.0], (-1, 1))
    assert (finding.p, finding.equivalent) == (None, None)
    assert finding.sentence.startswith("Equivalence within -1 to 1 was not tested: each condition needs at")
    assert "do not vary" in equivalence([1, 1], [1, 1], (-1, 1)).reason
    assert equivalence([0.0, 1e-9], [0.0, 1e-9], (-1e3, 1e3)).p > 0


@pytest.mark.parametrize(
    ("margin", "ratio"), [((0.1, 0.2), False), ((-0.1, 0.0), False), ((-0.5, 2), True), ((1.1, 2), True)]
)
def test_margins_that_do_not_hold_no_difference(margin, ratio):
    with pytest.raises(ValueError, match="margin"):
        equivalence(A, B, margin, ratio=ratio)


def test_malformed_input():
    with pytest.raises(ValueError, match="alpha, doubled"):
        equivalence(A, B, (-1, 1), alpha=0.6)
    with pytest.raises(ValueError, match="positive"):
        equivalence([0, 1], [1, 2], (0.5, 2), ratio=True)
