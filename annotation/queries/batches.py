"""Read the batches of a project, and their progress."""

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from annotation.models import Annotation, Batch, Membership, Project


class BatchProgress(NamedTuple):
    """A batch, and how many of its annotations are finished."""

    batch: Batch
    items: int
    finished: int

    @property
    def is_overdue(self) -> bool:
        """Return True if the due date is past and work is left."""
        return self.finished < self.items and is_past(self.batch.due_on)


def is_past(due_on: date | None) -> bool:
    """Return True if a due date is before today; the day itself is in time."""
    return due_on is not None and due_on < timezone.localdate()


def is_overdue(project: Project) -> bool:
    """Return True if a project is open after its due date."""
    return project.status == Project.Status.OPEN and is_past(project.due_on)


def select_batches(project: Project) -> QuerySet[Batch]:
    """Return a project's batches with their counts, the earliest due first."""
    rows = Batch.objects.filter(project=project).select_related("annotator", "project")
    return rows.annotate(
        items=Count("annotations"),
        finished=Count("annotations", filter=Q(annotations__status__in=Annotation.FINISHED)),
    ).order_by(F("due_on").asc(nulls_last=True), "pk")


def list_unfinished_batches(member: Membership) -> list[BatchProgress]:
    """Return a person's batches with work left."""
    rows = select_batches(member.project).filter(annotator=member.user)
    return [progress for progress in build_batch_progress(rows) if progress.finished < progress.items]


def build_batch_progress(rows: Iterable[Batch]) -> list[BatchProgress]:
    """Return the progress of batches that `batches` fetched."""
    return [BatchProgress(batch, batch.items, batch.finished) for batch in rows]  # type: ignore[attr-defined]


def count_overdue_batches(project: Project) -> int:
    """Count the batches with work left after their due date."""
    unfinished = Annotation.objects.filter(batch__project=project).exclude(status__in=Annotation.FINISHED)
    late = unfinished.filter(batch__due_on__lt=timezone.localdate())
    return late.values("batch").distinct().count()
