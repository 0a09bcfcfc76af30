"""Pages of jobs: list, progress, result, cancel, and their files."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import select_template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from accounts.rights.access import NOT_THERE, require_existing, require_user
from foundation.errors import Conflict
from foundation.pages.tables import Column, Table
from foundation.translated_messages import show_errors
from jobs.actions.jobs import cancel_job, get_job_folder
from jobs.models import Job
from jobs.queries import find_user_job, list_user_jobs

SHOWN = 100
# The entry of the menu to which the jobs of a kind belong.
MENU_ADDRESSES = {
    "import_dataset": "/data/",
    "import_predictions": "/data/",
    "import_items": "/annotate/",
    "import_outputs": "/annotate/",
    "export_annotations": "/annotate/",
    "simulate_annotators": "/annotate/",
    "export_bundle": "/staff/",
    "export_responses": "/staff/",
    "report": "/staff/",
    "simulate_participants": "/staff/",
    "pay_participants": "/staff/",
    "saliency": "/systems/",
    "score": "/systems/",
}
JOBS = Table(
    (
        Column("job", gettext_lazy("Job"), lambda job: job.kind),
        Column("object", gettext_lazy("Object"), lambda job: job.subject.casefold()),
        Column("state", gettext_lazy("State"), lambda job: job.status),
        Column("started", gettext_lazy("Started"), lambda job: job.pk),
    ),
    "-started",
)


@require_safe
@login_required
def list_jobs(request: HttpRequest) -> HttpResponse:
    """List the newest jobs of the person."""
    table = JOBS.of(request.GET)
    jobs = table.rows(list_user_jobs(require_user(request))[:SHOWN])
    return render(request, "jobs/list.html", {"jobs": jobs, "table": table})


@require_safe
@login_required
def job(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a job, and its result by the template of its kind."""
    job = _job_or_404(request, pk)
    result = select_template([f"jobs/kinds/{job.kind}.html", "jobs/kinds/none.html"])
    context = {"job": job, "result_templates": result, "menu_address": MENU_ADDRESSES.get(job.kind)}
    return render(request, "jobs/job.html", context)


@require_safe
@login_required
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the progress of a job, which its page fetches repeatedly."""
    return render(request, "jobs/progress_inside.html", {"job": _job_or_404(request, pk)})


@require_POST
@login_required
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Cancel a job."""
    job = _job_or_404(request, pk)
    with show_errors(request, Conflict):
        cancel_job(job=job, by=require_user(request))
        messages.success(request, _("Cancelled; nothing was stored."))
    return redirect("jobs:job", pk)


@require_safe
@login_required
def file(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Return the file that a job made."""
    job = _job_or_404(request, pk)
    path = get_job_folder() / job.file
    if not job.file or not path.is_file():
        raise Http404(NOT_THERE)
    return FileResponse(path.open("rb"), as_attachment=True, filename=job.file_name)


def _job_or_404(request: HttpRequest, pk: int) -> Job:
    return require_existing(find_user_job(require_user(request), pk))
