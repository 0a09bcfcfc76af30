"""Tests of what every response says to browsers and caches, and of the pages for errors."""

import re

import pytest
from django.test import Client

from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def token():
    return factories.make_link_and_token()[1]


@pytest.mark.parametrize("address", ["/", "/accounts/login/", "/join/nothing/", "/staff/"])
def test_it_works(client, address):
    headers = client.get(address).headers
    assert "no-store" in headers["Cache-Control"]
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["Content-Security-Policy"]


def test_participant_pages_are_not_kept(client, token):
    for response in (
        client.get(f"/join/{token}/"),
        client.get(f"/join/{token}/", follow=True),
    ):
        assert response.headers["Cache-Control"] == "no-store"


def test_no_page_has_inline_script_or_style(client, admin_client, token):
    study = factories.make_study()
    pages = [
        client.get(f"/join/{token}/", follow=True),
        client.get("/"),
        client.get("/accounts/login/"),
        admin_client.get("/staff/"),
        admin_client.get(f"/staff/studies/{study.slug}/"),
    ]
    for page in pages:
        body = page.content.decode()
        assert re.findall(r"<script(?![^>]*\bsrc=)", body) == []
        assert re.findall(r"<style|\bstyle=|\bon\w+=\"", body) == []


@pytest.mark.parametrize("secure", [False, True])
def test_cookies_are_kept_from_scripts_and_other_sites(client, token, settings, secure):
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = secure
    client.get(f"/join/{token}/", follow=True)
    path = client.cookies["entry"]["path"]
    client.post(f"{path}consent/", {"consent": "yes"}, follow=True)
    assert set(client.cookies) == {"entry", "participant", "csrftoken"}
    for cookie in client.cookies.values():
        assert cookie["httponly"]
        assert cookie["samesite"] == "Lax"
        assert bool(cookie["secure"]) == secure
    assert re.fullmatch(r"/study/[\w-]+/", path)
    assert client.cookies["participant"]["path"] == path


def test_a_form_without_its_token_says_what_to_do(token):
    client = Client(enforce_csrf_checks=True)
    client.get(f"/join/{token}/")
    response = client.post(client.cookies["entry"]["path"] + "consent/", {"consent": "yes"})
    assert response.status_code == 403
    assert "Nothing was stored. Go back, reload the page and send it again." in response.content.decode()


def test_an_unknown_page_says_what_to_do(client):
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "open the link that you were given again" in response.content.decode()
    assert "Resolver404" not in response.content.decode()


def test_a_failure_says_what_to_do(token, monkeypatch):
    def fail(*arguments):
        raise RuntimeError

    monkeypatch.setattr("studyapp.tokens.find_link", fail)
    response = Client(raise_request_exception=False).get(f"/join/{token}/")
    assert response.status_code == 500
    assert "What you sent before is saved." in response.content.decode()
