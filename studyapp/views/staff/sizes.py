"""Pages for the sample size of a study: power analysis."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User, Workspace
from accounts.policy_table import Act
from accounts.rights.access import require, require_existing, require_user
from foundation.errors import NoBroker
from foundation.pages.tables import Table
from foundation.translated_messages import translate_error
from studyapp.actions.sizes import TakesLonger, create_plan, run_plan
from studyapp.models import SizePlan
from studyapp.rules.sample_sizes import SizeResult
from studyapp.rules.system_sizes import SystemsResult
from studyapp.tasks import enqueue_size_plan
from studyapp.views.access import workspaces_page
from studyapp.web.forms.staff import SizeForm, SystemSizeForm
from studyapp.web.html.tables import SIZE_PLANS, SYSTEM_PLANS

LISTED = 20  # earlier simulations on the page
AT_ONCE = 2.0  # seconds; longer simulations run in a worker
WIDTH, HEIGHT = 600, 240  # of the curve, in units of its picture


@require_http_methods(["GET", "HEAD", "POST"])
@workspaces_page(Act.STUDY_EDIT)
def sizes(request: HttpRequest, workspaces: list[Workspace]) -> HttpResponse:
    """Ask for assumptions about participants and simulate."""
    form = SizeForm(request.POST if request.method == "POST" else None, workspaces=workspaces)
    plans = _list_earlier_plans(workspaces).exclude(assumptions__has_key="correlations")
    return _form_page(request, form, plans, SIZE_PLANS, "studyapp/staff/sizes/form.html")


@require_http_methods(["GET", "HEAD", "POST"])
@workspaces_page(Act.STUDY_EDIT)
def system_sizes(request: HttpRequest, workspaces: list[Workspace]) -> HttpResponse:
    """Ask for assumptions about systems and simulate."""
    form = SystemSizeForm(request.POST if request.method == "POST" else None, workspaces=workspaces)
    plans = _list_earlier_plans(workspaces).filter(assumptions__has_key="correlations")
    return _form_page(request, form, plans, SYSTEM_PLANS, "studyapp/staff/sizes/systems_form.html")


def _form_page(
    request: HttpRequest,
    form: SizeForm | SystemSizeForm,
    plans: QuerySet[SizePlan],
    columns: Table,
    template: str,
) -> HttpResponse:
    """Simulate, or show a form above earlier simulations."""
    plan = _simulate_plan(request, form)
    if plan is not None:
        return redirect("studyapp:staff_size", plan.pk)
    table = columns.of(request.GET, without=() if len(form.workspaces) > 1 else ("workspace",))
    rows = table.rows(plans[:LISTED])
    context = {"form": form, "plans": rows, "table": table, "workspaces": form.workspaces}
    return render(request, template, context, status=422 if form.errors else 200)


def _simulate_plan(request: HttpRequest, form: SizeForm | SystemSizeForm) -> SizePlan | None:
    """Simulate what a sent form assumes; a worker runs long simulations.

    Returns None for a form that was not sent, or that now says what is wrong.
    """
    if request.method != "POST" or not form.is_valid() or form.settings is None:
        return None
    plan = create_plan(settings=form.settings, workspace=form.chosen_workspace, by=require_user(request))
    try:
        run_plan(plan_id=plan.pk, seconds=AT_ONCE)
    except TakesLonger:
        try:
            enqueue_size_plan(plan)
        except NoBroker as error:
            form.add_error(None, translate_error(error))
            return None
    return plan


def _list_earlier_plans(workspaces: list[Workspace]) -> QuerySet[SizePlan]:
    return SizePlan.objects.filter(workspace__in=workspaces).select_related("workspace").order_by("-pk")


@require_safe
@login_required
def size(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a simulation: its progress, then its result."""
    return render(request, "studyapp/staff/sizes/plan.html", _context(require_user(request), pk))


@require_safe
@login_required
def size_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the result, which the page fetches repeatedly."""
    return render(request, "studyapp/staff/sizes/result.html", _context(require_user(request), pk))


def _context(user: User, pk: int) -> dict[str, Any]:
    plan = require_existing(SizePlan.objects.select_related("workspace").filter(pk=pk).first())
    require(user, Act.STUDY_SEE, plan)
    if plan.is_about_systems:
        systems = SystemsResult.model_validate(plan.result) if plan.result else None
        return {"plan": plan, "systems": systems}
    result = SizeResult.model_validate(plan.result) if plan.result else None
    return {
        "plan": plan,
        "result": result,
        "picture": _picture(result, plan) if result else None,
        "is_paired": plan.assumptions.get("measure") == "win_rate",
    }


def _picture(result: SizeResult, plan: SizePlan) -> dict[str, Any]:
    """Return the power curve and its band as points of an SVG."""
    first, last = result.curve[0].participants, result.curve[-1].participants

    def compute_x(participants: int) -> float:
        return WIDTH * (participants - first) / (last - first)

    def format_point(participants: int, power: float) -> str:
        return f"{compute_x(participants):.1f},{HEIGHT * (1 - power):.1f}"

    above = [format_point(point.participants, point.high) for point in result.curve]
    below = [format_point(point.participants, point.low) for point in reversed(result.curve)]
    slot = WIDTH / len(result.curve)
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "slot": f"{slot:.1f}",
        "points": [(point, f"{compute_x(point.participants) - slot / 2:.1f}") for point in result.curve],
        "curve": " ".join(format_point(point.participants, point.power) for point in result.curve),
        "band": " ".join(above + below),
        "target": HEIGHT * (1 - plan.assumptions["target"]),
        "first": first,
        "last": last,
    }
