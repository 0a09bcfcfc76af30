"""Pages of the audit log."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.actions.audit import record
from accounts.event_labels import EVENT_LABELS
from accounts.models import AuditEntry, Workspace
from accounts.people.forms import AuditForm
from accounts.policy_table import Act
from accounts.queries.audit import (
    filter_entries,
    read_page_before,
    select_site_entries,
    select_workspace_entries,
)
from accounts.queries.people import find_workspace
from accounts.rights.access import require, require_existing, require_user
from foundation.pages.spreadsheet import build_csv_download

COLUMNS = ("at", "actor", "kind", "subject", "data")


@dataclass(frozen=True)
class _Log:
    """The log of a workspace, or of the site, with its addresses."""

    entries: QuerySet[AuditEntry]
    title: str
    workspace: Workspace | None
    page: str
    export: str


@require_safe
@login_required
def show_workspace_log(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the log of a workspace to its owners."""
    return _page(request, _workspace_log(request, slug))


@require_safe
@login_required
def export_of_workspace(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Export the log of a workspace as CSV."""
    return _export(request, _workspace_log(request, slug))


@require_safe
@login_required
def show_site_log(request: HttpRequest) -> HttpResponse:
    """Show the log of logins and accounts to superusers."""
    return _page(request, _site_log(request))


@require_safe
@login_required
def export_of_site(request: HttpRequest) -> HttpResponseBase:
    """Export the log of logins and accounts as CSV."""
    return _export(request, _site_log(request))


def _workspace_log(request: HttpRequest, slug: str) -> _Log:
    workspace = require_existing(find_workspace(slug))
    require(require_user(request), Act.WORKSPACE_MANAGE, workspace)
    return _Log(
        select_workspace_entries(workspace),
        _("Audit log of %(name)s") % {"name": workspace.name},
        workspace,
        reverse("people:audit", args=[slug]),
        reverse("people:audit_csv", args=[slug]),
    )


def _site_log(request: HttpRequest) -> _Log:
    check_superuser(request)
    return _Log(
        select_site_entries(),
        _("Audit log of the site"),
        None,
        reverse("people:site_audit"),
        reverse("people:site_audit_csv"),
    )


def check_superuser(request: HttpRequest) -> None:
    """Raise PermissionDenied for users who do not administer the site."""
    if not require_user(request).is_superuser:
        raise PermissionDenied(_("Only administrators of this site can see this page."))


def _page(request: HttpRequest, log: _Log) -> HttpResponse:
    form = AuditForm(request.GET)
    if not form.is_valid():
        return render(request, "people/audit.html", {"log": log, "form": form}, status=422)
    entries, older = read_page_before(
        filter_entries(log.entries, form.filters()), form.cleaned_data["before"]
    )
    query = request.GET.copy()
    query.pop("before", None)
    context = {
        "log": log,
        "form": form,
        "rows": [
            (entry, EVENT_LABELS.kind_label(entry.kind), EVENT_LABELS.detail_labels(entry.data))
            for entry in entries
        ],
        "older": older,
        "query": query.urlencode(),
    }
    return render(request, "people/audit.html", context)


def _export(request: HttpRequest, log: _Log) -> HttpResponseBase:
    form = AuditForm(request.GET)
    if not form.is_valid():
        return render(request, "people/audit.html", {"log": log, "form": form}, status=422)
    if request.method == "GET":  # HEAD exports nothing
        record(
            kind="export_downloaded", by=require_user(request), workspace=log.workspace, subject="audit log"
        )
    name = log.workspace.slug if log.workspace else "site"
    return build_csv_download(f"{name}-audit", COLUMNS, _rows(filter_entries(log.entries, form.filters())))


def _rows(entries: QuerySet[AuditEntry]) -> Iterator[tuple[str, ...]]:
    for entry in entries.iterator(chunk_size=1000):
        actor = entry.actor.username if entry.actor else ""
        data = json.dumps(entry.data, ensure_ascii=False) if entry.data else ""
        yield entry.at.isoformat(), actor, entry.kind, entry.subject, data
