"""Pages on model outputs: list, faithfulness, items, comparison.

Managers also start runs of served systems over the project's programs.
"""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError as InvalidField
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe
from pydantic import ValidationError

from accounts.policy_table import Act
from accounts.rights.access import NOT_THERE, require_existing, require_user
from annotation.actions.backend_runs import set_backend
from annotation.actions.runs import cancel_run, check_fit, start_backend_run, start_run
from annotation.errors import AnnotationError
from annotation.forms.outputs import ReaderForm
from annotation.models import Membership, OutputRun, Project, SystemOutput
from annotation.parsed_items import get_kind, parse_task
from annotation.policies import may
from annotation.queries.node_outputs import describe_steps
from annotation.queries.outputs import (
    Faithfulness,
    compare,
    list_outputs_in_use,
    list_systems_with_outputs,
    score_faithfulness,
)
from annotation.queries.runs import list_runs_with_progress
from annotation.queries.suggestions import measure_acceptance
from annotation.suggestions import Fit, choose_default_fit
from annotation.tasks import enqueue_missing
from annotation.views.access import members_only
from annotation.views.tables import ACCEPTANCE, LOWEST, RUNS, SYSTEMS
from foundation.errors import NoBroker, RunFailed
from foundation.translated_messages import show_errors, translate_error
from jobs.model_servers.gateway import find_served_system
from jobs.model_servers.served_systems import list_served_systems, read_server_states
from modelserver.wire.errors import ModelServerError
from modelserver.wire.schema import SystemInfo, SystemKind

RESAMPLES = 1_000
AVERAGINGS = {
    "per_example": _("mean over items"),
    "cumulative": _("counts over all items"),
    "per_occurrence": _("mean over steps and images"),
    "negative_iou": _("mean over items, ignoring boxes that touch gold"),
    "mean": _("mean"),
}


class CompareForm(forms.Form):
    """Two systems to compare."""

    first = forms.ChoiceField(label=_("System"))
    second = forms.ChoiceField(label=_("Second system"))

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        choices = [
            (name := f"{row.system}@{row.revision}", name) for row in list_systems_with_outputs(project)
        ]
        for field in ("first", "second"):
            self.fields[field].choices = choices  # type: ignore[attr-defined]


@require_safe
@members_only(Act.ANNOTATION_SETTLE)
def list_systems(request: HttpRequest, member: Membership) -> HttpResponse:
    """List the systems; with ?first=…&second=…, compare two of them."""
    form = CompareForm(request.GET if "first" in request.GET else None, project=member.project)
    context = {"form": form, **_systems(request, member), **_runs(request, member)}
    context["suggested"] = ACCEPTANCE.of(request.GET).rows(measure_acceptance(member.project))
    context["acceptance_table"] = ACCEPTANCE.of(request.GET)
    if may(member, Act.ANNOTATION_MANAGE):
        context |= _served(member.project)
    if form.is_bound and form.is_valid():
        first, second = (_split_system_name(form.cleaned_data[name]) for name in ("first", "second"))
        try:
            context["comparison"] = compare(member.project, first, second)
        except AnnotationError as error:
            context["problem"] = translate_error(error)
    return render(request, "annotation/outputs.html", context)


@require_safe
@members_only(Act.ANNOTATION_SETTLE)
def runs(request: HttpRequest, member: Membership) -> HttpResponse:
    """Show the progress of runs, for the part of the page that reloads."""
    return render(request, "annotation/output_runs.html", _runs(request, member))


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def start(request: HttpRequest, member: Membership) -> HttpResponse:
    """Start or resume a run of a served system, or of the ML backend.

    A modular network executes the programs; a reader or language model is asked about the items.
    """
    if request.POST.get("kind") == "backend":
        return _start(
            request, member, partial(start_backend_run, project=member.project, by=require_user(request))
        )
    return _start(request, member, partial(_start_served, request, member))


def _start(request: HttpRequest, member: Membership, begin: Callable[[], OutputRun]) -> HttpResponse:
    with show_errors(request, ModelServerError, RunFailed, NoBroker, AnnotationError):
        run = begin()
        enqueue_missing(run)
        messages.success(request, _("Started %(system)s.") % {"system": run.system})
    return redirect("annotation:outputs", member.project.slug)


def _start_served(request: HttpRequest, member: Membership) -> OutputRun:
    kind: SystemKind = "reader" if request.POST.get("kind") == "reader" else "modular"
    served = find_served_system(request.POST.get("system", ""), kind)
    fit = _fit(request, member.project) if kind == "reader" else None
    if kind == "modular":
        _require_fit(served, member.project)
    return start_run(
        project=member.project,
        system=served.name,
        revision=served.revision,
        fit=fit,
        by=require_user(request),
    )


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def set_ml_backend(request: HttpRequest, member: Membership) -> HttpResponse:
    """Set the address of the project's Label Studio ML backend."""
    try:
        set_backend(project=member.project, url=request.POST.get("ml_backend", ""), by=require_user(request))
    except InvalidField as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("Saved the address of the ML backend."))
    return redirect("annotation:outputs", member.project.slug)


def _fit(request: HttpRequest, project: Project) -> Fit:
    """Return the chosen use of a reader's answers.

    Raises:
        Conflict: It does not fit the project.
    """
    try:
        fit = Fit.model_validate_json(request.POST.get("marks", ""))
    except ValidationError:
        fit = choose_default_fit(parse_task(project))
    check_fit(project, fit)
    return fit


def _require_fit(served: SystemInfo, project: Project) -> None:
    """Check that a system executes programs of the project's kind.

    Raises:
        RunFailed: It executes others, so every item would fail.
    """
    if served.programs not in (None, project.kind):
        kinds = {"boxes": _("boxes in images"), "spans": _("spans in a passage")}
        raise RunFailed(
            _("%(system)s marks %(programs)s; this project marks %(kind)s.")
            % {"system": served.name, "programs": kinds[served.programs], "kind": kinds[project.kind]}
        )


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def stop(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Cancel a run."""
    run = require_existing(OutputRun.objects.filter(project=member.project, pk=pk).first())
    cancel_run(run_id=run.pk, by=require_user(request))
    return redirect("annotation:outputs", member.project.slug)


@require_safe
@members_only(Act.ANNOTATION_SETTLE)
def nodes(request: HttpRequest, member: Membership, system: str, revision: str, pk: int) -> HttpResponse:
    """Show a model output node by node, beside the gold."""
    rows = SystemOutput.objects.filter(item__project=member.project, system=system, revision=revision)
    output = require_existing(
        rows.select_related("item").filter(item__in=member.project.items.filter(pk=pk)).first()
    )
    position = output.item.position
    context = {
        "project": member.project,
        "item": output.item,
        "output": output,
        "steps": describe_steps(output, output.item, member.project),
        "before": rows.filter(item__position__lt=position).order_by("-item__position").first(),
        "after": rows.filter(item__position__gt=position).order_by("item__position").first(),
    }
    return render(request, "annotation/node_outputs.html", context)


@require_safe
@members_only(Act.ANNOTATION_SETTLE)
def system(request: HttpRequest, member: Membership, system: str, revision: str) -> HttpResponse:
    """Show the faithfulness of one system by module, and its worst items."""
    if (system, revision) not in [
        (known_system.system, known_system.revision)
        for known_system in list_systems_with_outputs(member.project)
    ]:
        raise Http404(NOT_THERE)
    context: dict[str, object] = {"project": member.project, "system": system, "revision": revision}
    own = SystemOutput.objects.filter(item__project=member.project, system=system, revision=revision)
    context["first"] = own.order_by("item__position").first()
    try:
        scores = score_faithfulness(member.project, system, revision, resamples=RESAMPLES)
    except AnnotationError as error:
        context["problem"] = translate_error(error)
    else:
        table = LOWEST.of(request.GET)
        context |= {"scores": scores, "tables": _tables(scores)}
        context |= {"lowest": table.rows(scores.worst), "lowest_table": table}
    return render(request, "annotation/faithfulness.html", context)


def _systems(request: HttpRequest, member: Membership) -> dict[str, Any]:
    """Return the table of systems; managers delete outputs that nothing uses."""
    table = SYSTEMS.of(request.GET, without=() if may(member, Act.ANNOTATION_MANAGE) else ("action",))
    used = list_outputs_in_use(member.project)
    rows = table.rows(list_systems_with_outputs(member.project))
    return {"table": table, "systems": [(row, f"{row.system}@{row.revision}" not in used) for row in rows]}


def _runs(request: HttpRequest, member: Membership) -> dict[str, Any]:
    manages = may(member, Act.ANNOTATION_MANAGE)
    table = RUNS.of(request.GET, without=() if manages else ("action",))
    runs = table.rows(list_runs_with_progress(member.project))
    return {
        "project": member.project,
        "runs": runs,
        "runs_table": table,
        "running": any(run.status == OutputRun.Status.RUNNING for run, _progress, _failures in runs),
        "manages": manages,
    }


def _served(project: Project) -> dict[str, Any]:
    """Return the served systems that fit, and if any server answers."""
    systems, programs = list_served_systems(), (None, get_kind(project))
    readers = [
        served_system.name
        for served_system in systems
        if served_system.kind == "reader" and project.kind == "spans"
    ]
    return {
        "is_answered": any(server.answers for server in read_server_states()),
        "served": [
            served_system.name
            for served_system in systems
            if served_system.kind == "modular" and served_system.programs in programs
        ],
        "reader_form": ReaderForm(project=project, served=readers) if readers else None,
    }


def _tables(scores: Faithfulness) -> list[dict[str, object]]:
    tables = [(AVERAGINGS.get(name, name), figures) for name, figures in scores.figures.items()]
    tables += [
        (_("upper bound given the proposals, %(how)s") % {"how": AVERAGINGS.get(name, name)}, figures)
        for name, figures in scores.upper.items()
        if name == "per_example"
    ]
    return [
        {"title": title, "rows": [{"module": module, **asdict(figure)} for module, figure in figures.items()]}
        for title, figures in tables
    ]


def _split_system_name(text: str) -> tuple[str, str]:
    system, _at, revision = text.rpartition("@")
    return system, revision
