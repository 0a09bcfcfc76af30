"""Pages of the items of a project: list, upload, preview, correction."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import NOT_THERE, require_existing, require_user
from annotation.actions import imports
from annotation.actions.ordering import move_items, order_items
from annotation.errors import Conflict
from annotation.forms.files import UPLOADS, UploadForm
from annotation.forms.items import ItemFilterForm, ItemForm, MoveForm, OrderForm
from annotation.importing.items import IMAGES
from annotation.models import Item, Membership, Order
from annotation.queries.imports import is_in_use, is_touched, is_waiting, list_imports
from annotation.queries.items import search_items
from annotation.views import tables
from annotation.views.access import members_only
from annotation.views.imports import ITEMS, import_context, import_or_404
from foundation.translated_messages import show_errors, translate_error
from jobs.models import Job
from jobs.tasks import start_job

SHOWN = 50
SHOWN_IMPORTS = 20


@require_safe
@members_only(Act.ANNOTATION_SETTLE)
def list_items(request: HttpRequest, member: Membership) -> HttpResponse:
    """List the items, with search and filter by state."""
    form = ItemFilterForm(request.GET)
    wanted = form.wanted()
    table = tables.ITEMS.of(request.GET)
    items = search_items(member.project, wanted["search"], wanted["state"])
    page = table.page(items, SHOWN, key="position", after=wanted["after"], before=wanted["before"])
    context = {
        "project": member.project,
        "form": form,
        "page": page,
        "table": table,
        "order_form": OrderForm(),
        "is_empty": not page.rows and not member.project.items.exists(),
        "filtered": bool(wanted["search"] or wanted["state"]),
    }
    return render(request, "annotation/items.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def upload(request: HttpRequest, member: Membership) -> HttpResponse:
    """Upload a file of items, which is previewed before it is imported."""
    form = UploadForm(request.POST or None, request.FILES or None, project=member.project)
    if request.method == "POST" and form.is_valid():
        job = _preview(request, member, form)
        return redirect("annotation:import", member.project.slug, job.pk)
    earlier = list_imports(member.project)[:SHOWN_IMPORTS]
    table = tables.IMPORTS.of(request.GET)
    context = {
        "project": member.project,
        "form": form,
        "imports": table.rows(
            (item_import, item_import.undone_at is None and not is_touched(item_import))
            for item_import in earlier
        ),
        "imports_table": table,
        "images_missing": is_waiting(member.project),
    }
    return render(request, "annotation/upload.html", context, status=422 if form.errors else 200)


def _preview(request: HttpRequest, member: Membership, form: UploadForm) -> Job:
    upload = form.cleaned_data["upload"]
    return start_job(
        kind=ITEMS,
        workspace=member.project.workspace,
        by=require_user(request),
        subject=member.project.slug,
        options={
            "project": member.project_id,
            "format": "plain" if upload.hub else form.cleaned_data["format"],
            "hub": upload.hub,
            "purpose": form.cleaned_data["purpose"],
            "labels_from_file": form.cleaned_data.get("labels_from_file", False),
            "dry_run": True,
        },
        upload=upload.content,
        upload_name=upload.name,
    )


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def preview(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Show the preview of an upload, or the progress of its import."""
    job = import_or_404(request, member, pk, ITEMS)
    name = job.options.get("format", "")
    format_label = UPLOADS[name][1] if name in UPLOADS else name
    return render(
        request,
        "annotation/import.html",
        import_context(member, job) | {"is_images": name == IMAGES, "format": format_label},
    )


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def undo(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Delete the items of an import that nobody has worked on."""
    item_import = require_existing(member.project.imports.filter(pk=pk).first())
    with show_errors(request, Conflict):
        number = imports.undo_import(item_import=item_import, by=require_user(request))
        messages.success(request, _("Undid the import: deleted %(number)d items.") % {"number": number})
    return redirect("annotation:upload_items", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def order(request: HttpRequest, member: Membership) -> HttpResponse:
    """Order the items that are still to be assigned."""
    form = OrderForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose an order of the list."))
    else:
        number = order_items(
            project=member.project, order=Order(form.cleaned_data["order"]), by=require_user(request)
        )
        messages.success(request, _("Changed the order of %(number)d items.") % {"number": number})
    return redirect("annotation:items", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def move(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Assign an item before or after all others."""
    item, form = _item_or_404(member, pk), MoveForm(request.POST)
    if item.purpose != Item.Purpose.ORDINARY:
        raise Http404(NOT_THERE)
    if not form.is_valid():
        messages.error(request, _("Choose an order of the list."))
        return redirect("annotation:item", member.project.slug, pk)
    chosen = Order(form.cleaned_data["order"])
    move_items(project=member.project, items=[item], order=chosen, by=require_user(request))
    done = _("This item is assigned next.") if chosen == Order.FIRST else _("This item is assigned last.")
    messages.success(request, done)
    return redirect("annotation:item", member.project.slug, pk)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def edit(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Correct an item that nothing refers to."""
    item = _item_or_404(member, pk)
    form = ItemForm(request.POST or None, item=item)
    if request.method == "POST" and form.is_valid():
        with show_errors(request, Conflict):
            imports.correct_item(item=item, by=require_user(request), **form.cleaned_data)
            messages.success(request, _("Saved the item."))
        return redirect("annotation:item", member.project.slug, pk)
    context: dict[str, Any] = {
        "project": member.project,
        "item": item,
        "form": form,
        "in_use": is_in_use(item),
    }
    return render(request, "annotation/item_form.html", context, status=422 if form.errors else 200)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def delete(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Delete an item that nothing refers to."""
    item = _item_or_404(member, pk)
    try:
        imports.delete_item(item=item, by=require_user(request))
    except Conflict as error:
        messages.error(request, translate_error(error))
        return redirect("annotation:item", member.project.slug, pk)
    messages.success(request, _("Deleted item %(item)s.") % {"item": item.external_id})
    return redirect("annotation:items", member.project.slug)


def _item_or_404(member: Membership, pk: int) -> Item:
    return require_existing(member.project.items.select_related("project").filter(pk=pk).first())
