"""Store how far the finished annotations of items part."""

from collections.abc import Sequence

from annotation.content.agreement import measure_disagreement
from annotation.content.comparison import list_letters
from annotation.models import Annotation, Item, Project
from annotation.parsed_items import parse_item_program, read_visible_document

MOST_AT_ONCE = 2_000  # items that are compared in one request, which takes some milliseconds each


def measure(*, item: int) -> None:
    """Compare the finished annotations of an item, after one came or left.

    Call it in a transaction that has changed the row of the item, so that two do not miss each other.
    """
    finished = Annotation.objects.filter(
        item=item, task=Annotation.Task.ANNOTATION, status__in=Annotation.HANDED_IN
    ).select_related("item", "project")
    columns = ("document", "item__program", "item__tokens", "project__kind")
    Item.objects.filter(pk=item).update(
        disagreement=_measure_disagreement(list(finished.only(*columns).order_by("pk")))
    )


def measure_missing(*, project: Project) -> None:
    """Compare items whose finished annotations came from a file, some at once."""
    items = project.items.filter(submitted__gte=2, disagreement=None).order_by("position")
    for item in list(items.values_list("pk", flat=True)[:MOST_AT_ONCE]):
        measure(item=item)


def _measure_disagreement(annotations: Sequence[Annotation]) -> float | None:
    if len(annotations) < 2:
        return None
    item, kind = annotations[0].item, annotations[0].project.kind
    documents = [read_visible_document(annotation, kind) for annotation in annotations]
    by_letter = dict(zip(list_letters(len(documents)), documents, strict=True))
    return measure_disagreement(parse_item_program(item, kind), by_letter, item.tokens)
