"""Undo an import, and correct single items."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.actions import audit
from annotation.errors import Conflict
from annotation.models import Annotation, Gold, ImageFile, Item, ItemImport, Project
from annotation.queries.imports import find_used_images, is_in_use, is_touched, list_imported_items


@transaction.atomic
def undo_import(*, item_import: ItemImport, by: User) -> int:
    """Delete the items that an import added; return their number.

    Gold and annotations that came with them go, too. Images that other items use stay.

    Raises:
        Conflict: Somebody has worked on one of the items, or it was undone before.
    """
    project = Project.objects.select_for_update(no_key=True).get(pk=item_import.project_id)
    item_import = ItemImport.objects.select_for_update(of=("self",)).get(pk=item_import.pk)
    if item_import.undone_at is not None:
        raise Conflict(_("This import was undone already."))
    # Locked, so that nobody gets one of the items meanwhile.
    list(list_imported_items(item_import).select_for_update().values_list("pk", flat=True))
    if is_touched(item_import):
        raise Conflict(_("Somebody has worked on items of this import, so it cannot be undone."))
    number = _delete(project, item_import)
    item_import.undone_at, item_import.undone_by = timezone.now(), by
    item_import.save(update_fields=["undone_at", "undone_by"])
    audit.record(project=project, kind="import_undone", by=by, data={"items": number})
    return number


def _delete(project: Project, item_import: ItemImport) -> int:
    items = list_imported_items(item_import)
    Annotation.objects.filter(item__in=items).delete()
    Gold.objects.filter(item__in=items).delete()
    names = {name for images in items.values_list("images", flat=True) for name in images}
    number, _rows = items.delete()
    _forget_images(project, names)
    return number


def _forget_images(project: Project, names: set[str]) -> None:
    """Delete the rows of images that no item shows; files may serve others."""
    if names:
        unused = names - find_used_images(project, names)
        ImageFile.objects.filter(project=project, name__in=unused).delete()


@transaction.atomic
def delete_item(*, item: Item, by: User) -> None:
    """Delete an item that nothing refers to.

    Raises:
        Conflict: It has annotations, gold or model outputs.
    """
    item = _free(item)
    name, images, project = item.external_id, set(item.images), item.project
    item.delete()
    _forget_images(project, images)
    audit.record(project=project, kind="item_deleted", by=by, data={"item": name})


@transaction.atomic
def correct_item(*, item: Item, by: User, text: str, program: str, answer: object) -> Item:
    """Correct text, program and answer of an item that nothing refers to.

    The values are checked already (`annotation.forms.items.ItemForm`).

    Raises:
        Conflict: It has annotations, gold or model outputs.
    """
    item = _free(item)
    item.text, item.program, item.answer = text, program, answer
    item.save(update_fields=["text", "program", "answer"])
    audit.record(project=item.project, kind="item_corrected", by=by, data={"item": item.external_id})
    return item


def _free(item: Item) -> Item:
    item = Item.objects.select_for_update(of=("self",)).select_related("project").get(pk=item.pk)
    if is_in_use(item):
        raise Conflict(
            _("%(item)s has annotations, gold or model outputs, so it can be neither changed nor deleted.")
            % {"item": item.external_id}
        )
    return item
