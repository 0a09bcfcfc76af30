"""Workspaces and their people over the REST API."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from accounts.actions.workspaces import create_workspace, rename_workspace
from accounts.models import Role, User, Workspace
from tests.workspaces import give, main

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/workspaces/"


@pytest.fixture
def owner() -> User:
    return give(User.objects.create_user("ada", password="!", is_superuser=True), Role.OWNER)


@pytest.fixture
def api(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def sent(response: Any, status: int) -> Any:
    assert response.status_code == status, response.content
    return response.json()


def test_the_last_owner_contradicts_the_stored_state(api: Client) -> None:
    ended = api.delete(f"{ROOT}main/members/ada/owner/")
    deleted = api.post("/api/v1/account/delete/", {"password": "!"}, content_type="application/json")
    for response in (ended, deleted):
        assert "ada is the last owner of Main" in sent(response, 409)["detail"]


def test_a_deactivated_account_gets_no_role(api: Client) -> None:
    User.objects.create_user("gone", password="!", is_active=False)
    body = {"user": "gone", "role": "viewer"}
    problem = sent(api.post(f"{ROOT}main/members/", body, content_type="application/json"), 409)
    assert problem["detail"] == "The account gone is deactivated."


def test_administrators_of_the_site_see_the_workspaces_that_they_may_rename(client: Client) -> None:
    Workspace.objects.create(slug="other", name="Other")
    client.force_login(User.objects.create_user("root", password="!", is_superuser=True))
    rows = sent(client.get(ROOT), 200)["results"]
    assert [row["slug"] for row in rows] == [main().slug, "other"]
    assert sent(client.get(f"{ROOT}other/"), 200)["name"] == "Other"
    client.force_login(User.objects.create_user("nobody", password="!"))
    assert sent(client.get(ROOT), 200)["results"] == []
    sent(client.get(f"{ROOT}other/"), 404)


@pytest.mark.parametrize("name", [" ", "\u200b", "\u00a0\ufeff"])
def test_a_name_shows_something(api: Client, name: str) -> None:
    renamed = api.patch(f"{ROOT}main/", {"name": name}, content_type="application/json")
    created = api.post(ROOT, {"name": name, "slug": "new"}, content_type="application/json")
    for response in (renamed, created):
        assert sent(response, 422)["errors"] == [{"field": "name", "detail": "must not be empty"}]
    page = api.post("/people/site/create/", {"name": name, "slug": "new"})
    assert page.status_code == 422
    assert [*Workspace.objects.values_list("slug", flat=True)] == [main().slug]


@pytest.mark.parametrize("name", [" ", "\u200b"])
def test_every_caller_has_to_name_it_visibly(owner: User, name: str) -> None:
    with pytest.raises(ValidationError, match="cannot be blank"):
        create_workspace(slug="new", name=name, by=owner)
    with pytest.raises(ValidationError, match="cannot be blank"):
        rename_workspace(workspace=main(), name=name, by=owner)
