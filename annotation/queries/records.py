"""The rows of a project as lists that are read page by page: items, works, gold, systems' outputs.

Pages begin after a row, not at an offset, so that the last page costs as much as the first.
"""

from collections.abc import Iterable

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from accounts.models import User
from annotation.models import (
    Annotation,
    Delivery,
    Gold,
    Guideline,
    ImageFile,
    Item,
    Membership,
    Operation,
    Project,
    Role,
    SystemOutput,
    Webhook,
)
from annotation.policies import has_role


def items_for(member: Membership) -> QuerySet[Item]:
    """The items that a member may look at, in order: all, or for annotators those that they were handed."""
    gold = Gold.objects.filter(item=OuterRef("pk"), current=True)
    items = member.project.items.annotate(has_gold=Exists(gold)).order_by("position")
    if has_role(member, Role.ADJUDICATOR):
        return items
    own = Annotation.objects.filter(
        item=OuterRef("pk"), annotator=member.user, task=Annotation.Task.ANNOTATION
    )
    return items.filter(Exists(own))


def with_status(items: QuerySet[Item], status: str) -> QuerySet[Item]:
    """Items that want annotators ("open"), have enough finished works, or have or lack gold."""
    rules = {
        "open": Q(submitted__lt=F("annotators_wanted")),
        "complete": Q(submitted__gte=F("annotators_wanted")),
        "gold": Q(has_gold=True),
        "no gold": Q(has_gold=False),
    }
    return items.filter(rules[status])


def annotations_for(member: Membership) -> QuerySet[Annotation]:
    """The works that a member may look at, oldest first: all, or for annotators their own."""
    found = member.project.annotations.select_related("item", "annotator")
    annotations = found.defer(*_heavy("item")).order_by("pk")
    own = annotations.filter(annotator=member.user, task=Annotation.Task.ANNOTATION)
    return annotations if has_role(member, Role.ADJUDICATOR) else own


def golds(project: Project) -> QuerySet[Gold]:
    """All versions of all gold, oldest first."""
    found = Gold.objects.filter(item__project=project)
    return found.select_related("item", "by").defer(*_heavy("item")).order_by("pk")


def outputs(project: Project) -> QuerySet[SystemOutput]:
    """What systems put out, oldest first."""
    found = SystemOutput.objects.filter(item__project=project)
    return found.select_related("item").defer(*_heavy("item")).order_by("pk")


def _heavy(path: str) -> list[str]:
    """The large columns of an item, which lists of other rows do not read."""
    return [f"{path}__{name}" for name in ("program", "text", "passage", "tokens", "images", "extra")]


def image_files(project: Project, items: Iterable[Item]) -> dict[str, ImageFile]:
    """The images that these items name. One query."""
    names = {name for item in items for name in item.images}
    found = ImageFile.objects.filter(project=project, name__in=names) if names else ImageFile.objects.none()
    return {one.name: one for one in found}


def history(annotation: Annotation) -> QuerySet[Operation]:
    """Every edit of a work, oldest first."""
    return annotation.operations.select_related("by").order_by("revision")


def people(project: Project) -> QuerySet[Membership]:
    """Everybody who is or was in a project."""
    return project.memberships.select_related("user").order_by("user__username")


def guideline_versions(project: Project) -> QuerySet[Guideline]:
    """Every version of every guideline."""
    return project.guidelines.select_related("created_by").order_by("module", "version")


def webhooks(project: Project) -> QuerySet[Webhook]:
    """The project's webhooks, with how many deliveries wait and how many were given up."""
    over = Q(deliveries__next_at__isnull=True, deliveries__delivered_at__isnull=True)
    return project.webhooks.annotate(
        waiting=Count("deliveries", filter=Q(deliveries__next_at__isnull=False)),
        failed=Count("deliveries", filter=over & Q(deliveries__attempts__gt=0)),
    ).order_by("pk")


def deliveries(webhook: Webhook) -> QuerySet[Delivery]:
    """The last that an address was sent, the newest first."""
    return webhook.deliveries.order_by("-pk")[:100]


def user_called(username: str) -> User | None:
    """The user of that name."""
    return User.objects.filter(username=username).first()
