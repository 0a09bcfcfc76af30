"""Compare the finished annotations of items; inter-annotator agreement."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.gold_agreement import Agreement, Group, Metrics, agreement
from annotation.content.adjudication import build_draft
from annotation.content.agreement import build_agreement_item, build_question_items, build_relation_item
from annotation.content.comparison import Step, build_steps, list_letters
from annotation.content.schemas import Document, Kind
from annotation.models import Annotation, Item, Project
from annotation.parsed_items import get_kind, parse_item_program, read_visible_document
from annotation.queries.review import list_finished_annotations

MOST_ITEMS = 2_000  # of a project, the newest; more would hardly narrow a confidence interval
QUICK_ITEMS = 150  # compared while a page opens
RESAMPLES = 1_000
SEED = 20


def key_by_letter(annotations: Sequence[Annotation]) -> dict[str, Annotation]:
    """Return the annotations by the letters of their annotators."""
    return dict(zip(list_letters(len(annotations)), annotations, strict=True))


def read_visible_documents(annotations: Sequence[Annotation]) -> dict[str, Document]:
    """Return documents by letter, without those that reject the program."""
    return {
        letter: read_visible_document(annotation, annotation.project.kind)
        for letter, annotation in key_by_letter(annotations).items()
        if not (annotation.document or {}).get("problem")
    }


def build_adjudication_draft(item: Item, kind: Kind) -> Document | None:
    """Return what an adjudication starts from, None if nobody finished."""
    finished = list_finished_annotations(item)
    if not finished:
        return None
    return build_draft(
        parse_item_program(item, kind), read_visible_documents(finished), item.tokens, item.passage
    )


def compare_steps(item: Item, kind: str) -> list[Step]:
    """Return the steps of an item with each finished annotation of them."""
    return build_steps(
        parse_item_program(item, kind), read_visible_documents(list_finished_annotations(item)), item.tokens
    )


def compute_project_agreement(project: Project) -> tuple[Agreement, int]:
    """Return the inter-annotator agreement, and the number of items.

    It covers the items that two or more people finished, at most the MOST_ITEMS newest.
    """
    annotations = (
        Annotation.objects.filter(
            project=project,
            task=Annotation.Task.ANNOTATION,
            status__in=Annotation.HANDED_IN,
            item__submitted__gte=2,
        )
        .select_related("item", "annotator")
        .order_by("-item__position", "pk")
    )
    by_item: dict[int, list[Annotation]] = defaultdict(list)
    for annotation in annotations.iterator(chunk_size=500):
        if annotation.item_id not in by_item and len(by_item) >= MOST_ITEMS:
            break
        by_item[annotation.item_id].append(annotation)
    kind = get_kind(project)
    groups = [_read_documents(group, kind) for group in by_item.values() if len(group) > 1]
    compared = [
        build_agreement_item(item.external_id, parse_item_program(item, kind), documents, tokens=item.tokens)
        for item, documents in groups
    ]
    rng = np.random.default_rng(SEED)
    measured = agreement(compared, kind, rng=rng, resamples=RESAMPLES)
    more = {**_compute_relation_agreement(groups, kind), **_compute_question_agreement(groups, kind)}
    return replace(measured, groups={**measured.groups, **more}), len(compared)


# Measures of relations, which are compared as spans of one unit, see `build_relation_item`.
_OF_RELATIONS = {"exact_f1": "relation_f1", "token_cohen": "relation_cohen", "token_alpha": "relation_alpha"}


def _compute_relation_agreement(
    groups: Sequence[tuple[Item, Mapping[str, Document]]], kind: Kind
) -> dict[Group, Metrics]:
    """Return the agreement on relations by label; empty without any."""
    related = [
        build_relation_item(item.external_id, parse_item_program(item, kind), documents, item.tokens)
        for item, documents in groups
    ]
    if not (present := [item for item in related if item is not None]):
        return {}
    measured = agreement(present, "spans", rng=np.random.default_rng(SEED), resamples=RESAMPLES)
    return {
        group: {_OF_RELATIONS[name]: value for name, value in metrics.items() if name in _OF_RELATIONS}
        for group, metrics in measured.groups.items()
        if group.by == "module"
    }


def _compute_question_agreement(
    groups: Sequence[tuple[Item, Mapping[str, Document]]], kind: Kind
) -> dict[Group, Metrics]:
    """Return the agreement on answers about marks by label; empty without any."""
    asked = [
        mark
        for item, documents in groups
        for mark in build_question_items(
            item.external_id, parse_item_program(item, kind), documents, item.tokens
        )
    ]
    if not asked:
        return {}
    measured = agreement(asked, kind, rng=np.random.default_rng(SEED), resamples=RESAMPLES)
    return {group: metrics for group, metrics in measured.groups.items() if group.by == "module"}


def is_slow_to_compare(project: Project) -> bool:
    """Return whether so many items can be compared that a page has to wait."""
    return project.items.filter(submitted__gte=2)[: QUICK_ITEMS + 1].count() > QUICK_ITEMS


def _read_documents(annotations: Sequence[Annotation], kind: Kind) -> tuple[Item, dict[str, Document]]:
    return annotations[0].item, {
        annotation.annotator.get_username(): read_visible_document(annotation, kind)
        for annotation in annotations
        if not (annotation.document or {}).get("problem")
    }


def find_other_objects(annotation: Annotation) -> dict[str, Any] | None:
    """Return the annotators' objects for an adjudicator, else None.

    By step: everybody's state, and the objects in clusters, each with its median, members and what they say
    about it; spans with other borders apart. It is None for an annotation, because annotation is blind.
    """
    if annotation.task != Annotation.Task.ADJUDICATION:
        return None
    return {
        str(step.node): {
            "states": {who: layer.state for who, layer in step.layers.items()},
            "clusters": [
                {
                    "letters": sorted(variant.members),
                    **step.middle(variant, annotation.item.tokens, annotation.item.passage),
                    **({"said": answers} if (answers := step.answers(variant)) else {}),
                }
                for cluster in step.clusters
                for variant in step.variants(cluster)
            ],
        }
        for step in compare_steps(annotation.item, annotation.project.kind)
    }
