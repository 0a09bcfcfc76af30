"""Labels of the log of datasets and runs.

``actions.events`` records no kind without a label.
"""

from django.utils.translation import gettext_lazy as _

from foundation.pages.event_labels import EventLabels

EVENT_LABELS = EventLabels(
    kinds={
        "dataset_deleted": _("Dataset deleted"),
        "dataset_imported": _("Dataset imported"),
        "predictions_imported": _("Predictions imported"),
        "reading_probed": _("Reading probe started"),
        "run_cancelled": _("Run cancelled"),
        "run_deleted": _("Run deleted"),
        "run_failed": _("Run failed"),
        "run_finished": _("Run finished"),
        "run_paused": _("Run paused, because its budget is spent"),
        "run_scored": _("Run scored"),
        "run_started": _("Run started"),
        "run_swept": _("Lost slices of a run enqueued again"),
        "saliency_started": _("Saliency started"),
    },
    details={
        "added": _("added"),
        "dataset": _("dataset"),
        "error": _("error"),
        "method": _("method"),
        "retried": _("tried again"),
        "revision": _("revision"),
        "run": _("run"),
        "slices": _("slices"),
        "system": _("system"),
    },
    values={},
)
