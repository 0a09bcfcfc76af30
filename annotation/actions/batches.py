"""Give a person many items at once, under a name and a due date."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import states
from annotation.actions import audit
from annotation.actions.assignments import TRIES, build_full_error, build_reservation, hold_member, release
from annotation.errors import AssignmentLost, Conflict
from annotation.models import Annotation, Batch, Item, Membership
from annotation.queries.items import free_items, select_new_items
from foundation.messages import say

MOST_ITEMS = 1_000  # of a batch


class BatchPlan(NamedTuple):
    """The contents of a new batch: chosen items in order, or the next ones.

    number: Of the next items, if none are chosen.
    """

    name: str
    items: Sequence[Item] = ()
    number: int = 0
    due_on: date | None = None


@transaction.atomic
def assign_batch(*, member: Membership, plan: BatchPlan, by: User) -> Batch:
    """Reserve items for a person until they are done or released.

    All chosen items are assigned, or none. Of the next ones there may be fewer than wanted. Hidden gold items
    come in between as often as among single assignments, beyond the number.

    Raises:
        AssignmentLost: No item is free, or a chosen one has enough annotators.
        Conflict: The person has a chosen item already, or a batch of this name.
    """
    member = hold_member(member)
    same = Batch.objects.filter(project=member.project, annotator=member.user, name=plan.name)
    if same.exists():
        text = "%(who)s has a batch %(name)s already; choose another name"
        raise Conflict(say(text, who=member.user.get_username(), name=plan.name))
    batch = Batch.objects.create(
        project=member.project, name=plan.name, annotator=member.user, due_on=plan.due_on, created_by=by
    )
    items = _lock_chosen_items(member, plan.items) if plan.items else _lock_next_items(member, plan.number)
    _reserve_all(batch, member, items)
    audit.record(
        project=batch.project,
        kind="batch_assigned",
        by=by,
        data=_describe_batch(batch) | {"items": len(items)},
    )
    return batch


def _lock_next_items(member: Membership, number: int) -> list[Item]:
    """Return the next free items for a member, locked.

    Others may take some before they are locked, so a few more are looked at.
    """
    keys = list(free_items(member.user_id, member.project_id).values_list("pk", flat=True)[: number + TRIES])
    items = [item for item in _lock_items(keys) if item.assigned < item.annotators_wanted]
    if not items:
        raise AssignmentLost(_("No free item is left for %(name)s.") % {"name": member.user.get_username()})
    return items[:number]


def _lock_chosen_items(member: Membership, items: Sequence[Item]) -> list[Item]:
    there = {
        annotation.item_id
        for annotation in _lock_earlier_annotations(member, items)
        if annotation.status in Annotation.HOLDING
    }
    if (item := next((item for item in items if item.pk in there), None)) is not None:
        text = "%(who)s has item %(item)s already; leave it out"
        raise Conflict(say(text, who=member.user.get_username(), item=item.external_id))
    locked = _lock_items([item.pk for item in items])
    for item in locked:
        if item.assigned >= item.annotators_wanted:
            raise build_full_error(item)
    return locked


def _lock_earlier_annotations(member: Membership, items: Sequence[Item]) -> list[Annotation]:
    """Lock and return what the member did of these items."""
    annotations = Annotation.objects.filter(
        item__in=items, annotator=member.user, task=Annotation.Task.ANNOTATION
    )
    return list(annotations.select_for_update(no_key=True).order_by("pk"))


def _lock_items(keys: Sequence[int]) -> list[Item]:
    """Lock items by ascending key, and return them in the order given."""
    rows = Item.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk")
    items = {item.pk: item for item in rows}
    return [items[key] for key in keys if key in items]


def _reserve_all(batch: Batch, member: Membership, items: Sequence[Item]) -> None:
    given_back = {annotation.item_id: annotation for annotation in _lock_earlier_annotations(member, items)}
    woven = list(_mix_in_hidden_gold(member, items))
    new: list[Annotation] = []
    for item in woven:
        annotation = given_back.get(item.pk) or build_reservation(member, item)
        annotation.batch = batch
        if annotation.pk is None:
            new.append(annotation)
        else:
            annotation.status = states.find_next_status(states.ANNOTATION, "resume", annotation.status)
            annotation.reserved_until = None
            annotation.save(update_fields=["status", "batch", "reserved_until"])
    Annotation.objects.bulk_create(new)
    keys = sorted(item.pk for item in woven)
    Item.objects.filter(pk__in=keys).update(assigned=F("assigned") + 1)
    Membership.objects.filter(pk=member.pk).update(handed_out=F("handed_out") + len(woven))


def _mix_in_hidden_gold(member: Membership, items: Sequence[Item]) -> Iterator[Item]:
    """Yield the items, and hidden gold as often as single assignments do."""
    every, handed_out = member.project.hidden_gold_every, member.handed_out
    hidden = iter(
        select_new_items(member.user_id, member.project.items.filter(purpose=Item.Purpose.HIDDEN_GOLD))
        if every is not None
        else ()
    )
    for item in items:
        if (
            every is not None
            and (handed_out + 1) % every == 0
            and (gold_item := next(hidden, None)) is not None
        ):
            handed_out += 1
            yield gold_item
        handed_out += 1
        yield item


@transaction.atomic
def change_due_date(*, batch: Batch, due_on: date | None, by: User) -> Batch:
    """Give a batch another due date, or none."""
    batch.due_on = due_on
    batch.save(update_fields=["due_on"])
    audit.record(project=batch.project, kind="batch_due", by=by, data=_describe_batch(batch))
    return batch


@transaction.atomic
def release_batch(*, batch: Batch, by: User) -> int:
    """Release the unfinished items of a batch; return their number.

    Finished items stay in it, and a batch without items is deleted.
    """
    unfinished = batch.annotations.filter(status=Annotation.Status.RESERVED).order_by("pk")
    annotations = list(unfinished.select_for_update(no_key=True))
    for annotation in annotations:
        release(annotation=annotation, by=by)
    audit.record(
        project=batch.project,
        kind="batch_released",
        by=by,
        data=_describe_batch(batch) | {"items": len(annotations)},
    )
    if not batch.annotations.exists():
        batch.delete()
    return len(annotations)


def _describe_batch(batch: Batch) -> dict[str, str]:
    details = {"name": batch.name, "to": batch.annotator.get_username()}
    return details | ({"due_on": batch.due_on.isoformat()} if batch.due_on is not None else {})
