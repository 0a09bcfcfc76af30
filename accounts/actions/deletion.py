"""Delete accounts: the person goes, and the work stays under another name."""

from functools import reduce
from operator import or_

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.actions import audit, sessions
from accounts.actions.workspaces import check_another_owner, end_role
from accounts.errors import LastOwner
from accounts.models import (
    AnsweredRequest,
    ApiToken,
    AuditEntry,
    Invitation,
    Membership,
    Role,
    User,
    Workspace,
)
from accounts.shareable import list_shares, load_sharing_module

FORMER_NAME = "former member {number}"
# The kinds of entries in the log that name an object; all others name a person.
ABOUT_OBJECTS = (
    *("export_downloaded", "payments_ordered", "personal_data_read"),
    *("workspace_created", "workspace_renamed"),
)


@transaction.atomic
def delete_account(*, user: User, by: User | None) -> str:
    """Delete what is stored about a person; return their name from now on.

    The name stands at their work.

    Annotations, judgements, studies and the logs stay, because the work of others rests on them; they name
    "former member N". Sessions, API tokens, roles, addresses and logins end at once. Nobody can log in with
    the account any more, and it cannot be restored.

    Raises:
        LastOwner: The person is the last active owner of a workspace, or the last administrator.
    """
    owned = Workspace.objects.filter(memberships__user=user, memberships__role=Role.OWNER)
    for workspace in owned.order_by("pk"):
        check_another_owner(workspace=workspace, user=user)
    _check_another_administrator(user)
    for row in Membership.objects.filter(user=user).select_related("workspace"):
        end_role(workspace=row.workspace, user=user, role=Role(row.role), by=by)
    for share in list(list_shares(users=[user])):
        # Nobody may end their own role in a project; here the account ends, and with it every role.
        load_sharing_module(share.kind).end_share(object=share.object, user=user, role=share.role, by=None)
    sessions.delete_sessions(user=user, keep=None)
    addresses = _find_own_addresses(user)  # before they are gone
    for table in (ApiToken, AnsweredRequest, EmailAddress, Authenticator, SocialAccount):
        table._default_manager.filter(user=user).delete()
    AccessAttempt.objects.filter(_match_any_case("username", {user.username, *addresses})).delete()
    Invitation.objects.filter(Q(accepted_by=user) | _match_any_case("email", addresses)).update(email="")
    open_invitations = Invitation.objects.filter(accepted_at=None, revoked_at=None)
    open_invitations.filter(created_by=user).update(revoked_at=timezone.now())
    return _rename(user, by, addresses)


def _find_own_addresses(user: User) -> set[str]:
    """Return the addresses of a person.

    Those of the invitations that they accepted are among them. But an invitation may have been passed on: an
    address that another account has is not theirs.
    """
    invited = set(Invitation.objects.filter(accepted_by=user).values_list("email", flat=True)) - {""}
    of_others = EmailAddress.objects.exclude(user=user)
    others = User.objects.exclude(pk=user.pk)
    passed_on = {
        address
        for address in invited
        if of_others.filter(email__iexact=address).exists() or others.filter(email__iexact=address).exists()
    }
    own = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
    return (invited - passed_on) | {user.email, *own} - {""}


def _match_any_case(column: str, texts: set[str]) -> Q:
    """Return the condition that a column has one of these, in any case."""
    # In lower case, too, as failed logins are stored: SQLite tells capital letters like Ä apart.
    spellings = sorted(texts | {text.lower() for text in texts})
    return reduce(or_, (Q((f"{column}__iexact", text)) for text in spellings), Q(pk__in=[]))


def _rename(user: User, by: User | None, addresses: set[str]) -> str:
    former, name = user.username, FORMER_NAME.format(number=user.pk)
    # The logs name people as they were called then; their names have to go, the entries stay.
    named = AuditEntry.objects.exclude(kind__in=ABOUT_OBJECTS)
    named.filter(Q(subject=former) | _match_any_case("subject", addresses)).update(subject=name)
    user.username, user.email, user.first_name, user.last_name = name, "", "", ""
    user.is_active = user.is_staff = user.is_superuser = False
    user.last_login = None
    user.set_unusable_password()
    user.save()
    user.groups.clear()
    user.user_permissions.clear()
    audit.record(kind="account_deleted", by=by, subject=name)
    return name


def _check_another_administrator(user: User) -> None:
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and not others.exists():
        raise LastOwner(
            _("%(name)s is the last administrator of the site. Make another person one first.")
            % {"name": user.username}
        )
