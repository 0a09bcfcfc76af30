"""A project is shared in one role at a time, and the audit log has it.

Nothing of a person's work is lost.
"""

import pytest

from accounts.actions.workspaces import give_role, leave_workspace
from accounts.models import AuditEntry, Role, Workspace
from annotation import sharing
from annotation.actions.projects import create_project
from annotation.models import Annotation, Membership
from annotation.policies import NotAllowed
from tests.annotation.factories import make_annotation, make_member, make_project, make_user
from tests.workspaces import main

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def logged() -> list[tuple[str, str, object]]:
    rows = AuditEntry.objects.filter(kind__startswith="role_")
    return [(row.kind, row.subject, row.data["role"]) for row in rows]


def test_it_works() -> None:
    project, user, by = make_project(), make_user(), make_user()
    sharing.share(object=project, user=user, role=Role.ANNOTATOR, by=by)
    assert project.shared_roles(user) == {Role.ANNOTATOR}
    entry = AuditEntry.objects.get(kind="role_given")
    assert (entry.actor, entry.workspace, entry.subject) == (by, main(), user.username)
    assert entry.data == {"role": "annotator", "object": project.slug}
    sharing.end_share(object=project, user=user, role=Role.ANNOTATOR, by=by)
    assert project.shared_roles(user) == frozenset()
    assert [kind for kind, _who, _role in logged()] == ["role_given", "role_ended"]


def test_a_role_that_allows_more_replaces_the_other_and_one_that_allows_less_changes_nothing() -> None:
    project, user = make_project(), make_user()
    for role in (Role.ANNOTATOR, Role.MANAGER, Role.ADJUDICATOR, Role.MANAGER):
        sharing.share(object=project, user=user, role=role, by=None)
    assert project.shared_roles(user) == {Role.MANAGER}
    name = user.username
    assert logged() == [
        ("role_given", name, "annotator"),
        ("role_ended", name, "annotator"),
        ("role_given", name, "manager"),
    ]


def test_a_role_that_somebody_does_not_have_cannot_end() -> None:
    member = make_member()
    sharing.end_share(object=member.project, user=member.user, role=Role.MANAGER, by=None)
    sharing.end_share(object=member.project, user=make_user(), role=Role.ANNOTATOR, by=None)
    assert Membership.objects.get() == member
    assert logged() == [("role_given", member.user.username, "annotator")]


def test_a_share_that_ends_keeps_the_work() -> None:
    annotation = make_annotation()
    sharing.end_share(object=annotation.project, user=annotation.annotator, role=Role.ANNOTATOR, by=None)
    assert Annotation.objects.get() == annotation
    assert Membership.objects.get().handed_out == 1


def test_nobody_ends_their_own_role() -> None:
    user = make_user()
    project = create_project(slug="dogs", title="Dogs", kind="boxes", workspace=main(), by=user)
    assert logged() == [("role_given", user.username, "manager")]
    with pytest.raises(NotAllowed, match="your own role"):
        sharing.end_share(object=project, user=user, role=Role.MANAGER, by=user)
    assert project.shared_roles(user) == {Role.MANAGER}


def test_the_shares_of_a_workspace_and_of_people_are_listed() -> None:
    here, there = (
        make_member(),
        make_member(make_project(workspace=Workspace.objects.create(slug="b", name="B"))),
    )
    ended = make_member(here.project)
    sharing.end_share(object=here.project, user=ended.user, role=Role.ANNOTATOR, by=None)
    share = (here.project, here.user, Role.ANNOTATOR)
    assert set(sharing.list_shares()) == {share, (there.project, there.user, Role.ANNOTATOR)}
    assert list(sharing.list_shares(workspace=main())) == [share]
    assert list(sharing.list_shares(users=[here.user, ended.user])) == [share]


def test_annotators_who_leave_the_workspace_leave_its_projects() -> None:
    """Leaving was refused with "You cannot change your own role"."""
    member = make_member()
    give_role(workspace=main(), user=member.user, role=Role.VIEWER, by=None)
    leave_workspace(workspace=main(), by=member.user)
    assert member.project.shared_roles(member.user) == frozenset()
