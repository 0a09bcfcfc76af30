"""Multiverse analysis: rank table and correlations over choices.

A universe is one choice of each: which exclusion rules apply, whether trials are averaged within participants
first, within items first, or pooled, and by which mean completion times are summarised. Source: Steegen,
Tuerlinckx, Gelman and Vanpaemel 2016 (Increasing transparency through a multiverse analysis).

The trials are read once. Trials are summed per pattern of rules, so that the sums of any subset of rules are
sums over patterns; only medians look at trials again.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..participants.estimates import average_participants, explain_missing
from ..participants.measures import Measure
from ..participants.trial_grid import Grid, Sums, quantities
from ..stats.arrays import Array
from ..stats.correlations import kendall, pearson, spearman
from ..stats.rank_agreement import settle_ties
from .human_vs_model import Quantity

Aggregation = Literal["participants", "items", "pooled"]
AGGREGATIONS: tuple[Aggregation, ...] = ("participants", "items", "pooled")
TIME = "time"
TIME_SUMMARIES = {"time_mean": "mean", "time_median": "median", "time_geometric": "geometric mean"}
MOST_SUBSETS = 64
Bits = NDArray[np.int64]


@dataclass(frozen=True)
class Universe:
    """One human measure and one model score under one set of choices.

    Attributes:
        rules: Names of the rules that apply.
        aggregation: The way from trials to a value of the system.
        summary: Of completion times; "" for other measures.
        measure: Key of the human measure.
        score: Key of the model score.
        trials: Number of retained trials of the systems.
        values: The human measure by system, NaN where undefined; the fields below are then None.
        sign: "+" same ranking, "-" reversed, "" neither.
        tied: True if two systems have the same value.
        pearson: Pearson's r; None if either side is constant, as the next two.
        spearman: Spearman's rho.
        kendall: Kendall's tau-b.
    """

    rules: tuple[str, ...]
    aggregation: Aggregation
    summary: str
    measure: str
    score: str
    trials: int
    values: tuple[float, ...]
    sign: Literal["+", "-", ""] | None
    tied: bool | None
    pearson: float | None
    spearman: float | None
    kendall: float | None

    @property
    def defined(self) -> bool:
        """Return if the ranks have a relation."""
        return self.sign is not None


@dataclass(frozen=True)
class Stability:
    """One human measure (all summaries) and one score over all universes.

    Attributes:
        measure: Key of the human measure.
        score: Key of the model score.
        universes: Number of universes.
        undefined: Number of those without a value for every system.
        plus: Number of those with the same ranking.
        minus: Number of those with the reversed ranking.
        blank: Number of those with neither.
        reference: The universe of all rules, participants first, arithmetic mean.
        same_sign: Share of the defined universes with the sign of the reference.
        same_direction: Share with Pearson's r on its side of 0; None if the reference is undefined.
        pearson: Smallest and largest r.
    """

    measure: str
    score: str
    universes: int
    undefined: int
    plus: int
    minus: int
    blank: int
    reference: Universe
    same_sign: float | None
    same_direction: float | None
    pearson: tuple[float, float] | None


@dataclass(frozen=True)
class Multiverse:
    """All universes.

    Attributes:
        systems: Names, in the order of the values.
        rules: Names of all exclusion rules.
        complete: True if all subsets of the rules are in; else none, each, all but each, and all.
        universes: One per measure, score and set of choices.
        stability: One per measure and score.
        missing: Key of a measure to why it is in no universe.
    """

    systems: tuple[str, ...]
    rules: tuple[str, ...]
    complete: bool
    universes: tuple[Universe, ...]
    stability: tuple[Stability, ...]
    missing: dict[str, str]


def rule_hits(
    grids: Sequence[Grid], trials: pd.DataFrame, names: Sequence[tuple[str, ...]], rules: Sequence[str]
) -> list[Bits]:
    """Return which rules exclude each trial, as bits in the order of `rules`.

    Args:
        grids: Grids of conditions.
        trials: All submitted trials.
        names: Rules that exclude each trial (`Exclusions.names`).
        rules: Names of all rules.

    Returns:
        One array per grid, participants × items.

    Raises:
        ValueError: `names` has another length than `trials`, or a name is not among `rules`.
    """
    if len(names) != len(trials):
        raise ValueError(f"names has {len(names)} entries for {len(trials)} trials")
    if unknown := {name for hits in names for name in hits} - set(rules):
        raise ValueError(f"names must be among the rules, unlike {', '.join(sorted(unknown))}")
    bit_of = {rule: 1 << bit for bit, rule in enumerate(rules)}
    masks = {hits: sum(bit_of[rule] for rule in hits) for hits in set(names)}
    bits = np.array([masks[hits] for hits in names], dtype=np.int64)
    hits_by_grid = []
    for grid in grids:
        own = (trials["condition"] == grid.condition).to_numpy()
        rows = pd.Index(grid.participants).get_indexer(pd.Index(trials.loc[own, "participant_id"]))
        columns = pd.Index(grid.items).get_indexer(pd.Index(trials.loc[own, "item_id"]))
        spread = np.zeros(grid.present.shape, dtype=np.int64)
        spread[rows, columns] = bits[own]
        hits_by_grid.append(spread)
    return hits_by_grid


def multiverse(
    grids: Sequence[Grid],
    hits: Sequence[Bits],
    rules: Sequence[str],
    measures: Sequence[Measure],
    scores: Sequence[Quantity],
) -> Multiverse:
    """Compute every universe of every human measure with every model score.

    Args:
        grids: One per system, over all submitted trials, in the order of the scores' values.
        hits: The rules that exclude each trial; see `rule_hits`.
        rules: Names of all rules, in the order of the bits.
        measures: Human measures; those of the post survey are left out: no choice here touches them.
        scores: Model scores, one value per system, NaN where unknown.

    Returns:
        All universes, and how stable each relation is over them.

    Raises:
        ValueError: There are fewer than two systems, or arrays do not pair.
    """
    _check(grids, hits, rules, scores)
    subsets, complete = list_rule_subsets(len(rules))
    sources = [_Source(grid, bits) for grid, bits in zip(grids, hits, strict=True)]
    missing = {m.key: reason for m in measures if (reason := _explain_missing_in_grids(m, grids))}
    used = [m for m in measures if m.key not in missing]
    universes: list[Universe] = []
    choices = [(subset, aggregation) for subset in subsets for aggregation in AGGREGATIONS]
    values = _compute_values(sources, used, choices)
    trials = {subset: sum(source.trials(subset) for source in sources) for subset in subsets}
    named = {subset: tuple(name for bit, name in enumerate(rules) if subset >> bit & 1) for subset in subsets}
    for m, human in zip(used, values, strict=True):
        summary = TIME_SUMMARIES.get(m.key, "")
        family = TIME if summary else m.key
        for score in scores:
            relation = _relate(human, score.values)
            for (subset, aggregation), row, result in zip(choices, human, relation, strict=True):
                applied, left, own = named[subset], trials[subset], tuple(map(float, row))
                universes.append(
                    Universe(applied, aggregation, summary, family, score.key, left, own, *result)
                )
    pairs: dict[tuple[str, str], list[Universe]] = defaultdict(list)
    for universe in universes:
        pairs[universe.measure, universe.score].append(universe)
    stability = tuple(_compute_stability(group, len(rules)) for group in pairs.values())
    systems = tuple(grid.condition for grid in grids)
    return Multiverse(systems, tuple(rules), complete, tuple(universes), stability, missing)


def list_rule_subsets(count: int) -> tuple[list[int], bool]:
    """Subsets of the rules as bits, smallest first, and whether they are all.

    Examples:
        >>> list_rule_subsets(2)
        ([0, 1, 2, 3], True)
    """
    if 2**count <= MOST_SUBSETS:
        subsets = [
            sum(1 << bit for bit in c) for size in range(count + 1) for c in combinations(range(count), size)
        ]
        return subsets, True
    everything = 2**count - 1
    single = [1 << bit for bit in range(count)]
    return [0, *single, *(everything - mask for mask in reversed(single)), everything], False


class _Source:
    """One condition's sums by pattern of rules, and from them by subset."""

    def __init__(self, grid: Grid, bits: Bits) -> None:
        self.grid, self.bits = grid, bits
        arrays = quantities(grid)
        self.names = list(arrays)
        self.patterns = np.unique(bits[grid.present])
        masks = [(bits == pattern) & grid.present for pattern in self.patterns]
        self.by_person = [np.stack([(a * mask).sum(axis=1) for a in arrays.values()]) for mask in masks]
        self.by_item = [np.stack([(a * mask).sum(axis=0) for a in arrays.values()]) for mask in masks]
        self.counts = [int(mask.sum()) for mask in masks]

    def trials(self, subset: int) -> int:
        """Trials that no rule of the subset hits."""
        return sum(n for p, n in zip(self.patterns, self.counts, strict=True) if not p & subset)

    def sums(self, subset: int, aggregation: Aggregation, *, median: bool) -> Sums:
        """Sum the trials that the subset leaves, by unit of the aggregation."""
        parts = self.by_item if aggregation == "items" else self.by_person
        kept = [part for p, part in zip(self.patterns, parts, strict=True) if not p & subset]
        units = len(self.grid.items) if aggregation == "items" else len(self.grid.participants)
        total = np.sum(kept, axis=0) if kept else np.zeros((len(self.names), units))
        if aggregation == "pooled":
            total = total.sum(axis=1, keepdims=True)
        sums = {name: values[:, None] for name, values in zip(self.names, total, strict=True)}
        if median:
            sums["median_seconds"] = self._medians(subset, aggregation)[:, None]
        return sums

    def _medians(self, subset: int, aggregation: Aggregation) -> Array:
        kept = self.grid.present & (self.bits & subset == 0)
        times = np.where(kept, self.grid.seconds, np.nan)
        if aggregation == "pooled":
            times = times.reshape(1, -1)
        elif aggregation == "items":
            times = times.T
        medians = np.full(len(times), np.nan)
        some = (~np.isnan(times)).any(axis=1)
        medians[some] = np.nanmedian(times[some], axis=1)
        return medians


def _compute_values(
    sources: Sequence[_Source], measures: Sequence[Measure], choices: Sequence[tuple[int, Aggregation]]
) -> Array:
    """Compute the measures, as measures × choices × systems."""
    median = any(m.key == "time_median" for m in measures)
    measured = np.full((len(measures), len(choices), len(sources)), np.nan)
    for column, source in enumerate(sources):
        for row, (subset, aggregation) in enumerate(choices):
            sums = source.sums(subset, aggregation, median=median)
            for index, m in enumerate(measures):
                values = m.formula(sums)
                mean = average_participants(values, np.ones(values.shape), geometric=m.geometric)
                measured[index, row, column] = mean[0]
    return measured


def _explain_missing_in_grids(measure: Measure, grids: Sequence[Grid]) -> str:
    if not measure.counted:
        return "it is of the post survey, which no choice here touches"
    reasons = {grid.condition: explain_missing(measure, grid) for grid in grids}
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason)


# Sign, tied, Pearson, Spearman, Kendall.
_Found = tuple[Literal["+", "-", ""] | None, bool | None, float | None, float | None, float | None]


def _relate(human: Array, score: Array) -> list[_Found]:
    """Relate each row of the measure (choices × systems) to the score."""
    is_known = ~np.isnan(score)
    x, y = human[:, is_known], score[None, is_known]
    defined = ~np.isnan(x).any(axis=1)
    relations: list[_Found] = [(None, None, None, None, None)] * len(human)
    if is_known.sum() < 2 or not defined.any():
        return relations
    x = x[defined]
    r, rho, tau = (statistic(x, y) for statistic in (pearson, spearman, kendall))
    tied = _has_ties(x) | _has_ties(y)
    for index, row in enumerate(np.flatnonzero(defined)):
        same, reverse = rho[index] > 1 - 1e-9, rho[index] < -1 + 1e-9
        sign: Literal["+", "-", ""] = "" if tied[index] else "+" if same else "-" if reverse else ""
        linear, ranked, concordant = (
            None if np.isnan(values[index]) else float(values[index]) for values in (r, rho, tau)
        )
        relations[row] = (sign, bool(tied[index]), linear, ranked, concordant)
    return relations


def _has_ties(values: Array) -> NDArray[np.bool_]:
    return np.asarray((np.diff(np.sort(settle_ties(values), axis=1), axis=1) == 0).any(axis=1))


def _compute_stability(group: Sequence[Universe], rules: int) -> Stability:
    reference = next(
        u
        for u in group
        if len(u.rules) == rules and u.aggregation == "participants" and u.summary in ("", "mean")
    )
    defined = [u for u in group if u.defined]
    signs = [u.sign for u in defined]
    correlated = [u.pearson for u in defined if u.pearson is not None]
    direction = None
    if reference.pearson is not None:
        direction = float(np.mean([np.sign(r) == np.sign(reference.pearson) for r in correlated]))
    return Stability(
        measure=reference.measure,
        score=reference.score,
        universes=len(group),
        undefined=len(group) - len(defined),
        plus=signs.count("+"),
        minus=signs.count("-"),
        blank=signs.count(""),
        reference=reference,
        same_sign=signs.count(reference.sign) / len(signs) if reference.defined else None,
        same_direction=direction,
        pearson=(min(correlated), max(correlated)) if correlated else None,
    )


def _check(
    grids: Sequence[Grid], hits: Sequence[Bits], rules: Sequence[str], scores: Sequence[Quantity]
) -> None:
    if len(grids) < 2:
        raise ValueError(f"grids must hold at least 2 systems, not {len(grids)}")
    if [grid.present.shape for grid in grids] != [bits.shape for bits in hits]:
        raise ValueError("hits must hold one array per grid, participants × items")
    if any((bits < 0).any() or (bits >> len(rules)).any() for bits in hits):
        raise ValueError(f"hits name more rules than the {len(rules)} given")
    if any(len(score.values) != len(grids) for score in scores):
        raise ValueError("each score needs one value per grid")
