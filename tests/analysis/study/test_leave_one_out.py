"""Leaving one system out."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.study.human_vs_model import Quantity
from analysis.study.leave_one_out import TOO_FEW, leave_one_out

NAMES = ["a", "b", "c", "d", "e"]


def quantity(*values, key="q"):
    return Quantity(key, key, None, np.array(values, dtype=float))


def test_it_works():
    """One outlier makes the correlation; without it the direction reverses."""
    human, model = quantity(1, 2, 3, 4, 100), quantity(4, 3, 2, 1, 100)
    robustness: Any = leave_one_out(NAMES, [human], [model])[0]
    assert robustness.everything.coefficients["pearson"] > 0.99
    assert [subset.left_out for subset in robustness.without] == NAMES
    assert {subset.n for subset in robustness.without} == {4}
    last = robustness.without[-1]
    assert (last.sign, last.coefficients["pearson"], last.coefficients["kendall"]) == (
        "-",
        pytest.approx(-1),
        -1,
    )
    assert (robustness.keeps_sign, robustness.keeps_direction) == (4, 4)
    assert robustness.range["pearson"][0] == pytest.approx(-1)


def test_coefficients_against_scipy():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=5), rng.normal(size=5)
    robustness = leave_one_out(NAMES, [quantity(*x)], [quantity(*y)])[0]
    for left, subset in enumerate(robustness.without):
        u, v = np.delete(x, left), np.delete(y, left)
        assert subset.coefficients["pearson"] == pytest.approx(stats.pearsonr(u, v).statistic)
        assert subset.coefficients["spearman"] == pytest.approx(stats.spearmanr(u, v).statistic)
        assert subset.coefficients["kendall"] == pytest.approx(stats.kendalltau(u, v).statistic)


def test_a_perfect_relation_keeps_all():
    robustness = leave_one_out(NAMES, [quantity(1, 2, 3, 4, 5)], [quantity(9, 8, 7, 6, 5)])[0]
    assert (robustness.everything.sign, robustness.keeps_sign, robustness.keeps_direction) == ("-", 5, 5)


def test_missing_values_leave_fewer_systems():
    human = quantity(1, 2, np.nan, 4, 5)
    robustness = leave_one_out(NAMES, [human], [quantity(1, 2, 3, 4, np.nan)])[0]
    assert [subset.left_out for subset in robustness.without] == ["a", "b", "d"]
    assert robustness.everything.n == 3


def test_too_few_systems_have_a_reason():
    pair, single = quantity(1, 2, np.nan, np.nan, np.nan), quantity(1, np.nan, np.nan, np.nan, np.nan)
    of_two, of_one = leave_one_out(NAMES, [pair, single], [quantity(1, 2, 3, 4, 5)])
    assert (of_two.without, of_two.reason, of_two.everything.sign) == ((), TOO_FEW, "+")
    assert (of_one.everything, of_one.reason) == (None, TOO_FEW)


def test_a_constant_rest_is_undefined():
    robustness = leave_one_out(NAMES[:3], [quantity(1, 1, 2)], [quantity(1, 2, 3)])[0]
    assert robustness.without[2].coefficients == {"pearson": None, "spearman": None, "kendall": None}
    assert robustness.keeps_direction == 2
    constant = leave_one_out(NAMES[:3], [quantity(1, 1, 1)], [quantity(1, 2, 3)])[0]
    assert (constant.keeps_direction, constant.range) == (0, {})


def test_malformed_input_is_named():
    with pytest.raises(ValueError, match="3 values for 5 systems"):
        leave_one_out(NAMES, [quantity(1, 2, 3)], [])
