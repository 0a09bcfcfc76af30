"""Inter-annotator agreement per module, depth and pair of people.

Drawn objects are measured apart from the numbers and truth values that follow
from them by computation: together they would raise every figure, because two
people who draw the same also count the same.

Objects of two people are matched one-to-one
(`analysis.gold_agreement.matching`); a span is a box of one dimension, so that
its overlap is that of tokens. F1 pools the objects of all pairs of people,
2 · matched / (objects of both): nodes at which both mark nothing add nothing.
Krippendorff's alpha [1] treats every token of a node as a unit that each
person does or does not mark (nominal), and every node as a unit with a number
(interval, ordinal, ratio); `chance` has the kappas beside it. All confidence
intervals are BCa, of one bootstrap over items.

References:
    1. Krippendorff (2004). Content Analysis, chapter 11.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..faithfulness.overlap import Index, list_range_members
from ..stats.arrays import Array, ratio
from ..stats.bootstrap_sums import Quantity, Tally, compute_mean, quantities
from .chance import alpha, cohen, fleiss
from .items import Item, Kind, Layers, flatten
from .matching import Overlaps, find_layer_overlaps, mark_best_matching
from .tokens import count_covered_tokens, merge_spans, sum_disagreement

SAME = 0.5  # two objects are the same above this overlap
EXACT = 1 - 1e-9  # above it, they have the same borders
NOBODY = "nobody drew anything"
NO_PAIR = "no two people annotated the same node"
NO_MATCH = "no two objects overlap by more than one half"
NO_TOKENS = "no two people annotated the same node of a passage"
MOST_PAIRS = 45  # of people that are shown: those of ten
NO_VARIATION = "all values are the same, so chance agreement is complete"

Truth = NDArray[np.bool_]
Metrics = dict[str, Quantity]
"""The measures of one group by name, such as `f1_50`, each with its confidence interval."""


class Group(NamedTuple):
    """A group of nodes that are measured together.

    All drawn nodes, all computed numbers or truth values, the nodes of a module, or of the drawn ones those
    of a depth, those (of a module or all) at whose children the two people agree, and those of two people.

    Attributes:
        by: Kind of group.
        name: The module, depth or pair of people; "all" for all modules; the kind itself if it has one group
            only.
    """

    by: Literal[
        "drawn nodes", "computed numbers", "computed truth values", "module", "depth",
        "given agreed children", "pair of people",
    ]  # fmt: skip
    name: str


DRAWN = Group("drawn nodes", "drawn nodes")
"""The group of all nodes at which people mark objects."""

NUMBERS = Group("computed numbers", "computed numbers")
"""The group of all nodes with a number as value; it exists only if there are such nodes."""

TRUTHS = Group("computed truth values", "computed truth values")
"""The group of all nodes with a truth value; it exists only if there are such nodes."""


@dataclass(frozen=True)
class Parting:
    """The first node, bottom-up, at which two people differ on an item.

    Attributes:
        item: ID of the item.
        first: One annotator.
        second: Another annotator.
        node: Index of the node; None if they never differ.
        module: Its module; None likewise.
    """

    item: str
    first: str
    second: str
    node: int | None
    module: str | None


@dataclass(frozen=True)
class Agreement:
    """All measures of all groups, and where every two people first differ.

    Measures of boxes are `f1_50` and `f1_75`, `mean_iou` (of objects matched above 0.5); of spans `exact_f1`,
    `overlap_f1` (a shared token is enough), `token_f1`, and `token_alpha`, `token_cohen` and `token_fleiss`
    of tokens that are marked or not. Both have `agreed`, the share of pairs of people and nodes with the same
    objects (all matched above 0.5) or the same value; `presence_…` of nodes with an object or none; and
    `count_…` of the numbers of objects, or of values: `count_alpha` takes them as intervals. Truth values
    have `truth_…`. Cohen's kappa of more than two people is the mean over pairs of them. Depths and agreed
    children have no measure beyond chance.

    Attributes:
        groups: The measures of each group of nodes; each has in `n` its pairs of people × nodes, or its nodes
            for alpha and Fleiss' kappa.
        partings: The first difference of every two people on every item.
    """

    groups: Mapping[Group, Metrics]
    partings: tuple[Parting, ...]

    def count_parting_modules(self) -> dict[str | None, int]:
        """Count the modules at which people first part, most frequent first.

        Returns:
            Pairs of people and items by module; None stands for those who never part.
        """
        names = [pair.module for pair in self.partings]
        return dict(
            sorted(((name, names.count(name)) for name in dict.fromkeys(names)), key=lambda pair: -pair[1])
        )


def agreement(
    items: Sequence[Item],
    kind: Kind,
    *,
    rng: np.random.Generator | None = None,
    resamples: int = 0,
    level: float = 0.95,
) -> Agreement:
    """Measure inter-annotator agreement about the objects of each node.

    Two people are compared at a node that both annotated; an item or node with one
    person adds nothing.

    Args:
        items: With the objects of several people.
        kind: "boxes" or "spans".
        rng: Needed with `resamples`.
        resamples: Of the bootstrap over items; 0 gives no confidence intervals.
        level: Of the confidence intervals.

    Returns:
        Measures by group of nodes, each with its interval, and the first difference of every two people.

    Raises:
        ValueError: Objects are malformed (the message names item, annotator and node), `kind` is unknown,
            `resamples` is negative or lacks an `rng`, or `level` does not lie between 0 and 1.
    """
    layers = flatten(items, kind)
    pairs = _compare_pairs(items, layers, kind)
    tallies = {
        (scope.group, name): tally
        for scope in _list_scopes(items, layers, pairs)
        for name, tally in _tally_measures(items, layers, pairs, scope, kind)
    }
    groups: dict[Group, Metrics] = {}
    for (group, name), quantity in quantities(tallies, rng=rng, resamples=resamples, level=level).items():
        groups.setdefault(group, {})[name] = quantity
    return Agreement(groups, _find_partings(items, layers, pairs))


@dataclass(frozen=True)
class _Pairs:
    """Two people at a node each.

    item, unit: of the pair. drawn: objects of both together. sums: what a measure adds, numerator and
    denominator, by its name. tables: both yes, only the first, only the second, both no, by what is asked.
    who: of each pair, the number of the two people in `people`. agreed: whether they say the same. below:
    whether they agree at all children; also False if there is none to agree at.
    """

    item: Index
    unit: Index
    sums: dict[str, tuple[Array, Array]]
    tables: dict[str, Array]
    who: Index
    people: tuple[tuple[str, str], ...]
    agreed: Truth
    below: Truth


def _compare_pairs(items: Sequence[Item], layers: Layers, kind: Kind) -> _Pairs:
    overlaps = find_layer_overlaps(layers)
    size, size_ = layers.count[layers.first], layers.count[layers.second]
    same = mark_best_matching(overlaps, SAME)
    hits = _sum_per_pair(layers, overlaps, same)
    unit = layers.layer_unit[layers.first]
    valued = [(layers.valued[a], layers.valued[b]) for a, b in zip(layers.first, layers.second, strict=True)]
    equal = np.array([a == b for a, b in valued], dtype=bool)
    agreed = (hits == size) & (size == size_) & equal
    drawn = (size + size_).astype(float)
    truth = layers.number > 0
    tables = {
        "presence": _cross_tabulate(size > 0, size_ > 0),
        "truth": _cross_tabulate(truth[layers.first], truth[layers.second]),
    }
    sums: dict[str, tuple[Array, Array]] = {"agreed": (agreed.astype(float), np.ones(len(agreed)))}
    if kind == "boxes":
        sums["f1_50"] = 2 * hits, drawn
        sums["f1_75"] = 2 * _sum_per_pair(layers, overlaps, mark_best_matching(overlaps, 0.75)), drawn
        sums["mean_iou"] = _sum_per_pair(layers, overlaps, same, overlaps.overlap), hits
    else:
        sums["exact_f1"] = 2 * _sum_per_pair(layers, overlaps, mark_best_matching(overlaps, EXACT)), drawn
        sums["overlap_f1"] = 2 * _sum_per_pair(layers, overlaps, mark_best_matching(overlaps, 0.0)), drawn
        own, own_, both = _count_marked_tokens(layers)
        sums["token_f1"] = 2 * both, own + own_
        tokens = np.array([item.tokens for item in items], dtype=float)[layers.unit_item[unit]]
        tables["token"] = np.stack([both, own - both, own_ - both, tokens - own - own_ + both], axis=1)
    named = [
        (layers.annotator[a], layers.annotator[b]) for a, b in zip(layers.first, layers.second, strict=True)
    ]
    below = _mark_agreed_below(items, layers, named, agreed)
    people = tuple(sorted(set(named)))
    number = {pair: index for index, pair in enumerate(people)}
    who = np.array([number[pair] for pair in named], dtype=np.int64)
    return _Pairs(layers.unit_item[unit], unit, sums, tables, who, people, agreed, below)


def _cross_tabulate(first: Truth, second: Truth) -> Array:
    """Return for each pair: both yes, only the first, only the second, none."""
    cells = [first & second, first & ~second, ~first & second, ~first & ~second]
    return np.stack(cells, axis=1).astype(float)


def _sum_per_pair(layers: Layers, overlaps: Overlaps, chosen: Truth, amount: Array | None = None) -> Array:
    """Count each pair's matched objects, or sum an amount over them."""
    weights = None if amount is None else amount[chosen]
    return np.bincount(overlaps.pair[chosen], weights, minlength=len(layers.first)).astype(float)


def _count_marked_tokens(layers: Layers) -> tuple[Array, Array, Array]:
    """Count the tokens that each person of a pair marked, and those both did."""
    starts, ends = layers.boxes[:, 0].astype(np.int64), layers.boxes[:, 2].astype(np.int64)
    owner = np.repeat(np.arange(len(layers.count)), layers.count)
    own = count_covered_tokens(owner, starts, ends, len(layers.count))
    pair, row = (
        np.concatenate(parts)
        for parts in zip(
            *(
                list_range_members(layers.start[side], layers.count[side])
                for side in (layers.first, layers.second)
            ),
            strict=True,
        )
    )
    either = count_covered_tokens(pair, starts[row], ends[row], len(layers.first))
    first, second = own[layers.first].astype(float), own[layers.second].astype(float)
    return first, second, first + second - either


def _mark_agreed_below(
    items: Sequence[Item], layers: Layers, people: Sequence[tuple[str, str]], agreed: Truth
) -> Truth:
    """Test whether each pair agrees at every child that both annotated.

    A child without layers, such as one that only chooses an image, stands for its
    own children.
    """
    unit = layers.layer_unit[layers.first]
    node_keys = list(zip(layers.unit_item[unit].tolist(), layers.unit_node[unit].tolist(), strict=True))
    agreed_at = {
        (item, items[item].nodes[order].index, *who): bool(said)
        for (item, order), who, said in zip(node_keys, people, agreed, strict=True)
    }
    children = [{node.index: node.children for node in item.nodes} for item in items]

    def list_answers_below(item: int, node: int, who: tuple[str, str]) -> list[bool]:
        answers: list[bool] = []
        for child in children[item].get(node, ()):
            answer = agreed_at.get((item, child, *who))
            answers += list_answers_below(item, child, who) if answer is None else [answer]
        return answers

    below = [
        list_answers_below(item, items[item].nodes[order].index, who)
        for (item, order), who in zip(node_keys, people, strict=True)
    ]
    return np.array([bool(answers) and all(answers) for answers in below], dtype=bool)


@dataclass(frozen=True)
class _Scope:
    """A group with its pairs and units.

    chance: the measures beyond chance that it has, by what is asked. metrics: alphas of numbers.
    """

    group: Group
    pairs: Truth
    units: Truth
    chance: tuple[str, ...] = ()
    metrics: tuple[Literal["interval", "ordinal", "ratio"], ...] = ()


def _list_scopes(items: Sequence[Item], layers: Layers, pairs: _Pairs) -> Iterator[_Scope]:
    """Yield every group that is measured."""
    node_keys = zip(layers.unit_item.tolist(), layers.unit_node.tolist(), strict=True)
    nodes = [items[item].nodes[order] for item, order in node_keys]
    module = np.array([node.module for node in nodes], dtype=object)
    depth = np.array([node.depth for node in nodes], dtype=np.int64)
    values = np.empty(len(nodes), dtype=object)  # a value of each unit, None if people draw
    for unit, given in zip(layers.layer_unit, layers.valued, strict=True):
        values[unit] = given if given is not None else values[unit]
    truth = np.array([isinstance(value, bool) for value in values], dtype=bool)
    drawn = np.array([value is None for value in values], dtype=bool)
    asked = ("presence", *(("token",) if "token" in pairs.tables else ()))
    at = pairs.unit
    yield _Scope(DRAWN, drawn[at], drawn, asked, ("interval", "ordinal", "ratio"))
    if (number := ~drawn & ~truth).any():
        yield _Scope(NUMBERS, number[at], number, (), ("interval", "ordinal", "ratio"))
    if truth.any():
        yield _Scope(TRUTHS, truth[at], truth, ("truth",))
    for name in dict.fromkeys(module):
        own = module == name
        if truth[own].any():
            yield _Scope(Group("module", name), own[at], own, ("truth",))
        else:
            yield _Scope(
                Group("module", name), own[at], own, asked if drawn[own].all() else (), ("interval",)
            )
    for level in np.unique(depth[drawn]):
        own = drawn & (depth == level)
        yield _Scope(Group("depth", str(level)), own[at], own, (), ("interval",))
    below, nothing = pairs.below & drawn[at], np.zeros(len(nodes), dtype=bool)
    yield _Scope(Group("given agreed children", "all"), below, nothing)
    for name in dict.fromkeys(module[at[below]]):
        yield _Scope(Group("given agreed children", name), below & (module == name)[at], nothing)
    yield from _list_people_scopes(pairs, drawn, asked)


def _list_people_scopes(pairs: _Pairs, drawn: Truth, asked: tuple[str, ...]) -> Iterator[_Scope]:
    """Yield the drawn nodes of the two people who share most, and so on."""
    shared = np.bincount(pairs.who[drawn[pairs.unit]], minlength=len(pairs.people))
    for who in np.argsort(-shared, kind="stable")[:MOST_PAIRS]:
        if shared[who]:
            own = (pairs.who == who) & drawn[pairs.unit]
            name = " – ".join(pairs.people[who])
            yield _Scope(Group("pair of people", name), own, np.zeros(len(drawn), dtype=bool), asked)


def _tally_measures(
    items: Sequence[Item], layers: Layers, pairs: _Pairs, scope: _Scope, kind: Kind
) -> Iterator[tuple[str, Tally]]:
    """Yield every measure of a group, as sums over items."""
    chosen, units = scope.pairs, scope.units
    item, n = pairs.item[chosen], int(chosen.sum())
    drawn = scope.group not in (NUMBERS, TRUTHS)
    for name, parts in pairs.sums.items():
        if name != "agreed" and not drawn:
            continue
        sums = np.stack(
            [np.bincount(item, part[chosen], minlength=len(items)) for part in parts], axis=1
        ).astype(float)
        reason = {"agreed": NO_PAIR, "mean_iou": NO_MATCH}.get(name, NOBODY)
        yield name, Tally(sums, compute_mean, n, reason if n else NO_PAIR)
    for name in scope.chance:
        reason = NO_VARIATION if n else NO_PAIR
        yield f"{name}_cohen", cohen(pairs.tables[name][chosen], item, pairs.who[chosen], len(items), reason)
        if units.any():
            counted = _count_tokens if name == "token" else _count_layers
            yield from _tally_beyond_chance(name, *counted(items, layers, units), layers, len(items))
    for metric in scope.metrics:
        if metric == "interval":
            yield "count_alpha", _count_alpha(items, layers, units)
            continue
        own = units[layers.layer_unit] & ~np.isnan(layers.number)
        values, unit = layers.number[own], layers.layer_unit[own]
        reason = NO_VARIATION if np.bincount(unit, minlength=1).max() > 1 else NO_PAIR
        yield f"count_alpha_{metric}", alpha(values, unit, layers.unit_item, len(items), metric, reason)


def _tally_beyond_chance(
    name: str, apart: Array, yes: Array, ratings: Array, raters: Index, layers: Layers, items: int
) -> Iterator[tuple[str, Tally]]:
    """Yield Krippendorff's alpha and Fleiss' kappa of yes and no.

    Of each unit with two raters or more (others have no ratings): the sum of c (m − c) / (m − 1) over what is
    rated, the number of yes, and of all ratings.
    """
    n = int((ratings > 0).sum())
    reason = NO_VARIATION if n else NO_TOKENS if name == "token" else NO_PAIR

    def sum_by_item(values: Array) -> Array:
        return np.bincount(layers.unit_item, values, minlength=items).astype(float)

    no = sum_by_item(ratings - yes)
    yield (
        f"{name}_alpha",
        Tally(np.stack([sum_by_item(apart), sum_by_item(yes), no], axis=1), _binary_alpha, n, reason),
    )
    m = np.maximum(raters, 2)
    rated = ratings / m
    yield (
        f"{name}_fleiss",
        fleiss(sum_by_item(rated - 2 * apart / m), sum_by_item(rated), sum_by_item(yes), no, n, reason),
    )


def _count_layers(items: Sequence[Item], layers: Layers, units: Truth) -> tuple[Array, Array, Array, Index]:
    """Count, for nodes with objects (or true ones) or without: see above."""
    raters = np.bincount(layers.layer_unit, minlength=len(units))
    paired = units & (raters >= 2)
    yes = np.bincount(layers.layer_unit, layers.number > 0, minlength=len(units)).astype(float) * paired
    ratings = (raters * paired).astype(float)
    return yes * (ratings - yes) / np.maximum(raters - 1, 1), yes, ratings, raters.astype(np.int64)


def _count_alpha(items: Sequence[Item], layers: Layers, units: Truth) -> Tally:
    """Build the sums of the alpha of numbers at nodes (interval metric)."""
    number, unit = layers.number, layers.layer_unit
    kept = units[unit] & ~np.isnan(number)
    m, total, squares = (
        np.bincount(unit[kept], number[kept] ** power, minlength=len(units)) for power in (0, 1, 2)
    )
    paired = m >= 2
    m, total, squares = m[paired], total[paired], squares[paired]
    within = 2 * (m * squares - total**2) / (m - 1)
    item = layers.unit_item[paired]
    sums = [np.bincount(item, part, minlength=len(items)) for part in (within, m, total, squares)]
    reason = NO_VARIATION if paired.any() else NO_PAIR
    return Tally(np.stack(sums, axis=1).astype(float), _interval_alpha, int(paired.sum()), reason)


def _interval_alpha(sums: Array) -> Array:
    within, n, total, squares = np.moveaxis(sums, -1, 0)
    among = 2 * (n * squares - total**2)
    return 1 - (n - 1) * ratio(within, np.where(among > 1e-9 * n * squares, among, 0.0))


def _count_tokens(items: Sequence[Item], layers: Layers, units: Truth) -> tuple[Array, Array, Array, Index]:
    """Count, for the tokens of nodes that are marked or not: see above."""
    raters = np.bincount(layers.layer_unit, minlength=len(units))
    paired = units & (raters >= 2)
    owner = np.repeat(np.arange(len(layers.count)), layers.count)
    kept = paired[layers.layer_unit[owner]]
    starts, ends = layers.boxes[:, 0].astype(np.int64), layers.boxes[:, 2].astype(np.int64)
    layer, start, end = merge_spans(owner[kept], starts[kept], ends[kept])
    unit = layers.layer_unit[layer]
    apart = sum_disagreement(unit, start, end, np.maximum(raters, 2))
    marked = np.bincount(unit, end - start, minlength=len(units)).astype(float)
    tokens = np.array([item.tokens for item in items], dtype=float)[layers.unit_item]
    return apart, marked, raters * tokens * paired, raters.astype(np.int64)


def _binary_alpha(sums: Array) -> Array:
    apart, marked, unmarked = np.moveaxis(sums, -1, 0)
    return 1 - (marked + unmarked - 1) * ratio(apart, marked * unmarked)


def _find_partings(items: Sequence[Item], layers: Layers, pairs: _Pairs) -> tuple[Parting, ...]:
    """Find the first node, in order of work, at which each two people differ."""
    first_nodes: dict[tuple[int, str, str], int | None] = {}
    orders = layers.unit_node[pairs.unit].tolist()
    for item, order, pair, agreed in zip(pairs.item.tolist(), orders, pairs.who, pairs.agreed, strict=True):
        who = item, *pairs.people[pair]
        before = first_nodes.setdefault(who, None)
        if not agreed and (before is None or order < before):
            first_nodes[who] = order
    partings = []
    for (item, first, second), order in first_nodes.items():
        node = None if order is None else items[item].nodes[order]
        where = (node.index, node.module) if node else (None, None)
        partings.append(Parting(items[item].id, first, second, *where))
    return tuple(partings)
