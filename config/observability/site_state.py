"""The state of the whole site as metrics, read when they are asked for.

Every web server gives the same figures, so dashboards take their maximum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from django.conf import settings
from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from analysis import __version__
from annotation.models import OutputRun
from config.observability.health import check_parts
from jobs.models import Job
from jobs.queue import count_queued
from predictions.models import PredictionRun
from studyapp.models import Mode, Participant, Study

Counted: TypeAlias = PredictionRun | OutputRun | Job | Study | Participant
RUNS: dict[str, type[PredictionRun | OutputRun]] = {"predictions": PredictionRun, "outputs": OutputRun}


class SiteState(Collector):
    """Figures of the site; parts that do not answer have none."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield each figure, read now."""
        info = GaugeMetricFamily("touchstone_info", "Version of the site", labels=["version"])
        info.add_metric([__version__], 1)
        yield info
        works = check_parts()
        parts = GaugeMetricFamily("touchstone_part_works", "1 if the part answers", labels=["part"])
        for name, is_working in works.items():
            parts.add_metric([name], is_working)
        yield parts
        if works["broker"]:
            yield _measure_queues()
        if works["database"] and works["migrations"]:
            yield from _measure_rows()


def _measure_queues() -> GaugeMetricFamily:
    family = GaugeMetricFamily("touchstone_queue_messages", "Messages that wait", labels=["queue"])
    for queue in settings.CELERY_TASK_QUEUES:
        family.add_metric([queue.name], count_queued(queue.name))
    return family


def _measure_rows() -> Iterator[GaugeMetricFamily]:
    runs = GaugeMetricFamily("touchstone_runs", "Runs of systems", labels=["kind", "status"])
    for kind, model in RUNS.items():
        _count(runs, model, kind)
    yield runs
    jobs = GaugeMetricFamily("touchstone_jobs", "Jobs that people started", labels=["status"])
    _count(jobs, Job)
    yield jobs
    begun = Job.objects.filter(status__in=["pending", "running"]).aggregate(Min("created_at"))
    since = begun["created_at__min"]
    waited = (timezone.now() - since).total_seconds() if since else 0
    yield GaugeMetricFamily("touchstone_oldest_open_job_seconds", "Age of the oldest open job", value=waited)
    studies = GaugeMetricFamily("touchstone_studies", "Studies", labels=["status"])
    _count(studies, Study)
    yield studies
    people = GaugeMetricFamily("touchstone_participants", "Participants", labels=["mode", "status"])
    for mode in Mode.values:
        _count(people, Participant, mode, mode=mode)
    yield people


def _count(family: GaugeMetricFamily, model: type[Counted], *labels: str, **where: str) -> None:
    """Count the rows in each status, also in those that no row has."""
    rows = model._default_manager.filter(**where).order_by()
    counts = dict(rows.values_list("status").annotate(Count("pk")))
    for status in model.Status.values:
        family.add_metric([*labels, status], counts.get(status, 0))
