"""The commands create_workspace and set_role."""

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEntry, Role, User, Workspace
from accounts.queries.workspaces import find_workspace_roles
from tests.workspaces import give, main

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return User.objects.create(username="ada", password="!", email="ada@example.org")


def create(*options):
    call_command("create_workspace", "second", "--name", "Second lab", "--owner", "ada", *options)


def test_it_works(ada, capsys):
    create()
    second = Workspace.objects.get(slug="second")
    assert second.name == "Second lab"
    assert find_workspace_roles(ada, second.pk) == {Role.OWNER}
    call_command("set_role", "ada@example.org", "analyst", "--workspace", "main")
    assert find_workspace_roles(ada, main().pk) == {Role.ANALYST}
    call_command("set_role", "ada", "analyst", "--workspace", "main", "--end")
    assert not find_workspace_roles(ada, main().pk)
    assert capsys.readouterr().out.splitlines() == [
        "Created the workspace second. Its owner is ada.",
        "ada has the role analyst in main.",
        "ada does not have the role analyst in main.",
    ]
    assert not AuditEntry.objects.exclude(actor=None).exists()


def test_users_act_with_their_rights(ada):
    bob = give(User.objects.create(username="bob", password="!"), Role.VIEWER)
    main()
    with pytest.raises(CommandError, match="With the role Viewer you may not"):
        call_command("set_role", "ada", "viewer", "--as", "bob")
    with pytest.raises(CommandError, match="not an administrator"):
        create("--as", "bob")
    assert not find_workspace_roles(ada, main().pk)
    give(bob, Role.OWNER)
    call_command("set_role", "ada", "viewer", "--as", "bob")
    assert find_workspace_roles(ada, main().pk) == {Role.VIEWER}
    User.objects.filter(pk=bob.pk).update(is_superuser=True)
    create("--as", "bob")
    assert set(AuditEntry.objects.values_list("actor__username", flat=True)) == {"bob"}


@pytest.mark.parametrize(
    "command, message",
    [
        (("create_workspace", "main", "--name", "N", "--owner", "ada"), "already exists"),
        (("create_workspace", "site", "--name", "N", "--owner", "ada"), "uses the short name site itself"),
        (("create_workspace", "a b", "--name", "N", "--owner", "ada"), "not a valid name"),
        (("create_workspace", "n", "--name", "", "--owner", "ada"), "cannot be blank"),
        (("create_workspace", "n", "--name", "N", "--owner", "nobody"), "no account nobody"),
        (("set_role", "nobody", "viewer"), "no account nobody"),
        (("set_role", "ada", "king"), "invalid choice"),
        (("set_role", "ada", "viewer", "--workspace", "missing"), "no workspace 'missing'"),
        (("set_role", "only", "owner", "--end"), "only is the last owner of Main"),
    ],
)
def test_malformed(ada, command, message):
    give(User.objects.create(username="only", password="!"), Role.OWNER)
    with pytest.raises(CommandError, match=message):
        call_command(*command)
    assert Workspace.objects.get() == main()
