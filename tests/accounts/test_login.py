"""Tests of login and logout."""

import pytest

from accounts.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return User.objects.create_user("ada", password="right", is_staff=True)


def login(client, **data):
    return client.post("/accounts/login/", {"username": "ada", "password": "right", **data})


def test_it_works(client, user):
    assert login(client).url == "/start/"
    assert client.get("/start/").url == "/staff/"
    assert client.get("/staff/").status_code == 200
    assert client.post("/accounts/logout/").url == "/accounts/login/"
    assert client.get("/staff/").status_code == 302


def test_it_leads_on_to_the_page_asked_for_on_this_site_only(client, user):
    assert login(client, next="/api/studies/").url == "/api/studies/"
    client.post("/accounts/logout/")
    assert login(client, next="https://elsewhere.example/").url == "/start/"


def test_who_is_not_staff_goes_to_the_annotation_projects(client):
    User.objects.create_user("ada", password="right")
    login(client)
    assert client.get("/start/").url == "/annotate/"


def test_a_wrong_password_is_said_without_saying_which_part(client, user):
    unknown, wrong = login(client, username="nobody"), login(client, password="wrong")
    for response in (unknown, wrong):
        assert "You are not logged in" in response.content.decode()
        assert "_auth_user_id" not in client.session


def test_a_logout_needs_a_post(client, user):
    login(client)
    assert client.get("/accounts/logout/").status_code == 405
    assert "_auth_user_id" in client.session


def test_guessing_is_stopped(client, user, settings):
    settings.AXES_FAILURE_LIMIT = 3
    for _time in range(3):
        response = login(client, password="wrong")
    assert response.status_code == 429
    assert "Too many attempts" in response.content.decode()
    assert login(client).status_code == 429
