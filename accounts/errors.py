"""Errors of accounts and access. The message of each is for a person.

TouchstoneError
└── AccountsError
    ├── NotAllowed      the roles of the person do not allow the act
    ├── LastOwner       a workspace always has an owner
    └── InvitationEnded an invitation can no longer be accepted
"""

from foundation.errors import TouchstoneError


class AccountsError(TouchstoneError):
    """Base of the errors of accounts and access."""


class NotAllowed(AccountsError):
    """The roles of the person do not allow the act."""


class LastOwner(AccountsError):
    """The last owner of a workspace cannot leave it."""

    status = 409


class InvitationEnded(AccountsError):
    """An invitation was used or revoked, or it has expired."""
