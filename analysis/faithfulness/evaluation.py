"""Score and compare systems, given gold and outputs by program node.

The scores are those of `analysis.faithfulness.boxes` and `.spans`; this module
arranges plain data for them and gathers every table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..io.errors import AnalysisError
from ..stats.arguments import check_choice, check_count
from ..stats.bootstrap_sums import Quantity, Tally
from .boxes import AVERAGINGS, Averaging, BoxScores, score_boxes
from .compare import Comparison, permutation_test
from .examples import GoldExample, GoldModule, MatchError, OutputExample, OutputModule
from .spans import GoldSpans, SpanOutput, SpanScores, score_spans

Kind = Literal["boxes", "spans"]
Numbers = Sequence[float]


class UnknownModuleError(AnalysisError):
    """The gold has no such module."""


@dataclass(frozen=True)
class ItemOutputs:
    """Gold and outputs of one item.

    Attributes:
        id: Unique among the items.
        gold: By node of the program, the module and either its boxes per
            image (n × 4: left, top, right, bottom) or its token spans (n × 2,
            end exclusive).
        outputs: By node, the module and either a probability for each
            proposal, image after image, or the attention to each token.
        proposals: Proposed boxes per image, n × 4; none for spans.
    """

    id: str
    gold: Mapping[int, tuple[str, Sequence[Any]]]
    outputs: Mapping[int, tuple[str, Numbers]]
    proposals: Sequence[Sequence[Numbers]] = ()


@dataclass(frozen=True)
class Figure:
    """A score with its number of cases.

    Boxes have precision, recall and F1, spans a loss.

    Attributes:
        n: Number of cases.
        precision: Of boxes, in [0, 1].
        recall: Of boxes, in [0, 1].
        f1: Of boxes, in [0, 1].
        loss: Of spans, in nats.
        interval: Of F1 or of the loss; None without resamples.
    """

    n: int
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    loss: float | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class WorstItem:
    """An item with its F1 or loss, and the node that went most wrong.

    Attributes:
        id: ID of the item.
        score: Its overall F1, or its loss in nats.
        node: Index of the node in the program; None if no node was scored.
        module: Name of the node; None likewise.
        module_score: F1 or loss of the node; None likewise.
    """

    id: str
    score: float
    node: int | None
    module: str | None
    module_score: float | None


@dataclass(frozen=True)
class Evaluation:
    """Every score of a system.

    Attributes:
        figures: By averaging ("mean" for spans) and module.
        upper: The same for the most that the system's proposals allow; empty
            for spans.
        worst: From the worst item on.
    """

    figures: dict[str, dict[str, Figure]]
    upper: dict[str, dict[str, Figure]]
    worst: list[WorstItem]


def evaluate(
    kind: Kind, items: Sequence[ItemOutputs], *, most: int | None = None, resamples: int = 0, seed: int = 0
) -> Evaluation:
    """Score a system's modules in every averaging.

    Args:
        kind: Of the marks.
        items: At least one.
        most: Length of the list of worst items; None for all.
        resamples: Of the bootstrap over items; 0 gives no confidence intervals.
        seed: Of the bootstrap.

    Returns:
        Scores by averaging and module, and the worst items.

    Raises:
        MatchError: Gold and outputs of an item do not fit together.
        ValueError: `kind` is unknown, there are no items, or `most` or `resamples` is negative.

    Examples:
        >>> item = ItemOutputs("a", {0: ("find", [(1, 2)])}, {0: ("find", [0.5, 0.5])})
        >>> round(evaluate("spans", [item]).figures["mean"]["overall"].loss, 3)
        0.693
    """
    check_choice(kind, get_args(Kind), "kind")
    check_count(seed, 0, "seed")
    if not items:
        raise ValueError("items must hold at least one item, and is empty")
    if most is not None:
        check_count(most, 0, "most")
    rng = np.random.default_rng(seed)
    if kind == "spans":
        spans = score_span_items(items)
        losses = spans.intervals(rng=rng, resamples=resamples)
        return Evaluation(
            {"mean": _build_figures(spans.table(), losses)}, {}, _list_worst_spans(spans, items, most)
        )
    boxes = score_box_items(items)
    f1 = boxes.intervals(rng=rng, resamples=resamples)
    figures: dict[str, dict[str, Figure]] = {}
    upper: dict[str, dict[str, Figure]] = {}
    for averaging in AVERAGINGS:
        table = boxes.table(averaging)
        figures[averaging] = _build_figures(table, {name: f1[averaging, name] for name in table})
        upper[averaging] = _build_figures(boxes.table(averaging, upper=True), {})
    return Evaluation(figures, upper, _list_worst_boxes(boxes, most))


def compare_systems(
    kind: Kind,
    first: Sequence[ItemOutputs],
    second: Sequence[ItemOutputs],
    *,
    averaging: Averaging = "per_example",
    module: str = "overall",
    trials: int = 100_000,
    seed: int = 0,
) -> Comparison:
    """Test whether two systems differ in F1 (boxes) or loss (spans).

    Args:
        kind: Of the marks.
        first: Items of the first system.
        second: The same items, in the same order, of the second system.
        averaging: Of boxes; spans have one only.
        module: A type of module, or "overall".
        trials: Random swaps of the paired permutation test.
        seed: Of the swaps.

    Returns:
        Scores, their difference and p; F1 in [0, 1], losses in nats.

    Raises:
        MatchError: Gold and outputs of an item do not fit together.
        UnknownModuleError: The gold has no such module.
        ValueError: `kind` or `averaging` is unknown, `trials` is below 1, or a score is undefined.
    """
    check_choice(kind, get_args(Kind), "kind")
    check_count(seed, 0, "seed")
    sides = [_tally_items(kind, items, averaging) for items in (first, second)]
    if any(module not in tallies for tallies in sides):
        raise UnknownModuleError(f"{module}: no gold of this; there is {', '.join(sides[0])}")
    rng = np.random.default_rng(seed)
    return permutation_test(sides[0][module], sides[1][module], trials=trials, rng=rng)


def score_box_items(items: Sequence[ItemOutputs]) -> BoxScores:
    """Score boxes. Raises MatchError if gold and outputs do not fit."""
    gold = [
        GoldExample(
            item.id,
            tuple(
                GoldModule(index, module, tuple(map(_convert_boxes, images)))
                for index, (module, images) in item.gold.items()
            ),
        )
        for item in items
    ]
    outputs = [
        OutputExample(
            item.id,
            tuple(map(_convert_boxes, item.proposals)),
            tuple(
                OutputModule(index, module, np.array(probabilities, dtype=float))
                for index, (module, probabilities) in item.outputs.items()
            ),
        )
        for item in items
    ]
    return score_boxes(gold, outputs)


def score_span_items(items: Sequence[ItemOutputs]) -> SpanScores:
    """Score attentions. Raises MatchError if gold and outputs do not fit."""
    gold, outputs = [], {}
    for item in items:
        attentions = []
        for index, (module, _) in item.gold.items():
            if index not in item.outputs:
                field = f"step {index} ({module})"
                raise MatchError("the system has no output for this step", item.id, field)
            attentions.append((module, np.array([item.outputs[index][1]], dtype=float)))
        spans = [(module, np.array(own, np.int64).reshape(-1, 2)) for module, own in item.gold.values()]
        gold.append(GoldSpans(item.id, tuple(spans)))
        outputs[item.id] = SpanOutput(item.id, tuple(attentions))
    return score_spans(gold, outputs)


def _convert_boxes(listed: Sequence[Numbers]) -> Any:
    return np.array(listed, dtype=float).reshape(-1, 4)


def _tally_items(kind: Kind, items: Sequence[ItemOutputs], averaging: Averaging) -> Mapping[str, Tally]:
    return score_span_items(items).tallies if kind == "spans" else score_box_items(items).tallies(averaging)


def _build_figures(table: Mapping[str, Any], quantities: Mapping[str, Quantity]) -> dict[str, Figure]:
    bounds = {name: quantity.bounds for name, quantity in quantities.items()}
    return {name: Figure(**asdict(score), interval=bounds.get(name)) for name, score in table.items()}


def _list_worst_boxes(scores: BoxScores, most: int | None) -> list[WorstItem]:
    return [
        WorstItem(worst.id, worst.f1, *((node.index, node.module, node.f1) if node else (None, None, None)))
        for worst in scores.list_worst(most)
        for node in [worst.node]
    ]


def _list_worst_spans(scores: SpanScores, items: Sequence[ItemOutputs], most: int | None) -> list[WorstItem]:
    nodes = {item.id: list(item.gold) for item in items}
    return [
        WorstItem(
            worst.id,
            worst.loss,
            None if worst.place is None else nodes[worst.id][worst.place],
            worst.module,
            worst.module_loss,
        )
        for worst in scores.list_worst(most)
    ]
