"""Sample size of a planned study: the design, its power and a sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..io.errors import AnalysisError
from .populations import Assumed, Population
from .power import Contrast, Power, Rate, SmallestDesign, power_curve, smallest_design

HALF = 0.5  # the win rate of a condition that is as often preferred as the other
CURVE_POINTS = 9
SPAN = (0.25, 2.5)  # of the smallest design, that the curve covers


@dataclass(frozen=True)
class Design:
    """A planned study and its power.

    Attributes:
        effects: Shift of each condition, or of each pair, in the unit of the measure.
        items: Number of items that a participant sees in a condition, or in a pair.
        alpha: Two-sided level, after Holm's correction.
        simulations: Number of simulated studies per sample size.
        source: The origin of the simulated participants, for readers.
        unit: Unit of the effects, for readers.
        smallest: The smallest design with the target power.
        curve: Power by participants per condition, including the smallest design.
        is_paired: Participants compare pairs of conditions; effects are win rates minus one half.
    """

    effects: tuple[float, ...]
    items: int
    alpha: float
    simulations: int
    source: str
    unit: str
    smallest: SmallestDesign
    curve: tuple[Power, ...]
    is_paired: bool = False


def plan_size(
    population: Population,
    *,
    effects: Sequence[float],
    items: int,
    target: float,
    alpha: float,
    simulations: int,
    seed: int,
    source: str,
    unit: str,
    participants: Sequence[int] = (),
    reference: float | None = None,
    advance: Callable[[float], None] = lambda share: None,
) -> Design:
    """Find the smallest design with the target power, and a curve around it.

    Args:
        population: The source of simulated participants.
        effects: One shift for each condition, in the unit of the population (a log ratio for log seconds);
            with `reference`, one for each pair of conditions.
        items: Number of items that a participant sees in a condition or, with `reference`, in a pair.
        target: Wanted power, between 0 and 1: the rate of studies that detect all planted effects.
        alpha: Level of the tests after Holm's correction, between 0 and 1.
        simulations: Number of simulated studies for each sample size.
        seed: Of the random numbers.
        source: The origin of the participants, as the sentence on the design names it.
        unit: The unit of the effects, for the same sentence.
        participants: Sample sizes of the curve, per condition; empty for nine around the smallest design.
        reference: The population's value without an effect, if participants compare pairs of conditions.
        advance: Called with the share of the simulation that is done, from 0 to 1.

    Returns:
        The design, with the power of every simulated size.

    Raises:
        AnalysisError: Effects, sizes or rates make no design.
    """
    streams = np.random.default_rng(seed).spawn(2)
    try:
        smallest = smallest_design(
            population, target=target, effects=effects, items=items, simulations=simulations, alpha=alpha,
            rng=streams[0], reference=reference,
        )  # fmt: skip
        largest = smallest.participants or smallest.tried[-1].participants
        sizes = sorted(set(participants)) or choose_sizes(largest)
        curve = []
        for done, size in enumerate(sizes, start=1):
            advance(done / (len(sizes) + 1))
            curve += power_curve(
                population, participants=[size], effects=effects, items=items, simulations=simulations,
                alpha=alpha, rng=streams[1], reference=reference,
            )  # fmt: skip
    except ValueError as error:
        raise AnalysisError(str(error)) from None
    is_paired = reference is not None
    return Design(tuple(effects), items, alpha, simulations, source, unit, smallest, tuple(curve), is_paired)


def design_sentence(design: Design) -> str:
    """Describe the result of the simulation in one sentence.

    Args:
        design: Result of `plan_size`.

    Returns:
        The sentence, with sample size, power and assumptions.
    """
    shifts = ", ".join(f"{effect:g}" for effect in design.effects)
    smallest = design.smallest
    if smallest.participants is None:
        result = smallest.reason.capitalize()
    else:
        point = next(power for power in smallest.tried if power.participants == smallest.participants)
        size = f"{smallest.participants} participants"
        if not design.is_paired:
            size += f" per condition ({smallest.participants * len(design.effects)} in all)"
        result = f"{size} reach a power of {format_rate(point.all)}"
    if design.is_paired:
        rates = ", ".join(f"{HALF + effect:g}" for effect in design.effects)
        pairs = "a pair" if len(design.effects) == 1 else f"{len(design.effects)} pairs"
        rates = f"the win rate {rates}" if len(design.effects) == 1 else f"the win rates {rates}"
        return (
            f"{result}, for {pairs} of conditions with {rates} over "
            f"{design.items} items a pair, alpha {design.alpha:g}; {design.simulations} simulated studies of "
            f"{design.source}."
        )
    return (
        f"{result}, for {len(design.effects)} conditions with the effects {shifts} ({design.unit}) over "
        f"{design.items} items, alpha {design.alpha:g}; {design.simulations} simulated studies of "
        f"{design.source}."
    )


def check_effects(mean: float, effects: Sequence[float]) -> None:
    """Raise ValueError if an effect moves a mean share out of 0 to 1."""
    for effect in effects:
        if not 0 <= round(mean + effect, 9) <= 1:  # rounded, because a binary sum may exceed 1 a little
            raise ValueError(
                f"the effect {effect:g} moves the mean share {mean:g} to {mean + effect:g}; give effects "
                "that keep it between 0 and 1"
            )


def assume_population(
    participant_sd: float,
    item_sd: float,
    residual_sd: float | None,
    mean: float | None,
    effects: Sequence[float] = (),
    *,
    change: bool = False,
) -> tuple[Assumed, str]:
    """Build a population of assumed spreads, and describe it.

    Args:
        participant_sd: Standard deviation between participants, in the unit of the measure.
        item_sd: Standard deviation between items, in the same unit.
        residual_sd: Standard deviation of single trials beside these; None for a yes-or-no measure.
        mean: Mean share of a yes-or-no measure, from 0 to 1; None for others.
        effects: Shifts that must keep the mean share between 0 and 1.
        change: Measure the change between two blocks of items, see `Assumed`.

    Returns:
        The population, and a phrase that names its spreads.

    Raises:
        AnalysisError: An assumption is out of range or does not fit the others.
    """
    try:
        population = Assumed(participant_sd, item_sd, residual_sd, mean, change=change)
        if mean is not None:
            check_effects(mean, effects)
    except ValueError as error:
        raise AnalysisError(str(error)) from None
    spreads = {"participants": participant_sd, "items": item_sd, "trials": residual_sd, "mean share": mean}
    given = ", ".join(f"{name} {value:g}" for name, value in spreads.items() if value is not None)
    blocks = ", change between two blocks" if change else ""
    return population, f"people by assumption ({given}{blocks})"


def pair_with_first(effects: Sequence[float]) -> list[Contrast]:
    """Pair each condition with the first.

    Args:
        effects: Shift of each condition.

    Returns:
        Pairs of positions in `effects`, the first condition first.
    """
    return [(0, other) for other in range(1, len(effects))]


def choose_sizes(size: int) -> list[int]:
    """Return sample sizes below and above the smallest design, for a curve."""
    low, high = max(2, int(size * SPAN[0])), max(6, int(size * SPAN[1]))
    return sorted({round(n) for n in np.linspace(low, high, CURVE_POINTS)} | {size})


def format_rate(rate: Rate | None) -> str:
    """Format a simulated share with its 95 % confidence interval."""
    return "–" if rate is None else f"{rate.value:.3f} [{rate.interval[0]:.3f}, {rate.interval[1]:.3f}]"
