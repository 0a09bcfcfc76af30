"""Endpoints of files: imports and exports of items, in jobs."""

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.policy_table import Act
from accounts.rest.bodies import read_body, read_query
from accounts.rest.describe import describe_method
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.pages import answer
from annotation.downloads import ExportOptions
from annotation.importing.items import ImportOptions
from annotation.rest import shapes
from annotation.rest.views import ProjectView
from jobs.rest.endpoints import JobRow, build_job_row
from jobs.rest.uploads import answer_upload
from jobs.tasks import start_job


class Imports(ProjectView):
    """Imports of files of items, and of zip files with their images."""

    @describe_method(answers=JobRow, status=202, takes=bytes, query=shapes.ImportFileQuery, creates=True)
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Import a file of items."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        query = read_query(request, shapes.ImportFileQuery)
        options = ImportOptions(project=project.pk, **query.model_dump(exclude={"file_name"}))
        return answer_upload(
            self,
            request,
            kind="import_items",
            workspace=project.workspace,
            subject=project.slug,
            options=options.model_dump(),
            file_name=query.file_name,
        )


class Exports(ProjectView):
    """Exports of items with gold and annotations."""

    @describe_method(answers=JobRow, status=202, takes=shapes.NewItemExport, creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Export the items of a project."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        new = read_body(request, shapes.NewItemExport)
        job = start_job(
            kind="export_annotations",
            workspace=project.workspace,
            by=self.user,
            subject=project.slug,
            options=ExportOptions(project=project.pk, **new.model_dump()).model_dump(),
        )
        return answer(build_job_row(request, job), status=202)
