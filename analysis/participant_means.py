"""Means over participants of any statistic of one participant's trials, with two-way bootstrap intervals.

What learning and calibration share: each participant gives one value from the trials that count, participants
are averaged, and the interval comes from drawing participants and items anew (Owen 2007; see `resampling`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.estimates import over_participants
from analysis.grid import Array
from analysis.measures import ratio
from analysis.resampling import percentile_interval, resample

EVERYBODY = ""  # the condition of a mean over the participants of all conditions
METHOD = "mean over participants, 95 % percentile interval of a two-way bootstrap"
NO_VALUE = "no participant has the trials that it needs"
Statistic = Callable[[Array], Array]  # item weights, items by replicates, to participants by replicates


@dataclass(frozen=True)
class Part:
    """One condition as the source of statistics.

    participants, items: their numbers. values: from item weights (items × replicates) to each statistic's
    values, participants × replicates, NaN where a participant has none.
    """

    condition: str
    participants: int
    items: int
    values: Callable[[Array], dict[str, Array]]


@dataclass(frozen=True)
class ParticipantMean:
    """A mean over participants.

    value: None where nobody has one, then `reason` says why. interval: None below two participants or where
    more than one replicate in twenty is undefined. participants: with a value; undefined: without.
    """

    value: float | None
    interval: tuple[float, float] | None
    participants: int
    undefined: int
    method: str = METHOD
    reason: str = ""


@dataclass(frozen=True)
class ParticipantMeans:
    """All statistics in all conditions, and over everybody.

    table: (statistic, condition) to its mean; the condition `EVERYBODY` takes all participants.
    replicates: the same keys to the bootstrap replicates, shape (resamples,).
    """

    table: dict[tuple[str, str], ParticipantMean]
    replicates: dict[tuple[str, str], Array]

    def get(self, statistic: str, condition: str = EVERYBODY) -> ParticipantMean:
        """The mean of the statistic in the condition."""
        return self.table[statistic, condition]


def participant_means(parts: Sequence[Part], *, rng: np.random.Generator, resamples: int) -> ParticipantMeans:
    """Means of every statistic in every condition and over everybody.

    parts: one per condition, all over the same items. resamples: replicates, 0 for no intervals.

    Raises ValueError for no parts, unequal items, a condition name given twice or taken by `EVERYBODY`.
    """
    _check(parts, resamples)
    plain = [part.values(np.ones((part.items, 1))) for part in parts]
    keys = [(name, place) for name in plain[0] for place in (*(p.condition for p in parts), EVERYBODY)]
    replicates = {key: np.full(resamples, np.nan) for key in keys}
    done = 0
    for weights in resample(rng, [part.participants for part in parts], parts[0].items, resamples):
        found = [part.values(weights.items) for part in parts]
        rows = slice(done, done + weights.replicates)
        for name, place, values, people in _places(parts, found, weights.participants):
            replicates[name, place][rows] = over_participants(values, people)
        done += weights.replicates
    ones = [np.ones((part.participants, 1)) for part in parts]
    table = {
        (name, place): _mean(values[:, 0], replicates[name, place])
        for name, place, values, _ in _places(parts, plain, ones)
    }
    return ParticipantMeans(table, replicates)


def mean_of(values: Array) -> Statistic:
    """Each participant's mean over items, as a function of item weights; NaN without a value.

    values: participants × items, NaN where there is none.
    """
    filled, known = np.nan_to_num(values), (~np.isnan(values)).astype(float)
    return lambda item_weights: ratio(filled @ item_weights, known @ item_weights)


def slope_of(x: Array, y: Array) -> Statistic:
    """Each participant's least-squares slope of y on x, as a function of item weights.

    x, y: participants × items; a trial counts where both are known. NaN where x does not vary.
    """
    both = ~np.isnan(x) & ~np.isnan(y)
    known = both.astype(float)
    # From each participant's own mean, so that squares of large values do not swamp their differences.
    u = np.where(both, x, 0.0)
    u = np.where(both, u - ratio(u.sum(axis=1), known.sum(axis=1))[:, None], 0.0)
    v = np.where(both, y, 0.0)
    terms = (known, u, v, u * u, u * v)

    def slope(item_weights: Array) -> Array:
        n, su, sv, suu, suv = (term @ item_weights for term in terms)
        spread = n * suu - su**2
        return ratio(n * suv - su * sv, np.where(spread > 1e-9 * n * suu, spread, 0.0))

    return slope


def _check(parts: Sequence[Part], resamples: int) -> None:
    if not parts:
        raise ValueError("parts must hold at least one condition")
    if resamples < 0:
        raise ValueError(f"resamples must not be negative, as {resamples} is")
    names = [part.condition for part in parts]
    if len(set(names)) < len(names) or EVERYBODY in names:
        raise ValueError(f"parts need a name each, all different, not {names}")
    if len({part.items for part in parts}) > 1:
        raise ValueError("parts must be over the same items")


def _places(
    parts: Sequence[Part], found: Sequence[dict[str, Array]], people: Sequence[Array]
) -> Iterator[tuple[str, str, Array, Array]]:
    """Statistic, condition, values and participant weights; then the same for everybody."""
    everybody = np.concatenate(people)
    for name in found[0]:
        for part, values, weights in zip(parts, found, people, strict=True):
            yield name, part.condition, values[name], weights
        yield name, EVERYBODY, np.concatenate([values[name] for values in found]), everybody


def _mean(values: Array, replicates: Array) -> ParticipantMean:
    known = values[~np.isnan(values)]
    undefined = len(values) - len(known)
    if not len(known):
        return ParticipantMean(None, None, 0, undefined, reason=NO_VALUE)
    interval = percentile_interval(replicates) if len(known) > 1 else None
    return ParticipantMean(float(known.mean()), interval, len(known), undefined)
