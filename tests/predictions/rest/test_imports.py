"""Previews, deletion, scores and saliency over the REST API."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, TestCase

from accounts.models import Role
from jobs.models import Job
from modelserver.serving.fake_server import FakeModelServer
from predictions.models import Dataset, PredictionRun, Question
from tests.predictions.rest.test_endpoints import client_of
from tests.studyapp.factories import make_dataset, make_run, make_study
from tests.studyapp.questions import entry
from tests.studyapp.serving import eager, model_server, no_model_server

__all__ = ["eager", "model_server", "no_model_server"]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.JOB_FOLDER = tmp_path / "jobs"


@pytest.fixture
def researcher() -> Client:
    return client_of(Role.RESEARCHER)


def upload(client: Client, *rows: dict[str, Any], **query: str) -> dict[str, Any]:
    parameters = {"kind": "dataset", "workspace": "main", "name": "films", "format": "hotpot", **query}
    address = "/api/v1/imports/?" + "&".join(f"{name}={value}" for name, value in parameters.items())
    with TestCase.captureOnCommitCallbacks(execute=True):  # the job is enqueued once it is committed
        response = client.post(address, json.dumps(list(rows)), content_type="application/octet-stream")
    assert response.status_code == 202, response.content
    job: dict[str, Any] = client.get(f"/api/v1/jobs/{response.json()['id']}/").json()
    return job


def apply(client: Client, job: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/imports/{job['id']}/apply/")


def test_preview_and_apply(researcher: Client, eager: None) -> None:
    job = upload(researcher, entry(0), entry(1), dry_run="true", licence="CC0")
    assert [row["external_id"] for row in job["result"]["first"]] == ["q0", "q1"]
    assert not Dataset.objects.exists()
    first, again = apply(researcher, job), apply(researcher, job)
    assert (first.status_code, first.json()["id"]) == (202, again.json()["id"])
    dataset = Dataset.objects.get()
    assert (dataset.licence, dataset.question_count) == ("CC0", 2)


def test_a_preview_with_mistakes_is_not_applied(researcher: Client, eager: None) -> None:
    job = upload(researcher, entry(0), entry(1, answer=None), dry_run="true")
    [refusal] = job["result"]["refused"]
    assert (refusal["line"], refusal["field"]) == (1, "entry 2 (q1): answer")
    response = apply(researcher, job)
    assert response.status_code == 409
    assert not Dataset.objects.exists()


def test_differing_questions_are_listed(researcher: Client, eager: None) -> None:
    upload(researcher, entry(0))
    job = upload(researcher, entry(0, answer="Another"), entry(1), dry_run="true")
    [refusal] = job["result"]["refused"]
    assert refusal["field"] == "q0: answer"
    assert (job["result"]["extends"], job["result"]["added"]) == (True, 1)
    assert Question.objects.count() == 1


def test_an_import_is_no_preview(researcher: Client, eager: None) -> None:
    assert apply(researcher, upload(researcher, entry(0))).status_code == 409


def test_the_preview_of_somebody_else_is_not_there(researcher: Client, eager: None) -> None:
    job = upload(researcher, entry(0), dry_run="true")
    assert apply(client_of(Role.OWNER), job).status_code == 404


def test_what_nothing_uses_is_deleted(researcher: Client) -> None:
    run = make_run(dataset=make_dataset())
    used = researcher.delete(f"/api/v1/datasets/{run.dataset_id}/")
    assert (used.status_code, "1 run of a system" in used.json()["detail"]) == (409, True)
    assert researcher.delete(f"/api/v1/runs/{run.pk}/").status_code == 204
    assert researcher.delete(f"/api/v1/datasets/{run.dataset_id}/").status_code == 204
    assert not Dataset.objects.exists()


def test_a_study_keeps_its_data(researcher: Client) -> None:
    study = make_study()
    run = PredictionRun.objects.latest("pk")
    for address in (f"runs/{run.pk}/", f"datasets/{run.dataset_id}/"):
        response = researcher.delete(f"/api/v1/{address}")
        assert response.status_code == 409
        assert study.title in response.json()["detail"]


def test_a_draft_keeps_the_only_run_of_its_system(researcher: Client) -> None:
    make_study(launched=False)
    run = PredictionRun.objects.latest("pk")
    assert researcher.delete(f"/api/v1/runs/{run.pk}/").status_code == 409


def test_a_running_run_is_cancelled_first(researcher: Client) -> None:
    run = make_run(dataset=make_dataset())
    PredictionRun.objects.filter(pk=run.pk).update(status="running", finished_at=None)
    response = researcher.delete(f"/api/v1/runs/{run.pk}/")
    assert (response.status_code, "Cancel it first" in response.json()["detail"]) == (409, True)


def test_scores_and_saliency_are_jobs(researcher: Client, eager: None) -> None:
    run = make_run(dataset=make_dataset(), system="qi2019")
    scoring = researcher.post(f"/api/v1/runs/{run.pk}/score/")
    assert scoring.status_code == 202
    assert researcher.get(f"/api/v1/runs/{run.pk}/scores/").json()["values"]["em"] == 0.5
    wrong = researcher.post(
        f"/api/v1/runs/{run.pk}/saliency/", {"method": "magic"}, content_type="application/json"
    )
    assert wrong.status_code == 422
    PredictionRun.objects.filter(pk=run.pk).update(source="file")
    refused = researcher.post(f"/api/v1/runs/{run.pk}/saliency/", {}, content_type="application/json")
    assert refused.status_code == 409
    assert not Job.objects.filter(kind="saliency").exists()


def test_served_systems_with_kind_and_revision(researcher: Client, model_server: FakeModelServer) -> None:
    make_run(dataset=make_dataset(), system="fake")
    make_run(dataset=make_dataset(), system="gone")
    served = researcher.get("/api/v1/systems/served/").json()
    assert [row["answers"] for row in served["servers"]] == [True]
    assert [(row["name"], row["kind"]) for row in served["systems"]] == [("fake", "reader")]
    rows = {row["name"]: row for row in researcher.get("/api/v1/systems/").json()["results"]}
    assert rows["fake"]["revision"] == served["systems"][0]["revision"]
    assert (rows["gone"]["kind"], rows["gone"]["revision"]) == (None, None)


def test_a_server_that_is_down_answers_at_once(researcher: Client, no_model_server: None) -> None:
    served = researcher.get("/api/v1/systems/served/").json()
    assert served["systems"] == []
    assert [row["answers"] for row in served["servers"]] == [False]


def test_a_reader_executes_no_programs(researcher: Client, model_server: FakeModelServer) -> None:
    body = {"dataset": str(make_dataset().pk), "system": "fake", "kind": "execute"}
    response = researcher.post("/api/v1/runs/", body, content_type="application/json")
    assert response.status_code == 409
    assert not PredictionRun.objects.exists()
