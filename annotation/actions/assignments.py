"""Assign items: reserve, extend, expire, release, and never overbook."""

import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import F, Model, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import states
from annotation.actions import audit, disagreement, qualification
from annotation.errors import AssignmentLost, NothingLeft
from annotation.formats.checks import DRAFT
from annotation.models import Annotation, Item, Membership, Project
from annotation.models.projects import LOWEST_RANK
from annotation.parsed_items import parse_document
from annotation.policies import NotAllowed, check_annotating
from annotation.queries.items import free_items, select_new_items
from foundation.database.prepared_queries import Prepared, PreparedUpdate, Slot, insert, make_slot

Row = TypeVar("Row", bound=Model)
TRIES = 20  # attempts that lose against others before the person is asked to try again


def assign_next_annotation(*, member: Membership) -> Annotation:
    """Return a member's next annotation, assigning an item if needed.

    The order is: returned or begun annotations, qualification, the person's batches, hidden gold, new items.

    Raises:
        NotAllowed: No role of the member allows it, the project is closed, or the member did not qualify.
        NothingLeft: No item is left for this person.
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
                return _try_to_assign_next(member, now, search)
        except AssignmentLost:
            continue
    raise NothingLeft(_("Others are taking the last items right now. Try again in a moment."))


# Transactions lock rows in the order project, member, annotation, item, and each kind by ascending key, so
# that no two deadlock (docs/adr/0012-order-of-locks.md).


def _try_to_assign_next(
    member: Membership, now: datetime, claim: Callable[[Membership, datetime], Annotation]
) -> Annotation:
    """Make one attempt in a transaction, which a loss rolls back.

    Raises:
        AssignmentLost: Others were quicker.
    """
    member = hold_member(member)
    own = _list_own_annotations(member, _BEGUN)
    untouched = [
        annotation for annotation in own if annotation.batch_id is not None and not annotation.revision
    ]
    # "reserved" sorts before "returned", so begun annotations come first.
    for annotation in own:
        begun = annotation not in untouched and annotation.status != Annotation.Status.EXPIRED
        if begun and extend(annotation=annotation, now=now):
            return annotation
    if (qualifying := _to_qualify(member, now)) is not None:
        return qualifying
    if (from_batch := _start_first_batch_annotation(untouched, now)) is not None:
        return from_batch
    if (item := _find_hidden_gold(member)) is not None:
        return _hand_out(member, item, now)
    return _take_up_again(own) or claim(member, now)


_MEMBER_HELD = Prepared(
    lambda: (
        Membership.objects.select_for_update(no_key=True)
        .filter(pk=make_slot("member", Membership))
        .only("pk")
    )
)


def hold_member(member: Membership) -> Membership:
    """Lock a member's row, so that tabs of one person take turns.

    The row is made if there is none yet.

    People who work here by a role in the workspace get theirs with the first assignment, in the same
    transaction. It holds the state of an annotator and gives no right.
    """
    if member.pk is not None:
        _hold(member.pk)
        return member
    row, _is_new = Membership.objects.get_or_create(
        project=member.project, user=member.user, defaults={"active": False}
    )
    row.project, row.user, row.workspace_roles = member.project, member.user, member.workspace_roles
    _hold(row.pk)
    return row


def _hold(member: int) -> None:
    if _can_lock_rows():
        _MEMBER_HELD.all(member=member)


def _prepare_query_by_status(*statuses: Annotation.Status) -> Prepared[Annotation]:
    """Prepare a query of a member's annotations in these states, no documents."""

    def build() -> QuerySet[Annotation]:
        mine = {"project": make_slot("project", Project), "annotator": make_slot("user", User)}
        annotations = Annotation.objects.filter(**mine, task=Annotation.Task.ANNOTATION, status__in=statuses)
        columns = ("item_id", "batch_id", "task", "status", "revision", "reserved_until")
        return annotations.only(*columns).order_by("status", "pk")

    return Prepared(build)


_BEGUN = _prepare_query_by_status(
    Annotation.Status.RESERVED, Annotation.Status.RETURNED, Annotation.Status.EXPIRED
)
_GIVEN_BACK = _prepare_query_by_status(Annotation.Status.RELEASED)


def _list_own_annotations(member: Membership, annotations: Prepared[Annotation]) -> list[Annotation]:
    own = annotations.all(project=member.project_id, user=member.user_id)
    for annotation in own:
        annotation.project = member.project
    return own


def _start_first_batch_annotation(annotations: Sequence[Annotation], now: datetime) -> Annotation | None:
    """Return the first of these annotations that still waits.

    Batches come by their due date, and the clock of an annotation starts now.
    """
    if not annotations:
        return None
    waiting = Annotation.objects.filter(
        pk__in=[annotation.pk for annotation in annotations], status=Annotation.Status.RESERVED
    )
    first = waiting.order_by(F("batch__due_on").asc(nulls_last=True), "batch", "pk").first()
    return first if first is not None and waiting.filter(pk=first.pk).update(started_at=now) else None


def _take_up_again(annotations: Sequence[Annotation]) -> Annotation | None:
    """Resume the first annotation whose item wants annotators again.

    Raises:
        AssignmentLost: As `_try_to_assign_next`.
    """
    if not annotations:
        return None
    free = Q(assigned__lt=F("annotators_wanted")) | ~Q(purpose=Item.Purpose.ORDINARY)
    items = Item.objects.filter(free, pk__in=[annotation.item_id for annotation in annotations])
    there = set(items.values_list("pk", flat=True))
    for annotation in annotations:
        if annotation.item_id in there:
            return _resume_if_needed(annotation)
    return None


def _resume_if_needed(annotation: Annotation) -> Annotation:
    """Return the annotation with an assignment, renewed if it had none."""
    row = (
        Annotation.objects.select_for_update(of=("self",), no_key=True)
        .select_related("project")
        .get(pk=annotation.pk)
    )
    # Another tab may just have resumed it by saving.
    return row if row.status in Annotation.HOLDING else resume(annotation=row)


def _find_expired_reservations(project: Project | Slot, now: datetime | Slot) -> QuerySet[Annotation]:
    """Return the expired reservations."""
    return Annotation.objects.filter(
        project=project, status=Annotation.Status.RESERVED, reserved_until__lt=now
    )


_ONE_OVER = Prepared(
    lambda: _find_expired_reservations(
        make_slot("project", Project), make_slot("now", Annotation, "reserved_until")
    ).only("pk")[:1]
)


@transaction.atomic
def expire(*, project: Project, now: datetime) -> int:
    """End expired reservations and free their items. Documents stay."""
    ids = list(_lock_free_rows(_find_expired_reservations(project, now)).values_list("pk", flat=True))
    if not ids:
        return 0
    Annotation.objects.filter(pk__in=ids).update(
        status=states.find_next_status(states.ANNOTATION, "expire", Annotation.Status.RESERVED)
    )
    items = list(Item.objects.filter(annotations__in=ids).order_by("pk").values_list("pk", "rank"))
    for item, _rank in items:
        Item.objects.filter(pk=item).update(assigned=F("assigned") - 1)
    rescan(project, min(rank for _item, rank in items))
    audit.record(project=project, kind="reservations_expired", by=None, data={"annotations": ids})
    return len(ids)


def extend(*, annotation: Annotation, now: datetime) -> bool:
    """Extend a reservation, since its annotator is active.

    Returns False if it has expired already.
    """
    set_end(annotation, now)
    same = Annotation.objects.filter(pk=annotation.pk, status=annotation.status)
    return bool(same.update(reserved_until=annotation.reserved_until))


def set_end(annotation: Annotation, now: datetime) -> None:
    """Postpone the end of a reservation, on the object alone.

    That of a batch has none.
    """
    if annotation.status == Annotation.Status.RESERVED and annotation.batch_id is None:
        annotation.reserved_until = now + timedelta(minutes=annotation.project.reservation_minutes)


@transaction.atomic
def resume(*, annotation: Annotation) -> Annotation:
    """Assign an expired or released annotation to its author again.

    Raises:
        AssignmentLost: The item has enough other annotators.
    """
    status = states.find_next_status(states.ANNOTATION, "resume", annotation.status)
    if annotation.task == Annotation.Task.ANNOTATION and not _count_assignment(annotation.item_id):
        raise AssignmentLost(
            _("Your reservation expired and others took this item. Your annotation remains saved.")
        )
    annotation.status = status
    set_end(annotation, timezone.now())
    annotation.save(update_fields=["status", "reserved_until"])
    return annotation


@transaction.atomic
def release(*, annotation: Annotation, by: User) -> Annotation:
    """Release an unfinished assignment; the document stays.

    ``by`` is its annotator or a manager.
    """
    annotation = Annotation.objects.select_for_update(no_key=True).get(pk=annotation.pk)
    if annotation.task == Annotation.Task.ADJUDICATION:
        raise NotAllowed(_("An adjudication cannot be released. Another adjudicator can take it over."))
    finished = annotation.status == Annotation.Status.RETURNED  # it was submitted once, and counted
    annotation.status = states.find_next_status(states.ANNOTATION, "release", annotation.status)
    annotation.batch = None  # if its annotator resumes it, it is like any other
    annotation.save(update_fields=["status", "batch"])
    if annotation.task == Annotation.Task.ANNOTATION:
        counts = {"assigned": F("assigned") - 1, "submitted": F("submitted") - int(finished)}
        Item.objects.filter(pk=annotation.item_id).update(**counts)
        rescan(annotation.project, annotation.item.rank)
        if finished:
            disagreement.measure(item=annotation.item_id)
    audit.record(
        project=annotation.project, kind="annotation_released", by=by, data={"annotation": annotation.pk}
    )
    return annotation


@transaction.atomic
def assign(*, item: Item, member: Membership, by: User) -> Annotation:
    """Assign an item to a member. Members who have it already keep it.

    Raises:
        AssignmentLost: The item has enough annotators.
    """
    member = hold_member(member)
    same = Annotation.objects.filter(
        item=item, annotator=member.user, task=Annotation.Task.ANNOTATION
    ).first()
    if same is not None:
        return _resume_if_needed(same)
    if not _count_assignment(item.pk):
        raise build_full_error(item)
    annotation = _reserve(member, item, timezone.now())
    audit.record(
        project=item.project,
        kind="annotation_assigned",
        by=by,
        data={"annotation": annotation.pk, "to": member.user.username},
    )
    return annotation


def build_full_error(item: Item) -> AssignmentLost:
    """Return the error for an item that has enough annotators."""
    text = _(
        "All %(number)d assignments of %(item)s are taken. Release one, or raise the number of annotators "
        "per item."
    )
    return AssignmentLost(text % {"number": item.annotators_wanted, "item": item.external_id})


_ASSIGN = PreparedUpdate(
    lambda: (
        Item.objects.filter(pk=make_slot("item", Item)).exclude(
            purpose=Item.Purpose.ORDINARY, assigned__gte=F("annotators_wanted")
        ),
        {"assigned": F("assigned") + 1},
    )
)


def _count_assignment(item: int) -> bool:
    """Count one more assignment, if the item wants annotators.

    It is one conditional update: of two concurrent requests one gets the last assignment.
    """
    return bool(_ASSIGN(item=item))


def _reserve(member: Membership, item: Item, now: datetime) -> Annotation:
    annotation = build_reservation(member, item)
    set_end(annotation, now)
    insert(annotation)
    return annotation


def build_reservation(member: Membership, item: Item) -> Annotation:
    """Return a reservation without an end, which is not stored yet."""
    draft = item.extra.get(DRAFT)
    return Annotation(
        item=item,
        project=member.project,
        annotator_id=member.user_id,
        # Validate to add the fields that a file may leave out.
        document=parse_document(draft).model_dump(mode="json") if draft else {},
    )


def _hand_out(member: Membership, item: Item, now: datetime) -> Annotation:
    """Assign a qualification or hidden gold item, which are unlimited."""
    Item.objects.filter(pk=item.pk).update(assigned=F("assigned") + 1)
    Membership.objects.filter(pk=member.pk).update(handed_out=F("handed_out") + 1)
    return _reserve(member, item, now)


def _to_qualify(member: Membership, now: datetime) -> Annotation | None:
    """Return the next qualification annotation of an unqualified member.

    The order is: expired, new, released.
    """
    if member.project.qualification_score is None or member.qualified is not None:
        return None
    items = member.project.items.filter(purpose=Item.Purpose.QUALIFICATION)
    undone = member.project.annotations.filter(
        item__in=items,
        annotator=member.user_id,
        task=Annotation.Task.ANNOTATION,
        status__in=(Annotation.Status.EXPIRED, Annotation.Status.RELEASED),
    )
    begun = undone.order_by("status", "pk").first()
    if begun is not None and begun.status == Annotation.Status.EXPIRED:
        return _resume_if_needed(begun)
    left = select_new_items(member.user_id, items).first()
    if left is not None:
        return _hand_out(member, left, now)
    if begun is not None:
        return _resume_if_needed(begun)
    if items.exists():
        raise NothingLeft(_("You finished all qualification items. A manager will review them."))
    return None


def _find_hidden_gold(member: Membership) -> Item | None:
    every = member.project.hidden_gold_every
    if every is None or (member.handed_out + 1) % every:
        return None
    return select_new_items(
        member.user_id, member.project.items.filter(purpose=Item.Purpose.HIDDEN_GOLD)
    ).first()


_FREE_FROM = Prepared(
    lambda: _lock_free_rows(
        free_items(make_slot("user", User), make_slot("project", Project)).filter(
            rank__gte=make_slot("start", Item, "rank")
        )
    )[:1]
)


def _claim_in_order(member: Membership, now: datetime) -> Annotation:
    """Claim the first item for the member that no other transaction holds."""
    for start in dict.fromkeys((member.scanned_to, LOWEST_RANK)):
        item = _FREE_FROM.first(user=member.user_id, project=member.project_id, start=start)
        if item is not None:
            return _begin(member, item, now)
    raise AssignmentLost("other transactions hold the items that are left, if any")


def _claim_any(member: Membership, now: datetime) -> Annotation:
    """Claim a random one of the first free items, else a released one.

    Random, because all other requests try the first one too.

    Raises:
        NothingLeft: No item is left for this person.
    """
    rest = list(free_items(member.user_id, member.project_id)[:TRIES])
    if rest:
        return _begin(member, random.choice(rest), now)
    again = _take_up_again(_list_own_annotations(member, _GIVEN_BACK))
    if again is None:
        raise NothingLeft(_("No items are left for you. Thank you!"))
    return again


_HANDED_OUT = PreparedUpdate(
    lambda: (
        Membership.objects.filter(pk=make_slot("member", Membership)),
        {"handed_out": F("handed_out") + 1, "scanned_to": make_slot("rank", Membership, "scanned_to")},
    )
)


def _begin(member: Membership, item: Item, now: datetime) -> Annotation:
    if not _count_assignment(item.pk):
        raise AssignmentLost(_("Others took the last assignment of this item."))
    _HANDED_OUT(member=member.pk, rank=item.rank)
    return _reserve(member, item, now)


def rescan(project: Project, rank: int) -> None:
    """Make members beyond a freed item search from its rank again."""
    beyond = _lock_free_rows(Membership.objects.filter(project=project, scanned_to__gt=rank))
    # Skip members who are claiming right now. They find the item when nothing else is left to them.
    Membership.objects.filter(pk__in=list(beyond.values_list("pk", flat=True))).update(scanned_to=rank)


def _lock_free_rows(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Lock the rows that no other transaction holds, and return them.

    SQLite has no row locks: there every transaction holds the write lock from its start.
    """
    return rows.select_for_update(of=("self",), no_key=True, skip_locked=True) if _can_lock_rows() else rows


def _can_lock_rows() -> bool:
    return transaction.get_connection().features.has_select_for_update_skip_locked
