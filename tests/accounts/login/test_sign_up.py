"""Tests of the sign-up, which needs an invitation."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.login.adapters import AccountAdapter
from accounts.models import User
from accounts.queries.invitations import open_invitations
from tests.accounts.people import (
    INVITATION,
    PASSWORD,
    is_logged_in,
    kinds,
    log_in,
    make_invitation,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_user("owner")


def sign_up(client, **data):
    values = {"username": "bea", "email": "", "password1": PASSWORD, "password2": PASSWORD}
    values |= {"next": INVITATION, **data}
    return client.post("/accounts/signup/", values)


def test_it_works(client, owner):
    make_invitation(owner)
    page = client.get(f"/accounts/signup/?next={INVITATION}").content.decode()
    assert f'name="next" value="{INVITATION}"' in page
    assert "sessionid" not in client.cookies
    assert sign_up(client).url == INVITATION
    bea = User.objects.get(username="bea")
    assert client.session["_auth_user_id"] == str(bea.pk)
    assert (bea.is_staff, bea.is_superuser, bea.email) == (False, False, "")
    assert kinds(bea) == ["account_created", "login"]


def test_nobody_signs_up_without_an_invitation(client):
    assert "You need an invitation" in client.get("/accounts/signup/").content.decode()
    assert "You need an invitation" in sign_up(client, next="").content.decode()
    assert "You need an invitation" in sign_up(client).content.decode()
    assert not User.objects.exists()


def test_a_name_that_was_taken_after_the_check_is_named(client, owner, monkeypatch):
    make_invitation(owner)
    check = AccountAdapter.clean_username

    def late(adapter, username, shallow=False):
        checked = check(adapter, username, shallow)
        make_user(username)
        return checked

    monkeypatch.setattr(AccountAdapter, "clean_username", late)
    page = sign_up(client)
    assert page.status_code == 200
    assert "already exists" in page.content.decode()
    assert 'id="id_username_error"' in page.content.decode()
    assert not is_logged_in(client)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_of_two_sign_ups_of_one_name_at_the_same_moment_one_is_refused(owner):
    for number in range(3):
        invitation = make_invitation(owner)
        start = Barrier(2)

        def send(_visitor, name=f"bea-{number}", start=start):
            visitor = Client()
            start.wait()
            try:
                return sign_up(visitor, username=name).status_code
            finally:
                connection.close()

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(send, range(2))) == [200, 302]
        assert User.objects.filter(username=f"bea-{number}").count() == 1
        invitation.delete()


@pytest.mark.parametrize("field", ["accepted_at", "revoked_at", "expires_at"])
def test_an_ended_invitation_opens_nothing(client, owner, field):
    ended = {field: timezone.now() - timedelta(seconds=1)}
    if field == "accepted_at":
        ended["accepted_by"] = owner
    make_invitation(owner, **ended)
    assert not open_invitations().exists()
    sign_up(client)
    assert not User.objects.filter(username="bea").exists()


@pytest.mark.parametrize(
    "address", [f"/invitations/{'u' * 32}/", "/people/", "/nowhere/", "", "http://[/", f"//x{INVITATION}y"]
)
def test_a_made_up_invitation_opens_nothing(client, owner, address):
    make_invitation(owner)
    sign_up(client, next=address)
    assert not User.objects.filter(username="bea").exists()


def test_who_has_an_account_goes_on_to_the_invitation(client, owner):
    make_invitation(owner)
    assert log_in(client, "owner", next=INVITATION).url == INVITATION


def test_the_form_begins_with_the_invited_address(client, owner):
    make_invitation(owner, email="bea@example.org")
    assert 'value="bea@example.org"' in client.get(f"/accounts/signup/?next={INVITATION}").content.decode()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"username": "OWNER"}, "already exists"),
        ({"username": ""}, "required"),
        ({"username": "a b"}, "valid username"),
        ({"password1": "123456789012", "password2": "123456789012"}, "entirely numeric"),
        ({"password2": "another"}, "same password"),
        ({"email": "owner@example.org"}, "already registered"),
        ({"email": "no address"}, "valid email"),
    ],
)
def test_what_is_malformed(client, owner, data, sentence):
    owner.email = "owner@example.org"
    owner.save()
    make_invitation(owner)
    page = sign_up(client, **data)
    assert page.status_code == 200
    assert "Your account was not created" in page.content.decode()
    assert sentence in page.content.decode()
    assert User.objects.count() == 1
