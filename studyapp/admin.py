"""Read-only admin pages to look up the rows of studies.

Everything here is read-only: actions write it, or nothing does.
"""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from foundation.read_only_admin import ReadOnlyAdmin
from studyapp import models


@admin.register(models.Study)
class StudyAdmin(ReadOnlyAdmin):
    """Studies, which create_study and the staff pages write."""

    list_display = ["slug", "title", "status", "created_at", "created_by"]
    list_filter = ["status"]
    search_fields = ["slug", "title"]
    exclude = ["pseudonym_key"]


@admin.register(models.StudyVersion)
class StudyVersionAdmin(ReadOnlyAdmin):
    """Frozen versions."""

    list_display = ["study", "number", "hash", "frozen_at", "frozen_by"]
    list_select_related = ["study", "frozen_by"]
    search_fields = ["study__slug", "hash"]

    def get_queryset(self, request: HttpRequest) -> Any:
        """Leave out the large frozen content, except on a version's page."""
        return super().get_queryset(request).defer("frozen")


@admin.register(models.Condition)
class ConditionAdmin(ReadOnlyAdmin):
    """Conditions of versions."""

    list_display = ["name", "label", "version", "system", "weight", "is_open"]
    list_filter = ["version__study"]
    list_select_related = ["version__study", "system"]
    search_fields = ["name", "label", "version__study__slug"]


@admin.register(models.Stimulus)
class StimulusAdmin(ReadOnlyAdmin):
    """The content that conditions show for items."""

    list_display = ["item", "condition", "shown_answer", "exact_match", "system_correct", "judged_by"]
    list_filter = ["condition__version__study", "system_correct"]
    list_select_related = ["item", "condition"]
    search_fields = ["item__external_id", "item__text", "shown_answer"]


@admin.register(models.EntryLink)
class EntryLinkAdmin(ReadOnlyAdmin):
    """Entry links, without their tokens, which are not kept."""

    list_display = ["__str__", "study", "mode", "single_use", "used_at", "created_at", "created_by"]
    list_filter = ["study", "mode", "single_use"]
    list_select_related = ["study", "created_by"]
    search_fields = ["label", "study__slug"]
    exclude = ["token_hash"]


@admin.register(models.Participant)
class ParticipantAdmin(ReadOnlyAdmin):
    """Participants."""

    list_display = [
        *("public_id", "version", "mode", "group", "status", "outcome", "stage"),
        *("items_submitted", "last_seen_at"),
    ]
    list_filter = ["version__study", "mode", "status", "outcome", "group"]
    list_select_related = ["version__study"]
    search_fields = ["public_id", "completion_code", "link__label"]


@admin.register(models.Trial)
class TrialAdmin(ReadOnlyAdmin):
    """Answers to items."""

    list_display = ["participant", "position", "item", "shown_at", "submitted_at", "answers"]
    list_filter = ["participant__version__study", "participant__mode"]
    list_select_related = ["participant", "item"]
    search_fields = ["participant__public_id", "item__external_id"]


@admin.register(models.StageResponse)
class StageResponseAdmin(ReadOnlyAdmin):
    """Pages before the items."""

    list_display = ["participant", "stage", "attempt", "passed", "shown_at", "submitted_at", "answers"]
    list_filter = ["participant__version__study", "participant__mode", "stage", "passed"]
    list_select_related = ["participant"]
    search_fields = ["participant__public_id"]


@admin.register(models.SurveyResponse)
class SurveyResponseAdmin(ReadOnlyAdmin):
    """Answers to post surveys."""

    list_display = ["participant", "shown_at", "submitted_at", "answers"]
    list_filter = ["participant__version__study", "participant__mode"]
    list_select_related = ["participant"]
    search_fields = ["participant__public_id"]


@admin.register(models.Event)
class EventAdmin(ReadOnlyAdmin):
    """Acts of staff and participants."""

    list_display = ["at", "kind", "study", "participant", "actor"]
    list_filter = ["kind", "study"]
    list_select_related = ["study", "participant", "actor"]
    search_fields = ["kind", "participant__public_id", "study__slug"]
    date_hierarchy = "at"
