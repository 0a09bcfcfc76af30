"""Endpoints of the editor: state, operations, submission, comments."""

from typing import Annotated, Any

from django.urls import reverse
from pydantic import Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import user_of
from accounts.models import Scope
from annotation.actions import assignments, editing, outputs, projects, review
from annotation.api.base import EditorView
from annotation.api.describe import described
from annotation.api.shapes import CommentRow, EditorState, Next, Saved
from annotation.errors import NothingLeft, StaleBase
from annotation.models import Annotation, Membership
from annotation.operations import OperationIn
from annotation.parsed_items import document_of
from annotation.policies import NotAllowed, check_releasing, check_working
from annotation.queries import annotations
from annotation.schemas import Note, ObjectId, Payload, Position
from annotation.views.access import annotation_or_404, comment_or_404, or_404

KeyName = Annotated[str, Field(max_length=40, pattern=r"^[^\x00]*$")]


class Operations(Payload):
    """A batch of edits, in order."""

    operations: Annotated[tuple[OperationIn, ...], Field(min_length=1, max_length=500)]


class Submission(Payload):
    """The revision that the person sees, and if they want the next item."""

    revision: Position
    go_on: bool = False


class NewComment(Payload):
    """A comment on an annotation, a node or an object."""

    text: Annotated[Note, Field(min_length=1)]
    node: Position | None = None
    object: ObjectId | None = None


class Keys(RootModel[dict[KeyName, Annotated[KeyName, Field(min_length=1)]]]):
    """Keyboard shortcuts by act of the editor."""


class EditorStateView(EditorView):
    """An annotation with all that the editor shows."""

    @described(answers=EditorState)
    def get(self, request: Request, pk: int) -> Response:
        """One annotation as the editor shows it."""
        return Response(_shown(*annotation_or_404(request, pk, item=True)))


def _shown(annotation: Annotation, member: Membership) -> dict[str, Any]:
    state = annotations.editor_state(annotation)
    outputs.note_shown(annotation=annotation, predictions=state["predictions"], to=member.user_id)
    return state


class OperationsView(EditorView):
    """Saves edits. 409 carries the stored document, so that no edit is lost."""

    scope = Scope.ANNOTATE

    @described(answers=Saved, takes=Operations, errors=(409, 410))
    def post(self, request: Request, pk: int) -> Response:
        """Save operations."""
        sent = Operations.model_validate(request.data).operations
        try:
            with or_404(request, pk):
                saved = editing.save_operations(annotation=pk, operations=sent, by=user_of(request))
        except StaleBase as error:
            return Response(_stale(pk, sent[0].base, str(error)), status=409)
        return Response(
            {
                "revision": saved.annotation.revision,
                **annotations.outcome(saved.annotation, saved.document),
                "saved": [
                    {"id": str(operation.uid), "revision": operation.revision, "inverse": operation.inverse}
                    for operation in saved.operations
                ],
            }
        )


def _stale(pk: int, base: int, message: str) -> dict[str, Any]:
    annotation = annotations.annotation_with_item(pk)
    assert annotation is not None  # annotations are never deleted
    return {
        "detail": message,
        "revision": annotation.revision,
        "document": annotation.document,
        **annotations.outcome(annotation, document_of(annotation.document)),
        "operations": annotations.operations_since(annotation, base),
    }


class SubmitView(EditorView):
    """Submits an annotation; ``next`` is the address to continue at.

    With ``go_on`` the next item is assigned at once, and ``work`` is its state, so that the editor needs no
    further request.
    """

    scope = Scope.ANNOTATE

    @described(answers=Next, takes=Submission, errors=(409, 410))
    def post(self, request: Request, pk: int) -> Response:
        """Submit an annotation."""
        annotation, member = annotation_or_404(request, pk)
        sent = Submission.model_validate(request.data)
        check_working(member, annotation)
        if annotation.task == Annotation.Task.ADJUDICATION:
            review.settle(annotation=annotation, revision=sent.revision, by=user_of(request))
            return Response({"next": reverse("annotation:review", args=[annotation.project.slug])})
        editing.submit(annotation=pk, revision=sent.revision, by=user_of(request))
        following = _following(request, member) if sent.go_on else {}
        return Response({"next": reverse("annotation:project", args=[annotation.project.slug]), **following})


def _following(request: Request, member: Membership) -> dict[str, Any]:
    """Return the state of a member's next item, if any."""
    try:
        following = assignments.next_annotation(member=member)
    except (NothingLeft, NotAllowed):
        return {"work": None}
    if following.get_deferred_fields():  # begun before; a new annotation has all columns, and its item
        following, _member = annotation_or_404(request, following.pk, item=True)
    state = _shown(following, member)
    return {"next": reverse("annotation:editor", args=[following.pk]), "work": state}


class ReleaseView(EditorView):
    """Releases an unfinished item. Its annotation is kept."""

    scope = Scope.ANNOTATE

    @described(answers=Next, errors=(409,))
    def post(self, request: Request, pk: int) -> Response:
        """Release an unfinished item."""
        annotation, member = annotation_or_404(request, pk)
        check_releasing(member, annotation)
        assignments.release(annotation=annotation, by=user_of(request))
        return Response({"next": reverse("annotation:project", args=[annotation.project.slug])})


class TakeBackView(EditorView):
    """Reopens a submitted annotation."""

    scope = Scope.ANNOTATE

    @described(answers=EditorState, errors=(409,))
    def post(self, request: Request, pk: int) -> Response:
        """Reopen a submitted annotation."""
        annotation, member = annotation_or_404(request, pk)
        check_working(member, annotation)
        editing.take_back(annotation=annotation.pk, by=user_of(request))
        return Response(_shown(*annotation_or_404(request, pk, item=True)))


class CommentsView(EditorView):
    """The comments of an annotation."""

    scope = Scope.ANNOTATE

    @described(answers=CommentRow, status=201, takes=NewComment)
    def post(self, request: Request, pk: int) -> Response:
        """Comment on an annotation."""
        annotation, _member = annotation_or_404(request, pk)
        new = NewComment.model_validate(request.data)
        created = review.comment(
            annotation=annotation,
            text=new.text,
            node=new.node,
            object_id=new.object or "",
            by=user_of(request),
        )
        return Response(annotations.comment_row(created), status=201)


class ResolveView(EditorView):
    """Resolves a comment."""

    scope = Scope.ANNOTATE

    @described(answers=CommentRow)
    def post(self, request: Request, pk: int, comment: int) -> Response:
        """Resolve a comment."""
        annotation, _member = annotation_or_404(request, pk)
        done = review.resolve_comment(comment=comment_or_404(annotation, comment), by=user_of(request))
        return Response(annotations.comment_row(done))


class KeysView(EditorView):
    """A person's keyboard shortcuts."""

    scope = Scope.ANNOTATE

    @described(answers=Keys, takes=Keys)
    def put(self, request: Request) -> Response:
        """Set my keyboard shortcuts."""
        bindings = projects.bind_keys(user=user_of(request), keys=Keys.model_validate(request.data).root)
        return Response(bindings.keys)
