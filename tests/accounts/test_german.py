"""Pages and mails of accounts show no English to a German browser.

The same holds for those of people and of members of studies.
"""

import re
from datetime import timedelta
from html import unescape

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.actions.invitations import create_invitation
from accounts.actions.passwords import create_reset_link
from accounts.actions.tokens import create_token
from accounts.models import Role, Scope, User
from accounts.random_secrets import hash_of
from studyapp.actions.shares import share_study
from studyapp.models import Study
from tests.accounts.people import (
    PASSWORD,
    confirm,
    log_in,
    make_invitation,
    make_user,
    set_up_second_factor,
)
from tests.studyapp import factories
from tests.workspaces import give, main

pytestmark = pytest.mark.django_db

# Words of headings, labels and sentences that are no words of German too.
ENGLISH = frozenset(
    re.findall(
        r"\w+",
        """
        account accounts add address again already analyst and are ask by cancel change choose confirm
        correct create current days deactivate delete does enter ends expires factor field for from give has
        have if incorrect invalid invitation invitations invite invited is it last leave log logged login
        logins make manager member members new not of on one open or other our owner password passwords
        people please recovery remove required researcher reset revoke revoked role roles second sent
        session sessions set share shares short sign since the their this to too user username valid verify
        viewer which with workspace workspaces you your
        """,
    )
)
SHOWN = re.compile(r'(?:aria-label|title|alt|placeholder)="([^"]*)"')

TOKEN = "u" * 32
LINK = f"/invitations/{TOKEN}/"


def browser() -> Client:
    return Client(headers={"Accept-Language": "de"})


def words(html: str) -> set[str]:
    """Return the words that a page shows or a screen reader says.

    Keys, codes and links are left out.
    """
    html = re.sub(r'<(script|style|code|time|\w+ class="path")\b.*?</', " ", html, flags=re.DOTALL)
    shown = unescape(" ".join([*SHOWN.findall(html), re.sub(r"<[^>]*>", " ", html)]))
    return set(re.findall(r"\b[a-zäöüß]+\b", re.sub(r"\S+@\S+|https?://\S+", " ", shown).lower()))


def english(response) -> set[str]:
    """The English words of a page, which has to be one in German."""
    html = response.content.decode()
    assert '<html lang="de">' in html, response.request["PATH_INFO"]
    return words(html) & ENGLISH


@pytest.fixture
def owner(settings):
    """An owner who administers the site too, with something on every page."""
    settings.SHAREABLE = {"study": "studyapp.sharing"}
    user = give(make_user(email="ada@example.org", is_superuser=True), Role.OWNER)
    bea, study = give(make_user("bea"), *Role), factories.make_study(items=1)
    Study.objects.filter(pk=study.pk).update(title="X")
    share_study(study=study, user=make_user("eve"), role=Role.ANALYST, by=user)
    User.objects.filter(pk=give(make_user("old"), Role.VIEWER).pk).update(is_active=False)
    EmailAddress.objects.create(user=user, email="ada@example.org", primary=True)
    EmailAddress.objects.create(user=user, email="a@example.org", verified=True)
    make_invitation(bea, email="x@example.org")
    create_token(name="x", scope=Scope.READ, days=90, by=user)
    return user


@pytest.fixture
def page(owner):
    client = browser()
    log_in(client)
    confirm(client)
    return client


@pytest.fixture
def _with_mail(settings):
    settings.EMAIL_URL = "smtp://mail.example.org"
    settings.ACCOUNT_EMAIL_VERIFICATION = "optional"


def test_it_works(page):
    """The helper finds English where there is some."""
    assert {"password", "your", "sessions"} <= words(
        page.get("/accounts/", follow=True, headers={"Accept-Language": "en"}).content.decode()
    ) & ENGLISH


VISITORS = ("accounts/login", "accounts/password/reset", "accounts/password/reset/done", "accounts/signup")


@pytest.mark.parametrize("path", [*VISITORS, "accounts/inactive", "accounts/password/reset/key/1-x", "no"])
def test_pages_of_visitors(owner, path):
    assert english(browser().get(f"/{path}/")) == set()


PAGES = (
    "accounts/password/change",
    "accounts/reauthenticate",
    "accounts/2fa",
    "accounts/2fa/totp/activate",
    "accounts/email",
    "accounts/confirm-email/x",
    "accounts/sessions",
    "account/tokens",
    "people",
    "people/main",
    "people/main/invite",
    "people/main/audit",
    "people/main/leave",
    "people/site/accounts",
    "people/site/audit",
    "staff",
)


@pytest.mark.parametrize("path", PAGES)
def test_pages_of_people(page, path):
    response = page.get(f"/{path}/")
    assert response.status_code == 200
    assert english(response) == set()


def test_pages_that_ask(page):
    bea, old = User.objects.get(username="bea"), User.objects.get(username="old")
    study = bea.workspace_roles.first().workspace.studies.get()
    eve = User.objects.get(username="eve")
    for path in (
        f"people/main/roles/{bea.pk}/owner/end",
        f"people/main/shares/study/{study.pk}/{eve.pk}/analyst/end",
        f"people/site/accounts/{bea.pk}/deactivate",
        f"people/site/accounts/{old.pk}/activate",
        f"accounts/password/link/{bea.pk}",
        f"staff/studies/{study.slug}/members",
    ):
        response = page.get(f"/{path}/")
        assert response.status_code == 200, path
        assert english(response) == set(), path


def test_pages_of_an_invitation(page, owner):
    created = create_invitation(workspace=main(), role=Role.VIEWER, days=7, by=owner)
    path = f"/invitations/{created.token}/"
    for client in (browser(), page):
        assert english(client.get(path)) == set()
    form = {"role": "viewer", "email": "x@example.org", "days": "7"}
    assert english(page.post("/people/main/invite/create/", form)) == set()
    created.invitation.expires_at = timezone.now() - timedelta(seconds=1)
    created.invitation.save()
    ended = page.get(path)
    assert ended.status_code == 410
    assert english(ended) == set()
    assert english(page.get("/invitations/none/")) == set()


def test_pages_of_the_second_factor(page, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        set_up_second_factor(page)
    for path in ("recovery-codes/", "", "recovery-codes/generate/", "totp/deactivate/"):
        assert english(page.get(f"/accounts/2fa/{path}")) == set(), path
    guest = browser()
    assert english(guest.get(log_in(guest).url)) == set()
    refused = guest.post("/accounts/2fa/authenticate/", {"code": "000000"})
    assert "Der Code ist falsch." in refused.content.decode()
    assert english(refused) == set()


def test_what_was_done(page, owner):
    """Messages after a form, and the log in which the act appears."""
    bea = User.objects.get(username="bea")
    for path, form in (
        ("people/main/roles/give", {"person": "eve", "role": "viewer"}),
        (f"people/main/roles/{bea.pk}/owner/end", {}),
        (f"people/site/accounts/{bea.pk}/deactivate", {}),
        (f"people/site/accounts/{bea.pk}/activate", {}),
        (f"accounts/password/link/{bea.pk}", {}),
        ("people/site/create", {"name": "X", "slug": "x"}),
        ("account/tokens/create", {"name": "x", "scope": "manage", "days": "30"}),
        (f"account/tokens/{owner.api_tokens.first().pk}/revoke", {}),
        ("accounts/email", {"email": "a@example.org", "action_primary": "1"}),
        ("accounts/email", {"email": "a@example.org", "action_remove": "1"}),
        ("accounts/sessions", {}),
    ):
        response = page.post(f"/{path}/", form, follow=True)
        assert response.status_code == 200, path
        assert english(response) == set(), path
    for log in ("/people/main/audit/", "/people/site/audit/"):
        assert english(page.get(log)) == set()


MALFORMED: tuple[tuple[str, dict[str, str]], ...] = (
    ("accounts/password/change", {"oldpassword": "x", "password1": "a", "password2": "b"}),
    ("accounts/password/change", {"oldpassword": PASSWORD, "password1": "ada", "password2": "ada"}),
    ("accounts/password/change", {"oldpassword": PASSWORD, "password1": "12345", "password2": "12345"}),
    ("accounts/reauthenticate", {"password": "x"}),
    ("accounts/email", {"email": "ada@example.org", "action_add": "1"}),
    ("accounts/email", {"email": "ada", "action_add": "1"}),
    ("accounts/2fa/totp/activate", {"code": "000000"}),
    ("people/main/roles/give", {"person": "nobody@example.org", "role": "x"}),
    ("people/main/roles/give", {}),
    ("people/main/invite/create", {"role": "", "slug": "x", "email": "x", "days": "8"}),
    ("people/main/invite/create", {"role": "annotator", "kind": "study", "days": "7"}),
    ("people/site/create", {"name": "", "slug": "ä"}),
    ("people/site/create", {"name": "Site", "slug": "site"}),
    ("account/tokens/create", {"name": "", "scope": "x", "days": "0"}),
)


@pytest.mark.parametrize(("path", "form"), MALFORMED)
def test_refusals(page, path, form):
    response = page.post(f"/{path}/", form)
    assert response.status_code in {200, 409, 422}
    assert re.search(r'class="error|role="alert"', response.content.decode())
    assert english(response) == set()


def test_refusals_of_visitors(owner):
    guest = browser()
    assert english(log_in(guest, password="wrong")) == set()
    make_invitation(owner, token_hash=hash_of(TOKEN))
    wrong = {"username": "bea", "email": "x", "password1": "1", "password2": "2"}
    for form in ({}, wrong, {**wrong, "username": "b ea", "password2": "1"}):
        assert english(guest.post("/accounts/signup/", {**form, "next": LINK})) == set()
    link = create_reset_link(user=owner, by=None).partition("/accounts/")[2]
    assert english(guest.get(f"/accounts/{link}", follow=True)) == set()


def test_people_without_the_right(owner):
    client = browser()
    client.force_login(give(make_user("vic"), Role.VIEWER))
    for path in ("people/main", "people/site/accounts", "staff/correctness", "people/none"):
        response = client.get(f"/{path}/")
        assert response.status_code in {403, 404}, path
        assert english(response) == set(), path


@pytest.mark.usefixtures("_with_mail")
def test_mails(page, owner):
    mail.outbox.clear()
    answers = [
        page.post("/accounts/email/", {"email": "b@example.org", "action_add": "1"}, follow=True),
        browser().post("/accounts/password/reset/", {"email": "ada@example.org"}, follow=True),
        page.post("/people/main/invite/create/", {"role": "viewer", "email": "x@example.org", "days": "7"}),
    ]
    guest = browser()
    make_invitation(owner, token_hash=hash_of(TOKEN))
    form = {
        "username": "zoe",
        "password1": PASSWORD,
        "password2": PASSWORD,
        "next": LINK,
    }
    for email in ("a@example.org", "new@example.org"):
        answers.append(guest.post("/accounts/signup/", {**form, "email": email}, follow=True))
    assert [english(answer) for answer in answers] == [set()] * 5
    assert len(mail.outbox) == 4
    for message in mail.outbox:
        assert words(f"{message.subject} {message.body}") & ENGLISH == set(), message.subject
