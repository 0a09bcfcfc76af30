"""The command cancel_run stops runs, and says so if there is none to stop."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from jobs.model_servers.gateway import find_served_system
from modelserver.serving.fake_server import FakeModelServer
from predictions.actions.predictions import compute_slice, start_run
from predictions.models import PredictionRun
from tests.studyapp.questions import entries
from tests.studyapp.serving import eager, made_dataset, model_server

__all__ = ["eager", "model_server"]

pytestmark = pytest.mark.django_db


def cancel(dataset: str = "films", system: str = "fake") -> str:
    output = StringIO()
    call_command("cancel_run", "--dataset", dataset, "--system", system, stdout=output)
    return output.getvalue()


def predict() -> None:
    call_command("predict", "--dataset", "films", "--system", "fake", "--wait", stdout=StringIO())


def test_it_works_and_predict_takes_the_run_up_again(model_server: FakeModelServer, eager: None):
    dataset = made_dataset("films", entries(5))
    run = start_run(dataset=dataset, system="fake", revision=find_served_system("fake").revision)
    first = dataset.questions.first()
    assert first is not None
    compute_slice(run_id=run.pk, first=first.pk, last=first.pk)
    assert cancel() == f"{run}: cancelled with 1 of 5 questions predicted\n"
    predict()
    run.refresh_from_db()
    assert (run.status, run.predictions.count()) == ("done", 5)


def test_runs_of_every_revision_are_cancelled_and_others_left_alone():
    films, books = made_dataset("films", entries(1)), made_dataset("books", entries(1))
    for revision in ("1", "2"):
        start_run(dataset=films, system="fake", revision=revision)
    start_run(dataset=films, system="other", revision="1")
    start_run(dataset=books, system="fake", revision="1")
    assert cancel().count("cancelled with 0 of 1") == 2
    left = PredictionRun.objects.filter(status="running").order_by("pk")
    assert [(run.dataset.name, run.system.name) for run in left] == [("films", "other"), ("books", "fake")]


def test_nothing_under_way_is_a_failed_job():
    made_dataset("films", entries(1))
    with pytest.raises(CommandError, match="no run of fake on films is under way") as error:
        cancel()
    assert error.value.returncode == 1


def test_an_unknown_dataset_is_told():
    with pytest.raises(CommandError, match="there is no dataset 'films'"):
        cancel()
