"""Tests of prediction runs: repeated slices, failures, revisions, ends."""

import threading
from typing import Any

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from jobs.model_servers.gateway import find_served_system, predict_items
from jobs.queue import cut_slices
from modelserver.serving.fake_server import FAILS, INVALID, FakeModelServer, FakeSystem
from modelserver.serving.http import ServerLimits
from modelserver.wire.errors import Unavailable
from modelserver.wire.schema import ItemError, QAPrediction
from predictions.actions import predictions
from predictions.actions.predictions import RUNS, cancel_run, compute_slice, fail_run, finish_run, start_run
from predictions.models import Dataset, Event, Prediction, PredictionRun
from predictions.queries.predictions import (
    count_progress,
    estimate_missing_sizes,
    find_latest_run,
    list_latest_runs,
    list_missing_questions,
)
from predictions.tasks import enqueue_missing
from tests.studyapp.questions import entries, entry
from tests.studyapp.serving import eager, failing, made_dataset, model_server, no_model_server

__all__ = ["eager", "model_server", "no_model_server"]

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def started(dataset: Dataset, system: str = "fake") -> PredictionRun:
    return start_run(dataset=dataset, system=system, revision=find_served_system(system).revision)


def whole(run: PredictionRun) -> dict[str, int]:
    keys = list(run.dataset.questions.values_list("pk", flat=True))
    return {"run_id": run.pk, "first": min(keys), "last": max(keys)}


def test_it_works(model_server: FakeModelServer):
    run = started(made_dataset("films", entries(5)))
    assert compute_slice(**whole(run)) == 5
    run.refresh_from_db()
    assert run.status == "done"
    assert run.finished_at is not None
    prediction = run.predictions.get(question__external_id="q0")
    assert prediction.answer == "Paul Stone I"
    assert prediction.answer_type == "span"
    assert prediction.threshold == 0.4
    wire = prediction.wire("q0")
    assert wire.location is not None
    assert wire.location.first == ("Night Ferry 0", 0)
    assert wire.fact_probabilities is not None
    assert len(wire.fact_probabilities) == 5
    assert Event.objects.filter(kind="run_finished").count() == 1


def test_a_slice_run_twice_stores_nothing_twice(model_server: FakeModelServer):
    run = started(made_dataset("films", entries(5)))
    assert compute_slice(**whole(run)) == 5
    PredictionRun.objects.update(status="running")
    assert compute_slice(**whole(run)) == 0
    assert Prediction.objects.count() == 5


def test_only_what_is_missing_in_the_range_is_computed(model_server: FakeModelServer):
    run = started(made_dataset("films", entries(6)))
    keys = list(list_missing_questions(run).order_by("pk").values_list("pk", flat=True))
    assert compute_slice(run_id=run.pk, first=keys[1], last=keys[2]) == 2
    assert compute_slice(run_id=run.pk, first=keys[0], last=keys[3]) == 2
    run.refresh_from_db()
    assert run.status == "running"
    assert run.progressed_at is not None
    assert (count_progress(run).done, count_progress(run).questions) == (4, 6)


@pytest.mark.django_db(transaction=True)
def test_one_slice_on_two_workers_at_once_stores_each_prediction_once(model_server: FakeModelServer):
    run = started(made_dataset("films", entries(40)))
    errors: list[BaseException] = []

    def work() -> None:
        try:
            compute_slice(**whole(run))
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert Prediction.objects.filter(run=run).count() == 40
    run.refresh_from_db()
    assert run.status == "done"
    assert Event.objects.filter(kind="run_finished").count() == 1


@pytest.mark.parametrize("first", [0, 1])
def test_a_question_that_failed_on_one_of_two_workers_counts_once(
    monkeypatch: pytest.MonkeyPatch, first: int
):
    run = start_run(dataset=made_dataset("films", entries(1)), system="fake", revision="1")
    answers: list[QAPrediction | ItemError] = [
        ItemError(id="q0", error="out_of_memory", message="full"),
        QAPrediction(id="q0", answer="a", facts=[]),
    ]
    begun: list[int] = []

    def predict(**_: Any) -> list[QAPrediction | ItemError]:
        begun.append(1)
        if len(begun) > 1:
            return [answers[first]]
        compute_slice(**whole(run))  # by another worker, meanwhile
        return [answers[1 - first]]

    monkeypatch.setattr(predictions, "predict_items", predict)
    compute_slice(**whole(run))
    assert (run.predictions.count(), run.failures.count(), count_progress(run).done) == (1, 0, 1)


@pytest.mark.parametrize("mark, kind", [(FAILS, "prediction_failed"), (INVALID, "invalid_item")])
def test_a_question_that_fails_does_not_hold_up_the_others(
    model_server: FakeModelServer, mark: str, kind: str
):
    run = started(made_dataset("films", [entry(0), failing(1, mark), entry(2)]))
    compute_slice(**whole(run))
    run.refresh_from_db()
    assert run.status == "done"
    assert set(run.predictions.values_list("question__external_id", flat=True)) == {"q0", "q2"}
    failure = run.failures.get()
    assert (failure.question.external_id, failure.kind) == ("q1", kind)
    assert mark in failure.message


def test_a_new_start_tries_failures_again(model_server: FakeModelServer):
    run = started(made_dataset("films", [entry(0), failing(1, FAILS)]))
    compute_slice(**whole(run))
    again = started(run.dataset)
    assert again.pk == run.pk
    assert again.status == "running"
    assert [question.external_id for question in list_missing_questions(again)] == ["q1"]


def test_a_complete_run_stays_as_it_is(model_server: FakeModelServer):
    run = started(made_dataset("films", entries(2)))
    compute_slice(**whole(run))
    assert started(run.dataset).status == "done"
    assert Event.objects.filter(kind="run_started").count() == 1


def test_a_grown_dataset_is_taken_up_again(model_server: FakeModelServer):
    run = started(made_dataset("films", entries(2)))
    compute_slice(**whole(run))
    made_dataset("films", entries(5))
    again = started(run.dataset)
    assert again.status == "running"
    assert list_missing_questions(again).count() == 3


def test_a_server_that_is_away_leaves_the_run_as_it_is(
    model_server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("jobs.model_servers.gateway.PATIENCE_SECONDS", 0.0)
    run = started(made_dataset("films", entries(3)))
    with model_server.outage(), pytest.raises(Unavailable):
        compute_slice(**whole(run))
    run.refresh_from_db()
    assert run.status == "running"
    assert compute_slice(**whole(run)) == 3


class OtherRevision(FakeSystem):
    """The fake system with other weights."""

    def __init__(self) -> None:
        super().__init__()
        self.revision = "other"


def test_another_revision_fails_the_run_and_mixes_nothing_in(
    model_server: FakeModelServer, settings: Settings
):
    run = started(made_dataset("films", entries(3)))
    with FakeModelServer(OtherRevision()) as other:
        settings.MODEL_SERVER_URL = other.url
        assert compute_slice(**whole(run)) == 0
        run.refresh_from_db()
        assert run.status == "failed"
        assert "now serves fake in revision other" in run.error
        assert not run.predictions.exists()
        new = started(run.dataset)
        assert new.pk != run.pk
        assert compute_slice(**whole(new)) == 3
    assert find_latest_run(run.dataset, "fake") == new


def test_a_failed_run_can_be_taken_up_again(model_server: FakeModelServer):
    run = started(made_dataset("films", entries(3)))
    assert fail_run(run_id=run.pk, error="given up")
    assert compute_slice(**whole(run)) == 0
    again = started(run.dataset)
    assert (again.pk, again.status, again.error) == (run.pk, "running", "")
    assert compute_slice(**whole(run)) == 3


def test_a_system_that_is_served_no_more_fails_the_run(model_server: FakeModelServer, settings: Settings):
    run = started(made_dataset("films", entries(3)))
    with FakeModelServer(FakeSystem("another")) as other:
        settings.MODEL_SERVER_URL = other.url
        compute_slice(**whole(run))
    run.refresh_from_db()
    assert run.status == "failed"
    assert "another" in run.error


def test_more_than_the_server_takes_at_once_is_sent_in_parts(settings: Settings):
    with FakeModelServer(limits=ServerLimits(items=3)) as server:
        settings.MODEL_SERVER_URL = server.url
        run = started(made_dataset("films", entries(20)))
        assert compute_slice(**whole(run)) == 20
    assert run.predictions.count() == 20
    assert not run.failures.exists()


def test_one_question_too_large_for_the_server_fails_by_itself(settings: Settings):
    huge = entry(1, context=[["A", ["word " * 5000]]])
    with FakeModelServer(limits=ServerLimits(body_bytes=10_000)) as server:
        settings.MODEL_SERVER_URL = server.url
        run = started(made_dataset("films", [entry(0), huge, entry(2)]))
        compute_slice(**whole(run))
    assert run.predictions.count() == 2
    assert run.failures.get().question.external_id == "q1"


@pytest.mark.django_db(transaction=True)
def test_the_server_is_never_asked_inside_a_transaction(
    model_server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
):
    inside = []

    def watched(**question: Any) -> list[QAPrediction | ItemError]:
        inside.append(connection.in_atomic_block)
        return predict_items(**question)

    monkeypatch.setattr(predictions, "predict_items", watched)
    compute_slice(**whole(started(made_dataset("films", entries(3)))))
    assert inside == [False]


def test_a_run_left_complete_by_a_crash_is_finished(model_server: FakeModelServer, eager: None):
    run = started(made_dataset("films", entries(3)))
    compute_slice(**whole(run))
    PredictionRun.objects.update(status="running", finished_at=None)
    assert enqueue_missing(run) == 0
    run.refresh_from_db()
    assert run.status == "done"


def test_an_incomplete_run_is_not_finished(model_server: FakeModelServer):
    run = started(made_dataset("films", entries(3)))
    assert not finish_run(run_id=run.pk)
    assert not list_latest_runs(run.dataset)


def test_slices_cover_every_key_once():
    sizes = [(key, 1) for key in (3, 4, 9, 10, 11, 50, 51)]
    assert cut_slices(sizes, most_tokens=100, most=3) == [(3, 9), (10, 50), (51, 51)]
    assert cut_slices([], most_tokens=100, most=3) == []


def test_slices_without_a_limit_of_tokens():
    assert cut_slices([(key, 9) for key in (2, 3, 7, 9, 10)], most=2) == [(2, 3), (7, 9), (10, 10)]
    assert cut_slices([], most=2) == []


def test_slices_hold_as_many_tokens_as_fit():
    sizes = [(1, 40), (2, 60), (3, 1), (5, 500), (8, 99), (9, 1), (10, 1)]
    assert cut_slices(sizes, most_tokens=100, most=9) == [(1, 2), (3, 3), (5, 5), (8, 9), (10, 10)]


def test_sizes_are_estimated_from_the_characters():
    rows = [entry(0), entry(1, context=[["Österreich 🏔", ["word " * 4_000]]]), entry(2)]
    run = start_run(dataset=made_dataset("films", rows), system="fake", revision="1")
    (first, short), (second, long), (third, _) = estimate_missing_sizes(run)
    assert [first, second, third] == list(list_missing_questions(run).values_list("pk", flat=True))
    characters = len(rows[0]["question"]) + sum(
        len(title) + sum(map(len, sentences)) for title, sentences in rows[0]["context"]
    )
    assert characters / 4 <= short <= 1.5 * characters / 4  # brackets and quotes count too
    assert 5_000 <= long <= 5_050
    parts = cut_slices(estimate_missing_sizes(run), most_tokens=4_000, most=9)
    assert parts == [(first, first), (second, second), (third, third)]


def test_a_run_is_complete_when_nothing_is_missing(model_server: FakeModelServer):
    run = started(made_dataset("films", [entry(0), failing(1, FAILS), entry(2)]))
    keys = list(run.dataset.questions.values_list("pk", flat=True))
    assert not RUNS.is_complete(run)
    compute_slice(run_id=run.pk, first=keys[1], last=keys[2])
    assert not RUNS.is_complete(run)
    compute_slice(run_id=run.pk, first=keys[0], last=keys[0])
    assert RUNS.is_complete(run)


# --- cancelling ---------------------------------------------------------------------------------------


def test_a_cancelled_run_keeps_what_it_has_and_goes_on_later(model_server: FakeModelServer):
    run = started(made_dataset("films", entries(4)))
    keys = list(run.dataset.questions.values_list("pk", flat=True))
    compute_slice(run_id=run.pk, first=keys[0], last=keys[1])
    assert cancel_run(run_id=run.pk)
    assert not cancel_run(run_id=run.pk)
    assert compute_slice(**whole(run)) == 0
    run.refresh_from_db()
    assert (run.status, run.predictions.count()) == ("cancelled", 2)
    assert find_latest_run(run.dataset, "fake") is None
    assert started(run.dataset).pk == run.pk
    assert compute_slice(**whole(run)) == 2
    run.refresh_from_db()
    assert run.status == "done"
    kinds = list(Event.objects.filter(kind__startswith="run_").values_list("kind", flat=True))
    assert kinds == ["run_started", "run_cancelled", "run_started", "run_finished"]


def test_a_slice_that_was_under_way_is_kept_and_does_not_finish_a_cancelled_run(
    model_server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
):
    run = started(made_dataset("films", entries(3)))

    def cancelled_meanwhile(**question: Any) -> list[QAPrediction | ItemError]:
        cancel_run(run_id=run.pk)
        return predict_items(**question)

    monkeypatch.setattr(predictions, "predict_items", cancelled_meanwhile)
    assert compute_slice(**whole(run)) == 3
    run.refresh_from_db()
    assert (run.status, run.predictions.count()) == ("cancelled", 3)


@pytest.mark.parametrize("status", ["pending", "done", "failed", "cancelled"])
def test_only_a_running_run_is_cancelled(status: str):
    run = start_run(dataset=made_dataset("films", entries(1)), system="fake", revision="1")
    PredictionRun.objects.update(status=status)
    assert not cancel_run(run_id=run.pk)
    run.refresh_from_db()
    assert run.status == status


# --- several model servers ---------------------------------------------------------------------------


def test_a_run_goes_on_with_the_servers_that_are_left(settings: Settings):
    with FakeModelServer() as gone, FakeModelServer() as server:
        settings.MODEL_SERVER_URL = f"{gone.url},{server.url}"
        run = started(made_dataset("films", entries(8)))
        gone.close()
        for first, last in cut_slices(estimate_missing_sizes(run), most_tokens=10_000, most=2):
            compute_slice(run_id=run.pk, first=first, last=last)
    run.refresh_from_db()
    assert (run.status, run.predictions.count()) == ("done", 8)


def test_servers_of_two_revisions_fail_the_run_and_are_both_named(settings: Settings):
    with FakeModelServer() as old, FakeModelServer(OtherRevision()) as new:
        settings.MODEL_SERVER_URL = old.url
        run = started(made_dataset("films", entries(20)))
        settings.MODEL_SERVER_URL = f"{old.url},{new.url}"
        for question in run.dataset.questions.all():
            compute_slice(run_id=run.pk, first=question.pk, last=question.pk)
        run.refresh_from_db()
    assert run.status == "failed"
    assert run.error.startswith("two model servers serve fake in different revisions")
    assert old.url in run.error
    assert new.url in run.error
