"""Tests of login and logout."""

import pytest

from accounts.models import AuditEntry, Role, User
from tests.accounts.people import kinds
from tests.workspaces import give

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return give(User.objects.create_user("ada", password="right", is_staff=True), Role.OWNER)


def login(client, **data):
    return client.post("/accounts/login/", {"username": "ada", "password": "right", **data})


def test_it_works(client, user):
    assert login(client).url == "/start/"
    assert client.get("/start/").status_code == 200
    assert client.get("/staff/").status_code == 200
    assert client.post("/accounts/logout/").url == "/accounts/login/"
    assert client.get("/staff/").status_code == 302


def test_it_leads_on_to_the_page_asked_for_on_this_site_only(client, user):
    assert login(client, next="/api/v1/studies/").url == "/api/v1/studies/"
    client.post("/accounts/logout/")
    assert login(client, next="https://elsewhere.example/").url == "/start/"


def test_who_has_no_role_yet_is_told_whom_to_ask(client):
    User.objects.create_user("ada", password="right")
    login(client)
    assert "Ask an owner of a workspace for an invitation" in client.get("/start/").content.decode()


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


def test_an_account_with_an_address_logs_in_with_it(client, user):
    user.email = "ada@example.org"
    user.save()
    assert login(client, username="Ada@Example.org").url == "/start/"


@pytest.mark.parametrize("name", ["kai@example.org", "kai", "nobody@example.org", "nobody"])
def test_a_wrong_login_hashes_one_password_whether_the_account_exists_or_not(client, monkeypatch, name):
    """Two would tell by the time which addresses have an account."""
    User.objects.create_user("kai", "kai@example.org", "correct horse battery")
    hashed = []
    for method in ("check_password", "set_password"):
        monkeypatch.setattr(User, method, lambda self, password: hashed.append(password))
    login(client, username=name, password="wrong")
    assert hashed == ["wrong"]


def test_the_audit_log_tells_who_was_there(client, user):
    login(client, password="wrong")
    login(client)
    client.post("/accounts/logout/")
    assert kinds(user) == ["login_failed", "login", "logout"]
    entry = AuditEntry.objects.get(kind="login_failed")
    assert (entry.actor, entry.workspace) == (None, None)
    login(client, username="nobody")
    assert AuditEntry.objects.count() == 3


def test_guesses_while_the_lock_holds_do_not_fill_the_log(client, user, settings):
    settings.AXES_FAILURE_LIMIT = 2
    for _time in range(5):
        login(client, password="wrong")
    assert kinds(user) == ["login_failed"]


def test_other_capitals_give_no_further_attempts(client, user, settings):
    settings.AXES_FAILURE_LIMIT = 3
    for name in ("ada", "Ada", "ADA"):
        login(client, username=name, password="wrong")
    assert login(client).status_code == 429


def test_behind_a_proxy_a_stranger_does_not_lock_the_user_out(client, user, settings):
    settings.AXES_FAILURE_LIMIT = 3
    settings.BEHIND_PROXY = True
    for _time in range(4):
        stranger = client.post(
            "/accounts/login/",
            {"username": "ada", "password": "wrong"},
            headers={"X-Forwarded-For": "1.2.3.4, 203.0.113.5"},
        )
    assert stranger.status_code == 429
    headers = {"X-Forwarded-For": "203.0.113.5, 198.51.100.7"}
    data = {"username": "ada", "password": "right"}
    assert client.post("/accounts/login/", data, headers=headers).status_code == 302


def test_the_login_is_kept_in_the_prepared_queries(client, user, django_assert_num_queries):
    login(client)
    assert client.session["_auth_user_backend"] == "accounts.sessions.Backend"
    with django_assert_num_queries(2):
        assert client.get("/accounts/password/set/").status_code == 302


def test_pages_of_strangers_get_no_session(client):
    response = client.get("/")
    assert "sessionid" not in response.cookies


@pytest.mark.parametrize("name", ["", "\0", "x" * 1000, "a@b"])
def test_a_malformed_name_is_no_error_of_the_server(client, user, name):
    assert login(client, username=name).status_code == 200


def test_a_deactivated_account_does_not_log_in(client, user):
    user.is_active = False
    user.save()
    assert login(client).url == "/accounts/inactive/"
    assert "deactivated" in client.get("/accounts/inactive/").content.decode()
    assert "_auth_user_id" not in client.session


def test_a_right_password_gives_all_attempts_back(client, settings):
    settings.AXES_FAILURE_LIMIT = 3
    User.objects.create_user("Ada", password="right")
    for _time in range(3):
        login(client, username="Ada", password="wrong")
        login(client, username="ada", password="wrong")
        assert login(client, username="Ada").status_code == 302
