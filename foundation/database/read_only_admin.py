"""Admin pages of rows that only actions may write."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db import models
from django.http import HttpRequest


class ReadOnlyAdmin(admin.ModelAdmin):
    """Admin pages that show rows and change none."""

    list_per_page = 50
    show_full_result_count = False
    formfield_overrides: ClassVar = {models.URLField: {"assume_scheme": "https"}}

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False, because only actions write."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False, because only actions write."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False, because nobody deletes what people produced."""
        return False


def show(
    model: type[models.Model],
    columns: str,
    *,
    filters: str = "",
    joins: str = "",
    search: str = "",
    without: str = "",
    by_date: str | None = None,
) -> None:
    """Show a table in the admin, read-only.

    Args:
        model: The table.
        columns: The fields to list, with spaces between them, as in all that follow.
        filters: The fields to filter by.
        joins: The relations that the list needs, fetched with it.
        search: The fields to search in.
        without: The fields to hide on the page of a row.
        by_date: The field to go through by year, month and day.
    """
    admin.site.register(
        model,
        ReadOnlyAdmin,
        list_display=columns.split(),
        list_filter=filters.split(),
        list_select_related=joins.split() or False,
        search_fields=search.split(),
        exclude=without.split() or None,
        date_hierarchy=by_date,
    )
