"""Show datasets, runs and scores in the admin, read-only."""

from foundation.database.read_only_admin import show
from predictions import models

show(models.Dataset, "name source_format created_at created_by", search="name")
show(
    models.Question,
    "external_id text answer kind level dataset",
    filters="dataset kind level",
    joins="dataset",
    search="external_id text answer",
)
show(models.System, "name", search="name")
show(
    models.PredictionRun,
    "system dataset revision source status created_at finished_at",
    filters="status source system dataset",
    joins="system dataset",
    search="system__name dataset__name revision",
)
show(
    models.Prediction,
    "question answer answer_type run",
    filters="run__system run__dataset",
    joins="question run__system run__dataset",
    search="question__external_id question__text answer",
)
show(
    models.PredictionFailure,
    "question kind message run",
    filters="kind run__system",
    joins="question run__system run__dataset",
    search="question__external_id message",
)
show(
    models.Score,
    "run n computed_at",
    joins="run__system run__dataset",
    search="run__system__name run__dataset__name",
)
show(
    models.ReadingInstance,
    "__str__ question",
    filters="question__dataset",
    joins="question",
    search="question__external_id digest",
)
show(
    models.ReadingProbe,
    "system dataset method revision created_at",
    filters="system dataset",
    joins="system dataset",
    search="system__name dataset__name revision",
)
show(
    models.ReadingRecord,
    "__str__ probe error",
    filters="probe__system probe__dataset",
    joins="probe__system probe__dataset",
    search="instance__question__external_id error",
)
show(models.Event, "at kind actor data", filters="kind", joins="actor")
