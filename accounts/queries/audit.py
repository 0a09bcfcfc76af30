"""Reads of the audit log."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Q, QuerySet

from accounts.models import AuditEntry, Membership, User, Workspace
from foundation.database.days import compute_day_end, compute_day_start

PAGE = 100
# Events of accounts belong to no workspace.
ACCOUNT_KINDS = frozenset(
    {
        "account_activated",
        "account_created",
        "account_deactivated",
        "login",
        "login_failed",
        "logout",
        "password_changed",
        "password_link_created",
        "password_reset",
        "second_factor_added",
        "second_factor_removed",
        "sessions_ended",
        "token_created",
        "token_revoked",
    }
)


@dataclass(frozen=True)
class Filters:
    """The entries that a page shows.

    Attributes:
        person: User name of the person who acted, or whom it concerned.
        kind: The kind of event.
        since: The first day (UTC).
        until: The last day (UTC).
    """

    person: str = ""
    kind: str = ""
    since: date | None = None
    until: date | None = None


def select_workspace_entries(workspace: Workspace) -> QuerySet[AuditEntry]:
    """Return the entries of a workspace, newest first.

    Logins and other entries about accounts are among them for people who belong to no other workspace;
    those of the others concern other workspaces too.
    """
    elsewhere = Membership.objects.exclude(workspace=workspace).values("user")
    here = Membership.objects.filter(workspace=workspace).exclude(user__in=elsewhere).values("user")
    # Failed logins have no actor. Acts of others on an account name it as their subject.
    names = User.objects.filter(pk__in=here).values("username")
    of_people = Q(actor__in=here) | Q(subject__in=names)
    return _select_newest_first(
        Q(workspace=workspace) | Q(of_people, workspace=None, kind__in=ACCOUNT_KINDS),
    )


def select_site_entries() -> QuerySet[AuditEntry]:
    """Return the entries that belong to no workspace, newest first."""
    return _select_newest_first(Q(workspace=None))


def _select_newest_first(condition: Q) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(condition).select_related("actor").order_by("-pk")


def filter_entries(entries: QuerySet[AuditEntry], filters: Filters) -> QuerySet[AuditEntry]:
    """Return the entries that match all filters."""
    if filters.person:
        # By the key: with the name in another table, neither database uses an index.
        actors = list(User.objects.filter(username=filters.person).values_list("pk", flat=True))
        entries = entries.filter(Q(actor__in=actors) | Q(subject=filters.person))
    equal: dict[str, Any] = {
        "kind": filters.kind,
        "at__gte": filters.since and compute_day_start(filters.since),
        "at__lte": filters.until and compute_day_end(filters.until),
    }
    return entries.filter(**{name: value for name, value in equal.items() if value})


def read_page_before(
    entries: QuerySet[AuditEntry], before: int | None
) -> tuple[list[AuditEntry], int | None]:
    """Return a page of entries before a key, and the key of the next page.

    A page begins after an entry, not at an offset: new entries displace none, and the last page is as fast as
    the first.
    """
    rows = list((entries if before is None else entries.filter(pk__lt=before))[: PAGE + 1])
    page = rows[:PAGE]
    return page, page[-1].pk if len(rows) > PAGE else None
