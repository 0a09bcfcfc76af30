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
        """Return False, because what people produced is kept."""
        return False
