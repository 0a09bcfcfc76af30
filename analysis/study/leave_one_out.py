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
from .human_vs_model import Quantity

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

    everything: over all systems that have both values. without: one per system left out; empty with fewer
    than three, then `reason` says so. keeps_sign, keeps_direction: in how many of `without` the rank sign,
    and the side of 0 of Pearson's r, are those of all systems. range: smallest and largest coefficient.
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
    for quantity in (*measures, *scores):
        if len(quantity.values) != len(systems):
            raise ValueError(f"{quantity.key} has {len(quantity.values)} values for {len(systems)} systems")
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
    """The side of 0 of Pearson's r."""
    value = subset.coefficients["pearson"]
    return None if value is None else float(np.sign(value))
