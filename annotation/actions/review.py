"""Review annotations and set gold: return, accept, adjudicate."""

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import states
from annotation.actions import audit
from annotation.actions.bulk_insert import check_storable
from annotation.actions.editing import count_submitted
from annotation.content.completeness import drop_hidden_parts, open_nodes
from annotation.content.operations import check_document
from annotation.content.schemas import Document
from annotation.errors import NotReady, StaleBase
from annotation.models import Annotation, Comment, Gold, Item, Project
from annotation.parsed_items import build_subject, parse_document, parse_item_program
from annotation.policies import check_owner


@transaction.atomic
def return_annotation(
    *, annotation: Annotation, revision: int, text: str, by: User, node: int | None = None
) -> Annotation:
    """Return an annotation to its annotator with requested changes.

    Raises:
        StaleBase: The person did not see the newest revision.
    """
    held = _lock_and_move(annotation, "return", by, "annotation_returned", revision)
    add_comment(annotation=held, node=node, text=text, by=by)
    return held


@transaction.atomic
def accept(*, annotation: Annotation, revision: int, by: User, version: int | None = None) -> Gold:
    """Make one person's annotation the item's gold, unchanged.

    ``version`` is that of the gold which the person saw, 0 if there was none; None does not check it.

    Raises:
        StaleBase: The person did not see the newest revision, or the gold.
    """
    held = _lock_and_move(annotation, "accept", by, "annotation_accepted", revision)
    gold = set_gold(
        item=held.item,
        document=drop_hidden_parts(
            parse_document(held.document), parse_item_program(held.item, held.project.kind)
        ),
        method=Gold.Method.ACCEPTED,
        by=by,
        annotation=held,
    )
    if version not in (None, gold.version - 1):  # the transaction takes all of it back
        raise StaleBase(
            _("Somebody settled the gold of this item after you opened the page. Please decide again.")
        )
    return gold


@transaction.atomic
def start_adjudication(*, item: Item, document: Document, by: User) -> Annotation:
    """Begin the adjudication of an item from a document, or resume it.

    An adjudication is an annotation like any other: saved edit by edit, with history. The submitted
    annotations are in review from then on: their annotators cannot take them back.
    """
    adjudications = _lock_annotations(Annotation.objects.filter(item=item, task=Annotation.Task.ADJUDICATION))
    if (same := adjudications.first()) is not None:
        return _take_over(same, by)
    try:
        with transaction.atomic():
            annotation = Annotation.objects.create(
                item=item,
                project=item.project,
                annotator=by,
                task=Annotation.Task.ADJUDICATION,
                status=Annotation.Status.RETURNED,  # "reserved" could expire
                document=document.model_dump(mode="json"),
                submitted_at=timezone.now(),
            )
    except IntegrityError:  # somebody was quicker
        return _take_over(adjudications.get(), by)
    submitted = Annotation.objects.filter(
        item=item, task=Annotation.Task.ANNOTATION, status=Annotation.Status.SUBMITTED
    )
    for annotated in _lock_annotations(submitted).order_by("pk"):
        _move(annotated, "review", by, "review_started")
    audit.record(project=item.project, kind="adjudication_started", by=by, data={"item": item.external_id})
    return annotation


def _take_over(annotation: Annotation, by: User) -> Annotation:
    """Reopen an adjudication for this person with its present document."""
    if annotation.status == Annotation.Status.ACCEPTED:
        annotation.status = states.find_next_status(states.ANNOTATION, "reopen", annotation.status)
    elif annotation.annotator_id == by.pk:
        return annotation
    audit.record(
        project=annotation.project,
        kind="adjudication_taken_over",
        by=by,
        data={"annotation": annotation.pk, "from": annotation.annotator.get_username()},
    )
    annotation.annotator = by
    annotation.save(update_fields=["status", "annotator"])
    return annotation


@transaction.atomic
def settle(*, annotation: Annotation, revision: int, by: User) -> Gold:
    """Make an adjudication the gold, and accept the annotations behind it.

    Raises:
        NotReady: Steps are open.
        StaleBase: The person did not see the newest revision.
    """
    held = _lock_annotations(Annotation.objects.filter(pk=annotation.pk)).get()
    check_owner(by, held)
    if held.revision != revision:
        raise StaleBase(
            _("This annotation is at revision %(now)d, not %(base)d. Reload it and submit again.")
            % {"now": held.revision, "base": revision}
        )
    program = parse_item_program(held.item, held.project.kind)
    document = drop_hidden_parts(parse_document(held.document), program)
    if left := open_nodes(document, program):
        raise NotReady(left)
    finished = held.item.annotations.filter(
        task=Annotation.Task.ANNOTATION, status__in=(Annotation.Status.SUBMITTED, Annotation.Status.IN_REVIEW)
    )
    for annotated in list(_lock_annotations(finished).order_by("pk")):
        _move(annotated, "accept", by, "annotation_accepted")
    count_submitted(held.item_id)
    held.status = states.find_next_status(states.ANNOTATION, "settle", held.status)
    held.save(update_fields=["status"])
    return set_gold(item=held.item, document=document, method=Gold.Method.ADJUDICATED, by=by, annotation=held)


def set_gold(
    *,
    item: Item,
    document: Document,
    method: Gold.Method,
    by: User | None,
    annotation: Annotation | None = None,
) -> Gold:
    """Add a version of an item's gold. Call it in a transaction."""
    Item.objects.select_for_update(no_key=True).get(pk=item.pk)  # lock, so that versions stay unique
    last = item.golds.order_by("-version").first()
    item.golds.filter(current=True).update(current=False)
    gold = Gold.objects.create(
        item=item,
        version=last.version + 1 if last else 1,
        method=method,
        document=document.model_dump(mode="json"),
        annotation=annotation,
        by=by,
    )
    audit.record(
        project=item.project,
        kind="gold_set",
        by=by,
        data={"item": item.external_id, "version": gold.version, "method": str(method)},
    )
    return gold


@transaction.atomic
def bring_gold(*, item: Item, document: Document, by: User) -> Gold:
    """Add gold from elsewhere to an item, as its newest version.

    Raises:
        BadEdit: Names the field that breaks a rule of editing.
    """
    kind = item.project.kind
    check_document(document, parse_item_program(item, kind), build_subject(item, kind))
    check_storable(item.external_id, (), (document.model_dump_json(),))
    return set_gold(item=item, document=document, method=Gold.Method.IMPORTED, by=by)


@transaction.atomic
def add_comment(
    *, annotation: Annotation, text: str, by: User, node: int | None = None, object_id: str = ""
) -> Comment:
    """Comment on an annotation, a node or an object."""
    new = Comment.objects.create(annotation=annotation, node=node, object_id=object_id, text=text, by=by)
    audit.record(
        project=annotation.project,
        kind="comment_added",
        by=by,
        data={"annotation": annotation.pk, "comment": new.pk},
    )
    return new


@transaction.atomic
def resolve_comment(*, comment: Comment, by: User) -> Comment:
    """Mark a comment as resolved; repeating it keeps the first time."""
    Comment.objects.filter(pk=comment.pk, resolved_at__isnull=True).update(
        resolved_at=timezone.now(), resolved_by=by
    )
    comment.refresh_from_db()
    return comment


@transaction.atomic
def change_project(*, project: Project, act: str, by: User) -> Project:
    """Close or reopen a project."""
    held = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    held.status = states.find_next_status(states.PROJECT, act, held.status)
    held.save(update_fields=["status"])
    audit.record(project=held, kind=f"project_{held.status}", by=by)
    return held


def _lock_annotations(annotations: QuerySet[Annotation]) -> QuerySet[Annotation]:
    """Lock the annotations, and fetch their items and projects."""
    return annotations.select_for_update(of=("self",), no_key=True).select_related("item", "project")


def _lock_and_move(
    annotation: Annotation, act: str, by: User, kind: str, revision: int | None = None
) -> Annotation:
    held = _lock_annotations(Annotation.objects.filter(pk=annotation.pk)).get()
    if revision not in (None, held.revision):
        raise StaleBase(_("This annotation changed after you opened the page. Please review it again."))
    _move(held, act, by, kind)
    count_submitted(held.item_id)
    return held


def _move(held: Annotation, act: str, by: User, kind: str) -> None:
    held.status = states.find_next_status(states.ANNOTATION, act, held.status)
    held.save(update_fields=["status"])
    audit.record(
        project=held.project, kind=kind, by=by, data={"annotation": held.pk, "item": held.item.external_id}
    )
