"""Apply the preview of an import: from the same upload, exactly once."""

import shutil

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from foundation.errors import Conflict
from jobs.actions.jobs import create_job, upload_of
from jobs.models import Job
from jobs.queries import find_applying_job


@transaction.atomic
def apply_preview(*, preview: Job, by: User) -> tuple[Job, bool]:
    """Create the job that stores what a preview showed; enqueue it afterwards.

    Applying again returns the job of the first time, unless that failed or was cancelled.

    Returns:
        The job, and True if it is new.

    Raises:
        Conflict: The preview is not finished, refused something, or its upload is gone.
    """
    preview = _locked(preview)
    applied = find_applying_job(preview)
    if applied is not None:
        return applied, False
    if not preview.options.get("dry_run"):
        raise Conflict(_("Only the preview of an import can be applied."))
    if preview.status != Job.Status.DONE or preview.result is None:
        raise Conflict(_("The preview is not finished. Wait for it, or upload the file again."))
    if preview.result["refused_count"]:
        raise Conflict(
            _("The file has mistakes, so nothing of it is stored. Correct it and upload it again.")
        )
    if not preview.upload or not upload_of(preview).is_file():
        raise Conflict(_("The uploaded file was discarded, or deleted after a week. Upload it again."))
    job = create_job(
        kind=preview.kind,
        workspace=preview.workspace,
        by=by,
        subject=preview.subject,
        options=preview.options | {"dry_run": False, "preview": preview.pk},
        upload=upload_of(preview),
    )
    return job, True


@transaction.atomic
def discard_preview(*, preview: Job) -> None:
    """Delete the upload of a finished preview, which then cannot be applied.

    Raises:
        Conflict: The preview is not finished, or applied.
    """
    preview = _locked(preview)
    if preview.status != Job.Status.DONE or not preview.options.get("dry_run"):
        raise Conflict(_("The preview is not finished. Wait for it, or cancel it."))
    if find_applying_job(preview) is not None:
        raise Conflict(_("This preview is applied."))
    if preview.upload:
        shutil.rmtree(upload_of(preview).parent, ignore_errors=True)
        Job.objects.filter(pk=preview.pk).update(upload="")


def _locked(job: Job) -> Job:
    return Job.objects.select_for_update(of=("self",)).select_related("workspace").get(pk=job.pk)
