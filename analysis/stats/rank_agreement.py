"""Agreement of rankings: does a model score rank systems as people do?

References:
    1. Schuff et al. (2020), section 6.6 and the table of rank relations.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from .arguments import check_choice, read_values
from .arrays import Array

TIE = 1e-12  # values this near, relative to the largest, are ties: another order of summing may do that

Direction = Literal["higher", "lower"] | None
DIRECTIONS: tuple[Direction, ...] = ("higher", "lower", None)
Sign = Literal["+", "-", ""]
SIGNS: tuple[Sign, ...] = get_args(Sign)


class RankRelation(NamedTuple):
    """Relation of two rankings of the same systems.

    Attributes:
        sign: "+" for the same ranking, "-" for the exactly reversed one, ""
            otherwise.
        tied: True if either side has two equal values; the sign is then "".
    """

    sign: Sign
    tied: bool


def rank_relation(human: ArrayLike, model: ArrayLike) -> RankRelation:
    """Relate two rankings of n systems.

    Args:
        human: One finite value per system, shape (n,), n at least 2.
        model: The same systems' values on the other side.

    Returns:
        The sign of the relation, and whether there are ties.

    Raises:
        ValueError: The shapes differ or are others, there are fewer than two systems, or a value is not
            finite.

    Examples:
        >>> rank_relation([0.1, 0.2, 0.4], [3, 2, 1])
        RankRelation(sign='-', tied=False)
    """
    x, y = map(settle_ties, check_paired_values(human, model))
    if len(np.unique(x)) < len(x) or len(np.unique(y)) < len(y):
        return RankRelation("", tied=True)
    x_order, y_order = np.argsort(x), np.argsort(y)
    if (x_order == y_order).all():
        return RankRelation("+", tied=False)
    return RankRelation("-" if (x_order == y_order[::-1]).all() else "", tied=False)


class SignShares(NamedTuple):
    """Shares of replicates in which two rankings have a relation.

    Attributes:
        same: Share with the same ranking, "+".
        reversed: Share with the exactly reversed one, "-".
    """

    same: float
    reversed: float

    def of(self, sign: str) -> float | None:
        """Return the share of a sign; None for the blank one.

        Args:
            sign: As in `RankRelation`: "+", "-" or "".

        Returns:
            From 0 to 1.

        Raises:
            ValueError: The sign is not one of these.
        """
        check_choice(sign, SIGNS, "sign")
        return {"+": self.same, "-": self.reversed}.get(sign)


def sign_shares(human: Array, model: Array) -> SignShares:
    """Count how often replicates have the same and the reversed ranking.

    A replicate with a tie or an undefined value counts for neither, so the shares
    err on the low side.

    Args:
        human: Replicates × n systems, n at least 2; NaN where undefined.
        model: Replicates × n, or a single row of values that were not resampled.

    Returns:
        Shares of the replicates, from 0 to 1.

    Raises:
        ValueError: The shapes do not fit together, there is no replicate, there are fewer than two systems,
            or a value is infinite.

    Examples:
        >>> sign_shares(np.array([[1, 2], [2, 1], [1, 1.0]]), np.array([[5, 6.0]]))
        SignShares(same=0.3333333333333333, reversed=0.3333333333333333)
    """
    human, model = (
        read_values(values, name, "replicate", "system")
        for name, values in (("human", human), ("model", model))
    )
    if human.shape[0] < 1 or human.shape[1] < 2:
        raise ValueError(f"human must have at least 1 replicate of 2 systems, not shape {human.shape}")
    check_model_rows(human, model, "model")
    return compare_pair_signs(compute_pair_signs(human), compute_pair_signs(model))


def check_model_rows(human: Array, model: Array, name: str) -> None:
    """Raise ValueError for rows other than one per replicate, or a single one."""
    if model.shape not in (human.shape, (1, human.shape[1])):
        raise ValueError(
            f"{name} must have the shape of the human measure's replicates, {human.shape}, or a single row, "
            f"not shape {model.shape}"
        )


def compare_pair_signs(human: Array, model: Array) -> SignShares:
    """Return `sign_shares` of rows whose `compute_pair_signs` are known."""
    agreement = human * model
    return SignShares(*(float((side > 0).all(axis=1).mean()) for side in (agreement, -agreement)))


def desirability(
    sign: str, human_wanted: Direction, model_wanted: Direction
) -> Literal["desirable", "undesirable", ""]:
    """Say whether choosing a system by the score improves the human measure.

    Args:
        sign: As in `RankRelation`: "+", "-" or "".
        human_wanted: The better direction of the human measure; None if it has none.
        model_wanted: The same of the model score.

    Returns:
        "" if the sign is blank or either side has no wanted direction.

    Raises:
        ValueError: The sign or a direction is not one of these.

    Examples:
        >>> desirability("+", human_wanted="lower", model_wanted="higher")
        'undesirable'
    """
    check_choice(sign, SIGNS, "sign")
    check_choice(human_wanted, DIRECTIONS, "human_wanted")
    check_choice(model_wanted, DIRECTIONS, "model_wanted")
    if not sign or human_wanted is None or model_wanted is None:
        return ""
    good = (sign == "+") == (human_wanted == model_wanted)
    return "desirable" if good else "undesirable"


def check_paired_values(human: ArrayLike, model: ArrayLike) -> tuple[Array, Array]:
    """Return both sides as arrays; ValueError if they do not pair."""
    x, y = read_values(human, "human", "system"), read_values(model, "model", "system")
    for name, values in (("human", x), ("model", y)):
        if np.isnan(values).any():
            raise ValueError(f"{name} holds a value that is not finite")
    if len(x) != len(y):
        raise ValueError(f"human has {len(x)} systems, model has {len(y)}")
    if len(x) < 2:
        raise ValueError(f"a ranking needs at least 2 systems, not {len(x)}")
    return x, y


def settle_ties(values: Array) -> Array:
    """Round values relative to the largest (last axis) to settle ties."""
    largest = np.abs(values).max(axis=-1, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0) * TIE
    return np.round(values / scale) * scale


def compute_pair_signs(values: Array) -> Array:
    """Return the sign of each pair of systems, ties 0: rows × pairs."""
    first, second = np.triu_indices(values.shape[1], k=1)
    rounded = settle_ties(values)
    return np.sign(rounded[:, first] - rounded[:, second])
