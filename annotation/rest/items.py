"""Endpoints of items, images, gold and inter-annotator agreement."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from django.http import HttpResponse, HttpResponseBase
from rest_framework.request import Request

from accounts.policy_table import Act
from accounts.rest.bodies import check_length, read_blocks, read_body, read_query, read_records
from accounts.rest.describe import describe_method
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.pages import PageOf, answer, answer_page, validate_row
from accounts.rights.access import require_existing
from annotation.actions import data, review
from annotation.actions.images import add_image
from annotation.actions.ordering import move_items, order_items
from annotation.content.schemas import ItemRecord
from annotation.formats.checks import check_record
from annotation.formats.texts import tokenize
from annotation.models import ImageFile, Item, Order, Project
from annotation.policies import check, may
from annotation.queries import records
from annotation.queries.comparison import compute_project_agreement
from annotation.queries.items import find_ordinary_items
from annotation.rest import rows, shapes
from annotation.rest.views import ProjectView, build_refusal
from annotation.views.access import project_item_or_404
from foundation.images.image_files import build_image_response
from touchstone.client import project_rows as wire

MOST_IMAGE_BYTES = 32 << 20


class Items(ProjectView):
    """The items of a project."""

    @describe_method(answers=PageOf[wire.ItemRow], query=shapes.ItemQuery)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List items."""
        member = self.member(slug)
        query = read_query(request, shapes.ItemQuery)
        matching = records.list_visible_items(member)
        if query.status is not None:
            check(member, Act.ANNOTATION_SETTLE)  # it would reveal hidden gold and counts of others
            matching = records.filter_by_status(matching, query.status)
        if query.external_id is not None:
            matching = matching.filter(external_id=query.external_id)
        return answer_page(
            request, query, matching, lambda part: rows.build_item_rows(member, part), key="position"
        )

    @describe_method(
        answers=wire.ItemImport,
        status=201,
        takes=shapes.ItemRecords,
        lines=ItemRecord,
        query=shapes.NewItemsQuery,
        errors=(409,),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Add items."""
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        query = read_query(request, shapes.NewItemsQuery)
        report = data.import_items(
            records=_check_records(request),
            project=member.project,
            by=self.user,
            purpose=query.purpose,
            dry_run=query.dry_run,
        )
        return answer(validate_row(wire.ItemImport, vars(report)), status=200 if query.dry_run else 201)


def _check_records(request: Request) -> Iterator[ItemRecord]:
    """Yield the checked items of a body, tokenized if needed."""
    for number, record in enumerate(read_records(request, ItemRecord), start=1):
        if record.passage and not record.tokens:
            record = record.model_copy(update={"tokens": tokenize(record.passage)})
        try:
            yield check_record(record)
        except ValueError as error:
            field, _colon, detail = str(error).partition(": ")
            raise build_refusal(f"item {number}.{field}", f"{detail} ({record.external_id})") from error


class OneItem(ProjectView):
    """One item."""

    @describe_method(answers=wire.ItemRow)
    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Return one item."""
        member = self.member(slug)
        return answer(rows.build_item_rows(member, [project_item_or_404(member, pk)])[0])


class ItemOrder(ProjectView):
    """The order in which ordinary items are assigned."""

    @describe_method(answers=shapes.OrderedItems, takes=shapes.NewOrder)
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Order all items, or move some before or after all others."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        new = read_body(request, shapes.NewOrder)
        order = Order(new.order)
        if order not in (Order.FIRST, Order.LAST):
            if new.items:
                raise build_refusal("items", f"the order {new.order!r} is for all items; leave this out")
            return answer(shapes.OrderedItems(items=order_items(project=project, order=order, by=self.user)))
        items = find_named_items(project, new.items)
        move_items(project=project, items=items, order=order, by=self.user)
        return answer(shapes.OrderedItems(items=len(items)))


def find_named_items(project: Project, names: Sequence[str]) -> list[Item]:
    """Return the ordinary items with these IDs, in this order."""
    if not names or len(set(names)) < len(names):
        raise build_refusal("items", "name at least one item, and each only once")
    there = find_ordinary_items(project, names)
    if missing := [name for name in names if name not in there]:
        raise build_refusal("items", f"there is no ordinary item {missing[0]!r}")
    return [there[name] for name in names]


class Images(ProjectView):
    """The images of a project."""

    @describe_method(answers=PageOf[wire.ImageRow], query=shapes.ImageQuery)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List the images of a project."""
        project = self.member(slug, Act.ANNOTATION_SETTLE).project
        query = read_query(request, shapes.ImageQuery)
        files = project.image_files.all()
        if query.name is not None:
            files = files.filter(name=query.name)
        return answer_page(
            request,
            query,
            files,
            lambda part: (rows.build_image_row(project, file.name, file) for file in part),
        )

    @describe_method(
        answers=wire.ImageRow, status=201, takes=bytes, query=shapes.NewImageQuery, errors=(409,)
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Upload an image."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        name = read_query(request, shapes.NewImageQuery).name
        check_length(request, MOST_IMAGE_BYTES)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "image"
            with path.open("wb") as file:
                file.writelines(read_blocks(request))
            stored = add_image(project=project, name=name, source=path, by=self.user)
        return answer(rows.build_image_row(project, name, stored), status=201)


class OneImage(ProjectView):
    """One image, as it is shown."""

    throttle_classes = []  # a page shows dozens at once, and browsers keep them

    @describe_method(answers=bytes, media="image/*")
    def get(self, request: Request, slug: str, pk: int) -> HttpResponseBase:
        """Return one image."""
        project = self.member(slug).project
        stored = require_existing(ImageFile.objects.filter(pk=pk, project=project).exclude(path="").first())
        return build_image_response(stored.path)


class AllGold(ProjectView):
    """Gold: the current version of each item, or all versions."""

    @describe_method(answers=PageOf[shapes.GoldRow], query=shapes.GoldQuery)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List gold."""
        member = self.member(slug, Act.ANNOTATION_SETTLE)
        query = read_query(request, shapes.GoldQuery)
        matching = records.list_golds(member.project)
        if not query.versions:
            matching = matching.filter(current=True)
        if query.item is not None:
            matching = matching.filter(item__external_id=query.item)
        return answer_page(request, query, matching, lambda part: map(rows.build_gold_row, part))


class ItemGold(ProjectView):
    """The gold of one item."""

    @describe_method(answers=shapes.GoldRow, status=201, takes=shapes.NewGold, creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Give an item a new version of its gold."""
        member = self.member(slug, Act.ANNOTATION_SETTLE)
        item = project_item_or_404(member, pk)
        document = read_body(request, shapes.NewGold).document
        return answer(rows.build_gold_row(review.bring_gold(item=item, document=document, by=self.user)), 201)


class Agreement(ProjectView):
    """Inter-annotator agreement."""

    @describe_method(answers=wire.Agreement)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Measure inter-annotator agreement."""
        member = self.member(slug, Act.ANNOTATION_SETTLE)
        measured, items = compute_project_agreement(member.project)
        differences = measured.count_parting_modules().items()
        return answer(
            wire.Agreement(
                items=items,
                results=rows.build_agreement_rows(measured, names=may(member, Act.ANNOTATION_MANAGE)),
                first_differences=[
                    wire.FirstDifference(module=module, pairs=pairs) for module, pairs in differences
                ],
            )
        )
