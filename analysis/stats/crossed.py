"""Quasi-F test of conditions over crossed participants and items.

Other participants and other items would have given other means. The variance of
the means is that over participants plus that over items, less the residual,
which is in both. Without the items' part it is the test of these items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import scipy

from .arguments import check_finite, check_level
from .arrays import Array
from .effect_sizes import keep_positive
from .results import LEAST

TOO_FEW_ITEMS = f"at least {LEAST} items are needed to say how items differ"
NO_VARIATION = "the values do not vary within the conditions, so nothing says how participants differ"


@dataclass(frozen=True)
class Block:
    """Conditions that the same participants saw, or one condition.

    Attributes:
        values: Participants × conditions, all defined.
        influence: Participants × conditions × items: (items − 1) times what the
            value changes by when the item is left out, 0 for an item that was not
            shown [1]. For a mean of all items it is the trial less the mean.

    References:
        1. Efron and Stein (1981). The jackknife estimate of variance. Annals of
           Statistics 9: influence of an item on any statistic.
    """

    values: Array
    influence: Array


@dataclass(frozen=True)
class CrossedTest:
    """Means of conditions with the F test that they are alike.

    Attributes:
        means: One per condition, shape (conditions,), blocks in order.
        variance: Of the difference of two conditions; on average over the pairs if there are more.
        f: F, distributed with `freedom` if the conditions are alike.
        freedom: Degrees of freedom of numerator and denominator.
        p: Of the hypothesis that all conditions are alike; None without a test.
        reason: Why there is no test; empty otherwise.
    """

    means: Array
    variance: float = float("nan")
    f: float = float("nan")
    freedom: tuple[float, float] = (float("nan"), float("nan"))
    p: float | None = None
    reason: str = ""

    @property
    def estimate(self) -> float:
        """Second less first mean."""
        return float(self.means[1] - self.means[0])

    def interval(self, level: float) -> tuple[float, float]:
        """Return the t interval of `estimate`, which agrees with p.

        Args:
            level: Of the confidence interval.

        Returns:
            Lower and upper end, in the unit of the means; NaN without a test.

        Raises:
            ValueError: `level` does not lie between 0 and 1.
        """
        check_level(level)
        half = float(scipy.stats.t.ppf((1 + level) / 2, self.freedom[1])) * sqrt(self.variance)
        return self.estimate - half, self.estimate + half

    def p_beyond(self, bound: float, *, above: bool) -> float:
        """Return the one-sided p of a difference beyond a bound.

        Args:
            bound: A difference, in the unit of the means.
            above: True asks if the difference lies above the bound, False if it lies below.

        Returns:
            p of the t test, above 0; NaN without a test.

        Raises:
            ValueError: `bound` is not finite.
        """
        check_finite(bound, "bound")
        t = (self.estimate - bound) / sqrt(self.variance) * (1 if above else -1)
        return keep_positive(float(scipy.stats.t.sf(t, self.freedom[1])))


def crossed_test(blocks: Sequence[Block], *, items: bool) -> CrossedTest:
    """Test whether conditions have equal means.

    With the projection T on differences of conditions, F = m'Tm / tr(T V) for the
    means m and V = V_p + V_i − V_r: the covariance over participants, over items
    and of the residual. A component that is estimated as negative, tr(T V_p) or
    tr(T V_i) below tr(T V_r), counts as 0. In a full table this is the quasi-F
    MS_c / (MS_p + MS_ci − MS_r) [1, 2]; with two conditions and `items` False it is
    Welch's t, or Student's paired t, squared. Degrees of freedom: tr(T V)² /
    tr(T V T V) [4], and Satterthwaite's for the sum of the parts [3].

    Args:
        blocks: At least two conditions in all, over common items.
        items: Items are a sample too; without, the statement is about these items.

    Returns:
        The test; refused for fewer than two participants in a block, fewer than two
        items if they are a sample, and without any variation.

    Raises:
        ValueError: There are fewer than two conditions, the shapes of a block do not fit together, the blocks
            have different items, or a value is not finite.

    References:
        1. Cornfield and Tukey (1956). Average values of mean squares in factorials.
           Annals of Mathematical Statistics 27.
        2. Clark (1973). The language-as-fixed-effect fallacy. J. Verbal Learning and
           Verbal Behavior 12: quasi-F over participants and items.
        3. Satterthwaite (1946). An approximate distribution of estimates of variance
           components. Biometrics Bulletin 2.
        4. Brunner, Dette and Munk (1997). Box-type approximations in nonparametric
           factorial designs. JASA 92: traces for unlike variances.
    """
    _check_blocks(blocks)
    few = min(len(block.values) for block in blocks)
    if few < LEAST:
        reason = f"each condition needs at least {LEAST} participants with a defined value; there are {few}"
        return CrossedTest(np.array([]), reason=reason)
    means = np.concatenate([block.values.mean(axis=0) for block in blocks])
    if items and blocks[0].influence.shape[2] < LEAST:
        return CrossedTest(means, reason=TOO_FEW_ITEMS)
    parts = _build_random_parts(blocks) if items else _build_participant_parts(blocks)
    covariance = np.sum([part.sign * part.covariance for part in parts], axis=0)
    total = float(np.trace(covariance))
    if not total > 1e-14 * float((means**2).max()):
        return CrossedTest(means, reason=NO_VARIATION)
    spread = sum(float((part.covariance**2).sum()) / part.freedom for part in parts)
    upper = float(np.clip(total**2 / (covariance**2).sum(), 1, len(means) - 1))
    f = float(((means - means.mean()) ** 2).sum()) / total
    p = keep_positive(float(scipy.stats.f.sf(f, upper, total**2 / spread)))
    return CrossedTest(means, 2 * total / (len(means) - 1), f, (upper, total**2 / spread), p)


def _check_blocks(blocks: Sequence[Block]) -> None:
    for block in blocks:
        shapes = f"{block.values.shape} and {block.influence.shape}"
        if block.values.ndim != 2 or block.influence.shape[:-1] != block.values.shape:
            raise ValueError(
                "a block must have values of participants × conditions and influence of participants × "
                f"conditions × items, not {shapes}"
            )
        if not (np.isfinite(block.values).all() and np.isfinite(block.influence).all()):
            raise ValueError("a block holds a value or an influence that is not finite")
    if (conditions := sum(block.values.shape[1] for block in blocks)) < 2:
        raise ValueError(f"blocks must hold at least 2 conditions in all, not {conditions}")
    if len(items := {block.influence.shape[-1] for block in blocks}) > 1:
        raise ValueError(f"blocks must be over the same items, not {sorted(items)} items")


@dataclass(frozen=True)
class _Part:
    """A part of the covariance of the means, on differences of conditions."""

    covariance: Array
    freedom: int
    sign: int = 1

    @property
    def trace(self) -> float:
        return float(np.trace(self.covariance))


def _build_participant_parts(blocks: Sequence[Block]) -> list[_Part]:
    return [
        _Part(
            _project_on_contrasts(np.cov(block.values.T, ddof=1) / len(block.values), blocks, index),
            len(block.values) - 1,
        )
        for index, block in enumerate(blocks)
    ]


def _build_random_parts(blocks: Sequence[Block]) -> list[_Part]:
    """Return the parts with items as a sample, components below 0 left out.

    The parts of participants and of items each hold the residual, so that one of
    them stands alone if the other's component is 0. The sum is never below the part
    of the participants, which is that of the test of these items.
    """
    count = blocks[0].influence.shape[2]
    columns, residual = [], []
    for index, block in enumerate(blocks):
        own = block.influence - block.influence.mean(axis=2, keepdims=True)
        column = own.mean(axis=0)
        rest = own - column
        freedom = (len(own) - 1) * (count - 1)
        square = np.einsum("pci,pdi->cd", rest, rest) / freedom / (len(own) * count)
        residual.append(_Part(_project_on_contrasts(square, blocks, index), freedom, -1))
        columns.append(column)
    joined = np.concatenate(columns)
    people = _build_participant_parts(blocks)
    of_items = _Part(_project_on_contrasts(joined @ joined.T / (count - 1) / count), count - 1)
    left = sum(part.trace for part in residual)
    if of_items.trace <= left:
        return people
    return [of_items] if sum(part.trace for part in people) <= left else [*people, of_items, *residual]


def _project_on_contrasts(square: Array, blocks: Sequence[Block] = (), index: int = 0) -> Array:
    """Project a covariance of means, or of one block's, on their differences."""
    square = np.atleast_2d(square)
    if blocks:
        edges = np.cumsum([0, *(block.values.shape[1] for block in blocks)])
        whole = np.zeros((edges[-1], edges[-1]))
        own = slice(edges[index], edges[index + 1])
        whole[own, own] = square
        square = whole
    centred = square - square.mean(axis=0)
    return np.asarray(centred - centred.mean(axis=1, keepdims=True))
