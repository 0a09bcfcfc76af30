"""What waits for an adjudicator: items whose annotators are done, and single works."""

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Annotation, Gold, Item, Project

FINISHED = (
    Annotation.Status.SUBMITTED,
    Annotation.Status.IN_REVIEW,
    Annotation.Status.RETURNED,
    Annotation.Status.ACCEPTED,
)


def items_to_settle(project: Project) -> QuerySet[Item]:
    """Ordinary items whose places are all submitted and that have no gold made here, in order.

    Gold that was imported does not settle an item: people have drawn it anew since.
    """
    settled = Gold.objects.filter(item=OuterRef("pk"), current=True).exclude(method=Gold.Method.IMPORTED)
    return (
        project.items.filter(
            purpose=Item.Purpose.ORDINARY, submitted__gte=F("annotators_wanted"), submitted__gt=0
        )
        .filter(~Exists(settled))
        .order_by("position")
    )


def finished_annotations(item: Item) -> list[Annotation]:
    """The finished annotations of an item, in the order in which they were begun."""
    annotations = item.annotations.filter(task=Annotation.Task.ANNOTATION, status__in=FINISHED)
    return list(annotations.select_related("annotator", "project", "item").order_by("pk"))


def review_counts(project: Project) -> dict[str, int]:
    """How much waits: items to settle, works to look at, works that came back or are under review."""
    waiting = project.annotations.filter(task=Annotation.Task.ANNOTATION).aggregate(
        submitted=Count("pk", filter=Q(status=Annotation.Status.SUBMITTED)),
        in_review=Count("pk", filter=Q(status=Annotation.Status.IN_REVIEW)),
        returned=Count("pk", filter=Q(status=Annotation.Status.RETURNED)),
    )
    return {"items": items_to_settle(project).count(), **waiting}
