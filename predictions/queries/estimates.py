"""Estimates of how long a run takes, from earlier runs of the same system."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Count

from jobs.models import Job
from predictions.models import Dataset, Prediction, PredictionRun

EARLIER_RUNS = 5  # runs that count; older ones may have run on other machines


def estimate_predicting_seconds(dataset: Dataset, system: str, revision: str = "") -> float | None:
    """Estimate the time to predict what a dataset lacks; None if unknown.

    Args:
        dataset: The questions.
        system: The system, whose latest finished runs were measured.
        revision: The revision, of which stored predictions are not computed again.
    """
    there = Prediction.objects.filter(
        run__dataset=dataset, run__system__name=system, run__revision=revision
    ).count()
    rows = PredictionRun.objects.filter(
        system__name=system, source=PredictionRun.Source.SERVER, status=PredictionRun.Status.DONE
    ).annotate(number=Count("predictions"))
    measured = rows.order_by("-finished_at")[:EARLIER_RUNS].values_list("created_at", "finished_at", "number")
    return _estimate(measured, dataset.question_count - there)


def estimate_job_seconds(kind: str, run: PredictionRun, items: int) -> float | None:
    """Estimate the time of a job about a run; None if unknown."""
    jobs = Job.objects.filter(kind=kind, workspace=run.workspace, status=Job.Status.DONE).order_by("-pk")
    recent = list(jobs[: 10 * EARLIER_RUNS])
    same = set(
        PredictionRun.objects.filter(
            pk__in=[job.options["run"] for job in recent], system=run.system_id
        ).values_list("pk", flat=True)
    )
    measured = [job for job in recent if job.options["run"] in same][:EARLIER_RUNS]
    return _estimate(
        ((job.created_at, job.finished_at, _count_items(job)) for job in measured if job.finished_at), items
    )


def _count_items(job: Job) -> int:
    result = job.result or {}
    return int(result.get("total") or result.get("n") or 0)


def _estimate(measured: Iterable[tuple[datetime, datetime | None, int]], items: int) -> float | None:
    """Return the time at the fastest rate: slower runs waited for something."""
    rates = [
        number / max((end - start).total_seconds(), 0.1) for start, end, number in measured if end and number
    ]
    return max(0, items) / max(rates) if rates else None
