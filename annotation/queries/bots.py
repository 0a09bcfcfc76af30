"""Read what simulated annotators need, and what is stored of their edits."""

from collections import Counter
from collections.abc import Collection

from django.db.models import TextField
from django.db.models.functions import Cast

from annotation.errors import NotFound
from annotation.models import Annotation, Gold, Operation, Project


def find_project(slug: str) -> Project:
    """Return the project of that name.

    Raises:
        NotFound: Lists the names that exist.
    """
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        names = ", ".join(Project.objects.order_by("slug").values_list("slug", flat=True)[:20])
        others = f"; there are: {names}" if names else ", nor any other yet"
        raise NotFound(f"there is no annotation project {slug!r}{others}")
    return project


def read_current_gold(project: Project) -> dict[str, str]:
    """Return the current gold documents as JSON by external ID."""
    rows = Gold.objects.filter(item__project=project, current=True)
    return dict(rows.values_list("item__external_id", Cast("document", TextField())).iterator())


def count_stored_operations(project: Project, names: Collection[str]) -> Counter[tuple[int, str]]:
    """Count each stored operation of these users, by annotation and ID."""
    rows = Operation.objects.filter(annotation__project=project, by__username__in=names)
    return Counter(
        (annotation, str(uid)) for annotation, uid in rows.values_list("annotation_id", "uid").iterator()
    )


def find_submitted_annotations(project: Project, names: Collection[str]) -> set[int]:
    """Return the annotations that these users have submitted."""
    rows = Annotation.objects.filter(
        project=project, annotator__username__in=names, submitted_at__isnull=False
    )
    return set(rows.values_list("pk", flat=True))
