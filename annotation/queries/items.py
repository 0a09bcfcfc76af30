"""The item list of a project: search, filter by state, pages by position."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.models import Annotation, Gold, Item, Project
from foundation.prepared_queries import Slot

SHOWN = 50
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


def new_to(user: int | Slot, items: QuerySet[Item]) -> QuerySet[Item]:
    """Return the items that the user was never assigned, in order."""
    mine = Annotation.objects.filter(item=OuterRef("pk"), annotator=user, task=Annotation.Task.ANNOTATION)
    return items.filter(~Exists(mine)).order_by("rank", "position")


def free_items(user: int | Slot, project: int | Slot) -> QuerySet[Item]:
    """Return items that want annotators and are new to the user, by rank."""
    ordinary = Item.objects.filter(
        project=project, purpose=Item.Purpose.ORDINARY, assigned__lt=F("annotators_wanted")
    )
    return new_to(user, ordinary)


def ordinary_items(project: Project, names: Sequence[str]) -> dict[str, Item]:
    """Return the ordinary items with these IDs, by ID."""
    items = project.items.filter(external_id__in=names, purpose=Item.Purpose.ORDINARY)
    return {item.external_id: item for item in items}


class ItemPage(NamedTuple):
    """One page of items, and where its neighbours begin (None at an end)."""

    items: list[Item]
    before: int | None
    after: int | None


def item_page(
    project: Project,
    *,
    search: str = "",
    state: str = "",
    after: int = 0,
    before: int | None = None,
    order: Sequence[Any] = (),
    number: int = 1,
) -> ItemPage:
    """Return the items after a position, or the last ones before one.

    A page begins at a position, so the last one costs as much as the first. With an order of their own the
    items come by the number of the page, from 1, and its neighbours are numbers too.
    """
    matching = _matching(project, search, state)
    if order:
        return _numbered(matching.order_by(*order), number)
    if before is not None:
        some = list(matching.filter(position__lt=before).order_by("-position")[: SHOWN + 1])
        more, items = len(some) > SHOWN, some[:SHOWN][::-1]
        return ItemPage(items, items[0].position if more else None, items[-1].position if items else None)
    some = list(matching.filter(position__gt=after).order_by("position")[: SHOWN + 1])
    items, more = some[:SHOWN], len(some) > SHOWN
    return ItemPage(
        items, items[0].position if after and items else None, items[-1].position if more else None
    )


def _numbered(ordered: QuerySet[Item], number: int) -> ItemPage:
    start = (number - 1) * SHOWN
    # First the keys alone: PostgreSQL would look for the gold of every item before the page.
    keys = list(ordered.values_list("pk", flat=True)[start : start + SHOWN + 1])
    items = list(ordered.filter(pk__in=keys[:SHOWN]))
    return ItemPage(items, number - 1 or None, number + 1 if len(keys) > SHOWN else None)


def _matching(project: Project, search: str, state: str) -> QuerySet[Item]:
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
