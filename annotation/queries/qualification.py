"""Score annotators on items with known gold: qualification, hidden gold."""

from collections import defaultdict
from typing import NamedTuple

from annotation.content.agreement import measure_likeness
from annotation.models import Annotation, Gold, Item, Membership, Project
from annotation.parsed_items import (
    drop_hidden_layers,
    get_kind,
    parse_document,
    parse_item_program,
    read_visible_document,
)

KNOWN_GOLD_PURPOSES = (Item.Purpose.QUALIFICATION, Item.Purpose.HIDDEN_GOLD)


class KnownScore(NamedTuple):
    """Agreement with gold: the mean over items, and their number.

    Marks and answers count as in `annotation.content.agreement.measure_likeness`. The mean is None if no
    item has gold, or neither the person nor the gold has any mark or answer.
    """

    mean: float | None
    items: int


def is_decided_by_manager(member: Membership) -> bool:
    """Return whether a manager decided that the member qualified, or not."""
    judged = member.project.audit.filter(kind="qualification_judged", actor__isnull=False)
    return judged.filter(data__member=member.user.get_username()).exists()


def score_of(member: Membership, *purposes: str) -> KnownScore:
    """Return a member's score on the items of these purposes."""
    return compute_scores(member.project, *purposes).get(member.user.get_username(), KnownScore(None, 0))


def compute_scores(project: Project, *purposes: str) -> dict[str, KnownScore]:
    """Return everybody's score by username, in two queries."""
    # The few items with known gold first: their annotations are found by the item.
    item_keys = list(
        project.items.filter(purpose__in=purposes or KNOWN_GOLD_PURPOSES)
        .order_by()
        .values_list("pk", flat=True)
    )
    annotations = Annotation.objects.filter(
        item__in=item_keys, task=Annotation.Task.ANNOTATION, status__in=Annotation.HANDED_IN
    ).select_related("item", "annotator")
    golds = {
        gold.item_id: parse_document(gold.document)
        for gold in Gold.objects.filter(item__in=item_keys, current=True)
    }
    kind = get_kind(project)
    f1s: dict[str, list[float]] = defaultdict(list)
    for annotation in annotations:
        gold = golds.get(annotation.item_id)
        if gold is None:
            continue
        item = annotation.item
        document = read_visible_document(annotation, kind)
        reference = drop_hidden_layers(gold, item.program, kind)
        value = measure_likeness(parse_item_program(item, kind), reference, document, item.tokens, kind)
        if value is not None:
            f1s[annotation.annotator.get_username()].append(value)
    return {who: KnownScore(sum(values) / len(values), len(values)) for who, values in f1s.items()}
