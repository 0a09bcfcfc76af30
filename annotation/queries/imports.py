"""Imports of a project, and what refers to their items."""

from collections.abc import Collection

from django.db.models import Q, QuerySet

from annotation.models import (
    Annotation,
    Comment,
    Gold,
    Item,
    ItemImport,
    Operation,
    OutputFailure,
    Project,
    SystemOutput,
)


def list_imports(project: Project) -> QuerySet[ItemImport]:
    """Return the imports of a project, newest first."""
    return project.imports.select_related("by", "undone_by").order_by("-pk")


def list_imported_items(item_import: ItemImport) -> QuerySet[Item]:
    """Return the items that an import added and that are still there."""
    return Item.objects.filter(_build_import_condition(item_import, "")).order_by()


def is_touched(item_import: ItemImport) -> bool:
    """Return True if an item has more than came with the import."""
    counts = item_import.counts
    # By joins: with the items in a subquery, an import of 100,000 items would take a second to ask about.
    here, there = (
        _build_import_condition(item_import, "item__"),
        _build_import_condition(item_import, "annotation__item__"),
    )
    return (
        Annotation.objects.filter(here)[: counts["annotations"] + 1].count() > counts["annotations"]
        or Gold.objects.filter(here)[: counts["with_gold"] + 1].count() > counts["with_gold"]
        or Gold.objects.filter(here).exclude(method=Gold.Method.IMPORTED).exists()
        or Operation.objects.filter(there).exists()
        or Comment.objects.filter(there).exists()
        or SystemOutput.objects.filter(here).exists()
        or OutputFailure.objects.filter(here).exists()
    )


def _build_import_condition(item_import: ItemImport, path: str) -> Q:
    """Return the condition that a row's item came with an import."""
    return Q(
        **{
            f"{path}project": item_import.project_id,
            f"{path}position__gte": item_import.first,
            f"{path}position__lte": item_import.last,
        }
    )


def is_in_use(item: Item) -> bool:
    """Return True if something refers to an item."""
    return (
        item.annotations.exists()
        or item.golds.exists()
        or item.outputs.exists()
        or item.output_failures.exists()
    )


def find_used_images(project: Project, names: Collection[str]) -> set[str]:
    """Return those of the images that an item of the project shows."""
    used: set[str] = set()
    for images in project.items.order_by().values_list("images", flat=True).iterator():
        used.update(name for name in images if name in names)
    return used


def is_waiting(project: Project) -> bool:
    """Return True if the site has no file of an image of the project."""
    return project.image_files.filter(path="").exists()
