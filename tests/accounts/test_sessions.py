"""Tests of the list of sessions, and of what is deleted of old logins."""

import re
from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.actions.sessions import purge_logins
from accounts.tasks import purge_logins as purge_task
from tests.accounts.people import is_logged_in, kinds, log_in, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return make_user()


def browser(name: str, address: str = "203.0.113.5") -> Client:
    client = Client(headers={"User-Agent": name}, REMOTE_ADDR=address)
    log_in(client)
    return client


def test_it_works(user):
    here, there = browser("Firefox"), browser("<b>Chrome</b>", "198.51.100.7")
    page = here.get("/accounts/sessions/").content.decode()
    assert "Firefox" in page
    assert "&lt;b&gt;Chrome" in page
    assert "198.51.100.7" in page
    assert here.post("/accounts/sessions/")["Location"] == "/accounts/sessions/"
    assert is_logged_in(here)
    assert not is_logged_in(there)
    assert "Chrome" not in here.get("/accounts/sessions/").content.decode()
    assert kinds(user)[-1] == "sessions_ended"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/142.0.0.0 Safari/537.36",
            "Chrome on Linux",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0",
            "Firefox on Windows",
        ),
        ("Something/1.0 of mine", "Something/1.0 of mine"),
        ("", "Unknown browser"),
    ],
)
def test_a_browser_has_a_name_that_people_know(user, user_agent, name):
    page = browser(user_agent).get("/accounts/sessions/").content.decode()
    assert re.search(rf"<li>\s*{re.escape(name)}\s+<span", page)


def test_the_sessions_of_others_stay(user):
    make_user("bea")
    here, other = browser("Firefox"), Client()
    log_in(other, "bea")
    here.post("/accounts/sessions/")
    assert is_logged_in(other)


def test_an_ended_session_is_not_listed_and_looking_deletes_nothing(user):
    here, ended = browser("Firefox"), browser("Chrome")
    Session.objects.filter(pk=ended.session.session_key).delete()
    assert "Chrome" not in here.get("/accounts/sessions/").content.decode()
    assert UserSession.objects.count() == 2


def test_it_needs_a_login(client):
    assert client.get("/accounts/sessions/").url.startswith("/accounts/login/")
    assert client.post("/accounts/sessions/").url.startswith("/accounts/login/")


def test_an_address_that_the_proxy_made_up_does_not_stop_the_login(user, settings):
    settings.BEHIND_PROXY = True
    client = Client(headers={"X-Forwarded-For": "unknown"}, REMOTE_ADDR="203.0.113.5")
    assert log_in(client).status_code == 302
    assert UserSession.objects.get().ip == "203.0.113.5"


def test_old_logins_are_deleted(user, client):
    live, ended = browser("Firefox"), browser("Chrome")
    Session.objects.filter(pk=ended.session.session_key).update(expire_date=timezone.now())
    log_in(client, password="wrong")
    purge_logins(days=7)
    assert [session.user_agent for session in UserSession.objects.all()] == ["Firefox"]
    assert Session.objects.filter(pk=live.session.session_key).exists()
    assert AccessAttempt.objects.count() == 1
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(days=8))
    purge_task()
    assert AccessAttempt.objects.count() == 0
    purge_task()
    assert is_logged_in(live)


def test_the_beat_deletes_them(settings):
    tasks = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert purge_task.name in tasks
