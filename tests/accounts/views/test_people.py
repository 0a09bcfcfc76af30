"""Pages of workspaces: who sees them, and how roles are given and ended."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connection

from accounts.actions.users import activate, deactivate
from accounts.actions.workspaces import create_workspace, end_role, give_role, leave_workspace
from accounts.errors import LastOwner
from accounts.models import AuditEntry, Membership, Role, User, Workspace
from accounts.queries.workspaces import find_workspace_roles
from foundation.errors import Conflict
from tests.studyapp import factories
from tests.workspaces import give, main

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _sharing(settings):
    settings.SHAREABLE = {"study": "tests.accounts.study_sharing"}


def person(name, *roles, workspace=None, **fields):
    return give(User.objects.create(username=name, password="!", **fields), *roles, workspace=workspace)


@pytest.fixture
def owner():
    return person("ada", Role.OWNER)


@pytest.fixture
def page(client, owner):
    client.force_login(owner)
    return client


def text(response):
    return " ".join(response.content.decode().split())


def kinds():
    return list(AuditEntry.objects.values_list("kind", "actor__username", "subject", "data__role"))


def test_it_works(page, owner):
    person("bob", email="bob@example.org")
    form = {"person": "BOB@example.org", "role": "analyst"}
    assert page.post("/people/main/roles/give/", form).url == "/people/main/"
    shown = text(page.get("/people/main/"))
    assert "bob has the role Analyst now." in shown
    bob = User.objects.get(username="bob")
    end = f"/people/main/roles/{bob.pk}/analyst/end/"
    assert f'href="{end}"' in shown
    confirmation = page.get(end)
    assert "End the role Analyst of bob" in text(confirmation)
    assert find_workspace_roles(bob, main().pk) == {Role.ANALYST}
    assert page.post(end).url == "/people/main/"
    assert not find_workspace_roles(bob, main().pk)
    assert kinds() == [("role_given", "ada", "bob", "analyst"), ("role_ended", "ada", "bob", "analyst")]


def test_people_are_listed_with_their_roles_and_shares(page, django_assert_max_num_queries):
    study = factories.make_study(conditions=1, items=1)
    bob = person("bob", Role.VIEWER, Role.ANNOTATOR)
    for user in (bob, person("guest")):
        study.shares.create(user=user, role=Role.ANALYST)
    with django_assert_max_num_queries(14):
        shown = text(page.get("/people/main/"))
    assert "Viewer" in shown
    assert "Annotator" in shown
    assert shown.count(f"Study {study.slug}") == 2
    end = f"/people/main/shares/study/{study.pk}/{bob.pk}/analyst/end/"
    assert f'href="{end}"' in shown
    assert f"End the role Analyst of bob in {study.slug}" in text(page.get(end))
    assert page.post(end).status_code == 302
    assert not study.shares.filter(user=bob).exists()
    assert page.post(end).status_code == 404


def test_the_list_has_the_workspaces_of_the_person(client):
    other = Workspace.objects.create(slug="other", name="Other lab")
    client.force_login(person("ada", Role.ANALYST))
    shown = text(client.get("/people/"))
    assert "Main" in shown
    assert "Analyst" in shown
    assert "Other lab" not in shown
    assert 'href="/people/main/"' not in shown  # for owners
    assert "Create a workspace" not in shown
    client.force_login(person("root", is_superuser=True))
    shown = text(client.get("/people/"))
    assert f'href="/people/{other.slug}/"' in shown
    assert "Create a workspace" in shown


def addresses(user):
    return [
        ("get", "/people/main/"),
        ("get", "/people/main/audit/"),
        ("get", "/people/main/audit.csv"),
        ("post", "/people/main/roles/give/"),
        ("get", f"/people/main/roles/{user.pk}/owner/end/"),
        ("post", f"/people/main/roles/{user.pk}/owner/end/"),
        ("post", f"/people/main/shares/study/1/{user.pk}/viewer/end/"),
        ("get", "/people/main/invite/"),
        ("post", "/people/main/invite/create/"),
        ("post", "/people/main/invitations/1/revoke/"),
    ]


@pytest.mark.parametrize("role", [role for role in Role if role != Role.OWNER])
def test_other_roles_get_403_with_a_sentence(client, owner, role):
    client.force_login(person("bob", role))
    for method, address in addresses(owner):
        response = getattr(client, method)(address)
        assert response.status_code == 403, address
        assert f"With the role {role.label} you may not manage the people" in text(response)
    assert kinds() == []


def main_part(response):
    """The page without its frame, whose forms have a new token each time."""
    return text(response).partition("<main")[2]


def test_strangers_get_404_and_visitors_the_login_page(client, owner):
    for method, address in [*addresses(owner), ("get", "/people/main/leave/")]:
        assert getattr(client, method)(address).url.startswith("/accounts/login/"), address
    other = Workspace.objects.create(slug="other", name="Other")
    client.force_login(person("bob", Role.OWNER, workspace=other, is_staff=True))
    for method, address in [*addresses(owner), ("get", "/people/main/leave/")]:
        missing = getattr(client, method)(address.replace("main", "missing"))
        foreign = getattr(client, method)(address)
        assert foreign.status_code == missing.status_code == 404, address
        assert main_part(foreign) == main_part(missing)
    assert kinds() == []


def test_superusers_manage_the_people_of_every_workspace_but_read_no_audit_log(client, owner):
    client.force_login(person("root", is_superuser=True))
    shown = text(client.get("/people/main/"))
    assert "/people/main/audit/" not in shown
    assert client.get("/people/main/audit/").status_code == 404
    assert client.post("/people/main/roles/give/", {"person": "ada", "role": "viewer"}).status_code == 302
    assert find_workspace_roles(owner, main().pk) == {Role.OWNER, Role.VIEWER}


@pytest.mark.parametrize(
    "form, sentence",
    [
        ({"person": "nobody", "role": "viewer"}, "no account nobody"),
        ({"person": "gone", "role": "viewer"}, "no account gone"),
        ({"person": "two@example.org", "role": "viewer"}, "Several accounts"),
        ({"person": "", "role": "viewer"}, "required"),
        ({"person": "ada", "role": "admin"}, "not one of the available choices"),
        ({}, "required"),
    ],
)
def test_a_malformed_role_changes_nothing(page, form, sentence):
    person("gone", is_active=False)
    for name in ("two", "too"):
        person(name, email="two@example.org")
    before = Membership.objects.count()
    response = page.post("/people/main/roles/give/", form)
    assert response.status_code == 422
    assert sentence in text(response)
    assert 'role="alert"' in text(response)
    assert Membership.objects.count() == before


def test_a_role_is_given_once(owner):
    for _time in range(2):
        give_role(workspace=main(), user=owner, role=Role.VIEWER, by=owner)
    assert kinds() == [("role_given", "ada", "ada", "viewer")]
    with pytest.raises(Conflict, match="deactivated"):
        give_role(workspace=main(), user=person("gone", is_active=False), role=Role.VIEWER, by=owner)


def test_a_role_that_nobody_has_cannot_be_ended(page, owner):
    assert page.post(f"/people/main/roles/{owner.pk}/viewer/end/").status_code == 404
    assert page.post(f"/people/main/roles/{owner.pk}/king/end/").status_code == 404
    assert page.post("/people/main/roles/999999/viewer/end/").status_code == 404
    end_role(workspace=main(), user=owner, role=Role.VIEWER, by=owner)
    end_role(workspace=main(), user=person("bob"), role=Role.OWNER, by=owner)
    assert kinds() == []


def test_the_last_owner_stays(page, owner):
    person("gone", Role.OWNER, is_active=False)
    for address in (f"/people/main/roles/{owner.pk}/owner/end/", "/people/main/leave/"):
        response = page.post(address)
        assert response.status_code == 409
        assert "ada is the last owner of Main. Make another person an owner first." in text(response)
    assert find_workspace_roles(owner, main().pk) == {Role.OWNER}


def test_leaving_ends_every_role_and_share(client, owner):
    study = factories.make_study(conditions=1, items=1)
    bob = person("bob", Role.VIEWER, Role.ANALYST)
    study.shares.create(user=bob, role=Role.RESEARCHER)
    client.force_login(bob)
    assert "Leave the workspace Main" in text(client.get("/people/main/leave/"))
    assert client.post("/people/main/leave/").url == "/people/"
    assert not find_workspace_roles(bob, main().pk)
    assert not study.shares.exists()
    assert client.get("/people/main/leave/").status_code == 404
    assert sorted(kinds()) == [
        ("role_ended", "bob", "bob", role) for role in ("analyst", "researcher", "viewer")
    ]


def test_a_refusal_of_the_sharing_app_is_shown(page, monkeypatch):
    def refuse(**_kwargs):
        raise Conflict("bob is the only manager of dogs.")

    study = factories.make_study(conditions=1, items=1)
    bob = person("bob")
    study.shares.create(user=bob, role=Role.ANALYST)
    monkeypatch.setattr("tests.accounts.study_sharing.end_share", refuse)
    response = page.post(f"/people/main/shares/study/{study.pk}/{bob.pk}/analyst/end/")
    assert response.status_code == 409
    assert "bob is the only manager of dogs." in text(response)


def at_once(*acts):
    """Do the acts at once, in threads; return what each raised, or None."""
    start = Barrier(len(acts))

    def run(act):
        start.wait()
        try:
            act()
        except LastOwner as error:
            return type(error)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as threads:
        return list(threads.map(run, acts))


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_leave_at_the_same_moment_one_stays():
    for _time in range(5):
        Membership.objects.all().delete()
        owners = [give(User.objects.get_or_create(username=name)[0], Role.OWNER) for name in ("ada", "bob")]
        raised = at_once(
            *(partial(leave_workspace, workspace=main(), by=owner) for owner in owners),
        )
        assert sorted(raised, key=str) == [LastOwner, None]
        assert Membership.objects.filter(role=Role.OWNER).count() == 1


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_deactivate_each_other_one_stays():
    owners = [person(name, Role.OWNER) for name in ("ada", "bob")]
    raised = at_once(
        lambda: deactivate(user=owners[0], by=owners[1]),
        lambda: deactivate(user=owners[1], by=owners[0]),
    )
    assert sorted(raised, key=str) == [LastOwner, None]
    assert User.objects.filter(is_active=True).count() == 1


def test_a_superuser_creates_a_workspace(client, owner):
    root = person("root", is_superuser=True)
    client.force_login(root)
    form = {"name": "Second lab", "slug": "second", "owner": "ada"}
    assert client.post("/people/site/create/", form).url == "/people/second/"
    second = Workspace.objects.get(slug="second")
    assert find_workspace_roles(owner, second.pk) == {Role.OWNER}
    assert not find_workspace_roles(root, second.pk)
    client.post("/people/site/create/", {"name": "Mine", "slug": "mine", "owner": ""})
    assert find_workspace_roles(root, Workspace.objects.get(slug="mine").pk) == {Role.OWNER}


@pytest.mark.parametrize(
    "wrong", [{"slug": "main"}, {"slug": "site"}, {"slug": "a b"}, {"name": ""}, {"owner": "nobody"}]
)
def test_a_malformed_workspace_is_not_created(client, wrong):
    client.force_login(person("root", is_superuser=True))
    form = {"name": "Second lab", "slug": "second", "owner": "", **wrong}
    response = client.post("/people/site/create/", form)
    assert response.status_code == 422
    assert 'role="alert"' in text(response)
    assert Workspace.objects.get().slug == "main"


def test_nobody_else_creates_one(page):
    assert page.post("/people/site/create/", {"name": "N", "slug": "n", "owner": ""}).status_code == 403
    assert page.get("/people/site/accounts/").status_code == 403
    assert page.get("/people/site/audit/").status_code == 403
    assert Workspace.objects.count() == 1


def test_an_owner_deactivates_and_activates_people_of_the_workspace_alone(page):
    bob = person("bob", Role.VIEWER)
    address = f"/people/site/accounts/{bob.pk}/"
    assert f'href="{address}deactivate/"' in text(page.get("/people/main/"))
    assert "Deactivate the account bob" in text(page.get(f"{address}deactivate/"))
    bob.refresh_from_db()
    assert bob.is_active
    assert page.post(f"{address}deactivate/").url == "/people/main/"
    assert f'href="{address}activate/"' in text(page.get("/people/main/"))
    bob.refresh_from_db()
    assert not bob.is_active
    assert page.post(f"{address}activate/").status_code == 302
    bob.refresh_from_db()
    assert bob.is_active
    assert kinds() == [("account_deactivated", "ada", "bob", None), ("account_activated", "ada", "bob", None)]


def test_a_deactivated_account_is_logged_out(client):
    bob = person("bob", Role.VIEWER)
    client.force_login(bob)
    assert client.get("/people/").status_code == 200
    deactivate(user=bob, by=None)
    assert client.get("/people/").status_code == 302
    for _time in range(2):
        activate(user=bob, by=None)
    assert [kind for kind, *_rest in kinds()] == ["account_deactivated", "account_activated"]


def in_two_workspaces():
    other = Workspace.objects.create(slug="other", name="Other")
    return person("bob", Role.VIEWER, workspace=other)


def with_a_share_elsewhere():
    other = Workspace.objects.create(slug="other", name="Other")
    study = factories.make_study(conditions=1, items=1)
    type(study).objects.filter(pk=study.pk).update(workspace=other)
    bob = person("bob")
    study.shares.create(user=bob, role=Role.VIEWER)
    return bob


def superuser():
    return person("bob", is_superuser=True)


@pytest.mark.parametrize("create", [in_two_workspaces, with_a_share_elsewhere, superuser])
def test_an_owner_does_not_administer_accounts_of_others(page, create):
    bob = give(create(), Role.VIEWER)
    address = f"/people/site/accounts/{bob.pk}/"
    assert address not in text(page.get("/people/main/"))
    for act in ("deactivate/", "activate/"):
        response = page.post(address + act)
        assert response.status_code == 403
        assert "You may not administer the account bob" in text(response)
    bob.refresh_from_db()
    assert bob.is_active


def test_nobody_administers_their_own_account_or_that_of_a_stranger(client, owner):
    stranger = person("eve")
    client.force_login(owner)
    assert client.post(f"/people/site/accounts/{owner.pk}/deactivate/").status_code == 403
    assert client.post(f"/people/site/accounts/{stranger.pk}/deactivate/").status_code == 404
    assert client.post("/people/site/accounts/999999/deactivate/").status_code == 404
    client.force_login(give(stranger, Role.ANALYST))
    assert client.post(f"/people/site/accounts/{owner.pk}/deactivate/").status_code == 404
    root = person("root", is_superuser=True)
    client.force_login(root)
    assert client.post(f"/people/site/accounts/{root.pk}/deactivate/").status_code == 403
    assert User.objects.filter(is_active=False).count() == 0


def test_a_superuser_administers_every_account_but_a_last_owner(client, owner):
    root = person("root", is_superuser=True)
    client.force_login(root)
    shown = text(client.get("/people/site/accounts/"))
    assert f'href="/people/site/accounts/{owner.pk}/deactivate/"' in shown
    assert f"/people/site/accounts/{root.pk}/" not in shown
    assert "ada" not in text(client.get("/people/site/accounts/?search=roo"))
    response = client.post(f"/people/site/accounts/{owner.pk}/deactivate/")
    assert response.status_code == 409
    assert "ada is the last owner of Main" in text(response)
    person("bob", Role.OWNER)
    assert client.post(f"/people/site/accounts/{owner.pk}/deactivate/").url == "/people/site/accounts/"
    owner.refresh_from_db()
    assert not owner.is_active


def test_a_workspace_without_an_owner_has_the_person_who_creates_it(owner):
    workspace = create_workspace(slug="new", name="New", by=owner)
    assert find_workspace_roles(owner, workspace.pk) == {Role.OWNER}
