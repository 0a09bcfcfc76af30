"""Prepare the reviewers' pages for templates: overlays, counts, tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.gold_agreement import DRAWN, NUMBERS, TRUTHS, Agreement, Cluster, Group
from analysis.programs import Program, describe
from annotation.content.comparison import Step, build_steps, compute_outline
from annotation.content.completeness import find_hidden_nodes
from annotation.content.label_programs import LabelProgram
from annotation.content.labels import LabelTask
from annotation.content.schemas import Answer, Box, KeyPoint, Relation, Span
from annotation.models import Item, Project
from annotation.parsed_items import get_kind, parse_document, parse_item_program
from annotation.queries.annotations import compute_outcome, describe_images
from annotation.queries.comparison import key_by_letter, read_visible_documents
from annotation.queries.review import list_finished_annotations

WORDS = {
    "f1_50": "F1 of boxes, IoU above 0.5",
    "f1_75": "F1 of boxes, IoU above 0.75",
    "mean_iou": "mean IoU of matched boxes",
    "exact_f1": "F1 of spans, same borders",
    "overlap_f1": "F1 of spans that overlap",
    "token_f1": "F1 of tokens",
    "token_alpha": "alpha of tokens",
    "token_cohen": "Cohen’s kappa of tokens",
    "token_fleiss": "Fleiss’ kappa of tokens",
    "presence_alpha": "alpha of steps with objects or none",
    "presence_cohen": "Cohen’s kappa of steps with objects or none",
    "presence_fleiss": "Fleiss’ kappa of steps with objects or none",
    "truth_alpha": "alpha of truth values",
    "truth_cohen": "Cohen’s kappa of truth values",
    "truth_fleiss": "Fleiss’ kappa of truth values",
    "count_alpha": "alpha of counts",
    "count_alpha_ordinal": "alpha of counts (ordinal)",
    "count_alpha_ratio": "alpha of counts (ratio)",
    "relation_f1": "F1 of relations, same ends and label",
    "relation_cohen": "Cohen’s kappa of relations between pairs of marks",
    "relation_alpha": "alpha of relations between pairs of marks",
    "agreed": "share in full agreement",
}
# Values of plain tasks are ratings and choices, not computed numbers and truth values.
_PLAIN_GROUPS = {NUMBERS: "ratings", TRUTHS: "choices"}
_PLAIN_WORDS = {
    "truth_alpha": "alpha of choices",
    "truth_cohen": "Cohen’s kappa of choices",
    "truth_fleiss": "Fleiss’ kappa of choices",
}
_RATING_WORDS = {
    "count_alpha": "alpha of ratings",
    "count_alpha_ordinal": "alpha of ratings (ordinal)",
    "count_alpha_ratio": "alpha of ratings (ratio)",
}
# The figures that head the page: of what people drew.
HEADLINES = ("f1_50", "mean_iou", "token_f1", "token_alpha", "presence_alpha", "count_alpha", "agreed")


def build_comparison_page(item: Item, project: Project) -> dict[str, Any]:
    """Return an item's annotations by letter, and its steps with objects."""
    annotations = list_finished_annotations(item)
    program = parse_item_program(item, get_kind(project))
    documents = read_visible_documents(annotations)
    shown = describe_images(project, item.images)
    rows = []
    for letter, annotation in key_by_letter(annotations).items():
        document = parse_document(annotation.document)
        rows.append(
            {
                "letter": letter,
                "annotation": annotation,
                "problem": document.problem,
                **compute_outcome(annotation, document),
            }
        )
    return {
        "annotations": rows,
        "steps": [
            _build_step_row(step, _label_node(program, step.node), shown)
            for step in build_steps(program, documents, item.tokens)
            if any(step.node not in find_hidden_nodes(document, program) for document in documents.values())
        ]
        if documents
        else [],
        "gold": item.golds.filter(current=True).first(),
    }


def _label_node(program: Program, node: int) -> str:
    return program.nodes[node].module if isinstance(program, LabelProgram) else describe(program.nodes[node])


def _build_step_row(step: Step, label: str, shown: Sequence[dict[str, Any]]) -> dict[str, Any]:
    answers = any(
        isinstance(object_, Answer | Relation) for layer in step.layers.values() for object_ in layer.objects
    )
    return {
        "label": label,
        "node": step.node,
        "unanimous": step.unanimous,
        "people": [
            {"letter": who, "state": layer.state, "count": len(layer.objects), "note": layer.note}
            for who, layer in step.layers.items()
        ],
        "images": []
        if answers
        else [_build_overlay(step, index, image) for index, image in enumerate(shown)],
        "spans": [
            {**_quote(step, variant), "letters": sorted(variant.members)}
            for cluster in step.clusters
            for variant in step.variants(cluster)
        ]
        if answers or not shown
        else [],
        "answers": [
            {"mark": _end(step, cluster), "question": name, "said": _group_answers(by)}
            for cluster in step.clusters
            for name, by in step.answers(cluster).items()
        ],
    }


def _group_answers(answers: Mapping[str, Sequence[str | int]]) -> list[tuple[str, list[str]]]:
    """Return the answers to one question, each with the letters of its people."""
    groups: dict[str, list[str]] = {}
    for who, values in answers.items():
        groups.setdefault(", ".join(sorted(str(value) for value in values)), []).append(who)
    return list(groups.items())


def _quote(step: Step, cluster: Cluster[Any]) -> dict[str, Any]:
    """Return a cluster's quote and label, or its answer or relation."""
    who, index = next(iter(cluster.members.items()))
    object_ = step.layers[who].objects[index]
    if isinstance(object_, Answer):
        return {"answer": object_.value}
    if isinstance(object_, Relation):
        first, second = (_end(*end) for end in cluster.median)
        return {"answer": f"{first} – {object_.label} → {second}"}
    shape = step.objects[who][index]
    return {"quote": shape.quote if isinstance(shape, Span) else "", "label": shape.label}


def _end(step: Step, cluster: Cluster[Any]) -> str:
    """Return a mark in a few words: its quote, or label and place."""
    who, index = next(iter(cluster.members.items()))
    mark = step.objects[who][index]
    if isinstance(mark, Span):
        return f"“{mark.quote}”"
    left, top = (round(100 * edge) for edge in mark.box[:2])
    return f"{mark.label} ({left} %, {top} %)"


def _build_overlay(step: Step, image_index: int, image: dict[str, Any]) -> dict[str, Any]:
    """Return everybody's boxes in one image, in thousandths of its sides."""
    width = image["width"] or 4
    height = image["height"] or 3
    high = round(1000 * height / width)
    boxes = [
        {"letter": f"{who} {mark.label}".strip(), "number": number % 6, **_scale_mark(mark, high)}
        for number, (who, objects) in enumerate(step.objects.items())
        for mark in objects
        if isinstance(mark, Box) and mark.image == image_index
    ]
    return {"url": image["url"], "name": image["name"], "high": high, "boxes": boxes}


def _scale_mark(mark: Box, high: int) -> dict[str, Any]:
    """Return a mark in thousandths of the image's sides, as SVG draws it."""
    left, top, right, bottom = (
        round(side * edge) for side, edge in zip((1000, high) * 2, mark.box, strict=True)
    )
    corners = " ".join(f"{1000 * x:.0f},{high * y:.0f}" for x, y in compute_outline(mark))
    point = isinstance(mark, KeyPoint)
    return {
        "x": left,
        "y": top,
        "width": right - left,
        "height": bottom - top,
        "corners": "" if point else corners,
        "point": point,
    }


def build_agreement_rows(
    agreement: Agreement, *, task: LabelTask | None, names: bool
) -> list[dict[str, Any]]:
    """Return the inter-annotator agreement as a flat table.

    task: the label configuration of a plain task, whose values are called ratings and choices.
    names: with the pairs of people, who are named there.
    """
    return [
        {
            "by": _PLAIN_GROUPS.get(group, group.by) if task else group.by,
            "name": _PLAIN_GROUPS.get(group, group.name) if task else group.name,
            "measure": (_choose_plain_words(group, task) if task else WORDS).get(measure, measure),
            "value": quantity.value,
            "low": quantity.interval.low if quantity.interval else None,
            "high": quantity.interval.high if quantity.interval else None,
            "n": quantity.n,
            "reason": quantity.reason,
            "heads": group == DRAWN and measure in HEADLINES,
        }
        for group, metrics in agreement.groups.items()
        if names or group.by != "pair of people"
        for measure, quantity in metrics.items()
    ]


def _choose_plain_words(group: Group, task: LabelTask) -> dict[str, str]:
    """Return the words for the measures of a group of a plain task."""
    ratings = {
        name
        for layer in task.layers
        for name, kind in (
            (layer.name, layer.type),
            *((f"{layer.name} – {question.name}", question.type) for question in layer.questions),
        )
        if kind == "rating"
    }
    is_rated = group == NUMBERS or (group.by == "module" and group.name in ratings)
    return WORDS | _PLAIN_WORDS | (_RATING_WORDS if is_rated else {})
