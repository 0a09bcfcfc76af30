"""The right to administer accounts: deactivate them, reset passwords.

Superusers administer every account but their own. Owners of a workspace administer the accounts of people who
belong to no other workspace, because a new password opens everything that the person has access to.
"""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from accounts.errors import NotAllowed
from accounts.models import User
from accounts.policy_table import Act
from accounts.queries.people import find_tied_workspaces
from accounts.queries.workspaces import select_workspaces


def select_administrable(by: User, accounts: Sequence[User]) -> frozenset[int]:
    """Return the keys of those accounts that a user may administer."""
    others = [account for account in accounts if account.pk != by.pk]
    if by.is_superuser:
        return frozenset(account.pk for account in others)
    mine = {workspace.pk for workspace in select_workspaces(by, Act.WORKSPACE_MANAGE)}
    tied = find_tied_workspaces(others)
    return frozenset(
        account.pk
        for account in others
        if not account.is_superuser and len(tied[account.pk]) == 1 and tied[account.pk] <= mine
    )


def can_administer(by: User, account: User) -> bool:
    """Return True if a user may administer an account."""
    return account.pk in select_administrable(by, [account])


def check_administer(by: User, account: User) -> None:
    """Check that a user may administer an account.

    Raises:
        NotAllowed: They may not.
    """
    if not can_administer(by, account):
        raise NotAllowed(
            _(
                "You may not administer the account %(name)s. Owners administer the accounts of people who "
                "belong to their workspace alone; ask an administrator of the site."
            )
            % {"name": account.username}
        )
