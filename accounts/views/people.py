"""Pages of workspaces: the people in them and their roles."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actions import workspaces
from accounts.models import Role, User, Workspace
from accounts.people.forms import RoleForm, WorkspaceForm
from accounts.policy_table import Act
from accounts.queries import people
from accounts.queries.workspaces import select_workspaces
from accounts.rights.access import NOT_THERE, require, require_existing, require_user
from accounts.rights.accounts import select_administrable
from accounts.rights.current_workspace import choose_workspace, load_own_workspaces
from accounts.rights.roles import can
from accounts.shareable import Share, list_shares, load_sharing_module
from accounts.views.audit import check_superuser
from foundation.errors import TouchstoneError


def get_managed_or_404(request: HttpRequest, slug: str) -> Workspace:
    """Return a workspace whose people the user may manage."""
    workspace, user = require_existing(people.find_workspace(slug)), require_user(request)
    if not people.may_manage(user, workspace):
        require(user, Act.WORKSPACE_MANAGE, workspace)
    return workspace


@require_safe
@login_required
def list_workspaces(request: HttpRequest) -> HttpResponse:
    """List the workspaces of the person; all for superusers."""
    return _list(request, WorkspaceForm())


@require_POST
@login_required
def create(request: HttpRequest) -> HttpResponse:
    """Create a workspace."""
    check_superuser(request)
    form = WorkspaceForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            workspace = workspaces.create_workspace(
                slug=data["slug"], name=data["name"], owner=data["owner"], by=require_user(request)
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("Created the workspace %(name)s.") % {"name": workspace.name})
            return redirect("people:workspace", workspace.slug)
    return _list(request, form, status=422)


def _list(request: HttpRequest, form: WorkspaceForm, status: int = 200) -> HttpResponse:
    user = require_user(request)
    mine = people.group_roles_by_workspace(user)
    rows = people.list_all_workspaces() if user.is_superuser else select_workspaces(user)
    context = {
        "rows": [
            (workspace, mine.get(workspace.pk, []), user.is_superuser or Role.OWNER in mine[workspace.pk])
            for workspace in rows
        ],
        "form": form,
    }
    return render(request, "people/list.html", context, status=status)


@require_POST
@login_required
def choose(request: HttpRequest) -> HttpResponse:
    """Choose the workspace whose objects lists show; none means all."""
    slug = request.POST.get("workspace", "")
    if slug and slug not in {workspace.slug for workspace in load_own_workspaces(request)}:
        raise Http404(str(NOT_THERE))
    choose_workspace(request, slug)
    return redirect("start")


@require_safe
@login_required
def workspace(request: HttpRequest, slug: str) -> HttpResponse:
    """List the people of a workspace with their roles."""
    return _page(request, get_managed_or_404(request, slug), RoleForm())


@require_POST
@login_required
def give_role(request: HttpRequest, slug: str) -> HttpResponse:
    """Give a person with an account a role."""
    chosen = get_managed_or_404(request, slug)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _page(request, chosen, form, status=422)
    user, role = form.cleaned_data["person"], Role(form.cleaned_data["role"])
    workspaces.give_role(workspace=chosen, user=user, role=role, by=require_user(request))
    messages.success(
        request, _("%(name)s has the role %(role)s now.") % {"name": user.username, "role": role.label}
    )
    return redirect("people:workspace", slug)


def _page(request: HttpRequest, chosen: Workspace, form: Form, status: int = 200) -> HttpResponse:
    user = require_user(request)
    persons, following = people.read_people_page(chosen, after=request.GET.get("after", ""))
    reachable = select_administrable(user, [person.user for person in persons])
    context = {
        "workspace": chosen,
        "rows": [(person, person.user.pk in reachable) for person in persons],
        "following": following,
        "form": form,
        "invitations": [
            (invitation, people.describe_target(invitation))
            for invitation in people.select_pending_invitations(chosen)
        ],
        "may_audit": can(user, Act.WORKSPACE_MANAGE, chosen),
    }
    return render(request, "people/workspace.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def end_role(request: HttpRequest, slug: str, pk: int, role: str) -> HttpResponse:
    """Ask, and end a role of a person."""
    chosen = get_managed_or_404(request, slug)
    user = _account_or_404(pk)
    if role not in people.group_roles_by_workspace(user).get(chosen.pk, []):
        raise Http404(NOT_THERE)
    ending = Role(role)
    title = _("End the role %(role)s of %(name)s") % {"role": ending.label, "name": user.username}
    text = _("The person loses this role in %(workspace)s at once.") % {"workspace": chosen.name}

    def act() -> None:
        workspaces.end_role(workspace=chosen, user=user, role=ending, by=require_user(request))

    return confirm_act(request, title, text, reverse("people:workspace", args=[slug]), act)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def end_share(request: HttpRequest, slug: str, kind: str, shared: int, pk: int, role: str) -> HttpResponse:
    """Ask, and end a role of a person on one object."""
    chosen = get_managed_or_404(request, slug)
    share = _share_or_404(chosen, _account_or_404(pk), kind, shared, role)
    title = _("End the role %(role)s of %(name)s in %(object)s") % {
        "role": share.role.label,
        "name": share.user.username,
        "object": share.object.slug,
    }
    text = _("The person loses this role at once.")

    def act() -> None:
        load_sharing_module(kind).end_share(
            object=share.object, user=share.user, role=share.role, by=require_user(request)
        )

    return confirm_act(request, title, text, reverse("people:workspace", args=[slug]), act)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask, and end all roles of the person themselves."""
    chosen, user = require_existing(people.find_workspace(slug)), require_user(request)
    require(user, Act.WORKSPACE_SEE, chosen)
    title = _("Leave the workspace %(name)s") % {"name": chosen.name}
    text = _("You lose your roles in it, and in everything that was shared with you there.")

    def act() -> None:
        workspaces.leave_workspace(workspace=chosen, by=user)

    return confirm_act(request, title, text, reverse("people:list"), act)


def confirm_act(
    request: HttpRequest, title: str, text: str, back: str, act: Callable[[], None]
) -> HttpResponse:
    """Show a page that asks; on POST do it and go back."""
    error = ""
    if request.method == "POST":
        try:
            act()
        except TouchstoneError as refused:
            error = str(refused)
        else:
            messages.success(request, _("Done: %(act)s.") % {"act": title})
            return redirect(back)
    context = {"title": title, "text": text, "back": back, "error": error}
    return render(request, "people/confirm.html", context, status=409 if error else 200)


def _account_or_404(pk: int) -> User:
    return require_existing(people.find_account(pk))


def _share_or_404(chosen: Workspace, user: User, kind: str, pk: int, role: str) -> Share:
    for share in list_shares(workspace=chosen, users=[user]):
        if (share.kind, share.object.pk, share.role) == (kind, pk, role):
            return share
    raise Http404(NOT_THERE)
