"""Count what people made of the suggestions of models, for each system."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef

from annotation.content.agreement import measure_likeness
from annotation.content.schemas import Document, Layer, Object, Relation
from annotation.models import Annotation, Project, SystemOutput
from annotation.parsed_items import (
    build_subject,
    get_kind,
    parse_item_program,
    read_visible_document,
    suggest_from_output,
)
from annotation.suggestions import Suggestions

MOST_ANNOTATIONS = 2_000  # of a project, the newest


@dataclass
class Acceptance:
    """The decisions of people on the suggestions of a system's revision.

    Attributes:
        shown: Number of finished annotations whose annotator saw its suggestions.
        suggested: Number of suggestions in those.
        accepted, changed, rejected: Numbers of them; the rest was left alone.
        with_shown: Mean agreement of the system with those annotations, from 0 to 1; None without any.
        blind: Number of finished annotations whose annotator did not see them.
        with_blind: Mean agreement with these.
    """

    system: str
    revision: str
    shown: int = 0
    suggested: int = 0
    accepted: int = 0
    changed: int = 0
    rejected: int = 0
    with_shown: float | None = None
    blind: int = 0
    with_blind: float | None = None
    scores: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []}, repr=False)

    @property
    def left(self) -> int:
        """The number of suggestions that nobody decided on."""
        return max(0, self.suggested - self.accepted - self.changed - self.rejected)

    @property
    def percent(self) -> int | None:
        """The share of suggestions that were accepted unchanged."""
        return round(100 * self.accepted / self.suggested) if self.suggested else None


def measure_acceptance(project: Project) -> list[Acceptance]:
    """Return what people made of each system's suggestions, by name.

    It covers the newest finished annotations of items with outputs.
    """
    rows = (
        project.annotations.filter(
            Exists(SystemOutput.objects.filter(item=OuterRef("item"))),
            task=Annotation.Task.ANNOTATION,
            status__in=Annotation.HANDED_IN,
        )
        .select_related("item")
        .order_by("-pk")[:MOST_ANNOTATIONS]
    )
    by_item: dict[int, list[Annotation]] = defaultdict(list)
    for annotation in rows:
        by_item[annotation.item_id].append(annotation)
    counts: dict[tuple[str, str], Acceptance] = {}
    outputs = SystemOutput.objects.filter(item__in=by_item).order_by("system", "revision")
    pairs = [(output, _build_suggestions(output, by_item[output.item_id][0], project)) for output in outputs]
    covered: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for output, own in pairs:
        covered[output.system, output.revision, by_item[output.item_id][0].item.program] |= own.keys()
    for output, own in pairs:
        key = (output.system, output.revision)
        nodes = covered[*key, by_item[output.item_id][0].item.program]
        if nodes:
            counted = counts.setdefault(key, Acceptance(*key))
            for annotation in by_item[output.item_id]:
                _count(counted, annotation, own, nodes, project)
    for counted in counts.values():
        counted.with_shown, counted.with_blind = _mean(counted.scores[True]), _mean(counted.scores[False])
    return list(counts.values())


def _build_suggestions(output: SystemOutput, annotation: Annotation, project: Project) -> Suggestions:
    item = annotation.item
    return suggest_from_output(
        output, parse_item_program(item, project.kind), build_subject(item, project.kind)
    )


def _count(
    counted: Acceptance, annotation: Annotation, own: Suggestions, nodes: set[int], project: Project
) -> None:
    name = f"{counted.system}@{counted.revision}"
    is_shown = name in annotation.predictions_shown
    layers = (annotation.document or {}).get("layers", {})
    if is_shown:
        counted.shown += 1
        counted.suggested += sum(len(several) for several in own.values())
        decided = _count_decisions(
            layers.values(), {suggestion["id"] for several in own.values() for suggestion in several}
        )
        counted.accepted += decided["accepted"]
        counted.changed += decided["changed"]
        counted.rejected += decided["rejected"]
    else:
        counted.blind += 1
    score = _compute_likeness(annotation, own, nodes, project)
    if score is not None:
        counted.scores[is_shown].append(score)


def _count_decisions(layers: Iterable[Mapping[str, Any]], ids: set[str]) -> Counter[str]:
    """Count the decisions of one person.

    An accepted object that was deleted counts as none.
    """
    decided: Counter[str] = Counter()
    for layer in layers:
        decided["rejected"] += len(ids & set(layer.get("rejected", ())))
        for object_ in layer.get("objects", ()):
            origin = object_.get("suggested")
            if origin and origin["id"] in ids:
                decided["changed" if origin.get("changed") else "accepted"] += 1
    return decided


def _compute_likeness(
    annotation: Annotation, own: Suggestions, nodes: set[int], project: Project
) -> float | None:
    """Return a system's agreement with a person at the nodes that it covers."""
    item, document = annotation.item, read_visible_document(annotation, project.kind)
    if document.problem is not None:
        return None
    objects = {
        node: [
            {name: value for name, value in suggestion.items() if name != "probability"}
            for suggestion in several
        ]
        for node, several in own.items()
    }
    theirs = {node: {"state": "done", "objects": objects.get(node, [])} for node in nodes}
    ours = Document(layers=_select_layers(document, nodes))
    return measure_likeness(
        parse_item_program(item, project.kind), Document.model_validate({"layers": theirs}), ours,
        item.tokens,
        get_kind(project),
    )  # fmt: skip


def _select_layers(document: Document, nodes: set[int]) -> dict[int, Layer]:
    """Return the layers of some nodes, without relations of marks at others."""
    layers = {node: layer for node, layer in document.layers.items() if node in nodes}
    ids = {object_.id for layer in layers.values() for object_ in layer.objects}
    if len(layers) == len(document.layers):
        return layers
    return {
        node: layer.model_copy(
            update={"objects": tuple(object_ for object_ in layer.objects if _has_all_ends(object_, ids))}
        )
        for node, layer in layers.items()
    }


def _has_all_ends(object_: Object, ids: set[str]) -> bool:
    return not isinstance(object_, Relation) or ids.issuperset(object_.ends)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
