"""Pages with which superusers and owners administer accounts."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actions import users
from accounts.errors import NotAllowed
from accounts.models import User
from accounts.policy_table import Act
from accounts.queries.people import find_account, find_tied_workspaces, select_accounts
from accounts.queries.workspaces import select_workspaces
from accounts.rights.access import NOT_THERE, require_user
from accounts.rights.accounts import check_administer, select_administrable
from accounts.views.audit import check_superuser
from accounts.views.people import confirm_act
from foundation.pages.tables import Column, Table

_PER_PAGE = 100
ACCOUNTS = Table(
    (
        Column("name", gettext_lazy("User name"), ("username",)),
        Column("email", gettext_lazy("E-mail address"), ("email",)),
        Column("login", gettext_lazy("Last login (UTC)"), (F("last_login"),)),
        Column("account", gettext_lazy("Account")),
    ),
    "name",
)


@require_safe
@login_required
def list_accounts(request: HttpRequest) -> HttpResponse:
    """List the accounts of the site for superusers."""
    check_superuser(request)
    search = request.GET.get("search", "").strip()
    table = ACCOUNTS.of(request.GET)
    page = Paginator(select_accounts(search).order_by(*table.order()), _PER_PAGE).get_page(table.number)
    reachable = select_administrable(require_user(request), list(page))
    context = {
        "page": page,
        "rows": [(account, account.pk in reachable) for account in page],
        "search": search,
        "table": table,
        "first": table.address() if page.has_previous() else "",
        "next": table.address(page=page.next_page_number()) if page.has_next() else "",
    }
    return render(request, "people/accounts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def deactivate(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, and deactivate an account."""
    account = get_administered_or_404(request, pk)
    title = _("Deactivate the account %(name)s") % {"name": account.username}
    text = _(
        "The person is logged out everywhere and cannot log in. Their API tokens are revoked. Their roles "
        "and everything that they made stay."
    )

    def act() -> None:
        users.deactivate(user=account, by=require_user(request))

    return confirm_act(request, title, text, page_of(request, account), act)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def activate(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, and activate an account."""
    account = get_administered_or_404(request, pk)
    title = _("Activate the account %(name)s") % {"name": account.username}
    text = _("The person can log in again with their password. Revoked API tokens stay revoked.")

    def act() -> None:
        users.activate(user=account, by=require_user(request))

    return confirm_act(request, title, text, page_of(request, account), act)


def get_administered_or_404(request: HttpRequest, pk: int) -> User:
    """Return an account that the user may administer.

    Raises:
        Http404: There is no such account, or it is in no workspace that the user manages.
        PermissionDenied: The user may not administer it.
    """
    by, account = require_user(request), find_account(pk)
    if account is None or not _is_visible(by, account):
        raise Http404(NOT_THERE)
    try:
        check_administer(by, account)
    except NotAllowed as refused:
        raise PermissionDenied(str(refused)) from refused
    return account


def _is_visible(by: User, account: User) -> bool:
    if by.is_superuser or by == account:
        return True
    mine = {workspace.pk for workspace in select_workspaces(by, Act.WORKSPACE_MANAGE)}
    return bool(mine & find_tied_workspaces([account])[account.pk])


def page_of(request: HttpRequest, account: User) -> str:
    """Return the address of the page that lists an account for the user."""
    by = require_user(request)
    if by.is_superuser:
        return reverse("people:accounts")
    tied = find_tied_workspaces([account])[account.pk]
    mine = select_workspaces(by, Act.WORKSPACE_MANAGE).filter(pk__in=tied)
    return reverse("people:workspace", args=[mine[0].slug])
