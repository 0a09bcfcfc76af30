"""Progress of a project and of its people."""

from datetime import timedelta
from typing import Any, NamedTuple

from django.db.models import Avg, BooleanField, Count, ExpressionWrapper, F, Max, Q, QuerySet, Sum
from django.utils import timezone

from accounts.models import Role
from annotation.models import Annotation, Gold, Item, Membership, Project
from annotation.policies import list_roles
from annotation.queries import records
from annotation.queries.qualification import KnownScore, compute_scores


class Totals(NamedTuple):
    """Counts of ordinary items, and of the annotations that they want.

    An item is complete if enough annotators submitted it, and idle if nobody has been assigned to it.
    ``assignments`` counts the annotations wanted over all items.
    """

    items: int
    complete: int
    idle: int
    assignments: int
    submitted: int
    gold: int
    complete_with_gold: int
    idle_with_gold: int

    @property
    def percent(self) -> int:
        """Return the share of annotations that are submitted."""
        return 100 * self.submitted // self.assignments if self.assignments else 0


def count_totals(project: Project) -> Totals:
    """Return the progress of the project, in two queries."""
    complete, idle = _complete(), _build_idle_condition()
    counts = project.items.filter(purpose=Item.Purpose.ORDINARY).aggregate(
        items=Count("project"),
        complete=Count("project", filter=complete),
        idle=Count("project", filter=~complete & idle),
        assignments=Sum("annotators_wanted", default=0),
        submitted=Sum("submitted", default=0),
    )
    complete, idle = _complete("item__"), _build_idle_condition("item__")
    golds = Gold.objects.filter(item__project=project, item__purpose=Item.Purpose.ORDINARY, current=True)
    return Totals(
        **counts,
        **golds.aggregate(
            gold=Count("item"),
            complete_with_gold=Count("item", filter=complete),
            idle_with_gold=Count("item", filter=~complete & idle),
        ),
    )


def _complete(path: str = "") -> Q:
    return Q(**{f"{path}submitted__gte": F(f"{path}annotators_wanted")})


def _build_idle_condition(path: str = "") -> Q:
    return Q(**{f"{path}assigned": 0})


def list_own_annotations(member: Membership) -> QuerySet[Annotation]:
    """Return a member's annotations, returned ones first, then the newest."""
    return (
        Annotation.objects.filter(project=member.project, annotator=member.user)
        .select_related("item")
        .defer("document", "item__passage", "item__tokens", "item__extra")
        .annotate(
            open_comments=Count("comments", filter=Q(comments__resolved_at__isnull=True)),
            # An open adjudication has this status too, and nobody has returned it.
            is_returned=ExpressionWrapper(
                Q(status=Annotation.Status.RETURNED, task=Annotation.Task.ANNOTATION), BooleanField()
            ),
        )
        .order_by("-is_returned", "-pk")
    )


def list_unfinished_annotations(project: Project) -> QuerySet[Annotation]:
    """Return the assignments in progress."""
    return (
        project.annotations.filter(
            task=Annotation.Task.ANNOTATION,
            status__in=(Annotation.Status.RESERVED, Annotation.Status.RETURNED),
        )
        .select_related("item", "annotator", "batch")
        .defer("document", "item__passage", "item__tokens", "item__extra")
    )


def count_unfinished(project: Project) -> dict[str, int]:
    """Count the assignments in progress, and the people who hold them."""
    held = Q(status=Annotation.Status.RESERVED)
    returned = Q(status=Annotation.Status.RETURNED)
    return project.annotations.filter(held | returned, task=Annotation.Task.ANNOTATION).aggregate(
        reserved=Count("pk", filter=held),
        returned=Count("pk", filter=returned),
        people=Count("annotator", distinct=True),
    )


class Person(NamedTuple):
    """One member's progress: counts, mean active seconds, F1, last edit.

    The F1 is the mean over items with known gold (qualification and hidden gold), with their number.
    """

    name: str
    role: Role
    qualified: bool | None
    finished: int
    under_way: int
    returned: int
    last_week: int
    seconds: float | None
    known_f1: float | None
    known_items: int
    last_saved: object
    blind: bool


def list_people_progress(project: Project) -> list[Person]:
    """Return every member's progress, the busiest first. Five queries."""
    week = timezone.now() - timedelta(days=7)
    rows = (
        project.annotations.filter(task=Annotation.Task.ANNOTATION)
        .values("annotator")
        .annotate(
            finished=Count("annotator", filter=Q(status__in=Annotation.FINISHED)),
            under_way=Count("annotator", filter=Q(status=Annotation.Status.RESERVED)),
            returned=Count("annotator", filter=Q(status=Annotation.Status.RETURNED)),
            last_week=Count("annotator", filter=Q(status__in=Annotation.FINISHED, submitted_at__gte=week)),
            seconds=Avg("active_seconds", filter=Q(status__in=Annotation.FINISHED)),
            last_saved=Max("saved_at"),
        )
    )
    done = {row["annotator"]: row for row in rows}
    by_name = compute_scores(project)
    persons = [
        _build_person(member, dict(done.get(member.user_id, {})), by_name.get(member.user.get_username()))
        for member in records.list_people(project)
    ]
    return sorted(persons, key=lambda person: (-person.finished, person.name))


def _build_person(member: Membership, row: dict[str, Any], score: KnownScore | None) -> Person:
    return Person(
        name=member.user.get_username(),
        role=next(iter(list_roles(member)), Role(member.role)),  # the one that they had, if they left
        qualified=member.qualified,
        finished=row.get("finished", 0),
        under_way=row.get("under_way", 0),
        returned=row.get("returned", 0),
        last_week=row.get("last_week", 0),
        seconds=row.get("seconds"),
        known_f1=score.mean if score else None,
        known_items=score.items if score else 0,
        last_saved=row.get("last_saved"),
        blind=member.blind,
    )
