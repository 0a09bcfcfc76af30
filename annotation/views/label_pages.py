"""Pages of the labels of a project: change, rename, merge and delete."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.policy_table import Act
from accounts.rights.access import require_user
from annotation.actions import labels as label_actions
from annotation.actions import projects
from annotation.content.labels import LabelTask, label_yaml
from annotation.errors import Conflict
from annotation.forms.labels import LabelsForm, RemoveLabelForm, RenameLabelForm
from annotation.models import Membership
from annotation.parsed_items import parse_task
from annotation.views.access import members_only
from foundation.translated_messages import translate_error


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def labels(request: HttpRequest, member: Membership) -> HttpResponse:
    """Change the label configuration of a project of a plain task."""
    project = member.project
    if (task := parse_task(project)) is None:
        return _refuse_without_labels(request, member)
    form = LabelsForm(request.POST or None, initial={"labels": label_yaml(task)})
    if request.method == "POST" and form.is_valid():
        try:
            projects.change_labels(
                project=project, labels=form.cleaned_data["labels"], by=require_user(request)
            )
        except Conflict as error:
            form.add_error("labels", translate_error(error))
        else:
            messages.success(request, _("Saved the labels."))
            return redirect("annotation:labels", project.slug)
    return _page(request, member, task, labels_form=form)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def change_label(request: HttpRequest, member: Membership, act: str) -> HttpResponse:
    """Rename a label, merge it into another one, or delete an unused one."""
    if (task := parse_task(member.project)) is None:
        return _refuse_without_labels(request, member)
    form_of_act, change = _ACTS[act]
    form = form_of_act(request.POST, task=task)
    if form.is_valid():
        try:
            change(project=member.project, by=require_user(request), **form.values())
        except Conflict as error:
            form.add_error(None, translate_error(error))
        else:
            done = _("Merged the labels.") if form.values().get("into") else _("Deleted the label.")
            messages.success(request, _("Renamed the label.") if act == "rename" else done)
            return redirect("annotation:labels", member.project.slug)
    return _page(request, member, task, **{f"{act}_form": form})


_ACTS: dict[str, tuple[type[RenameLabelForm | RemoveLabelForm], Callable[..., object]]] = {
    "rename": (RenameLabelForm, label_actions.rename_label),
    "remove": (RemoveLabelForm, label_actions.remove_label),
}


def _refuse_without_labels(request: HttpRequest, member: Membership) -> HttpResponse:
    messages.info(request, _("This project has programs, not labels."))
    return redirect("annotation:settings", member.project.slug)


def _page(request: HttpRequest, member: Membership, task: LabelTask, **sent: forms.Form) -> HttpResponse:
    wrong = [form for form in sent.values() if form.errors]
    context = {
        "project": member.project,
        "form": wrong[0] if wrong else None,
        "labels_form": LabelsForm(initial={"labels": label_yaml(task)}),
        "rename_form": RenameLabelForm(task=task),
        "remove_form": RemoveLabelForm(task=task),
        "has_labels": any(layer.names or layer.questions for layer in task.layers),
        "has_items": member.project.items.exists(),
        **sent,
    }
    return render(request, "annotation/labels.html", context, status=422 if wrong else 200)
