"""Score systems' modules against the current gold, and compare systems.

`analysis.faithfulness` computes the scores; here a project's gold and outputs
are put side by side. Equal subtrees share their gold, and a system may name
the output of any of them for all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from django.db.models import Count, Exists, OuterRef

from analysis.faithfulness.boxes import Averaging
from analysis.faithfulness.compare import Comparison
from analysis.faithfulness.evaluation import (
    Figure,
    ItemOutputs,
    Kind,
    UnknownModuleError,
    compare_systems,
    evaluate,
)
from analysis.faithfulness.examples import MatchError, is_scored
from analysis.programs import Program
from annotation.content.completeness import resolve_references
from annotation.content.schemas import Box, Span
from annotation.errors import Conflict, NotFound
from annotation.models import Annotation, Gold, Project, SystemOutput
from annotation.parsed_items import parse_document, parse_item_program
from foundation.messages import say

WORST_ITEMS = 50  # items, unless more are asked for
Result = TypeVar("Result")


@dataclass(frozen=True)
class System:
    """A revision of a system, with how many of its items have gold."""

    system: str
    revision: str
    items: int
    with_gold: int


@dataclass(frozen=True)
class WorstItem:
    """An item with its score, and the step with gold that went most wrong."""

    item_id: int
    item: str
    score: float
    node: int | None
    module: str | None
    module_score: float | None


@dataclass(frozen=True)
class Faithfulness:
    """A system against the current gold.

    Attributes:
        items: Number of items scored.
        without_gold: Number of outputs that are not scored.
        figures: By averaging ("mean" for spans) and module.
        upper: The same for the most that the system's proposals allow; empty
            for spans.
        worst: From the worst item on.
    """

    system: str
    revision: str
    kind: Kind
    items: int
    without_gold: int
    figures: dict[str, dict[str, Figure]]
    upper: dict[str, dict[str, Figure]]
    worst: list[WorstItem]


def list_systems_with_outputs(project: Project) -> list[System]:
    """List the systems with outputs, by name and revision. One query."""
    gold = Gold.objects.filter(item=OuterRef("item"), current=True)
    rows = (
        SystemOutput.objects.filter(item__project=project)
        .values("system", "revision")
        .annotate(items=Count("pk"), with_gold=Count("pk", filter=Exists(gold)))
        .order_by("system", "revision")
    )
    return [System(**row) for row in rows]


def list_outputs_in_use(project: Project) -> set[str]:
    """Return each ``system@revision`` that has to stay. Two queries.

    A run of this site made its outputs, or an annotator saw one.
    """
    runs = project.output_runs.values_list("system", "revision")
    annotations = Annotation.objects.filter(project=project).exclude(predictions_shown=[]).order_by()
    seen = annotations.values_list("predictions_shown", flat=True).distinct()
    return {f"{system}@{revision}" for system, revision in runs}.union(*seen)


def score_faithfulness(
    project: Project,
    system: str,
    revision: str,
    *,
    most: int = WORST_ITEMS,
    resamples: int = 0,
    seed: int = 0,
) -> Faithfulness:
    """Score a system's modules in every averaging.

    Args:
        project: Its kind decides what is scored.
        system: Name of the system.
        revision: Of the system.
        most: Length of the list of worst items.
        resamples: Of the bootstrap over items; 0 gives no confidence intervals.
        seed: Of the bootstrap.

    Raises:
        NotFound: The system has no outputs for items with gold.
        Conflict: An output is missing for a step that gold has.
    """
    pairs = _load_pairs(project, system, revision)
    every = SystemOutput.objects.filter(item__project=project, system=system, revision=revision).count()
    kind = _read_kind(project)
    items = _convert_pairs(kind, pairs.values())
    scores = _score_or_refuse(lambda: evaluate(kind, items, most=most, resamples=resamples, seed=seed))
    keys = {pair.item: key for key, pair in pairs.items()}
    return Faithfulness(
        system=system,
        revision=revision,
        kind=kind,
        items=len(pairs),
        without_gold=every - len(pairs),
        figures=scores.figures,
        upper=scores.upper,
        worst=[
            WorstItem(keys[worst.id], worst.id, worst.score, worst.node, worst.module, worst.module_score)
            for worst in scores.worst
        ],
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
    """Test whether two systems differ on the items that both have outputs for.

    The test is of F1 (boxes) or loss (spans); see `compare_systems`.

    Raises:
        NotFound: There is no such item, or no such module in the gold.
        Conflict: As in `faithfulness`, or a score is undefined.
    """
    sides = [_load_pairs(project, *system) for system in (first, second)]
    common = [key for key in sides[0] if key in sides[1]]
    if not common:
        raise NotFound(say("the two systems have outputs for no common item with gold"))
    kind = _read_kind(project)
    items = [_convert_pairs(kind, [pairs[key] for key in common]) for pairs in sides]
    try:
        return _score_or_refuse(
            lambda: compare_systems(
                kind,
                *items,
                averaging=averaging,
                module=module,
                trials=trials,
                seed=seed,
            )
        )
    except UnknownModuleError as error:
        raise NotFound(str(error)) from error
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
    """Score one node: F1 of its boxes in all images, or its attention's loss.

    None without gold or output, and for modules that are not scored, as in
    the tables.
    """
    if index not in pair.gold or index not in pair.outputs:
        return None
    kind: Kind = "boxes" if pair.images else "spans"
    if kind == "boxes" and not is_scored(pair.gold[index][0]):
        return None
    alone = pair._replace(gold={index: pair.gold[index]}, outputs={index: pair.outputs[index]})
    try:
        figures = _score_or_refuse(lambda: evaluate(kind, _convert_pairs(kind, [alone]))).figures
    except Conflict:
        return None
    return figures["cumulative"]["overall"].f1 if kind == "boxes" else figures["mean"]["overall"].loss


def _load_pairs(project: Project, system: str, revision: str) -> dict[int, Pair]:
    """Return gold beside outputs by item key, in the order of the items.

    Raises:
        NotFound: No item has both.
    """
    stored = SystemOutput.objects.filter(item__project=project, system=system, revision=revision)
    rows = stored.select_related("item").defer("item__passage", "item__tokens", "item__extra", "item__text")
    gold = Gold.objects.filter(item__outputs__in=stored, current=True)
    documents = dict(gold.values_list("item", "document"))
    pairs = {}
    for row in rows.order_by("item__position").iterator(chunk_size=500):
        if row.item_id in documents:
            program = parse_item_program(row.item, project.kind)
            drawn = map_gold_to_nodes(program, documents[row.item_id])
            outputs = map_outputs_to_nodes(program, {output["index"]: output for output in row.modules})
            pairs[row.item_id] = Pair(
                row.item.external_id, len(row.item.images), drawn, row.proposals, outputs
            )
    if not pairs:
        raise NotFound(say("%(system)s has outputs for no item with gold", system=f"{system}@{revision}"))
    return pairs


def map_gold_to_nodes(program: Program, stored: object) -> dict[int, tuple[str, list[Box | Span]]]:
    """Return the gold of every node that people mark, equal subtrees alike."""
    drawn = resolve_references(parse_document(stored), program)
    return {
        node.index: (node.module, drawn[program.representative[node.index]])
        for node in program.nodes
        if node.role != "compute" and program.representative[node.index] in drawn
    }


def map_outputs_to_nodes(program: Program, given: Mapping[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the outputs of every node.

    An output that is named at one of several equal subtrees is that of all.
    """
    shared = {program.representative[index]: output for index, output in given.items()}
    by_node = {}
    for node in program.nodes:
        output = given.get(node.index) or shared.get(program.representative[node.index])
        if output is not None:
            by_node[node.index] = output
    return by_node


def _read_kind(project: Project) -> Kind:
    return "boxes" if project.kind == "boxes" else "spans"


def _convert_pairs(kind: Kind, pairs: Iterable[Pair]) -> list[ItemOutputs]:
    return [
        ItemOutputs(
            id=pair.item,
            gold={
                index: (module, _list_marks(kind, drawn, pair.images))
                for index, (module, drawn) in pair.gold.items()
            },
            outputs=dict(_list_scorable_outputs(kind, pair.outputs)),
            proposals=pair.proposals,
        )
        for pair in pairs
    ]


def _list_marks(kind: Kind, drawn: list[Box | Span], images: int) -> list[Any]:
    """Return the boxes of each image, or the spans in tokens."""
    if kind == "spans":
        return [mark.tokens for mark in drawn if isinstance(mark, Span)]
    return [[mark.box for mark in drawn if isinstance(mark, Box) and mark.image == n] for n in range(images)]


def _list_scorable_outputs(
    kind: Kind, outputs: Mapping[int, dict[str, Any]]
) -> Iterator[tuple[int, tuple[str, Sequence[float]]]]:
    """Yield the outputs that can be scored, by node."""
    key = "probabilities" if kind == "boxes" else "attention"
    for index, output in outputs.items():
        # A box module without proposals has no probabilities; one that gives a value has none to score.
        if key in output or (kind == "boxes" and "value" not in output):
            yield index, (output["module"], output.get(key, ()))


def _score_or_refuse(score: Callable[[], Result]) -> Result:
    try:
        return score()
    except MatchError as error:
        where = f": {error.field}" if error.field else ""
        raise Conflict(f"{error.id}{where}: {error.problem}") from error
