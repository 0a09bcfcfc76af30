"""The finished works of items side by side, and how far people agree over a project."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.gold_agreement import Agreement, agreement
from analysis.gold_agreement import Item as Compared
from annotation.comparison import Step, agreement_item, letters, steps
from annotation.models import Annotation, Item, Project
from annotation.parsed_items import document_of, kind_of, program_of
from annotation.queries.review import FINISHED, finished_annotations
from annotation.schemas import Document, Kind

MOST_ITEMS = 2_000  # of a project, the newest: more would make a page slow and an interval hardly narrower
RESAMPLES = 1_000
SEED = 20


def lettered(annotations: Sequence[Annotation]) -> dict[str, Annotation]:
    """Works by the letters of their people."""
    return dict(zip(letters(len(annotations)), annotations, strict=True))


def documents_of(annotations: Sequence[Annotation]) -> dict[str, Document]:
    """The documents of works by letter, without those that say that the program is wrong."""
    return {
        letter: document_of(annotation.document)
        for letter, annotation in lettered(annotations).items()
        if not (annotation.document or {}).get("problem")
    }


def compared_steps(item: Item, kind: str) -> list[Step]:
    """The steps of an item with what each finished work says there."""
    return steps(program_of(item, kind), documents_of(finished_annotations(item)))


def project_agreement(project: Project) -> tuple[Agreement, int]:
    """Agreement over the project's items that two or more people finished, and over how many items.

    Of more than MOST_ITEMS the newest count.
    """
    annotations = (
        Annotation.objects.filter(
            project=project, task=Annotation.Task.ANNOTATION, status__in=FINISHED, item__submitted__gte=2
        )
        .select_related("item", "annotator")
        .order_by("-item__position", "pk")
    )
    by_item: dict[int, list[Annotation]] = defaultdict(list)
    for annotation in annotations.iterator(chunk_size=500):
        if annotation.item_id not in by_item and len(by_item) >= MOST_ITEMS:
            break
        by_item[annotation.item_id].append(annotation)
    kind = kind_of(project)
    compared = [_compared(group, kind) for group in by_item.values() if len(group) > 1]
    rng = np.random.default_rng(SEED)
    return agreement(compared, kind, rng=rng, resamples=RESAMPLES), len(compared)


def _compared(annotations: Sequence[Annotation], kind: Kind) -> Compared:
    item = annotations[0].item
    documents = {
        annotation.annotator.get_username(): document_of(annotation.document)
        for annotation in annotations
        if not (annotation.document or {}).get("problem")
    }
    return agreement_item(item.external_id, program_of(item, kind), documents, tokens=len(item.tokens))


def others(annotation: Annotation) -> dict[str, Any] | None:
    """What the annotators marked, for the person who adjudicates: per step their states, and their objects in
    clusters, each with where its middle lies and whose it is. None for an annotation: people work blind.
    """
    if annotation.task != Annotation.Task.ADJUDICATION:
        return None
    return {
        str(step.node): {
            "states": {who: layer.state for who, layer in step.layers.items()},
            "clusters": [
                {"letters": sorted(one.members), **_middle(one.median, annotation.item)}
                for one in step.clusters
            ],
        }
        for step in compared_steps(annotation.item, annotation.project.kind)
    }


def _middle(median: Any, item: Item) -> dict[str, Any]:
    """The middle of a cluster as an object of a document has it."""
    if not item.passage:
        image, box = median
        return {"image": image, "box": box}
    first, beyond = median
    start, end = item.tokens[first][0], item.tokens[beyond - 1][1]
    return {"span": (start, end), "tokens": (first, beyond), "quote": item.passage[start:end]}
