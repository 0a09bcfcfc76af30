"""Endpoints of model outputs: list, runs, faithfulness, comparison."""

from functools import partial

from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseBase
from rest_framework.request import Request

from accounts.policy_table import Act
from accounts.rest.bodies import read_body, read_query, read_records
from accounts.rest.describe import describe_method
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.pages import Page, PageOf, answer, answer_page, build_row
from accounts.rights.access import NOT_THERE
from annotation.actions.backend_runs import set_backend
from annotation.actions.outputs import import_outputs
from annotation.actions.runs import cancel_run, check_fit, start_backend_run, start_run
from annotation.content.schemas import SystemRecord
from annotation.models import OutputRun
from annotation.parsed_items import parse_task
from annotation.queries import outputs, records
from annotation.queries.suggestions import measure_acceptance
from annotation.rest import output_shapes as shapes
from annotation.rest import rows
from annotation.rest.views import ProjectView
from annotation.suggestions import choose_default_fit
from annotation.tasks import enqueue_missing
from jobs.model_servers.gateway import find_served_system
from touchstone.client import project_rows as wire


class Outputs(ProjectView):
    """Model outputs."""

    @describe_method(answers=PageOf[shapes.OutputRow], query=shapes.OutputQuery)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List model outputs."""
        member = self.member(slug, Act.ANNOTATION_SETTLE)
        query = read_query(request, shapes.OutputQuery)
        wanted = {"item__external_id": query.item, "system": query.system, "revision": query.revision}
        matching = records.list_outputs(member.project)
        matching = matching.filter(**{name: value for name, value in wanted.items() if value is not None})
        return answer_page(request, query, matching, lambda part: map(rows.build_output_row, part))

    @describe_method(
        answers=shapes.Added,
        status=201,
        takes=shapes.SystemRecords,
        lines=SystemRecord,
        query=shapes.NewOutputsQuery,
        errors=(409,),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Add model outputs of a system."""
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        query = read_query(request, shapes.NewOutputsQuery)
        added = import_outputs(
            records=read_records(request, SystemRecord),
            project=member.project,
            system=query.system,
            revision=query.revision,
            by=self.user,
        )
        return answer(shapes.Added(added=added), status=201)


class Systems(ProjectView):
    """The systems with model outputs in a project."""

    @describe_method(answers=shapes.SystemList)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List the systems with outputs in a project."""
        member = self.member(slug, Act.ANNOTATION_SETTLE)
        systems = outputs.list_systems_with_outputs(member.project)
        return answer(shapes.SystemList(results=[build_row(wire.OutputSystem, system) for system in systems]))


class Acceptance(ProjectView):
    """The decisions of people on the suggestions of systems."""

    @describe_method(answers=shapes.AcceptanceList)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Count accepted, changed and rejected suggestions by system."""
        member = self.member(slug, Act.ANNOTATION_SETTLE)
        results = [build_row(shapes.AcceptanceRow, counted) for counted in measure_acceptance(member.project)]
        return answer(shapes.AcceptanceList(results=results))


class Faithfulness(ProjectView):
    """A system's modules against the current gold."""

    @describe_method(answers=wire.Faithfulness, query=shapes.FaithfulnessQuery, errors=(409,))
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Score the modules of a system."""
        member = self.member(slug, Act.ANNOTATION_SETTLE)
        query = read_query(request, shapes.FaithfulnessQuery)
        scores = outputs.score_faithfulness(
            member.project,
            query.system,
            query.revision,
            most=query.worst,
            resamples=query.resamples,
            seed=query.seed,
        )
        return answer(rows.build_faithfulness_row(scores))


class Comparison(ProjectView):
    """Two systems against the same gold."""

    @describe_method(answers=wire.Comparison, query=shapes.ComparisonQuery, errors=(409,))
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Compare two systems."""
        member = self.member(slug, Act.ANNOTATION_SETTLE)
        query = read_query(request, shapes.ComparisonQuery)
        comparison = outputs.compare(
            member.project,
            (query.first_system, query.first_revision),
            (query.second_system, query.second_revision),
            averaging=query.averaging,
            module=query.module,
            trials=query.trials,
            seed=query.seed,
        )
        return answer(build_row(wire.Comparison, comparison))


class Runs(ProjectView):
    """The runs of served systems over the programs of a project."""

    @describe_method(answers=PageOf[wire.OutputRun], query=Page)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List the runs over a project."""
        runs = self.member(slug, Act.ANNOTATION_SETTLE).project.output_runs.all()
        return answer_page(
            request, read_query(request, Page), runs, lambda part: map(rows.build_output_run_row, part)
        )

    @describe_method(
        answers=wire.OutputRun, status=201, takes=shapes.NewOutputRun, errors=(409, 503), creates=True
    )
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Start or resume a run over a project."""
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        new = read_body(request, shapes.NewOutputRun)
        served = find_served_system(new.system, new.kind)
        fit = None
        if new.kind == "reader":
            fit = new.fit or choose_default_fit(parse_task(member.project))
            check_fit(member.project, fit)
        run = start_run(
            project=member.project, system=served.name, revision=served.revision, fit=fit, by=self.user
        )
        transaction.on_commit(partial(enqueue_missing, run))
        return answer(rows.build_output_run_row(run), status=201)


class MlBackend(ProjectView):
    """The Label Studio ML backend of a project."""

    @describe_method(answers=shapes.MlBackend)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Return the address of the ML backend."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        return answer(shapes.MlBackend(url=project.ml_backend))

    @describe_method(answers=shapes.MlBackend, takes=shapes.MlBackend)
    def put(self, request: Request, slug: str) -> HttpResponse:
        """Set the address of the ML backend."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        given = read_body(request, shapes.MlBackend)
        changed = set_backend(project=project, url=given.url, by=self.user)
        return answer(shapes.MlBackend(url=changed.ml_backend))


class AskMlBackend(ProjectView):
    """Asks the ML backend of a project about its items."""

    @describe_method(answers=wire.OutputRun, status=201, errors=(409, 503), creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Start or resume a run of the ML backend."""
        run = start_backend_run(project=self.member(slug, Act.ANNOTATION_MANAGE).project, by=self.user)
        transaction.on_commit(partial(enqueue_missing, run))
        return answer(rows.build_output_run_row(run), status=201)


class CancelRun(ProjectView):
    """Cancels a run; its outputs so far stay."""

    @describe_method(answers=wire.OutputRun)
    def post(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Cancel a run over a project."""
        runs = self.member(slug, Act.ANNOTATION_MANAGE).project.output_runs
        if not runs.filter(pk=pk).exists():
            raise Http404(NOT_THERE)
        cancel_run(run_id=pk, by=self.user)
        return answer(rows.build_output_run_row(OutputRun.objects.get(pk=pk)))
