"""Saving what a person does to a work: operations, each applied once and on the newest revision only."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import states
from annotation.actions import assignments, audit, qualification
from annotation.errors import BadEdit, NotReady, StaleBase
from annotation.models import Annotation, Item, Membership, Operation, Role
from annotation.operations import OperationIn, apply, open_nodes
from annotation.parsed_items import document_of, program_of, subject_of
from annotation.policies import NotAllowed, check_editing, check_owner
from annotation.schemas import Document
from foundation.prepared_queries import Prepared, PreparedUpdate, insert, slot

PAUSE = timedelta(minutes=2)  # what is longer between two edits was not work


class Saved(NamedTuple):
    """A work after its operations: the document as stored, and the operations' rows in the order sent."""

    annotation: Annotation
    document: Document
    operations: list[Operation]


@transaction.atomic
def save_operations(*, annotation: int, operations: Sequence[OperationIn], by: User) -> Saved:
    """Apply operations to a work in order, all or none. One that was applied before is answered again.

    The work's row is locked; an operation must name the newest revision as its base, where the first one
    counts and each further one follows the one before it.

    Raises:
        StaleBase: somebody, or another tab, saved in between.
        BadEdit: an operation does not fit; names it and the field.
        PlaceLost: the reservation ran out and others took the item; nothing stored is lost.
        NotAllowed: the work is not theirs, or submitted.
    """
    held = lock(annotation, by, subject=True)
    known = _known(held, operations)
    new = list({one.id: one for one in operations if one.id not in known}.values())
    document = document_of(held.document)
    if new:
        if new[0].base != held.revision:
            raise StaleBase(
                f"This work is at revision {held.revision}; the change was made on {new[0].base}."
            )
        document = _apply_all(held, document, new, by, known)
    return Saved(held, document, [known[one.id] for one in operations])


def _known(annotation: Annotation, operations: Sequence[OperationIn]) -> dict[UUID, Operation]:
    """Those of the operations that were applied before."""
    if not annotation.revision:
        return {}
    return {row.uid: row for row in annotation.operations.filter(uid__in=[one.id for one in operations])}


# What changes of a work look at besides the work itself. Columns are named, because long ones cost more to
# fetch than all the rest of a save: what is not named here is fetched when it is asked for.
_COLUMNS = (
    "annotator_id", "task", "status", "document", "revision", "reserved_until", "started_at", "saved_at",
    "submitted_at", "active_seconds", "item__external_id", "item__program", "item__answer", "item__purpose",
    "project__slug", "project__qualification_score",
    "project__kind", "project__reservation_minutes", "project__show_answer",
)  # fmt: skip
_SUBJECT = ("item__images", "item__passage", "item__tokens")


def _own(*columns: str) -> QuerySet[Annotation]:
    by = slot("by", User)
    annotations = (
        Annotation.objects.select_for_update(of=("self",), no_key=True)
        .select_related("item", "project")
        .only(*columns)
    )
    member = {"project__memberships__user": by, "project__memberships__active": True}
    adjudicates = Q(project__memberships__role__in=(Role.ADJUDICATOR, Role.MANAGER))
    may = Q(task=Annotation.Task.ANNOTATION) | adjudicates
    return annotations.filter(may, pk=slot("annotation", Annotation), annotator=by, **member)


_HELD = Prepared(lambda: _own(*_COLUMNS))
_HELD_WITH_SUBJECT = Prepared(lambda: _own(*_COLUMNS, *_SUBJECT))
_SAVED = ("document", "revision", "saved_at", "active_seconds", "reserved_until")
_STORE = PreparedUpdate(
    lambda: (
        Annotation.objects.filter(pk=slot("annotation", Annotation)),
        {name: slot(name, Annotation, name) for name in _SAVED},
    )
)
_HAND_IN = PreparedUpdate(
    lambda: (
        Annotation.objects.filter(pk=slot("annotation", Annotation)),
        {name: slot(name, Annotation, name) for name in ("status", "submitted_at")},
    )
)
_COUNT_ONE = PreparedUpdate(
    lambda: (Item.objects.filter(pk=slot("item", Item)), {"submitted": F("submitted") + 1})
)


def lock(pk: int, by: User, *, subject: bool = False) -> Annotation:
    """The work for a change by its annotator, its row locked; an expired one takes its place again.

    ``subject``: with what edits are checked against. Raises NotAllowed where there is no such work of theirs.
    """
    return _opened(_locked(pk, by, subject=subject), by)


def _locked(pk: int, by: User, *, subject: bool = False) -> Annotation:
    annotation = (_HELD_WITH_SUBJECT if subject else _HELD).first(annotation=pk, by=by.pk)
    if annotation is None:
        raise NotAllowed(_("Only the person who does a work changes it."))
    return annotation


def _opened(annotation: Annotation, by: User) -> Annotation:
    if annotation.status in (Annotation.Status.EXPIRED, Annotation.Status.RELEASED):
        annotation = assignments.resume(annotation=annotation)
    check_editing(by, annotation)
    return annotation


def _apply_all(
    annotation: Annotation,
    document: Document,
    new: Sequence[OperationIn],
    by: User,
    known: dict[UUID, Operation],
) -> Document:
    program, subject = (
        program_of(annotation.item, annotation.project.kind),
        subject_of(annotation.item, annotation.project.kind),
    )
    now = timezone.now()
    rows = []
    for one in new:
        try:
            document, inverse = apply(document, one, program, subject)
        except BadEdit as error:
            error.operation = str(one.id)
            raise
        annotation.revision += 1
        rows.append(
            Operation(
                annotation=annotation,
                uid=one.id,
                revision=annotation.revision,
                by=by,
                edit=one.edit(),
                inverse=inverse,
                undoes=one.undoes,
            )
        )
    insert(*rows)
    known.update({row.uid: row for row in rows})
    since = now - (annotation.saved_at or annotation.started_at)
    annotation.active_seconds += since.total_seconds() if since < PAUSE else 0
    annotation.document = document.model_dump(mode="json")
    annotation.saved_at = now
    assignments.set_end(annotation, now)
    _STORE(annotation=annotation.pk, **{name: getattr(annotation, name) for name in _SAVED})
    return document


def submit(*, annotation: int, revision: int, by: User) -> Annotation:
    """Hand a finished work in. Handing in the same revision twice is one act.

    Raises:
        StaleBase: the person did not see the newest revision.
        NotReady: steps are left to do; names them.
        PlaceLost, NotAllowed: as `save_operations`.
    """
    submitted = _submit(annotation, revision, by)
    if submitted.item.purpose == Item.Purpose.QUALIFICATION:
        memberships = Membership.objects.select_related("project", "user")
        qualification.judge_if_finished(member=memberships.get(project=submitted.project_id, user=by))
    return submitted


@transaction.atomic
def _submit(annotation: int, revision: int, by: User) -> Annotation:
    held = _locked(annotation, by)
    if (held.revision, held.status) == (revision, Annotation.Status.SUBMITTED):
        return held
    held = _opened(held, by)
    if held.revision != revision:
        raise StaleBase(f"This work is at revision {held.revision}; what was to be submitted is {revision}.")
    left = open_nodes(document_of(held.document), program_of(held.item, held.project.kind))
    if left:
        raise NotReady(left)
    first, returned = held.submitted_at is None, held.status == Annotation.Status.RETURNED
    held.status = states.next_status(states.ANNOTATION, "submit", held.status)
    held.submitted_at = timezone.now()
    _HAND_IN(annotation=held.pk, status=held.status, submitted_at=held.submitted_at)
    if held.task == Annotation.Task.ANNOTATION and not returned:  # a returned one is counted already
        _COUNT_ONE(item=held.item_id)
    audit.record(
        project=held.project,
        kind="work_submitted",
        by=by,
        data={"work": held.pk, "item": held.item.external_id, "revision": revision, "first": first},
    )
    return held


@transaction.atomic
def take_back(*, annotation: int, by: User) -> Annotation:
    """Open a submitted work again that nobody has looked at yet."""
    held = (
        Annotation.objects.select_for_update(of=("self",), no_key=True)
        .select_related("item", "project")
        .get(pk=annotation)
    )
    check_owner(by, held)
    held.status = states.next_status(states.ANNOTATION, "take back", held.status)
    assignments.set_end(held, timezone.now())
    held.save(update_fields=["status", "reserved_until"])
    count_submitted(held.item_id)
    audit.record(project=held.project, kind="work_taken_back", by=by, data={"work": held.pk})
    return held


def count_submitted(item: int) -> None:
    """Bring the item's count of finished works up to date. Holds the item, so that no two count at once."""
    Item.objects.select_for_update(no_key=True).only("pk").get(pk=item)
    finished = (
        Annotation.Status.SUBMITTED,
        Annotation.Status.IN_REVIEW,
        Annotation.Status.RETURNED,
        Annotation.Status.ACCEPTED,
    )
    count = Annotation.objects.filter(item=item, task=Annotation.Task.ANNOTATION, status__in=finished).count()
    Item.objects.filter(pk=item).update(submitted=count)
