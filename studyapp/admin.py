"""Show the tables of studies in the admin, read-only.

Only actions write them.
"""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from foundation.database.read_only_admin import ReadOnlyAdmin, show
from studyapp import models

show(
    models.Study,
    "slug title status created_at created_by",
    filters="status",
    search="slug title",
    without="pseudonym_key",
)


@admin.register(models.StudyVersion)
class StudyVersionAdmin(ReadOnlyAdmin):
    """Frozen versions."""

    list_display = ["study", "number", "hash", "frozen_at", "frozen_by"]
    list_select_related = ["study", "frozen_by"]
    search_fields = ["study__slug", "hash"]

    def get_queryset(self, request: HttpRequest) -> Any:
        """Leave out the large frozen content, except on a version's page."""
        return super().get_queryset(request).defer("frozen")


show(
    models.Condition,
    "name label version system weight is_open",
    filters="version__study",
    joins="version__study system",
    search="name label version__study__slug",
)
show(
    models.Stimulus,
    "item condition shown_answer exact_match system_correct judged_by",
    filters="condition__version__study system_correct",
    joins="item condition",
    search="item__external_id item__text shown_answer",
)
show(
    models.EntryLink,
    "__str__ study mode single_use used_at created_at created_by",
    filters="study mode single_use",
    joins="study created_by",
    search="label study__slug",
    without="token_hash",
)
show(
    models.Participant,
    "public_id version mode group status outcome stage items_submitted last_seen_at",
    filters="version__study mode status outcome group",
    joins="version__study",
    search="public_id completion_code link__label",
)
show(
    models.Trial,
    "participant position item shown_at submitted_at answers",
    filters="participant__version__study participant__mode",
    joins="participant item",
    search="participant__public_id item__external_id",
)
show(
    models.StageResponse,
    "participant stage attempt passed shown_at submitted_at answers",
    filters="participant__version__study participant__mode stage passed",
    joins="participant",
    search="participant__public_id",
)
show(
    models.SurveyResponse,
    "participant shown_at submitted_at answers",
    filters="participant__version__study participant__mode",
    joins="participant",
    search="participant__public_id",
)
show(
    models.Event,
    "at kind study participant actor",
    filters="kind study",
    joins="study participant actor",
    search="kind participant__public_id study__slug",
    by_date="at",
)
