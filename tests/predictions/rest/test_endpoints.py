"""Datasets, systems, runs and predictions over the REST API."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import AnsweredRequest, Role, User
from foundation.errors import NoBroker
from modelserver.wire.errors import Unavailable, UnknownSystem
from modelserver.wire.schema import LanguageModel
from predictions.models import Dataset, PredictionFailure, PredictionRun, Score
from predictions.rest import endpoints
from tests import workspaces
from tests.studyapp.factories import make_dataset, make_run

pytestmark = pytest.mark.django_db


def client_of(*roles: Role, workspace: Any = None) -> Client:
    user = User.objects.create(username=f"user{User.objects.count()}", password="!")
    workspaces.give(user, *roles, workspace=workspace)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def researcher() -> Client:
    return client_of(Role.RESEARCHER)


def test_a_dataset_with_its_questions_and_runs(researcher: Client) -> None:
    dataset = make_dataset(questions=3, name="hotpot")
    run = make_run(dataset=dataset, system="qi2019")
    [row] = researcher.get("/api/v1/datasets/").json()["results"]
    assert row["name"] == "hotpot"
    assert (row["workspace"], row["questions"], row["id"]) == ("main", 3, str(dataset.pk))
    questions = researcher.get(f"/api/v1/datasets/{dataset.pk}/questions/?search=film 2").json()["results"]
    assert [question["external_id"] for question in questions] == ["q2"]
    [row] = researcher.get("/api/v1/runs/?system=qi2019&status=done").json()["results"]
    assert (row["questions"], row["predictions"], row["failures"]) == (3, 3, 0)
    predictions = researcher.get(f"/api/v1/runs/{run.pk}/predictions/?question=q1").json()["results"]
    assert predictions[0]["facts"] == [["The Lost Harbour", 1]]
    assert [row["name"] for row in researcher.get("/api/v1/systems/").json()["results"]] == ["qi2019"]


@pytest.mark.parametrize("number", [2**63, 10**30])
def test_an_id_that_no_database_holds_is_refused(researcher: Client, number: int) -> None:
    response = researcher.get(f"/api/v1/runs/?dataset={number}")
    assert response.status_code == 422
    assert response.json()["errors"] == [{"field": "dataset", "detail": "must have at most 18 characters"}]


def test_pages_follow_the_cursor_and_lose_nothing(researcher: Client) -> None:
    dataset = make_dataset(questions=7)
    address, ids = f"/api/v1/datasets/{dataset.pk}/questions/?limit=3", []
    while address is not None:
        page = researcher.get(address).json()
        ids += [row["external_id"] for row in page["results"]]
        address = page["next"]
    assert ids == [f"q{number}" for number in range(1, 8)]


def test_a_list_as_a_stream_of_lines(researcher: Client) -> None:
    dataset = make_dataset(questions=7)
    response = researcher.get(
        f"/api/v1/datasets/{dataset.pk}/questions/", headers={"Accept": "application/x-ndjson"}
    )
    lines = b"".join(response.streaming_content).splitlines()  # type: ignore[attr-defined]
    assert response["Content-Type"] == "application/x-ndjson"
    assert len(lines) == 7


@pytest.mark.parametrize("cursor", ["x", "%00", "W10", "dHJ1ZQ", "MTAwMDAwMDAwMDAwMDAwMDAwMDA"])
def test_a_made_up_cursor_is_named(researcher: Client, cursor: str) -> None:
    response = researcher.get(f"/api/v1/datasets/?cursor={cursor}")
    assert response.status_code == 422
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["errors"][0]["field"] == "cursor"


def test_strangers_see_nothing_of_another_workspace() -> None:
    with workspaces.using("elsewhere") as other:
        stranger = client_of(Role.OWNER, workspace=other)
    dataset = make_dataset()
    run = make_run(dataset=dataset)
    for address in ("datasets/", "runs/", "systems/"):
        assert stranger.get(f"/api/v1/{address}").json()["results"] == []
    for address in (
        f"datasets/{dataset.pk}/", f"datasets/{dataset.pk}/questions/", f"runs/{run.pk}/",
        f"runs/{run.pk}/errors/", f"runs/{run.pk}/predictions/", f"runs/{run.pk}/scores/",
    ):  # fmt: skip
        assert stranger.get(f"/api/v1/{address}").status_code == 404, address
    assert stranger.post(f"/api/v1/runs/{run.pk}/cancel/").status_code == 404


def test_without_a_login_the_scheme_is_named() -> None:
    response = Client().get("/api/v1/datasets/")
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
    assert response.json()["title"] == "Unauthorized"


def test_roles_without_the_right_get_the_sentence() -> None:
    run = make_run(dataset=make_dataset())
    response = client_of(Role.ANALYST).post(f"/api/v1/runs/{run.pk}/cancel/")
    assert response.status_code == 403
    assert "Analyst" in response.json()["detail"]


def test_failures_are_grouped_by_reason(researcher: Client) -> None:
    run = make_run(dataset=make_dataset(questions=3))
    kinds = ["too_long", "too_long", "crashed"]
    for kind, question in zip(kinds, run.dataset.questions.all(), strict=True):
        PredictionFailure.objects.create(run=run, question=question, kind=kind, message=f"{kind}!")
    groups = researcher.get(f"/api/v1/runs/{run.pk}/errors/").json()["results"]
    assert [(group["kind"], group["number"]) for group in groups] == [("too_long", 2), ("crashed", 1)]
    assert groups[0]["first"] == {"question": "q1", "kind": "too_long", "message": "too_long!"}


def test_scores_once_they_are_computed(researcher: Client) -> None:
    run = make_run(dataset=make_dataset())
    assert researcher.get(f"/api/v1/runs/{run.pk}/scores/").status_code == 404
    Score.objects.create(
        run=run, schema_version=1, n=6, values={"em": 0.5, "farm_1": None}, reasons={"farm_1": "no server"},
        computed_at=run.created_at,
    )  # fmt: skip
    body = researcher.get(f"/api/v1/runs/{run.pk}/scores/").json()
    assert (body["values"]["em"], body["reasons"]) == (0.5, {"farm_1": "no server"})


class Served:
    name, revision, programs, spans_only = "qi2019", "r2", None, False
    language_model = LanguageModel(model="m", recipient="https://llm.example")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> list[PredictionRun]:
    """A model server that serves one system, and the runs that were enqueued."""
    enqueued: list[PredictionRun] = []
    monkeypatch.setattr(endpoints, "find_served_system", lambda name, kind: Served)
    monkeypatch.setattr(endpoints, "enqueue_missing", enqueued.append)
    return enqueued


def start(client: Client, dataset: Dataset, **headers: str) -> Any:
    body = {"dataset": str(dataset.pk), "system": "qi2019"}
    return client.post("/api/v1/runs/", body, content_type="application/json", headers=headers)


@pytest.mark.django_db(transaction=True)  # the queue gets the run once it is committed
def test_starting_a_run(researcher: Client, server: list[PredictionRun]) -> None:
    response = start(researcher, make_dataset(questions=3))
    assert response.status_code == 201, response.content
    assert (response.json()["status"], response.json()["questions"]) == ("running", 3)
    run = PredictionRun.objects.get(pk=response.json()["id"])
    assert server == [run]
    assert run.language_model["recipient"] == "https://llm.example"  # the page says where texts went


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k1"}])
def test_the_queue_gets_a_run_that_workers_find(
    researcher: Client, monkeypatch: pytest.MonkeyPatch, server: list[PredictionRun], headers: dict[str, str]
) -> None:
    inside: list[bool] = []
    monkeypatch.setattr(endpoints, "enqueue_missing", lambda run: inside.append(connection.in_atomic_block))
    assert start(researcher, make_dataset(), **headers).status_code == 201
    assert inside == [False]


@pytest.mark.django_db(transaction=True)  # the queue gets the run once it is committed
def test_a_repeated_key_repeats_the_response(researcher: Client, server: list[PredictionRun]) -> None:
    dataset, other = make_dataset(), make_dataset()
    first = start(researcher, dataset, **{"Idempotency-Key": "k1"})
    again = start(researcher, dataset, **{"Idempotency-Key": "k1"})
    assert again.json() == first.json()
    assert again["Idempotency-Replayed"] == "true"
    assert len(server) == 1
    assert start(researcher, other, **{"Idempotency-Key": "k1"}).status_code == 422
    assert start(client_of(Role.OWNER), other, **{"Idempotency-Key": "k1"}).status_code == 201


@pytest.mark.django_db(transaction=True)  # the queue gets the run once it is committed
def test_a_refused_request_keeps_its_key(
    researcher: Client, server: list[PredictionRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset()

    def fail(_run: PredictionRun) -> None:
        raise NoBroker("the work queue cannot be reached")

    with monkeypatch.context() as broken:
        broken.setattr(endpoints, "enqueue_missing", fail)
        assert start(researcher, dataset, **{"Idempotency-Key": "k1"}).status_code == 503
    assert not AnsweredRequest.objects.exists()
    assert start(researcher, dataset, **{"Idempotency-Key": "k1"}).status_code == 201


@pytest.mark.parametrize(
    ("error", "status"),
    [(UnknownSystem("http://user:secret@host serves none"), 422), (Unavailable("x"), 503)],
)
def test_what_the_model_server_says_stays_inside(
    researcher: Client, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def refuse(_name: str, _kind: str) -> None:
        raise error

    monkeypatch.setattr(endpoints, "find_served_system", refuse)
    response = start(researcher, make_dataset())
    assert response.status_code == status
    assert b"secret" not in response.content


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ("{", 400, None),
        ("{}", 422, "dataset"),
        ('{"dataset": "1", "system": "x", "more": 1}', 422, "more"),
        ('{"dataset": "one", "system": "x"}', 422, "dataset"),
    ],
)
def test_malformed_bodies_name_the_field(
    researcher: Client, body: str, status: int, field: str | None
) -> None:
    response = researcher.post("/api/v1/runs/", body, content_type="application/json")
    assert response.status_code == status
    assert [error["field"] for error in response.json().get("errors", [])][:1] == ([field] if field else [])


def test_lists_take_a_constant_number_of_queries(researcher: Client, django_assert_num_queries: Any) -> None:
    for _ in range(3):
        make_run(dataset=make_dataset())
    with django_assert_num_queries(3):  # session, user, rows
        assert len(researcher.get("/api/v1/runs/").json()["results"]) == 3
