"""Sample sizes of planned studies: settings, power simulation and result.

Pure: no Django.

The simulation is that of `analysis.planning.power`; here it can be watched, and stopped between its steps.
"""

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from analysis.planning.populations import Population
from analysis.planning.sample_size import HALF, assume_population, check_effects, design_sentence, plan_size
from analysis.stats.arrays import Array
from foundation.frozen_model import FrozenModel
from foundation.messages import value_error

# Means over trials, the change between two blocks of trials, or win rates of pairs of conditions.
SizeMeasure = Literal["trials", "change", "win_rate"]
SEED = 1
MOST_CONDITIONS = 10


class SizeSettings(FrozenModel):
    """Assumptions of a simulation.

    Give ``residual_sd``, or for a yes-or-no measure its ``mean`` share; a win rate needs neither. The effects
    of a win rate are those of pairs of conditions beyond one half.
    """

    measure: SizeMeasure = "trials"
    effects: Annotated[list[FiniteFloat], Field(min_length=1, max_length=MOST_CONDITIONS)]
    items: Annotated[int, Field(ge=1, le=1000)] = 25
    participant_sd: Annotated[float, Field(ge=0)]
    item_sd: Annotated[float, Field(ge=0)] = 0.0
    residual_sd: Annotated[float, Field(ge=0)] | None = None
    mean: Annotated[float, Field(ge=0, le=1)] | None = None
    target: Annotated[float, Field(gt=0, lt=1)] = 0.8
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    simulations: Annotated[int, Field(ge=100, le=20_000)] = 2000

    @model_validator(mode="after")
    def _check_measure(self) -> "SizeSettings":
        if self.measure == "win_rate":
            return self._check_win_rates()
        if len(self.effects) < 2:
            raise value_error("give one effect for each of two or more conditions")
        if (self.residual_sd is None) == (self.mean is None):
            raise value_error(
                "give either the spread of single trials, or the mean share of a yes-or-no measure"
            )
        if len(set(self.effects)) == 1:
            raise value_error("the effects are all the same, so there is no difference to find")
        if self.mean is not None:
            check_effects(self.mean, self.effects)
        return self

    def _check_win_rates(self) -> "SizeSettings":
        if self.residual_sd is not None:
            raise value_error("a win rate has no spread of single trials to give: they are won or lost")
        if not any(self.effects) or max(map(abs, self.effects)) > HALF:
            raise value_error("effects of win rates lie between -0.5 and 0.5, and one is not 0")
        return self

    @property
    def reference(self) -> float | None:
        """The value that a win rate is tested against, None for others."""
        return HALF if self.measure == "win_rate" else None


class SizePoint(FrozenModel):
    """Power at a number of participants per condition, with a 95 % interval.

    ``low`` and ``high`` bound the uncertainty of the simulation.
    """

    participants: int
    power: float
    low: float
    high: float


class SizeResult(FrozenModel):
    """The result; ``participants`` per condition reach the target.

    It is None if no tried size reaches it.
    """

    sentence: str
    participants: int | None
    curve: list[SizePoint]


class _Watched:
    """A population that reports every draw.

    A long simulation can then be stopped inside a step.
    """

    def __init__(self, population: Population, drawn: Callable[[], None]) -> None:
        self._population, self._drawn = population, drawn

    def means(
        self, rng: np.random.Generator, effects: Array, participants: int, items: int, simulations: int
    ) -> Array:
        self._drawn()
        return self._population.means(rng, effects, participants, items, simulations)


def simulate(
    settings: SizeSettings,
    *,
    advance: Callable[[float], None] = lambda share: None,
    drawn: Callable[[], None] = lambda: None,
) -> SizeResult:
    """Simulate the sample size.

    Args:
        settings: The assumptions.
        advance: Called with the share of the simulation that is done.
        drawn: Called at every draw; it may raise to stop the simulation.

    Raises:
        AnalysisError: the assumptions make no design.
    """
    population, source = assume_population(
        settings.participant_sd, settings.item_sd, settings.residual_sd,
        settings.mean if settings.reference is None else settings.reference,
        change=settings.measure == "change",
    )  # fmt: skip
    design = plan_size(
        _Watched(population, drawn), effects=settings.effects, items=settings.items, target=settings.target,
        alpha=settings.alpha, simulations=settings.simulations, seed=SEED, source=source,
        unit="in the unit of the measure", reference=settings.reference, advance=advance,
    )  # fmt: skip
    points = [
        SizePoint(
            participants=point.participants,
            power=point.all.value,
            low=point.all.interval[0],
            high=point.all.interval[1],
        )
        for point in design.curve
        if point.all
    ]
    return SizeResult(
        sentence=design_sentence(design), participants=design.smallest.participants, curve=points
    )
