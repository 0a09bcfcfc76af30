"""Agreement of several people's annotations of an item. No Django.

Items for inter-annotator agreement, the likeness to a reference, and the disagreement of an item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis import gold_agreement
from analysis.gold_agreement import Cluster, nodes_of
from analysis.programs import Program
from annotation.content.comparison import Step, build_steps, compute_extent, number_clusters, split_units
from annotation.content.completeness import execute_document, resolve_references
from annotation.content.label_programs import LabelProgram
from annotation.content.labels import MARKS, LabelLayer, Question
from annotation.content.schemas import Answer, Box, Document, Kind, Layer, Relation, Span


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
    units = split_units(documents, tokens)
    objects: dict[str, dict[int, list[Any]]] = {}
    values: dict[str, dict[int, Any]] = {}
    for who, document in documents.items():
        shapes = resolve_references(document, program)
        objects[who] = {
            node.index: [compute_extent(shape, units) for shape in shapes[node.index]]
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
    units = split_units(documents, tokens)
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
            answers = [answer.value for answer in given.objects if isinstance(answer, Answer)]
            if given.state == "open" and not given.objects:
                continue
            if layer.type in MARKS:
                marks = [
                    mark for mark in given.objects if isinstance(mark, Box | Span) and mark.label == label
                ]
                objects[who][node_index] = [compute_extent(mark, units) for mark in marks]
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
    they are in one cluster of `build_steps`. Units are numbered, so that a relation is a span of one unit.
    """
    if not isinstance(program, LabelProgram) or all(node.role != "relate" for node in program.nodes):
        return None
    compared = {step.node: step for step in build_steps(program, documents, tokens)}
    clusters, number = number_clusters([compared[index] for index in program.marks])
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
                related = [
                    relation
                    for relation in own.objects
                    if isinstance(relation, Relation) and relation.label == label
                ]
                ends = [
                    (number[who, relation.ends[0]], number[who, relation.ends[1]]) for relation in related
                ]
                units = {_number_pair(*pair, marks, directed=layer.directed) for pair in ends}
                objects[who][node_index] = [(unit, unit + 1) for unit in sorted(units)]
    pairs = marks * (marks - 1)
    return gold_agreement.Item(id=name, nodes=tuple(nodes), objects=objects, tokens=pairs)


def _number_pair(first: int, second: int, marks: int, *, directed: bool) -> int:
    """Return the number of a pair of different marks."""
    low, high = sorted((first, second))
    if not directed:
        return high * (high - 1) // 2 + low
    return first * (marks - 1) + second - (second > first)


def build_question_items(
    name: str, program: Program, documents: Mapping[str, Document], tokens: Sequence[tuple[int, int]] = ()
) -> list[gold_agreement.Item]:
    """Return an item for each mark, with a node per label and rating.

    People answer about the same mark if theirs are in one cluster of `build_steps`; others have no value
    there.
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
    return gold_agreement.Item(
        id=name, nodes=tuple(nodes), objects={who: {} for who in step.layers}, values=values
    )


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
    both = {"reference": reference, "given": given}
    scores = _score_marks(build_agreement_item("", program, both, tokens=tokens), kind, METRIC[kind])
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
        related = build_relation_item("", program, both, tokens)
        scores += [] if related is None else _score_marks(related, "spans", "exact_f1")
        about = _score_questions(program, both, tokens)
        scores += [sum(about) / len(about)] if about else []
    return sum(scores) / len(scores) if scores else None


def _score_marks(item: gold_agreement.Item, kind: Kind, metric: str) -> list[float]:
    """Return the score of the marks; none if nobody has a mark."""
    drawn = gold_agreement.agreement([item], kind).groups.get(gold_agreement.DRAWN, {})
    value = drawn[metric].value if drawn else None
    return [] if value is None else [value]


def _score_questions(
    program: LabelProgram, both: Mapping[str, Document], tokens: Sequence[tuple[int, int]]
) -> list[float]:
    """Return the scores of the answers about each mark that both have."""
    if not any(layer.questions for layer in program.task.layers):
        return []
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
    return {answer.value for answer in layer.objects if isinstance(answer, Answer)}


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
