"""Template tags of jobs: their names and their progress."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any, NamedTuple

from django import template
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from redis.exceptions import RedisError

from foundation.imports.findings import MESSAGES
from foundation.messages import load_message
from foundation.translated_messages import translate_text
from jobs import leases
from jobs.job_progress import read_progress
from jobs.models import Job
from jobs.run_states import RunState, compute_job_state

register = template.Library()

_ENTRY = re.compile(r"^entry (\d+)")  # before the field of a record in a file
SILENT_SHARE = 0.4  # of the lease, after which a worker has probably stopped

KINDS = {
    "import_dataset": _("Import of a dataset"),
    "import_predictions": _("Import of predictions"),
    "import_items": _("Import of items"),
    "import_outputs": _("Import of model outputs"),
    "export_bundle": _("Export of a study"),
    "export_responses": _("Responses of a study as CSV"),
    "export_annotations": _("Export of annotations"),
    "simulate_annotators": _("Simulated annotators"),
    "simulate_participants": _("Simulated participants"),
    "pay_participants": _("Payments of a study"),
    "report": _("Report of a study"),
    "saliency": _("Saliency of words"),
    "score": _("Scores"),
}


class Progress(NamedTuple):
    """The progress of a job; the total is None while it is unknown."""

    done: int
    total: int | None

    @property
    def percent(self) -> int:
        """The share that is done, in percent, rounded down."""
        return 100 * self.done // self.total if self.total else 0


@register.simple_tag
def kind_of(job: Job) -> str:
    """Return the name of a job's kind; a preview says that it is one."""
    name = str(KINDS.get(job.kind, job.kind))
    return gettext("%(kind)s (preview)") % {"kind": name} if job.options.get("dry_run") else name


@register.simple_tag
def state_of(job: Job) -> RunState:
    """Return the state of a job; a job with failures is not done."""
    return compute_job_state(job)


@register.simple_tag
def progress_of(job: Job) -> Progress:
    """Return the progress of a job."""
    return Progress(*read_progress(job.pk))


@register.simple_tag
def restart_of(job: Job) -> int | None:
    """Return the most seconds until a job without a worker restarts.

    None means that a worker does the job, or that none has begun it yet.
    """
    if job.status == Job.Status.PENDING:
        return settings.JOB_SWEEP_SECONDS if job.attempts else None
    try:
        silence = leases.read_age(job.lease)
    except RedisError:
        return None
    if silence is not None and silence < SILENT_SHARE * settings.JOB_LEASE_SECONDS:
        return None
    if silence is None and not Job.objects.filter(pk=job.pk, status=job.status, lease=job.lease).exists():
        return None  # it ended after the page had read its row
    left = 0.0 if silence is None else max(0.0, settings.JOB_LEASE_SECONDS - silence)
    return ceil(left) + int(settings.JOB_SWEEP_SECONDS)


@register.simple_tag
def not_listed(result: Mapping[str, Any]) -> int:
    """Return the number of mistakes that a result counts and does not list."""
    return int(result["refused_count"]) - len(result["refused"])


@register.simple_tag
def error_of(job: Job) -> str:
    """Return why a job failed, in the language of the page."""
    return translate_text(load_message(job.error_message, job.error))


@register.simple_tag
def refusals_of(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the refused entries of a result, translated."""
    refused = result["refused"]
    messages = result.get(MESSAGES) or [None] * len(refused)  # results of older versions have none
    return [
        {
            **entry,
            "field": _ENTRY.sub(_translate_entry, entry["field"] or ""),
            "reason": translate_text(load_message(message, entry["reason"])),
        }
        for entry, message in zip(refused, messages, strict=True)
    ]


def _translate_entry(match: re.Match[str]) -> str:
    return gettext("entry %(number)s") % {"number": match[1]}
