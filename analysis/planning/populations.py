"""Populations that a power analysis draws from: pilot or assumed ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..participants.trial_grid import Grid
from ..stats.arguments import check_count, read_values
from ..stats.arrays import Array


class Population(Protocol):
    """A source of simulated participants."""

    def means(
        self, rng: np.random.Generator, effects: Array, participants: int, items: int, simulations: int
    ) -> Array:
        """Participants' means over items: simulations × conditions × participants."""


@dataclass(frozen=True)
class Pilot:
    """Participants like those of a pilot, whatever their condition.

    All values are in the unit of the measure. Built by `pilot`.

    Attributes:
        people: Distance of each pilot participant from the mean of their condition, without the noise of
            their own trials.
        residuals: Participants × items: the rest of a trial beside participant, item and condition; NaN
            without a trial.
    """

    people: Array
    residuals: Array

    def means(
        self, rng: np.random.Generator, effects: Array, participants: int, items: int, simulations: int
    ) -> Array:
        """Draw pilot participants and items, both with replacement.

        Args:
            rng: Source of random numbers.
            effects: Shift of each condition, shape (conditions,), in the unit of the measure.
            participants: Number per condition.
            items: Number that each participant sees.
            simulations: Number of simulated studies.

        Returns:
            Participants' means over items, shape (simulations, conditions, participants), in the unit of the
            measure.
        """
        size = (simulations, len(effects), participants)
        who = rng.integers(0, len(self.people), size)
        is_known = ~np.isnan(self.residuals)
        first = np.concatenate([[0], is_known.sum(axis=1).cumsum()])
        flat = self.residuals[is_known]
        counts = (first[1:] - first[:-1])[who]
        drawn = first[:-1][who][..., None] + (rng.random((*size, items)) * counts[..., None]).astype(int)
        return effects[:, None] + self.people[who] + flat[drawn].mean(axis=-1)


@dataclass(frozen=True)
class PilotValues:
    """Participants like those of a pilot, each with their own value.

    For measures that are no mean over trials, such as the better of two accuracies: a value cannot be drawn
    for another number of items than that of the pilot.

    Attributes:
        people: Distance of each pilot participant from the mean of their condition.
        items: Items of the pilot.
    """

    people: Array
    items: int

    def means(
        self, rng: np.random.Generator, effects: Array, participants: int, items: int, simulations: int
    ) -> Array:
        """Draw pilot participants with replacement.

        Args:
            rng: Source of random numbers.
            effects: Shift of each condition, shape (conditions,), in the unit of the measure.
            participants: Number per condition.
            items: Number of items of the pilot.
            simulations: Number of simulated studies.

        Returns:
            Participants' means over items, shape (simulations, conditions, participants), in the unit of the
            measure.

        Raises:
            ValueError: `items` is another number than that of the pilot.
        """
        if items != self.items:
            raise ValueError(f"this measure can only be planned with the {self.items} items of the pilot")
        who = rng.integers(0, len(self.people), (simulations, len(effects), participants))
        return np.asarray(effects[:, None] + self.people[who])


@dataclass(frozen=True)
class Assumed:
    """Participants by assumption: everything is normal around the mean.

    All values are in the unit of the measure.

    Attributes:
        participant_sd: Standard deviation between participants.
        item_sd: Standard deviation between items; it cancels while `same_items` says that all conditions show
            the same ones.
        residual_sd: Standard deviation of single trials beside that; None for a yes-or-no measure, whose
            trials vary by themselves.
        mean: Mean share of a yes-or-no measure, from 0 to 1; None for others. Shares are cut at 0 and 1,
            which shrinks effects there.
        same_items: All conditions show the same items.
        change: The measure is the change from one block of items to another of the same size. Participants
            keep their level, and effects are those of the second block.

    Raises:
        ValueError: A standard deviation is negative or not finite, not exactly one of `residual_sd` and
            `mean` is given, or `mean` is not from 0 to 1.
    """

    participant_sd: float
    item_sd: float = 0.0
    residual_sd: float | None = None
    mean: float | None = None
    same_items: bool = True
    change: bool = False

    def __post_init__(self) -> None:
        for name in ("participant_sd", "item_sd", "residual_sd"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a number of at least 0, not {value}")
        if (self.residual_sd is None) == (self.mean is None):
            raise ValueError("give either residual_sd, or the mean share of a yes-or-no measure")
        if self.mean is not None and not 0 <= self.mean <= 1:
            raise ValueError(f"mean must be a share from 0 to 1, not {self.mean}")

    def means(
        self, rng: np.random.Generator, effects: Array, participants: int, items: int, simulations: int
    ) -> Array:
        """Draw participants, items and trials from the assumed distributions.

        Args:
            rng: Source of random numbers.
            effects: Shift of each condition, shape (conditions,), in the unit of the measure.
            participants: Number per condition.
            items: Number that each participant sees.
            simulations: Number of simulated studies.

        Returns:
            Participants' means over items, shape (simulations, conditions, participants), in the unit of the
            measure.
        """
        draws = 1 if self.same_items else len(effects)
        shift = self._items(rng, (simulations, draws, 1, items))
        people = rng.normal(0, self.participant_sd, (simulations, len(effects), participants))
        after = self._block(rng, effects[:, None] + people, shift, items)
        if not self.change:
            return after
        return after - self._block(rng, people, self._items(rng, (simulations, draws, 1, items)), items)

    def _items(self, rng: np.random.Generator, size: tuple[int, ...]) -> Array:
        return rng.normal(0, self.item_sd, size) if self.item_sd else np.zeros(1)

    def _block(self, rng: np.random.Generator, level: Array, shift: Array, items: int) -> Array:
        """Draw participants' means over the items of a block."""
        if self.mean is None:
            noise = rng.normal(0, self.residual_sd or 0.0, level.shape) / np.sqrt(items)
            return np.asarray(level + shift.mean(axis=-1) + noise)
        if not self.item_sd:
            return rng.binomial(items, np.clip(self.mean + level, 0, 1)) / items
        shares = np.clip(self.mean + level[..., None] + shift, 0, 1)
        return (rng.random(shares.shape) < shares).mean(axis=-1)


def pilot(grids: Sequence[Grid], values: Callable[[Grid], Array]) -> Pilot:
    """Build a population from a pilot, without its effects of conditions.

    The variance of participants' means is corrected for the number of participants, and for the noise of
    their own trials, which is put back for the number of items of the planned study.

    Args:
        grids: One grid per condition.
        values: Measure per trial, participants × items, NaN if unknown, such as
            `lambda grid: grid.answers["correctness_rating"]` or log seconds.

    Returns:
        A population in the unit of the measure.

    Raises:
        ValueError: There is no condition, a condition has fewer than two participants, fewer than two items
            have a value, or nothing varies.
    """
    if not grids:
        raise ValueError("grids must hold at least one condition, and is empty")
    people, residuals = zip(*(_centre_condition(grid.condition, values(grid)) for grid in grids), strict=True)
    return Pilot(np.concatenate(people), np.concatenate(residuals))


def pilot_values(values: Sequence[Array], items: int) -> PilotValues:
    """Build a population from the participants' values of a pilot.

    Args:
        values: One array per condition, NaN where a participant has no value.
        items: Items of the pilot.

    Returns:
        A population in the unit of the values.

    Raises:
        ValueError: There is no condition, a condition has fewer than two values, an array has another shape
            or an infinite value, `items` is below 1, or nothing varies.

    Examples:
        >>> pilot_values([np.array([0.0, 1.0])], 8).people.round(2).tolist()
        [-0.71, 0.71]
    """
    check_count(items, 1, "items")
    if not len(values):
        raise ValueError("values must hold at least one condition, and is empty")
    people = []
    for group in (read_values(group, "values", "participant") for group in values):
        own = group[~np.isnan(group)]
        if len(own) < 2:
            raise ValueError("each condition of the pilot needs the values of two participants")
        # Drawing from n values would spread by a factor of (n-1)/n too little.
        people.append((own - own.mean()) * np.sqrt(len(own) / (len(own) - 1)))
    if not np.concatenate(people).any():
        raise ValueError("all values of the pilot are the same within its conditions")
    return PilotValues(np.concatenate(people), items)


def fit_normal_population(source: Pilot) -> Assumed:
    """Return normal participants with the pilot's spreads.

    Use them if the pilot is small: drawing from ten participants repeats their outliers. Compare both.

    Args:
        source: Population that `pilot` built.

    Returns:
        A population in the unit of the measure.
    """
    residuals = source.residuals[~np.isnan(source.residuals)]
    return Assumed(
        float(np.sqrt(np.mean(source.people**2))), residual_sd=float(np.sqrt(np.mean(residuals**2)))
    )


def _centre_condition(condition: str, values: Array) -> tuple[Array, Array]:
    """Return the distances and residuals of one condition, without noise."""
    values = values[:, (~np.isnan(values)).any(axis=0)]
    values = values[(~np.isnan(values)).any(axis=1)]
    people, items = values.shape
    if people < 2 or items < 2:
        raise ValueError(
            f"the pilot's condition {condition!r} needs values of two participants and two items"
        )
    own = np.nanmean(values, axis=1)
    distance = own - own.mean()
    residual = values - own[:, None]
    residual -= np.nanmean(residual, axis=0)
    residual -= np.nanmean(residual, axis=1, keepdims=True)
    is_known = ~np.isnan(residual)
    freedom = max(int(is_known.sum()) - people - items + 1, 1)
    residual *= np.sqrt(is_known.sum() / freedom)
    noise = np.nanvar(residual) * (1 / is_known.sum(axis=1)).mean()
    spread = distance.var(ddof=1)
    if spread == 0 and noise == 0:
        raise ValueError(f"all values of the pilot's condition {condition!r} are the same")
    kept = np.sqrt(max(0.0, 1 - noise / spread)) if spread else 0.0
    return distance * np.sqrt(people / (people - 1)) * kept, residual
