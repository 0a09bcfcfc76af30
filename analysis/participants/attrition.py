"""Participant flow and tests of differential attrition between conditions.

If conditions lose different people, those who stay are no longer comparable.

References:
    1. Freeman and Halton (1951): exact test of a table, Fisher's test for two
       rows and more columns.
    2. Kruskal and Wallis (1952), with a permutation distribution.
    3. Phipson and Smyth (2010): a sampled p is never 0.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ..stats.arguments import read_values
from ..stats.arrays import Array, split_into_chunks
from .bundle import ModeFlow
from .study_version import Condition

MOST_TABLES = 500_000  # tables enumerated for an exact p
COUNTS = ("assigned", "started", "completed", "active", "withdrawn")  # of a flow
SAMPLED = 19_999
MOST_DRAWN = 200_000_000  # values drawn for a permutation p; larger studies take fewer permutations
FEWEST_SAMPLED = 999
ALPHA_NOTE = "A large p does not show that attrition is the same; with few losses nothing could be seen."


@dataclass(frozen=True)
class ConditionFlow:
    """Flow of one condition; without a flow in the bundle the counts are None.

    dropped_at: items submitted to people who did not complete, those still active among them.
    trials: submitted ones; hit: rule to trials hit (a trial may be hit by several); retained: trials left;
    contributing: participants with a retained trial. out: rule about participants to those that it hits;
    gone: participants whom any of these rules hits.
    """

    title: str
    assigned: int | None
    started: int | None
    completed: int | None
    active: int | None
    withdrawn: int | None
    dropped_at: dict[int, int]
    trials: int
    hit: dict[str, int]
    retained: int
    contributing: int
    out: dict[str, int] = field(default_factory=dict)
    gone: int = 0

    @property
    def excluded(self) -> int:
        """Trials hit by at least one rule."""
        return self.trials - self.retained


@dataclass(frozen=True)
class ParticipantFlow:
    """Flow from consent to retained trials.

    Attributes:
        consented: Number of people who consented; None if it is not recorded.
        conditions: Counts of each condition, or group of conditions, in order.
    """

    consented: int | None
    conditions: tuple[ConditionFlow, ...]


@dataclass(frozen=True)
class AttritionTest:
    """A test that conditions lose people alike.

    Attributes:
        question: The comparison, for readers.
        p: Two-sided; None if there is nothing to test, `reason` then says why.
        exact: True if all tables were enumerated; else permutations were sampled with the +1 correction.
        counts: Title of a condition to the number who were lost and the number of all.
        method: Name of the method.
        reason: Why nothing was tested; empty otherwise.
    """

    question: str
    p: float | None
    exact: bool
    counts: dict[str, tuple[int, int]]
    method: str
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The finding for people."""
        lost = ", ".join(f"{name} {hit} of {n}" for name, (hit, n) in self.counts.items())
        if self.p is None:
            counted = f": {lost}" if lost else ""
            return f"{self.question}{counted}. Not tested: {self.reason}."
        return f"{self.question}: {lost}; p = {self.p:.3g} ({self.method}). {ALPHA_NOTE}"


def participant_flow(
    conditions: Sequence[Condition],
    flow: ModeFlow | None,
    trials: pd.DataFrame,
    names: Sequence[tuple[str, ...]],
    rules: Sequence[str],
    groups: Mapping[str, Sequence[str]] | None = None,
    people: Mapping[str, tuple[str, ...]] | None = None,
) -> ParticipantFlow:
    """Count the flow of each condition, or of each group of conditions.

    A group has the conditions that the same participants saw.

    Args:
        conditions: Conditions of the version.
        flow: Recorded counts of the mode, by group; None if they are not recorded.
        trials: Submitted ones of those who count.
        names: The rules that hit each trial (`Exclusions.names`).
        rules: Names of all rules, in order.
        groups: Name of a group, as in the flow, to its conditions; each condition by itself if left out.
        people: By participant the rules about participants that hit them (`Exclusions.people`).

    Returns:
        Counts of participants and trials, in the order of the groups.

    Raises:
        ValueError: `names` has another length than `trials`.
    """
    if len(names) != len(trials):
        raise ValueError(f"names has {len(names)} entries for {len(trials)} trials")
    groups = groups or {condition.name: (condition.name,) for condition in conditions}
    titles = {condition.name: condition.title for condition in conditions}
    group_of = trials["condition"].map({name: group for group, own in groups.items() for name in own})
    counted = Counter(zip(group_of, names, strict=True))
    kept = np.array([not hits for hits in names], dtype=bool)
    left = trials["participant_id"][kept].groupby(group_of[kept]).nunique()
    hit = people or {}
    gone = {(group, who) for group, who in zip(group_of, trials["participant_id"], strict=True) if who in hit}
    flows = []
    for group, members in groups.items():
        own = {hits: n for (name, hits), n in counted.items() if name == group}
        counts = flow.conditions.get(group) if flow else None
        recorded: dict[str, Any] = {name: getattr(counts, name, None) for name in COUNTS}
        flows.append(
            ConditionFlow(
                title=" and ".join(titles[name] for name in members),
                **recorded,
                dropped_at=dict(sorted((int(k), n) for k, n in counts.dropped_at.items())) if counts else {},
                trials=sum(own.values()),
                hit={rule: sum(n for hits, n in own.items() if rule in hits) for rule in rules},
                retained=own.get((), 0),
                contributing=int(left.get(group, 0)),
                out=dict(Counter(rule for name, who in gone if name == group for rule in hit[who])),
                gone=sum(name == group for name, _who in gone),
            )
        )
    return ParticipantFlow(flow.consented if flow else None, tuple(flows))


def completion_test(
    flow: ParticipantFlow, *, rng: np.random.Generator, ongoing: bool = False
) -> AttritionTest:
    """Test whether conditions differ in the share of people who completed [1].

    Args:
        flow: Flow of each condition, from `participant_flow`.
        rng: Source of random tables, if they are too many to enumerate.
        ongoing: Leave out participants who are still active; else they count as lost.

    Returns:
        The test; without p, with the reason, if the flow is not recorded, fewer than two conditions have
        participants, or all or none of them completed.

    References:
        1. Freeman and Halton (1951). Note on an exact treatment of contingency.
    """
    question = "Assigned but not completed"
    counts: dict[str, tuple[int, int]] = {}
    for condition in flow.conditions:
        if condition.assigned is None or condition.completed is None or condition.active is None:
            reason = "the bundle holds no participant flow"
            return AttritionTest(question, None, False, {}, "", reason)
        n = condition.assigned - (condition.active if ongoing else 0)
        counts[condition.title] = (n - condition.completed, n)
    reason = _explain_untestable(counts)
    if reason:
        return AttritionTest(question, None, False, counts, "", reason)
    p, exact = freeman_halton([lost for lost, _ in counts.values()], [n for _, n in counts.values()], rng=rng)
    method = "Freeman-Halton, exact" if exact else f"Freeman-Halton, {SAMPLED} sampled tables"
    return AttritionTest(question, p, exact, counts, method)


def position_test(flow: ParticipantFlow, *, rng: np.random.Generator) -> AttritionTest:
    """Test whether dropouts differ between conditions in items submitted.

    Permutation of the people between conditions, Kruskal-Wallis statistic.

    Args:
        flow: Flow of each condition, from `participant_flow`.
        rng: Source of random permutations.

    Returns:
        The test; without p, with the reason, if fewer than two conditions lost anybody or all submitted the
        same number of items.
    """
    question = "Not completed, and compared by the items submitted before"
    groups, counts = {}, {}
    for condition in flow.conditions:
        left = np.repeat(list(condition.dropped_at.keys()), list(condition.dropped_at.values())).astype(float)
        groups[condition.title] = left
        counts[condition.title] = len(left), len(left) if condition.assigned is None else condition.assigned
    return _kruskal(question, groups, counts, rng)


def exclusion_test(shares: dict[str, Array], *, rng: np.random.Generator) -> AttritionTest:
    """Test whether conditions differ in the share of excluded trials.

    Permutation of participants, Kruskal-Wallis statistic: trials of one person are not independent, so trials
    are not what is permuted.

    Args:
        shares: Condition to one share per participant, from 0 to 1, shape (participants,).
        rng: Source of random permutations.

    Returns:
        The test; without p, with the reason, if fewer than two conditions have participants or all shares are
        the same.

    Raises:
        ValueError: A share is not from 0 to 1, or the shares of a condition have another shape.
    """
    groups = {
        name: read_values(values, f"shares of {name!r}", "participant") for name, values in shares.items()
    }
    for name, values in groups.items():
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"shares of {name!r} must be from 0 to 1")
    counts = {name: (int((values > 0).sum()), len(values)) for name, values in groups.items()}
    return _kruskal("Participants with excluded trials", groups, counts, rng)


def swapped_exclusion_test(shares: dict[str, Array], *, rng: np.random.Generator) -> AttritionTest:
    """Test excluded shares of conditions that the same participants saw.

    As `exclusion_test`, but conditions are swapped within participants. shares:
    condition to one share per participant, in one order, NaN without a trial;
    participants who lack one are left out. The statistic is the sum of squares of
    the conditions' sums, whose order over swaps is that of the spread of their
    means.
    """
    table = np.column_stack(list(shares.values()))
    table = table[~np.isnan(table).any(axis=1)]
    counts = {name: (int((own > 0).sum()), len(own)) for name, own in zip(shares, table.T, strict=True)}
    question = "Participants with excluded trials"
    if len(table) < 2 or (table == table[:, :1]).all():
        reason = "fewer than two participants saw all conditions" if len(table) < 2 else "no share differs"
        return AttritionTest(question, None, False, counts, "", reason)
    observed, extreme = (table.sum(axis=0) ** 2).sum(), 0
    number = min(SAMPLED, max(FEWEST_SAMPLED, MOST_DRAWN // table.size))
    for _ in range(number):
        drawn = rng.permuted(table, axis=1).sum(axis=0)
        extreme += (drawn**2).sum() >= observed * (1 - 1e-12)
    method = f"{number} random swaps of conditions within participants"
    return AttritionTest(question, (int(extreme) + 1) / (number + 1), False, counts, method)


def compute_excluded_shares(
    conditions: Sequence[Condition], trials: pd.DataFrame, names: Sequence[tuple[str, ...]]
) -> dict[str, Array]:
    """Compute the share of each participant's trials that any rule hits.

    Args:
        conditions: Conditions of the version.
        trials: Submitted ones of those who count.
        names: The rules that hit each trial (`Exclusions.names`).

    Returns:
        Title of each condition to one share per participant, from 0 to 1, shape (participants,).

    Raises:
        ValueError: `names` has another length than `trials`.
    """
    if len(names) != len(trials):
        raise ValueError(f"names has {len(names)} entries for {len(trials)} trials")
    hit = pd.Series([bool(n) for n in names], index=trials.index, dtype=float)
    own = hit.groupby([trials["condition"], trials["participant_id"]], sort=False).mean()
    shares = {str(name): group.to_numpy(float) for name, group in own.groupby(level=0)}
    return {condition.title: shares.get(condition.name, np.zeros(0)) for condition in conditions}


def freeman_halton(
    hits: Sequence[int], totals: Sequence[int], *, rng: np.random.Generator
) -> tuple[float, bool]:
    """Compute the p that all shares hits/totals are equal, and if it is exact.

    The sum of the probabilities, given the margins, of all tables no more probable
    than the observed one.
    """
    x, n = np.asarray(hits), np.asarray(totals)
    if x.shape != n.shape or len(n) < 2 or (x < 0).any() or (x > n).any():
        raise ValueError("hits must hold, for each of two or more totals, a count from 0 to that total")
    order = np.argsort(n)  # the largest condition is what the others leave
    x, n = x[order], n[order]
    observed = _log_probability(x[:, None], n)[0]
    if np.prod(n[:-1] + 1.0) <= MOST_TABLES:
        free = np.stack(np.meshgrid(*(np.arange(size + 1) for size in n[:-1]), indexing="ij")).reshape(
            len(n) - 1, -1
        )
        last = x.sum() - free.sum(axis=0)
        possible = (last >= 0) & (last <= n[-1])
        logs = _log_probability(np.vstack([free, last])[:, possible], n)
        extreme = logs <= observed + 1e-7
        return min(1.0, float(np.exp(logs[extreme]).sum())), True
    tables = rng.multivariate_hypergeometric(n, int(x.sum()), size=SAMPLED).T.astype(float)
    extreme = _log_probability(tables, n) <= observed + 1e-7
    return float((extreme.sum() + 1) / (SAMPLED + 1)), False


def _log_probability(tables: Array, totals: Array) -> Array:
    """Compute the log probability of hits (conditions × tables) given margins."""
    n = totals[:, None].astype(float)
    gammaln = scipy.special.gammaln
    ways = gammaln(n + 1) - gammaln(tables + 1) - gammaln(n - tables + 1)
    everybody, hits = float(totals.sum()), float(tables[:, 0].sum())
    return np.asarray(
        ways.sum(axis=0) - (gammaln(everybody + 1) - gammaln(hits + 1) - gammaln(everybody - hits + 1))
    )


def _kruskal(
    question: str, groups: dict[str, Array], counts: dict[str, tuple[int, int]], rng: np.random.Generator
) -> AttritionTest:
    filled = [values for values in groups.values() if len(values)]
    if len(filled) < 2:
        reason = "fewer than two conditions have anybody to compare"
        return AttritionTest(question, None, False, counts, "", reason)
    values = np.concatenate(filled)
    if (values == values[0]).all():
        return AttritionTest(question, None, False, counts, "", "all values are the same")
    ranks = scipy.stats.rankdata(values)
    ends = np.cumsum([len(group) for group in filled])[:-1]
    observed = _sum_squared_ranks(ranks[None], ends)[0]
    extreme = 0
    number = min(SAMPLED, max(FEWEST_SAMPLED, MOST_DRAWN // len(ranks)))
    for rows in split_into_chunks(number, 2_000_000 // len(ranks)):
        drawn = rng.permuted(np.tile(ranks, (rows.stop - rows.start, 1)), axis=1)
        extreme += int((_sum_squared_ranks(drawn, ends) >= observed * (1 - 1e-12)).sum())
    method = f"Kruskal-Wallis over {number} permutations of participants"
    return AttritionTest(question, (extreme + 1) / (number + 1), False, counts, method)


def _sum_squared_ranks(ranks: Array, ends: Array) -> Array:
    """Sum over groups the squared rank sums by size.

    This is Kruskal and Wallis's H up to constants.
    """
    parts = np.split(ranks, ends, axis=1)
    return np.asarray(sum(part.sum(axis=1) ** 2 / part.shape[1] for part in parts))


def _explain_untestable(counts: dict[str, tuple[int, int]]) -> str:
    if sum(n > 0 for _, n in counts.values()) < 2:
        return "fewer than two conditions have participants"
    lost, n = (sum(column) for column in zip(*counts.values(), strict=True))
    if lost == 0:
        return "nobody was lost"
    return "nobody completed" if lost == n else ""
