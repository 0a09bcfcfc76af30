"""Jobs of scores and saliency: in turns, resumed, refused, not doubled."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from foundation.errors import Conflict
from jobs.actions.jobs import run_job
from jobs.model_servers.gateway import find_served_system
from jobs.models import Job
from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from predictions import run_jobs
from predictions.actions.computations import start_scoring, start_weighing
from predictions.actions.predictions import start_run
from predictions.models import PredictionRun, ReducedAnswer, Score
from predictions.queries.estimates import estimate_job_seconds, estimate_predicting_seconds
from predictions.tasks import enqueue_missing
from predictions.views import runs
from tests.modelserver.saliency.planted import systems
from tests.predictions.management.commands.test_probe_reading import ROWS
from tests.studyapp.factories import make_dataset, make_run, make_user
from tests.studyapp.serving import eager, made_dataset

__all__ = ["eager"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def served(settings: Settings) -> Iterator[FakeModelServer]:
    with FakeModelServer(*systems(), FakeSystem()) as server:
        settings.MODEL_SERVER_URL = server.url
        yield server


@pytest.fixture
def user() -> User:
    return make_user()


def predicted(system: str) -> PredictionRun:
    revision = find_served_system(system).revision
    run = start_run(dataset=made_dataset("people", ROWS), system=system, revision=revision)
    enqueue_missing(run)
    run.refresh_from_db()
    assert run.status == "done", run.error
    return run


def one_slice_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_jobs, "TURN_SECONDS", -1.0)
    monkeypatch.setattr(run_jobs, "SLICE", 1)


def test_scores_in_a_job(user: User) -> None:
    run = make_run(dataset=make_dataset(), system="qi2019")
    job = start_scoring(run=run, by=user)
    assert not run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.result["values"]["em"] == 0.5
    assert Score.objects.get().run == run


def test_farm_in_turns_stores_nothing_twice(
    served: FakeModelServer, eager: None, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = predicted("fake")
    one_slice_each(monkeypatch)
    job, turns = start_scoring(run=run, by=user), 1
    while run_job(job_id=job.pk):
        job.refresh_from_db()
        assert (job.status, job.attempts) == (Job.Status.PENDING, 0)
        turns += 1
    job.refresh_from_db()
    assert (job.status, turns) == (Job.Status.DONE, len(ROWS))
    answers = ReducedAnswer.objects.count()
    again = start_scoring(run=run, by=user)
    assert not run_job(job_id=again.pk)
    assert ReducedAnswer.objects.count() == answers
    assert job.result["values"]["farm_1"] is not None


def test_saliency_in_turns(
    served: FakeModelServer, eager: None, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = predicted("rule")
    one_slice_each(monkeypatch)
    job = start_weighing(run=run, method="integrated-gradients", by=user)
    while run_job(job_id=job.pk):
        pass
    job.refresh_from_db()
    assert job.status == Job.Status.DONE, job.error
    assert (job.result["total"], job.result["failures"]) == (len(ROWS), 0)
    assert not run.predictions.filter(explanation_weights=None).exists()
    assert estimate_job_seconds("saliency", run, 10) is not None


def test_an_open_job_is_not_doubled(user: User) -> None:
    run = make_run(dataset=make_dataset())
    assert start_scoring(run=run, by=user) == start_scoring(run=run, by=user)


@pytest.mark.parametrize("status", ["running", "failed", "cancelled"])
def test_a_run_that_is_not_finished_is_refused(user: User, status: Any) -> None:
    run = make_run(dataset=make_dataset())
    run.status = status
    for start in (
        lambda: start_scoring(run=run, by=user),
        lambda: start_weighing(run=run, method="occlusion", by=user),
    ):
        with pytest.raises(Conflict, match="not finished"):
            start()


def test_a_model_server_that_is_away_fails_the_saliency(
    user: User, settings: Settings, monkeypatch: Any
) -> None:
    settings.MODEL_SERVER_URL = "http://127.0.0.1:9"
    monkeypatch.setattr("jobs.model_servers.gateway.PATIENCE_SECONDS", 0.0)
    run = make_run(dataset=make_dataset())
    job = start_weighing(run=run, method="occlusion", by=user)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == Job.Status.FAILED
    assert "start it again to continue" in job.error


def test_a_deleted_run_fails_the_job(user: User) -> None:
    run = make_run(dataset=make_dataset())
    job = start_scoring(run=run, by=user)
    run.delete()
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.error == "The run was deleted."


def test_scores_that_end_while_the_page_is_made_refresh_it(
    user: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(dataset=make_dataset())
    job = start_scoring(run=run, by=user)
    client.force_login(user)
    run_row = runs.run_row

    def ended(of: PredictionRun) -> Any:
        run_job(job_id=job.pk)
        return run_row(of)

    monkeypatch.setattr(runs, "run_row", ended)
    page = client.get(f"/systems/runs/{run.pk}/").content.decode()
    assert "data-refresh=" in page
    assert "refresh.js" in page


def test_estimates_come_from_earlier_runs(user: User) -> None:
    dataset, larger = make_dataset(questions=6), make_dataset(questions=60)
    assert estimate_predicting_seconds(larger, "net") is None
    run = make_run(dataset=dataset, system="net")
    PredictionRun.objects.filter(pk=run.pk).update(
        finished_at=run.created_at.replace(year=run.created_at.year + 1)
    )
    seconds = estimate_predicting_seconds(larger, "net")
    assert seconds == pytest.approx(10 * 365 * 86_400, rel=0.01)
    assert estimate_predicting_seconds(dataset, "net", "r1") == 0
