"""Tests of the output and the end of the command predict.

The real queue and worker are in tests/fault.
"""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from foundation.errors import RunFailed
from jobs import progress, queue
from jobs.actions import slices
from jobs.progress_bar import Bar
from modelserver.serving.fake_server import FAILS, FakeModelServer
from modelserver.wire.errors import DeadlineExceeded, Unavailable
from predictions import tasks
from predictions.actions.predictions import start_run
from predictions.models import Prediction, PredictionRun
from tests.studyapp.questions import entries, entry
from tests.studyapp.serving import eager, failing, made_dataset, model_server, no_model_server

__all__ = ["eager", "model_server", "no_model_server"]

pytestmark = pytest.mark.django_db


def run(*arguments: str, dataset: str = "films", system: str = "fake") -> tuple[str, str]:
    output, error = StringIO(), StringIO()
    call_command("predict", "--dataset", dataset, "--system", system, *arguments, stdout=output, stderr=error)
    return output.getvalue(), error.getvalue()


def test_it_works(model_server: FakeModelServer, eager: None):
    made_dataset("films", entries(10))
    output, error = run("--wait", "--slice", "3")
    stored = PredictionRun.objects.get()
    assert output == f"fake on films ({stored.revision}): 10 of 10 questions predicted\n"
    assert error == ""
    assert (stored.status, stored.source, stored.schema_version) == ("done", "server", 1)
    assert stored.predictions.count() == 10


def test_the_result_as_json(model_server: FakeModelServer, eager: None):
    made_dataset("films", [entry(0), failing(1, FAILS)])
    output, error = run("--wait", "--json")
    stored = PredictionRun.objects.get()
    assert json.loads(output) == {
        "id": str(stored.pk), "dataset": "films", "system": "fake", "revision": stored.revision,
        "status": "done", "questions": 2, "predictions": 1, "failures": 1,
        "with_saliency": None, "cost": None,
    }  # fmt: skip
    assert "warning: 1 questions failed" in error
    output, _ = run("--dry-run", "--json")
    assert json.loads(output) == {"language_model": None, "recipient": None, "cost": None}


def test_a_second_time_computes_nothing(model_server: FakeModelServer, eager: None):
    made_dataset("films", entries(4))
    run("--wait")
    first = set(Prediction.objects.values_list("pk", flat=True))
    output, _ = run()
    assert "4 of 4 questions predicted" in output
    assert set(Prediction.objects.values_list("pk", flat=True)) == first


def test_failures_are_told(model_server: FakeModelServer, eager: None):
    made_dataset("films", [entry(0), failing(1, FAILS), entry(2)])
    output, error = run("--wait")
    assert "2 of 3 questions predicted" in output
    assert "warning: 1 questions failed; the first, q1: " in error


def test_a_run_of_failures_only_is_a_failed_job(model_server: FakeModelServer, eager: None):
    made_dataset("films", [failing(0, FAILS)])
    with pytest.raises(CommandError, match="every question failed"):
        run("--wait")


def test_a_cancelled_run_ends_the_wait(
    model_server: FakeModelServer, eager: None, monkeypatch: pytest.MonkeyPatch
):
    made_dataset("films", entries(1))
    monkeypatch.setattr(tasks, "compute_slice", lambda **_: PredictionRun.objects.update(status="cancelled"))
    with pytest.raises(CommandError, match=r"fake on films \(.*\): cancelled"):
        run("--wait")


def test_an_unknown_system_lists_those_served(model_server: FakeModelServer):
    made_dataset("films", entries(1))
    with pytest.raises(CommandError, match="does not serve 'fakes'; it serves: fake") as error:
        run(system="fakes")
    assert error.value.returncode == 1
    assert not PredictionRun.objects.exists()


def test_an_unknown_dataset_is_told(model_server: FakeModelServer):
    with pytest.raises(CommandError, match="there is no dataset 'films', nor any other yet"):
        run()


def test_a_server_that_is_away_is_told(no_model_server: None):
    made_dataset("films", entries(1))
    with pytest.raises(CommandError, match=r"http://127\.0\.0\.1:9 cannot be reached"):
        run()


def test_a_failed_run_is_told_while_waiting(
    model_server: FakeModelServer, eager: None, monkeypatch: pytest.MonkeyPatch
):
    made_dataset("films", entries(1))

    def broken(**_: Any) -> None:
        PredictionRun.objects.update(status="failed", error="the server speaks another language")

    monkeypatch.setattr(tasks, "compute_slice", broken)
    with pytest.raises(CommandError, match="the server speaks another language"):
        run("--wait")


# --- the task ----------------------------------------------------------------------------------------


def test_a_task_tries_again_until_the_server_is_back(monkeypatch: pytest.MonkeyPatch):
    tries = []

    def flaky(**slice: int) -> None:
        tries.append(slice)
        if len(tries) < 4:
            raise Unavailable("restarting")

    monkeypatch.setattr(tasks, "compute_slice", flaky)
    tasks.predict_slice.apply((1, 2, 3))
    assert tries == [{"run_id": 1, "first": 2, "last": 3}] * 4


@pytest.mark.parametrize(
    "error, tries", [(Unavailable("away"), "TRIES"), (DeadlineExceeded("slow"), "SLOW_TRIES")]
)
def test_a_task_gives_up_in_the_end_and_says_so(
    monkeypatch: pytest.MonkeyPatch, error: Exception, tries: str
):
    run = start_run(dataset=made_dataset("films", entries(1)), system="fake", revision="1")
    monkeypatch.setattr(slices, "TRIES", 5)

    def away(**_: int) -> None:
        raise error

    monkeypatch.setattr(tasks, "compute_slice", away)
    tasks.predict_slice.apply((run.pk, 1, 1))
    run.refresh_from_db()
    assert run.status == "failed"
    assert run.error == f"given up after {getattr(slices, tries) + 1} tries: {error}"


def test_tries_without_a_server_are_no_slow_ones(monkeypatch: pytest.MonkeyPatch):
    errors = [Unavailable("restarting")] * 4 + [DeadlineExceeded("slow")] * slices.SLOW_TRIES

    def troubled(**_: int) -> None:
        if errors:
            raise errors.pop(0)

    monkeypatch.setattr(tasks, "compute_slice", troubled)
    assert tasks.predict_slice.apply((1, 2, 3)).successful()
    assert not errors


# --- waiting -----------------------------------------------------------------------------------------


def test_slices_that_never_come_back_end_the_wait(
    model_server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(progress, "STALL_SECONDS", 0.0)
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(progress, "list_workers", lambda: ["worker"])
    monkeypatch.setattr(progress, "has_pending_slices", lambda *_: False)
    enqueued = []
    job = progress.Job(
        run_id=1, task=tasks.predict_slice, count_done=lambda: 0, is_finished=lambda _: False,
        enqueue=lambda: enqueued.append(1) or 1,  # type: ignore[func-returns-value]
    )  # fmt: skip
    with pytest.raises(RunFailed, match="never came back"), Bar("films", 1) as bar:
        progress.wait(job, bar)
    assert len(enqueued) == queue.LOST_LIMIT


def test_slices_in_the_queue_or_at_a_worker_are_left_alone(
    model_server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(progress, "STALL_SECONDS", 0.0)
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(progress, "list_workers", lambda: ["worker"])
    monkeypatch.setattr(progress, "has_pending_slices", lambda *_: True)
    polls = iter([False] * 40 + [True] * 40)

    def enqueue() -> int:
        raise AssertionError("enqueued although nothing was lost")

    job = progress.Job(
        run_id=1,
        task=tasks.predict_slice,
        count_done=lambda: 0,
        is_finished=lambda _: next(polls),
        enqueue=enqueue,
    )
    with Bar("films", 1) as bar:
        progress.wait(job, bar)
