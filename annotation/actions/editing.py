"""Save edits of an annotation, each once and on the newest revision only."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.policy_table import find_granting_roles
from annotation import states
from annotation.actions import assignments, audit, disagreement, qualification
from annotation.content.completeness import open_nodes
from annotation.content.label_changes import LabelChange, relabel_edit
from annotation.content.operations import OperationIn, apply
from annotation.content.schemas import Document
from annotation.errors import BadEdit, NotReady, StaleBase
from annotation.models import Annotation, Item, Membership, Operation
from annotation.parsed_items import build_subject, label_changes_of, parse_document, parse_item_program
from annotation.policies import TASKS, NotAllowed, check_editing, check_owner
from foundation.database.prepared_queries import Prepared, PreparedUpdate, insert, make_slot

LONGEST_PAUSE = timedelta(minutes=2)  # seconds; longer pauses between edits do not count as active time


class Saved(NamedTuple):
    """An annotation after its operations: document and rows, as sent."""

    annotation: Annotation
    document: Document
    operations: list[Operation]


@transaction.atomic
def save_operations(*, annotation: int, operations: Sequence[OperationIn], by: User) -> Saved:
    """Apply operations to an annotation in order, all or none.

    Operations that were applied before are acknowledged again. The row is locked; the first new operation
    must name the newest revision as its base, and each further one the one before it.

    Raises:
        StaleBase: Somebody, or another tab, saved in between.
        BadEdit: An operation does not fit; names it and the field.
        AssignmentLost: The reservation expired and others took the item; stored edits remain.
        NotAllowed: The annotation is not theirs, or submitted.
    """
    held = lock(annotation, by, subject=True)
    applied = _find_applied_operations(held, operations)
    new = list({operation.id: operation for operation in operations if operation.id not in applied}.values())
    document = parse_document(held.document)
    if new:
        if new[0].base != held.revision:
            raise StaleBase(
                _("This annotation is at revision %(now)d; the change was made on %(base)d.")
                % {"now": held.revision, "base": new[0].base}
            )
        document = _apply_all(held, document, new, by, applied)
    return Saved(held, document, [applied[operation.id] for operation in operations])


def _find_applied_operations(
    annotation: Annotation, operations: Sequence[OperationIn]
) -> dict[UUID, Operation]:
    """Return the operations that were applied before."""
    if not annotation.revision:
        return {}
    return {
        row.uid: row
        for row in annotation.operations.filter(uid__in=[operation.id for operation in operations])
    }


# Related columns that edits need. They are named, because fetching long ones costs more than the rest of a
# save; the others load on access.
_COLUMNS = (
    "annotator_id", "batch_id", "task", "status", "document", "revision", "reserved_until", "started_at",
    "saved_at", "submitted_at", "active_seconds", "item__external_id", "item__program", "item__answer",
    "item__purpose", "item__annotators_wanted",
    "project__slug", "project__qualification_score",
    "project__kind", "project__reservation_minutes", "project__show_answer", "project__label_changes",
)  # fmt: skip
_SUBJECT = ("item__images", "item__passage", "item__tokens")


def _select_own_annotations(columns: Sequence[str], *, shared: bool) -> QuerySet[Annotation]:
    """Return the user's own annotation if their role allows its task.

    The role is that of a share of the project, or else one in the workspace.
    """
    by = make_slot("by", User)
    annotations = (
        Annotation.objects.select_for_update(of=("self",), no_key=True)
        .select_related("item", "project")
        .only(*columns)
    )
    path = "project__memberships" if shared else "project__workspace__memberships"
    member = {f"{path}__user": by} | ({f"{path}__active": True} if shared else {})
    may = Q()
    for task, act in TASKS.items():
        may |= Q(**{"task": task, f"{path}__role__in": sorted(find_granting_roles(act, shared=shared))})
    return annotations.filter(may, pk=make_slot("annotation", Annotation), annotator=by, **member)


def _prepare_queries(*columns: str) -> tuple[Prepared[Annotation], ...]:
    """Prepare the queries to try in turn: by share, then by workspace."""
    return tuple(
        Prepared(partial(_select_own_annotations, columns, shared=shared)) for shared in (True, False)
    )


_HELD = _prepare_queries(*_COLUMNS)
_HELD_WITH_SUBJECT = _prepare_queries(*_COLUMNS, *_SUBJECT)
_SAVED = ("document", "revision", "saved_at", "active_seconds", "reserved_until")
_STORE = PreparedUpdate(
    lambda: (
        Annotation.objects.filter(pk=make_slot("annotation", Annotation)),
        {name: make_slot(name, Annotation, name) for name in _SAVED},
    )
)
_HAND_IN = PreparedUpdate(
    lambda: (
        Annotation.objects.filter(pk=make_slot("annotation", Annotation)),
        {name: make_slot(name, Annotation, name) for name in ("status", "submitted_at")},
    )
)
_COUNT_ONE = PreparedUpdate(
    lambda: (Item.objects.filter(pk=make_slot("item", Item)), {"submitted": F("submitted") + 1})
)


def lock(pk: int, by: User, *, subject: bool = False) -> Annotation:
    """Lock an annotation for its annotator; resume an expired one.

    ``subject`` also fetches what edits are checked against.

    Raises:
        NotAllowed: This user has no such annotation.
    """
    return _open_for_editing(_lock_annotation(pk, by, subject=subject), by)


def _lock_annotation(pk: int, by: User, *, subject: bool = False) -> Annotation:
    for query in _HELD_WITH_SUBJECT if subject else _HELD:
        if (annotation := query.first(annotation=pk, by=by.pk)) is not None:
            return annotation
    raise NotAllowed(_("You can only change your own annotations."))


def _open_for_editing(annotation: Annotation, by: User) -> Annotation:
    if annotation.status in (Annotation.Status.EXPIRED, Annotation.Status.RELEASED):
        annotation = assignments.resume(annotation=annotation)
    check_editing(by, annotation)
    return annotation


def _apply_all(
    annotation: Annotation,
    document: Document,
    new: Sequence[OperationIn],
    by: User,
    applied: dict[UUID, Operation],
) -> Document:
    program, subject = (
        parse_item_program(annotation.item, annotation.project.kind),
        build_subject(annotation.item, annotation.project.kind),
    )
    now = timezone.now()
    rows = []
    changes = label_changes_of(annotation.project)
    for given in new:
        operation = _relabel_operation(given, changes) if changes else given
        try:
            document, inverse = apply(document, operation, program, subject)
        except BadEdit as error:
            error.operation = str(operation.id)
            raise
        annotation.revision += 1
        rows.append(
            Operation(
                annotation=annotation,
                uid=operation.id,
                revision=annotation.revision,
                by=by,
                edit=operation.edit(),
                inverse=inverse,
                undoes=operation.undoes,
            )
        )
    insert(*rows)
    applied.update({row.uid: row for row in rows})
    since = now - (annotation.saved_at or annotation.started_at)
    # A clock that was set back in between does not tell the time.
    annotation.active_seconds += since.total_seconds() if timedelta() <= since < LONGEST_PAUSE else 0
    annotation.document = document.model_dump(mode="json")
    annotation.saved_at = now
    assignments.set_end(annotation, now)
    _STORE(annotation=annotation.pk, **{name: getattr(annotation, name) for name in _SAVED})
    return document


def _relabel_operation(operation: OperationIn, changes: Sequence[LabelChange]) -> OperationIn:
    """Return an operation in the labels to which its own were renamed."""
    sent = operation.model_dump(mode="json", exclude_unset=True)
    return OperationIn.model_validate(relabel_edit(sent, changes))


def submit(*, annotation: int, revision: int, by: User) -> Annotation:
    """Submit a finished annotation; repeating it changes nothing.

    Raises:
        StaleBase: The person did not see the newest revision.
        NotReady: Names the open steps.
        AssignmentLost: As `save_operations`.
        NotAllowed: As `save_operations`.
    """
    submitted = _submit(annotation, revision, by)
    if submitted.item.purpose == Item.Purpose.QUALIFICATION:
        memberships = Membership.objects.select_related("project", "user")
        qualification.judge_if_finished(member=memberships.get(project=submitted.project_id, user=by))
    return submitted


@transaction.atomic
def _submit(annotation: int, revision: int, by: User) -> Annotation:
    held = _lock_annotation(annotation, by)
    if held.revision == revision and held.status in Annotation.FINISHED:
        return held
    held = _open_for_editing(held, by)
    if held.revision != revision:
        raise StaleBase(
            _("This annotation is at revision %(now)d, not %(base)d. Reload it and submit again.")
            % {"now": held.revision, "base": revision}
        )
    left = open_nodes(parse_document(held.document), parse_item_program(held.item, held.project.kind))
    if left:
        raise NotReady(left)
    first, returned = held.submitted_at is None, held.status == Annotation.Status.RETURNED
    held.status = states.find_next_status(states.ANNOTATION, "submit", held.status)
    held.submitted_at = timezone.now()
    _HAND_IN(annotation=held.pk, status=held.status, submitted_at=held.submitted_at)
    if held.task == Annotation.Task.ANNOTATION and not returned:  # a returned one is counted already
        _COUNT_ONE(item=held.item_id)
    if held.task == Annotation.Task.ANNOTATION and held.item.annotators_wanted > 1:
        disagreement.measure(item=held.item_id)
    audit.record(
        project=held.project,
        kind="annotation_submitted",
        by=by,
        data={"annotation": held.pk, "item": held.item.external_id, "revision": revision, "first": first},
    )
    return held


@transaction.atomic
def take_back(*, annotation: int, by: User) -> Annotation:
    """Reopen a submitted annotation before its review."""
    held = (
        Annotation.objects.select_for_update(of=("self",), no_key=True)
        .select_related("item", "project")
        .get(pk=annotation)
    )
    check_owner(by, held)
    held.status = states.find_next_status(states.ANNOTATION, "take back", held.status)
    assignments.set_end(held, timezone.now())
    held.save(update_fields=["status", "reserved_until"])
    count_submitted(held.item_id)
    disagreement.measure(item=held.item_id)
    audit.record(project=held.project, kind="annotation_taken_back", by=by, data={"annotation": held.pk})
    return held


def count_submitted(item: int) -> None:
    """Recount the item's submitted annotations, under a lock of its row."""
    Item.objects.select_for_update(no_key=True).only("pk").get(pk=item)
    count = Annotation.objects.filter(
        item=item, task=Annotation.Task.ANNOTATION, status__in=Annotation.HANDED_IN
    ).count()
    Item.objects.filter(pk=item).update(submitted=count)
