"""Inter-annotator agreement per module, by depth, given agreed children.

Objects of two people are matched one-to-one
(`analysis.gold_agreement.matching`); a span is a box of one dimension, so that
its overlap is that of tokens. F1 pools the objects of all pairs of people,
2 · matched / (objects of both): nodes at which both mark nothing add nothing.
Krippendorff's alpha [1] treats every token of a node as a unit that each
person does or does not mark (nominal), and every node as a unit with a number
(interval). All confidence intervals are BCa, of one bootstrap over items.

References:
    1. Krippendorff (2004). Content Analysis, chapter 11.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..faithfulness.overlap import Index, ragged
from ..stats.arrays import Array, ratio
from ..stats.bootstrap_sums import Quantity, Tally, mean_of, quantities
from .items import Item, Kind, Layers, flatten
from .matching import Overlaps, matched, overlaps_of
from .tokens import covered, disagreement, merged

SAME = 0.5  # two objects are the same above this overlap
EXACT = 1 - 1e-9  # above it, they have the same borders
NOBODY = "nobody drew anything"
NO_PAIR = "no two people annotated the same node"
NO_MATCH = "no two objects overlap by more than one half"
NO_TOKENS = "no two people annotated the same node of a passage"
NO_VARIATION = "all values are the same, so chance agreement is complete"

Truth = NDArray[np.bool_]
Metrics = dict[str, Quantity]


class Group(NamedTuple):
    """A group of nodes that are measured together.

    All nodes, those of a module or depth, or those of a module (or of all) at
    whose children the two people agree.
    """

    by: Literal["all", "module", "depth", "given agreed children"]
    name: str


@dataclass(frozen=True)
class Parting:
    """The first node, bottom-up, at which two people differ on an item.

    node, module: None if they never differ.
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
    `overlap_f1` (a shared token is enough), `token_f1` and `token_alpha`. Both have `agreed`, the share of
    pairs of people and nodes with the same objects (all matched above 0.5) or the same value, and
    `count_alpha`, alpha of the numbers of objects, or of values. There is no alpha given agreed children, for
    that is a property of pairs. n: pairs of people × nodes, or nodes for alpha.
    """

    groups: Mapping[Group, Metrics]
    partings: tuple[Parting, ...]

    def first_parting_modules(self) -> dict[str | None, int]:
        """Count the modules at which people first part, most frequent first.

        None: they never part.
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

    Raises:
        ValueError: Objects are malformed; names item, annotator and node.
    """
    layers = flatten(items, kind)
    pairs = _pairs(items, layers, kind)
    tallies = {
        (group, name): tally
        for group, chosen, units in _groups(items, layers, pairs)
        for name, tally in _tallies(items, layers, pairs, chosen, units, kind)
    }
    groups: dict[Group, Metrics] = {}
    for (group, name), quantity in quantities(tallies, rng=rng, resamples=resamples, level=level).items():
        groups.setdefault(group, {})[name] = quantity
    return Agreement(groups, _partings(items, layers, pairs))


@dataclass(frozen=True)
class _Pairs:
    """Two people at a node each.

    item, unit: of the pair. drawn: objects of both together. sums: what a measure adds, numerator and
    denominator, by its name. agreed: whether they say the same. below: whether they agree at all children;
    False also where there is none to agree at.
    """

    item: Index
    unit: Index
    sums: dict[str, tuple[Array, Array]]
    agreed: Truth
    below: Truth


def _pairs(items: Sequence[Item], layers: Layers, kind: Kind) -> _Pairs:
    overlaps = overlaps_of(layers)
    size, size_ = layers.count[layers.first], layers.count[layers.second]
    same = matched(overlaps, SAME)
    hits = _per_pair(layers, overlaps, same)
    unit = layers.layer_unit[layers.first]
    valued = [(layers.valued[a], layers.valued[b]) for a, b in zip(layers.first, layers.second, strict=True)]
    equal = np.array([a == b for a, b in valued], dtype=bool)
    agreed = (hits == size) & (size == size_) & equal
    drawn = (size + size_).astype(float)
    sums: dict[str, tuple[Array, Array]] = {"agreed": (agreed.astype(float), np.ones(len(agreed)))}
    if kind == "boxes":
        sums["f1_50"] = 2 * hits, drawn
        sums["f1_75"] = 2 * _per_pair(layers, overlaps, matched(overlaps, 0.75)), drawn
        sums["mean_iou"] = _per_pair(layers, overlaps, same, overlaps.overlap), hits
    else:
        sums["exact_f1"] = 2 * _per_pair(layers, overlaps, matched(overlaps, EXACT)), drawn
        sums["overlap_f1"] = 2 * _per_pair(layers, overlaps, matched(overlaps, 0.0)), drawn
        sums["token_f1"] = _shared_tokens(layers)
    below = _agreed_below(items, layers, agreed)
    return _Pairs(layers.unit_item[unit], unit, sums, agreed, below)


def _per_pair(layers: Layers, overlaps: Overlaps, chosen: Truth, amount: Array | None = None) -> Array:
    """Count each pair's matched objects, or sum an amount over them."""
    weights = None if amount is None else amount[chosen]
    return np.bincount(overlaps.pair[chosen], weights, minlength=len(layers.first)).astype(float)


def _shared_tokens(layers: Layers) -> tuple[Array, Array]:
    """Return twice the tokens that both people of a pair marked, and all.

    All are those of either person, added.
    """
    starts, ends = layers.boxes[:, 0].astype(np.int64), layers.boxes[:, 2].astype(np.int64)
    owner = np.repeat(np.arange(len(layers.count)), layers.count)
    own = covered(owner, starts, ends, len(layers.count))
    both = own[layers.first] + own[layers.second]
    pair, place = (
        np.concatenate(parts)
        for parts in zip(
            *(ragged(layers.start[side], layers.count[side]) for side in (layers.first, layers.second)),
            strict=True,
        )
    )
    either = covered(pair, starts[place], ends[place], len(layers.first))
    return 2 * (both - either).astype(float), both.astype(float)


def _agreed_below(items: Sequence[Item], layers: Layers, agreed: Truth) -> Truth:
    """Test whether each pair agrees at every child that both annotated.

    A child without layers, such as one that only chooses an image, stands for its
    own children.
    """
    people = [
        (layers.annotator[a], layers.annotator[b]) for a, b in zip(layers.first, layers.second, strict=True)
    ]
    unit = layers.layer_unit[layers.first]
    places = list(zip(layers.unit_item[unit].tolist(), layers.unit_node[unit].tolist(), strict=True))
    agreed_at = {
        (item, items[item].nodes[order].index, *who): bool(said)
        for (item, order), who, said in zip(places, people, agreed, strict=True)
    }
    children = [{node.index: node.children for node in item.nodes} for item in items]

    def under(item: int, node: int, who: tuple[str, str]) -> list[bool]:
        answers: list[bool] = []
        for child in children[item].get(node, ()):
            answer = agreed_at.get((item, child, *who))
            answers += under(item, child, who) if answer is None else [answer]
        return answers

    below = [
        under(item, items[item].nodes[order].index, who)
        for (item, order), who in zip(places, people, strict=True)
    ]
    return np.array([bool(one) and all(one) for one in below], dtype=bool)


def _groups(
    items: Sequence[Item], layers: Layers, pairs: _Pairs
) -> Iterator[tuple[Group, Truth, Truth | None]]:
    """Yield groups with their pairs and units (None: not for this group)."""
    places = zip(layers.unit_item.tolist(), layers.unit_node.tolist(), strict=True)
    nodes = [items[item].nodes[order] for item, order in places]
    module = np.array([node.module for node in nodes], dtype=object)
    depth = np.array([node.depth for node in nodes], dtype=np.int64)
    everything = np.ones(len(nodes), dtype=bool)
    yield Group("all", "all"), everything[pairs.unit], everything
    for name in dict.fromkeys(module):
        yield Group("module", name), (module == name)[pairs.unit], module == name
    for level in np.unique(depth):
        yield Group("depth", str(level)), (depth == level)[pairs.unit], depth == level
    given: Literal["given agreed children"] = "given agreed children"
    yield Group(given, "all"), pairs.below, None
    for name in dict.fromkeys(module[pairs.unit[pairs.below]]):
        yield Group(given, name), pairs.below & (module == name)[pairs.unit], None


def _tallies(
    items: Sequence[Item], layers: Layers, pairs: _Pairs, chosen: Truth, units: Truth | None, kind: Kind
) -> Iterator[tuple[str, Tally]]:
    """Yield every measure of a group, as sums over items."""
    item, n = pairs.item[chosen], int(chosen.sum())
    for name, parts in pairs.sums.items():
        sums = np.stack(
            [np.bincount(item, part[chosen], minlength=len(items)) for part in parts], axis=1
        ).astype(float)
        reason = {"agreed": NO_PAIR, "mean_iou": NO_MATCH}.get(name, NOBODY)
        yield name, Tally(sums, mean_of, n, reason if n else NO_PAIR)
    if units is not None:
        yield "count_alpha", _count_alpha(items, layers, units)
        if kind == "spans":
            yield "token_alpha", _token_alpha(items, layers, units)


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


def _token_alpha(items: Sequence[Item], layers: Layers, units: Truth) -> Tally:
    """Build the sums of the alpha of marked tokens (nominal metric)."""
    raters = np.bincount(layers.layer_unit, minlength=len(units))
    paired = units & (raters >= 2)
    owner = np.repeat(np.arange(len(layers.count)), layers.count)
    kept = paired[layers.layer_unit[owner]]
    starts, ends = layers.boxes[:, 0].astype(np.int64), layers.boxes[:, 2].astype(np.int64)
    layer, start, end = merged(owner[kept], starts[kept], ends[kept])
    unit = layers.layer_unit[layer]
    apart = disagreement(unit, start, end, np.maximum(raters, 2))
    marked = np.bincount(unit, end - start, minlength=len(units))
    tokens = np.array([item.tokens for item in items], dtype=float)[layers.unit_item]
    parts = (apart, marked, raters * tokens - marked)
    item = layers.unit_item[paired]
    sums = [np.bincount(item, part[paired], minlength=len(items)) for part in parts]
    reason = NO_VARIATION if paired.any() else NO_TOKENS
    return Tally(np.stack(sums, axis=1), _binary_alpha, int(paired.sum()), reason)


def _binary_alpha(sums: Array) -> Array:
    apart, marked, unmarked = np.moveaxis(sums, -1, 0)
    return 1 - (marked + unmarked - 1) * ratio(apart, marked * unmarked)


def _partings(items: Sequence[Item], layers: Layers, pairs: _Pairs) -> tuple[Parting, ...]:
    """Find the first node, in order of work, at which each two people differ."""
    first_nodes: dict[tuple[int, str, str], int | None] = {}
    orders = layers.unit_node[pairs.unit].tolist()
    for pair, (item, order) in enumerate(zip(pairs.item.tolist(), orders, strict=True)):
        who = item, layers.annotator[layers.first[pair]], layers.annotator[layers.second[pair]]
        before = first_nodes.setdefault(who, None)
        if not pairs.agreed[pair] and (before is None or order < before):
            first_nodes[who] = order
    partings = []
    for (item, first, second), order in first_nodes.items():
        node = None if order is None else items[item].nodes[order]
        where = (node.index, node.module) if node else (None, None)
        partings.append(Parting(items[item].id, first, second, *where))
    return tuple(partings)
