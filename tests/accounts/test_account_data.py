"""Export and deletion of an account: page, commands and REST."""

import json
from io import StringIO
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from axes.models import AccessAttempt
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.actions.deletion import delete_account
from accounts.actions.invitations import accept_invitation, create_invitation
from accounts.actions.tokens import create_token
from accounts.errors import LastOwner
from accounts.models import ApiToken, AuditEntry, Invitation, Membership, Role, Scope, User
from accounts.queries.account_data import OF_THE_PERSON, collect_account_data, find_keys_to_accounts
from annotation.models import Annotation
from studyapp.models import Study
from tests import workspaces
from tests.annotation import factories as annotation
from tests.studyapp import factories as studies

pytestmark = pytest.mark.django_db
PASSWORD = "quiet orchard 77"


@pytest.fixture
def ada() -> User:
    user = User.objects.create_user("ada", "ada@example.org", PASSWORD, first_name="Ada")
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    create_token(name="script", scope=Scope.MANAGE, days=9, by=user)
    return workspaces.give(user, Role.RESEARCHER)


@pytest.fixture
def page(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


class TestExport:
    def test_it_works(self, page: Client, ada: User) -> None:
        assert "Download your data" in text(page.get("/account/data/"))
        response = page.post("/account/data/download/")
        assert "touchstone-account.json" in response["Content-Disposition"]
        data = response.json()
        assert data["accounts.User"][0]["email"] == "ada@example.org"
        assert [row["role"] for row in data["accounts.Membership"] if row["user"] == ada.pk] == ["researcher"]
        assert AuditEntry.objects.get(kind="account_exported").actor == ada

    def test_no_secret_is_in_it(self, ada: User, page: Client) -> None:
        shown = json.dumps(collect_account_data(ada), default=str)
        token = ApiToken.objects.get(user=ada)
        for secret in (ada.password, token.token_hash, str(page.session.session_key)):
            assert secret not in shown

    def test_what_is_about_something_else_is_named_alone(self, ada: User) -> None:
        study = studies.make_study()
        Study.objects.filter(pk=study.pk).update(created_by=ada)
        (row,) = collect_account_data(ada)["studyapp.Study"]
        assert (row["as"], row["name"]) == ("created_by", str(study))
        assert study.pseudonym_key not in json.dumps(collect_account_data(ada), default=str)

    def test_the_tables_of_the_person_exist(self) -> None:
        assert {model._meta.label for model, _field in find_keys_to_accounts()} >= OF_THE_PERSON

    def test_commands(self, ada: User) -> None:
        out = StringIO()
        call_command("export_account", "ada", stdout=out)
        assert json.loads(out.getvalue())["accounts.User"][0]["username"] == "ada"
        with pytest.raises(CommandError, match="may not administer"):
            call_command("export_account", "ada", actor=studies.make_user(Role.VIEWER).username)


class TestDeletion:
    def test_it_works(self, page: Client, ada: User) -> None:
        response = page.post("/account/data/delete/", {"password": PASSWORD}, follow=True)
        assert "Your account is deleted." in text(response)
        ada.refresh_from_db()
        name = f"former member {ada.pk}"
        assert (ada.username, ada.email, ada.first_name, ada.is_active) == (name, "", "", False)
        assert not ada.has_usable_password()
        for table in (ApiToken, EmailAddress, Membership):
            assert not table.objects.filter(user=ada).exists()
        assert page.get("/account/data/").status_code == 302
        entry = AuditEntry.objects.get(kind="account_deleted")
        assert (entry.actor, entry.subject) == (ada, name)
        assert not AuditEntry.objects.filter(subject="ada").exists()
        Client().post("/accounts/login/", {"login": "ada", "password": PASSWORD})
        assert not AuditEntry.objects.filter(kind="login", subject="ada").exists()

    def test_the_name_and_the_addresses_are_nowhere(self, ada: User) -> None:
        owner = studies.make_user(Role.OWNER)
        bob = User.objects.create_user("bob", "bob@example.org", PASSWORD)
        main = workspaces.main()
        EmailAddress.objects.create(user=ada, email="old@example.org")
        for address in ("Ada@example.org", bob.email, "work@x.org"):
            created = create_invitation(workspace=main, role=Role.VIEWER, days=7, by=owner, email=address)
            accept_invitation(invitation=created.invitation, by=ada)
        opened = create_invitation(
            workspace=main, role=Role.VIEWER, days=7, by=owner, email="old@example.org"
        )
        other = create_invitation(workspace=main, role=Role.VIEWER, days=7, by=owner, email=bob.email)
        AuditEntry.objects.create(kind="export_downloaded", workspace=main, subject="ada")  # a study
        for typed in ("ada", "ADA", "ada@example.org", "Old@example.org", "bob"):
            AccessAttempt.objects.create(username=typed, get_data="", post_data="", failures_since_start=1)

        delete_account(user=ada, by=ada)

        identifiers = {"ada", "ada@example.org", "old@example.org", "work@x.org"}
        entries = AuditEntry.objects.exclude(kind="export_downloaded")
        assert not identifiers & {subject.lower() for subject in entries.values_list("subject", flat=True)}
        assert entries.filter(kind="invitation_created", subject=bob.email).count() == 2
        assert AuditEntry.objects.get(kind="export_downloaded").subject == "ada"
        emails = Invitation.objects.exclude(email="").values_list("pk", "email")
        assert list(emails) == [(other.invitation.pk, bob.email)]
        assert Invitation.objects.get(pk=opened.invitation.pk).revoked_at is None
        assert [attempt.username for attempt in AccessAttempt.objects.all()] == ["bob"]

    def test_an_account_without_an_address_keeps_the_entries_of_others(self) -> None:
        user = User.objects.create_user("kai", password=PASSWORD)
        AuditEntry.objects.create(kind="invitation_created", subject="")
        delete_account(user=user, by=None)
        assert AuditEntry.objects.get(kind="invitation_created").subject == ""

    def test_the_password_is_asked_again(self, page: Client, ada: User) -> None:
        response = page.post("/account/data/delete/", {"password": "wrong"})
        assert response.status_code == 422
        assert "This is not your password." in text(response)
        ada.refresh_from_db()
        assert ada.is_active

    def test_an_account_without_a_password_types_its_name(self, page: Client, ada: User) -> None:
        ada.set_unusable_password()
        ada.save()
        page.force_login(ada)
        assert page.post("/account/data/delete/", {"password": "eve"}).status_code == 422
        assert page.post("/account/data/delete/", {"password": "ada"}).status_code == 302

    def test_the_work_stays(self) -> None:
        annotation_of_member = annotation.finished(annotation.make_annotation())
        delete_account(user=annotation_of_member.annotator, by=None)
        stored = Annotation.objects.get(pk=annotation_of_member.pk)
        assert stored.annotator.username == f"former member {annotation_of_member.annotator_id}"

    def test_the_last_owner_hands_over_first(self, page: Client, ada: User) -> None:
        Membership.objects.filter(role=Role.OWNER).delete()
        workspaces.give(ada, Role.OWNER)
        response = page.post("/account/data/delete/", {"password": PASSWORD})
        assert response.status_code == 409
        assert "last owner" in text(response)
        assert Membership.objects.filter(user=ada, role=Role.RESEARCHER).exists()

    def test_the_last_administrator_stays(self, ada: User) -> None:
        User.objects.filter(pk=ada.pk).update(is_superuser=True)
        ada.refresh_from_db()
        with pytest.raises(LastOwner):
            delete_account(user=ada, by=ada)

    def test_command(self, ada: User) -> None:
        with pytest.raises(CommandError, match="--yes"):
            call_command("delete_account", "ada")
        call_command("delete_account", "ada", yes=True, stdout=StringIO())
        assert not User.objects.filter(username="ada").exists()
        assert AuditEntry.objects.get(kind="account_deleted").actor is None


class TestRest:
    def test_it_works(self, page: Client, ada: User) -> None:
        data = page.get("/api/v1/account/").json()
        assert data["tables"]["accounts.User"][0]["username"] == "ada"
        sent = {"data": {"password": "wrong"}, "content_type": "application/json"}
        assert page.post("/api/v1/account/delete/", **sent).status_code == 422
        sent["data"] = {"password": PASSWORD}
        assert page.post("/api/v1/account/delete/", **sent).status_code == 204
        assert page.get("/api/v1/account/").status_code == 401

    def test_a_token_that_reads_deletes_nothing(self, ada: User) -> None:
        key = create_token(name="reader", scope=Scope.READ, days=9, by=ada).key
        client = Client(headers={"Authorization": f"Bearer {key}"})
        assert client.get("/api/v1/account/").status_code == 200
        sent = {"data": {"password": PASSWORD}, "content_type": "application/json"}
        assert client.post("/api/v1/account/delete/", **sent).status_code == 403
