"""Number of systems of a planned study, by power simulation.

Pure: no Django.

The simulation is that of `analysis.planning.systems_needed`, with the seed of `touchstone power --systems`:
both give the same numbers.
"""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from pydantic import Field, field_validator, model_validator

from analysis.io.errors import AnalysisError
from analysis.planning.systems_needed import MOST_SYSTEMS, SystemsNeeded, plan_systems
from analysis.stats.correlations import Coefficient
from foundation.frozen_model import FrozenModel
from foundation.messages import value_error
from studyapp.rules.sample_sizes import SEED

MOST_CORRELATIONS = 10


class SystemSettings(FrozenModel):
    """Assumptions of a simulation of how many systems a study needs.

    ``noise`` is the standard error of people's mean of a system, in standard deviations between systems.
    """

    correlations: Annotated[
        list[Annotated[float, Field(ge=-1, le=1)]], Field(min_length=1, max_length=MOST_CORRELATIONS)
    ]
    noise: Annotated[float, Field(ge=0, le=100)] | None = None
    coefficient: Coefficient = "pearson"
    target: Annotated[float, Field(gt=0, lt=1)] = 0.8
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    simulations: Annotated[int, Field(ge=100, le=20_000)] = 2000

    @field_validator("correlations")
    @classmethod
    def _check_correlations(cls, correlations: list[float]) -> list[float]:
        if 0 in correlations:
            raise value_error("a true correlation of 0 cannot be detected; leave it out")
        return correlations

    @model_validator(mode="after")
    def _power_above_the_level(self) -> "SystemSettings":
        if self.target <= self.alpha:
            raise value_error("the target power must be above alpha")
        return self


class SystemsPoint(FrozenModel):
    """The fewest systems with the target power, and the power there.

    ``systems`` is None if `MOST_SYSTEMS` are too few; ``low`` and ``high`` bound the uncertainty of the
    simulation.
    """

    systems: int | None
    power: float
    low: float
    high: float


class SystemsRow(FrozenModel):
    """The systems needed for a true correlation.

    ``noisy`` is None if no noise was assumed.
    """

    correlation: float
    without: SystemsPoint
    noisy: SystemsPoint | None


class SystemsResult(FrozenModel):
    """The result, one row per true correlation."""

    most: int
    rows: list[SystemsRow]


def simulate_systems(
    settings: SystemSettings,
    *,
    advance: Callable[[float], None] = lambda share: None,
    drawn: Callable[[], None] = lambda: None,
) -> SystemsResult:
    """Simulate the number of systems.

    Args:
        settings: The assumptions.
        advance: Called with the share of the simulation that is done.
        drawn: Called before every size; it may raise to stop the simulation.

    Raises:
        AnalysisError: the assumptions make no design.
    """
    rows = []
    for done, correlation in enumerate(settings.correlations, start=1):
        try:
            [scenario] = plan_systems(
                [correlation], settings.noise, np.random.default_rng(SEED), coefficient=settings.coefficient,
                target=settings.target, alpha=settings.alpha, simulations=settings.simulations,
                drawn=drawn,
            )  # fmt: skip
        except ValueError as error:
            raise AnalysisError(str(error)) from None
        noisy = None if scenario.noisy is None else _build_point(scenario.noisy)
        rows.append(SystemsRow(correlation=correlation, without=_build_point(scenario.without), noisy=noisy))
        advance(done / (len(settings.correlations) + 1))
    return SystemsResult(most=MOST_SYSTEMS, rows=rows)


def _build_point(needed: SystemsNeeded) -> SystemsPoint:
    low, high = needed.power.interval
    return SystemsPoint(systems=needed.systems, power=needed.power.value, low=low, high=high)
