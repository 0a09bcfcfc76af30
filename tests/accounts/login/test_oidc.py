"""Tests of the login by OpenID Connect, with a real provider running here."""

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.test import Client

from accounts.models import User
from tests.accounts.people import (
    INVITATION,
    confirm,
    is_logged_in,
    kinds,
    log_in,
    make_invitation,
    make_token,
    make_user,
    set_up_second_factor,
)
from tests.accounts.provider import PROVIDER, know, log_in_there, running_provider

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    with running_provider(tmp_path_factory.mktemp("provider")) as url:
        yield url


@pytest.fixture(autouse=True)
def _provider_with_users(settings, provider, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    app = {
        "provider_id": PROVIDER["id"],
        "name": PROVIDER["name"],
        "client_id": PROVIDER["client_id"],
        "secret": PROVIDER["secret"],
        "settings": {"server_url": provider},
    }
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}}
    know(provider, "s-ada", email="ada@example.org", email_verified=True, name="Ada")
    know(provider, "s-eve", email="ada@example.org", email_verified=False)
    know(provider, "s-bea", email="bea@example.org", email_verified=True)


def test_it_works(client):
    """An account with the address that the provider has verified."""
    user = make_user(email="ada@example.org")
    EmailAddress.objects.create(user=user, email="ada@example.org", verified=True, primary=True)
    assert "Log in with Local university" in client.get("/accounts/login/").content.decode()
    assert log_in_there(client, "s-ada").url == "/start/"
    assert is_logged_in(client)
    assert client.session["_auth_user_backend"] == "accounts.sessions.Backend"
    assert kinds(user) == ["login"]
    user.refresh_from_db()
    assert user.has_usable_password()
    # From now on the account is found by the person, whatever their address.
    user.email = ""
    user.save()
    EmailAddress.objects.all().delete()
    assert log_in_there(Client(), "s-ada").url == "/start/"


def test_it_goes_on_to_the_page_asked_for(client):
    make_user(email="ada@example.org")
    assert log_in_there(client, "s-ada", next="/accounts/sessions/").url == "/accounts/sessions/"


def test_an_address_that_nobody_verified_opens_no_account(client):
    make_user(email="ada@example.org")
    assert "You need an invitation" in log_in_there(client, "s-eve").content.decode()
    assert not is_logged_in(client)


def test_nobody_gets_an_account_without_an_invitation(client):
    assert "You need an invitation" in log_in_there(client, "s-bea").content.decode()
    assert client.get("/accounts/3rdparty/signup/").status_code == 302
    assert not User.objects.exists()


def test_with_an_invitation_a_person_chooses_a_name(client):
    make_invitation(make_user("owner"))
    assert log_in_there(client, "s-bea", next=INVITATION).url == "/accounts/3rdparty/signup/"
    page = client.get("/accounts/3rdparty/signup/").content.decode()
    assert 'value="bea@example.org"' in page
    data = {"username": "bea", "email": "bea@example.org"}
    assert client.post("/accounts/3rdparty/signup/", data).url == INVITATION
    bea = User.objects.get(username="bea")
    assert not bea.has_usable_password()
    assert kinds(bea) == ["account_created", "login"]
    assert log_in_there(Client(), "s-bea").url == "/start/"


def test_an_account_made_with_somebody_elses_address_is_cleared(client):
    """The maker loses the password, the sessions and the tokens."""
    user, maker = make_user(email="ada@example.org"), Client()
    token = make_token(user)
    log_in(maker)
    assert log_in_there(client, "s-ada").url == "/start/"
    assert not is_logged_in(maker)
    assert log_in(Client()).status_code == 200
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_the_second_factor_is_asked_for_too(client):
    make_user(email="ada@example.org")
    EmailAddress.objects.create(user=User.objects.get(), email="ada@example.org", verified=True)
    other = Client()
    log_in(other)
    set_up_second_factor(other)
    assert log_in_there(client, "s-ada").url == "/accounts/2fa/authenticate/"
    assert not is_logged_in(client)


def test_a_login_is_connected_and_disconnected(client):
    make_user()
    log_in(client)
    confirm(client)
    back = log_in_there(client, "s-bea", "/accounts/oidc/local/login/?process=connect")
    assert back.url == "/accounts/3rdparty/"
    page = client.get("/accounts/3rdparty/").content.decode()
    assert "Disconnect" in page
    assert log_in_there(Client(), "s-bea").url == "/start/"
    client.post("/accounts/3rdparty/", {"account": SocialAccount.objects.get().pk})
    assert not SocialAccount.objects.exists()


def test_a_get_leads_nowhere_by_itself(client):
    page = client.get("/accounts/oidc/local/login/")
    assert page.status_code == 200
    assert 'http-equiv="refresh"' not in page.content.decode()


@pytest.mark.parametrize(
    "address", ["login/callback/", "login/callback/?code=x&state=y", "login/callback/?error=access_denied"]
)
def test_a_made_up_answer_is_refused(client, address):
    page = client.get(f"/accounts/oidc/local/{address}", follow=True)
    assert page.status_code in (200, 401)
    assert not is_logged_in(client)


def test_an_unknown_provider_is_not_found(client):
    assert client.post("/accounts/oidc/other/login/").status_code == 404


def test_a_provider_that_does_not_answer_is_explained(client, settings):
    settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]["settings"] = {
        "server_url": "http://127.0.0.1:9"
    }
    page = client.post("/accounts/oidc/local/login/")
    assert page.status_code == 503
    assert "with the provider failed" in page.content.decode()
