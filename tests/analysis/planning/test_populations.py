"""Populations of the power analysis have the spreads of the pilot.

Malformed pilots and assumptions raise an error.
"""

import numpy as np
import pytest

from analysis.planning.populations import Assumed, fit_normal_population, pilot
from tests.analysis.grids import make_grid


def test_a_pilot_gives_back_its_spreads():
    rng = np.random.default_rng(2)
    grids = [
        make_grid(
            name,
            seconds=shift + rng.normal(0, 2, (60, 1)) + rng.normal(0, 3, 30) + rng.normal(0, 5, (60, 30)),
        )
        for name, shift in (("a", 60), ("b", 90))
    ]
    population = fit_normal_population(pilot(grids, lambda grid: grid.seconds))
    assert population.participant_sd == pytest.approx(2, rel=0.15)
    assert population.residual_sd == pytest.approx(5, rel=0.05)


def test_malformed_pilots_are_named():
    with pytest.raises(ValueError, match="are the same"):
        pilot([make_grid(seconds=np.ones((4, 5)))], lambda grid: grid.seconds)
    with pytest.raises(ValueError, match="two participants"):
        pilot([make_grid(seconds=np.ones((1, 5)))], lambda grid: grid.seconds)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"participant_sd": -1, "residual_sd": 1}, "participant_sd"),
        ({"participant_sd": 1}, "either residual_sd"),
        ({"participant_sd": 1, "residual_sd": 1, "mean": 0.5}, "either residual_sd"),
        ({"participant_sd": 1, "mean": 2}, "mean must be"),
    ],
)
def test_malformed_assumptions_are_named(values, words):
    with pytest.raises(ValueError, match=words):
        Assumed(**values)
