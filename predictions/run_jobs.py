"""Jobs that compute scores and saliency, in turns of a few minutes.

Each slice is stored at once, so a killed worker loses one slice, and the next turn continues.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from foundation.errors import NotFound, RunFailed
from foundation.known_messages import recognise_message
from foundation.messages import say
from jobs.actions.jobs import JobContinues, JobResult, Report
from jobs.models import Job
from jobs.queue import Slice
from modelserver.wire.errors import ModelServerError
from predictions.actions.saliency import compute_weights
from predictions.actions.scores import compute_reductions, find_farm_obstacle, find_server_obstacle, score_run
from predictions.models import PredictionRun
from predictions.queries.reductions import count_answered_inputs, find_pending_reductions
from predictions.queries.saliency import cut_weight_slices, list_without_weights
from predictions.tasks import PROBE_TOKENS, SLICE, SLICE_TOKENS

TURN_SECONDS = 240.0  # less than the time limit of a task, with room for a slow slice


def compute_scores(job: Job, report: Report) -> JobResult:
    """Compute the reduced answers that FaRM needs, then the scores of a run."""
    run = _run_of(job)
    obstacle = find_farm_obstacle(run) or _reduce(run, report)
    score = score_run(run=run, farm_reason=obstacle, by=job.created_by)
    return JobResult({"run": str(run.pk), "n": score.n, "values": score.values, "reasons": score.reasons})


def _reduce(run: PredictionRun, report: Report) -> str | None:
    """Answer the reduced inputs of a run; return why that is impossible."""
    try:
        pending = find_pending_reductions(run, tokens=SLICE_TOKENS, most=SLICE)
        if not pending.slices:
            return None
        if (obstacle := find_server_obstacle(run)) is not None:
            return obstacle
        _compute_in_turns(
            pending.slices,
            lambda first, last: compute_reductions(run_id=run.pk, first=first, last=last),
            lambda: report(count_answered_inputs(run), pending.total),
        )
    except (RunFailed, ModelServerError) as error:
        return str(error)
    return None


def compute_saliency(job: Job, report: Report) -> JobResult:
    """Compute the weights that the predictions of a run lack.

    Raises:
        RunFailed: The model server cannot be reached, or no prediction has weights in the end.
    """
    run = _run_of(job)
    total = run.predictions.count()
    try:
        _compute_in_turns(
            cut_weight_slices(run, tokens=PROBE_TOKENS, most=SLICE),
            lambda first, last: compute_weights(run_id=run.pk, first=first, last=last),
            lambda: report(total - list_without_weights(run).count(), total),
        )
    except ModelServerError as error:
        raise RunFailed(
            say(
                "%(problem)s. The weights so far are stored; start it again to continue.",
                problem=recognise_message(str(error)),
            )
        ) from error
    failed = run.predictions.exclude(saliency_error="").order_by("pk")
    failures, first = failed.count(), failed.first()
    if first is not None and failures == total:
        raise RunFailed(
            say(
                "no prediction has saliency; the first: %(problem)s",
                problem=recognise_message(first.saliency_error),
            )
        )
    summary: dict[str, Any] = {"run": str(run.pk), "total": total, "failures": failures}
    return JobResult(summary | {"first_error": "" if first is None else first.saliency_error})


def _compute_in_turns(
    slices: Sequence[Slice], compute: Callable[[int, int], object], note: Callable[[], None]
) -> None:
    """Compute slices for the time of a turn.

    Raises:
        JobContinues: The time is over, and slices are left.
    """
    end = time.monotonic() + TURN_SECONDS
    note()
    for number, (first, last) in enumerate(slices, start=1):
        compute(first, last)
        note()
        if time.monotonic() > end and number < len(slices):
            raise JobContinues


def _run_of(job: Job) -> PredictionRun:
    runs = PredictionRun.objects.select_related("dataset__workspace", "system")
    run = runs.filter(pk=job.options["run"], dataset__workspace=job.workspace).first()
    if run is None:
        raise NotFound(say("The run was deleted."))
    return run
