"""Webhooks of a study over the REST API."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import AnsweredRequest, Role, User
from studyapp.models import StudyWebhook
from tests import workspaces
from tests.studyapp import factories

pytestmark = pytest.mark.django_db
URL = "https://hooks.example/a"


@pytest.fixture
def address() -> str:
    return f"/api/v1/studies/{factories.make_study().slug}/webhooks/"


@pytest.fixture
def researcher() -> Client:
    return client_of(Role.RESEARCHER)


def client_of(role: Role, workspace: Any = None) -> Client:
    user = workspaces.give(User.objects.create_user(f"user{User.objects.count()}"), role, workspace=workspace)
    client = Client()
    client.force_login(user)
    return client


def create(client: Client, address: str, key: str | None = None, **body: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(address, {"url": URL, **body}, content_type="application/json", headers=headers)


def test_it_works(researcher: Client, address: str) -> None:
    created = create(researcher, address, kinds=["quota_reached"])
    assert created.status_code == 201, created.content
    row = created.json()
    assert len(row["secret"]) == 64
    [listed] = researcher.get(address).json()["results"]
    assert listed == {name: value for name, value in row.items() if name != "secret"}
    hook_address = f"{address}{row['id']}/"
    assert researcher.get(hook_address).json() == listed
    hook = StudyWebhook.objects.get()
    for _ in range(3):
        factories.make_participant(link=factories.make_link(study=hook.study, quota=1))
    assert researcher.get(hook_address).json()["waiting"] == 3
    page = researcher.get(f"{hook_address}deliveries/?limit=2").json()
    assert [delivery["kind"] for delivery in page["results"]] == ["quota_reached"] * 2
    assert len(researcher.get(page["next"]).json()["results"]) == 1
    assert researcher.delete(hook_address).status_code == 204
    assert researcher.get(hook_address).json()["active"] is False
    assert researcher.get(hook_address).json()["waiting"] == 0


def test_a_repeated_request_makes_one_webhook_and_shows_the_secret_again(
    researcher: Client, address: str
) -> None:
    first, again = create(researcher, address, "k"), create(researcher, address, "k")
    assert again["Idempotency-Replayed"] == "true"
    assert first.json() == again.json()
    assert StudyWebhook.objects.count() == 1
    assert create(researcher, address, "k", kinds=["quota_reached"]).status_code == 422
    assert first.json()["secret"] not in AnsweredRequest.objects.get().body


@pytest.mark.parametrize(
    "body, field",
    [
        ({"url": ""}, "url"),
        ({"url": "http://127.0.0.1/"}, "url"),
        ({"url": "mailto:ada@example.org"}, "url"),
        ({"url": "https://" + "a" * 500}, "url"),
        ({"kinds": ["gold_set"]}, "kinds.0"),
        ({"secret": "mine"}, "secret"),
    ],
)
def test_malformed_ones_are_refused(researcher: Client, address: str, body: Any, field: str) -> None:
    response = create(researcher, address, **body)
    assert response.status_code == 422, response.content
    assert response.json()["errors"][0]["field"] == field
    assert not StudyWebhook.objects.exists()


def test_a_webhook_of_another_study_is_not_there(researcher: Client, address: str) -> None:
    key = create(researcher, address).json()["id"]
    other = f"/api/v1/studies/{factories.make_study().slug}/webhooks/{key}/"
    assert researcher.get(other).status_code == 404
    assert researcher.get(f"{other}deliveries/").status_code == 404
    assert researcher.delete(other).status_code == 404


def test_analysts_may_not(address: str) -> None:
    analyst = client_of(Role.ANALYST)
    assert analyst.get(address).status_code == 403
    assert create(analyst, address).status_code == 403
