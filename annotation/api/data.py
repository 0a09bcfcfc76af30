"""Endpoints of items, annotations, gold and model outputs."""

from collections.abc import Iterator
from typing import Annotated

from django.http import HttpResponse
from pydantic import Field
from rest_framework.request import Request

from accounts.access import user_of
from accounts.policy import Act
from annotation.actions import data, outputs
from annotation.api import rows
from annotation.api.base import (
    EditorView,
    Page,
    Unprocessable,
    answer,
    page_of,
    read_body,
    read_query,
    read_records,
)
from annotation.api.describe import described
from annotation.api.shapes import (
    Added,
    AnnotationDetail,
    AnnotationPage,
    AnnotationStatus,
    GoldPage,
    GoldRow,
    ImportRow,
    ItemPage,
    ItemRecords,
    ItemRow,
    ItemStatus,
    NewGold,
    PredictionPage,
    Purpose,
    SystemRecords,
)
from annotation.formats.checks import check_record
from annotation.formats.texts import tokenize
from annotation.policies import check
from annotation.queries import records
from annotation.schemas import ItemRecord, Payload, SystemRecord
from annotation.views.access import member_or_404, project_annotation_or_404, project_item_or_404
from foundation.import_fields import Text

Name = Annotated[Text, Field(min_length=1, max_length=200)]


class ItemQuery(Page):
    """Filters of items. Annotators see those assigned to them."""

    status: ItemStatus | None = None
    external_id: Name | None = None


class ImportQuery(Payload):
    """Options of an import of items."""

    purpose: Purpose = "ordinary"
    dry_run: bool = False


class AnnotationQuery(Page):
    """Filters of annotations. Annotators see their own."""

    item: Name | None = None
    annotator: Name | None = None
    status: AnnotationStatus | None = None


class GoldQuery(Page):
    """Filters of gold: current, or with ``versions`` every version."""

    item: Name | None = None
    versions: bool = False


class OutputQuery(Page):
    """Filters of model outputs."""

    item: Name | None = None
    system: Name | None = None
    revision: Name | None = None


class SystemQuery(Payload):
    """The system and revision of imported outputs."""

    system: Annotated[Text, Field(min_length=1, max_length=100)]
    revision: Annotated[Text, Field(min_length=1, max_length=100)]


class ItemsView(EditorView):
    """The items of a project."""

    @described(answers=ItemPage, query=ItemQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List items."""
        member = member_or_404(request, slug)
        query = read_query(request, ItemQuery)
        matching = records.items_for(member).filter(position__gt=query.after)
        if query.status is not None:
            check(member, Act.ANNOTATION_SETTLE)  # it would reveal hidden gold and counts of others
            matching = records.with_status(matching, query.status)
        if query.external_id is not None:
            matching = matching.filter(external_id=query.external_id)
        some = list(matching[: query.limit + 1])
        return page_of(
            request, query, some, lambda row: row.position, lambda part: rows.item_rows(member, part)
        )

    @described(
        answers=ImportRow,
        status=201,
        takes=ItemRecords,
        lines=ItemRecord,
        query=ImportQuery,
        errors=(409,),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Add items."""
        member = member_or_404(request, slug, Act.ANNOTATION_MANAGE)
        query = read_query(request, ImportQuery)
        report = data.import_items(
            records=_checked_records(request),
            project=member.project,
            by=user_of(request),
            purpose=query.purpose,
            dry_run=query.dry_run,
        )
        return answer(ImportRow(**vars(report)), status=200 if query.dry_run else 201)


def _checked_records(request: Request) -> Iterator[ItemRecord]:
    """Yield the checked items of a body, tokenized if needed."""
    for number, record in enumerate(read_records(request, ItemRecord), start=1):
        if record.passage and not record.tokens:
            record = record.model_copy(update={"tokens": tokenize(record.passage)})
        try:
            yield check_record(record)
        except ValueError as error:
            field, _colon, _rest = str(error).partition(":")
            raise Unprocessable(f"item {number} ({record.external_id}): {error}", field) from error


class ItemView(EditorView):
    """One item."""

    @described(answers=ItemRow)
    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """One item."""
        member = member_or_404(request, slug)
        item = project_item_or_404(member, pk)
        return answer(rows.item_rows(member, [item])[0])


class AnnotationsView(EditorView):
    """People's annotations. Annotators see only their own."""

    @described(answers=AnnotationPage, query=AnnotationQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List annotations."""
        member = member_or_404(request, slug)
        query = read_query(request, AnnotationQuery)
        matching = records.annotations_for(member).filter(pk__gt=query.after)
        if query.item is not None:
            matching = matching.filter(item__external_id=query.item)
        if query.annotator is not None:
            matching = matching.filter(annotator__username=query.annotator)
        if query.status is not None:
            matching = matching.filter(status=query.status)
        some = list(matching[: query.limit + 1])
        return page_of(
            request, query, some, lambda row: row.pk, lambda part: [rows.annotation_row(row) for row in part]
        )


class AnnotationView(EditorView):
    """One annotation with every edit."""

    @described(answers=AnnotationDetail)
    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """One annotation, with its history."""
        annotation = project_annotation_or_404(member_or_404(request, slug), pk)
        return answer(
            AnnotationDetail(
                **rows.annotation_fields(annotation),
                history=[rows.history_row(one) for one in records.history(annotation)],
                comments=[rows.comment_row(one) for one in annotation.comments.select_related("by")],
            )
        )


class GoldView(EditorView):
    """Gold: the current version of each item, or all versions."""

    @described(answers=GoldPage, query=GoldQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List gold."""
        member = member_or_404(request, slug, Act.ANNOTATION_SETTLE)
        query = read_query(request, GoldQuery)
        matching = records.golds(member.project).filter(pk__gt=query.after)
        if not query.versions:
            matching = matching.filter(current=True)
        if query.item is not None:
            matching = matching.filter(item__external_id=query.item)
        some = list(matching[: query.limit + 1])
        return page_of(
            request, query, some, lambda row: row.pk, lambda part: [rows.gold_row(row) for row in part]
        )


class ItemGoldView(EditorView):
    """The gold of one item."""

    @described(answers=GoldRow, status=201, takes=NewGold)
    def post(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Give an item a new version of its gold."""
        member = member_or_404(request, slug, Act.ANNOTATION_SETTLE)
        item = project_item_or_404(member, pk)
        document = read_body(request, NewGold).document
        return answer(rows.gold_row(data.bring_gold(item=item, document=document, by=user_of(request))), 201)


class PredictionsView(EditorView):
    """Model outputs."""

    @described(answers=PredictionPage, query=OutputQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List model outputs."""
        member = member_or_404(request, slug, Act.ANNOTATION_SETTLE)
        query = read_query(request, OutputQuery)
        matching = records.outputs(member.project).filter(pk__gt=query.after)
        wanted = {"item__external_id": query.item, "system": query.system, "revision": query.revision}
        matching = matching.filter(**{name: value for name, value in wanted.items() if value is not None})
        some = list(matching[: query.limit + 1])
        return page_of(
            request, query, some, lambda row: row.pk, lambda part: [rows.prediction_row(row) for row in part]
        )

    @described(
        answers=Added,
        status=201,
        takes=SystemRecords,
        lines=SystemRecord,
        query=SystemQuery,
        errors=(409,),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Add model outputs of a system."""
        member = member_or_404(request, slug, Act.ANNOTATION_MANAGE)
        query = read_query(request, SystemQuery)
        added = outputs.import_outputs(
            records=read_records(request, SystemRecord),
            project=member.project,
            system=query.system,
            revision=query.revision,
            by=user_of(request),
        )
        return answer(Added(added=added), status=201)
