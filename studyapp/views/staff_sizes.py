"""Staff pages for the sample size of a study: power analysis."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import require_somewhere
from accounts.policy import Act
from foundation.errors import NoBroker
from studyapp.actions.sizes import TakesLonger, create_plan, run_plan
from studyapp.models import SizePlan
from studyapp.rules.sample_sizes import SizeResult
from studyapp.tasks import enqueue_size_plan
from studyapp.views.access import staff_only, staff_user
from studyapp.web.staff_forms import SizeForm

AT_ONCE = 2.0  # seconds; longer simulations run in a worker
WIDTH, HEIGHT = 600, 240  # of the curve, in units of its picture


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def sizes(request: HttpRequest) -> HttpResponse:
    """Ask for assumptions and simulate; a worker runs long simulations."""
    form = SizeForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and form.settings is not None:
        plan = create_plan(
            settings=form.settings,
            workspace=require_somewhere(staff_user(request), Act.STUDY_EDIT)[0],
            by=staff_user(request),
        )
        try:
            run_plan(plan_id=plan.pk, seconds=AT_ONCE)
        except TakesLonger:
            try:
                enqueue_size_plan(plan)
            except NoBroker as error:
                form.add_error(None, str(error))
        if not form.errors:
            return redirect("studyapp:staff_size", plan.pk)
    context = {"form": form, "plans": SizePlan.objects.select_related("created_by").order_by("-pk")[:20]}
    return render(request, "studyapp/staff/sizes/form.html", context, status=422 if form.errors else 200)


@require_safe
@staff_only
def size(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a simulation: its progress, then its result."""
    return render(request, "studyapp/staff/sizes/plan.html", _context(pk))


@require_safe
@staff_only
def size_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the result, which the page fetches repeatedly."""
    return render(request, "studyapp/staff/sizes/result.html", _context(pk))


def _context(pk: int) -> dict[str, Any]:
    plan = SizePlan.objects.filter(pk=pk).first()
    if plan is None:
        raise Http404(_("There is no power analysis with this number."))
    result = SizeResult.model_validate(plan.result) if plan.result else None
    return {"plan": plan, "result": result, "picture": _picture(result, plan) if result else None}


def _picture(result: SizeResult, plan: SizePlan) -> dict[str, Any]:
    """Return the power curve and its band as points of an SVG."""
    first, last = result.curve[0].participants, result.curve[-1].participants

    def at(participants: int, power: float) -> str:
        return f"{WIDTH * (participants - first) / (last - first):.1f},{HEIGHT * (1 - power):.1f}"

    above = [at(one.participants, one.high) for one in result.curve]
    below = [at(one.participants, one.low) for one in reversed(result.curve)]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "curve": " ".join(at(one.participants, one.power) for one in result.curve),
        "band": " ".join(above + below),
        "target": HEIGHT * (1 - plan.assumptions["target"]),
    }
