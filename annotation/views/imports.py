"""Preview and apply an upload of items or of model outputs."""

from functools import partial
from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.policy_table import Act
from accounts.rights.access import NOT_THERE, require_user
from annotation.models import Membership
from annotation.views.access import members_only
from foundation.errors import Conflict
from foundation.translated_messages import show_errors
from jobs.actions.previews import apply_preview
from jobs.models import Job
from jobs.queries import find_applying_job, find_user_job
from jobs.tasks import enqueue_job

ITEMS, OUTPUTS = "import_items", "import_outputs"
PAGES = {"import": ITEMS, "output_import": OUTPUTS}  # the kind of import that each page shows


def import_or_404(request: HttpRequest, member: Membership, pk: int, kind: str) -> Job:
    """Return an import of a kind into the project that the person started."""
    job = find_user_job(require_user(request), pk)
    if job is None or job.kind != kind or job.options.get("project") != member.project_id:
        raise Http404(NOT_THERE)
    return job


def import_context(member: Membership, job: Job) -> dict[str, Any]:
    """Return what the page of an import shows: its preview, or its progress."""
    is_preview = bool(job.options.get("dry_run"))
    return {
        "project": member.project,
        "job": job,
        "result": job.result or {},
        "is_preview": is_preview,
        "applied": find_applying_job(job) if is_preview else None,
    }


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def apply(request: HttpRequest, member: Membership, pk: int, page: str) -> HttpResponse:
    """Import the upload of a preview, whose page then shows the import."""
    job = import_or_404(request, member, pk, PAGES[page])
    with show_errors(request, Conflict):
        job, is_new = apply_preview(preview=job, by=require_user(request))
        if is_new:
            transaction.on_commit(partial(enqueue_job, job))
    return redirect(f"annotation:{page}", member.project.slug, job.pk)
