"""Pages of a manager: dashboard, members, guidelines, settings, audit log."""

import csv
from collections.abc import Iterator

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import NOT_THERE, require_somewhere, user_of
from accounts.policy import Act
from annotation import states
from annotation.actions import assignments, projects, review
from annotation.errors import AssignmentLost
from annotation.event_labels import EVENT_LABELS
from annotation.forms import (
    AnnotatorsPerItemForm,
    AssignForm,
    GuidelineForm,
    MemberForm,
    ProjectForm,
    SettingsForm,
)
from annotation.models import Membership, Project, Role
from annotation.policies import NotAllowed, check_own_role
from annotation.queries.annotations import guidelines
from annotation.queries.progress import Person, people, totals, unfinished_annotations
from annotation.states import ForbiddenTransition
from annotation.views.access import members_only


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_project(request: HttpRequest) -> HttpResponse:
    """Create a project in a workspace where the user manages annotation."""
    workspaces = require_somewhere(user_of(request), Act.ANNOTATION_MANAGE)
    form = ProjectForm(request.POST or None, workspaces=workspaces)
    if request.method == "POST" and form.is_valid():
        given = {"workspace": workspaces[0]} | form.cleaned_data
        created = projects.create_project(by=user_of(request), **given)
        messages.success(request, _("Created the project. Next, add members and import items."))
        return redirect("annotation:dashboard", created.slug)
    return _form_page(request, form, _("New annotation project"), status=422 if form.errors else 200)


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def dashboard(request: HttpRequest, member: Membership) -> HttpResponse:
    """Show progress, people and the manager's controls."""
    return _dashboard(
        request,
        member,
        MemberForm(),
        AnnotatorsPerItemForm({"annotators_per_item": member.project.annotators_per_item}),
    )


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def people_csv(request: HttpRequest, member: Membership) -> StreamingHttpResponse:
    """Export the table of people as CSV."""
    response = StreamingHttpResponse(_csv(people(member.project)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{member.project.slug}-people.csv"'
    return response


class _Line:
    """A file that returns what is written to it."""

    def write(self, text: str) -> str:
        """Return the text."""
        return text


def _csv(rows: list[Person]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow(Person._fields)
    for row in rows:
        yield writer.writerow(["" if value is None else value for value in row])


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def set_member(request: HttpRequest, member: Membership) -> HttpResponse:
    """Add a person, change a role, or end a membership."""
    form = MemberForm(request.POST)
    if not form.is_valid():
        places = AnnotatorsPerItemForm({"annotators_per_item": member.project.annotators_per_item})
        return _dashboard(request, member, form, places, status=422)
    user, by = form.cleaned_data["username"], user_of(request)
    given = {"role": Role(form.cleaned_data["role"]), "active": form.cleaned_data["active"]}
    try:
        check_own_role(by, user, **given)
    except NotAllowed as error:
        messages.error(request, str(error))
    else:
        projects.set_member(project=member.project, user=user, by=by, **given)
        messages.success(request, _("Saved the membership of %(name)s.") % {"name": user})
    return redirect("annotation:dashboard", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def set_annotators_per_item(request: HttpRequest, member: Membership) -> HttpResponse:
    """Change the number of annotators per item."""
    form = AnnotatorsPerItemForm(request.POST)
    if not form.is_valid():
        return _dashboard(request, member, MemberForm(), form, status=422)
    changed = projects.set_annotators_per_item(
        project=member.project, annotators=form.cleaned_data["annotators_per_item"], by=user_of(request)
    )
    messages.success(
        request, _("Updated the number of annotators for %(number)d items.") % {"number": changed}
    )
    return redirect("annotation:dashboard", member.project.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def settings(request: HttpRequest, member: Membership) -> HttpResponse:
    """Change the settings of the project."""
    form = SettingsForm(request.POST or None, instance=Project.objects.get(pk=member.project_id))
    if request.method == "POST" and form.is_valid():
        projects.change_settings(project=member.project, by=user_of(request), **form.cleaned_data)
        messages.success(request, _("Saved the settings."))
        return redirect("annotation:dashboard", member.project.slug)
    return _form_page(request, form, _("Settings"), member.project, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def write_guideline(request: HttpRequest, member: Membership) -> HttpResponse:
    """Write a new version of a guideline; the one before stays on record."""
    module = request.GET.get("module", "")
    text = guidelines(member.project).get(module, {}).get("text", "")
    form = GuidelineForm(
        request.POST or None, project=member.project, initial={"module": module, "text": text}
    )
    if request.method == "POST" and form.is_valid():
        projects.write_guideline(project=member.project, by=user_of(request), **form.cleaned_data)
        messages.success(request, _("Saved the guideline."))
        return redirect("annotation:project", member.project.slug)
    return _form_page(request, form, _("Guideline"), member.project, status=422 if form.errors else 200)


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def under_way(request: HttpRequest, member: Membership) -> HttpResponse:
    """List the assignments in progress, the longest untouched first."""
    return _annotations_page(request, member, AssignForm(project=member.project))


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def reclaim(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Release an assignment of somebody else."""
    annotation = member.project.annotations.filter(pk=pk).first()
    if annotation is None:
        raise Http404(NOT_THERE)
    try:
        assignments.release(annotation=annotation, by=user_of(request))
    except (ForbiddenTransition, NotAllowed) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Released the assignment. The annotation is kept."))
    return redirect("annotation:under_way", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def assign(request: HttpRequest, member: Membership) -> HttpResponse:
    """Assign an item to a member."""
    form = AssignForm(request.POST, project=member.project)
    if not form.is_valid():
        return _annotations_page(request, member, form, status=422)
    item, chosen = form.cleaned_data["item"], form.cleaned_data["username"]
    try:
        assignments.assign(item=item, member=chosen, by=user_of(request))
    except AssignmentLost as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Assigned the item."))
    return redirect("annotation:under_way", member.project.slug)


def _annotations_page(
    request: HttpRequest, member: Membership, form: AssignForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "project": member.project,
        "annotations": unfinished_annotations(member.project)[:200],
        "form": form,
    }
    return render(request, "annotation/in_progress.html", context, status=status)


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def audit(request: HttpRequest, member: Membership) -> HttpResponse:
    """Show the audit log, newest first."""
    rows = member.project.audit.select_related("actor").order_by("-pk")
    page = Paginator(rows, 100).get_page(request.GET.get("page"))
    acts = [
        (event, EVENT_LABELS.kind_label(event.kind), EVENT_LABELS.detail_labels(event.data)) for event in page
    ]
    return render(request, "annotation/audit.html", {"project": member.project, "page": page, "acts": acts})


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def change_status(request: HttpRequest, member: Membership, act: str) -> HttpResponse:
    """Close or reopen the project."""
    try:
        review.change_project(project=member.project, act=act, by=user_of(request))
    except ForbiddenTransition as error:
        messages.error(request, str(error))
    return redirect("annotation:dashboard", member.project.slug)


def _dashboard(
    request: HttpRequest,
    member: Membership,
    member_form: MemberForm,
    annotators_form: AnnotatorsPerItemForm,
    *,
    status: int = 200,
) -> HttpResponse:
    project = member.project
    context = {
        "project": project,
        "totals": totals(project),
        "people": people(project),
        "member_form": member_form,
        "annotators_form": annotators_form,
        "acts": [move.act for move in states.PROJECT if project.status in move.sources],
    }
    return render(request, "annotation/dashboard.html", context, status=status)


def _form_page(
    request: HttpRequest, form: object, title: str, project: Project | None = None, *, status: int = 200
) -> HttpResponse:
    context = {"form": form, "title": title, "project": project}
    return render(request, "annotation/form.html", context, status=status)
