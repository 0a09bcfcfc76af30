"""Pages of the labels of a project: change, rename, merge and delete."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import user_of
from accounts.policy import Act
from annotation.actions import labels as label_actions
from annotation.actions import projects
from annotation.errors import Conflict
from annotation.forms import LabelsForm, RemoveLabelForm, RenameLabelForm
from annotation.labels import LabelTask, label_yaml
from annotation.models import Membership
from annotation.parsed_items import task_of
from annotation.views.access import members_only
from foundation.translated_messages import translated_error


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def labels(request: HttpRequest, member: Membership) -> HttpResponse:
    """Change the label configuration of a project of a plain task."""
    project = member.project
    if (task := task_of(project)) is None:
        return _no_labels(request, member)
    form = LabelsForm(request.POST or None, initial={"labels": label_yaml(task)})
    if request.method == "POST" and form.is_valid():
        try:
            projects.change_labels(project=project, labels=form.cleaned_data["labels"], by=user_of(request))
        except Conflict as error:
            form.add_error("labels", translated_error(error))
        else:
            messages.success(request, _("Saved the labels."))
            return redirect("annotation:labels", project.slug)
    return _page(request, member, task, form=form)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def rename(request: HttpRequest, member: Membership) -> HttpResponse:
    """Rename a label, and what is marked with it."""
    if (task := task_of(member.project)) is None:
        return _no_labels(request, member)
    form = RenameLabelForm(request.POST, task=task)

    def act() -> str:
        label_actions.rename_label(project=member.project, by=user_of(request), **form.values())
        return _("Renamed the label.")

    return _done(request, member, form, act) or _page(request, member, task, rename_form=form)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def remove(request: HttpRequest, member: Membership) -> HttpResponse:
    """Delete an unused label, or merge it into another one."""
    if (task := task_of(member.project)) is None:
        return _no_labels(request, member)
    form = RemoveLabelForm(request.POST, task=task)

    def act() -> str:
        label_actions.remove_label(project=member.project, by=user_of(request), **form.values())
        return _("Merged the labels.") if form.values()["into"] else _("Deleted the label.")

    return _done(request, member, form, act) or _page(request, member, task, remove_form=form)


def _no_labels(request: HttpRequest, member: Membership) -> HttpResponse:
    messages.info(request, _("This project has programs, not labels."))
    return redirect("annotation:settings", member.project.slug)


def _done(
    request: HttpRequest, member: Membership, form: forms.Form, act: Callable[[], str]
) -> HttpResponse | None:
    """Act on a valid form; return None if it has errors."""
    if not form.is_valid():
        return None
    try:
        messages.success(request, act())
    except Conflict as error:
        form.add_error(None, translated_error(error))
        return None
    return redirect("annotation:labels", member.project.slug)


def _page(
    request: HttpRequest,
    member: Membership,
    task: LabelTask,
    *,
    form: LabelsForm | None = None,
    rename_form: RenameLabelForm | None = None,
    remove_form: RemoveLabelForm | None = None,
) -> HttpResponse:
    wrong = [each for each in (form, rename_form, remove_form) if each is not None and each.errors]
    context = {
        "project": member.project,
        "form": wrong[0] if wrong else None,
        "labels_form": form or LabelsForm(initial={"labels": label_yaml(task)}),
        "rename_form": rename_form or RenameLabelForm(task=task),
        "remove_form": remove_form or RemoveLabelForm(task=task),
        "has_labels": any(layer.names or layer.questions for layer in task.layers),
        "has_items": member.project.items.exists(),
    }
    return render(request, "annotation/labels.html", context, status=422 if wrong else 200)
