"""Tests of what every response says to browsers and caches.

The pages for errors have tests, too.
"""

import re

import pytest
from django.test import Client
from django.urls import URLPattern

from studyapp.urls import urlpatterns
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


YES = {"text": "Yes?", "scale": "yes_no"}
STAGES = {
    "screening": [{"key": "adult", **YES, "accept": [True]}],
    "instructions_page": True,
    "comprehension": {"questions": [{"key": "clear", **YES, "correct": True}]},
    "questionnaire": {"template": "xqa-2020", "pre_survey": [{"key": "new", **YES}]},
}
FORM = {
    "adult": "yes",
    "clear": "yes",
    "new": "yes",
    "rated_correct": "yes",
    "known_before": "no",
    **dict.fromkeys(("certainty", "helpfulness", "trust", "satisfaction"), "4"),
    **dict.fromkeys(("relevant_information", "irrelevant_information"), "4"),
}


def walk(client):
    """Every page from the link to the withdrawal, by the name of its view."""
    study = factories.make_study(items=2, **STAGES)
    token = factories.make_link_and_token(study=study)[1]
    pages = {"join": client.get(f"/join/{token}/"), "home": client.get("/")}
    pages["consent"] = client.get(f"/study/{study.slug}/consent/")
    pages["declined"] = client.get(f"/study/{study.slug}/declined/")
    page = client.post(f"/study/{study.slug}/consent/", {"consent": "yes"}, follow=True)
    while (name := page.resolver_match.url_name) != "done":
        pages[f"{name} {page.request['PATH_INFO']}"] = pages[name] = page
        key = re.search(r'name="page_key" value="([^"]+)"', page.content.decode())[1]
        pages[f"{name} with errors"] = client.post(page.request["PATH_INFO"], {"page_key": key})
        page = client.post(page.request["PATH_INFO"], {**FORM, "page_key": key}, follow=True)
    pages["done"] = page
    pages["study"] = client.get(f"/study/{study.slug}/")
    resume = re.search(r"/resume/[^/]+/", pages["item"].content.decode())[0]
    pages["resume"] = client.get(resume)
    pages["withdraw"] = client.get("/withdraw/")
    pages["withdraw with errors"] = client.post("/withdraw/", {"code": "WRONG"})
    code = re.search(r'withdrawal">([^<]+)<', page.content.decode())[1]
    pages["withdraw, asked again"] = client.post("/withdraw/", {"code": code})
    pages["withdrawn"] = client.post("/withdraw/", {"code": code, "sure": "yes"})
    pages["done, withdrawn"] = client.get(f"/study/{study.slug}/done/")
    pages["refused"] = refused(study)
    return pages


def refused(study):
    token = factories.make_link_and_token(study=study, single_use=True)[1]
    for _person in "12":
        browser = Client()
        browser.get(f"/join/{token}/")
        answer = browser.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
    assert answer.status_code == 410
    return answer


def test_every_participant_page_has_every_header(client):
    pages = walk(client)
    # Without the staff's addresses, which are below a resolver of their own.
    patterns = [pattern for pattern in urlpatterns if isinstance(pattern, URLPattern)]
    # Neither is a page: what a platform tells the site, and an image of a step, which browsers may keep.
    assert {pattern.name for pattern in patterns} - {"prolific_webhook", "item_image"} <= pages.keys()
    assert {200, 302, 410, 422} == {page.status_code for page in pages.values()}
    for name, page in pages.items():
        headers = page.headers
        assert headers["Cache-Control"] == "no-store", name
        assert headers["Referrer-Policy"] == "same-origin", name
        assert headers["X-Content-Type-Options"] == "nosniff", name
        assert headers["X-Frame-Options"] == "DENY", name
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin", name
        assert "geolocation=()" in headers["Permissions-Policy"], name
        policy = headers["Content-Security-Policy"]
        for part in ("default-src 'self'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
            assert part in policy, name
        assert "unsafe" not in policy, name
        body = page.content.decode()
        assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=\"", body) == [], name
        assert "http://" not in re.sub(r"http://127\.0\.0\.1:8000/resume/", "", body), name


def test_no_page_has_inline_script_or_style(client, token):
    study = factories.make_study()
    staff = Client()
    staff.force_login(factories.make_user())
    pages = [
        client.get(f"/join/{token}/", follow=True),
        client.get("/"),
        client.get("/accounts/login/"),
        staff.get("/staff/"),
        staff.get(f"/staff/studies/{study.slug}/"),
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
    assert "open your study link again" in response.content.decode()
    assert "Resolver404" not in response.content.decode()


def test_a_failure_says_what_to_do(token, monkeypatch):
    def fail(*arguments):
        raise RuntimeError

    monkeypatch.setattr("studyapp.link_tokens.find_link", fail)
    response = Client(raise_request_exception=False).get(f"/join/{token}/")
    assert response.status_code == 500
    assert "Your earlier answers are saved." in response.content.decode()


def test_a_page_that_is_not_there_names_no_class_of_the_code(admin_client):
    page = admin_client.get("/annotate/no-such-project/")
    assert page.status_code == 404
    assert "Http404" not in page.content.decode()
