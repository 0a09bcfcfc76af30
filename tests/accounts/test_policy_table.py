"""The policy table agrees with a second one, written from the design.

``A`` means always, ``s`` by share, ``.`` never.
"""

import pytest
from django.db import IntegrityError, transaction

from accounts.models import Membership, Role, User
from accounts.policy_table import TABLE, Act, Roles, find_granting_roles, is_allowed
from accounts.rights.roles import can, find_roles
from tests import workspaces
from tests.studyapp import factories

ROLES = ("owner", "researcher", "analyst", "viewer", "manager", "adjudicator", "annotator")
#                     o r a v m j a
EXPECTED = """
workspace_see         A A A A A A A
workspace_manage      A . . . . . .
data_see              A A A . . . .
data_manage           A A . . . . .
study_see             A A A A . . .
study_edit            A A . . . . .
study_results         A A A . . . .
study_personal        A A . . . . .
judge                 A A s . . . .
project_see           A s . . A A A
annotation_manage     A s . . A . .
annotation_settle     A . . . A A .
annotate              . . . . A A A
"""
ROWS = {name: grants for name, *grants in (line.split() for line in EXPECTED.strip().splitlines())}
CELLS = [
    (act, role, grant) for act, grants in ROWS.items() for role, grant in zip(ROLES, grants, strict=True)
]


def test_the_table_has_every_act_and_every_role():
    assert list(ROWS) == [act.value for act in Act]
    assert list(ROLES) == [role.value for role in Role]
    assert set(TABLE) == set(Act)


@pytest.mark.parametrize("act, role, grant", CELLS)
def test_a_role_allows_what_the_table_says(act, role, grant):
    act, role = Act(act), Role(role)
    assert is_allowed(Roles(workspace=frozenset({role})), act) == (grant == "A")
    assert is_allowed(Roles(shared=frozenset({role})), act) == (grant in "As")
    assert (role in find_granting_roles(act)) == (grant == "A")
    assert (role in find_granting_roles(act, shared=True)) == (grant in "As")


@pytest.mark.parametrize("act", Act)
def test_no_role_allows_nothing(act):
    assert not is_allowed(Roles(), act)
    assert not Roles()


def test_the_rights_are_those_of_all_roles_together():
    both = Roles(workspace=frozenset({Role.VIEWER}), shared=frozenset({Role.ANNOTATOR}))
    allowed = {act for act in Act if is_allowed(both, act)}
    assert allowed == {Act.WORKSPACE_SEE, Act.STUDY_SEE, Act.PROJECT_SEE, Act.ANNOTATE}
    assert list(both) == [Role.VIEWER, Role.ANNOTATOR]
    several = Roles(workspace=frozenset({Role.ANALYST, Role.ADJUDICATOR}))
    assert is_allowed(several, Act.STUDY_RESULTS)
    assert is_allowed(several, Act.ANNOTATION_SETTLE)


def test_a_role_by_share_reaches_further_than_the_same_in_the_workspace():
    assert not is_allowed(Roles(workspace=frozenset({Role.ANALYST})), Act.JUDGE)
    assert is_allowed(Roles(workspace=frozenset({Role.VIEWER}), shared=frozenset({Role.ANALYST})), Act.JUDGE)


def person(name, **fields):
    return User.objects.create(username=name, password="!", **fields)


@pytest.mark.django_db
def test_roles_of_one_workspace_end_at_its_border():
    study = factories.make_study(conditions=1, items=1)
    other = workspaces.Workspace.objects.create(slug="other", name="Other")
    inside = workspaces.give(person("in"), Role.RESEARCHER)
    outside = workspaces.give(person("out"), Role.OWNER, workspace=other)
    assert can(inside, Act.STUDY_EDIT, study)
    assert not find_roles(outside, study)
    shared = workspaces.give(person("both"), Role.ANNOTATOR)
    study.shares.create(user=shared, role=Role.ANALYST)
    assert find_roles(shared, study) == Roles(frozenset({Role.ANNOTATOR}), frozenset({Role.ANALYST}))
    assert can(shared, Act.JUDGE, study)
    assert not can(shared, Act.JUDGE, study.workspace)


@pytest.mark.django_db
def test_staff_and_superusers_have_no_roles_of_their_own():
    study = factories.make_study(conditions=1, items=1)
    admin = person("root", is_staff=True, is_superuser=True)
    assert not find_roles(admin, study)
    assert not any(can(admin, act, study) for act in Act)


@pytest.mark.django_db
@pytest.mark.database
def test_the_database_refuses_an_unknown_role():
    for role in ("admin", "", "Owner"):
        with pytest.raises(IntegrityError, match="workspace_role_exists"), transaction.atomic():
            Membership.objects.create(workspace=workspaces.main(), user=person(f"p{role}"), role=role)
