"""Endpoints of jobs: progress, result, cancel."""

from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.urls import reverse
from rest_framework.request import Request

from accounts.rest.bodies import FILE, read_query
from accounts.rest.describe import describe_method
from accounts.rest.pages import Page, PageOf, answer, answer_page, build_row
from accounts.rest.views import RestView
from accounts.rights.access import NOT_THERE, require_existing
from foundation.imports.findings import build_public_result
from jobs.actions.jobs import cancel_job, get_job_folder
from jobs.job_progress import read_progress
from jobs.models import Job
from jobs.queries import find_user_job, list_user_jobs
from touchstone.client.rows import JobRow, JobStatus


class JobQuery(Page):
    """Filters of jobs."""

    kind: str | None = None
    status: JobStatus | None = None


class Jobs(RestView):
    """The jobs that you started and may see."""

    @describe_method(answers=PageOf[JobRow], query=JobQuery)
    def get(self, request: Request) -> HttpResponseBase:
        """List my jobs."""
        query = read_query(request, JobQuery)
        wanted = {"kind": query.kind, "status": query.status}
        rows = list_user_jobs(
            self.user, **{name: value for name, value in wanted.items() if value is not None}
        )
        return answer_page(request, query, rows, lambda part: (build_job_row(request, job) for job in part))


class JobView(RestView):
    """The base of the endpoints of one job."""

    def job(self, pk: int) -> Job:
        """Return a job of the user, or raise Http404."""
        return require_existing(find_user_job(self.user, pk))


class OneJob(JobView):
    """One job."""

    @describe_method(answers=JobRow)
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return one job with its progress."""
        return answer(build_job_row(request, self.job(pk)))


class Cancel(JobView):
    """Cancels a job."""

    @describe_method(answers=JobRow, errors=(409,))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Cancel a job."""
        cancel_job(job=self.job(pk), by=self.user)
        return answer(build_job_row(request, self.job(pk)))


class File(JobView):
    """The file that a job made."""

    @describe_method(answers=bytes)
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """Return the file of a job."""
        job = self.job(pk)
        path = get_job_folder() / job.file
        if not job.file or not path.is_file():
            raise Http404(NOT_THERE)
        file = path.open("rb")
        return FileResponse(file, as_attachment=True, filename=job.file_name, content_type=FILE)


def build_job_row(request: Request, job: Job) -> JobRow:
    """Return a job as the API shows it."""
    done, total = read_progress(job.pk)
    file = request.build_absolute_uri(reverse("jobs_rest:file", args=[job.pk])) if job.file else None
    result = None if job.result is None else build_public_result(job.result)
    workspace = job.workspace.slug
    return build_row(JobRow, job, workspace=workspace, done=done, total=total, result=result, file=file)
