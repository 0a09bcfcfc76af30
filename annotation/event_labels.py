"""Labels of the events in a project's audit log.

``actions.audit`` refuses kinds without a label.
"""

from django.utils.translation import gettext_lazy as _

from annotation.models import Gold, Kind, Role
from foundation.event_labels import EventLabels

_KINDS = {
    "adjudication_started": _("Adjudication started"),
    "adjudication_taken_over": _("Adjudication reassigned"),
    "bots_enlisted": _("Simulated annotators added"),
    "comment_added": _("Comment added"),
    "export_downloaded": _("Export downloaded"),
    "gold_set": _("Gold set"),
    "guideline_written": _("Guideline written"),
    "image_added": _("Image added"),
    "import_undone": _("Import undone"),
    "item_corrected": _("Item corrected"),
    "item_deleted": _("Item deleted"),
    "items_imported": _("Items imported"),
    "labels_replaced": _("Labels replaced by those of a file"),
    "member_set": _("Member added or changed"),
    "outputs_cancelled": _("Execution cancelled"),
    "outputs_failed": _("Execution failed"),
    "outputs_finished": _("Execution finished"),
    "outputs_imported": _("Model outputs imported"),
    "outputs_started": _("Execution started"),
    "project_closed": _("Project closed"),
    "project_created": _("Project created"),
    "project_open": _("Project reopened"),
    "qualification_judged": _("Qualification decided"),
    "reservations_expired": _("Reservations expired"),
    "review_started": _("Review started"),
    "settings_changed": _("Settings changed"),
    "webhook_added": _("Webhook added"),
    "webhook_ended": _("Webhook deleted"),
    "work_accepted": _("Annotation accepted"),
    "work_assigned": _("Item assigned"),
    "work_released": _("Item released"),
    "work_returned": _("Changes requested"),
    "work_submitted": _("Annotation submitted"),
    "work_taken_back": _("Annotation reopened"),
}
_YES_OR_NO = {"True": _("yes"), "False": _("no")}  # settings are recorded as text

EVENT_LABELS = EventLabels(
    kinds=_KINDS,
    details={
        "active": _("active"),
        "blind": _("works without model outputs"),
        "added": _("added"),
        "bots": _("bots"),
        "comment": _("comment"),
        "decided": _("decided by a manager"),
        "error": _("error"),
        "first": _("first submission"),
        "from": _("from"),
        "images": _("images"),
        "item": _("item"),
        "items": _("items"),
        "kind": _("objects to mark"),
        "kinds": _("events"),
        "member": _("member"),
        "method": _("method"),
        "module": _("module"),
        "name": _("name"),
        "qualified": _("qualified"),
        "retried": _("retried"),
        "revision": _("revision"),
        "role": _("role"),
        "score": _("score"),
        "system": _("system"),
        "to": _("to"),
        "url": _("address"),
        "version": _("version"),
        "work": _("annotation"),
        "works": _("annotations"),
        # Settings of a project, each with what it was and what it is.
        "annotators_per_item": _("Annotators per item"),
        "hidden_gold_every": _("Items per hidden gold item"),
        "qualification_score": _("Qualification score (mean F1)"),
        "reservation_minutes": _("Reservation timeout (minutes)"),
        "show_answer": _("Show expected answer"),
        "show_predictions": _("Show model outputs"),
        "title": _("Title"),
    },
    values={
        "kind": dict(Kind.choices),
        "method": dict(Gold.Method.choices),
        "role": dict(Role.choices),
        "kinds": _KINDS,
        "show_answer": _YES_OR_NO,
        "show_predictions": _YES_OR_NO,
    },
)
