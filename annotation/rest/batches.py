"""Endpoints of batches, and of the pace of annotators."""

from datetime import date
from typing import Annotated

from django.http import HttpResponse, HttpResponseBase
from pydantic import Field
from rest_framework.request import Request

from accounts.policy_table import Act
from accounts.rest.bodies import Payload, read_body, read_query
from accounts.rest.describe import describe_method
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.pages import Page, PageOf, answer, answer_page, build_row
from annotation.actions.batches import MOST_ITEMS, BatchPlan, assign_batch, change_due_date, release_batch
from annotation.models import Batch
from annotation.policies import may
from annotation.queries import batches
from annotation.queries.members import find_member
from annotation.queries.pace import LONGEST_DAYS, compute_pace
from annotation.rest.items import find_named_items
from annotation.rest.shapes import Name, UserName
from annotation.rest.views import ProjectView, build_refusal
from annotation.views.access import batch_or_404
from foundation.imports.import_fields import Filled
from touchstone.client.project_rows import BatchRow, PaceRow

BatchName = Annotated[Filled, Field(max_length=100)]


class NewBatch(Payload):
    """The next ``number`` free items for a person, or chosen ``items``."""

    name: BatchName
    annotator: UserName
    number: Annotated[int, Field(ge=1, le=MOST_ITEMS)] | None = None
    items: Annotated[list[Name], Field(max_length=MOST_ITEMS)] = []
    due_on: date | None = None


class ChangedBatch(Payload):
    """The new due date; null for none."""

    due_on: date | None


class PaceQuery(Payload):
    """The days to count, up to today."""

    days: Annotated[int, Field(ge=1, le=LONGEST_DAYS)] = 30


class ProjectPace(Payload):
    """The pace of the annotators, for days with submissions."""

    results: list[PaceRow]


class Batches(ProjectView):
    """The batches of a project. Annotators see only their own."""

    @describe_method(answers=PageOf[BatchRow], query=Page)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List batches."""
        member = self.member(slug)
        matching = batches.select_batches(member.project)
        if not may(member, Act.ANNOTATION_MANAGE):
            matching = matching.filter(annotator=self.user)
        return answer_page(request, read_query(request, Page), matching, lambda part: map(_build_row, part))

    @describe_method(answers=BatchRow, status=201, takes=NewBatch, creates=True, errors=(409, 410))
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Assign a batch to a member."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        new = read_body(request, NewBatch)
        annotator = find_member(project, new.annotator)
        if annotator is None or not may(annotator, Act.ANNOTATE):
            raise build_refusal("annotator", f"{new.annotator} may not annotate in this project")
        if bool(new.items) == (new.number is not None):
            raise build_refusal("number", "give a number of items or their IDs, but not both")
        items = find_named_items(project, new.items) if new.items else ()
        plan = BatchPlan(new.name, items, new.number or 0, new.due_on)
        return _answer_batch(assign_batch(member=annotator, plan=plan, by=self.user), status=201)


class OneBatch(ProjectView):
    """One batch."""

    @describe_method(answers=BatchRow, takes=ChangedBatch)
    def patch(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Change the due date of a batch."""
        batch = batch_or_404(self.member(slug, Act.ANNOTATION_MANAGE), pk)
        return _answer_batch(
            change_due_date(batch=batch, by=self.user, **read_body(request, ChangedBatch).model_dump())
        )

    @describe_method(status=204)
    def delete(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Release the unfinished items of a batch."""
        batch = batch_or_404(self.member(slug, Act.ANNOTATION_MANAGE), pk)
        release_batch(batch=batch, by=self.user)
        return HttpResponse(status=204)


class Pace(ProjectView):
    """The pace of the annotators."""

    @describe_method(answers=ProjectPace, query=PaceQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Return submissions and seconds per item, by person and day."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        measured = compute_pace(project, read_query(request, PaceQuery).days)
        return answer(ProjectPace(results=[build_row(PaceRow, row) for row in measured.rows]))


def _answer_batch(batch: Batch, status: int = 200) -> HttpResponse:
    return answer(_build_row(batches.select_batches(batch.project).get(pk=batch.pk)), status=status)


def _build_row(batch: Batch) -> BatchRow:
    (progress,) = batches.build_batch_progress([batch])
    return build_row(
        BatchRow,
        batch,
        annotator=batch.annotator.get_username(),
        items=progress.items,
        finished=progress.finished,
        overdue=progress.is_overdue,
    )
