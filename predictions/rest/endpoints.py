"""Endpoints of datasets, systems, runs, predictions and scores."""

from collections.abc import Iterable, Sequence
from functools import partial

from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from rest_framework.request import Request

from accounts.models import Workspace
from accounts.policy_table import Act
from accounts.rest.bodies import read_body, read_query
from accounts.rest.describe import describe_method
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.pages import PageOf, answer, answer_page, build_row
from accounts.rest.views import RestView
from accounts.rights.access import require_existing
from jobs.actions.previews import apply_preview
from jobs.model_servers.gateway import find_served_system
from jobs.model_servers.served_systems import list_served_systems, read_server_states
from jobs.rest.endpoints import JobRow, JobView, build_job_row
from jobs.rest.uploads import answer_upload
from jobs.run_states import run_state
from jobs.tasks import enqueue_job
from predictions.actions.computations import start_scoring, start_weighing
from predictions.actions.deletion import delete_dataset, delete_run
from predictions.actions.predictions import SYSTEM_KINDS, cancel_run, start_served_run
from predictions.imports import DatasetOptions, PredictionsOptions
from predictions.models import Dataset, Prediction, PredictionRun, System
from predictions.queries import rest
from predictions.rest import shapes
from predictions.tasks import enqueue_missing
from touchstone.client import rows as wire


class Datasets(RestView):
    """The datasets of your workspaces."""

    @describe_method(answers=PageOf[wire.DatasetRow], query=shapes.DatasetQuery)
    def get(self, request: Request) -> HttpResponseBase:
        """List datasets."""
        query = read_query(request, shapes.DatasetQuery)
        rows = rest.list_visible_datasets(self.user, query.workspace)
        if query.name is not None:
            rows = rows.filter(name=query.name)
        return answer_page(request, query, rows, _build_dataset_rows)


class DatasetView(RestView):
    """The base of the endpoints of one dataset."""

    def dataset(self, pk: int, act: Act = Act.DATA_SEE) -> Dataset:
        """Return a dataset with which the user may do this, or raise 404 or 403."""
        self.require(act, require_existing(Dataset.objects.select_related("workspace").filter(pk=pk).first()))
        return rest.list_visible_datasets(self.user).get(pk=pk)


class OneDataset(DatasetView):
    """One dataset."""

    @describe_method(answers=wire.DatasetRow)
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return one dataset."""
        return answer(_build_dataset_rows([self.dataset(pk)])[0])

    @describe_method(status=204, errors=(409,))
    def delete(self, request: Request, pk: int) -> HttpResponse:
        """Delete a dataset that nothing refers to."""
        dataset = self.dataset(pk, Act.DATA_MANAGE)
        delete_dataset(dataset=dataset, by=self.user)
        return HttpResponse(status=204)


class Questions(DatasetView):
    """The questions of a dataset."""

    @describe_method(answers=PageOf[wire.QuestionRow], query=shapes.QuestionQuery)
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """List the questions of a dataset."""
        dataset = self.dataset(pk)
        query = read_query(request, shapes.QuestionQuery)
        rows = rest.find_matching_questions(dataset, query.search or "")
        if query.external_id is not None:
            rows = rows.filter(external_id=query.external_id)
        return answer_page(
            request, query, rows, lambda part: (build_row(wire.QuestionRow, row) for row in part)
        )


class Imports(RestView):
    """Imports of files of questions or predictions."""

    @describe_method(answers=JobRow, status=202, takes=bytes, query=shapes.ImportQuery, creates=True)
    def post(self, request: Request) -> HttpResponse:
        """Import a file of questions or predictions."""
        query = read_query(request, shapes.ImportQuery)
        workspace, options = self._wishes(query)
        return answer_upload(
            self,
            request,
            kind=f"import_{query.kind}",
            workspace=workspace,
            subject=query.name or query.system or "",
            options=options.model_dump(),
            file_name=query.file_name,
        )

    def _wishes(self, query: shapes.ImportQuery) -> tuple[Workspace, DatasetOptions | PredictionsOptions]:
        """Return the workspace and the options of the job."""
        if query.kind == "dataset":
            workspace = require_existing(Workspace.objects.filter(slug=query.workspace).first())
            self.require(Act.DATA_MANAGE, workspace)
            names = ("name", "format", "licence", "dry_run")
            wishes = {name: getattr(query, name) for name in names}
            return workspace, DatasetOptions.model_validate(wishes)
        dataset = require_existing(
            Dataset.objects.select_related("workspace").filter(pk=query.dataset or 0).first()
        )
        self.require(Act.DATA_MANAGE, dataset)
        return dataset.workspace, PredictionsOptions.model_validate(
            {
                "dataset": dataset.pk,
                "system": query.system,
                "strict": query.strict,
                "dry_run": query.dry_run,
            }
        )


class ApplyImport(JobView):
    """Applies the preview of an import."""

    @describe_method(answers=JobRow, status=202, errors=(409,))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Apply the preview of an import."""
        preview = self.job(pk)
        self.require(Act.DATA_MANAGE, preview.workspace)
        job, is_new = apply_preview(preview=preview, by=self.user)
        if is_new:
            enqueue_job(job)
        return answer(build_job_row(request, job), status=202)


class Systems(RestView):
    """The systems with runs in your workspaces."""

    @describe_method(answers=PageOf[wire.SystemRow], query=shapes.InWorkspace)
    def get(self, request: Request) -> HttpResponseBase:
        """List the systems of my workspaces."""
        query = read_query(request, shapes.InWorkspace)
        return answer_page(
            request, query, rest.list_visible_systems(self.user, query.workspace), _build_system_rows
        )


class ServedSystems(RestView):
    """The model servers and their systems."""

    @describe_method(answers=wire.ServedRows)
    def get(self, request: Request) -> HttpResponse:
        """List the systems that are served now."""
        servers = [build_row(wire.ServerRow, state) for state in read_server_states()]
        systems = [build_row(wire.ServedSystemRow, system) for system in list_served_systems()]
        return answer(wire.ServedRows(servers=servers, systems=systems))


class Runs(RestView):
    """The runs of systems over datasets."""

    @describe_method(answers=PageOf[wire.RunRow], query=shapes.RunQuery)
    def get(self, request: Request) -> HttpResponseBase:
        """List runs."""
        query = read_query(request, shapes.RunQuery)
        rows = rest.list_visible_runs(self.user, query.workspace)
        wanted = {"dataset": query.dataset, "system__name": query.system, "status": query.status}
        rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
        return answer_page(request, query, rows, _build_run_rows)

    @describe_method(answers=wire.RunRow, status=201, takes=shapes.NewRun, errors=(409, 503), creates=True)
    @run_once_per_key
    def post(self, request: Request) -> HttpResponse:
        """Start or resume predictions or program executions."""
        new = read_body(request, shapes.NewRun)
        dataset = require_existing(Dataset.objects.select_related("workspace").filter(pk=new.dataset).first())
        self.require(Act.DATA_MANAGE, dataset)
        kind = PredictionRun.Kind(new.kind)
        served = find_served_system(new.system, SYSTEM_KINDS[kind])
        run = start_served_run(dataset=dataset, served=served, kind=kind, by=self.user)
        transaction.on_commit(partial(enqueue_missing, run))
        return answer(_build_run_rows([rest.list_visible_runs(self.user).get(pk=run.pk)])[0], status=201)


class RunView(RestView):
    """The base of the endpoints of one run."""

    def run(self, pk: int, act: Act = Act.DATA_SEE) -> PredictionRun:
        """Return a run on which the user may do this, or raise 404 or 403."""
        rows = PredictionRun.objects.select_related("dataset__workspace").filter(pk=pk)
        self.require(act, require_existing(rows.first()))
        return rest.list_visible_runs(self.user).get(pk=pk)


class OneRun(RunView):
    """One run."""

    @describe_method(answers=wire.RunRow)
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return one run with its progress."""
        return answer(_build_run_rows([self.run(pk)])[0])

    @describe_method(status=204, errors=(409,))
    def delete(self, request: Request, pk: int) -> HttpResponse:
        """Delete a run that nothing refers to."""
        delete_run(run=self.run(pk, Act.DATA_MANAGE), by=self.user)
        return HttpResponse(status=204)


class StartScoring(RunView):
    """Starts the scoring of a run."""

    @describe_method(answers=JobRow, status=202, errors=(409,))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Score a run in a job."""
        job = start_scoring(run=self.run(pk, Act.DATA_MANAGE), by=self.user)
        enqueue_job(job)
        return answer(build_job_row(request, job), status=202)


class StartSaliency(RunView):
    """Starts the saliency of the predictions of a run."""

    @describe_method(answers=JobRow, status=202, takes=shapes.NewSaliency, errors=(409,))
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Compute the saliency of words in a job."""
        run = self.run(pk, Act.DATA_MANAGE)
        method = read_body(request, shapes.NewSaliency).method
        job = start_weighing(run=run, method=method, by=self.user)
        enqueue_job(job)
        return answer(build_job_row(request, job), status=202)


class Cancel(RunView):
    """Cancels a run; its predictions so far stay."""

    @describe_method(answers=wire.RunRow)
    def post(self, request: Request, pk: int) -> HttpResponse:
        """Cancel a run."""
        cancel_run(run_id=self.run(pk, Act.DATA_MANAGE).pk, by=self.user)
        return answer(_build_run_rows([self.run(pk)])[0])


class Errors(RunView):
    """The failures of a run."""

    @describe_method(answers=shapes.Failures)
    def get(self, request: Request, pk: int) -> HttpResponse:
        """List the failures of a run by reason."""
        groups = [
            wire.FailureGroup(
                kind=kind,
                number=number,
                first=wire.FailureRow(question=first.question.external_id, kind=kind, message=first.message),
            )
            for kind, number, first in rest.group_failures(self.run(pk))
        ]
        return answer(shapes.Failures(results=groups))


class Predictions(RunView):
    """The predictions of a run."""

    @describe_method(answers=PageOf[wire.PredictionRow], query=shapes.PredictionQuery)
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """List the predictions of a run."""
        run = self.run(pk)
        query = read_query(request, shapes.PredictionQuery)
        rows = Prediction.objects.filter(run=run).select_related("question")
        if query.question is not None:
            rows = rows.filter(question__external_id=query.question)
        return answer_page(request, query, rows, _build_prediction_rows)


class Scores(RunView):
    """The scores of a run."""

    @describe_method(answers=wire.ScoreRow)
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return the scores of a run."""
        score = require_existing(getattr(self.run(pk), "score", None))
        return answer(build_row(wire.ScoreRow, score, run=str(pk)))


def _build_dataset_rows(rows: Sequence[Dataset]) -> list[wire.DatasetRow]:
    return [
        build_row(
            wire.DatasetRow,
            row,
            workspace=row.workspace.slug,
            format=row.source_format,
            questions=row.size,  # type: ignore[attr-defined]  # annotated
        )
        for row in rows
    ]


def _build_system_rows(rows: Sequence[System]) -> Iterable[wire.SystemRow]:
    served = {system.name: system for system in list_served_systems()}
    for row in rows:
        now = served.get(row.name)
        kind, revision = (now.kind, now.revision) if now else (None, None)
        yield wire.SystemRow(id=str(row.pk), name=row.name, kind=kind, revision=revision)


def _build_run_rows(rows: Sequence[PredictionRun]) -> list[wire.RunRow]:
    return [
        build_row(
            wire.RunRow,
            row,
            dataset=str(row.dataset_id),
            system=row.system.name,
            questions=row.size,  # type: ignore[attr-defined]  # annotated, as the next two
            predictions=row.answered,  # type: ignore[attr-defined]
            failures=row.failed,  # type: ignore[attr-defined]
            state=run_state(row, row.failed).label,  # type: ignore[attr-defined]
            saliency=(row.saliency or {}).get("method"),
        )
        for row in rows
    ]


def _build_prediction_rows(rows: Sequence[Prediction]) -> Iterable[wire.PredictionRow]:
    return (build_row(wire.PredictionRow, row, question=row.question.external_id) for row in rows)
