"""A job begins again once if its worker is gone; a slow one keeps its job."""

from __future__ import annotations

import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from redis.exceptions import RedisError

from accounts.models import Role, User
from jobs import leases
from jobs.actions import jobs
from jobs.actions.jobs import ATTEMPTS, release_lost, run_job
from jobs.models import Job
from jobs.templatetags.jobs import restart_of
from predictions.models import Dataset, Question
from tests import workspaces
from tests.jobs.test_jobs import _folder, importing, questions  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture(autouse=True)
def _cache(settings: Any) -> Any:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    yield
    cache.clear()


@pytest.fixture
def job() -> Job:
    user = workspaces.give(User.objects.create(username="ada", password="!"), Role.RESEARCHER)
    return importing(user, questions(3))


class Killed(BaseException):
    """An end of a worker, which no code of a job catches."""


def begin_earlier(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(started_at=timezone.now() - timedelta(minutes=1))


def test_a_killed_import_stores_nothing_and_begins_again(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(*_args: Any, **_kwargs: Any) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr("predictions.actions.data.events.record", kill)  # the last write of the import
        with pytest.raises(Killed):
            run_job(job_id=job.pk)
    assert not Dataset.objects.exists()
    run_job(job_id=job.pk)  # delivered again, before anybody knows that the worker is gone
    assert not Dataset.objects.exists()
    begin_earlier(job)
    assert release_lost() == [job.pk]
    assert release_lost() == []
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.attempts, job.lease) == (Job.Status.DONE, 2, None)
    assert (Question.objects.count(), Dataset.objects.get().question_count) == (3, 3)


def test_a_slow_job_keeps_its_worker(job: Job, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.JOB_LEASE_SECONDS = 0.4
    swept: list[list[int]] = []

    def work(job: Job, _report: jobs.Report) -> jobs.JobResult:
        begin_earlier(job)
        time.sleep(0.8)  # in one step, without any progress
        swept.append(release_lost())
        run_job(job_id=job.pk)  # another delivery
        return jobs.JobResult({"done": True})

    monkeypatch.setattr(jobs, "load_job_function", lambda _kind: work)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert swept == [[]]
    assert (job.status, job.attempts) == (Job.Status.DONE, 1)


def test_a_worker_that_lost_its_job_stores_nothing(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(job: Job, report: jobs.Report) -> jobs.JobResult:
        Job.objects.filter(pk=job.pk).update(lease=uuid4())  # another worker has taken it
        path = jobs.allocate_file("report.txt")
        path.write_text("Done twice.")
        paths.append(path)
        if job.options.get("reports"):
            report(1, 1)
            raise AssertionError("the work went on")
        return jobs.JobResult(file=path)

    paths: list[Any] = []
    monkeypatch.setattr(jobs, "load_job_function", lambda _kind: work)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.file) == (Job.Status.RUNNING, "")
    assert not paths[0].exists()
    Job.objects.update(status=Job.Status.PENDING, lease=None, options={"reports": True})
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == Job.Status.RUNNING


def test_a_job_that_ends_its_worker_is_given_up(job: Job) -> None:
    Job.objects.update(status=Job.Status.RUNNING, attempts=ATTEMPTS, lease=uuid4())
    begin_earlier(job)
    assert release_lost() == []
    job.refresh_from_db()
    assert job.status == Job.Status.FAILED
    assert "given up" in job.error


def test_nobody_is_taken_for_gone_without_a_cache(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_args: Any, **_kwargs: Any) -> None:
        raise RedisError

    Job.objects.update(status=Job.Status.RUNNING, attempts=1, lease=uuid4())
    begin_earlier(job)
    monkeypatch.setattr(leases, "cache", SimpleNamespace(get=away))
    with pytest.raises(RedisError):
        release_lost()
    assert restart_of(Job.objects.get()) is None


def test_the_page_says_when_it_begins_again(job: Job, client: Client) -> None:
    client.force_login(job.created_by)
    address = f"/jobs/{job.pk}/progress/"
    assert "The worker of this job stopped" not in client.get(address).text
    lease = uuid4()
    leases.take(lease)
    Job.objects.update(status=Job.Status.RUNNING, attempts=1, lease=lease)
    assert "The worker of this job stopped" not in client.get(address).text
    cache.clear()
    begin_earlier(job)
    assert "in at most 5 seconds" in client.get(address).text
    ended = Job.objects.get(pk=job.pk)
    Job.objects.update(status=Job.Status.DONE, finished_at=timezone.now())
    assert restart_of(ended) is None  # its worker let it go between two reads of a page
    Job.objects.update(status=Job.Status.RUNNING, finished_at=None)
    release_lost()
    assert "in at most 5 seconds" in client.get(address).text
