"""How faithful systems' modules are to the current gold, and whether two systems differ.

The scores are those of `analysis.faithfulness`; here gold and outputs of a project are put side by side.
Equal subtrees share their gold, and a system may name the output of any of them for all.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from django.db.models import Count, Exists, OuterRef

from analysis.faithfulness.boxes import AVERAGINGS, Averaging, BoxScores, score_boxes
from analysis.faithfulness.compare import Comparison, permutation_test
from analysis.faithfulness.examples import (
    GoldExample,
    GoldModule,
    MatchError,
    OutputExample,
    OutputModule,
    is_scored,
)
from analysis.faithfulness.spans import GoldSpans, SpanOutput, SpanScores, score_spans
from analysis.programs import Program
from analysis.stats.bootstrap_sums import Quantity, Tally
from annotation.errors import Conflict, NotFound
from annotation.models import Gold, Project, SystemOutput
from annotation.operations import resolved
from annotation.parsed_items import document_of, program_of
from annotation.schemas import Box, Span

WORST = 50  # items, unless more are asked for


@dataclass(frozen=True)
class System:
    """A revision of a system: for how many items it has outputs, and how many of those have gold."""

    system: str
    revision: str
    items: int
    with_gold: int


@dataclass(frozen=True)
class Figure:
    """One score. Boxes have precision, recall and F1, spans a loss in nats; ``interval`` is of F1 or loss."""

    n: int
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    loss: float | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class WorstItem:
    """An item with its score and the step that went most wrong, if one has gold."""

    item_id: int
    item: str
    score: float
    node: int | None
    module: str | None
    module_score: float | None


@dataclass(frozen=True)
class Faithfulness:
    """A system against the current gold.

    figures: per averaging ("mean" for spans) and module. upper: the same for the most that the system's
    proposals allow; empty for spans. worst: from the worst item on. without_gold: outputs not scored.
    """

    system: str
    revision: str
    kind: Literal["boxes", "spans"]
    items: int
    without_gold: int
    figures: dict[str, dict[str, Figure]]
    upper: dict[str, dict[str, Figure]]
    worst: list[WorstItem]


def systems(project: Project) -> list[System]:
    """The systems with outputs in a project, by name and revision. One query."""
    gold = Gold.objects.filter(item=OuterRef("item"), current=True)
    rows = (
        SystemOutput.objects.filter(item__project=project)
        .annotate(has_gold=Exists(gold))
        .values("system", "revision", "has_gold")
        .annotate(items=Count("pk"))
        .order_by("system", "revision")
    )
    found: dict[tuple[str, str], System] = {}
    for row in rows:
        key = row["system"], row["revision"]
        before = found.get(key, System(*key, 0, 0))
        with_gold = before.with_gold + (row["items"] if row["has_gold"] else 0)
        found[key] = System(*key, before.items + row["items"], with_gold)
    return list(found.values())


def faithfulness(
    project: Project, system: str, revision: str, *, most: int = WORST, resamples: int = 0, seed: int = 0
) -> Faithfulness:
    """Score a system's modules in every averaging. ``resamples`` above 0 add bootstrap intervals over items.

    Raises NotFound when the system has no outputs for items with gold, Conflict when an output is missing
    for a step that gold has.
    """
    pairs = _pairs(project, system, revision)
    rng = np.random.default_rng(seed)
    every = SystemOutput.objects.filter(item__project=project, system=system, revision=revision).count()
    common: dict[str, Any] = {
        "system": system,
        "revision": revision,
        "items": len(pairs),
        "without_gold": every - len(pairs),
    }
    if project.kind == "boxes":
        boxes = _box_scores(pairs)
        return Faithfulness(
            kind="boxes",
            figures=_box_figures(boxes, _quantities(boxes.intervals, rng, resamples)),
            upper=_box_figures(boxes, {}, upper=True),
            worst=_worst_boxes(boxes, pairs, most),
            **common,
        )
    spans = _span_scores(pairs)
    return Faithfulness(
        kind="spans",
        figures=_span_figures(spans, _quantities(spans.intervals, rng, resamples)),
        upper={},
        worst=_worst_spans(spans, pairs, most),
        **common,
    )


def compare(
    project: Project,
    first: tuple[str, str],
    second: tuple[str, str],
    *,
    averaging: Averaging = "per_example",
    module: str = "overall",
    trials: int = 100_000,
    seed: int = 0,
) -> Comparison:
    """Test whether two systems differ in F1 (boxes) or loss (spans) on the items that both have outputs for.

    Raises NotFound when there is no such item, or no such module in the gold; Conflict as `faithfulness`.
    """
    one, other = _pairs(project, *first), _pairs(project, *second)
    both = one.keys() & other.keys()
    if not both:
        raise NotFound("the two systems have outputs for no common item with gold")
    sides = [{item: pairs[item] for item in pairs if item in both} for pairs in (one, other)]
    tallies = [_tallies(project, pairs, averaging) for pairs in sides]
    if any(module not in found for found in tallies):
        raise NotFound(f"{module}: no gold of this; there is {', '.join(tallies[0])}")
    rng = np.random.default_rng(seed)
    try:
        return permutation_test(tallies[0][module], tallies[1][module], trials=trials, rng=rng)
    except ValueError as error:  # a score that is undefined
        raise Conflict(str(error)) from error


class Pair(NamedTuple):
    """An item's gold by node, and the system's outputs by node."""

    item: str
    images: int
    gold: dict[int, tuple[str, list[Box | Span]]]
    proposals: list[Any]
    outputs: dict[int, dict[str, Any]]


def score_of_node(pair: Pair, index: int) -> float | None:
    """F1 of one node's boxes, all images together, or the loss of its attention; None where nothing scores.

    As in the tables: what has no gold, or is not scored, has none, nor has a step without an output.
    """
    if index not in pair.gold or index not in pair.outputs:
        return None
    module, drawn = pair.gold[index]
    alone = {0: pair._replace(gold={index: (module, drawn)}, outputs={index: pair.outputs[index]})}
    try:
        if pair.images:
            return _box_scores(alone).table("cumulative")["overall"].f1 if is_scored(module) else None
        return _span_scores(alone).table()["overall"].loss
    except Conflict:
        return None


def _pairs(project: Project, system: str, revision: str) -> dict[int, Pair]:
    """Gold beside outputs, by item id, in the order of the items. Raises NotFound where there is none."""
    found = SystemOutput.objects.filter(item__project=project, system=system, revision=revision)
    rows = found.select_related("item").defer("item__passage", "item__tokens", "item__extra", "item__text")
    gold = Gold.objects.filter(item__outputs__in=found, current=True)
    documents = dict(gold.values_list("item", "document"))
    pairs = {}
    for row in rows.order_by("item__position").iterator(chunk_size=500):
        if row.item_id in documents:
            program = program_of(row.item, project.kind)
            drawn = gold_by_node(program, documents[row.item_id])
            outputs = outputs_by_node(program, {one["index"]: one for one in row.modules})
            pairs[row.item_id] = Pair(
                row.item.external_id, len(row.item.images), drawn, row.proposals, outputs
            )
    if not pairs:
        raise NotFound(f"{system}@{revision} has outputs for no item with gold")
    return pairs


def gold_by_node(program: Program, stored: object) -> dict[int, tuple[str, list[Box | Span]]]:
    """The gold objects of every node that people draw at, equal subtrees alike."""
    drawn = resolved(document_of(stored), program)
    return {
        node.index: (node.module, drawn[program.representative[node.index]])
        for node in program.nodes
        if node.role != "compute" and program.representative[node.index] in drawn
    }


def outputs_by_node(program: Program, given: Mapping[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The outputs of every node; an output that is named at one of several equal subtrees is that of all."""
    shared = {program.representative[index]: output for index, output in given.items()}
    found = {}
    for node in program.nodes:
        output = given.get(node.index) or shared.get(program.representative[node.index])
        if output is not None:
            found[node.index] = output
    return found


def _box_scores(pairs: Mapping[int, Pair]) -> BoxScores:
    gold, outputs = [], {}
    for item, pair in pairs.items():
        name = str(item)
        nodes = (
            GoldModule(index, module, _boxes(drawn, pair.images))
            for index, (module, drawn) in pair.gold.items()
        )
        gold.append(GoldExample(name, tuple(node for node in nodes if is_scored(node.module))))
        outputs[name] = OutputExample(
            name,
            tuple(np.array(image, dtype=float).reshape(-1, 4) for image in pair.proposals),
            tuple(
                # What has no probabilities has none to give: no proposals, or a value instead.
                OutputModule(index, one["module"], np.array(one.get("probabilities", ()), dtype=float))
                for index, one in pair.outputs.items()
                if is_scored(one["module"]) and ("probabilities" in one or "value" not in one)
            ),
        )
    return _scored(lambda: score_boxes(gold, outputs), pairs)


def _boxes(drawn: list[Box | Span], images: int) -> tuple[Any, ...]:
    found: list[list[Any]] = [[] for _ in range(images)]
    for one in drawn:
        assert isinstance(one, Box)  # a project marks boxes or spans
        found[one.image].append(one.box)
    return tuple(np.array(boxes, dtype=float).reshape(-1, 4) for boxes in found)


def _span_scores(pairs: Mapping[int, Pair]) -> SpanScores:
    gold, outputs = [], {}
    for item, pair in pairs.items():
        name = str(item)
        gold.append(GoldSpans(name, tuple((module, _spans(drawn)) for module, drawn in pair.gold.values())))
        outputs[name] = SpanOutput(name, tuple(_attentions(pair)))
    return _scored(lambda: score_spans(gold, outputs), pairs)


def _spans(drawn: list[Box | Span]) -> Any:
    return np.array([one.tokens for one in drawn if isinstance(one, Span)], dtype=np.int64).reshape(-1, 2)


def _attentions(pair: Pair) -> Iterator[tuple[str, Any]]:
    for index, (module, _drawn) in pair.gold.items():
        output = pair.outputs.get(index)
        if output is None or "attention" not in output:
            raise Conflict(f"{pair.item}: step {index} ({module}): the system has no output for this step")
        yield module, np.array([output["attention"]], dtype=float)


def _scored(score: Callable[[], Any], pairs: Mapping[int, Pair]) -> Any:
    try:
        return score()
    except MatchError as error:
        where = f": {error.field}" if error.field else ""
        raise Conflict(f"{pairs[int(error.id)].item}{where}: {error.problem}") from error


def _tallies(project: Project, pairs: Mapping[int, Pair], averaging: Averaging) -> Mapping[str, Tally]:
    if project.kind == "boxes":
        return _box_scores(pairs).tallies(averaging)
    return _span_scores(pairs).tallies


def _quantities(
    intervals: Callable[..., Mapping[Any, Quantity]], rng: Any, resamples: int
) -> Mapping[Any, Quantity]:
    return intervals(rng=rng, resamples=resamples) if resamples else {}


def _box_figures(
    scores: BoxScores, intervals: Mapping[Any, Quantity], *, upper: bool = False
) -> dict[str, dict[str, Figure]]:
    return {
        way: {
            name: Figure(
                n=one.n,
                precision=one.precision,
                recall=one.recall,
                f1=one.f1,
                interval=_ends(intervals.get((way, name))),
            )
            for name, one in scores.table(way, upper=upper).items()
        }
        for way in AVERAGINGS
    }


def _span_figures(scores: SpanScores, intervals: Mapping[Any, Quantity]) -> dict[str, dict[str, Figure]]:
    rows = scores.table().items()
    return {
        "mean": {
            name: Figure(n=one.n, loss=one.loss, interval=_ends(intervals.get(name))) for name, one in rows
        }
    }


def _ends(quantity: Quantity | None) -> tuple[float, float] | None:
    if quantity is None or quantity.interval is None:
        return None
    return quantity.interval.low, quantity.interval.high


def _worst_boxes(scores: BoxScores, pairs: Mapping[int, Pair], most: int) -> list[WorstItem]:
    found = []
    for one in scores.worst(most):
        item, node = int(one.id), one.node
        step = (node.index, node.module, node.f1) if node else (None, None, None)
        found.append(WorstItem(item, pairs[item].item, one.f1, *step))
    return found


def _worst_spans(scores: SpanScores, pairs: Mapping[int, Pair], most: int) -> list[WorstItem]:
    found = []
    for one in scores.worst(most):
        item = int(one.id)
        node = None if one.place is None else list(pairs[item].gold)[one.place]
        found.append(WorstItem(item, pairs[item].item, one.loss, node, one.module, one.module_loss))
    return found
