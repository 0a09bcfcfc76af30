"""What waits for an adjudicator: items whose annotators are done, and single works."""

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Gold, Item, Project, Work

FINISHED = (Work.Status.SUBMITTED, Work.Status.IN_REVIEW, Work.Status.RETURNED, Work.Status.ACCEPTED)


def items_to_settle(project: Project) -> QuerySet[Item]:
    """Ordinary items whose places are all submitted and that have no gold made here, in order.

    Gold that was imported does not settle an item: people have drawn it anew since.
    """
    settled = Gold.objects.filter(item=OuterRef("pk"), current=True).exclude(method=Gold.Method.IMPORTED)
    return (
        project.items.filter(purpose=Item.Purpose.ORDINARY, submitted__gte=F("places"), submitted__gt=0)
        .filter(~Exists(settled))
        .order_by("position")
    )


def finished_works(item: Item) -> list[Work]:
    """The finished annotations of an item, in the order in which they were begun."""
    works = item.works.filter(task=Work.Task.ANNOTATION, status__in=FINISHED)
    return list(works.select_related("annotator", "project", "item").order_by("pk"))


def review_counts(project: Project) -> dict[str, int]:
    """How much waits: items to settle, works to look at, works that came back or are under review."""
    waiting = project.works.filter(task=Work.Task.ANNOTATION).aggregate(
        submitted=Count("pk", filter=Q(status=Work.Status.SUBMITTED)),
        in_review=Count("pk", filter=Q(status=Work.Status.IN_REVIEW)),
        returned=Count("pk", filter=Q(status=Work.Status.RETURNED)),
    )
    return {"items": items_to_settle(project).count(), **waiting}
