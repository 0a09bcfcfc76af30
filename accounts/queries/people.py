"""Reads of the people of workspaces, their accounts and invitations."""

from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.errors import InvitationEnded
from accounts.models import Invitation, Membership, Role, User, Workspace
from accounts.policy_table import Act, Roles, is_allowed
from accounts.queries.invitations import open_invitations
from accounts.queries.workspaces import find_workspace_roles
from accounts.random_secrets import hash_of
from accounts.shareable import Share, Shareable, label_kind, list_shares, load_sharing_module
from foundation.errors import NotFound
from foundation.messages import say

PAGE = 100  # people


@dataclass
class Person:
    """A person with their roles in a workspace and on objects of it."""

    user: User
    roles: list[Role] = field(default_factory=list)
    shares: list[Share] = field(default_factory=list)


def find_workspace(slug: str) -> Workspace | None:
    """Return the workspace of an address."""
    return Workspace.objects.filter(slug=slug).first()


def list_all_workspaces() -> QuerySet[Workspace]:
    """Return all workspaces of the site, by name."""
    return Workspace.objects.order_by("name", "pk")


def group_roles_by_workspace(user: User) -> dict[int, list[Role]]:
    """Return the roles of a user by the key of the workspace."""
    grouped: dict[int, set[str]] = {}
    for workspace, role in Membership.objects.filter(user=user).values_list("workspace", "role"):
        grouped.setdefault(workspace, set()).add(role)
    return {workspace: [role for role in Role if role in roles] for workspace, roles in grouped.items()}


def list_people(workspace: Workspace) -> list[Person]:
    """Return the people of a workspace by user name, also by shares alone."""
    people: dict[int, Person] = {}
    for row in Membership.objects.filter(workspace=workspace).select_related("user"):
        people.setdefault(row.user_id, Person(row.user)).roles.append(Role(row.role))
    for share in list_shares(workspace=workspace):
        people.setdefault(share.user.pk, Person(share.user)).shares.append(share)
    return sorted(map(_sort_roles_and_shares, people.values()), key=lambda person: person.user.username)


def read_people_page(
    workspace: Workspace, *, after: str = "", search: str = "", size: int = PAGE
) -> tuple[list[Person], str]:
    """Return people of a workspace by user name from a name on.

    Also returns the name to continue with, empty at the end. The time does not depend on how far down the
    page is, nor on how many people there are.
    """
    shared = list(list_shares(workspace=workspace))
    member = Exists(Membership.objects.filter(workspace=workspace, user=OuterRef("pk")))
    rows = select_accounts(search).filter(
        member | Q(pk__in={share.user.pk for share in shared}), username__gt=after
    )
    people = {user.pk: Person(user) for user in rows[: size + 1]}
    more = len(people) > size
    if more:
        people.popitem()
    for row in Membership.objects.filter(workspace=workspace, user__in=list(people)):
        people[row.user_id].roles.append(Role(row.role))
    for share in shared:
        if share.user.pk in people:
            people[share.user.pk].shares.append(share)
    shown = [_sort_roles_and_shares(person) for person in people.values()]
    return shown, shown[-1].user.username if more else ""


def _sort_roles_and_shares(person: Person) -> Person:
    order = list(Role)
    person.roles.sort(key=order.index)
    person.shares.sort(key=lambda share: (share.kind, share.object.slug, order.index(share.role)))
    return person


def select_accounts(search: str = "") -> QuerySet[User]:
    """Return the accounts of the site by user name; all without a search."""
    rows = User.objects.order_by("username")
    return rows.filter(Q(username__icontains=search) | Q(email__icontains=search)) if search else rows


def find_account(pk: int) -> User | None:
    """Return the account with this key."""
    return User.objects.filter(pk=pk).first()


def find_account_by_name(name: str, *, active: bool = False) -> User:
    """Return the account with this user name or e-mail address.

    Raises:
        NotFound: There is none, or several have the address.
    """
    rows = User.objects.filter(is_active=True) if active else User.objects.all()
    users = list(rows.filter(username=name)) or list(rows.filter(email__iexact=name)[:2] if name else ())
    if len(users) > 1:
        raise NotFound(say("Several accounts have the address %(name)s. Give the user name.", name=name))
    if not users:
        raise NotFound(say("There is no account %(name)s.", name=name))
    return users[0]


def find_tied_workspaces(users: list[User]) -> dict[int, set[int]]:
    """Return the keys of the workspaces of each user, by roles and by shares."""
    tied: dict[int, set[int]] = {user.pk: set() for user in users}
    for user, workspace in Membership.objects.filter(user__in=users).values_list("user", "workspace"):
        tied[user].add(workspace)
    for share in list_shares(users=users):
        tied[share.user.pk].add(share.object.workspace.pk)
    return tied


def select_pending_invitations(workspace: Workspace) -> QuerySet[Invitation]:
    """Return the invitations that can still be accepted, newest first."""
    return open_invitations().filter(workspace=workspace).select_related("created_by").order_by("-pk")


def find_invitation_by_token(token: str) -> Invitation | None:
    """Return the invitation of a link."""
    return (
        Invitation.objects.select_related("workspace", "created_by").filter(token_hash=hash_of(token)).first()
    )


def find_shared_object(invitation: Invitation) -> Shareable | None:
    """Return the object that an invitation is for.

    None for one to a whole workspace, and if the object is no longer in it.
    """
    if invitation.object_id is None:
        return None
    held = load_sharing_module(invitation.kind).OBJECTS.filter(workspace=invitation.workspace)
    return held.filter(pk=invitation.object_id).first()


def describe_target(invitation: Invitation) -> str:
    """Return what an invitation is for, as a person reads it."""
    shared = find_shared_object(invitation)
    if shared is None:
        return invitation.workspace.name
    return _("%(kind)s “%(title)s”") % {"kind": label_kind(invitation.kind), "title": shared.title}


def check_open(invitation: Invitation) -> None:
    """Check that an invitation can be accepted.

    Raises:
        InvitationEnded: It was used or revoked, or it has expired.
    """
    by = invitation.created_by
    if invitation.accepted_at is not None:
        raise InvitationEnded(
            _("This invitation has been used. If you accepted it, log in; otherwise ask for another one.")
        )
    if invitation.revoked_at is not None:
        raise InvitationEnded(_("This invitation was revoked. Ask the person who sent it for another one."))
    if invitation.expires_at <= timezone.now():
        raise InvitationEnded(_("This invitation has expired. Ask the person who sent it for another one."))
    # A link of a former owner or manager would let them bring people in, or themselves back.
    if not (by.is_active and may_invite(by, invitation)):
        raise InvitationEnded(
            _("%(name)s may no longer invite people to this workspace. Ask an owner for another invitation.")
            % {"name": by.username}
        )


def may_invite(user: User, invitation: Invitation) -> bool:
    """Return True if a user may give what an invitation gives.

    Owners may in their workspace; people who manage one object may for it.
    """
    if may_manage(user, invitation.workspace):
        return True
    shared = find_shared_object(invitation)
    act = load_sharing_module(invitation.kind).INVITES if shared is not None else None
    if shared is None or act is None:
        return False
    return is_allowed(
        Roles(find_workspace_roles(user, invitation.workspace_id), shared.shared_roles(user)), act
    )


def may_manage(user: User, workspace: Workspace) -> bool:
    """Return True if a user may manage the people of a workspace.

    Superusers administer the workspaces of the site without a role in them.
    """
    return user.is_superuser or is_allowed(
        Roles(find_workspace_roles(user, workspace.pk)), Act.WORKSPACE_MANAGE
    )
