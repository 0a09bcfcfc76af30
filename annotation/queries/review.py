"""Find what waits for an adjudicator."""

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Annotation, Gold, Item, Project

_RETURNED = Annotation.objects.filter(
    item=OuterRef("pk"), task=Annotation.Task.ANNOTATION, status=Annotation.Status.RETURNED
)


def list_items_to_settle(project: Project) -> QuerySet[Item]:
    """Return complete ordinary items without gold made here, in order.

    Imported gold does not settle an item, because people annotated it again since. An item waits no longer
    while one of its annotations is returned.
    """
    settled = Gold.objects.filter(item=OuterRef("pk"), current=True).exclude(method=Gold.Method.IMPORTED)
    return (
        project.items.filter(
            purpose=Item.Purpose.ORDINARY, submitted__gte=F("annotators_wanted"), submitted__gt=0
        )
        .filter(~Exists(settled), ~Exists(_RETURNED))
        .order_by("position")
    )


def list_first_to_settle(project: Project, number: int) -> list[Item]:
    """Return items that wait for a decision, most disagreement first."""
    waiting = list_items_to_settle(project)
    disputed = list(waiting.filter(disagreement__gt=0).order_by("-disagreement", "position")[:number])
    return disputed + list(waiting.exclude(disagreement__gt=0)[: number - len(disputed)])


def find_next_to_settle(item: Item) -> Item | None:
    """Return the next item that waits for a decision after this one.

    Items come as in `list_first_to_settle`. After the last one it is the first.
    """
    waiting = list_items_to_settle(item.project).exclude(pk=item.pk)
    calm, disputed = waiting.exclude(disagreement__gt=0), waiting.filter(disagreement__gt=0)
    if item.disagreement:
        same = Q(disagreement=item.disagreement, position__gt=item.position)
        later = disputed.filter(same | Q(disagreement__lt=item.disagreement))
        following = later.order_by("-disagreement", "position").first() or calm.first()
    else:
        following = calm.filter(position__gt=item.position).first()
    if following is not None:
        return following
    return next(
        (candidate for candidate in list_first_to_settle(item.project, 2) if candidate.pk != item.pk), None
    )


def list_finished_annotations(item: Item) -> list[Annotation]:
    """Return the finished annotations of an item, in order of their start."""
    annotations = item.annotations.filter(task=Annotation.Task.ANNOTATION, status__in=Annotation.HANDED_IN)
    return list(annotations.select_related("annotator", "project", "item").order_by("pk"))


def count_reviews(project: Project) -> dict[str, int]:
    """Count items to adjudicate, and annotations in each state of review."""
    waiting = project.annotations.filter(task=Annotation.Task.ANNOTATION).aggregate(
        submitted=Count("project", filter=Q(status=Annotation.Status.SUBMITTED)),
        in_review=Count("project", filter=Q(status=Annotation.Status.IN_REVIEW)),
        returned=Count("project", filter=Q(status=Annotation.Status.RETURNED)),
    )
    return {"items": count_to_settle(project), **waiting}


def count_to_settle(project: Project) -> int:
    """Count the items of `list_items_to_settle`.

    Settled ones are subtracted: to ask for the gold of each complete item takes longer.
    """
    complete = Q(purpose=Item.Purpose.ORDINARY, submitted__gte=F("annotators_wanted"), submitted__gt=0)
    golds = Gold.objects.filter(
        item__project=project, item__purpose=Item.Purpose.ORDINARY, current=True,
        item__submitted__gte=F("item__annotators_wanted"), item__submitted__gt=0,
    )  # fmt: skip
    own = golds.exclude(method=Gold.Method.IMPORTED)
    settled = Exists(own.filter(item=OuterRef("pk")).order_by())
    returned = project.annotations.filter(
        task=Annotation.Task.ANNOTATION, status=Annotation.Status.RETURNED
    ).values("item")
    back = project.items.filter(complete, pk__in=returned).exclude(settled)
    return project.items.filter(complete).count() - own.count() - back.count()
