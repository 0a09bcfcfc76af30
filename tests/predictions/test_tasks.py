"""The sweep takes up runs with lost slices, and gives them up in the end.

It leaves other runs alone.
"""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone
from kombu import Connection
from pytest_django.fixtures import Settings

from config.celery import app
from jobs import queue
from jobs.actions import sliced_runs
from jobs.model_servers.gateway import find_served_system
from jobs.models import SliceLease
from modelserver.serving.fake_server import FakeModelServer
from predictions import tasks
from predictions.actions.predictions import RUNS, start_run
from predictions.models import Event, PredictionRun
from tests.studyapp.questions import entries
from tests.studyapp.serving import eager, made_dataset, model_server

__all__ = ["eager", "model_server"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has nothing to do, and an empty queue."""
    monkeypatch.setattr(sliced_runs, "list_workers", lambda: ["worker"])
    monkeypatch.setattr(sliced_runs, "has_pending_slices", lambda *_: False)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Collect the parts of calls instead of enqueueing them."""
    calls: list[object] = []
    monkeypatch.setattr(sliced_runs, "publish", lambda task, parts: calls.extend(parts))
    return calls


class Idle:
    """The reports of workers that hold nothing."""

    def active(self) -> None: ...
    def reserved(self) -> None: ...
    def scheduled(self) -> None: ...


def stalled(revision: str = "1", **since: int) -> PredictionRun:
    """Return a run without progress for a while, by default an hour."""
    run = start_run(dataset=made_dataset(f"films-{revision}", entries(5)), system="fake", revision=revision)
    run.progressed_at = timezone.now() - timedelta(**(since or {"hours": 1}))
    run.save()
    return run


def test_a_run_without_progress_is_taken_up_and_done(model_server: FakeModelServer, eager: None, idle: None):
    run = stalled(find_served_system("fake").revision)
    tasks.sweep_runs()
    run.refresh_from_db()
    assert (run.status, run.predictions.count()) == ("done", 5)
    event = Event.objects.get(kind="run_swept")
    assert (event.data["run"], event.data["slices"]) == (run.pk, 1)


def test_a_complete_run_that_nobody_finished_is_finished(
    model_server: FakeModelServer, eager: None, idle: None
):
    run = stalled(find_served_system("fake").revision)
    tasks.sweep_runs()
    PredictionRun.objects.update(status="running", progressed_at=timezone.now() - timedelta(hours=1))
    tasks.sweep_runs()
    run.refresh_from_db()
    assert run.status == "done"
    assert Event.objects.filter(kind="run_swept").count() == 1


def test_a_run_that_comes_forward_is_left_alone(idle: None, published: list[object], settings: Settings):
    stalled(seconds=settings.RUN_SWEEP_SECONDS - 20)
    tasks.sweep_runs()
    assert published == []


@pytest.mark.parametrize("status", ["pending", "done", "failed", "cancelled"])
def test_only_running_runs_are_swept(status: str, idle: None, published: list[object]):
    stalled()
    PredictionRun.objects.update(status=status)
    tasks.sweep_runs()
    assert published == []


def test_a_run_whose_slices_wait_or_are_computed_is_left_alone(
    idle: None, published: list[object], monkeypatch: pytest.MonkeyPatch
):
    busy, lost = stalled("busy"), stalled("lost")
    monkeypatch.setattr(sliced_runs, "has_pending_slices", lambda task, run_id, names: run_id == busy.pk)
    tasks.sweep_runs()
    assert [call[0] for call in published] == [lost.pk]  # type: ignore[index]


def test_the_lease_of_a_slice_brings_it_back_without_a_sweep(idle: None, published: list[object]):
    run = stalled("busy")
    lost = stalled("lost")
    SliceLease.objects.create(task=tasks.predict_slice.name, arguments=[run.pk, 1, 2], lease=uuid4())
    SliceLease.objects.create(task="another task", arguments=[lost.pk], lease=uuid4())
    tasks.sweep_runs()
    assert [call[0] for call in published] == [lost.pk]  # type: ignore[index]


def test_a_run_whose_slices_never_come_back_fails_in_the_end(idle: None, published: list[object]):
    run = stalled()
    for _ in range(queue.LOST_LIMIT + 2):
        tasks.sweep_runs()
    run.refresh_from_db()
    assert len(published) == queue.LOST_LIMIT
    assert run.status == "failed"
    assert run.error == "slices were enqueued again 3 times and never came back"


def test_progress_between_starts_the_count_again(idle: None, published: list[object]):
    run = stalled()
    for _ in range(queue.LOST_LIMIT + 2):
        tasks.sweep_runs()
        RUNS.note_progress(run)
        PredictionRun.objects.update(progressed_at=timezone.now() - timedelta(hours=1))
    run.refresh_from_db()
    assert run.status == "running"
    assert len(published) == queue.LOST_LIMIT + 2


def test_the_beat_calls_the_sweep(settings: Settings):
    entry = app.conf.beat_schedule["sweep-runs"]
    assert app.tasks[entry["task"]].name == tasks.sweep_runs.name
    assert entry["schedule"].run_every.total_seconds() == settings.RUN_SWEEP_SECONDS
    assert entry["options"]["expires"] <= settings.RUN_SWEEP_SECONDS


def test_what_the_beat_sends_is_not_taken_for_work(monkeypatch: pytest.MonkeyPatch):
    # One sweep waits while the other runs: were it counted, neither would ever find lost work.
    monkeypatch.setattr(app, "connection_for_read", lambda: Connection("memory://"))
    monkeypatch.setattr(app.control, "inspect", lambda *_, **__: Idle())
    with Connection("memory://") as broker:
        try:
            for entry in app.conf.beat_schedule.values():
                app.send_task(entry["task"], connection=broker, **entry["options"])
            assert not queue.has_pending_slices(tasks.predict_slice, 1, [])
            app.send_task(tasks.predict_slice.name, (1, 1, 4), connection=broker, ignore_result=True)
            assert queue.has_pending_slices(tasks.predict_slice, 1, [])
        finally:
            for name in app.amqp.queues:
                app.amqp.queues[name].bind(broker).purge()


def test_workers_serve_both_queues():
    assert set(app.amqp.queues) == {"celery", "upkeep"}
