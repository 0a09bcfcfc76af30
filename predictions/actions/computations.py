"""Start the jobs that compute scores and saliency of a run."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from foundation.errors import Conflict
from jobs.actions.jobs import create_job
from jobs.models import Job
from modelserver.wire.schema import SaliencyMethod
from predictions.actions.saliency import start_saliency
from predictions.actions.scores import retry_failed_reductions
from predictions.explanations.saliency import build_highlight_options
from predictions.models import PredictionRun
from predictions.queries.run_jobs import open_job


@transaction.atomic
def start_scoring(*, run: PredictionRun, by: User) -> Job:
    """Return the job that scores a run, a new one unless one is open.

    Errors on reduced inputs are tried again. Enqueue the job afterwards.

    Raises:
        Conflict: The run is not finished.
    """
    _require_finished(run)
    if (job := open_job("score", run)) is not None:
        return job
    retry_failed_reductions(run=run)
    return _create("score", run, by, {})


@transaction.atomic
def start_weighing(*, run: PredictionRun, method: SaliencyMethod, by: User) -> Job:
    """Return the job that computes the saliency of a run's predictions.

    Enqueue it afterwards.

    Raises:
        Conflict: The run is not finished, executes programs, or has weights of another origin.
    """
    _require_finished(run)
    if run.kind == PredictionRun.Kind.EXECUTE:
        raise Conflict(_("Systems that execute programs have no saliency of words."))
    if (job := open_job("saliency", run)) is not None:
        return job
    start_saliency(run=run, options=build_highlight_options(method), by=by)
    return _create("saliency", run, by, {"method": method})


def _require_finished(run: PredictionRun) -> None:
    if run.status != PredictionRun.Status.DONE:
        raise Conflict(_("The run is not finished. Let it end, or start it again."))


def _create(kind: str, run: PredictionRun, by: User, options: dict[str, Any]) -> Job:
    return create_job(
        kind=kind, workspace=run.workspace, by=by, subject=str(run)[:200], options={"run": run.pk, **options}
    )
