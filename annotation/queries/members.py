"""Read memberships of projects."""

from django.db.models import Count, F, Q, QuerySet

from accounts.models import User
from annotation.models import Annotation, Membership, Project
from foundation.prepared_queries import Prepared, slot


def memberships(user: User) -> QuerySet[Membership]:
    """Return a person's memberships with submitted and begun counts."""
    mine = Q(project__annotations__annotator=user, project__annotations__task=Annotation.Task.ANNOTATION)
    done = (Annotation.Status.SUBMITTED, Annotation.Status.IN_REVIEW, Annotation.Status.ACCEPTED)
    return (
        Membership.objects.filter(user=user, active=True)
        .select_related("project")
        .annotate(
            done=Count("project__annotations", filter=mine & Q(project__annotations__status__in=done)),
            returned=Count(
                "project__annotations",
                filter=mine & Q(project__annotations__status=Annotation.Status.RETURNED),
            ),
        )
        .order_by("-project__created_at")
    )


def _active() -> QuerySet[Membership]:
    return Membership.objects.select_related("project").filter(user=slot("user", User), active=True)


_NAMED = Prepared(lambda: _active().filter(project__slug=slot("slug", Project, "slug")))
_OF_WORK = Prepared(
    lambda: (
        _active()
        .filter(project__annotations=slot("annotation", Annotation))
        .annotate(annotator=F("project__annotations__annotator"), task=F("project__annotations__task"))
    )
)


def membership(user: User, slug: str) -> Membership | None:
    """Return a person's membership of a project, in one query."""
    return _NAMED.first(user=user.pk, slug=slug)


def membership_at(user: User, annotation: int) -> tuple[Membership, Annotation] | None:
    """Return the membership for an annotation, and the annotation.

    One query. The annotation has only the columns that say whose it is; others load on access.
    """
    member = _OF_WORK.first(user=user.pk, annotation=annotation)
    if member is None:
        return None
    columns = {
        "id": annotation,
        "project_id": member.project_id,
        "annotator_id": member.annotator,  # type: ignore[attr-defined]  # annotated
        "task": member.task,  # type: ignore[attr-defined]
    }
    reference = Annotation.from_db(None, list(columns), list(columns.values()))
    reference.project = member.project
    return member, reference
