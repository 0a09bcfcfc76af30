"""Relations with each system left out: rank relation and correlations.

With n systems each refit has n − 1. With three systems that leaves two, where every coefficient is +1 or −1
and only says which one is ahead: instability is then a result, stability is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..stats.arrays import Array
from ..stats.correlations import COEFFICIENTS, STATISTICS, Coefficient
from ..stats.rank_agreement import rank_relation
from .human_vs_model import Quantity, check_quantities

TOO_FEW = "fewer than three systems have both values, so none can be left out"


@dataclass(frozen=True)
class Subset:
    """The relation over some systems.

    Attributes:
        left_out: The system that is left out; "" for all systems.
        coefficients: None if undefined (a side is constant).
    """

    left_out: str
    n: int
    sign: Literal["+", "-", ""]
    coefficients: dict[Coefficient, float | None]


@dataclass(frozen=True)
class Robustness:
    """One human measure and one model score with each system left out.

    Attributes:
        measure: Key of the human measure.
        score: Key of the model score.
        everything: Over all systems that have both values; None for fewer than two.
        without: One per system left out; empty with fewer than three, `reason` then says so.
        keeps_sign: Number of `without` whose rank sign is that of all systems.
        keeps_direction: Number of `without` whose Pearson's r is on the same side of 0 as that of all
            systems.
        range: Coefficient to its smallest and largest value.
        reason: Why no system is left out; empty otherwise.
    """

    measure: str
    score: str
    everything: Subset | None
    without: tuple[Subset, ...]
    keeps_sign: int
    keeps_direction: int
    range: dict[Coefficient, tuple[float, float]]
    reason: str = ""


def leave_one_out(
    systems: Sequence[str], measures: Sequence[Quantity], scores: Sequence[Quantity]
) -> list[Robustness]:
    """Relate every measure with every score, leaving each system out.

    Args:
        systems: Names of the systems, for readers.
        measures: Human measures, one value per system, NaN where unknown.
        scores: Model scores, one value per system, NaN where unknown.

    Returns:
        Every score for the first measure, then for the next.

    Raises:
        ValueError: A quantity has another number of values than there are systems.
    """
    check_quantities(systems, (*measures, *scores))
    return [_build_robustness(systems, m, s) for m in measures for s in scores]


def _build_robustness(systems: Sequence[str], measure: Quantity, score: Quantity) -> Robustness:
    both = np.flatnonzero(~np.isnan(measure.values) & ~np.isnan(score.values))
    human, model = measure.values[both], score.values[both]
    everything = _build_subsets([""], human[None], model[None])[0] if len(both) > 1 else None
    if everything is None or len(both) < 3:
        return Robustness(measure.key, score.key, everything, (), 0, 0, {}, TOO_FEW)
    others = np.array([np.delete(np.arange(len(both)), index) for index in range(len(both))])
    without = _build_subsets([systems[left] for left in both.tolist()], human[others], model[others])
    whole = _compute_side(everything)
    return Robustness(
        measure=measure.key,
        score=score.key,
        everything=everything,
        without=without,
        keeps_sign=sum(subset.sign == everything.sign for subset in without),
        keeps_direction=0 if whole is None else sum(_compute_side(subset) == whole for subset in without),
        range={c: (min(v), max(v)) for c in COEFFICIENTS if (v := _list_values(without, c))},
    )


def _build_subsets(left_out: Sequence[str], human: Array, model: Array) -> tuple[Subset, ...]:
    """One for each row of both."""
    coefficients = {name: statistic(human, model).tolist() for name, statistic in STATISTICS.items()}
    return tuple(
        Subset(
            name,
            human.shape[1],
            rank_relation(human[row], model[row]).sign,
            {key: None if np.isnan(values[row]) else values[row] for key, values in coefficients.items()},
        )
        for row, name in enumerate(left_out)
    )


def _list_values(subsets: Sequence[Subset], coefficient: Coefficient) -> list[float]:
    return [value for s in subsets if (value := s.coefficients[coefficient]) is not None]


def _compute_side(subset: Subset) -> float | None:
    """Return the sign of Pearson's r; None if it is undefined."""
    value = subset.coefficients["pearson"]
    return None if value is None else float(np.sign(value))
