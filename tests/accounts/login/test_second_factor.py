"""Tests of the second factor: set up, asked for, required, and removed."""

import json

import pytest
from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.models import Authenticator
from django.core.cache import caches
from django.core.management import CommandError, call_command
from django.test import Client
from redis.exceptions import ConnectionError as NoRedis

from accounts.models import AuditEntry, Role
from annotation.models import Membership
from tests.accounts.people import (
    PASSWORD,
    code_for,
    confirm,
    is_logged_in,
    kinds,
    log_in,
    make_user,
    set_up_second_factor,
)
from tests.annotation.factories import make_project
from tests.workspaces import give

pytestmark = pytest.mark.django_db

CODES = "/accounts/2fa/recovery-codes/"
AUTHENTICATE = "/accounts/2fa/authenticate/"


@pytest.fixture
def user():
    return make_user()


@pytest.fixture
def secret(user, django_capture_on_commit_callbacks):
    browser = Client()
    log_in(browser)
    with django_capture_on_commit_callbacks(execute=True):
        return set_up_second_factor(browser)


def recovery_codes(user) -> list[str]:
    return Authenticator.objects.get(user=user, type="recovery_codes").wrap().get_unused_codes()


def test_it_works(client, user, secret):
    assert log_in(client).url == AUTHENTICATE
    assert not is_logged_in(client)
    assert client.post(AUTHENTICATE, {"code": code_for(secret)}).url == "/start/"
    assert is_logged_in(client)
    assert kinds(user) == ["login", "second_factor_added", "login"]


def test_a_recovery_code_works_once(client, user, secret):
    code = recovery_codes(user)[0]
    log_in(client)
    assert client.post(AUTHENTICATE, {"code": code}).status_code == 302
    again = Client()
    log_in(again)
    assert "The code is not correct." in again.post(AUTHENTICATE, {"code": code}).content.decode()
    assert len(recovery_codes(user)) == 9


def test_a_code_of_the_app_works_once(client, user, secret):
    code = code_for(secret)
    log_in(client)
    client.post(AUTHENTICATE, {"code": code})
    again = Client()
    log_in(again)
    assert again.post(AUTHENTICATE, {"code": code}).status_code == 200
    assert not is_logged_in(again)


@pytest.mark.parametrize("code", ["", "000000x", "\0", "9" * 500])
def test_wrong_codes_are_refused(client, user, secret, code):
    log_in(client)
    assert client.post(AUTHENTICATE, {"code": code}).status_code == 200
    assert not is_logged_in(client)


def test_guessing_codes_is_stopped(client, user, secret):
    log_in(client)
    for _time in range(5):
        client.post(AUTHENTICATE, {"code": "wrong"})
    page = client.post(AUTHENTICATE, {"code": code_for(secret)})
    assert "too many wrong codes" in page.content.decode()
    assert not is_logged_in(client)


def test_what_codes_come_from_is_encrypted(client, user, secret, settings):
    stored = json.dumps(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored
    assert not any(code in stored for code in recovery_codes(user))
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "a new key" * 9
    log_in(client)
    assert client.post(AUTHENTICATE, {"code": code_for(secret)}).url == "/start/"


def test_a_lost_key_lets_no_code_in(client, user, secret, settings, caplog):
    codes = [code_for(secret), recovery_codes(user)[0], code_for("")]
    settings.SECRET_KEY = "a new key" * 9
    log_in(client)
    for code in codes:
        assert "The code is not correct." in client.post(AUTHENTICATE, {"code": code}).content.decode()
    assert not is_logged_in(client)
    assert "a second factor was stored under another SECRET_KEY" in caplog.text


def test_a_code_without_a_password_is_not_asked_for(client, user, secret):
    assert client.get(AUTHENTICATE).url == "/accounts/login/"


def test_the_set_up_asks_for_the_password_again(client, user):
    log_in(client)
    assert client.get("/accounts/2fa/totp/activate/").url.startswith("/accounts/reauthenticate/")
    assert client.post("/accounts/reauthenticate/", {"password": "wrong"}).status_code == 200
    assert client.get("/accounts/2fa/totp/activate/").status_code == 302


def test_a_wrong_first_code_turns_nothing_on(client, user):
    log_in(client)
    confirm(client)
    secret = client.get("/accounts/2fa/totp/activate/").context["form"].secret
    page = client.post("/accounts/2fa/totp/activate/", {"code": "12"})
    assert "The code is not correct." in page.content.decode()
    assert page.context["form"].secret == secret
    assert not Authenticator.objects.exists()


def test_the_picture_is_no_inline_script_or_foreign_image(client, user):
    log_in(client)
    confirm(client)
    page = client.get("/accounts/2fa/totp/activate/")
    assert 'src="data:image/svg+xml;base64,' in page.content.decode()
    assert "img-src 'self' data:" in page.headers["Content-Security-Policy"]


def test_it_is_removed(client, user, secret):
    log_in(client)
    client.post(AUTHENTICATE, {"code": code_for(secret)})
    confirm(client)
    assert client.get("/accounts/2fa/totp/deactivate/").status_code == 200
    assert client.post("/accounts/2fa/totp/deactivate/").url == "/accounts/2fa/"
    assert not Authenticator.objects.exists()
    assert kinds(user)[-1] == "second_factor_removed"
    assert client.post("/accounts/2fa/totp/deactivate/").status_code == 404


def test_new_recovery_codes_end_the_old_ones(client, user, secret):
    old = recovery_codes(user)
    log_in(client)
    client.post(AUTHENTICATE, {"code": code_for(secret)})
    confirm(client)
    client.post("/accounts/2fa/recovery-codes/generate/")
    new = recovery_codes(user)
    prompt = client.get(CODES).content.decode()
    assert "Show recovery codes" in prompt
    assert not any(code in prompt for code in new)
    page = client.post(CODES).content.decode()
    assert all(code in page for code in new)
    assert not set(old) & set(new)
    assert client.get(f"{CODES}download/").status_code == 405
    text = client.post(f"{CODES}download/")
    assert text.content.decode().split() == new


def test_codes_are_shown_after_the_password_and_to_their_owner(client, user, secret):
    assert client.get(CODES).url.startswith("/accounts/login/")
    log_in(client)
    client.post(AUTHENTICATE, {"code": code_for(secret)})
    methods = client.session[AUTHENTICATION_METHODS_SESSION_KEY]
    session = client.session
    session[AUTHENTICATION_METHODS_SESSION_KEY] = [{**method, "at": 0} for method in methods]
    session.save()
    assert client.post(CODES).url.startswith("/accounts/reauthenticate/")
    other = Client()
    other.force_login(make_user("bea"))
    assert other.get(CODES).status_code == other.post(CODES).status_code == 404


def test_without_the_cache_codes_are_not_taken(client, user, secret, monkeypatch):
    def away(*args, **kwargs):
        raise NoRedis("away")

    log_in(client)
    monkeypatch.setattr(type(caches["default"]), "add", away)
    page = client.post(AUTHENTICATE, {"code": code_for(secret)})
    assert page.status_code == 503
    assert "does not work at the moment" in page.content.decode()
    assert not is_logged_in(client)


def test_a_lost_one_is_removed_in_a_shell(client, user, secret, capsys):
    call_command("remove_second_factor", "ada")
    assert "Removed the second factor of ada" in capsys.readouterr().out
    assert AuditEntry.objects.get(kind="second_factor_removed").actor is None
    assert log_in(client).url == "/start/"
    with pytest.raises(CommandError, match="ada has no second factor"):
        call_command("remove_second_factor", "ada")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nobody"], "there is no user 'nobody'"), (["ada", "--as", "ada"], "only superusers")],
)
def test_what_the_command_refuses(user, secret, arguments, message):
    with pytest.raises(CommandError, match=message):
        call_command("remove_second_factor", *arguments)
    assert Authenticator.objects.exists()


class TestRequired:
    """With REQUIRE_SECOND_FACTOR."""

    @pytest.fixture(autouse=True)
    def _required(self, settings):
        settings.REQUIRE_SECOND_FACTOR = True

    @pytest.mark.parametrize("role", [role for role in Role if role != Role.ANNOTATOR])
    def test_it_works(self, client, user, role):
        give(user, role)
        log_in(client)
        assert client.get("/annotate/").url == "/accounts/2fa/totp/activate/"
        assert client.get("/accounts/sessions/").url == "/accounts/2fa/totp/activate/"
        assert client.get("/api/schema/").status_code == 403
        set_up_second_factor(client)
        assert client.get("/accounts/sessions/").status_code == 200

    def test_superusers_need_one(self, client):
        client.force_login(make_user("boss", is_superuser=True))
        assert client.get("/accounts/sessions/").url == "/accounts/2fa/totp/activate/"

    def test_a_role_on_one_project_counts(self, client, user):
        member = Membership.objects.create(project=make_project(), user=user, role=Role.ADJUDICATOR)
        client.force_login(user)
        assert client.get("/accounts/sessions/").status_code == 302
        Membership.objects.filter(pk=member.pk).update(active=False)
        assert client.get("/accounts/sessions/").status_code == 200

    def test_annotators_and_strangers_need_none(self, client, user):
        assert client.get("/").status_code == 200
        give(user, Role.ANNOTATOR)
        Membership.objects.create(project=make_project(), user=user, role=Role.ANNOTATOR)
        client.force_login(user)
        assert client.get("/accounts/sessions/").status_code == 200

    def test_one_can_log_out_instead(self, client, user):
        give(user, Role.OWNER)
        log_in(client)
        assert client.post("/accounts/logout/").url == "/accounts/login/"
        assert client.get("/accounts/login/").status_code == 200


def test_it_costs_nothing_where_it_is_not_required(client, user, django_assert_num_queries):
    give(user, Role.OWNER)
    log_in(client, password=PASSWORD)
    with django_assert_num_queries(2):
        client.get("/accounts/password/set/")
