"""Writes of a logged-in browser need a page's CSRF token in a header."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import Invitation, Role, User
from jobs.models import Job
from tests import workspaces

pytestmark = pytest.mark.django_db
INVITATIONS = "/api/v1/workspaces/main/invitations/"
IMPORTS = "/api/v1/imports/?kind=dataset&workspace=main&name=new&format=hotpot"


@pytest.fixture
def browser(settings: Any, tmp_path: Path) -> Client:
    settings.JOB_FOLDER = tmp_path
    client = Client(enforce_csrf_checks=True)
    client.force_login(workspaces.give(User.objects.create_user("ada"), Role.OWNER))
    return client


@pytest.fixture
def token(browser: Client) -> str:
    page = browser.get("/api/docs/").content.decode()
    [csrf_token] = re.findall('data-csrf="([^"]+)"', page)
    return str(csrf_token)


def post(client: Client, address: str, body: bytes, media: str, **headers: str) -> Any:
    return client.post(address, body, content_type=media, headers=headers)


def test_it_works(browser: Client, token: str) -> None:
    body = json.dumps({"role": "viewer"}).encode()
    response = post(browser, INVITATIONS, body, "application/json", **{"X-CSRFToken": token})
    assert response.status_code == 201, response.content
    assert Invitation.objects.count() == 1


def test_a_file_arrives_whole(browser: Client, token: str) -> None:
    media = "application/octet-stream"
    response = post(browser, IMPORTS, b"[1, 2]" * 99, media, **{"X-CSRFToken": token})
    assert response.status_code == 202, response.content
    assert Job.objects.get().kind == "import_dataset"


@pytest.mark.parametrize("headers", [{}, {"X-CSRFToken": "x" * 32}])
@pytest.mark.parametrize("media", ["application/json", "application/x-www-form-urlencoded"])
def test_without_the_token_nothing_is_written(browser: Client, media: str, headers: dict[str, str]) -> None:
    browser.get("/api/docs/")
    response = post(browser, INVITATIONS, b'{"role": "viewer"}', media, **headers)
    assert response.status_code == 403
    assert "CSRF" in response.json()["detail"]
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_form_is_refused(browser: Client, token: str, media: str) -> None:
    response = post(browser, INVITATIONS, b"role=viewer", media, **{"X-CSRFToken": token})
    assert response.status_code == 415
    assert not Invitation.objects.exists()
