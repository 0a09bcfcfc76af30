"""Read-only admin of datasets, runs and scores.

Only actions write these rows.
"""

from django.contrib import admin

from foundation.read_only_admin import ReadOnlyAdmin
from predictions import models


@admin.register(models.Dataset)
class DatasetAdmin(ReadOnlyAdmin):
    """Datasets."""

    list_display = ["name", "source_format", "created_at", "created_by"]
    search_fields = ["name"]


@admin.register(models.Question)
class QuestionAdmin(ReadOnlyAdmin):
    """Questions as imported."""

    list_display = ["external_id", "text", "answer", "kind", "level", "dataset"]
    list_filter = ["dataset", "kind", "level"]
    list_select_related = ["dataset"]
    search_fields = ["external_id", "text", "answer"]


@admin.register(models.System)
class SystemAdmin(ReadOnlyAdmin):
    """Systems."""

    list_display = ["name"]
    search_fields = ["name"]


@admin.register(models.PredictionRun)
class PredictionRunAdmin(ReadOnlyAdmin):
    """Prediction runs."""

    list_display = ["system", "dataset", "revision", "source", "status", "created_at", "finished_at"]
    list_filter = ["status", "source", "system", "dataset"]
    list_select_related = ["system", "dataset"]
    search_fields = ["system__name", "dataset__name", "revision"]


@admin.register(models.Prediction)
class PredictionAdmin(ReadOnlyAdmin):
    """Answers of systems."""

    list_display = ["question", "answer", "answer_type", "run"]
    list_filter = ["run__system", "run__dataset"]
    list_select_related = ["question", "run__system", "run__dataset"]
    search_fields = ["question__external_id", "question__text", "answer"]


@admin.register(models.PredictionFailure)
class PredictionFailureAdmin(ReadOnlyAdmin):
    """Why questions have no prediction."""

    list_display = ["question", "kind", "message", "run"]
    list_filter = ["kind", "run__system"]
    list_select_related = ["question", "run__system", "run__dataset"]
    search_fields = ["question__external_id", "message"]


@admin.register(models.Score)
class ScoreAdmin(ReadOnlyAdmin):
    """Scores of runs."""

    list_display = ["run", "n", "computed_at"]
    list_select_related = ["run__system", "run__dataset"]
    search_fields = ["run__system__name", "run__dataset__name"]


@admin.register(models.ReadingInstance)
class ReadingInstanceAdmin(ReadOnlyAdmin):
    """Counterfactual instances."""

    list_display = ["__str__", "question"]
    list_filter = ["question__dataset"]
    list_select_related = ["question"]
    search_fields = ["question__external_id", "digest"]


@admin.register(models.ReadingProbe)
class ReadingProbeAdmin(ReadOnlyAdmin):
    """Probes of reading."""

    list_display = ["system", "dataset", "method", "revision", "created_at"]
    list_filter = ["system", "dataset"]
    list_select_related = ["system", "dataset"]
    search_fields = ["system__name", "dataset__name", "revision"]


@admin.register(models.ReadingRecord)
class ReadingRecordAdmin(ReadOnlyAdmin):
    """The records of reading probes."""

    list_display = ["__str__", "probe", "error"]
    list_filter = ["probe__system", "probe__dataset"]
    list_select_related = ["probe__system", "probe__dataset"]
    search_fields = ["instance__question__external_id", "error"]


@admin.register(models.Event)
class EventAdmin(ReadOnlyAdmin):
    """The log of datasets and runs."""

    list_display = ["at", "kind", "actor", "data"]
    list_filter = ["kind"]
    list_select_related = ["actor"]
