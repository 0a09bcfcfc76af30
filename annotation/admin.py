"""Show the tables in the admin, read-only: only actions write them."""

from annotation import models
from foundation.database.read_only_admin import show

show(
    models.Project,
    "slug title kind status annotators_per_item created_at created_by",
    filters="kind status",
    search="slug title",
)
show(
    models.Membership,
    "project user role active qualified handed_out",
    filters="project role active",
    joins="project user",
)
show(
    models.Item,
    "external_id project position purpose annotators_wanted assigned submitted",
    filters="project purpose",
    joins="project",
    search="external_id text",
)
show(
    models.Annotation,
    "item project annotator task status revision saved_at submitted_at",
    filters="project task status",
    joins="item project annotator",
    search="item__external_id annotator__username",
)
show(models.Operation, "annotation revision by at undoes", joins="annotation__item annotation__annotator by")
show(
    models.OutputRun,
    "system revision project status created_at progressed_at finished_at",
    filters="project status",
    joins="project",
)
show(
    models.Gold,
    "item version current method by at",
    filters="method current",
    joins="item by",
    search="item__external_id",
)
show(models.SystemOutput, "item system revision created_at", filters="system revision", joins="item")
show(
    models.Comment,
    "text annotation node by at resolved_at",
    joins="annotation__item annotation__annotator by",
)
show(
    models.Batch,
    "name project annotator due_on created_by created_at",
    filters="project",
    joins="project annotator created_by",
)
show(
    models.Guideline,
    "project module version created_by created_at",
    filters="project",
    joins="project created_by",
)
show(models.AuditEvent, "at project kind actor", filters="project kind", joins="project actor")
show(models.Webhook, "url project active created_by created_at", joins="project created_by", without="secret")
show(models.Delivery, "kind webhook created_at attempts delivered_at next_at last_error", joins="webhook")
