"""Alpha and omega agree with theory, another formula and simulation.

Degenerate answers give a reason in place of a coefficient.
"""

import numpy as np
import pytest

from analysis.stats.reliability import reliability


def alpha_by_correlations(answers):
    """Return alpha by the mean covariance and variance of items, not by sums."""
    covariance = np.cov(answers, rowvar=False)
    items = len(covariance)
    between = (covariance.sum() - np.trace(covariance)) / (items * (items - 1))
    return items * between / (np.trace(covariance) / items + (items - 1) * between)


def with_covariance(covariance, people=50):
    """Return answers whose sample covariance is exactly this matrix."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(people, len(covariance)))
    noise -= noise.mean(axis=0)
    white = noise @ np.linalg.inv(np.linalg.cholesky(np.cov(noise, rowvar=False))).T
    return white @ np.linalg.cholesky(covariance).T


def test_it_works():
    # R: psych::alpha(data.frame(a = c(1, 2, 3, 4), b = c(2, 2, 4, 4), c = c(1, 3, 3, 5)))$total$raw_alpha
    answers = np.array([[1, 2, 1], [2, 2, 3], [3, 4, 3], [4, 4, 5]])
    coefficients = reliability(answers)
    assert coefficients.alpha == pytest.approx(alpha_by_correlations(answers))
    assert coefficients.alpha is not None
    assert coefficients.interval is not None
    assert coefficients.interval[0] < coefficients.alpha < coefficients.interval[1]
    assert coefficients.participants == 4


def test_omega_of_one_factor_is_exact():
    loads, unique = np.array([0.9, 0.7, 0.5, 0.4]), np.array([0.3, 0.5, 0.6, 0.9])
    answers = with_covariance(np.outer(loads, loads) + np.diag(unique))
    coefficients = reliability(answers)
    assert coefficients.omega == pytest.approx(loads.sum() ** 2 / (loads.sum() ** 2 + unique.sum()), abs=1e-6)
    assert coefficients.alpha is not None
    assert coefficients.omega is not None
    assert coefficients.alpha < coefficients.omega, "alpha is a lower bound if loadings differ"


def test_alpha_equals_omega_for_equal_loadings():
    answers = with_covariance(np.full((5, 5), 0.4) + np.diag(np.full(5, 0.6)))
    coefficients = reliability(answers)
    assert (
        coefficients.alpha
        == pytest.approx(coefficients.omega, abs=1e-6)
        == pytest.approx(5 * 0.4 / (1 + 4 * 0.4))
    )


def test_the_interval_covers_the_true_alpha():
    rng = np.random.default_rng(5)
    factor = rng.normal(size=(600, 30, 1))
    answers = factor + rng.normal(size=(600, 30, 4))
    truth = 4 * 0.5 / (1 + 3 * 0.5)
    bounds = [reliability(sample).interval for sample in answers]
    assert 0.93 < np.mean([low <= truth <= high for low, high in bounds]) < 0.97


def test_participants_with_a_gap_are_left_out():
    answers = np.array([[1, 2, 1], [2, 2, 3], [3, 4, 3], [4, 4, 5]], dtype=float)
    gaps = np.vstack([answers, [np.nan, 1, 1]])
    assert reliability(gaps) == reliability(answers)
    assert reliability(answers * 3 + 2).alpha == pytest.approx(reliability(answers).alpha)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([[1], [2], [3]], "single item"),
        ([[1, 2], [2, 3]], "fewer than three participants"),
        ([[1, 2], [1, 2], [1, 2]], "the same score"),
        (np.empty((0, 3)), "fewer than three participants"),
    ],
)
def test_no_alpha(answers, words):
    coefficients = reliability(answers)
    assert coefficients.alpha is None
    assert coefficients.omega is None
    assert words in coefficients.reason


def test_no_omega_of_two_items_or_without_a_factor():
    assert "three items" in reliability([[1, 2], [2, 2], [3, 4]]).omega_reason
    opposed = with_covariance(np.array([[1, 0.6, 0.6], [0.6, 1, 0.1], [0.6, 0.1, 1]]))
    assert reliability(opposed).omega is None


def test_a_wrong_shape():
    with pytest.raises(ValueError, match="participants × items"):
        reliability([1, 2, 3])
