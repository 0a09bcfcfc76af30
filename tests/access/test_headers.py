"""The headers of every address, graded: pages, files, errors, REST API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts.models import Role
from tests import workspaces
from tests.access.routes import ROUTES
from tests.access.test_matrix import NAMES, worlds
from tests.access.world import World
from tests.accounts.people import log_in
from tests.accounts.people import make_user as make_person
from tests.annotation.factories import make_user

__all__ = ["worlds"]

pytestmark = pytest.mark.django_db

EXACT = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
DIRECTIVES = ("default-src 'self'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'")
# Pages in a frame of the same site: the preview of a study, and the page of a report. Uploaded images have
# headers of their own (tests/foundation/images/test_image_files.py).
OTHERS = {"studyapp:studio_preview", "studyapp:staff_preview_page", "studyapp:staff_report", "content"}


# Addresses with parameters that are no converters.
MORE = {
    "account_confirm_email": {"key": "a"},
    "account_reset_password_from_key": {"uidb36": "a", "key": "b"},
    "openid_connect_callback": {"provider_id": "none"},
    "openid_connect_login": {"provider_id": "none"},
}


def remarks(response: Any) -> Iterator[str]:
    """The headers that are missing in a response that a browser may show."""
    for name, value in EXACT.items():
        if response.get(name) != value:
            yield f"{name}: {response.get(name)}"
    policy = response.get("Content-Security-Policy", "")
    yield from (part for part in DIRECTIVES if part not in policy and "sandbox" not in policy)
    if "unsafe" in policy or "*" in policy:
        yield f"Content-Security-Policy: {policy}"
    if "geolocation=()" not in response.get("Permissions-Policy", ""):
        yield "Permissions-Policy"
    if "no-store" not in response.get("Cache-Control", "") and "private" not in response.get(
        "Cache-Control", ""
    ):
        yield f"Cache-Control: {response.get('Cache-Control')}"


def test_every_address(worlds: tuple[World, World]):
    world, client = worlds[0], Client(raise_request_exception=False)
    client.force_login(workspaces.give(make_user(is_superuser=True), *Role, workspace=world.workspace))
    wrong = []
    for route in sorted(route for route in ROUTES.keys() - OTHERS if "/" not in route):
        if "logout" in route:
            continue
        values = {name: world.values.get((route, name), world.values.get((route.partition(":")[0], name), 1))
                  for name in NAMES[route]}  # fmt: skip
        response = client.get(reverse(route, kwargs=values | MORE.get(route, {})))
        wrong += [f"{route} ({response.status_code}): {remark}" for remark in remarks(response)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("status, path", [(404, "/nowhere/"), (401, "/api/v1/jobs/"), (404, "/join/no/")])
def test_errors(status: int, path: str):
    response = Client(raise_request_exception=False).get(path)
    assert response.status_code == status
    assert list(remarks(response)) == []


def test_cookies_of_a_login():
    client, _user = Client(), make_person("ada")
    assert log_in(client).status_code == 302
    client.get("/withdraw/")
    assert {"sessionid", "csrftoken"} <= client.cookies.keys()
    for cookie in client.cookies.values():
        assert cookie["httponly"]
        assert cookie["samesite"] == "Lax"
        assert bool(cookie["secure"]) == settings.SESSION_COOKIE_SECURE
