"""The response of a key is stored unreadable: some are shown only once."""

from typing import Any

import pytest
from django.test import Client

from accounts.actions.requests import ANSWER_RETENTION
from accounts.actions.workspaces import end_role, give_role
from accounts.models import AnsweredRequest, Invitation, Role, User, Workspace
from accounts.tasks import purge_logins
from studyapp.models import EntryLink
from tests import workspaces
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> Client:
    client = Client()
    client.force_login(workspaces.give(User.objects.create_user("ada"), Role.OWNER))
    return client


def post(client: Client, address: str, body: Any, key: str) -> Any:
    return client.post(
        f"/api/v1/{address}", body, content_type="application/json", headers={"Idempotency-Key": key}
    )


def test_an_invitation_and_a_link(owner: Client) -> None:
    links = f"studies/{factories.make_study().slug}/links/"
    for address, body, model in (
        ("workspaces/main/invitations/", {"role": "viewer"}, Invitation),
        (links, {"label": "class"}, EntryLink),
    ):
        number = model.objects.count()
        first, again = post(owner, address, body, address), post(owner, address, body, address)
        assert first.status_code == 201, first.content
        assert again.json() == first.json()
        assert (again.status_code, again["Idempotency-Replayed"]) == (201, "true")
        assert model.objects.count() == number + 1
        assert post(owner, address, {**body, "days": 3}, address).status_code == 422
        token = first.json()["address"].rstrip("/").rpartition("/")[2]
        assert token not in str(list(AnsweredRequest.objects.values()))


def test_who_lost_a_role_reads_no_earlier_response(owner: Client) -> None:
    body = {"role": "viewer"}
    assert post(owner, "workspaces/main/invitations/", body, "k").status_code == 201
    user, workspace = User.objects.get(username="ada"), Workspace.objects.get()
    workspaces.give(User.objects.create_user("grace"), Role.OWNER)
    end_role(workspace=workspace, user=user, role=Role.OWNER, by=user)
    for key, status in (("k", 422), ("new", 404)):
        assert post(owner, "workspaces/main/invitations/", body, key).status_code == status
    give_role(workspace=workspace, user=user, role=Role.OWNER, by=None)
    refused = post(owner, "workspaces/main/invitations/", body, "k")
    assert "was answered before you lost a role; make a new key" in refused.json()["detail"]
    assert Invitation.objects.count() == 1  # who may do it again does not do it twice by accident


def test_responses_are_forgotten_after_a_day(owner: Client) -> None:
    post(owner, "workspaces/main/invitations/", {"role": "viewer"}, "k")
    row = AnsweredRequest.objects.get()
    purge_logins()
    assert AnsweredRequest.objects.exists()
    AnsweredRequest.objects.update(created_at=row.created_at - ANSWER_RETENTION)
    purge_logins()
    assert not AnsweredRequest.objects.exists()
