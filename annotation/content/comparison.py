"""Compare people's annotations of an item, step by step. No Django.

The objects of each step are in clusters, for agreement, review and adjudication. People go by letters, in
the order in which they began, so that reviewers need not know whose objects they see. Documents come without
their hidden layers (`annotation.content.completeness.drop_hidden_parts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from analysis.gold_agreement import (
    Cluster,
    Outline,
    box_clusters,
    ellipse_outline,
    span_clusters,
    split_tokens,
    units_between,
)
from analysis.programs import Program
from annotation.content.completeness import resolve_references
from annotation.content.label_programs import LabelProgram
from annotation.content.schemas import (
    Answer,
    Box,
    Chosen,
    Document,
    Ellipse,
    KeyPoint,
    Layer,
    Object,
    Polygon,
    Relation,
    Span,
)


def list_letters(number: int) -> list[str]:
    """Return the letters A, B, … Z, A2, B2 and so on."""
    return [ascii_uppercase[n % 26] + (str(n // 26 + 1) if n >= 26 else "") for n in range(number)]


@dataclass(frozen=True)
class Step:
    """One step of the program: everybody's layer, and clusters of objects."""

    node: int
    layers: Mapping[str, Layer]
    objects: Mapping[str, Sequence[Box | Span]]
    clusters: Sequence[Cluster[Any]]
    units: Sequence[tuple[int, int]] = ()

    def middle(
        self, cluster: Cluster[Any], tokens: Sequence[tuple[int, int]], passage: str
    ) -> dict[str, Any]:
        """Return the median of a cluster as a document holds its place."""
        who, index = next(iter(cluster.members.items()))
        member = self.layers[who].objects[index]
        if isinstance(member, Answer):
            return {"value": member.value}
        if isinstance(member, Relation):
            ends = [step.middle(end, tokens, passage) for step, end in cluster.median]
            return {"label": member.label, "ends": ends}
        label: dict[str, Any] = (
            {} if isinstance(member, Chosen) or not member.label else {"label": member.label}
        )
        if agreed := self.find_agreed_answers(cluster):
            label["answers"] = agreed
        if not passage:
            return {**_build_shape(member, *cluster.median[:3]), **label}
        first, beyond = cluster.median
        span = self.units[first][0], self.units[beyond - 1][1]
        return {"span": span, "tokens": units_between(span, tokens), "quote": passage[slice(*span)], **label}

    def variants(self, cluster: Cluster[Any]) -> list[Cluster[Any]]:
        """Return a cluster by the borders of its spans, most people first.

        Spans are in one cluster if they share a word. Boxes have no variants: nobody draws one twice alike.
        """
        members: dict[tuple[int, int] | None, dict[str, int]] = {}
        for who, index in cluster.members.items():
            mark = self.layers[who].objects[index]
            members.setdefault(mark.span if isinstance(mark, Span) else None, {})[who] = index
        if len(members) < 2:
            return [cluster]
        spans = [(span, people) for span, people in members.items() if span is not None]
        spans.sort(key=lambda variant: (-len(variant[1]), variant[0]))
        return [Cluster[Any](people, units_between(span, self.units)) for span, people in spans]

    def answers(self, cluster: Cluster[Any]) -> dict[str, dict[str, tuple[str | int, ...]]]:
        """Return what each person says about a mark, by question and person."""
        answers_by: dict[str, dict[str, tuple[str | int, ...]]] = {}
        for who, index in cluster.members.items():
            mark = self.layers[who].objects[index]
            for name, values in mark.answers.items() if isinstance(mark, Box | Span) else ():
                answers_by.setdefault(name, {})[who] = values
        return answers_by

    def find_agreed_answers(self, cluster: Cluster[Any]) -> dict[str, tuple[str | int, ...]]:
        """Return what all who have a mark say about it alike, by question."""
        return {
            name: next(iter(by.values()))
            for name, by in self.answers(cluster).items()
            if len(by) == len(cluster.members) and len({frozenset(values) for values in by.values()}) == 1
        }

    @property
    def unanimous(self) -> bool:
        """Return True if everybody finished the step with the same objects."""
        finished = bool(self.layers) and all(
            layer.state in ("done", "nothing") for layer in self.layers.values()
        )
        return finished and all(
            len(cluster.members) == len(self.layers)
            and len(self.variants(cluster)) == 1
            and len(self.find_agreed_answers(cluster)) == len(self.answers(cluster))
            for cluster in self.clusters
        )


def _build_shape(member: Object, image: int, box: Any, outline: Outline = ()) -> dict[str, Any]:
    """Return the place of a mark like one, as a document holds it."""
    if isinstance(member, Polygon):
        return {"image": image, "box": box, "polygon": outline}
    if isinstance(member, KeyPoint):
        return {"image": image, "box": box, "point": outline[0]}
    return {"image": image, "box": box} | ({"shape": member.shape} if isinstance(member, Ellipse) else {})


def build_steps(
    program: Program, documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]] = ()
) -> list[Step]:
    """Return the steps that people annotate, bottom-up."""
    units = split_units(documents, tokens)
    shapes = {who: resolve_references(document, program) for who, document in documents.items()}
    result: dict[int, Step] = {}
    asked = [index for index in program.walk if program.nodes[index].role != "compute"]
    # Relations come last, because they connect the clusters of all marks.
    for index in sorted(asked, key=lambda index: program.nodes[index].role == "relate"):
        objects = {who: shapes[who].get(index, []) for who in documents}
        layers = {who: document.layers.get(index, Layer()) for who, document in documents.items()}
        if isinstance(program, LabelProgram) and program.nodes[index].role == "relate":
            directed = program.task.layers[index - 1].directed
            clusters = _cluster_relations(layers, [result[node] for node in program.marks], directed)
        else:
            clusters = _cluster_marks(layers, objects, units, program.kind)
        result[index] = Step(node=index, layers=layers, objects=objects, clusters=clusters, units=units)
    return [result[index] for index in asked]


def _cluster_marks(
    layers: Mapping[str, Layer],
    objects: Mapping[str, Sequence[Box | Span]],
    units: Sequence[tuple[int, int]],
    kind: str,
) -> list[Cluster[Any]]:
    """Return the marks of each label in clusters, and equal answers."""
    answers: dict[object, dict[str, int]] = {}
    for who, layer in layers.items():
        for index, object_ in enumerate(layer.objects):
            if isinstance(object_, Answer):
                answers.setdefault(object_.value, {})[who] = index
    clusters: list[Cluster[Any]] = [Cluster[Any](members, value) for value, members in answers.items()]
    for label in dict.fromkeys(shape.label for several in objects.values() for shape in several):
        own = {
            who: [index for index, shape in enumerate(several) if shape.label == label]
            for who, several in objects.items()
        }
        extents = {
            who: [compute_extent(objects[who][index], units) for index in several]
            for who, several in own.items()
        }
        for cluster in box_clusters(extents) if kind == "boxes" else span_clusters(extents):
            members = {who: own[who][index] for who, index in cluster.members.items()}
            clusters.append(Cluster[Any](members, cluster.median))
    return clusters


def _cluster_relations(
    layers: Mapping[str, Layer], marks: Sequence[Step], directed: bool
) -> list[Cluster[Any]]:
    """Return relations of one label between the same clusters of marks.

    Their median is the clusters of both ends, with their steps.
    """
    clusters, number = number_clusters(marks)
    groups: dict[tuple[object, ...], dict[str, int]] = {}
    medians: dict[tuple[object, ...], Any] = {}
    for who, layer in layers.items():
        for index, object_ in enumerate(layer.objects):
            if isinstance(object_, Relation):
                ends = [number[who, end] for end in object_.ends]
                key = (object_.label, *(ends if directed else sorted(ends)))
                groups.setdefault(key, {})[who] = index
                medians.setdefault(key, tuple(clusters[end] for end in ends))
    return [Cluster[Any](members, medians[key]) for key, members in groups.items()]


def number_clusters(
    several: Sequence[Step],
) -> tuple[list[tuple[Step, Cluster[Any]]], dict[tuple[str, str], int]]:
    """Return the clusters of marks, and the number of each mark's cluster.

    A mark goes by its person and ID.
    """
    clusters = [(step, cluster) for step in several for cluster in step.clusters]
    return clusters, {
        (who, step.objects[who][index].id): number
        for number, (step, cluster) in enumerate(clusters)
        for who, index in cluster.members.items()
    }


def split_units(
    documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]]
) -> Sequence[tuple[int, int]]:
    """Return the tokens, as characters where a span begins or ends within."""
    layers = [layer for document in documents.values() for layer in document.layers.values()]
    return split_tokens(
        tokens, [span.span for layer in layers for span in layer.objects if isinstance(span, Span)]
    )


def compute_extent(shape: Box | Span, units: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
    """Return a span in units, or the image, box and outline of another mark."""
    if isinstance(shape, Span):
        return units_between(shape.span, units)
    outline = compute_outline(shape)
    return (shape.image, shape.box, outline) if outline else (shape.image, shape.box)


def compute_outline(shape: Box) -> Outline:
    """Return the corners of a mark that is no box, or its one point."""
    if isinstance(shape, Polygon):
        return shape.polygon
    if isinstance(shape, KeyPoint):
        return (shape.point,)
    return ellipse_outline(shape.box) if isinstance(shape, Ellipse) else ()
