"""Quasi-F over participants and items agrees with other software.

It also agrees with mean squares by hand, keeps its level, and refuses too few participants or items.
"""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

from analysis.stats.crossed import Block, crossed_test

COUNT = 7  # items


def build_block(*tables):
    """Return the block of conditions that the same participants saw.

    tables: one per condition, participants × items, without gaps.
    """
    trials = np.stack(tables, axis=1)
    values = trials.mean(axis=2)
    return Block(values, trials - values[:, :, None])


def simulate_tables(rng, people=(6, 6), own_item_sd=1.0):
    """Simulate conditions with their own participants over the same items.

    Each condition has item effects of its own.
    """
    items = rng.normal(0, 1, COUNT)
    return [
        rng.normal(0, 1, (count, 1))
        + items
        + rng.normal(0, own_item_sd, COUNT)
        + rng.normal(0, 1, (count, COUNT))
        for count in people
    ]


def mean_squares(tables):
    """Compute the mean squares by hand.

    They are those of conditions, participants, items by condition, and residual, in this order.
    """
    stacked = np.stack(tables)  # axes: conditions, participants, items
    k, n, m = stacked.shape
    rows, columns, cells = stacked.mean(axis=2), stacked.mean(axis=1), stacked.mean(axis=(1, 2))
    conditions = n * m * ((cells - cells.mean()) ** 2).sum() / (k - 1)
    people = m * ((rows - cells[:, None]) ** 2).sum() / (k * (n - 1))
    both = columns - columns.mean(axis=0) - cells[:, None] + cells.mean()
    items = n * (both**2).sum() / ((k - 1) * (m - 1))
    rest = stacked - rows[:, :, None] - columns[:, None, :] + cells[:, None, None]
    return conditions, people, items, (rest**2).sum() / (k * (n - 1) * (m - 1))


@pytest.mark.parametrize("conditions", [2, 3, 4])
def test_it_is_the_quasi_f_of_mean_squares(conditions):
    """The quasi-F of a full table is F' of its mean squares.

    F' = MS_c / (MS_p + MS_ci − MS_r) (Clark 1973; Winer 1971, section 5.15).
    """
    tables = simulate_tables(np.random.default_rng(conditions), people=(6,) * conditions)
    of_conditions, people, items, rest = mean_squares(tables)
    assert min(people, items) > rest
    test = crossed_test([build_block(table) for table in tables], items=True)
    assert test.f == pytest.approx(of_conditions / (people + items - rest))
    if conditions == 2:
        satterthwaite = (people + items - rest) ** 2 / (
            people**2 / 10 + items**2 / (COUNT - 1) + rest**2 / (10 * (COUNT - 1))
        )
        # People of unlike conditions have unlike variances here, so degrees are somewhat fewer than pooled.
        assert 0.6 * satterthwaite < test.freedom[1] <= satterthwaite * 1.001
        low, high = test.interval(0.95)
        assert test.p == pytest.approx(2 * stats.t.sf(np.sqrt(test.f), test.freedom[1]))
        assert (low <= 0 <= high) == (test.p > 0.05)


def test_the_mean_squares_are_those_of_an_analysis_of_variance():
    """The mean squares by hand are those in the table of statsmodels.

    The table has the item by condition interaction; participants are within conditions.
    """
    tables = simulate_tables(np.random.default_rng(2))
    index = pd.MultiIndex.from_product([range(2), range(6), range(COUNT)], names=["c", "n", "i"])
    frame = pd.Series(np.stack(tables).ravel(), index, name="y").reset_index()
    table = anova_lm(smf.ols("y ~ C(c) * C(i) + C(c):C(n)", frame).fit(), typ=1)
    _, people, items, rest = mean_squares(tables)
    assert table.loc["C(c):C(n)", "mean_sq"] == pytest.approx(people)
    assert table.loc["C(c):C(i)", "mean_sq"] == pytest.approx(items)
    assert table.loc["Residual", "mean_sq"] == pytest.approx(rest)


def test_with_these_items_it_is_welch_and_the_paired_t():
    first, second = simulate_tables(np.random.default_rng(3), people=(5, 9))
    welch = stats.ttest_ind(second.mean(axis=1), first.mean(axis=1), equal_var=False)
    test = crossed_test([build_block(first), build_block(second)], items=False)
    assert (test.f, test.p) == pytest.approx((welch.statistic**2, welch.pvalue))
    first, second = simulate_tables(np.random.default_rng(4), people=(8, 8))
    paired = stats.ttest_rel(second.mean(axis=1), first.mean(axis=1))
    test = crossed_test([build_block(first, second)], items=False)
    assert (test.f, test.p) == pytest.approx((paired.statistic**2, paired.pvalue))
    assert test.interval(0.9) == pytest.approx(tuple(paired.confidence_interval(0.9)))
    above = stats.ttest_rel(second.mean(axis=1) - 0.1, first.mean(axis=1), alternative="greater")
    assert test.p_beyond(0.1, above=True) == pytest.approx(above.pvalue)
    assert test.p_beyond(0.1, above=False) == pytest.approx(1 - above.pvalue)


def test_other_items_never_make_a_difference_surer():
    rng = np.random.default_rng(5)
    for own_item_sd in (0.0, 0.3, 2.0):
        for _ in range(20):
            blocks = [build_block(table) for table in simulate_tables(rng, own_item_sd=own_item_sd)]
            assert crossed_test(blocks, items=True).variance >= crossed_test(blocks, items=False).variance


def test_level_with_items_that_favour_a_condition():
    """The test keeps its level even if the items favour a condition.

    Of these items the difference is real, and Welch's t finds it; on others it would be another.
    """
    rng, studies, crossed, fixed = np.random.default_rng(6), 300, 0, 0
    for _ in range(studies):
        blocks = [build_block(table) for table in simulate_tables(rng, people=(8, 8), own_item_sd=2.0)]
        crossed += crossed_test(blocks, items=True).p <= 0.05
        fixed += crossed_test(blocks, items=False).p <= 0.05
    assert crossed <= stats.binom.ppf(0.999, studies, 0.05)
    assert fixed > 0.3 * studies


def test_refusals():
    first, second = simulate_tables(np.random.default_rng(7))
    assert (
        "at least 2 participants"
        in crossed_test([build_block(first[:1]), build_block(second)], items=True).reason
    )
    assert (
        "at least 2 items"
        in crossed_test([build_block(first[:, :1]), build_block(second[:, :1])], items=True).reason
    )
    flat = build_block(np.ones((4, 5)))
    assert "do not vary" in crossed_test([flat, flat], items=True).reason
