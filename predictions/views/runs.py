"""Pages of systems and runs: health, scores, start, progress, cancel."""

from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actions.audit import record_export
from accounts.models import Workspace
from accounts.policy_table import Act
from accounts.rights.access import require, require_user
from foundation.errors import Conflict, NoBroker, RunFailed, TouchstoneError
from foundation.pages.spreadsheet import build_csv_download
from foundation.translated_messages import show_errors, translate_error
from jobs.model_servers.gateway import find_served_system
from jobs.model_servers.served_systems import list_served_systems, read_server_states
from jobs.tasks import enqueue_job
from modelserver.wire.errors import ModelServerError
from predictions.actions.computations import start_scoring, start_weighing
from predictions.actions.deletion import delete_run
from predictions.actions.predictions import SYSTEM_KINDS, cancel_run, start_served_run
from predictions.models import Dataset, PredictionRun
from predictions.queries.estimates import estimate_job_seconds, estimate_predicting_seconds
from predictions.queries.language_models import estimate_cost, sum_counted_cost
from predictions.queries.pages import list_runs, run_row
from predictions.queries.rest import FAILURE_COLUMNS, build_failure_rows
from predictions.queries.run_jobs import list_run_jobs
from predictions.tasks import enqueue_missing
from predictions.views.access import DataRequest, run_page, workspaces_page
from predictions.views.failure_labels import list_labelled_failures
from predictions.views.forms import StartRun, StartSaliency
from predictions.views.score_columns import score_cells
from predictions.views.tables import SYSTEMS, runs_and_scores


@require_safe
@workspaces_page(Act.DATA_SEE)
def systems(request: HttpRequest, workspaces: list[Workspace]) -> HttpResponse:
    """Show the model servers, their systems, the scores and the runs."""
    rows = list_runs(workspaces)
    states, table = read_server_states(), SYSTEMS.of(request.GET)
    return render(
        request,
        "data/systems.html",
        {
            "servers": states,
            "systems": table.rows(
                (system, [state.address for state in states if system in state.systems])
                for system in {system for state in states for system in state.systems}
            ),
            "systems_table": table,
            **runs_and_scores(rows, request.GET),
            "manages": cast(DataRequest, request).manages,
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
@workspaces_page(Act.DATA_MANAGE)
def start(request: HttpRequest, workspaces: list[Workspace], kind: str) -> HttpResponse:
    """Start predictions or program executions; a GET shows the estimate."""
    run_kind = PredictionRun.Kind(kind)
    chosen = _read_initial_values(request)
    data = request.POST if request.method == "POST" else chosen if len(chosen) > 1 else None
    form = StartRun(workspaces, run_kind, data, initial=chosen)
    if request.method == "POST" and form.is_valid():
        dataset, name = form.cleaned_data["dataset"], form.cleaned_data["system"]
        try:
            run = _start_run(request, dataset, name, run_kind)
        except (TouchstoneError, ModelServerError) as error:
            form.add_error(None, _message(error))
        else:
            return redirect("data:run", run.pk)
    context = {"form": form, "kind": run_kind, "has_systems": bool(form.fields["system"].choices)}  # type: ignore[attr-defined]
    return render(
        request,
        "data/start.html",
        {**context, **_estimate(request, form)},
        status=422 if form.errors else 200,
    )


@require_safe
@run_page(Act.DATA_SEE)
def overview(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Show a run: progress, failures by reason, scores, and what to do next."""
    jobs = list(list_run_jobs(run)[:5])  # before their results: the page of an open one refreshes itself
    row = run_row(run)
    manages = cast(DataRequest, request).manages
    return render(
        request,
        "data/run.html",
        {
            "run": run,
            "row": row,
            "is_watched": run.status == PredictionRun.Status.RUNNING or any(job.is_open for job in jobs),
            "failures": list(list_labelled_failures(run)),
            "cells": score_cells(run) if hasattr(run, "score") else [],
            "jobs": jobs,
            "saliency_form": StartSaliency(),
            "model": run.asked,
            "cost": sum_counted_cost(run, run.asked) if run.asked else None,
            "can_weigh": run.kind == PredictionRun.Kind.PREDICT and run.source == PredictionRun.Source.SERVER,
            "scoring_seconds": estimate_job_seconds("score", run, row.counts.questions) if manages else None,
            "weighing_seconds": estimate_job_seconds("saliency", run, row.counts.predictions)
            if manages
            else None,
            "manages": manages,
        },
    )


@require_safe
@run_page(Act.DATA_SEE)
def export_failures(request: HttpRequest, run: PredictionRun) -> HttpResponseBase:
    """Return every failure of a run as CSV."""
    if request.method == "GET":  # HEAD exports nothing
        record_export(by=require_user(request), subject=run.dataset, kind="failures")
    return build_csv_download(f"{run.system.name}-failures", FAILURE_COLUMNS, build_failure_rows(run))


@require_safe
@run_page(Act.DATA_SEE)
def progress(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Return the progress of a run, which its page fetches repeatedly."""
    context = {"run": run, "row": run_row(run), "manages": cast(DataRequest, request).manages}
    return render(request, "data/run_progress.html", context)


@require_POST
@run_page(Act.DATA_MANAGE)
def cancel(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Cancel a run; what it stored stays."""
    if not cancel_run(run_id=run.pk, by=require_user(request)):
        messages.error(request, _("The run is not in progress any more."))
    return redirect("data:run", run.pk)


@require_POST
@run_page(Act.DATA_MANAGE)
def restart(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Resume a run: what is missing or failed is tried again."""
    try:
        if run.source == PredictionRun.Source.FILE:
            raise Conflict(_("The predictions came from a file."))
        again = _start_run(request, run.dataset, run.system.name, PredictionRun.Kind(run.kind))
    except (TouchstoneError, ModelServerError) as error:
        messages.error(request, _message(error))
        return redirect("data:run", run.pk)
    return redirect("data:run", again.pk)


@require_POST
@run_page(Act.DATA_MANAGE)
def score(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Score a run in a job."""
    return _begin_job(request, run, start_scoring, {})


@require_POST
@run_page(Act.DATA_MANAGE)
def weigh(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Compute the saliency of words in a job."""
    form = StartSaliency(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose a method of saliency."))
        return redirect("data:run", run.pk)
    return _begin_job(request, run, start_weighing, {"method": form.cleaned_data["method"]})


@require_POST
@run_page(Act.DATA_MANAGE)
def delete(request: HttpRequest, run: PredictionRun) -> HttpResponse:
    """Delete a run that nothing refers to."""
    dataset, name = run.dataset_id, str(run)
    try:
        delete_run(run=run, by=require_user(request))
    except Conflict as error:
        messages.error(request, translate_error(error))
        return redirect("data:run", run.pk)
    messages.success(request, _("The run %(name)s is deleted.") % {"name": name})
    return redirect("data:dataset", dataset)


def _begin_job(request: HttpRequest, run: PredictionRun, begin: Any, options: dict[str, Any]) -> HttpResponse:
    with show_errors(request, Conflict):
        enqueue_job(begin(run=run, by=require_user(request), **options))
    return redirect("data:run", run.pk)


def _start_run(
    request: HttpRequest, dataset: Dataset, system: str, kind: PredictionRun.Kind
) -> PredictionRun:
    user = require_user(request)
    require(user, Act.DATA_MANAGE, dataset)
    served = find_served_system(system, SYSTEM_KINDS[kind])
    run = start_served_run(dataset=dataset, served=served, kind=kind, by=user)
    try:
        enqueue_missing(run)
    except NoBroker:
        # The pending rows are the work: the next sweep enqueues them.
        messages.error(request, _("The work queue cannot be reached. The run begins when it is there again."))
    return run


def _read_initial_values(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET[name][:100] for name in ("dataset", "system") if name in request.GET}


def _estimate(request: HttpRequest, form: StartRun) -> dict[str, Any]:
    """Return the estimate for a form that names dataset and system."""
    wishes = form.data if form.is_bound else form.initial
    try:
        dataset = form.fields["dataset"].clean(wishes.get("dataset"))
    except ValidationError:
        dataset = None
    served = {candidate.name: candidate for candidate in list_served_systems()}
    system = served.get(str(wishes.get("system", "")))
    if dataset is None or system is None:
        return {}
    seconds = estimate_predicting_seconds(dataset, system.name, system.revision)
    shown = {"estimated": (dataset, system), "seconds": seconds}
    if system.language_model is None:
        return shown
    cost = estimate_cost(dataset, system.name, system.revision, system.language_model)
    return {**shown, "model": system.language_model, "cost": cost}


def _message(error: Exception) -> str:
    if isinstance(error, RunFailed | ModelServerError):
        # Their texts hold addresses of servers, which are no business of the page.
        return _("The model server does not serve this system now. Look at the page Systems.")
    return translate_error(error)
