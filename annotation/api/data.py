"""The data of a project: items, people's annotations, gold, and systems' outputs."""

from collections.abc import Iterator
from typing import Annotated

from django.http import HttpResponse
from pydantic import Field
from rest_framework.request import Request

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
from annotation.models import Role
from annotation.policies import check_role
from annotation.queries import records
from annotation.schemas import ItemRecord, Payload, SystemRecord
from annotation.views.access import member_or_404, project_annotation_or_404, project_item_or_404, user_of
from foundation.import_fields import Text

Name = Annotated[Text, Field(min_length=1, max_length=200)]


class ItemQuery(Page):
    """Which items. Annotators see those that they were handed."""

    status: ItemStatus | None = None
    external_id: Name | None = None


class ImportQuery(Payload):
    """How items come in."""

    purpose: Purpose = "ordinary"
    dry_run: bool = False


class WorkQuery(Page):
    """Which works. Annotators see their own."""

    item: Name | None = None
    annotator: Name | None = None
    status: AnnotationStatus | None = None


class GoldQuery(Page):
    """Which gold: the current one of each item, or with ``versions`` every version."""

    item: Name | None = None
    versions: bool = False


class OutputQuery(Page):
    """Which outputs."""

    item: Name | None = None
    system: Name | None = None
    revision: Name | None = None


class SystemQuery(Payload):
    """Whose outputs come in."""

    system: Annotated[Text, Field(min_length=1, max_length=100)]
    revision: Annotated[Text, Field(min_length=1, max_length=100)]


class ItemsView(EditorView):
    """The items of a project."""

    @described("List items", answers=ItemPage, query=ItemQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug)
        query = read_query(request, ItemQuery)
        found = records.items_for(member).filter(position__gt=query.after)
        if query.status is not None:
            check_role(member, Role.ADJUDICATOR)  # it would tell hidden gold and others' counts
            found = records.with_status(found, query.status)
        if query.external_id is not None:
            found = found.filter(external_id=query.external_id)
        some = list(found[: query.limit + 1])
        return page_of(
            request, query, some, lambda one: one.position, lambda part: rows.item_rows(member, part)
        )

    @described(
        "Add items",
        answers=ImportRow,
        status=201,
        takes=ItemRecords,
        lines=ItemRecord,
        query=ImportQuery,
        errors=(409,),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug, Role.MANAGER)
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
    """The items of a body, each checked against its program, with tokens where it has none."""
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

    @described("One item", answers=ItemRow)
    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        member = member_or_404(request, slug)
        item = project_item_or_404(member, pk)
        return answer(rows.item_rows(member, [item])[0])


class AnnotationsView(EditorView):
    """What people drew. Annotation is blind: annotators see their own only."""

    @described("List annotations", answers=AnnotationPage, query=WorkQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug)
        query = read_query(request, WorkQuery)
        found = records.annotations_for(member).filter(pk__gt=query.after)
        if query.item is not None:
            found = found.filter(item__external_id=query.item)
        if query.annotator is not None:
            found = found.filter(annotator__username=query.annotator)
        if query.status is not None:
            found = found.filter(status=query.status)
        some = list(found[: query.limit + 1])
        return page_of(
            request, query, some, lambda one: one.pk, lambda part: [rows.annotation_row(one) for one in part]
        )


class AnnotationView(EditorView):
    """One work with every edit that it was made of."""

    @described("One annotation, with its history", answers=AnnotationDetail)
    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
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

    @described("List gold", answers=GoldPage, query=GoldQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug, Role.ADJUDICATOR)
        query = read_query(request, GoldQuery)
        found = records.golds(member.project).filter(pk__gt=query.after)
        if not query.versions:
            found = found.filter(current=True)
        if query.item is not None:
            found = found.filter(item__external_id=query.item)
        some = list(found[: query.limit + 1])
        return page_of(
            request, query, some, lambda one: one.pk, lambda part: [rows.gold_row(one) for one in part]
        )


class ItemGoldView(EditorView):
    """The gold of one item."""

    @described("Give an item a new version of its gold", answers=GoldRow, status=201, takes=NewGold)
    def post(self, request: Request, slug: str, pk: int) -> HttpResponse:
        member = member_or_404(request, slug, Role.ADJUDICATOR)
        item = project_item_or_404(member, pk)
        document = read_body(request, NewGold).document
        return answer(rows.gold_row(data.bring_gold(item=item, document=document, by=user_of(request))), 201)


class PredictionsView(EditorView):
    """What systems put out."""

    @described("List systems' outputs", answers=PredictionPage, query=OutputQuery)
    def get(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug, Role.ADJUDICATOR)
        query = read_query(request, OutputQuery)
        found = records.outputs(member.project).filter(pk__gt=query.after)
        wanted = {"item__external_id": query.item, "system": query.system, "revision": query.revision}
        found = found.filter(**{name: value for name, value in wanted.items() if value is not None})
        some = list(found[: query.limit + 1])
        return page_of(
            request, query, some, lambda one: one.pk, lambda part: [rows.prediction_row(one) for one in part]
        )

    @described(
        "Add a system's outputs",
        answers=Added,
        status=201,
        takes=SystemRecords,
        lines=SystemRecord,
        query=SystemQuery,
        errors=(409,),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug, Role.MANAGER)
        query = read_query(request, SystemQuery)
        added = outputs.import_outputs(
            records=read_records(request, SystemRecord),
            project=member.project,
            system=query.system,
            revision=query.revision,
            by=user_of(request),
        )
        return answer(Added(added=added), status=201)
