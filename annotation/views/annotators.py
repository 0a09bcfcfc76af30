"""Pages of an annotator: projects, one project, the editor."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from accounts.queries.workspaces import select_workspaces
from accounts.rights.access import require_user
from accounts.rights.current_workspace import find_chosen_workspace
from annotation import states
from annotation.actions import assignments
from annotation.errors import NothingLeft
from annotation.models import Annotation, Membership
from annotation.policies import NotAllowed, can_begin, check_annotating, check_working, list_roles, may
from annotation.queries import charts
from annotation.queries.annotations import build_editor_state, describe_guidelines, list_upcoming_images
from annotation.queries.batches import (
    build_batch_progress,
    count_overdue_batches,
    is_overdue,
    list_unfinished_batches,
    select_batches,
)
from annotation.queries.members import list_memberships
from annotation.queries.progress import Totals, count_totals, list_own_annotations, list_people_progress
from annotation.queries.review import count_to_settle
from annotation.views.access import annotation_or_404, members_only
from annotation.views.tables import PROJECTS

SHOWN = 50  # of a person's annotations


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """List the projects that the person sees."""
    user = require_user(request)
    workspace = find_chosen_workspace(request)
    table = PROJECTS.of(request.GET)
    rows = [
        (member, list_roles(member), can_begin(member), is_overdue(member.project))
        for member in list_memberships(user, workspace)
    ]
    context = {
        "table": table,
        "memberships": table.rows(rows),
        "may_create": select_workspaces(user, Act.ANNOTATION_MANAGE).exists(),
    }
    return render(request, "annotation/home.html", context)


@require_safe
@members_only()
def project(request: HttpRequest, member: Membership) -> HttpResponse:
    """Show one project: progress, own annotations, and the next item."""
    project = member.project
    counts = count_totals(project)
    context: dict[str, Any] = {
        "member": member,
        "project": project,
        "totals": counts,
        "annotations": list_own_annotations(member)[:SHOWN],
        "guidelines": describe_guidelines(project),
        "states": charts.count_items_by_state(counts),
        "batches": list_unfinished_batches(member),
        "is_overdue": is_overdue(project) and counts.complete < counts.items,
    }
    if may(member, Act.ANNOTATION_SETTLE):
        context["days"] = charts.count_submissions_by_day(project)
    if may(member, Act.ANNOTATION_MANAGE):
        context["persons"] = charts.build_progress_bars(list_people_progress(project))
        context["acts"] = [move.act for move in states.PROJECT if project.status in move.sources]
    context["to_do"] = _suggest_next_act(member, context)
    context["stats"] = _figures(counts)
    context["refusal"] = _explain_no_items(member)
    return render(request, "annotation/project.html", context)


def _explain_no_items(member: Membership) -> str:
    """Return why an annotator receives no items, "" if they may."""
    if not may(member, Act.ANNOTATE):
        return ""
    try:
        check_annotating(member)
    except NotAllowed as error:
        return str(error)
    return ""


def _figures(counts: Totals) -> list[tuple[str, int]]:
    """Return the figures of a project with their labels."""
    return [
        (_("Items"), counts.items),
        (_("With all annotations"), counts.complete),
        (_("With gold"), counts.gold),
        (_("Annotations submitted"), counts.submitted),
    ]


def _suggest_next_act(member: Membership, context: dict[str, Any]) -> tuple[str, str, str] | None:
    """Return the next act of a person: sentence, link, label."""
    slug, counts = member.project.slug, context["totals"]
    if not counts.items:
        return None  # the page says so itself
    returned = [annotation for annotation in context["annotations"] if annotation.is_returned]
    if returned:
        sentence = ngettext(
            "%(number)d annotation was returned to you.",
            "%(number)d annotations were returned to you.",
            len(returned),
        )
        link = reverse("annotation:editor", args=[returned[0].pk])
        return sentence % {"number": len(returned)}, link, _("Continue")
    late = count_overdue_batches(member.project) if may(member, Act.ANNOTATION_MANAGE) else 0
    if late:
        sentence = ngettext("%(number)d batch is overdue.", "%(number)d batches are overdue.", late)
        return sentence % {"number": late}, reverse("annotation:batches", args=[slug]), _("Batches")
    waiting = count_to_settle(member.project) if may(member, Act.ANNOTATION_SETTLE) else 0
    if waiting > 0:
        sentence = ngettext(
            "%(number)d item is complete and waits for a decision.",
            "%(number)d items are complete and wait for a decision.",
            waiting,
        )
        return sentence % {"number": waiting}, reverse("annotation:review", args=[slug]), _("Review")
    if not may(member, Act.ANNOTATION_MANAGE):
        return None
    if not context["guidelines"]:
        link = reverse("annotation:guideline", args=[slug])
        return _("Annotators have no guidelines yet."), link, _("Write guidelines")
    if counts.gold == counts.items:
        return _("Every item has gold."), reverse("annotation:export", args=[slug]), _("Export")
    if not counts.submitted and len(context["persons"]) == 0:
        link = reverse("annotation:members", args=[slug])
        return _("Nobody has annotated yet."), link, _("Invite annotators")
    return None


@require_POST
@members_only(Act.ANNOTATE)
def open_next_item(request: HttpRequest, member: Membership) -> HttpResponse:
    """Assign the next item and open it."""
    try:
        annotation = assignments.assign_next_annotation(member=member)
    except NotAllowed:  # the page says why
        return redirect("annotation:project", member.project.slug)
    except NothingLeft as error:
        messages.info(request, str(error))
        return redirect("annotation:project", member.project.slug)
    return redirect("annotation:editor", annotation.pk)


@require_safe
@login_required
def editor(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the editor."""
    annotation, member = annotation_or_404(request, pk, item=True)
    state = build_editor_state(annotation) | {"upcoming": list_upcoming_images(member)}
    context = {
        "annotation_json": state,
        "annotation_url": reverse("projects_rest:annotation", args=[pk]),
        "project": annotation.project,
        "may_settle": may(member, Act.ANNOTATION_SETTLE),
        "read_only": _explain_read_only(member, annotation),
        "requests": _list_requested_changes(annotation, state),
        "progress": _progress(member, annotation),
    }
    return render(request, "annotation/editor.html", context)


def _progress(member: Membership, annotation: Annotation) -> str:
    """Return how much the person has finished, of their batch if it is one."""
    if annotation.batch_id is not None:
        (progress,) = build_batch_progress(select_batches(member.project).filter(pk=annotation.batch_id))
        given = {
            "name": progress.batch.name,
            "done": progress.finished,
            "of": progress.items,
            "due": progress.batch.due_on,
        }
        if progress.batch.due_on is None:
            return _("%(name)s: %(done)d of %(of)d items finished") % given
        return _("%(name)s: %(done)d of %(of)d items finished, due %(due)s") % given
    done = (
        list_own_annotations(member)
        .filter(task=Annotation.Task.ANNOTATION, submitted_at__isnull=False)
        .count()
    )
    return ngettext("%(done)d item finished", "%(done)d items finished", done) % {"done": done}


def _list_requested_changes(annotation: Annotation, state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the open comments of others on returned annotations, with steps."""
    if annotation.task != Annotation.Task.ANNOTATION or annotation.status != Annotation.Status.RETURNED:
        return []
    nodes, own = state["program"]["nodes"], annotation.annotator.get_username()
    return [
        comment | {"step": nodes[comment["node"]]["label"] if comment["node"] is not None else ""}
        for comment in state["comments"]
        if not comment["resolved"] and comment["by"] != own
    ]


def _explain_read_only(member: Membership, annotation: Annotation) -> str:
    """Return why the person can only read an annotation, "" if they may work."""
    try:
        check_working(member, annotation)
    except NotAllowed as error:
        return str(error)
    return ""
