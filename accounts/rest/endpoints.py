"""Endpoints of workspaces: their people, roles and invitations."""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseBase
from rest_framework.request import Request

from accounts.actions import audit
from accounts.actions.deletion import delete_account
from accounts.actions.invitations import create_invitation, revoke_invitation
from accounts.actions.workspaces import create_workspace, end_role, give_role, rename_workspace
from accounts.models import Role, User, Workspace
from accounts.people.forms import DeleteAccountForm
from accounts.policy_table import Act
from accounts.queries.account_data import collect_account_data
from accounts.queries.people import (
    find_account_by_name,
    find_workspace,
    list_all_workspaces,
    list_people,
    may_manage,
    select_pending_invitations,
)
from accounts.queries.workspaces import find_workspace_roles, select_workspaces
from accounts.rest import shapes
from accounts.rest.bodies import read_body, read_query
from accounts.rest.describe import describe_method
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.invitations import answer_invitation, build_invitation_rows
from accounts.rest.pages import Page, PageOf, answer, answer_page, build_row, validate_row
from accounts.rest.problems import FieldProblem, Refused
from accounts.rest.views import RestView
from accounts.rights.access import NOT_THERE, require_existing
from accounts.shareable import Shareable, load_sharing_module
from touchstone.client import rows as wire


class Account(RestView):
    """Your own account."""

    @describe_method(answers=shapes.AccountData)
    def get(self, request: Request) -> HttpResponse:
        """Return all that is stored about you."""
        audit.record(kind="account_exported", by=self.user, subject=self.user)
        return answer(shapes.AccountData(tables=collect_account_data(self.user)))


class DeletedAccount(RestView):
    """The end of your own account."""

    @describe_method(status=204, takes=shapes.DeletedAccount, errors=(409,))
    def post(self, request: Request) -> HttpResponse:
        """Delete your account. This cannot be undone."""
        sent = read_body(request, shapes.DeletedAccount)
        form = DeleteAccountForm({"password": sent.password}, user=self.user)
        if not form.is_valid():
            raise _build_field_refusal("password", str(form.errors["password"][0]))
        delete_account(user=self.user, by=self.user)
        return HttpResponse(status=204)


class Workspaces(RestView):
    """The workspaces that you may see: those of your roles, or all."""

    @describe_method(answers=PageOf[wire.WorkspaceRow], query=Page)
    def get(self, request: Request) -> HttpResponseBase:
        """List workspaces."""
        rows = list_all_workspaces() if self.user.is_superuser else select_workspaces(self.user)
        return answer_page(
            request,
            read_query(request, Page),
            rows,
            lambda part: [_build_workspace_row(row, self.user) for row in part],
        )

    @describe_method(answers=wire.WorkspaceRow, status=201, takes=shapes.NewWorkspace, creates=True)
    @run_once_per_key
    def post(self, request: Request) -> HttpResponse:
        """Create a workspace."""
        if not self.user.is_superuser:
            raise PermissionDenied("Only administrators of the site create workspaces.")
        new = read_body(request, shapes.NewWorkspace)
        workspace = create_workspace(slug=new.slug, name=new.name, by=self.user)
        return answer(_build_workspace_row(workspace, self.user), status=201)


class WorkspaceView(RestView):
    """The base of the endpoints of one workspace."""

    def workspace(self, slug: str, act: Act) -> Workspace:
        """Return a workspace in which the user may do this, or raise 404 or 403.

        Superusers administer the people of every workspace.
        """
        workspace = require_existing(find_workspace(slug))
        if not may_manage(self.user, workspace):
            self.require(act, workspace)
        return workspace


class OneWorkspace(WorkspaceView):
    """One workspace."""

    @describe_method(answers=wire.WorkspaceRow)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Return one workspace."""
        return answer(_build_workspace_row(self.workspace(slug, Act.WORKSPACE_SEE), self.user))

    @describe_method(answers=wire.WorkspaceRow, takes=shapes.Renamed)
    def patch(self, request: Request, slug: str) -> HttpResponse:
        """Rename a workspace."""
        workspace = self.workspace(slug, Act.WORKSPACE_MANAGE)
        new = read_body(request, shapes.Renamed)
        return answer(
            _build_workspace_row(
                rename_workspace(workspace=workspace, name=new.name, by=self.user), self.user
            )
        )


class Members(WorkspaceView):
    """The people of a workspace."""

    @describe_method(answers=shapes.Members)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List the people of a workspace."""
        return _answer_members(self.workspace(slug, Act.WORKSPACE_MANAGE))

    @describe_method(answers=shapes.Members, takes=shapes.MemberRole, errors=(409,))
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Give a person a role in a workspace."""
        workspace = self.workspace(slug, Act.WORKSPACE_MANAGE)
        new = read_body(request, shapes.MemberRole)
        give_role(workspace=workspace, user=find_account_by_name(new.user), role=Role(new.role), by=self.user)
        return _answer_members(workspace)


class OneRole(WorkspaceView):
    """A role of a person in a workspace."""

    @describe_method(answers=shapes.Members, errors=(409,))
    def delete(self, request: Request, slug: str, user: str, role: str) -> HttpResponse:
        """End a role of a person in a workspace."""
        workspace = self.workspace(slug, Act.WORKSPACE_MANAGE)
        if role not in Role.values:
            raise Http404(NOT_THERE)
        end_role(workspace=workspace, user=find_account_by_name(user), role=Role(role), by=self.user)
        return _answer_members(workspace)


class Invitations(WorkspaceView):
    """The invitations of a workspace that can still be accepted."""

    @describe_method(answers=PageOf[wire.InvitationRow], query=Page)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List the invitations of a workspace."""
        rows = select_pending_invitations(self.workspace(slug, Act.WORKSPACE_MANAGE))
        return answer_page(request, read_query(request, Page), rows, build_invitation_rows)

    @describe_method(answers=wire.NewInvitationRow, status=201, takes=shapes.NewInvitation, creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Create an invitation."""
        workspace = self.workspace(slug, Act.WORKSPACE_MANAGE)
        new = read_body(request, shapes.NewInvitation)
        created = create_invitation(
            workspace=workspace,
            role=Role(new.role),
            days=new.days,
            by=self.user,
            email=new.email,
            kind=new.kind,
            shared=_find_shared_object(new, workspace),
        )
        return answer_invitation(created)


class OneInvitation(WorkspaceView):
    """One invitation."""

    @describe_method(status=204)
    def delete(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Revoke an invitation."""
        workspace = self.workspace(slug, Act.WORKSPACE_MANAGE)
        invitation = require_existing(select_pending_invitations(workspace).filter(pk=pk).first())
        revoke_invitation(invitation=invitation, by=self.user)
        return HttpResponse(status=204)


def _find_shared_object(new: shapes.NewInvitation, workspace: Workspace) -> Shareable | None:
    """Return the object of an invitation, None for the whole workspace."""
    if not new.kind:
        return None
    module = load_sharing_module(new.kind)
    shared: Shareable | None = module.OBJECTS.filter(slug=new.object).first()
    if shared is None or shared.workspace != workspace:
        raise _build_field_refusal("object", f"this workspace has no {new.kind} of this name")
    if new.role not in module.ROLES:
        raise _build_field_refusal("role", f"is not a role of a {new.kind}; it has {', '.join(module.ROLES)}")
    return shared


def _build_field_refusal(field: str, detail: str) -> Refused:
    return Refused(422, f"{field}: {detail}", [FieldProblem(field=field, detail=detail)])


def _build_workspace_row(workspace: Workspace, user: User) -> wire.WorkspaceRow:
    return build_row(wire.WorkspaceRow, workspace, roles=sorted(find_workspace_roles(user, workspace.pk)))


def _answer_members(workspace: Workspace) -> HttpResponse:
    rows = [
        {
            "user": person.user.username,
            "is_active": person.user.is_active,
            "roles": person.roles,
            "shares": [
                {"kind": share.kind, "object": share.object.slug, "role": share.role}
                for share in person.shares
            ],
        }
        for person in list_people(workspace)
    ]
    return answer(validate_row(shapes.Members, {"results": rows}))
