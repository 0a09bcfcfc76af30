"""Preview and apply an upload of items or of model outputs."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest

from accounts.access import NOT_THERE, user_of
from annotation.models import Membership
from foundation.errors import Conflict
from foundation.translated_messages import translated_error
from jobs.actions.previews import apply_preview
from jobs.models import Job
from jobs.queries import applied_job, job_of
from jobs.tasks import enqueue_job


def import_or_404(request: HttpRequest, member: Membership, pk: int, kind: str) -> Job:
    """Return an import of a kind into the project that the person started."""
    job = job_of(user_of(request), pk)
    if job is None or job.kind != kind or job.options.get("project") != member.project_id:
        raise Http404(NOT_THERE)
    return job


def import_context(member: Membership, job: Job) -> dict[str, Any]:
    """Return what the page of an import shows: its preview, or how far it is."""
    is_preview = bool(job.options.get("dry_run"))
    return {
        "project": member.project,
        "job": job,
        "result": job.result or {},
        "is_preview": is_preview,
        "applied": applied_job(job) if is_preview else None,
    }


def apply_import(request: HttpRequest, preview: Job) -> Job:
    """Import the upload of a preview and return the job.

    If that is not possible, say so and return the preview.
    """
    try:
        job, is_new = apply_preview(preview=preview, by=user_of(request))
    except Conflict as error:
        messages.error(request, translated_error(error))
        return preview
    if is_new:
        transaction.on_commit(lambda: enqueue_job(job))
    return job
