"""Change the order in which ordinary items are assigned."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import BigIntegerField, Case, F, Max, Min, OuterRef, Q, Subquery, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, Random

from accounts.models import User
from annotation.actions import audit, disagreement
from annotation.actions.projects import lock
from annotation.models import Item, Membership, Order, Project, SystemOutput
from annotation.models.projects import LOWEST_RANK

# The score comes first in a rank, and the position decides between equal scores.
POSITIONS, STEPS = 10**10, 10**6
_NEWEST_SCORE = (
    SystemOutput.objects.filter(item=OuterRef("pk"), score__isnull=False).order_by("-pk").values("score")[:1]
)


def _cast_to_integer(value: Combinable) -> Cast:
    return Cast(value, BigIntegerField())


RANKS: dict[str, Combinable] = {
    Order.FILE: _cast_to_integer(F("position")),
    Order.RANDOM: _cast_to_integer(Random() * Value(1e15)),
    # Items that no model has scored come last.
    Order.UNCERTAIN: _cast_to_integer(Coalesce(Subquery(_NEWEST_SCORE), Value(2.0)) * Value(float(STEPS)))
    * Value(POSITIONS)
    + F("position"),
    # Then those that fewer than two people finished, and last those on which all agree.
    Order.DISPUTED: _cast_to_integer(
        Case(
            When(Q(disagreement__gt=0), then=(1.0 - F("disagreement")) * Value(float(STEPS))),
            When(disagreement=None, then=Value(float(STEPS))),
            default=Value(2.0 * STEPS),
        )
    )
    * Value(POSITIONS)
    + F("position"),
}


@transaction.atomic
def order_items(*, project: Project, order: Order, by: User) -> int:
    """Order all ordinary items; return their number.

    Items that are imported later come after them.
    """
    _rescan_all(project)
    if order == Order.DISPUTED:
        disagreement.measure_missing(project=project)
    changed = lock(project.items.filter(purpose=Item.Purpose.ORDINARY)).update(rank=RANKS[order])
    audit.record(project=project, kind="items_ordered", by=by, data={"order": order.value, "items": changed})
    return changed


@transaction.atomic
def move_items(*, project: Project, items: Sequence[Item], order: Order, by: User) -> None:
    """Move items, in the order given, before or after all others."""
    _rescan_all(project)
    ends = project.items.aggregate(low=Min("rank"), high=Max("rank"))
    start = ends["low"] - len(items) if order == Order.FIRST else ends["high"] + 1
    ranks = [When(pk=item.pk, then=Value(start + index)) for index, item in enumerate(items)]
    lock(project.items.filter(pk__in=[item.pk for item in items])).update(rank=Case(*ranks))
    names = ", ".join(item.external_id for item in items)
    audit.record(project=project, kind="items_ordered", by=by, data={"order": order.value, "item": names})


def _rescan_all(project: Project) -> None:
    """Make all members search from the first item again."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # one order at a time
    lock(Membership.objects.filter(project=project)).update(scanned_to=LOWEST_RANK)
