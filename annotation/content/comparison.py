"""Compare several people's annotations of an item. No Django.

Used for inter-annotator agreement, review and adjudication. People go by letters, in the order in which
they began, so that reviewers need not know whose objects they see. Documents come without their hidden layers
(`annotation.content.completeness.drop_hidden_parts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from analysis import gold_agreement
from analysis.gold_agreement import (
    Cluster,
    Outline,
    box_clusters,
    ellipse_outline,
    nodes_of,
    span_clusters,
    split_tokens,
    units_between,
)
from analysis.programs import Program
from annotation.content.completeness import execute_document, resolve_references
from annotation.content.labels import MARKS, LabelLayer, LabelProgram, Question
from annotation.content.schemas import (
    Answer,
    Box,
    Chosen,
    Document,
    Ellipse,
    KeyPoint,
    Kind,
    Layer,
    Object,
    Polygon,
    Relation,
    Span,
    State,
)


def list_letters(number: int) -> list[str]:
    """Return the letters A, B, … Z, A2, B2 and so on."""
    return [ascii_uppercase[n % 26] + (str(n // 26 + 1) if n >= 26 else "") for n in range(number)]


def build_agreement_item(
    name: str,
    program: Program,
    documents: Mapping[str, Document],
    *,
    tokens: Sequence[tuple[int, int]] = (),
) -> gold_agreement.Item:
    """Return an item with each person's objects and computed values.

    A plain task has a node per label and rating: the marks of a label, or whether it was chosen.
    """
    if isinstance(program, LabelProgram):
        return _build_labelled_item(name, program, documents, tokens)
    nodes = nodes_of(program)
    units = _split_units(documents, tokens)
    objects: dict[str, dict[int, list[Any]]] = {}
    values: dict[str, dict[int, Any]] = {}
    for who, document in documents.items():
        shapes = resolve_references(document, program)
        objects[who] = {
            node.index: [_compute_extent(shape, units) for shape in shapes[node.index]]
            for node in nodes
            if node.index in shapes
        }
        given = execute_document(document, program).values
        values[who] = {
            node.index: value
            for node in nodes
            if program.nodes[node.index].role == "compute"
            and program.nodes[node.index].type in ("number", "truth")
            and (value := given[node.index]) is not None
        }
    return gold_agreement.Item(id=name, nodes=nodes, objects=objects, values=values, tokens=len(units))


def _build_labelled_item(
    name: str, program: LabelProgram, documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]]
) -> gold_agreement.Item:
    units = _split_units(documents, tokens)
    asked = [
        (index, layer, label)
        for index, layer in enumerate(program.task.layers, start=1)
        if layer.type != "relations"
        for label in ([None] if layer.type == "rating" else layer.names)
    ]
    nodes = tuple(
        gold_agreement.Node(node_index, layer.name if label is None else f"{layer.name}: {label}", 0)
        for node_index, (_index, layer, label) in enumerate(asked)
    )
    objects: dict[str, dict[int, list[Any]]] = {who: {} for who in documents}
    values: dict[str, dict[int, Any]] = {who: {} for who in documents}
    for who, document in documents.items():
        for node_index, (index, layer, label) in enumerate(asked):
            given = document.layers.get(index, Layer())
            answers = [each.value for each in given.objects if isinstance(each, Answer)]
            if given.state == "open" and not given.objects:
                continue
            if layer.type in MARKS:
                marks = [
                    each for each in given.objects if isinstance(each, Box | Span) and each.label == label
                ]
                objects[who][node_index] = [_compute_extent(mark, units) for mark in marks]
            elif label is not None:
                values[who][node_index] = label in answers
            elif answers:
                values[who][node_index] = answers[0]
    return gold_agreement.Item(id=name, nodes=nodes, objects=objects, values=values, tokens=len(units))


def build_relation_item(
    name: str, program: Program, documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]] = ()
) -> gold_agreement.Item | None:
    """Return an item with a node per label of relations, or None without any.

    Each pair of marks is a unit, at which each person has the relation or not. People's marks are the same if
    they are in one cluster of `steps`. Units are numbered, so that a relation is a span of one unit.
    """
    if not isinstance(program, LabelProgram) or all(node.role != "relate" for node in program.nodes):
        return None
    compared = {step.node: step for step in build_steps(program, documents, tokens)}
    clusters, number = _number_clusters([compared[index] for index in program.marks])
    marks = len(clusters)
    nodes: list[gold_agreement.Node] = []
    objects: dict[str, dict[int, list[Any]]] = {who: {} for who in documents}
    for index, layer in enumerate(program.task.layers, start=1):
        for label in layer.names if layer.type == "relations" else ():
            node_index = len(nodes)
            nodes.append(gold_agreement.Node(node_index, f"{layer.name}: {label}", 0))
            for who, own in compared[index].layers.items():
                if own.state == "open" and not own.objects:
                    continue
                related = [each for each in own.objects if isinstance(each, Relation) and each.label == label]
                ends = [(number[who, each.ends[0]], number[who, each.ends[1]]) for each in related]
                units = {_number_pair(*pair, marks, directed=layer.directed) for pair in ends}
                objects[who][node_index] = [(unit, unit + 1) for unit in sorted(units)]
    pairs = marks * (marks - 1)
    return gold_agreement.Item(id=name, nodes=tuple(nodes), objects=objects, tokens=pairs)


def build_question_items(
    name: str, program: Program, documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]] = ()
) -> list[gold_agreement.Item]:
    """Return an item for each mark, with a node per label and rating.

    People answer about the same mark if theirs are in one cluster of `steps`; others have no value there.
    """
    if not isinstance(program, LabelProgram) or not any(layer.questions for layer in program.task.layers):
        return []
    return [
        _build_answered_item(
            f"{name}/{step.node}/{number}", program.task.layers[step.node - 1], step, cluster
        )
        for step in build_steps(program, documents, tokens)
        for number, cluster in enumerate(step.clusters)
        if step.node in program.marks and program.task.layers[step.node - 1].questions
    ]


def _build_answered_item(
    name: str, layer: LabelLayer, step: Step, cluster: Cluster[Any]
) -> gold_agreement.Item:
    answers_by = step.answers(cluster)
    asked = [
        (question, label)
        for question in layer.questions
        for label in ([None] if question.type == "rating" else question.names)
    ]
    nodes: list[gold_agreement.Node] = []
    values: dict[str, dict[int, Any]] = {who: {} for who in step.layers}
    for node_index, (question, label) in enumerate(asked):
        shown = f"{layer.name} – {question.name}" + ("" if label is None else f": {label}")
        nodes.append(gold_agreement.Node(node_index, shown, 0))
        for who, given in answers_by.get(question.name, {}).items():
            values[who][node_index] = given[0] if label is None else label in given
    nothing: dict[str, dict[int, list[Any]]] = {who: {} for who in step.layers}
    return gold_agreement.Item(id=name, nodes=tuple(nodes), objects=nothing, values=values)


def _number_pair(first: int, second: int, marks: int, *, directed: bool) -> int:
    """Number the pairs of different marks."""
    low, high = sorted((first, second))
    if not directed:
        return high * (high - 1) // 2 + low
    return first * (marks - 1) + second - (second > first)


METRIC: dict[Kind, str] = {"boxes": "f1_50", "spans": "token_f1"}


def measure_likeness(
    program: Program, reference: Document, given: Document, tokens: Sequence[tuple[int, int]], kind: Kind
) -> float | None:
    """Return the agreement of a document with a reference, from 0 to 1.

    It is the mean of the F1 of the marks, the score of each answer, and the mean score of the answers about
    marks that both have. Boxes match above an overlap of 0.5 and spans are scored by tokens; see
    `_score_answer` for answers. Written texts do not count.

    Returns:
        None if neither document has a mark or an answer.
    """
    compared = build_agreement_item("", program, {"reference": reference, "given": given}, tokens=tokens)
    drawn = gold_agreement.agreement([compared], kind).groups.get(gold_agreement.DRAWN, {})
    marks = drawn[METRIC[kind]].value if drawn else None
    scores = [] if marks is None else [marks]
    if isinstance(program, LabelProgram):
        scores += [
            score
            for index, layer in enumerate(program.task.layers, start=1)
            if layer.type in ("choice", "choices", "rating")
            and (
                score := _score_answer(
                    layer, _collect_values(reference, index), _collect_values(given, index)
                )
            )
            is not None
        ]
        related = build_relation_item("", program, {"reference": reference, "given": given}, tokens)
        scores += [] if related is None else _score_relations(related)
        about = _score_questions(program, reference, given, tokens)
        scores += [sum(about) / len(about)] if about else []
    return sum(scores) / len(scores) if scores else None


def _score_relations(item: gold_agreement.Item) -> list[float]:
    drawn = gold_agreement.agreement([item], "spans").groups.get(gold_agreement.DRAWN, {})
    value = drawn["exact_f1"].value if drawn else None
    return [] if value is None else [value]


def _score_questions(
    program: LabelProgram, reference: Document, given: Document, tokens: Sequence[tuple[int, int]]
) -> list[float]:
    """Return the scores of the answers about each mark that both have."""
    if not any(layer.questions for layer in program.task.layers):
        return []
    both = {"reference": reference, "given": given}
    return [
        score
        for step in build_steps(program, both, tokens)
        if step.node in program.marks
        for cluster in step.clusters
        if len(cluster.members) == 2
        for question in program.task.layers[step.node - 1].questions
        if question.type != "text" and (answers_by := step.answers(cluster).get(question.name))
        if (score := _score_answer(question, *(set(answers_by.get(who, ())) for who in both))) is not None
    ]


def _collect_values(document: Document, index: int) -> set[str | int]:
    layer = document.layers.get(index, Layer())
    return {each.value for each in layer.objects if isinstance(each, Answer)}


def _score_answer(layer: Question, reference: set[str | int], given: set[str | int]) -> float | None:
    """Score an answer: 1 if it is that of the reference, else 0.

    Several choices score the F1 of the two sets, and a rating loses its distance as a share of the scale.
    None if the reference leaves the layer open, or both choose nothing.
    """
    if not reference and (not given or layer.type != "choices"):
        return None
    if layer.type == "rating" and given:
        (wanted,), (rated,) = reference, given
        return 1 - abs(int(wanted) - int(rated)) / (layer.highest - layer.lowest)
    return 2 * len(reference & given) / (len(reference) + len(given))


def _split_units(
    documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]]
) -> Sequence[tuple[int, int]]:
    """Return the tokens, as characters where a span begins or ends within."""
    layers = [layer for document in documents.values() for layer in document.layers.values()]
    return split_tokens(
        tokens, [each.span for layer in layers for each in layer.objects if isinstance(each, Span)]
    )


def _compute_extent(shape: Box | Span, units: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
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
    units = _split_units(documents, tokens)
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


def measure_disagreement(
    program: Program, documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]] = ()
) -> float | None:
    """Return how far several people's annotations of an item part, 0 to 1.

    Each object of a step, and each answer, is missed by some of the other people; the share of those who miss
    it is averaged over the step, and then over the steps. A span with other borders is missed. Written texts
    do not count, because two people hardly ever write the same. Rejecting the program parts entirely from not
    rejecting it.

    Returns:
        None with fewer than two documents.
    """
    if len(documents) < 2:
        return None
    rejecting = sum(document.problem is not None for document in documents.values())
    if rejecting:
        return float(rejecting < len(documents))
    written = _find_text_nodes(program)
    parts = [
        _average_misses(step) for step in build_steps(program, documents, tokens) if step.node not in written
    ]
    return sum(parts) / len(parts) if parts else 0.0


def _find_text_nodes(program: Program) -> set[int]:
    """Return the nodes at which people write text."""
    if not isinstance(program, LabelProgram):
        return set()
    return {index for index, layer in enumerate(program.task.layers, start=1) if layer.type == "text"}


def _average_misses(step: Step) -> float:
    others = len(step.layers) - 1
    missed = [1 - (len(step.variants(cluster)[0].members) - 1) / others for cluster in step.clusters]
    return sum(missed) / len(missed) if missed else 0.0


def _cluster_marks(
    layers: Mapping[str, Layer],
    objects: Mapping[str, Sequence[Box | Span]],
    units: Sequence[tuple[int, int]],
    kind: str,
) -> list[Cluster[Any]]:
    """Return the marks of each label in clusters, and equal answers."""
    answers: dict[object, dict[str, int]] = {}
    for who, layer in layers.items():
        for index, each in enumerate(layer.objects):
            if isinstance(each, Answer):
                answers.setdefault(each.value, {})[who] = index
    clusters: list[Cluster[Any]] = [Cluster[Any](members, value) for value, members in answers.items()]
    for label in dict.fromkeys(shape.label for several in objects.values() for shape in several):
        own = {
            who: [index for index, shape in enumerate(several) if shape.label == label]
            for who, several in objects.items()
        }
        extents = {
            who: [_compute_extent(objects[who][index], units) for index in several]
            for who, several in own.items()
        }
        for cluster in box_clusters(extents) if kind == "boxes" else span_clusters(extents):
            members = {who: own[who][index] for who, index in cluster.members.items()}
            clusters.append(Cluster[Any](members, cluster.median))
    return clusters


def _number_clusters(
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


def _cluster_relations(
    layers: Mapping[str, Layer], marks: Sequence[Step], directed: bool
) -> list[Cluster[Any]]:
    """Return relations of one label between the same clusters of marks.

    Their median is the clusters of both ends, with their steps.
    """
    clusters, number = _number_clusters(marks)
    groups: dict[tuple[object, ...], dict[str, int]] = {}
    medians: dict[tuple[object, ...], Any] = {}
    for who, layer in layers.items():
        for index, each in enumerate(layer.objects):
            if isinstance(each, Relation):
                ends = [number[who, end] for end in each.ends]
                key = (each.label, *(ends if directed else sorted(ends)))
                groups.setdefault(key, {})[who] = index
                medians.setdefault(key, tuple(clusters[end] for end in ends))
    return [Cluster[Any](members, medians[key]) for key, members in groups.items()]


def build_draft(
    program: Program, documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]], passage: str
) -> Document:
    """Return the document that an adjudication starts from.

    It holds the objects that everybody marked, at the median of their coordinates. Steps with full
    agreement are done; the others stay open.
    """
    layers: dict[int, Layer] = {}
    origin: dict[tuple[str, str], str] = {}  # (person, id of their object) to the id in the draft
    compared = build_steps(program, documents, tokens)
    for step in sorted(compared, key=lambda step: program.nodes[step.node].role == "relate"):
        role = program.nodes[step.node].role
        kept: list[Object] = []
        for number, cluster in enumerate(step.clusters):
            if len(cluster.members) < len(documents):
                continue
            name = f"g{step.node}.{number}"
            members = {who: step.layers[who].objects[index] for who, index in cluster.members.items()}
            median = step.middle(cluster, tokens, passage)
            settled = _settle_object(name, role, members, median, origin)
            if settled is None:
                continue
            kept.append(settled)
            origin.update({(who, member.id): name for who, member in members.items()})
        unsettled = not step.unanimous or len(kept) < len(step.clusters)
        state: State = "open" if unsettled else "done" if kept else "nothing"
        layers[step.node] = Layer(state=state, objects=tuple(kept))
    return Document(layers=dict(sorted(layers.items())))


def _settle_relation(
    name: str, members: Mapping[str, Object], origin: Mapping[tuple[str, str], str]
) -> Relation | None:
    """Return the common relation of a cluster; None without both ends."""
    who, first = next(iter(members.items()))
    assert isinstance(first, Relation)
    ends = [origin.get((who, end)) for end in first.ends]
    return Relation(id=name, label=first.label, ends=(ends[0], ends[1])) if ends[0] and ends[1] else None


def _settle_object(
    name: str,
    role: str,
    members: Mapping[str, Object],
    median: Mapping[str, Any],
    origin: Mapping[tuple[str, str], str],
) -> Object | None:
    """Return the common object of a cluster; None if references differ."""
    if "value" in median:
        return Answer(id=name, value=median["value"])
    if "ends" in median:
        return _settle_relation(name, members, origin)
    references = {
        origin.get((who, member.ref)) for who, member in members.items() if isinstance(member, Chosen)
    }
    if references:
        all_chose = all(isinstance(member, Chosen) for member in members.values())
        ref = references.pop() if len(references) == 1 and all_chose else None
        return Chosen(id=name, ref=ref) if ref else None
    links = [
        tuple(sorted({origin.get((who, link), "") for link in member.links}))
        for who, member in members.items()
        if not isinstance(member, Chosen)
    ]
    if len(set(links)) > 1 or "" in links[0]:
        return None
    reason = "everybody saw a new one" if role == "choose" else ""
    first = next(iter(members.values()))
    shape = Span if "span" in median else type(first) if isinstance(first, Box) else Box
    return shape(id=name, links=links[0], reason=reason, **median)
