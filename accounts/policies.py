"""The right to make a one-time link for somebody's password."""

from django.utils.translation import gettext as _

from accounts.errors import NotAllowed
from accounts.models import Membership, Role, User


def can_create_reset_link(by: User, user: User) -> bool:
    """Return True if one user may make a link for the password of another."""
    try:
        check_reset_link(by, user)
    except NotAllowed:
        return False
    return True


def check_reset_link(by: User, user: User) -> None:
    """Check that one user may make a link for the password of another.

    Superusers may for everybody, owners for members of their workspace who belong to no other: a new password
    opens everything that the person has access to.

    Raises:
        NotAllowed: They may not, or the account is deactivated.
    """
    if not user.is_active:
        raise NotAllowed(_("This account is deactivated. Activate it first."))
    if by.is_superuser:
        return
    workspaces = set(Membership.objects.filter(user=user).values_list("workspace", flat=True))
    owned = set(Membership.objects.filter(user=by, role=Role.OWNER).values_list("workspace", flat=True))
    if user.is_superuser or len(workspaces) != 1 or not workspaces <= owned:
        raise NotAllowed(
            _(
                "You may make links for people who belong to your workspace alone. Ask an administrator of "
                "the site."
            )
        )
