"""Show the tables in the admin, read-only: only actions write them."""

from django.contrib import admin

from annotation import models
from foundation.read_only_admin import ReadOnlyAdmin


@admin.register(models.Project)
class ProjectAdmin(ReadOnlyAdmin):
    """Projects."""

    list_display = ["slug", "title", "kind", "status", "annotators_per_item", "created_at", "created_by"]
    list_filter = ["kind", "status"]
    search_fields = ["slug", "title"]


@admin.register(models.Membership)
class MembershipAdmin(ReadOnlyAdmin):
    """Members of projects."""

    list_display = ["project", "user", "role", "active", "qualified", "handed_out"]
    list_filter = ["project", "role", "active"]
    list_select_related = ["project", "user"]


@admin.register(models.Item)
class ItemAdmin(ReadOnlyAdmin):
    """Items as imported."""

    list_display = [
        "external_id",
        "project",
        "position",
        "purpose",
        "annotators_wanted",
        "assigned",
        "submitted",
    ]
    list_filter = ["project", "purpose"]
    list_select_related = ["project"]
    search_fields = ["external_id", "text"]


@admin.register(models.Annotation)
class AnnotationAdmin(ReadOnlyAdmin):
    """People's annotations."""

    list_display = ["item", "project", "annotator", "task", "status", "revision", "saved_at", "submitted_at"]
    list_filter = ["project", "task", "status"]
    list_select_related = ["item", "project", "annotator"]
    search_fields = ["item__external_id", "annotator__username"]


@admin.register(models.Operation)
class OperationAdmin(ReadOnlyAdmin):
    """Single edits."""

    list_display = ["annotation", "revision", "by", "at", "undoes"]
    list_select_related = ["annotation__item", "annotation__annotator", "by"]


@admin.register(models.OutputRun)
class OutputRunAdmin(ReadOnlyAdmin):
    """Served systems over the items of a project."""

    list_display = ["system", "revision", "project", "status", "created_at", "progressed_at", "finished_at"]
    list_filter = ["project", "status"]
    list_select_related = ["project"]


@admin.register(models.Gold)
class GoldAdmin(ReadOnlyAdmin):
    """Gold, in versions."""

    list_display = ["item", "version", "current", "method", "by", "at"]
    list_filter = ["method", "current"]
    list_select_related = ["item", "by"]
    search_fields = ["item__external_id"]


@admin.register(models.SystemOutput)
class SystemOutputAdmin(ReadOnlyAdmin):
    """Model outputs."""

    list_display = ["item", "system", "revision", "created_at"]
    list_filter = ["system", "revision"]
    list_select_related = ["item"]


@admin.register(models.Comment)
class CommentAdmin(ReadOnlyAdmin):
    """Comments on annotations."""

    list_display = ["text", "annotation", "node", "by", "at", "resolved_at"]
    list_select_related = ["annotation__item", "annotation__annotator", "by"]


@admin.register(models.Batch)
class BatchAdmin(ReadOnlyAdmin):
    """Items that a manager gave to one person together."""

    list_display = ["name", "project", "annotator", "due_on", "created_by", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project", "annotator", "created_by"]


@admin.register(models.Guideline)
class GuidelineAdmin(ReadOnlyAdmin):
    """Guidelines, in versions."""

    list_display = ["project", "module", "version", "created_by", "created_at"]
    list_filter = ["project"]
    list_select_related = ["project", "created_by"]


@admin.register(models.AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """The audit log."""

    list_display = ["at", "project", "kind", "actor"]
    list_filter = ["project", "kind"]
    list_select_related = ["project", "actor"]


@admin.register(models.Webhook)
class WebhookAdmin(ReadOnlyAdmin):
    """Addresses that receive events."""

    list_display = ["url", "project", "active", "created_by", "created_at"]
    list_select_related = ["project", "created_by"]
    exclude = ["secret"]


@admin.register(models.Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """Events sent to webhooks."""

    list_display = ["kind", "webhook", "created_at", "attempts", "delivered_at", "next_at", "last_error"]
    list_select_related = ["webhook"]
