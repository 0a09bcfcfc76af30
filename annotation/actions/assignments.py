"""Handing out items: places are taken, kept for a while, given back, and never overbooked."""

import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Exists, F, Model, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import states
from annotation.actions import audit, qualification
from annotation.errors import NothingLeft, PlaceLost
from annotation.formats.checks import DRAFT
from annotation.models import Item, Membership, Project, Work
from annotation.parsed_items import document_of
from annotation.policies import NotAllowed, check_annotating
from foundation.prepared_queries import Prepared, PreparedUpdate, Slot, insert, slot

Row = TypeVar("Row", bound=Model)
TRIES = 20  # of claims that others were quicker at, before the person is asked to come back


def next_work(*, member: Membership) -> Work:
    """Give a member what to do next: a returned or begun work, else a qualification, hidden gold or new item.

    Raises:
        NotAllowed: the project is closed, or the member did not qualify.
        NothingLeft: no item waits for this person.
    """
    if member.qualified is None:
        qualification.judge_if_finished(member=member)
    check_annotating(member)
    now = timezone.now()
    if _ONE_OVER.all(project=member.project_id, now=now):
        expire(project=member.project, now=now)
    for search in (_claim_in_order, *[_claim_any] * TRIES):
        try:
            with transaction.atomic():
                return _next_work(member, now, search)
        except PlaceLost:
            continue
    raise NothingLeft(_("Others are taking the last items right now. Please try again in a moment."))


# Transactions wait for rows in the order project, member, work, item, and of each kind in the order of keys:
# so no two wait for each other (docs/adr/0012-order-of-locks.md).


def _next_work(member: Membership, now: datetime, claim: Callable[[Membership, datetime], Work]) -> Work:
    """Raises PlaceLost where others were quicker; what the attempt has locked is free again then."""
    _one_at_a_time(member)
    own = _own(member, _BEGUN)
    # "reserved" sorts before "returned": what is begun is finished first.
    for work in own:
        if work.status != Work.Status.EXPIRED and extend(work=work, now=now):
            return work
    if (qualifying := _to_qualify(member, now)) is not None:
        return qualifying
    if (item := _hidden_gold_item(member)) is not None:
        return _hand_out(member, item, now)
    return _take_up_again(own) or claim(member, now)


_MEMBER_HELD = Prepared(
    lambda: Membership.objects.select_for_update(no_key=True).filter(pk=slot("member", Membership)).only("pk")
)


def _one_at_a_time(member: Membership) -> None:
    """Hold a member's row: of one person's tabs, each is handed its item after the other."""
    if _locks_rows():
        _MEMBER_HELD.all(member=member.pk)


def _in(*statuses: Work.Status) -> Prepared[Work]:
    """A member's works in these states, without what was drawn."""

    def build() -> QuerySet[Work]:
        mine = {"project": slot("project", Project), "annotator": slot("user", User)}
        works = Work.objects.filter(**mine, task=Work.Task.ANNOTATION, status__in=statuses)
        return works.only("item_id", "task", "status", "reserved_until").order_by("status", "pk")

    return Prepared(build)


_BEGUN = _in(Work.Status.RESERVED, Work.Status.RETURNED, Work.Status.EXPIRED)
_GIVEN_BACK = _in(Work.Status.RELEASED)


def _own(member: Membership, works: Prepared[Work]) -> list[Work]:
    found = works.all(project=member.project_id, user=member.user_id)
    for work in found:
        work.project = member.project
    return found


def _take_up_again(works: Sequence[Work]) -> Work | None:
    """Resume the first of some works whose item has a free place again. Raises PlaceLost as `_next_work`."""
    if not works:
        return None
    free = Q(taken__lt=F("places")) | ~Q(purpose=Item.Purpose.ORDINARY)
    items = Item.objects.filter(free, pk__in=[work.item_id for work in works])
    there = set(items.values_list("pk", flat=True))
    for work in works:
        if work.item_id in there:
            return _resumed(work)
    return None


def _resumed(work: Work) -> Work:
    """The work with its place, taken again if it had none."""
    held = Work.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=work.pk)
    # Another tab may just have taken it up by saving.
    return held if held.status in Work.HOLDING else resume(work=held)


def _over(project: Project | Slot, now: datetime | Slot) -> QuerySet[Work]:
    """The reservations whose time is over."""
    return Work.objects.filter(project=project, status=Work.Status.RESERVED, reserved_until__lt=now)


_ONE_OVER = Prepared(
    lambda: _over(slot("project", Project), slot("now", Work, "reserved_until")).only("pk")[:1]
)


@transaction.atomic
def expire(*, project: Project, now: datetime) -> int:
    """End the reservations whose time is over, and give their places back. What was drawn is kept."""
    ids = list(_unlocked(_over(project, now)).values_list("pk", flat=True))
    if not ids:
        return 0
    Work.objects.filter(pk__in=ids).update(
        status=states.next_status(states.WORK, "expire", Work.Status.RESERVED)
    )
    items = list(Item.objects.filter(works__in=ids).order_by("pk").values_list("pk", "position"))
    for item, _position in items:
        Item.objects.filter(pk=item).update(taken=F("taken") - 1)
    _look_again(project, min(position for _item, position in items))
    audit.record(project=project, kind="reservations_expired", by=None, data={"works": ids})
    return len(ids)


def extend(*, work: Work, now: datetime) -> bool:
    """Keep a reservation alive: whoever works on an item does not lose it. False where it is over already."""
    set_end(work, now)
    same = Work.objects.filter(pk=work.pk, status=work.status)
    return bool(same.update(reserved_until=work.reserved_until))


def set_end(work: Work, now: datetime) -> None:
    """Put the end of a reserved work off, on the object alone."""
    if work.status == Work.Status.RESERVED:
        work.reserved_until = now + timedelta(minutes=work.project.reservation_minutes)


@transaction.atomic
def resume(*, work: Work) -> Work:
    """Take the place of an expired or released work again, where one is free.

    Raises PlaceLost when others have taken all of them.
    """
    status = states.next_status(states.WORK, "resume", work.status)
    if work.task == Work.Task.ANNOTATION and not _take(work.item_id):
        raise PlaceLost(_("Others took this item when the reservation ran out. What was drawn is kept."))
    work.status = status
    set_end(work, timezone.now())
    work.save(update_fields=["status", "reserved_until"])
    return work


@transaction.atomic
def release(*, work: Work, by: User) -> Work:
    """Give the place of an unfinished work back; its document stays. ``by`` is its annotator or a manager."""
    work = Work.objects.select_for_update(no_key=True).get(pk=work.pk)
    if work.task == Work.Task.ADJUDICATION:
        raise NotAllowed(_("An adjudication stays as it is; another adjudicator can take it over."))
    finished = work.status == Work.Status.RETURNED  # it was handed in once, and counted
    work.status = states.next_status(states.WORK, "release", work.status)
    work.save(update_fields=["status"])
    if work.task == Work.Task.ANNOTATION:
        counts = {"taken": F("taken") - 1, "submitted": F("submitted") - int(finished)}
        Item.objects.filter(pk=work.item_id).update(**counts)
        _look_again(work.project, work.item.position)
    audit.record(project=work.project, kind="work_released", by=by, data={"work": work.pk})
    return work


@transaction.atomic
def assign(*, item: Item, member: Membership, by: User) -> Work:
    """Reserve an item for a certain member.

    Raises PlaceLost when the item has no free place. A member who has it already keeps what they have.
    """
    _one_at_a_time(member)
    same = Work.objects.filter(item=item, annotator=member.user, task=Work.Task.ANNOTATION).first()
    if same is not None:
        return _resumed(same)
    if not _take(item.pk):
        raise PlaceLost(
            _("All %(places)d places of %(item)s are taken.")
            % {"places": item.places, "item": item.external_id}
        )
    work = _reserve(member, item, timezone.now())
    audit.record(
        project=item.project, kind="work_assigned", by=by, data={"work": work.pk, "to": member.user.username}
    )
    return work


_TAKE = PreparedUpdate(
    lambda: (
        Item.objects.filter(pk=slot("item", Item)).exclude(
            purpose=Item.Purpose.ORDINARY, taken__gte=F("places")
        ),
        {"taken": F("taken") + 1},
    )
)


def _take(item: int) -> bool:
    """Take one of the item's places. One conditional update: of two who come at once one gets the last."""
    return bool(_TAKE(item=item))


def _reserve(member: Membership, item: Item, now: datetime) -> Work:
    draft = item.extra.get(DRAFT)
    work = Work(
        item=item,
        project=member.project,
        annotator_id=member.user_id,
        # With the fields that a file may leave out.
        document=document_of(draft).model_dump(mode="json") if draft else {},
        reserved_until=now + timedelta(minutes=member.project.reservation_minutes),
    )
    insert(work)
    return work


def _hand_out(member: Membership, item: Item, now: datetime) -> Work:
    """Give a qualification or hidden gold item, which have room for everybody."""
    Item.objects.filter(pk=item.pk).update(taken=F("taken") + 1)
    Membership.objects.filter(pk=member.pk).update(handed_out=F("handed_out") + 1)
    return _reserve(member, item, now)


def _not_yet(user: int | Slot, items: QuerySet[Item]) -> QuerySet[Item]:
    mine = Work.objects.filter(item=OuterRef("pk"), annotator=user, task=Work.Task.ANNOTATION)
    return items.filter(~Exists(mine)).order_by("position")


def _to_qualify(member: Membership, now: datetime) -> Work | None:
    """The next qualification work of a member who has not qualified yet: what ran out, else a new item, else
    what was given back.
    """
    if member.project.qualification_score is None or member.qualified is not None:
        return None
    items = member.project.items.filter(purpose=Item.Purpose.QUALIFICATION)
    undone = member.project.works.filter(
        item__in=items,
        annotator=member.user_id,
        task=Work.Task.ANNOTATION,
        status__in=(Work.Status.EXPIRED, Work.Status.RELEASED),
    )
    begun = undone.order_by("status", "pk").first()
    if begun is not None and begun.status == Work.Status.EXPIRED:
        return _resumed(begun)
    left = _not_yet(member.user_id, items).first()
    if left is not None:
        return _hand_out(member, left, now)
    if begun is not None:
        return _resumed(begun)
    if items.exists():
        raise NothingLeft(_("All qualification items are done; they are being looked at."))
    return None


def _hidden_gold_item(member: Membership) -> Item | None:
    every = member.project.hidden_gold_every
    if every is None or (member.handed_out + 1) % every:
        return None
    return _not_yet(member.user_id, member.project.items.filter(purpose=Item.Purpose.HIDDEN_GOLD)).first()


def _free(user: int | Slot, project: int | Slot) -> QuerySet[Item]:
    """The items with a free place that the user has not had, in order."""
    ordinary = Item.objects.filter(project=project, purpose=Item.Purpose.ORDINARY, taken__lt=F("places"))
    return _not_yet(user, ordinary)


_FREE_FROM = Prepared(
    lambda: _unlocked(
        _free(slot("user", User), slot("project", Project)).filter(
            position__gte=slot("start", Item, "position")
        )
    )[:1]
)


def _claim_in_order(member: Membership, now: datetime) -> Work:
    """Claim the first item with a free place that the member has not had, of those that nobody holds."""
    for start in dict.fromkeys((member.scanned_to, 0)):
        item = _FREE_FROM.first(user=member.user_id, project=member.project_id, start=start)
        if item is not None:
            return _begin(member, item, now)
    raise PlaceLost("others hold what is left, if anything is")


def _claim_any(member: Membership, now: datetime) -> Work:
    """Claim one of the first free items, not the one that all others try too; else one that was given back.

    Raises NothingLeft.
    """
    rest = list(_free(member.user_id, member.project_id)[:TRIES])
    if rest:
        return _begin(member, random.choice(rest), now)
    again = _take_up_again(_own(member, _GIVEN_BACK))
    if again is None:
        raise NothingLeft(_("Every item has enough annotators, or you have done it. Thank you!"))
    return again


_HANDED_OUT = PreparedUpdate(
    lambda: (
        Membership.objects.filter(pk=slot("member", Membership)),
        {"handed_out": F("handed_out") + 1, "scanned_to": slot("position", Membership, "scanned_to")},
    )
)


def _begin(member: Membership, item: Item, now: datetime) -> Work:
    if not _take(item.pk):
        raise PlaceLost("others took the last place of the item")
    _HANDED_OUT(member=member.pk, position=item.position)
    return _reserve(member, item, now)


def _look_again(project: Project, position: int) -> None:
    """A place came free at a position: members who are beyond it start there again."""
    beyond = _unlocked(Membership.objects.filter(project=project, scanned_to__gt=position))
    # Those that are claiming right now are left out. They find the place when nothing else is left to them.
    Membership.objects.filter(pk__in=list(beyond.values_list("pk", flat=True))).update(scanned_to=position)


def _unlocked(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Those of the rows that no other transaction holds, held by this one. SQLite has no row locks: there
    every transaction holds the write lock from its start.
    """
    return rows.select_for_update(of=("self",), no_key=True, skip_locked=True) if _locks_rows() else rows


def _locks_rows() -> bool:
    return transaction.get_connection().features.has_select_for_update_skip_locked
