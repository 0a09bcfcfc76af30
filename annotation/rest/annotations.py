"""Endpoints of annotations: lists, the next item, edits, review."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework.request import Request

from accounts.models import Scope
from accounts.policy_table import Act
from accounts.rest.bodies import read_body, read_query
from accounts.rest.describe import describe_method
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.pages import PageOf, answer, answer_page, validate_row
from accounts.rest.views import RestView
from annotation.actions import assignments, editing, outputs, projects, review
from annotation.errors import Conflict, NothingLeft, StaleBase
from annotation.models import Annotation, Membership
from annotation.parsed_items import get_kind, parse_document
from annotation.policies import NotAllowed, check_releasing, check_working, may
from annotation.queries import annotations, records
from annotation.queries.comparison import build_adjudication_draft
from annotation.queries.members import find_member
from annotation.rest import annotation_shapes as shapes
from annotation.rest import rows
from annotation.rest.shapes import GoldRow
from annotation.rest.views import ProjectView, build_refusal
from annotation.views.access import annotation_or_404, comment_or_404, project_item_or_404, refuse_with_404
from touchstone.client import project_rows as wire


class Annotations(ProjectView):
    """People's annotations. Annotators see only their own."""

    @describe_method(answers=PageOf[shapes.AnnotationRow], query=shapes.AnnotationQuery)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List annotations."""
        member = self.member(slug)
        query = read_query(request, shapes.AnnotationQuery)
        wanted = {
            "item__external_id": query.item,
            "annotator__username": query.annotator,
            "status": query.status,
        }
        matching = records.list_visible_annotations(member)
        matching = matching.filter(**{name: value for name, value in wanted.items() if value is not None})
        return answer_page(request, query, matching, lambda part: map(rows.build_annotation_row, part))

    @describe_method(answers=shapes.AnnotationRow, status=201, takes=shapes.NewAssignment, errors=(409, 410))
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Assign an item to a member."""
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        new = read_body(request, shapes.NewAssignment)
        item = member.project.items.select_related("project").filter(external_id=new.item).first()
        if item is None:
            raise build_refusal("item", "the project has no item of this ID")
        annotator = find_member(member.project, new.annotator)
        if annotator is None or not may(annotator, Act.ANNOTATE):
            raise build_refusal("annotator", f"{new.annotator} may not annotate in this project")
        annotation = assignments.assign(item=item, member=annotator, by=self.user)
        return answer(rows.build_annotation_row(annotation), status=201)


class Next(ProjectView):
    """Your next annotation: one that you have begun or got back, or a new one."""

    scope = Scope.ANNOTATE

    @describe_method(answers=shapes.NextItem)
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Start or resume your next annotation."""
        member = self.member(slug, Act.ANNOTATE)
        try:
            annotation = assignments.assign_next_annotation(member=member)
        except NothingLeft as nothing:
            return answer(shapes.NextItem(annotation=None, reason=str(nothing)))
        return answer(shapes.NextItem(annotation=_build_state(_load_all_columns(request, annotation))))


class Adjudicate(ProjectView):
    """The adjudication of an item: an annotation that starts from all others."""

    @describe_method(answers=shapes.EditorState, errors=(409,))
    def post(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Start or resume the adjudication of an item."""
        member = self.member(slug, Act.ANNOTATION_SETTLE)
        item = project_item_or_404(member, pk)
        start = build_adjudication_draft(item, get_kind(member.project))
        if start is None:
            raise Conflict("No annotation of this item is finished yet.")
        annotation = review.start_adjudication(item=item, document=start, by=self.user)
        return answer(_build_state(_load_all_columns(request, annotation)))


class OneAnnotation(RestView):
    """One annotation with every edit."""

    @describe_method(answers=shapes.AnnotationDetail)
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return one annotation with its history."""
        annotation, _member = annotation_or_404(request, pk, item=True)
        return answer(rows.build_annotation_detail(annotation))


class Editor(RestView):
    """An annotation with all that the editor shows."""

    @describe_method(answers=shapes.EditorState)
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return one annotation as the editor shows it."""
        annotation, _member = annotation_or_404(request, pk, item=True)
        return answer(_build_state(annotation))


class Operations(RestView):
    """Saves edits. 409 carries the stored document, so that no edit is lost."""

    scope = Scope.ANNOTATE

    @describe_method(answers=wire.Saved, takes=shapes.Operations, errors=(409, 410))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Save edits of an annotation."""
        sent = read_body(request, shapes.Operations).operations
        try:
            with refuse_with_404(request, pk):
                saved = editing.save_operations(annotation=pk, operations=sent, by=self.user)
        except StaleBase as error:
            raise StaleBase(str(error), stored=_read_stored_state(pk, sent[0].base)) from error
        row = {
            "revision": saved.annotation.revision,
            **annotations.compute_outcome(saved.annotation, saved.document),
            "saved": [
                {"id": operation.uid, "revision": operation.revision, "inverse": operation.inverse}
                for operation in saved.operations
            ],
        }
        return answer(validate_row(wire.Saved, row))


class Submit(RestView):
    """Submits an annotation; an adjudication becomes the gold.

    With ``go_on`` the next item is assigned at once, and its state comes back, so that the editor needs no
    further request.
    """

    scope = Scope.ANNOTATE

    @describe_method(answers=shapes.Following, takes=shapes.Submission, errors=(409, 410))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Submit an annotation."""
        annotation, member = annotation_or_404(request, pk)
        sent = read_body(request, shapes.Submission)
        check_working(member, annotation)
        slug = annotation.project.slug
        if annotation.task == Annotation.Task.ADJUDICATION:
            review.settle(annotation=annotation, revision=sent.revision, by=self.user)
            _show_next(request, _("Stored your decision as the gold of this item."))
            return answer(shapes.Following(next=reverse("annotation:review", args=[slug])))
        editing.submit(annotation=pk, revision=sent.revision, by=self.user)
        following = _assign_next_item(request, member) if sent.go_on else None
        return answer(following or shapes.Following(next=reverse("annotation:project", args=[slug])))


def _assign_next_item(request: Request, member: Membership) -> shapes.Following | None:
    """Return a member's next item, if any."""
    try:
        annotation = assignments.assign_next_annotation(member=member)
    except NotAllowed:  # the page of the project says why
        return None
    except NothingLeft as reason:
        _show_next(request, str(reason))
        return None
    state = _build_state(_load_all_columns(request, annotation))
    return shapes.Following(next=reverse("annotation:editor", args=[annotation.pk]), annotation=state)


def _show_next(request: Request, sentence: str) -> None:
    """Show a sentence on the next page of a browser; a token has none."""
    if request.auth is None:
        messages.info(request._request, sentence)


class Release(RestView):
    """Releases an unfinished item. Its annotation remains."""

    scope = Scope.ANNOTATE

    @describe_method(answers=shapes.Following, errors=(409,))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Release an unfinished item."""
        annotation, member = annotation_or_404(request, pk)
        check_releasing(member, annotation)
        assignments.release(annotation=annotation, by=self.user)
        return answer(shapes.Following(next=reverse("annotation:project", args=[annotation.project.slug])))


class TakeBack(RestView):
    """Reopens a submitted annotation."""

    scope = Scope.ANNOTATE

    @describe_method(answers=shapes.EditorState, errors=(409,))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Reopen a submitted annotation."""
        annotation, member = annotation_or_404(request, pk)
        check_working(member, annotation)
        editing.take_back(annotation=annotation.pk, by=self.user)
        return answer(_build_state(annotation_or_404(request, pk, item=True)[0]))


class Shown(RestView):
    """Notes which model outputs the annotator sees."""

    scope = Scope.ANNOTATE

    @describe_method(status=204, takes=shapes.ShownOutputs, errors=(409,))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Note the model outputs on the screen."""
        annotation, _member = annotation_or_404(request, pk)
        shown = read_body(request, shapes.ShownOutputs).outputs
        outputs.note_shown(annotation=annotation, outputs=shown, by=self.user)
        return HttpResponse(status=204)


class ReviewView(RestView):
    """The base of a reviewer's decisions about an annotation."""

    def annotation(self, pk: int) -> Annotation:
        """Return an annotation that the user may review, or raise 404 or 403."""
        annotation, member = annotation_or_404(self.request, pk)
        self.require(Act.ANNOTATION_SETTLE, member.project)
        return annotation


class Accept(ReviewView):
    """Makes an annotation the gold of its item, unchanged."""

    @describe_method(answers=GoldRow, status=201, takes=shapes.Decision, errors=(409,))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Accept an annotation as gold."""
        annotation = self.annotation(pk)
        decision = read_body(request, shapes.Decision)
        gold = review.accept(annotation=annotation, revision=decision.revision, by=self.user)
        return answer(rows.build_gold_row(gold), status=201)


class Return(ReviewView):
    """Returns an annotation to its annotator."""

    @describe_method(answers=shapes.AnnotationRow, takes=shapes.Return, errors=(409,))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Return an annotation with requested changes."""
        annotation = self.annotation(pk)
        changes = read_body(request, shapes.Return)
        returned = review.return_annotation(annotation=annotation, by=self.user, **changes.model_dump())
        return answer(rows.build_annotation_row(returned))


class Comments(RestView):
    """The comments of an annotation."""

    scope = Scope.ANNOTATE

    @describe_method(answers=wire.CommentRow, status=201, takes=shapes.NewComment, creates=True)
    @run_once_per_key
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Comment on an annotation."""
        annotation, _member = annotation_or_404(request, pk)
        new = read_body(request, shapes.NewComment)
        created = review.add_comment(
            annotation=annotation, text=new.text, node=new.node, object_id=new.object or "", by=self.user
        )
        return answer(rows.build_comment_shape(created), status=201)


class ResolveComment(RestView):
    """Resolves a comment."""

    scope = Scope.ANNOTATE

    @describe_method(answers=wire.CommentRow)
    def post(self, request: Request, pk: int, comment: int) -> HttpResponse:
        """Resolve a comment."""
        annotation, _member = annotation_or_404(request, pk)
        done = review.resolve_comment(comment=comment_or_404(annotation, comment), by=self.user)
        return answer(rows.build_comment_shape(done))


class Keys(RestView):
    """A person's keyboard shortcuts."""

    scope = Scope.ANNOTATE

    @describe_method(answers=shapes.Keys, takes=shapes.Keys)
    def put(self, request: Request) -> HttpResponse:
        """Set my keyboard shortcuts."""
        bindings = projects.bind_keys(user=self.user, keys=read_body(request, shapes.Keys).keys)
        return answer(shapes.Keys(keys=bindings.keys))


def _load_all_columns(request: Request, annotation: Annotation) -> Annotation:
    """Return an annotation with all columns and its item."""
    if not annotation.get_deferred_fields():  # a new one has them
        return annotation
    return annotation_or_404(request, annotation.pk, item=True)[0]


def _build_state(annotation: Annotation) -> shapes.EditorState:
    return shapes.EditorState.model_validate(annotations.build_editor_state(annotation))


def _read_stored_state(pk: int, base: int) -> dict[str, Any]:
    """Return the stored state of an annotation, for a merge."""
    annotation = annotations.find_annotation_with_item(pk)
    assert annotation is not None  # annotations are never deleted
    since: Sequence[dict[str, Any]] = annotations.list_operations_since(annotation, base)
    return {
        "revision": annotation.revision,
        "document": annotation.document,
        **annotations.compute_outcome(annotation, parse_document(annotation.document)),
        "operations": since,
    }
