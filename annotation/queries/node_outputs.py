"""Show one model output node by node beside the gold, with scores.

Shapes come in units of an SVG, and the passage as pieces with a strength, so that templates only print.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from analysis.programs import Execution, Node, Program, Value, describe
from annotation.content.completeness import execute_document
from annotation.content.schemas import Box, Span
from annotation.models import Gold, Item, Project, SystemOutput
from annotation.parsed_items import parse_document, parse_item_program
from annotation.queries.annotations import describe_images
from annotation.queries.outputs import Pair, map_gold_to_nodes, map_outputs_to_nodes, score_of_node
from predictions.explanations.box_labels import Rectangle, place_labels

LIKELY = 0.5  # probability above which a proposal counts as output
WIDTH = 1000  # units of a drawing
LETTERS, LETTER, GAP = 28, 20, 8  # height of a label, width of one letter, and their distance from the box
STRENGTHS = ((0.7, 3), (0.4, 2), (0.1, 1))  # least share of the largest attention, and its strength


@dataclass(frozen=True)
class Drawn:
    """A box in an image 1000 units wide; its label begins at ``at``, ``base``.

    Gold has no label.
    """

    box: Rectangle
    label: str = ""
    at: int = 0
    base: int = 0


@dataclass(frozen=True)
class Picture:
    """An image with the boxes of a node. ``url`` is empty without a file."""

    name: str
    url: str
    high: int
    proposed: list[Drawn]
    gold: list[Drawn]


@dataclass(frozen=True)
class Words:
    """A piece of the passage: attention from 0 to 3, and if it is gold."""

    text: str
    strength: int
    is_gold: bool


@dataclass(frozen=True)
class Step:
    """A node: its output, the gold, both values, and the score if any.

    ``same_as`` is the number of an equal step whose output it shares. ``table`` lists proposals or tokens
    by falling probability or attention. ``values`` are those for the left and the right image if a node
    has no single one. ``score`` is F1 for boxes, and a loss in nats for spans.
    """

    number: int
    depth: int
    label: str
    value: Value | None
    values: list[Value]
    gold_value: Value | None
    gold_values: list[Value]
    has_output: bool
    same_as: int | None
    pictures: list[Picture]
    words: list[Words]
    table: list[tuple[str, float]]
    score: float | None


def describe_steps(output: SystemOutput, item: Item, project: Project) -> list[Step]:
    """Return every node of the item's program in pre-order, with its gold."""
    program = parse_item_program(item, project.kind)
    gold = Gold.objects.filter(item=item, current=True).first()
    drawn = map_gold_to_nodes(program, gold.document) if gold else {}
    ran = execute_document(parse_document(gold.document), program) if gold else None
    pair = Pair(
        item.external_id,
        len(item.images),
        drawn,
        output.proposals,
        map_outputs_to_nodes(program, {module["index"]: module for module in output.modules}),
    )
    shown = describe_images(project, item.images)
    return [_describe_step(node, program, item, pair, shown, ran) for node in program.nodes]


def _describe_step(
    node: Node,
    program: Program,
    item: Item,
    pair: Pair,
    shown: Sequence[dict[str, Any]],
    ran: Execution | None,
) -> Step:
    output = pair.outputs.get(node.index, {})
    gold = pair.gold[node.index][1] if node.index in pair.gold else None
    first = program.representative[node.index]
    probabilities, attention = output.get("probabilities", []), output.get("attention", [])
    return Step(
        number=node.index + 1,
        depth=node.depth,
        label=describe(node),
        value=_round_value(output.get("value")),
        values=[_round_value(value) for value in output.get("values", [])],
        gold_value=None if ran is None else ran.values[node.index],
        gold_values=_find_differing_values(ran, node.index),
        has_output=bool(output),
        same_as=None if first == node.index else first + 1,
        pictures=list(_build_pictures(shown, pair.proposals, probabilities, gold or []))
        if probabilities or (gold and shown)
        else [],
        words=cut_passage(
            item.passage, item.tokens, attention, [span for span in gold or [] if isinstance(span, Span)]
        )
        if item.passage and (attention or gold)
        else [],
        table=list(_rank_outputs(item, pair.proposals, probabilities, attention)),
        score=score_of_node(pair, node.index),
    )


def _find_differing_values(ran: Execution | None, index: int) -> list[Value]:
    """Return the values of a node's runs if they differ, all being known."""
    if ran is None or ran.values[index] is not None:
        return []
    values = [value for value in ran.runs[index] if value is not None]
    return values if len(values) == len(ran.runs[index]) else []


def _build_pictures(
    shown: Sequence[dict[str, Any]],
    proposals: Sequence[Sequence[Sequence[float]]],
    probabilities: Sequence[float],
    gold: Sequence[Box | Span],
) -> Iterator[Picture]:
    start = 0
    for index, image in enumerate(shown):
        high = round(WIDTH * (image["height"] or 3) / (image["width"] or 4))
        placed = proposals[index] if index < len(proposals) else []
        own = probabilities[start : start + len(placed)]
        proposed = _label_boxes(
            [
                (_build_rectangle(box, high), f"{number} · {p:.0%}")
                for number, (box, p) in enumerate(zip(placed, own, strict=False), start=start + 1)
                if p > LIKELY
            ],
            high,
        )
        start += len(placed)
        marked = [
            Drawn(_build_rectangle(shape.box, high))
            for shape in gold
            if isinstance(shape, Box) and shape.image == index
        ]
        yield Picture(image["name"], image["url"], high, proposed, marked)


def _build_rectangle(box: Sequence[float], high: int) -> Rectangle:
    left, top, right, bottom = box
    return Rectangle(
        round(WIDTH * left), round(high * top), round(WIDTH * (right - left)), round(high * (bottom - top))
    )


def _label_boxes(boxes: Sequence[tuple[Rectangle, str]], high: int) -> list[Drawn]:
    sizes = [(LETTER * len(label), LETTERS) for _box, label in boxes]
    labels = place_labels([box for box, _label in boxes], sizes, (WIDTH, high), gap=GAP)
    return [
        Drawn(box, label, label_box.x, label_box.y + label_box.height)
        for (box, label), label_box in zip(boxes, labels, strict=True)
    ]


def _round_value(value: Any) -> Any:
    """Round an expected value to two decimals, or to an integer if equal."""
    if not isinstance(value, float):
        return value
    near = round(value, 2)
    return int(near) if near.is_integer() else near


def cut_passage(
    passage: str, tokens: Sequence[Sequence[int]], attention: Sequence[float], gold: Iterable[Span]
) -> list[Words]:
    """Cut a passage where the attention changes, or gold begins or ends."""
    marks = [(0, False)] * len(passage)
    most = max(attention, default=0.0)
    for (start, end), weight in zip(tokens, attention, strict=False):
        marks[start:end] = [(compute_strength(weight, most), False)] * (end - start)
    for span in gold:
        start, end = span.span
        marks[start:end] = [(strength, True) for strength, _gold in marks[start:end]]
    runs = groupby(range(len(passage)), key=lambda at: marks[at])
    return [Words("".join(passage[at] for at in run), strength, is_gold) for (strength, is_gold), run in runs]


def compute_strength(weight: float, most: float) -> int:
    """Return 0 (hardly any) to 3, relative to the largest attention."""
    if most <= 0:
        return 0
    return next((strength for least, strength in STRENGTHS if weight / most >= least), 0)


def _rank_outputs(
    item: Item,
    proposals: Sequence[Sequence[Sequence[float]]],
    probabilities: Sequence[float],
    attention: Sequence[float],
) -> Iterator[tuple[str, float]]:
    """Yield the ten most likely proposals, or most attended words."""
    image_indices = [index for index, boxes in enumerate(proposals) for _box in boxes]
    named = [
        (f"{item.images[index]}: {number}", p)
        for number, (index, p) in enumerate(zip(image_indices, probabilities, strict=False), start=1)
        if index < len(item.images)
    ]
    named += [
        (item.passage[start:end], weight)
        for (start, end), weight in zip(item.tokens, attention, strict=False)
        if weight > 0
    ]
    yield from sorted(named, key=lambda row: -row[1])[:10]
