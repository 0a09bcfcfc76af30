"""Lists of a project that clients read page by page.

Pages begin after a row, not at an offset, so that the last page costs as much as the first.
"""

from collections.abc import Iterable

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounts.models import User
from accounts.policy_table import Act
from annotation.models import (
    Annotation,
    Gold,
    Guideline,
    ImageFile,
    Item,
    Membership,
    Operation,
    Project,
    SystemOutput,
    Webhook,
)
from annotation.policies import may
from annotation.queries.members import load_workspace_roles
from jobs.webhooks.queries import annotate_counts


def list_visible_items(member: Membership) -> QuerySet[Item]:
    """Return the items that a member may see: all, or those assigned to them."""
    gold = Gold.objects.filter(item=OuterRef("pk"), current=True)
    items = member.project.items.annotate(has_gold=Exists(gold)).order_by("position")
    if may(member, Act.ANNOTATION_SETTLE):
        return items
    own = Annotation.objects.filter(
        item=OuterRef("pk"), annotator=member.user, task=Annotation.Task.ANNOTATION
    )
    return items.filter(Exists(own))


def filter_by_status(items: QuerySet[Item], status: str) -> QuerySet[Item]:
    """Return items that are open or complete, or that have or lack gold."""
    rules = {
        "open": Q(submitted__lt=F("annotators_wanted")),
        "complete": Q(submitted__gte=F("annotators_wanted")),
        "gold": Q(has_gold=True),
        "no gold": Q(has_gold=False),
    }
    return items.filter(rules[status])


def list_visible_annotations(member: Membership) -> QuerySet[Annotation]:
    """Return the annotations that a member may see, oldest first."""
    rows = member.project.annotations.select_related("item", "annotator", "project")
    annotations = rows.defer(*_list_large_columns("item")).order_by("pk")
    own = annotations.filter(annotator=member.user, task=Annotation.Task.ANNOTATION)
    return annotations if may(member, Act.ANNOTATION_SETTLE) else own


def list_golds(project: Project) -> QuerySet[Gold]:
    """Return all versions of all gold, oldest first."""
    rows = Gold.objects.filter(item__project=project)
    return rows.select_related("item", "by").defer(*_list_large_columns("item")).order_by("pk")


def list_outputs(project: Project) -> QuerySet[SystemOutput]:
    """Return model outputs, oldest first."""
    rows = SystemOutput.objects.filter(item__project=project)
    return rows.select_related("item").defer(*_list_large_columns("item")).order_by("pk")


def _list_large_columns(path: str) -> list[str]:
    """Return the large columns of an item, which other lists skip."""
    return [f"{path}__{name}" for name in ("program", "text", "passage", "tokens", "images", "extra")]


def find_image_files(project: Project, items: Iterable[Item]) -> dict[str, ImageFile]:
    """Return the images that these items name, in one query."""
    names = {name for item in items for name in item.images}
    rows = ImageFile.objects.filter(project=project, name__in=names) if names else ImageFile.objects.none()
    return {file.name: file for file in rows}


def list_operations(annotation: Annotation) -> QuerySet[Operation]:
    """Return every edit of an annotation, oldest first."""
    return annotation.operations.select_related("by").order_by("revision")


def select_members(project: Project) -> QuerySet[Membership]:
    """Return everybody who is or was in a project."""
    return project.memberships.select_related("user", "project")


def list_people(project: Project) -> list[Membership]:
    """Return the members by name, with their roles in the workspace."""
    rows = list(select_members(project).order_by("user__username"))
    load_workspace_roles(rows)
    return rows


def lock_project(project: Project) -> Project:
    """Lock a project until the transaction ends, and read it again."""
    return Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def list_guideline_versions(project: Project) -> QuerySet[Guideline]:
    """Return every version of every guideline."""
    return project.guidelines.select_related("created_by").order_by("module", "version")


def list_webhooks(project: Project) -> QuerySet[Webhook]:
    """Return the project's webhooks with waiting and failed deliveries."""
    return annotate_counts(project.webhooks.all())


def find_user(username: str) -> User | None:
    """Return the user of that name."""
    return User.objects.filter(username=username).first()
