"""Pearson, Spearman and Kendall correlations of few systems.

References:
    1. Schuff et al. (2020), appendix H.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from .arguments import check_choice, read_values
from .arrays import Array
from .rank_agreement import check_model_rows, check_paired_values, compute_pair_signs, settle_ties

Coefficient = Literal["pearson", "spearman", "kendall"]
COEFFICIENTS: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")
LEAST_SYSTEMS = 2  # with two, every coefficient is +1 or -1 and only says which system is ahead
LEAST_FOR_P = 6  # systems: of fewer, hardly any order is extreme enough for a small p
MOST_FOR_ENUMERATION = 8  # 8! = 40,320 orders
SAMPLED_ORDERS = 19_999
REPLICATES = ("replicate", "system")  # the axes of replicates
REMEMBERED_VALUES = 128  # of rows that are transformed once; replicates have more


@dataclass(frozen=True)
class Correlation:
    """A correlation coefficient over n systems.

    Attributes:
        coefficient: "pearson", "spearman" or "kendall".
        n: Number of systems.
        value: From -1 to 1; None if undefined, `reason` then says why.
        interval: 95 %, see `region_interval`; None without replicates, or if too many are undefined.
        positive: Share of the replicates with a coefficient above 0, the direction probability.
        p: Two-sided, from permutations of the systems; None for fewer than 6 systems.
        p_method: "exact" for all orders (up to 8 systems), "sampled" for random ones with the +1 correction,
            "" without p.
        smallest_p: The smallest p that n systems without ties could ever reach.
        reason: Why the coefficient is undefined; empty otherwise.
    """

    coefficient: Coefficient
    n: int
    value: float | None
    interval: tuple[float, float] | None = None
    positive: float | None = None
    p: float | None = None
    p_method: Literal["exact", "sampled", ""] = ""
    smallest_p: float | None = None
    reason: str = ""


class Rows:
    """Values of n systems, rows × n, and what coefficients make of them.

    It is computed once.
    """

    def __init__(self, values: Array) -> None:
        self.values = values
        self._transformed: dict[Coefficient, Array] = {}

    def transform_for(self, coefficient: Coefficient) -> Array:
        """Return the rows whose cosines are the coefficient."""
        if coefficient not in self._transformed:
            values = self.values
            self._transformed[coefficient] = (
                _transform_rows(coefficient, values.tobytes(), values.shape)
                if values.size <= REMEMBERED_VALUES
                else TRANSFORMS[coefficient](values)
            )
        return self._transformed[coefficient]


def correlate_rows(coefficient: Coefficient, x: Rows, y: Rows) -> Array:
    """Compute a coefficient of paired rows; one side may have a single row."""
    return _cosine(x.transform_for(coefficient), y.transform_for(coefficient))


class Replicates(Rows):
    """Bootstrap replicates of a human measure, for all its correlations.

    Args:
        human: The measure itself, one value per system, shape (n,).
        replicates: The measure in each bootstrap replicate, replicates × n, NaN where undefined.

    Attributes:
        human: As given.
        values: The replicates.

    Raises:
        ValueError: The shapes do not fit together, or a value is infinite.
    """

    def __init__(self, human: ArrayLike, replicates: ArrayLike) -> None:
        self.human = read_values(human, "human", "system")
        values = read_values(replicates, "replicates", *REPLICATES)
        if values.shape[1] != len(self.human):
            raise ValueError(
                f"replicates must have the {len(self.human)} systems of human, not shape {values.shape}"
            )
        super().__init__(values)
        self._pulled: tuple[bytes, Rows] | None = None

    @cached_property
    def region(self) -> "Region | None":
        """The confidence region.

        None if more than one replicate in twenty is constant or undefined, or fewer than two are left.
        """
        centred = self.transform_for("pearson")
        defined = (centred != 0).any(axis=1) & ~np.isnan(centred).any(axis=1)
        if defined.sum() < 2 or defined.mean() < 0.95:
            return None
        return Region.from_replicates(self.human, self.values[defined])

    def pull_points(self, region: "Region", model: Array) -> Rows:
        """Return `Region.pull_points`, kept for the next coefficient of a score.

        Args:
            region: The confidence region.
            model: The model score, shape (n,).

        Returns:
            Points in the region, points × n.
        """
        key = model.tobytes()
        if self._pulled is None or self._pulled[0] != key:
            self._pulled = key, Rows(region.pull_points(model))
        return self._pulled[1]


@dataclass(frozen=True, eq=False)
class Region:
    """A confidence region of a human measure, see `region_interval`.

    Attributes:
        centre: The measure less its mean, shape (n,).
        inside: Replicates less their means that lie in the region, rows × n.
        inverse: Of the replicates' covariance, n × n.
        within: Projects on the directions in which the replicates vary, n × n.
        bound: Largest squared Mahalanobis distance from the centre.
        surface: Every replicate's direction, as far as the region reaches.
    """

    centre: Array
    inside: Array
    inverse: Array
    within: Array
    bound: float
    surface: Rows

    @classmethod
    def from_replicates(cls, human: Array, replicates: Array, level: float = 0.95) -> "Region":
        """Bound the region that holds the share `level` of the replicates."""
        centre = human - human.mean()
        apart = replicates - replicates.mean(axis=1, keepdims=True)
        spread = np.cov(apart, rowvar=False)
        inverse = np.linalg.pinv(spread, hermitian=True)
        distance = np.einsum("ri,ij,rj->r", apart - centre, inverse, apart - centre)
        bound = float(np.quantile(distance, level))
        scale = np.sqrt(bound / np.where(distance > 0, distance, 1.0))[:, None]
        surface = Rows(centre + (apart - centre) * scale)
        return cls(centre, apart[distance <= bound], inverse, spread @ inverse, bound, surface)

    def pull_points(self, model: Array) -> Array:
        """Move points to the model score's shape as far as the region reaches.

        This finds the region's extremes also where no replicate happens to lie.
        """
        shape = (model - model.mean()) / np.linalg.norm(model - model.mean())
        inside, inverse, away = self.inside, self.inverse, self.inside - self.centre
        move = ((inside @ shape)[:, None] * shape - inside) @ self.within
        squares = np.einsum("ri,ij,rj->r", move, inverse, move)
        mixed = np.einsum("ri,ij,rj->r", move, inverse, away)
        room = self.bound - np.einsum("ri,ij,rj->r", away, inverse, away)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = (np.sqrt(np.maximum(mixed**2 + squares * room, 0.0)) - mixed) / squares
        return np.asarray(inside + np.clip(np.nan_to_num(reach), 0.0, 1.0)[:, None] * move)


def correlate(
    human: ArrayLike,
    model: ArrayLike,
    coefficient: Coefficient,
    *,
    replicates: ArrayLike | Replicates | None = None,
    model_replicates: ArrayLike | Rows | None = None,
    rng: np.random.Generator | None = None,
) -> Correlation:
    """Correlate a human measure with a model score over n systems.

    Args:
        human: One finite value per system, shape (n,), n >= 2.
        model: The same systems' scores, shape (n,).
        coefficient: "pearson", "spearman" or "kendall" (tau-b [1]).
        replicates: The human measure in each bootstrap replicate, replicates × n,
            for the confidence interval. Scores stay fixed there: they come from a
            data set far larger than the study. `Replicates` of this measure share
            what its correlations with other scores need, too.
        model_replicates: The score in each of these replicates, or in a single row,
            for the direction probability; without it the score is as it is there too.
        rng: Needed above 8 systems, to sample orders.

    Returns:
        The coefficient, with a two-sided permutation p from 6 systems on: of all orders up to 8 systems, then
        of random ones, and never 0 [2].

    Raises:
        ValueError: The values or replicates do not pair, the coefficient is unknown, or an `rng` is missing.

    References:
        1. Kendall (1945). The treatment of ties in ranking problems.
        2. Phipson and Smyth (2010). Permutation p-values should never be zero.

    Examples:
        >>> correlate([1, 2, 3], [1, 2, 4], "spearman").value
        1.0
    """
    check_choice(coefficient, COEFFICIENTS, "coefficient")
    x, y = check_paired_values(human, model)
    n = len(x)
    measure, score = Rows(x[None]), Rows(y[None])
    for name, values in (("the human measure", measure), ("the model score", score)):
        if not values.transform_for("pearson").any():
            return Correlation(coefficient, n, None, reason=f"{name} is the same for all systems")
    value = float(correlate_rows(coefficient, measure, score)[0])
    interval = positive = None
    if replicates is not None:
        people = replicates if isinstance(replicates, Replicates) else Replicates(x, replicates)
        interval = region_interval(people, y, coefficient)
        drawn = _read_drawn_scores(model_replicates, people) if model_replicates is not None else score
        positive = _compute_positive_share(correlate_rows(coefficient, people, drawn))
    least = compute_smallest_p(n, coefficient)
    if n < LEAST_FOR_P:
        return Correlation(coefficient, n, value, interval, positive, smallest_p=least)
    p, method = _permutation_p(STATISTICS[coefficient], x, y, value, rng)
    return Correlation(coefficient, n, value, interval, positive, p, method, least)


def region_interval(
    replicates: Replicates, model: ArrayLike, coefficient: Coefficient
) -> tuple[float, float] | None:
    """Bound a correlation by a 95 % confidence region of the human measures.

    The region is the ellipsoid around the estimate that holds 95 % of the bootstrap
    replicates, by Mahalanobis distance of the systems' differences [1]; what holds
    for all systems together holds for any function of them [2]. The percentiles of
    the coefficient itself are not a confidence interval: noise pulls a correlation
    towards 0, in the replicates once more than in the estimate, so that with few
    participants they seldom hold a true value near 1 (`benchmarks.statistics.coverage`). This
    interval errs on the wide side.

    Args:
        replicates: Of the human measure of n systems.
        model: The model score, shape (n,), not the same for all systems.
        coefficient: "pearson", "spearman" or "kendall".

    Returns:
        Smallest and largest coefficient; None when more than one replicate in
        twenty is undefined.

    Raises:
        ValueError: The coefficient is unknown, or `model` has another shape than the measure, is not finite,
            or is the same for all systems.

    References:
        1. Yeh and Singh (1997). Balanced confidence regions based on Tukey's depth
           and the bootstrap.
        2. Scheffé (1953). A method for judging all contrasts.
    """
    check_choice(coefficient, COEFFICIENTS, "coefficient")
    model = check_paired_values(replicates.human, model)[1]
    if _is_constant(model[None]).all():
        raise ValueError(f"model must not be the same for all systems, {model[0]}")
    region, score = replicates.region, Rows(model[None])
    if region is None:
        return None
    values = np.concatenate(
        [
            correlate_rows(coefficient, points, score)
            for points in (region.surface, replicates.pull_points(region, model))
        ]
    )
    return float(np.nanmin(values)), float(np.nanmax(values))


def compute_smallest_p(n: int, coefficient: Coefficient) -> float:
    """Return the smallest two-sided permutation p that n systems could reach.

    Rank coefficients reach their extreme in two of the n! orders (the same and the reversed ranking),
    Pearson's r as a rule in one; with two systems both orders are extreme for every coefficient.
    """
    extreme = 1 if coefficient == "pearson" and n > LEAST_SYSTEMS else 2
    return extreme / math.factorial(n)


def pearson(x: Array, y: Array) -> Array:
    """Compute the product-moment correlation of paired rows.

    Both are rows × n; one of them may have a single row.
    """
    return correlate_rows("pearson", Rows(x), Rows(y))


def spearman(x: Array, y: Array) -> Array:
    """Compute Pearson's r of the ranks, ties with their mean rank."""
    return correlate_rows("spearman", Rows(x), Rows(y))


def kendall(x: Array, y: Array) -> Array:
    """Compute Kendall's tau-b: concordant minus discordant pairs over all.

    It is corrected for ties on either side.
    """
    return correlate_rows("kendall", Rows(x), Rows(y))


STATISTICS: dict[Coefficient, Callable[[Array, Array], Array]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


def _read_drawn_scores(values: ArrayLike | Rows, people: Replicates) -> Rows:
    drawn = values if isinstance(values, Rows) else Rows(read_values(values, "model_replicates", *REPLICATES))
    check_model_rows(people.values, drawn.values, "model_replicates")
    return drawn


def _compute_positive_share(values: Array) -> float | None:
    """Return the share above 0; None if one in twenty is undefined."""
    defined = values[~np.isnan(values)]
    return float((defined > 0).mean()) if len(defined) >= 0.95 * len(values) > 0 else None


def _centre_rows(values: Array) -> Array:
    """Subtract each row's mean; exactly 0 for a constant row."""
    return np.where(_is_constant(values), 0.0, values - values.mean(axis=1, keepdims=True))


def _is_constant(values: Array) -> NDArray[np.bool_]:
    """Test whether all values of a row are ties; rows × 1."""
    rounded = settle_ties(values)
    return (rounded == rounded[:, :1]).all(axis=1, keepdims=True)


def _cosine(x: Array, y: Array) -> Array:
    """Compute the cosine of paired rows, NaN for a row of 0 or with NaN."""
    norm = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(np.where(norm > 0, (x * y).sum(axis=1) / norm, np.nan), -1.0, 1.0)


def _rank_rows(values: Array) -> Array:
    return np.asarray(scipy.stats.rankdata(settle_ties(values), axis=1, nan_policy="propagate"))


TRANSFORMS: dict[Coefficient, Callable[[Array], Array]] = {
    "pearson": _centre_rows,
    "spearman": lambda values: _centre_rows(_rank_rows(values)),
    "kendall": compute_pair_signs,
}


@lru_cache(maxsize=4096)
def _transform_rows(coefficient: Coefficient, values: bytes, shape: tuple[int, ...]) -> Array:
    """Transform the rows of an estimate, which has many correlations."""
    transformed = TRANSFORMS[coefficient](np.frombuffer(values).reshape(shape))
    transformed.setflags(write=False)
    return transformed


@lru_cache(maxsize=4)
def list_orders(n: int) -> NDArray[np.intp]:
    """Return all orders of n systems, n! × n, the natural one first."""
    return np.array(list(permutations(range(n))))


def _permutation_p(
    statistic: Callable[[Array, Array], Array],
    x: Array,
    y: Array,
    value: float,
    rng: np.random.Generator | None,
) -> tuple[float, Literal["exact", "sampled"]]:
    """Compute the share of orders with a coefficient at least as far from 0."""
    n = len(x)
    if n <= MOST_FOR_ENUMERATION:
        extreme = np.abs(statistic(x[None], y[list_orders(n)])) >= abs(value) - 1e-9
        return float(extreme.mean()), "exact"
    if rng is None:
        raise ValueError(f"rng is needed to sample orders of {n} systems")
    orders = rng.permuted(np.tile(np.arange(n), (SAMPLED_ORDERS, 1)), axis=1)
    extreme = np.abs(statistic(x[None], y[orders])) >= abs(value) - 1e-9
    return float((extreme.sum() + 1) / (SAMPLED_ORDERS + 1)), "sampled"
