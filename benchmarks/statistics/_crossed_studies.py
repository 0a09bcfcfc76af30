"""Simulated studies of crossed participants and items; tables of rates.

Shared by `benchmarks.statistics.coverage` and what it measures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.models.trial_model import Trials
from analysis.participants.trial_grid import Grid
from analysis.stats.arrays import Array

LEAST, MOST, FEW = 0.93, 0.06, 8
Interval = tuple[float, float] | None


class Size(NamedTuple):
    """Participants in each condition, and items."""

    people: int
    items: int


@dataclass(frozen=True)
class Rate:
    """Frequency of an event. undefined: studies that gave none."""

    label: str
    size: Size
    hits: int
    studies: int
    undefined: int

    @property
    def share(self) -> float:
        """Return the share of studies."""
        return self.hits / self.studies if self.studies else float("nan")

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the Wilson confidence interval of the share."""
        low, high = proportion_confint(self.hits, self.studies, method="wilson")
        return float(low), float(high)


class World:
    """Items of one study; makes conditions over them.

    own_item_sd: how much an item's effects differ by condition, which other items would not have.
    """

    def __init__(self, rng: np.random.Generator, items: int, own_item_sd: float = 0.0) -> None:
        self.rng, self.items, self.own_item_sd = rng, items, own_item_sd
        self.believable, self.length, self.clear = rng.normal(0, (0.8, 0.3, 0.4), (items, 3)).T
        self.hard = rng.random(items)

    def condition(self, people: int, name: str = "a", shift: float = 0.0) -> Grid:
        """Simulate a condition with people of its own.

        `shift` raises the log odds of "correct" and slows participants down.
        """
        return self._grid(name, self._draw_people(people), shift, np.ones((people, self.items), dtype=bool))

    def simulate_within(self, people: int, names: Sequence[str], shift: float = 0.0) -> list[Grid]:
        """Simulate conditions that all see, each with a share of the items.

        Items are rotated over conditions; people differ in what a condition does to them. `shift` is the last
        condition's.
        """
        base, count = self._draw_people(people), len(names)
        turn = np.add.outer(np.arange(people), np.argsort(self.rng.random(self.items))) % count
        return [
            self._grid(
                name,
                base + self.rng.normal(0, 0.3, base.shape) * np.array([1.0, 0.4, 1.0])[:, None, None],
                shift if index == count - 1 else 0.0,
                turn == index,
                shared=True,
            )
            for index, name in enumerate(names)
        ]

    def _draw_people(self, count: int) -> Array:
        """Draw trust, pace and certainty of people: 3 × people × 1."""
        return self.rng.normal(0, (0.7, 0.35, 0.6), (count, 3)).T[:, :, None]

    def _grid(
        self, name: str, people: Array, shift: float, present: np.ndarray, *, shared: bool = False
    ) -> Grid:
        rng, shape = self.rng, present.shape
        trust, pace, sure = people
        own = self.own_item_sd * rng.normal(0, (1.0, 0.4, 1.0, 0.4), (self.items, 4)).T
        correct = self.hard + own[3] < 0.6
        odds = 0.3 + shift + trust + self.believable + own[0] + np.where(correct, 0.8, -0.8)
        rated = rng.random(shape) < 1 / (1 + np.exp(-odds))
        right = rated == correct
        felt = 3.0 + sure + self.clear + own[2] + np.where(right, 0.3, -0.3) + rng.normal(0, 0.9, shape)
        log_time = 3.8 + 0.2 * shift + pace + self.length + own[1] + rng.normal(0, 0.4, shape)
        answers = {"correctness_rating": rated.astype(float), "certainty": np.clip(np.round(felt), 1, 5)}
        prefix = "p" if shared else name
        return Grid(
            condition=name,
            participants=tuple(f"{prefix}{index:05d}" for index in range(shape[0])),
            items=tuple(f"q{index:04d}" for index in range(self.items)),
            present=present,
            seconds=np.where(present, np.exp(log_time), np.nan),
            system_correct=np.where(present, correct, np.nan).astype(float),
            answers={key: np.where(present, values, np.nan) for key, values in answers.items()},
            post={},
            shared=shared,
        )


def build_trials(grids: Sequence[Grid], outcome: str, positions: Array | None = None) -> Trials:
    """Return the outcome's trials of these conditions.

    positions: Of each trial, participants of all conditions × items.
    """
    cells = [np.nonzero(grid.present) for grid in grids]
    values = [grid.seconds if outcome == "seconds" else grid.answers[outcome] for grid in grids]
    people = list(dict.fromkeys(name for grid in grids for name in grid.participants))
    codes = [np.array([people.index(name) for name in grid.participants]) for grid in grids]
    participant = np.concatenate([code[rows] for code, (rows, _) in zip(codes, cells, strict=True)])
    item = np.concatenate([columns for _, columns in cells])
    return Trials(
        outcome=np.concatenate([own[present] for own, present in zip(values, cells, strict=True)]),
        participant=participant,
        item=item,
        condition=np.repeat(np.arange(len(grids)), [len(rows) for rows, _ in cells]),
        position=None if positions is None else positions[participant, item],
        conditions=tuple(grid.condition for grid in grids),
    )


def is_bar_missed(rate: Rate, *, interval: bool, most: float = MOST) -> bool:
    """Return if the share is beyond the bar by more than chance."""
    if not rate.studies or rate.size.people < FEW:
        return False
    if interval:
        return bool(rate.hits < stats.binom.ppf(0.001, rate.studies, LEAST))
    return bool(rate.hits > stats.binom.ppf(0.999, rate.studies, most))


def format_rows(rates: Sequence[Rate], *, interval: bool) -> Iterator[str]:
    """Yield a Markdown table: a row per label, a column per size."""
    sizes = list(dict.fromkeys(rate.size for rate in rates))
    yield "| | " + " | ".join(f"{size.people} × {size.items}" for size in sizes) + " |"
    yield "|---|" + "---:|" * len(sizes)
    by_label_and_size = {(rate.label, rate.size): rate for rate in rates}
    for label in dict.fromkeys(rate.label for rate in rates):
        cells = [_format_cell(by_label_and_size.get((label, size)), interval=interval) for size in sizes]
        yield f"| {label} | " + " | ".join(cells) + " |"


def _format_cell(rate: Rate | None, *, interval: bool) -> str:
    if rate is None or not rate.studies:
        return "–"
    text = f"{100 * rate.share:.1f}"
    if is_bar_missed(rate, interval=interval):
        text = f"**{text}**"
    return f"{text} ({rate.studies})" if rate.undefined else text
