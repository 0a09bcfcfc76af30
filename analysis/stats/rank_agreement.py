"""Agreement of rankings: does a model score rank systems as people do?

References:
    1. Schuff et al. (2020), section 6.6 and the table of rank relations.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array

TIE = 1e-12  # values this near, relative to the largest, are ties: another order of summing may do that

Direction = Literal["higher", "lower"] | None


class RankRelation(NamedTuple):
    """Relation of two rankings of the same systems.

    Attributes:
        sign: "+" for the same ranking, "-" for the exactly reversed one, ""
            otherwise.
        tied: True if either side has two equal values; the sign is then "".
    """

    sign: Literal["+", "-", ""]
    tied: bool


def rank_relation(human: ArrayLike, model: ArrayLike) -> RankRelation:
    """Relate two rankings of n systems.

    human, model: one finite value per system, shape (n,), n >= 2.

    Raises ValueError for another shape, fewer than two systems or a value that is not finite.

    Examples:
        >>> rank_relation([0.1, 0.2, 0.4], [3, 2, 1])
        RankRelation(sign='-', tied=False)
    """
    x, y = map(settled, paired_values(human, model))
    if len(np.unique(x)) < len(x) or len(np.unique(y)) < len(y):
        return RankRelation("", tied=True)
    x_order, y_order = np.argsort(x), np.argsort(y)
    if (x_order == y_order).all():
        return RankRelation("+", tied=False)
    return RankRelation("-" if (x_order == y_order[::-1]).all() else "", tied=False)


def desirability(
    sign: str, human_wanted: Direction, model_wanted: Direction
) -> Literal["desirable", "undesirable", ""]:
    """Say whether choosing a system by the score improves the human measure.

    "" if the sign is blank or either side has no desired direction.

    Examples:
        >>> desirability("+", human_wanted="lower", model_wanted="higher")
        'undesirable'
    """
    if not sign or human_wanted is None or model_wanted is None:
        return ""
    good = (sign == "+") == (human_wanted == model_wanted)
    return "desirable" if good else "undesirable"


def paired_values(human: ArrayLike, model: ArrayLike) -> tuple[Array, Array]:
    """Return both sides as arrays; ValueError if they do not pair."""
    x, y = np.asarray(human, dtype=float), np.asarray(model, dtype=float)
    for name, values in (("human", x), ("model", y)):
        if values.ndim != 1:
            raise ValueError(f"{name} must have one value per system, not shape {values.shape}")
        if not np.isfinite(values).all():
            raise ValueError(f"{name} holds a value that is not finite")
    if len(x) != len(y):
        raise ValueError(f"human has {len(x)} systems, model has {len(y)}")
    if len(x) < 2:
        raise ValueError(f"a ranking needs at least 2 systems, not {len(x)}")
    return x, y


def settled(values: Array) -> Array:
    """Round values relative to the largest (last axis) to settle ties."""
    largest = np.abs(values).max(axis=-1, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0) * TIE
    return np.round(values / scale) * scale
