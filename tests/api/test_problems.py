"""Every error of the REST API is a problem detail, whatever its cause."""

from typing import Any

import pytest
from django.core.cache.backends.locmem import LocMemCache
from django.test import Client

from accounts.models import Role, Scope
from accounts.rest.views import PerUser
from tests.studyapp.factories import make_user
from tests.tokens import bearer

pytestmark = pytest.mark.django_db

KNOWN = "/api/v1/datasets/"
UNKNOWN = (
    "/api/v1/",
    "/api/v1/unknown/",
    "/api/v1/jobs/x/",
    "/api/v1/studies/a/unknown/",
    "/api/v1/datasets",
)


def check_problem(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    return problem


@pytest.fixture
def headers() -> dict[str, str]:
    return bearer(make_user(Role.RESEARCHER))


@pytest.mark.parametrize("address", [KNOWN, *UNKNOWN])
def test_without_a_login(client: Client, address: str) -> None:
    check_problem(client.get(address), 401)
    check_problem(client.get(address, headers={"Authorization": "Bearer tst_wrong"}), 401)


@pytest.mark.parametrize("method", ["get", "head", "post", "put", "patch", "delete", "options"])
@pytest.mark.parametrize("address", UNKNOWN)
def test_unknown_addresses(client: Client, headers: dict[str, str], address: str, method: str) -> None:
    response = getattr(client, method)(address, headers=headers)
    if method == "head":
        assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")
    else:
        assert address in check_problem(response, 404)["detail"]


def test_an_address_without_its_slash_is_told_about_it(client: Client, headers: dict[str, str]) -> None:
    assert "slash" in client.get("/api/v1/datasets", headers=headers).json()["detail"]
    assert "slash" not in client.get("/api/v1/unknown/", headers=headers).json()["detail"]


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_wrong_methods(client: Client, headers: dict[str, str], method: str) -> None:
    response = getattr(client, method)(KNOWN, headers=headers)
    check_problem(response, 405)
    assert "GET" in response["Allow"]


def test_a_session_without_the_token_of_its_forms() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(Role.RESEARCHER))
    response = client.post("/api/v1/runs/", {}, content_type="application/json")
    assert "CSRF" in check_problem(response, 403)["detail"]


def test_a_session_with_the_token_of_its_forms() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(Role.RESEARCHER))
    client.cookies["csrftoken"] = secret = "a" * 32
    for media in ("application/json", "application/x-www-form-urlencoded", "application/octet-stream"):
        response = client.post("/api/v1/runs/", b"{}", content_type=media, headers={"X-CSRFToken": secret})
        check_problem(response, 422 if media == "application/json" else 415)


def test_a_token_of_too_small_a_scope(client: Client) -> None:
    headers = bearer(make_user(Role.RESEARCHER), Scope.READ)
    assert "manage" in check_problem(client.post("/api/v1/runs/", headers=headers), 403)["detail"]


def test_a_user_who_lacks_the_second_factor(settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    client = Client()
    client.force_login(make_user(Role.OWNER))
    check_problem(client.get(KNOWN), 403)


def test_wrong_fields_are_named(client: Client, headers: dict[str, str]) -> None:
    problem = check_problem(client.get(f"{KNOWN}?limit=0&colour=red", headers=headers), 422)
    assert {error["field"] for error in problem["errors"]} == {"limit", "colour"}


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [(b"{", "application/json", 400), (b"a=1", "application/x-www-form-urlencoded", 415)],
)
def test_bodies_that_are_not_json(
    client: Client, headers: dict[str, str], body: bytes, media: str, status: int
) -> None:
    check_problem(client.post("/api/v1/runs/", body, content_type=media, headers=headers), status)


def test_too_many_requests(client: Client, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PerUser, "rate", "2/min")
    monkeypatch.setattr(PerUser, "cache", LocMemCache("requests", {}))
    for _ in range(2):
        assert client.get(KNOWN, headers=headers).status_code == 200
    response = client.get(KNOWN, headers=headers)
    check_problem(response, 429)
    assert 0 < int(response["Retry-After"]) <= 61
