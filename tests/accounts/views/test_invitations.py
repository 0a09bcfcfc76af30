"""The link of an invitation gives one role, to the first who accepts it."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from smtplib import SMTPException
from threading import Barrier

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.actions.invitations import accept_invitation, create_invitation, revoke_invitation
from accounts.actions.workspaces import end_role
from accounts.errors import InvitationEnded
from accounts.models import AuditEntry, Invitation, Membership, Role, User, Workspace
from accounts.queries.workspaces import find_workspace_roles
from accounts.random_secrets import hash_of
from tests.studyapp import factories
from tests.workspaces import give, main

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _sharing(settings):
    settings.SHAREABLE = {"study": "tests.accounts.study_sharing"}


def person(name, *roles, **fields):
    return give(User.objects.create(username=name, password="!", **fields), *roles)


@pytest.fixture
def owner():
    return person("ada", Role.OWNER, first_name="Ada", last_name="Lovelace")


@pytest.fixture
def page(client, owner):
    client.force_login(owner)
    return client


def text(response):
    return " ".join(response.content.decode().split())


def form(**fields):
    return {"role": "analyst", "kind": "", "slug": "", "email": "", "days": "14", **fields}


def invite(page, **fields):
    """Create an invitation on its page; return the path of the link."""
    response = page.post("/people/main/invite/create/", form(**fields))
    assert response.status_code == 200, text(response)
    [link] = re.findall(r'value="http://[^/]+(/invitations/[\w-]{32}/)"', response.content.decode())
    return link


def visitor(user):
    client = Client()
    client.force_login(user)
    return client


def create(owner, **fields):
    return create_invitation(**{"workspace": main(), "role": Role.VIEWER, "days": 7, "by": owner, **fields})


def link_of(created):
    return f"/invitations/{created.token}/"


def test_it_works(page, owner):
    bob = person("bob")
    assert "The whole workspace" in text(page.get("/people/main/invite/"))
    link = invite(page)
    assert "Analyst" in text(page.get("/people/main/"))
    guest = visitor(bob)
    shown = guest.get(link)
    for part in ("Main", "Analyst", "Ada Lovelace", "You are logged in as bob.", "Accept invitation"):
        assert part in text(shown)
    assert "no-store" in shown["Cache-Control"]
    assert not find_workspace_roles(bob, main().pk)
    response = guest.post(link, follow=True)
    assert "You have the role Analyst in Main now." in text(response)
    assert find_workspace_roles(bob, main().pk) == {Role.ANALYST}
    assert "No invitations are pending" in text(page.get("/people/main/"))
    invitation = Invitation.objects.get()
    assert invitation.accepted_by == bob
    assert timedelta(days=13) < invitation.expires_at - timezone.now() < timedelta(days=14)
    entries = AuditEntry.objects.values_list("kind", "actor__username", "subject", "data")
    assert list(entries) == [
        ("invitation_created", "ada", "", {"role": "analyst"}),
        ("invitation_accepted", "bob", "bob", {"role": "analyst"}),
        ("role_given", "ada", "bob", {"role": "analyst"}),
    ]


def test_the_person_who_accepted_is_taken_in_again(page):
    """A form that is sent twice, or the link in an old mail."""
    link, guest = invite(page), visitor(person("bob"))
    guest.post(link)
    for again in (guest.post(link), guest.get(link)):
        assert (again.status_code, again.headers["Location"]) == (302, "/start/")
    assert Invitation.objects.count() == AuditEntry.objects.filter(kind="invitation_accepted").count() == 1


def test_the_link_is_shown_once_and_not_stored(page):
    token = invite(page).split("/")[2]
    assert token not in text(page.get("/people/main/"))
    assert token not in str(list(Invitation.objects.values()))
    assert Invitation.objects.get().token_hash == hash_of(token)


def test_an_invitation_to_a_study_gives_a_role_there_alone(page):
    study = factories.make_study(conditions=1, items=1)
    bob = person("bob")
    link = invite(page, kind="study", slug=study.slug, role="viewer")
    assert f"Study “{study.title}”" in text(page.get("/people/main/"))
    guest = visitor(bob)
    assert f"Invitation: Study “{study.title}”" in text(guest.get(link))
    assert guest.post(link).status_code == 302
    assert study.shared_roles(bob) == {Role.VIEWER}
    assert not find_workspace_roles(bob, main().pk)


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"role": "admin"}, "not one of the available choices"),
        ({"role": ""}, "required"),
        ({"days": "9999"}, "not one of the available choices"),
        ({"email": "nobody"}, "valid email"),
        ({"kind": "dataset", "slug": "d"}, "not one of the available choices"),
        ({"kind": "study", "slug": "missing"}, "nothing of this kind"),
        ({"kind": "study", "slug": ""}, "nothing of this kind"),
        ({"slug": "dogs"}, "Choose what the short name belongs to"),
    ],
)
def test_a_malformed_form_invites_nobody(page, wrong, sentence):
    response = page.post("/people/main/invite/create/", form(**wrong))
    assert response.status_code == 422
    assert sentence in text(response)
    assert not Invitation.objects.exists()


def test_a_study_of_another_workspace_and_a_role_of_annotation_are_not_shared(page):
    study = factories.make_study(conditions=1, items=1)
    response = page.post("/people/main/invite/create/", form(kind="study", slug=study.slug, role="annotator"))
    assert "choose one of these roles: Owner, Researcher, Analyst, Viewer" in text(response)
    type(study).objects.update(workspace=Workspace.objects.create(slug="other", name="Other"))
    response = page.post("/people/main/invite/create/", form(kind="study", slug=study.slug))
    assert "nothing of this kind" in text(response)
    assert not Invitation.objects.exists()


def test_a_study_that_moved_away_meanwhile_is_not_opened(owner):
    study = factories.make_study(conditions=1, items=1)
    created = create(owner, kind="study", shared=study)
    type(study).objects.update(workspace=Workspace.objects.create(slug="other", name="Other"))
    response = visitor(person("bob")).post(link_of(created))
    assert response.status_code == 410
    assert "no longer exists" in text(response)
    assert Invitation.objects.get().accepted_at is None


def test_a_visitor_is_offered_a_login(client, owner):
    created = create(owner)
    link = link_of(created)
    shown = text(client.get(link))
    assert f'href="/accounts/login/?next={link}"' in shown
    assert "Accept invitation" not in shown
    assert f'href="/accounts/signup/?next={link}"' in shown
    client.post(link)
    assert Invitation.objects.get().accepted_at is None
    assert "sessionid" not in client.cookies
    client.force_login(person("bob"))
    client.post(link)
    assert Invitation.objects.get().accepted_at is not None


def used(invitation):
    accept_invitation(invitation=invitation, by=person("first"))


def revoked(invitation):
    assert revoke_invitation(invitation=invitation, by=invitation.created_by)


def expired(invitation):
    Invitation.objects.update(expires_at=timezone.now())


def of_a_former_owner(invitation):
    person("next", Role.OWNER)
    end_role(workspace=main(), user=invitation.created_by, role=Role.OWNER, by=None)


def of_a_deactivated_owner(invitation):
    User.objects.filter(pk=invitation.created_by_id).update(is_active=False)


@pytest.mark.parametrize(
    "end, sentence",
    [
        (used, "has been used"),
        (revoked, "was revoked"),
        (expired, "has expired"),
        (of_a_former_owner, "ada may no longer invite people"),
        (of_a_deactivated_owner, "ada may no longer invite people"),
    ],
)
def test_an_ended_invitation_gives_nothing(client, owner, end, sentence):
    created = create(owner)
    bob = visitor(person("bob"))
    end(created.invitation)
    before = Membership.objects.count()
    for response in (client.get(link_of(created)), bob.get(link_of(created)), bob.post(link_of(created))):
        assert response.status_code == 410
        assert sentence in text(response)
        assert re.search("[Aa]sk (an owner )?(the person who sent it )?for another", text(response))
    assert Membership.objects.count() == before


def test_an_unknown_link_is_not_found(client):
    for link in ("/invitations/wrong/", f"/invitations/{'a' * 32}/"):
        response = client.get(link)
        assert response.status_code == 404
        assert "no such invitation" in text(response)


def test_an_owner_revokes_an_invitation_of_the_workspace(page, owner):
    mine = create(owner).invitation
    other = Workspace.objects.create(slug="other", name="Other")
    foreign = create(owner, workspace=other).invitation
    assert page.post(f"/people/main/invitations/{foreign.pk}/revoke/").status_code == 404
    assert page.post(f"/people/main/invitations/{mine.pk}/revoke/").url == "/people/main/"
    assert page.post(f"/people/main/invitations/{mine.pk}/revoke/").status_code == 404
    assert [row.revoked_at is None for row in Invitation.objects.order_by("pk")] == [False, True]
    assert AuditEntry.objects.filter(kind="invitation_revoked").count() == 1
    assert not revoke_invitation(invitation=mine, by=owner)


def test_a_name_of_two_lines_adds_no_head_to_the_mail(page):
    Workspace.objects.filter(slug="main").update(name="Main\nBcc: eve@example.org")
    invite(page, email="bob@example.org")
    [sent] = mail.outbox
    assert sent.message()["Bcc"] is None
    assert sent.message()["Subject"] == "Touchstone: invitation to Main Bcc: eve@example.org"


def test_the_link_is_sent_if_there_is_an_address_and_a_mail_server(page, settings):
    link = invite(page, email="bob@example.org")
    [sent] = mail.outbox
    assert sent.to == ["bob@example.org"]
    assert "Main" in sent.subject
    assert f"{settings.SITE_URL}{link}" in sent.body
    assert "Ada Lovelace" in sent.body
    invite(page)
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    response = page.post("/people/main/invite/create/", form(email="bob@example.org"))
    assert "This site has no mail server" in text(response)
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("error", [SMTPException("refused"), ConnectionRefusedError()])
def test_a_mail_that_fails_leaves_the_link_on_the_page(page, monkeypatch, error):
    def fail(*args):
        raise error

    monkeypatch.setattr("accounts.people.mail.send_mail", fail)
    response = page.post("/people/main/invite/create/", form(email="bob@example.org"))
    assert "could not be sent" in text(response)
    assert "/invitations/" in text(response)
    assert Invitation.objects.get().email == "bob@example.org"


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_of_two_people_who_accept_at_the_same_moment_one_gets_the_role(owner):
    people = [person("bob"), person("eve")]
    for _time in range(5):
        Membership.objects.exclude(user=owner).delete()
        invitation = create(owner).invitation
        start = Barrier(2)

        def accept(user, invitation=invitation, start=start):
            start.wait()
            try:
                accept_invitation(invitation=invitation, by=user)
            except InvitationEnded:
                return False
            finally:
                connection.close()
            return True

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(accept, people)) == [False, True]
        assert Membership.objects.exclude(user=owner).count() == 1
