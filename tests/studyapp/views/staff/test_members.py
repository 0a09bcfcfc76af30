"""Tests of sharing a study: the page of members and the action.

They cover the interface for invitations, too.
"""

import pytest
from django.test import Client

from accounts.models import AuditEntry, Role
from studyapp import sharing
from studyapp.actions.shares import end_share, leave_study, share_study
from studyapp.models import StudyShare
from tests import workspaces
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.make_study(items=1)


@pytest.fixture
def owner(client):
    user = factories.make_user()
    client.force_login(user)
    return user


def browser(user):
    client = Client()
    client.force_login(user)
    return client


def test_it_works(client, owner, study):
    colleague = factories.make_user(None)
    address = f"/staff/studies/{study.slug}/"
    assert browser(colleague).get(address).status_code == 404
    page = client.get(f"{address}members/").content.decode()
    assert owner.username in page
    assert "not shared with anyone yet" in page
    sent = {"user": colleague.username, "role": "analyst"}
    page = client.post(f"{address}members/share/", sent, follow=True).content.decode()
    assert f"Study shared with {colleague.username} in the role Analyst." in page
    assert browser(colleague).get(f"{address}running/").status_code == 200
    assert browser(colleague).post(f"{address}close/").status_code == 403
    share = study.shares.get()
    assert (share.user, share.role, share.created_by) == (colleague, "analyst", owner)
    page = client.post(f"{address}members/{share.pk}/end/", follow=True).content.decode()
    assert f"Share with {colleague.username} ended." in page
    assert browser(colleague).get(address).status_code == 404
    entries = AuditEntry.objects.filter(workspace=study.workspace, actor=owner).order_by("pk")
    assert [(row.kind, row.subject, row.data) for row in entries] == [
        (kind, colleague.username, {"role": "analyst", "object": study.slug})
        for kind in ("role_given", "role_ended")
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"user": "nobody"}, "There is no active user with this name."),
        ({"user": ""}, "This field is required."),
        ({"role": "annotator"}, "Select a valid choice."),
        ({"role": ""}, "This field is required."),
    ],
)
def test_malformed(client, owner, study, changes, sentence):
    sent = {"user": factories.make_user(None).username, "role": "viewer", **changes}
    response = client.post(f"/staff/studies/{study.slug}/members/share/", sent)
    assert response.status_code == 422
    assert sentence in response.content.decode()
    assert not StudyShare.objects.exists()


def test_an_inactive_user_gets_no_share(client, owner, study):
    user = factories.make_user(None)
    user.is_active = False
    user.save()
    sent = {"user": user.username, "role": "viewer"}
    assert client.post(f"/staff/studies/{study.slug}/members/share/", sent).status_code == 422


def test_a_share_of_another_study_is_not_ended(client, owner, study):
    other = share_study(
        study=factories.make_study(), user=factories.make_user(None), role=Role.VIEWER, by=None
    )
    assert client.post(f"/staff/studies/{study.slug}/members/{other.pk}/end/").status_code == 404
    assert StudyShare.objects.get() == other


def test_the_same_share_twice_is_one(study, owner):
    user = factories.make_user(None)
    before = AuditEntry.objects.count()
    for _time in range(2):
        share_study(study=study, user=user, role=Role.VIEWER, by=owner)
    assert study.shares.count() == 1
    for _time in range(2):
        end_share(study=study, user=user, role=Role.VIEWER, by=owner)
    assert not study.shares.exists()
    assert AuditEntry.objects.count() == before + 2


def test_anyone_leaves_a_study_that_was_shared_with_them(study):
    user = factories.make_user(None)
    for role in (Role.VIEWER, Role.ANALYST):
        share_study(study=study, user=user, role=role, by=None)
    other = share_study(study=study, user=factories.make_user(None), role=Role.VIEWER, by=None)
    client = browser(user)
    address = f"/staff/studies/{study.slug}/"
    assert f'action="{address}leave/"' in client.get(f"{address}settings/").content.decode()
    page = client.post(f"{address}leave/", follow=True).content.decode()
    assert "You left the study" in page
    assert client.get(address).status_code == 404
    assert StudyShare.objects.get() == other
    assert AuditEntry.objects.filter(kind="role_ended", actor=user).count() == 2


def test_leaving_ends_no_role_in_the_workspace(client, study, owner):
    page = client.post(f"/staff/studies/{study.slug}/leave/", follow=True).content.decode()
    assert "by your role in the workspace" in page
    leave_study(study=study, user=owner)
    assert browser(owner).get(f"/staff/studies/{study.slug}/").status_code == 200


def test_a_researcher_by_share_ends_their_own_share_and_lands_on_their_studies(study):
    user = factories.make_user(None)
    share = share_study(study=study, user=user, role=Role.RESEARCHER, by=None)
    response = browser(user).post(f"/staff/studies/{study.slug}/members/{share.pk}/end/")
    assert response.url == "/staff/"


def test_the_interface_for_invitations(study):
    assert sharing.ROLES == (Role.OWNER, Role.RESEARCHER, Role.ANALYST, Role.VIEWER)
    assert sharing.OBJECTS.get() == study
    user = factories.make_user(None)
    sharing.share(object=study, user=user, role=Role.VIEWER, by=None)
    assert study.shared_roles(user) == {Role.VIEWER}
    sharing.end_share(object=study, user=user, role=Role.VIEWER, by=None)
    assert study.shared_roles(user) == frozenset()
    assert {row.kind for row in AuditEntry.objects.filter(workspace=workspaces.main())} == {
        "role_given", "role_ended",
    }  # fmt: skip
