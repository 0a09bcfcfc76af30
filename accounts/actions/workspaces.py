"""Create workspaces, and give and end roles in them."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import audit
from accounts.errors import LastOwner
from accounts.models import Membership, Role, User, Workspace
from accounts.queries.workspaces import find_workspace_roles
from accounts.shareable import list_shares, load_sharing_module
from foundation.blank_texts import is_blank
from foundation.database.new_rows import store_new
from foundation.errors import Conflict

# Addresses of pages of the whole site stand beside those of workspaces: /people/site/…
RESERVED = frozenset({"site"})


@transaction.atomic
def create_workspace(*, slug: str, name: str, by: User | None, owner: User | None = None) -> Workspace:
    """Create a workspace; its owner is ``owner``, or who creates it.

    Raises:
        ValidationError: Names the field that is wrong.
    """
    if slug in RESERVED:
        raise ValidationError({"slug": _("The site uses the short name %(slug)s itself.") % {"slug": slug}})
    _check_name(name)
    workspace = Workspace(slug=slug, name=name, created_by=by)
    store_new(workspace)
    audit.record(kind="workspace_created", by=by, workspace=workspace, subject=workspace)
    first = owner or by
    if first is not None:
        give_role(workspace=workspace, user=first, role=Role.OWNER, by=by)
    return workspace


@transaction.atomic
def rename_workspace(*, workspace: Workspace, name: str, by: User | None) -> Workspace:
    """Change the name that people read; the short name stays.

    Raises:
        ValidationError: The name is empty or too long.
    """
    _check_name(name)
    workspace.name = name
    workspace.full_clean()
    workspace.save(update_fields=["name"])
    audit.record(kind="workspace_renamed", by=by, workspace=workspace, subject=workspace)
    return workspace


def _check_name(name: str) -> None:
    if is_blank(name):
        raise ValidationError({"name": Workspace._meta.get_field("name").error_messages["blank"]})


@transaction.atomic
def give_role(*, workspace: Workspace, user: User, role: Role, by: User | None) -> Membership:
    """Give a person a role in a workspace, unless they have it already.

    Raises:
        Conflict: The account of the person is deactivated.
    """
    if not user.is_active:
        raise Conflict(_("The account %(name)s is deactivated.") % {"name": user.username})
    membership, is_new = Membership.objects.get_or_create(
        workspace=workspace, user=user, role=role, defaults={"created_by": by}
    )
    if is_new:
        audit.record(kind="role_given", by=by, workspace=workspace, subject=user, data={"role": str(role)})
    return membership


@transaction.atomic
def end_role(*, workspace: Workspace, user: User, role: Role, by: User | None) -> None:
    """End a role of a person in a workspace, if they have it.

    Raises:
        LastOwner: No other active user is an owner of the workspace.
    """
    rows = Membership.objects.filter(workspace=workspace, user=user, role=role)
    if role == Role.OWNER and rows.exists():
        check_another_owner(workspace=workspace, user=user)
    ended, _rows = rows.delete()
    if ended:
        audit.record(kind="role_ended", by=by, workspace=workspace, subject=user, data={"role": str(role)})


@transaction.atomic
def leave_workspace(*, workspace: Workspace, by: User) -> None:
    """End every role of a person in a workspace, and on the objects in it.

    Raises:
        LastOwner: No other active user is an owner of the workspace.
    """
    for role in find_workspace_roles(by, workspace.pk):
        end_role(workspace=workspace, user=by, role=role, by=by)
    for share in list_shares(workspace=workspace, users=[by]):
        load_sharing_module(share.kind).end_share(object=share.object, user=by, role=share.role, by=by)


def check_another_owner(*, workspace: Workspace, user: User) -> None:
    """Check that a workspace has an active owner besides a user; lock it.

    Raises:
        LastOwner: It has none.
    """
    # Lock the workspace, so that of two owners who leave at the same moment one stays.
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    owners = Membership.objects.filter(workspace=workspace, role=Role.OWNER, user__is_active=True)
    if not owners.exclude(user=user).exists():
        raise LastOwner(
            _("%(name)s is the last owner of %(workspace)s. Make another person an owner first.")
            % {"name": user.username, "workspace": workspace.name}
        )
