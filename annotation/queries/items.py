"""The item list of a project: search, filter by state."""

from collections.abc import Sequence

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.models import Annotation, Gold, Item, Project
from foundation.database.prepared_queries import Slot

STATES = {
    "open": _("Open"),
    "in progress": _("In progress"),
    "complete": _("Complete"),
    "gold": _("With gold"),
    "no gold": _("Without gold"),
    "known": _("Known gold (tests)"),
}
_GOLD = Gold.objects.filter(item=OuterRef("pk"), current=True)
_RULES = {
    "open": Q(purpose=Item.Purpose.ORDINARY, assigned=0),
    "in progress": Q(purpose=Item.Purpose.ORDINARY, assigned__gt=0, submitted__lt=F("annotators_wanted")),
    "complete": Q(purpose=Item.Purpose.ORDINARY, submitted__gte=F("annotators_wanted")),
    "gold": Exists(_GOLD),
    "no gold": ~Exists(_GOLD),
    "known": ~Q(purpose=Item.Purpose.ORDINARY),
}


def select_new_items(user: int | Slot, items: QuerySet[Item]) -> QuerySet[Item]:
    """Return the items that the user was never assigned, in order."""
    mine = Annotation.objects.filter(item=OuterRef("pk"), annotator=user, task=Annotation.Task.ANNOTATION)
    return items.filter(~Exists(mine)).order_by("rank", "position")


def free_items(user: int | Slot, project: int | Slot) -> QuerySet[Item]:
    """Return items that want annotators and are new to the user, by rank."""
    ordinary = Item.objects.filter(
        project=project, purpose=Item.Purpose.ORDINARY, assigned__lt=F("annotators_wanted")
    )
    return select_new_items(user, ordinary)


def find_ordinary_items(project: Project, names: Sequence[str]) -> dict[str, Item]:
    """Return the ordinary items with these IDs, by ID."""
    items = project.items.filter(external_id__in=names, purpose=Item.Purpose.ORDINARY)
    return {item.external_id: item for item in items}


def search_items(project: Project, search: str, state: str) -> QuerySet[Item]:
    """Return the items whose ID or text has some words, in a state."""
    items = project.items.annotate(has_gold=Exists(_GOLD)).only(
        "project",
        "external_id",
        "position",
        "rank",
        "purpose",
        "text",
        "passage",
        "images",
        "annotators_wanted",
        "assigned",
        "submitted",
    )
    if search:
        items = items.filter(Q(external_id__icontains=search) | Q(text__icontains=search))
    return items.filter(_RULES[state]) if state in _RULES else items
