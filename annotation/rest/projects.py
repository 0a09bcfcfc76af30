"""Endpoints of projects: settings, members, guidelines, webhooks."""

from hashlib import sha256

from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from rest_framework.request import Request

from accounts.actions.invitations import create_invitation, revoke_invitation
from accounts.models import Role as WorkspaceRole
from accounts.models import Workspace
from accounts.policy_table import Act
from accounts.rest.bodies import read_body, read_query
from accounts.rest.describe import describe_method
from accounts.rest.etags import format_etag, require_match
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.invitations import answer_invitation, build_invitation_rows
from accounts.rest.pages import Page, PageOf, answer, answer_page, build_row
from accounts.rest.views import RestView
from accounts.rights.access import require, require_existing
from annotation.actions import labels, projects, qualification
from annotation.actions.review import change_project
from annotation.content.labels import LabelTask, read_label_task
from annotation.models import Membership, Project, Role
from annotation.parsed_items import parse_task
from annotation.policies import check_own_role, list_roles
from annotation.queries import records
from annotation.queries.members import (
    SHARED,
    as_members,
    find_member,
    list_project_invitations,
    list_visible_projects,
)
from annotation.queries.progress import count_totals
from annotation.rest import rows, shapes
from annotation.rest.views import ProjectView, build_refusal
from annotation.views.access import member_or_404
from jobs.rest.webhooks import build_webhook_endpoints
from touchstone.client import project_rows as wire
from touchstone.client.rows import InvitationRow, NewInvitationRow


class Projects(RestView):
    """The projects that you see."""

    @describe_method(answers=PageOf[wire.ProjectRow], query=shapes.ProjectQuery)
    def get(self, request: Request) -> HttpResponseBase:
        """List projects."""
        query = read_query(request, shapes.ProjectQuery)
        wanted = {"workspace__slug": query.workspace, "status": query.status}
        matching = list_visible_projects(self.user).select_related("workspace")
        matching = matching.filter(**{name: value for name, value in wanted.items() if value is not None})
        return answer_page(
            request, query, matching, lambda part: map(rows.build_project_row, as_members(self.user, part))
        )

    @describe_method(answers=wire.ProjectDetail, status=201, takes=shapes.NewProject, creates=True)
    @run_once_per_key
    def post(self, request: Request) -> HttpResponse:
        """Create a project."""
        new = read_body(request, shapes.NewProject)
        workspace = require_existing(Workspace.objects.filter(slug=new.workspace).first())
        require(self.user, Act.ANNOTATION_MANAGE, workspace)
        fields = new.model_dump(exclude={"workspace", "labels"}, exclude_unset=True)
        task = None if new.labels is None else _label_task(new.labels)
        project = projects.create_project(workspace=workspace, by=self.user, labels=task, **fields)
        return _answer_detail(member_or_404(request, project.slug), status=201)


class OneProject(ProjectView):
    """One project."""

    @describe_method(answers=wire.ProjectDetail)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Return one project with its settings and progress."""
        return _answer_detail(self.member(slug))

    @describe_method(answers=wire.ProjectDetail, takes=shapes.ChangedSettings, edits=True)
    def patch(self, request: Request, slug: str) -> HttpResponse:
        """Change the settings of a project."""
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        changed = read_body(request, shapes.ChangedSettings).model_dump(exclude_unset=True)
        with transaction.atomic():
            project = records.lock_project(member.project)
            require_match(request, _compute_tag(project))
            annotators = changed.pop("annotators_per_item", None)
            if changed:
                projects.change_settings(project=project, by=self.user, **changed)
            if annotators is not None:
                projects.set_annotators_per_item(project=project, annotators=annotators, by=self.user)
        return _answer_detail(self.member(slug))


class Labels(ProjectView):
    """The label configuration of a project."""

    @describe_method(answers=shapes.Labels)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Return the layers and labels; a project of programs has none."""
        return _answer_labels(self.member(slug).project)

    @describe_method(answers=shapes.Labels, takes=shapes.Labels, errors=(409,))
    def put(self, request: Request, slug: str) -> HttpResponse:
        """Change labels; items limit that to additions and looks."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        task = _label_task(read_body(request, shapes.Labels))
        return _answer_labels(projects.change_labels(project=project, labels=task, by=self.user))


class LabelNames(ProjectView):
    """The names of labels, in stored annotations too."""

    @describe_method(answers=shapes.Labels, takes=shapes.NewLabelName, errors=(409,))
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Rename a label, and what is marked with it."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        given = read_body(request, shapes.NewLabelName)
        labels.rename_label(project=project, by=self.user, **given.model_dump())
        return _answer_labels(self.member(slug).project)


class LabelRemovals(ProjectView):
    """Labels that go, or become another one."""

    @describe_method(answers=shapes.Labels, takes=shapes.LabelToRemove, errors=(409,))
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Delete an unused label, or merge it into another."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        given = read_body(request, shapes.LabelToRemove)
        labels.remove_label(project=project, by=self.user, **given.model_dump())
        return _answer_labels(self.member(slug).project)


def _label_task(given: shapes.Labels) -> LabelTask:
    try:
        return read_label_task(given.model_dump_json())
    except ValueError as error:
        raise build_refusal("labels", str(error)) from error


def _answer_labels(project: Project) -> HttpResponse:
    task = parse_task(project)
    return answer(shapes.Labels(layers=[layer.shown() for layer in task.layers] if task else []))


def _build_life_cycle_view(act: str, summary: str) -> type[ProjectView]:
    """Return the endpoint of an act of a project's life cycle."""

    def post(self: ProjectView, request: Request, slug: str) -> HttpResponse:
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        change_project(project=member.project, act=act, by=self.user)
        return _answer_detail(self.member(slug))

    post.__doc__ = summary
    view = describe_method(answers=wire.ProjectDetail, errors=(409,))(post)
    return type("LifeCycle", (ProjectView,), {"post": view})


Close = _build_life_cycle_view("close", "Close a project.")
Reopen = _build_life_cycle_view("reopen", "Reopen a project.")


class Members(ProjectView):
    """The people of a project."""

    @describe_method(answers=PageOf[wire.ProjectMemberRow], query=Page)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List the members of a project."""
        people = records.select_members(self.member(slug, Act.ANNOTATION_SETTLE).project)
        return answer_page(request, read_query(request, Page), people, rows.build_member_rows)

    @describe_method(answers=wire.ProjectMemberRow, takes=shapes.NewMember)
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Add a member, or change a role."""
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        new = read_body(request, shapes.NewMember)
        user = records.find_user(new.user)
        if user is None:
            raise build_refusal("user", f"there is no user {new.user!r}")
        check_own_role(self.user, user, new.role, active=True)
        changed = projects.set_member(
            project=member.project, user=user, role=Role(new.role), blind=new.blind, by=self.user
        )
        return _answer_member(changed)


class OneMember(ProjectView):
    """The share of a person in a project."""

    @describe_method(answers=wire.ProjectMemberRow)
    def delete(self, request: Request, slug: str, user: str) -> HttpResponse:
        """End a membership; the person's annotations stay."""
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        share = require_existing(records.select_members(member.project).filter(user__username=user).first())
        role = Role(share.role)
        check_own_role(self.user, share.user, role, active=False)
        ended = projects.set_member(
            project=member.project, user=share.user, role=role, active=False, by=self.user
        )
        return _answer_member(ended)


class Qualification(ProjectView):
    """The decision of a manager about a person's qualification."""

    @describe_method(answers=wire.ProjectMemberRow, takes=shapes.Qualification)
    def post(self, request: Request, slug: str, user: str) -> HttpResponse:
        """Decide if a person qualified; it lifts a failed qualification."""
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        chosen = require_existing(find_member(member.project, user))
        decision = read_body(request, shapes.Qualification)
        return _answer_member(qualification.decide(member=chosen, qualified=decision.qualified, by=self.user))


class Invitations(ProjectView):
    """The invitations to a project that can still be accepted."""

    @describe_method(answers=PageOf[InvitationRow], query=Page)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List the invitations to a project."""
        pending = list_project_invitations(self.member(slug, Act.ANNOTATION_MANAGE).project)
        return answer_page(request, read_query(request, Page), pending, build_invitation_rows)

    @describe_method(answers=NewInvitationRow, status=201, takes=shapes.NewProjectInvitation, creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Invite to a project."""
        project = self.member(slug, Act.ANNOTATION_MANAGE).project
        new = read_body(request, shapes.NewProjectInvitation)
        created = create_invitation(
            workspace=project.workspace,
            role=WorkspaceRole(new.role),
            days=new.days,
            by=self.user,
            email=new.email,
            kind=SHARED,
            shared=project,
        )
        return answer_invitation(created)


class OneInvitation(ProjectView):
    """One invitation to a project."""

    @describe_method(status=204)
    def delete(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Revoke an invitation to a project."""
        pending = list_project_invitations(self.member(slug, Act.ANNOTATION_MANAGE).project)
        invitation = require_existing(pending.filter(pk=pk).first())
        revoke_invitation(invitation=invitation, by=self.user)
        return HttpResponse(status=204)


class Guidelines(ProjectView):
    """Instructions to annotators, in versions."""

    @describe_method(answers=PageOf[wire.GuidelineRow], query=shapes.GuidelineQuery)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List guidelines, every version."""
        member = self.member(slug)
        query = read_query(request, shapes.GuidelineQuery)
        versions = records.list_guideline_versions(member.project)
        if query.module is not None:
            versions = versions.filter(module=query.module)
        return answer_page(request, query, versions, lambda part: map(rows.build_guideline_row, part))

    @describe_method(answers=wire.GuidelineRow, status=201, takes=shapes.NewGuideline)
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Write a guideline's next version."""
        member = self.member(slug, Act.ANNOTATION_MANAGE)
        new = read_body(request, shapes.NewGuideline)
        guideline = projects.write_guideline(
            project=member.project, module=new.module, text=new.text, by=self.user
        )
        return answer(rows.build_guideline_row(guideline), status=201)


Webhooks, OneWebhook, Deliveries = build_webhook_endpoints(
    ProjectView,
    of="project",
    owner=lambda view, slug: view.member(slug, Act.ANNOTATION_MANAGE).project,
    hooks=records.list_webhooks,
    takes=shapes.NewProjectWebhook,
    add=projects.add_webhook,
    end=projects.end_webhook,
)


def _answer_detail(member: Membership, status: int = 200) -> HttpResponse:
    project = member.project
    counts = count_totals(project)
    row = build_row(
        wire.ProjectDetail,
        project,
        workspace=project.workspace.slug,
        roles=list_roles(member),
        items=counts.items,
        complete=counts.complete,
        gold=counts.gold,
        assignments=counts.assignments,
        submitted=counts.submitted,
    )
    return answer(row, status=status, ETag=_compute_tag(project))


def _compute_tag(project: Project) -> str:
    values = [repr(getattr(project, name)) for name in sorted(shapes.ChangedSettings.model_fields)]
    return format_etag("settings", sha256("\n".join(values).encode()).hexdigest()[:16])


def _answer_member(member: Membership) -> HttpResponse:
    return answer(rows.build_member_rows([member])[0])
