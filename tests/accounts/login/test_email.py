"""Tests of the e-mail addresses of an account."""

import re
import smtplib

import pytest
from allauth.account.models import EmailAddress
from django.core import mail

from tests.accounts.people import log_in, make_user

pytestmark = pytest.mark.django_db

PAGE = "/accounts/email/"


@pytest.fixture
def user(client):
    user = make_user()
    log_in(client)
    return user


@pytest.fixture
def _with_mail(settings):
    settings.EMAIL_URL = "smtp://mail.example.org"
    settings.ACCOUNT_EMAIL_VERIFICATION = "optional"


@pytest.mark.usefixtures("_with_mail")
def test_it_works(client, user, settings):
    client.post(PAGE, {"email": "ada@example.org", "action_add": "1"})
    (sent,) = mail.outbox
    assert sent.to == ["ada@example.org"]
    (link,) = re.findall(rf"{settings.SITE_URL}(/\S+)", sent.body)
    assert not EmailAddress.objects.get().verified
    assert "Does ada@example.org belong to the account ada?" in client.get(link).content.decode()
    client.post(link)
    assert EmailAddress.objects.get().verified
    user.refresh_from_db()
    assert user.email == "ada@example.org"


def test_it_needs_a_login(client):
    assert client.get(PAGE).url.startswith("/accounts/login/")


@pytest.mark.usefixtures("_with_mail")
@pytest.mark.parametrize("link", ["x", "Mg:1abc:def"])
def test_a_made_up_link_verifies_nothing(client, link):
    assert "no longer works" in client.get(f"/accounts/confirm-email/{link}/").content.decode()


def test_without_a_mail_server_no_mail_is_promised(client, user):
    page = client.post(PAGE, {"email": "ada@example.org", "action_add": "1"}, follow=True).content.decode()
    assert "on its way" not in page
    assert "sends no mail" in page
    assert mail.outbox == []
    assert EmailAddress.objects.get().email == "ada@example.org"


@pytest.mark.usefixtures("_with_mail")
def test_no_mail_is_sent_at_each_login(client, user):
    EmailAddress.objects.create(user=user, email="ada@example.org", primary=True)
    client.logout()
    assert log_in(client).status_code == 302
    assert mail.outbox == []


@pytest.mark.usefixtures("_with_mail")
def test_an_address_is_removed(client, user):
    EmailAddress.objects.create(user=user, email="ada@example.org")
    client.post(PAGE, {"email": "other@example.org", "action_remove": "1"})
    assert EmailAddress.objects.count() == 1
    client.post(PAGE, {"email": "ada@example.org", "action_remove": "1"})
    assert EmailAddress.objects.count() == 0


@pytest.mark.usefixtures("_with_mail")
def test_a_mail_server_that_does_not_answer_is_explained(client, user, monkeypatch):
    def away(*args, **kwargs):
        raise smtplib.SMTPServerDisconnected("away")

    monkeypatch.setattr("django.core.mail.message.EmailMessage.send", away)
    page = client.post(PAGE, {"email": "ada@example.org", "action_add": "1"})
    assert page.status_code == 503
    assert "does not work at the moment" in page.content.decode()
