"""Pages of members: people, invitations, assignments, bots."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.actions.invitations import create_invitation, revoke_invitation
from accounts.models import Role as WorkspaceRole
from accounts.people.mail import send_invitation
from accounts.policy_table import Act
from accounts.rights.access import require_existing, require_user
from annotation.actions import assignments, projects, qualification
from annotation.errors import AssignmentLost
from annotation.forms.assignment import AssignForm
from annotation.forms.members import BotsForm, MemberForm, ProjectInvitationForm
from annotation.models import Membership, Role
from annotation.policies import NotAllowed, check_own_role
from annotation.queries import records
from annotation.queries.members import SHARED, find_member, list_project_invitations
from annotation.queries.progress import (
    Person,
    count_unfinished,
    list_people_progress,
    list_unfinished_annotations,
)
from annotation.states import ForbiddenTransition
from annotation.views.access import members_only
from annotation.views.tables import IN_PROGRESS, PEOPLE
from foundation.pages.spreadsheet import build_csv_download
from foundation.translated_messages import show_errors, translate_error
from jobs.queries import list_user_jobs
from jobs.tasks import start_job


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def list_members(request: HttpRequest, member: Membership) -> HttpResponse:
    """Show the people of the project, and ways to add more."""
    if not (name := request.GET.get("change")):
        return _page(request, member)
    chosen = require_existing(records.select_members(member.project).filter(user__username=name).first())
    return _page(request, member, member_form=MemberForm(project=member.project, member=chosen))


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def export_people(request: HttpRequest, member: Membership) -> StreamingHttpResponse:
    """Export the table of people as CSV."""
    return build_csv_download(
        f"{member.project.slug}-people", Person._fields, list_people_progress(member.project)
    )


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def set_member(request: HttpRequest, member: Membership) -> HttpResponse:
    """Add a person, change a role, or end a membership."""
    form = MemberForm(request.POST, project=member.project)
    if not form.is_valid():
        return _page(request, member, status=422, form=form, member_form=form)
    user, by = form.cleaned_data["username"], require_user(request)
    given = {"role": Role(form.cleaned_data["role"]), "active": form.cleaned_data["active"]}
    try:
        check_own_role(by, user, **given)
    except NotAllowed as error:
        messages.error(request, translate_error(error))
    else:
        projects.set_member(
            project=member.project, user=user, by=by, blind=form.cleaned_data["blind"], **given
        )
        messages.success(request, _("Saved the membership of %(name)s.") % {"name": user})
    return redirect("annotation:members", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def qualify(request: HttpRequest, member: Membership) -> HttpResponse:
    """Let a person work who failed the qualification, or has no score."""
    chosen = require_existing(find_member(member.project, request.POST.get("username", "")))
    qualification.decide(member=chosen, qualified=True, by=require_user(request))
    messages.success(request, _("%(name)s is qualified and receives items.") % {"name": chosen.user})
    return redirect("annotation:members", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def invite(request: HttpRequest, member: Membership) -> HttpResponse:
    """Create an invitation to the project and show its link, only once."""
    form = ProjectInvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, member, status=422, form=form, invitation_form=form)
    data = form.cleaned_data
    created = create_invitation(
        workspace=member.project.workspace,
        role=WorkspaceRole(data["role"]),
        days=data["days"],
        by=require_user(request),
        email=data["email"],
        kind=SHARED,
        shared=member.project,
    )
    link = settings.SITE_URL + reverse("people:invitation", args=[created.token])
    context = {
        "project": member.project,
        "invitation": created.invitation,
        "link": link,
        "mailed": send_invitation(created.invitation, link),
    }
    return render(request, "annotation/invited.html", context)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def revoke(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Revoke an open invitation to the project."""
    invitation = require_existing(list_project_invitations(member.project).filter(pk=pk).first())
    revoke_invitation(invitation=invitation, by=require_user(request))
    messages.success(request, _("Revoked the invitation."))
    return redirect("annotation:members", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def bots(request: HttpRequest, member: Membership) -> HttpResponse:
    """Start bots that annotate the project."""
    form = BotsForm(request.POST)
    if not form.is_valid():
        return _page(request, member, status=422, form=form, bots_form=form)
    start_job(
        kind="simulate_annotators",
        workspace=member.project.workspace,
        by=require_user(request),
        subject=member.project.slug,
        options={"project": member.project_id, **form.cleaned_data},
    )
    return redirect("annotation:members", member.project.slug)


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def list_open_assignments(request: HttpRequest, member: Membership) -> HttpResponse:
    """List the assignments in progress, the longest untouched first."""
    return _annotations_page(request, member, AssignForm(project=member.project))


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def reclaim(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Release an assignment of somebody else."""
    annotation = require_existing(member.project.annotations.filter(pk=pk).first())
    with show_errors(request, ForbiddenTransition, NotAllowed):
        assignments.release(annotation=annotation, by=require_user(request))
        messages.success(request, _("Released the assignment. The annotation remains saved."))
    return redirect("annotation:under_way", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def assign(request: HttpRequest, member: Membership) -> HttpResponse:
    """Assign an item to a member."""
    form = AssignForm(request.POST, project=member.project)
    if not form.is_valid():
        return _annotations_page(request, member, form, status=422)
    item, chosen = form.cleaned_data["item"], form.cleaned_data["username"]
    with show_errors(request, AssignmentLost):
        assignments.assign(item=item, member=chosen, by=require_user(request))
        messages.success(request, _("Assigned the item."))
    return redirect("annotation:under_way", member.project.slug)


def _annotations_page(
    request: HttpRequest, member: Membership, form: AssignForm, *, status: int = 200
) -> HttpResponse:
    counts = count_unfinished(member.project)
    table = IN_PROGRESS.of(request.GET)
    context = {
        "project": member.project,
        "stats": [
            (_("Reserved"), counts["reserved"]),
            (_("Returned to annotators"), counts["returned"]),
            (_("People at work"), counts["people"]),
        ],
        "table": table,
        "annotations": list_unfinished_annotations(member.project).order_by(*table.order())[:200],
        "form": form,
    }
    return render(request, "annotation/in_progress.html", context, status=status)


def _page(request: HttpRequest, member: Membership, *, status: int = 200, **forms: object) -> HttpResponse:
    project, table = member.project, PEOPLE.of(request.GET)
    invitations = list_project_invitations(project)
    simulations = list_user_jobs(require_user(request)).filter(
        kind="simulate_annotators", options__project=project.pk
    )
    context = {
        "project": project,
        "table": table,
        "people": table.rows(list_people_progress(project)),
        "member_form": MemberForm(project=project),
        "invitation_form": ProjectInvitationForm(),
        "invitations": invitations,
        "bots_form": BotsForm(),
        "bots_job": simulations.first(),
    }
    return render(request, "annotation/members.html", context | forms, status=status)
