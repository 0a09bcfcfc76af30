"""Write simulations of sample sizes."""

import time
from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from accounts.models import User, Workspace
from analysis.io.errors import AnalysisError
from studyapp.actions import events
from studyapp.models import SizePlan
from studyapp.rules.sample_sizes import SizeResult, SizeSettings, simulate
from studyapp.rules.system_sizes import SystemSettings, SystemsResult, simulate_systems


class TakesLonger(Exception):
    """The simulation did not end within the time that it had."""


@transaction.atomic
def create_plan(
    *, settings: SizeSettings | SystemSettings, workspace: Workspace, by: User | None
) -> SizePlan:
    """Store the assumptions of a simulation in a workspace."""
    plan = SizePlan.objects.create(
        workspace=workspace, assumptions=settings.model_dump(mode="json"), created_by=by
    )
    events.record(kind="size_planned", by=by, data={"plan": plan.pk})
    return plan


def run_plan(*, plan_id: int, seconds: float | None = None) -> None:
    """Simulate a pending plan and store its result.

    A finished plan stays as it is. This runs outside a transaction, so that its progress is visible.

    Raises:
        TakesLonger: it did not end within ``seconds``; the plan is pending again.
    """
    plan = SizePlan.objects.get(pk=plan_id)
    if plan.status in (SizePlan.Status.DONE, SizePlan.Status.FAILED):
        return
    rows = SizePlan.objects.filter(pk=plan_id)
    rows.update(status=SizePlan.Status.RUNNING, progress=0)
    until = None if seconds is None else time.monotonic() + seconds

    def stop_in_time() -> None:
        if until is not None and time.monotonic() > until:
            raise TakesLonger

    def note_progress(share: float) -> None:
        rows.update(progress=round(100 * share))

    try:
        result = _simulate(plan, note_progress, stop_in_time)
    except TakesLonger:
        rows.update(status=SizePlan.Status.PENDING, progress=0)
        raise
    except AnalysisError as error:
        rows.update(status=SizePlan.Status.FAILED, error=str(error), finished_at=timezone.now())
        return
    rows.update(
        status=SizePlan.Status.DONE,
        progress=100,
        result=result.model_dump(mode="json"),
        finished_at=timezone.now(),
    )


def _simulate(
    plan: SizePlan, advance: Callable[[float], None], drawn: Callable[[], None]
) -> SizeResult | SystemsResult:
    if plan.is_about_systems:
        of_systems = SystemSettings.model_validate(plan.assumptions)
        return simulate_systems(of_systems, advance=advance, drawn=drawn)
    return simulate(SizeSettings.model_validate(plan.assumptions), advance=advance, drawn=drawn)
