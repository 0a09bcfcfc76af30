"""Tests of passwords: changes, resets by mail, and by a one-time link."""

import re

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher, PBKDF2PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.mail.backends.base import BaseEmailBackend
from django.test import Client

from accounts.actions.passwords import create_reset_link
from accounts.models import AuditEntry, Role, Workspace
from accounts.rights.accounts import select_administrable
from tests.accounts.people import PASSWORD, is_logged_in, kinds, log_in, make_token, make_user
from tests.workspaces import give

pytestmark = pytest.mark.django_db

NEW = "seven boats at anchor"


class NoMail(BaseEmailBackend):
    """A mail server that is away."""

    def send_messages(self, email_messages):
        raise ConnectionRefusedError


def second() -> Workspace:
    return Workspace.objects.create(slug="second", name="Second")


@pytest.fixture
def user():
    return make_user(email="ada@example.org")


def change(client, old=PASSWORD, new=NEW, again=None):
    data = {"oldpassword": old, "password1": new, "password2": new if again is None else again}
    return client.post("/accounts/password/change/", data)


def follow(client, link, password=NEW):
    """Open a link of a reset and set a password."""
    form = client.get(link, follow=True)
    if not form.redirect_chain:
        return form
    address = form.redirect_chain[-1][0]
    return client.post(address, {"password1": password, "password2": password})


def test_it_works(client, user):
    other, token = Client(), make_token(user)
    log_in(client)
    log_in(other)
    assert change(client).url == "/accounts/password/change/"
    assert is_logged_in(client)
    assert not is_logged_in(other)
    token.refresh_from_db()
    assert token.revoked_at is not None
    assert kinds(user) == ["login", "login", "password_changed", "token_revoked"]
    assert AuditEntry.objects.get(kind="token_revoked").actor == user
    client.post("/accounts/logout/")
    assert log_in(client).status_code == 200
    assert log_in(client, password=NEW).status_code == 302


def test_it_needs_a_login(client):
    assert client.get("/accounts/password/change/").url.startswith("/accounts/login/")


def test_it_needs_the_current_password(client, user):
    log_in(client)
    page = change(client, old="wrong").content.decode()
    assert "This is not your current password." in page
    assert log_in(Client()).status_code == 302


@pytest.mark.parametrize("new", ["123456789012", "short", "1q2w3e4r5t6y", "ada@example.org", ""])
def test_weak_passwords_are_refused(client, user, new):
    log_in(client)
    assert change(client, new=new).status_code == 200
    assert log_in(Client()).status_code == 302


def test_passwords_of_up_to_128_characters_work(client, user):
    log_in(client)
    long = ("boats at anchor " * 8)[:127] + "!"
    assert change(client, new=long).status_code == 302
    guest = Client()
    assert guest.post("/accounts/login/", {"username": user.username, "password": long}).status_code == 302


def test_longer_ones_are_refused_before_they_are_hashed(client, user, monkeypatch):
    log_in(client)
    assert "at most 128 characters" in change(client, new="ab " * 43).content.decode()
    with pytest.raises(ValidationError, match="at most 128 characters"):
        validate_password("ab " * 43)
    hashed = []

    def encode(_hasher, password, *_rest):
        hashed.append(password)
        return ""

    for hasher in (PBKDF2PasswordHasher, MD5PasswordHasher):
        monkeypatch.setattr(hasher, "encode", encode)
    page = Client().post("/accounts/login/", {"username": user.username, "password": "x" * 100_000})
    assert "at most 128 characters" in page.content.decode()
    assert not hashed


def test_both_fields_have_to_agree(client, user):
    log_in(client)
    assert "the same password each time" in change(client, again="another").content.decode()


def test_the_errors_belong_to_their_fields(client, user):
    log_in(client)
    page = change(client, old="wrong").content.decode()
    assert 'aria-invalid="true"' in page
    assert "id_oldpassword_error" in re.search(r'<input[^>]*name="oldpassword"[^>]*>', page).group()
    assert 'id="id_oldpassword_error"' in page


def test_a_lost_password_comes_back_by_mail(client, user, settings):
    settings.EMAIL_URL = "smtp://mail.example.org"
    assert client.post("/accounts/password/reset/", {"email": "ada@example.org"}).status_code == 302
    (sent,) = mail.outbox
    assert sent.subject == "Touchstone: Reset your password"
    (link,) = re.findall(rf"{settings.SITE_URL}/\S+", sent.body)
    assert follow(client, link).url == "/accounts/password/reset/key/done/"
    assert log_in(client, password=NEW).status_code == 302
    assert kinds(user) == ["password_reset", "login"]
    assert "no longer works" in follow(Client(), link).content.decode()


def test_links_in_mails_lead_to_this_site_whatever_host_was_asked_for(client, user, settings):
    settings.EMAIL_URL = "smtp://mail.example.org"
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://study.example.org", ["*"]
    settings.SECURE_SSL_REDIRECT = False
    client.post("/accounts/password/reset/", {"email": "ada@example.org"}, headers={"Host": "evil.example"})
    (sent,) = mail.outbox
    assert "https://study.example.org/accounts/password/reset/key/" in sent.body
    assert "evil.example" not in f"{sent.subject} {sent.body}"


def test_a_mail_tells_of_a_new_password(client, user, settings):
    settings.ACCOUNT_EMAIL_NOTIFICATIONS = True
    log_in(client)
    change(client)
    (sent,) = mail.outbox
    assert sent.to == ["ada@example.org"]
    assert "Your password has been changed." in sent.body


def test_a_mail_that_fails_does_not_undo_a_new_password(client, user, settings, caplog):
    settings.ACCOUNT_EMAIL_NOTIFICATIONS = True
    settings.EMAIL_BACKEND = "tests.accounts.test_passwords.NoMail"
    log_in(client)
    assert change(client).status_code == 302
    assert log_in(Client(), password=NEW).status_code == 302
    assert "cannot send account/email/password_changed" in caplog.text


def test_strangers_get_no_mail_and_the_same_page(client, user, settings):
    settings.EMAIL_URL = "smtp://mail.example.org"
    response = client.post("/accounts/password/reset/", {"email": "nobody@example.org"})
    assert response.url == "/accounts/password/reset/done/"
    assert mail.outbox == []


def test_without_a_mail_server_the_page_says_whom_to_ask(client, user):
    page = client.get("/accounts/password/reset/").content.decode()
    assert "one-time link" in page
    assert 'name="email"' not in page
    assert client.post("/accounts/password/reset/", {"email": "ada@example.org"}).status_code == 404
    assert mail.outbox == []


def test_a_superuser_makes_a_one_time_link(client, user):
    boss = make_user("boss", is_superuser=True)
    log_in(client)
    staff = Client()
    staff.force_login(boss)
    address = f"/accounts/password/link/{user.pk}/"
    assert "password/reset/key" not in staff.get(address).content.decode()
    assert AuditEntry.objects.filter(kind="password_link_created").count() == 0
    page = staff.post(address).content.decode()
    (link,) = re.findall(r'http://\S+/accounts/password/reset/key/[^"\s]+', page)
    assert AuditEntry.objects.get(kind="password_link_created").actor == boss
    assert is_logged_in(client)
    path = link.removeprefix("http://127.0.0.1:8000")
    assert follow(Client(), path).status_code == 302
    assert not is_logged_in(client)
    assert "no longer works" in follow(Client(), path).content.decode()


def test_a_link_expires(client, user, settings):
    link = create_reset_link(user=user, by=None).removeprefix(settings.SITE_URL)
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "no longer works" in client.get(link).content.decode()


@pytest.mark.parametrize("link", ["1-x", "zz-cda8jl-0000", "1-set-password", f"{'9' * 40}-a"])
def test_a_made_up_link_does_not_work(client, user, link):
    assert "no longer works" in client.get(f"/accounts/password/reset/key/{link}/").content.decode()


def test_opening_a_link_writes_nothing(client, user, settings, django_assert_num_queries):
    link = create_reset_link(user=user, by=None).removeprefix(settings.SITE_URL)
    before = user.emailaddress_set.count()
    client.get(link)
    assert user.emailaddress_set.count() == before == 0


def may_reset(by, user):
    return user.pk in select_administrable(by, [user])


def test_the_rule_of_links(user):
    owner, other, boss = make_user("owner"), make_user("other"), make_user("boss", is_superuser=True)
    give(owner, Role.OWNER)
    assert may_reset(boss, user)
    assert not may_reset(owner, user)  # no member
    give(user, Role.ANNOTATOR, Role.ANALYST)
    assert may_reset(owner, user)
    assert not may_reset(other, user)
    assert not may_reset(give(other, Role.RESEARCHER), user)
    give(user, Role.VIEWER, workspace=second())
    assert not may_reset(owner, user)
    assert not may_reset(owner, give(boss, Role.ANNOTATOR))


def test_the_page_of_links_follows_the_rule(client, user):
    owner = give(make_user("owner"), Role.OWNER)
    address = f"/accounts/password/link/{user.pk}/"
    assert client.get(address).url.startswith("/accounts/login/")
    client.force_login(owner)
    assert client.post(address).status_code == 404
    assert client.post("/accounts/password/link/0/").status_code == 404
    give(user, Role.ANNOTATOR)
    assert client.post(address).status_code == 200
    give(user, Role.VIEWER, workspace=second())
    refused = client.post(address)
    assert refused.status_code == 403
    assert "their workspace alone" in refused.content.decode()
