"""The studio: define a study on web pages, step by step."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Workspace
from accounts.policy_table import Act
from accounts.rights.access import require_user
from foundation.errors import TouchstoneError
from foundation.messages import say
from foundation.translated_messages import show_errors, translate_error, translate_text
from studyapp.actions import drafts as actions
from studyapp.definition.questions.scales import SCALES
from studyapp.definition.yaml_document import DefinitionError
from studyapp.models import Study
from studyapp.queries.design.drafts import (
    Edited,
    find_redoable_revision,
    find_undoable_revision,
    list_systems_on_dataset,
    list_usable_names,
    preview_draft,
    read_current_draft,
)
from studyapp.studio import edits, starts
from studyapp.studio.drafts import Draft, Problem, as_yaml
from studyapp.studio.files import read_draft
from studyapp.studio.forms import build_form
from studyapp.studio.steps import BY_NAME, STEPS, Step, find_label
from studyapp.views.access import study_page, workspaces_page
from studyapp.views.staff.results import build_attachment
from studyapp.views.studio.forms import Submitted, read_submitted_draft, sign_unsaved
from studyapp.views.studio.preview import build_preview_form, choices
from studyapp.web.forms.studio import FileStartForm, ScaleForm, StartForm


@require_safe
@workspaces_page(Act.STUDY_EDIT)
def home(request: HttpRequest, workspaces: list[Workspace]) -> HttpResponse:
    """Show the forms to start a study from a template or a file."""
    return _home(request, StartForm(workspaces=workspaces), FileStartForm(workspaces=workspaces))


@require_POST
@workspaces_page(Act.STUDY_EDIT)
def start(request: HttpRequest, workspaces: list[Workspace]) -> HttpResponse:
    """Create a study whose draft covers the systems with predictions."""
    filled, file = StartForm(request.POST, workspaces=workspaces), FileStartForm(workspaces=workspaces)
    if not filled.is_valid():
        return _home(request, filled, file, status=422)
    data = filled.cleaned_data
    draft = starts.build_draft(
        starts.STARTS[data["start"]],
        slug=data["slug"],
        title=data["title"],
        title_for_participants=data["title_for_participants"],
        dataset=data["dataset"],
        systems=list_systems_on_dataset(data["dataset"], filled.chosen_workspace),
    )
    try:
        study = actions.start_draft(draft=draft, workspace=filled.chosen_workspace, by=require_user(request))
    except TouchstoneError as error:
        filled.add_error("slug", translate_error(error))
        return _home(request, filled, file, status=422)
    return redirect("studyapp:studio_step", study.slug, STEPS[0].name)


@require_POST
@workspaces_page(Act.STUDY_EDIT)
def start_from_file(request: HttpRequest, workspaces: list[Workspace]) -> HttpResponse:
    """Create a study from a YAML definition, which may be incomplete."""
    filled = FileStartForm(request.POST, request.FILES, workspaces=workspaces)
    new = StartForm(workspaces=workspaces)
    if not filled.is_valid():
        return _home(request, new, filled, status=422)
    try:
        content = read_draft(filled.text, filled.name)
        draft = starts.from_file(content, slug=content["study"])
        study = actions.start_draft(draft=draft, workspace=filled.chosen_workspace, by=require_user(request))
    except DefinitionError as error:
        filled.add_error("file", [f"{where}{translate_text(message)}" for where, message in error.lines])
    except TouchstoneError as error:
        filled.add_error("file", translate_error(error))
    else:
        return redirect("studyapp:studio_step", study.slug, STEPS[0].name)
    return _home(request, new, filled, status=422)


def _home(request: HttpRequest, new: StartForm, file: FileStartForm, *, status: int = 200) -> HttpResponse:
    context = {"new": new, "file": file, "refused": new if new.errors else file, "starts": starts.STARTS}
    return render(request, "studyapp/studio/home.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Act.STUDY_EDIT)
def step(request: HttpRequest, study: Study, name: str, go_on: bool = False) -> HttpResponse:
    """Show the form of a step, or save it."""
    step = _step_or_404(name)
    if request.method == "POST":
        return _save(request, study, step, go_on=go_on)
    return _step_page(request, study, step, read_current_draft(study))


def _step_page(
    request: HttpRequest, study: Study, step: Step, now: Edited, *, status: int = 200
) -> HttpResponse:
    """Show the form of a step, filled from the draft, beside the preview."""
    seen = preview_draft(now.draft, study.workspace)
    offered = list_usable_names(now.draft, study, require_user(request))
    at = request.GET.get("at", "")
    built = build_form(step, now.draft, offered, seen.problems, at)
    content = seen.content
    chosen = choices(content, {"preview_page": step.preview, **request.GET.dict()}, "preview_")
    context = {
        **studio_frame(study, now, seen.problems, step.name),
        "step": step,
        "form": built,
        "at": at,
        "made_up": seen.made_up,
        "preview": build_preview_form(content, chosen),
        "errors": status != 200,
        "unsaved": sign_unsaved(study, step, now.draft) if status != 200 else "",
    }
    return render(request, "studyapp/studio/step.html", context, status=status)


def _save(request: HttpRequest, study: Study, step: Step, *, go_on: bool) -> HttpResponse:
    sent = read_submitted_draft(request, study, step)
    try:
        actions.save_draft(
            study=study, base=sent.base, draft=sent.draft, changed=step.name, by=require_user(request)
        )
    except TouchstoneError as error:
        return _show_unsaved(request, study, step, sent, error)
    left = [
        problem for problem in preview_draft(sent.draft, study.workspace).problems if step_of(problem) == step
    ]
    messages.success(request, _("Saved. This step is not complete yet.") if left else _("Saved."))
    if go_on and not left:
        next_step = STEPS.index(step) + 1
        if next_step == len(STEPS):
            return redirect("studyapp:studio_review", study.slug)
        step = STEPS[next_step]
    return redirect("studyapp:studio_step", study.slug, step.name)


@require_POST
@study_page(Act.STUDY_EDIT)
def add(request: HttpRequest, study: Study, name: str, path: str) -> HttpResponse:
    """Save, and add a row or an optional part."""
    return _edit(
        request,
        study,
        name,
        lambda draft: edits.add_part(draft, edits.parse_location(path), _what(request, path)),
    )


@require_POST
@study_page(Act.STUDY_EDIT)
def remove(request: HttpRequest, study: Study, name: str, path: str) -> HttpResponse:
    """Save, and remove a row or an optional part."""
    location = edits.parse_location(path)
    return _edit(request, study, name, lambda draft: (edits.remove_part(draft, location), location[:-1]))


@require_POST
@study_page(Act.STUDY_EDIT)
def move(request: HttpRequest, study: Study, name: str, path: str, by: int) -> HttpResponse:
    """Save, and move a row up or down."""
    location = edits.parse_location(path)
    index = location[-1]
    to = (*location[:-1], max(index + by, 0)) if isinstance(index, int) else location
    return _edit(request, study, name, lambda draft: (edits.move_row(draft, location, by), to))


@require_POST
@study_page(Act.STUDY_EDIT)
def upload_image(request: HttpRequest, study: Study, name: str, path: str) -> HttpResponse:
    """Save, and show an uploaded image in a question."""
    location, file = edits.parse_location(path), request.FILES.get(f"upload:{path}")
    if location[-2:] != ("image", "file") or location[:-3] not in edits.QUESTIONS:
        raise Http404(_("The studio does not have this field."))

    def change(draft: Draft) -> tuple[Draft, tuple[int | str, ...]]:
        edits.read_value(draft, location)  # refuses a question that is gone
        if file is None:
            raise edits.CannotEdit(say("Choose a file first."))
        return edits.set_value(draft, location, actions.store_question_image(file=file)), location[:-2]

    return _edit(request, study, name, change)


@require_POST
@study_page(Act.STUDY_EDIT)
def change_kind(request: HttpRequest, study: Study, name: str, path: str) -> HttpResponse:
    """Save, and show the fields of the chosen kind of answer."""
    location = edits.parse_location(path)
    return _edit(request, study, name, lambda draft: (draft, location))


def _what(request: HttpRequest, path: str) -> str:
    """Return the kind to add, from the button or the list beside it."""
    return request.POST.get("what") or request.POST.get(f"what:{path}") or ""


def _edit(
    request: HttpRequest,
    study: Study,
    name: str,
    change: Callable[[Draft], tuple[Draft, tuple[int | str, ...]]],
) -> HttpResponse:
    """Save a step with one more change, and show the changed field."""
    step = _step_or_404(name)
    sent = read_submitted_draft(request, study, step)
    at: tuple[int | str, ...] = ()
    try:
        draft, at = change(sent.draft)
        actions.save_draft(study=study, base=sent.base, draft=draft, changed=name, by=require_user(request))
    except TouchstoneError as error:
        return _show_unsaved(request, study, step, sent, error)
    return redirect(_address(study, step, at))


def _show_unsaved(
    request: HttpRequest, study: Study, step: Step, sent: Submitted, error: TouchstoneError
) -> HttpResponse:
    """Show the step again with its unsaved fields, and the newest draft."""
    messages.error(request, translate_error(error))
    return _step_page(request, study, step, Edited(sent.now.number, sent.draft), status=409)


def _address(study: Study, step: Step, at: tuple[int | str, ...]) -> str:
    address = reverse("studyapp:studio_step", args=[study.slug, step.name])
    return f"{address}?{urlencode({'at': '.'.join(str(part) for part in at)})}" if at else address


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Act.STUDY_EDIT)
def scales(request: HttpRequest, study: Study, name: str, path: str) -> HttpResponse:
    """Choose a scale by name for a list of questions."""
    step = _step_or_404(name)
    now, location = read_current_draft(study), edits.parse_location(path)
    if location not in edits.QUESTIONS:
        raise Http404(_("You can add scales to lists of questions only."))
    filled = ScaleForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and filled.is_valid():
        try:
            draft = edits.add_scale(
                now.draft, location, filled.cleaned_data["scale"], filled.cleaned_data["items"]
            )
            actions.save_draft(
                study=study, base=now.number, draft=draft, changed=name, by=require_user(request)
            )
        except TouchstoneError as error:
            filled.add_error("items", translate_error(error))
        else:
            return redirect(_address(study, step, location))
    context = {
        **studio_frame(study, now, preview_draft(now.draft, study.workspace).problems, name),
        "step": step,
        "path": path,
        "form": filled,
        "scales": SCALES,
    }
    return render(request, "studyapp/studio/scales.html", context, status=422 if filled.errors else 200)


@require_POST
@study_page(Act.STUDY_EDIT)
def go_to_scales(request: HttpRequest, study: Study, name: str, path: str) -> HttpResponse:
    """Save, and go to the page of scales."""
    response = _edit(request, study, name, lambda draft: (draft, ()))
    saved = response.status_code == 302
    return redirect("studyapp:studio_scales", study.slug, name, path) if saved else response


@require_POST
@study_page(Act.STUDY_EDIT)
def undo(request: HttpRequest, study: Study) -> HttpResponse:
    """Go back to the previous revision."""
    return _travel(request, study, actions.undo_draft, _("Undid the last change."))


@require_POST
@study_page(Act.STUDY_EDIT)
def redo(request: HttpRequest, study: Study) -> HttpResponse:
    """Redo the change that was undone last."""
    return _travel(request, study, actions.redo_draft, _("Redid the change."))


@require_POST
@study_page(Act.STUDY_EDIT)
def go_to(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Make another revision the current one."""
    done = _("Revision %(n)d is now the draft.") % {"n": number}
    return _travel(request, study, actions.go_to_revision, done, number=number)


def _travel(
    request: HttpRequest, study: Study, action: Callable[..., Any], done: str, **arguments: Any
) -> HttpResponse:
    """Change the revision, and return to the page of the button."""
    with show_errors(request, TouchstoneError):
        action(study=study, by=require_user(request), **arguments)
        messages.success(request, done)
    name = request.POST.get("from", "")
    return (
        redirect("studyapp:studio_step", study.slug, name)
        if name in BY_NAME
        else redirect("studyapp:studio_review", study.slug)
    )


@require_safe
@study_page(Act.STUDY_EDIT)
def export(request: HttpRequest, study: Study) -> HttpResponse:
    """Download the draft as a YAML file."""
    text = as_yaml(read_current_draft(study).draft)
    return build_attachment(text, f"{study.slug}.yaml", "application/yaml; charset=utf-8")


def _step_or_404(name: str) -> Step:
    if name not in BY_NAME:
        raise Http404(_("The studio does not have this step."))
    return BY_NAME[name]


def step_of(problem: Problem) -> Step | None:
    """Return the step that edits a problem."""
    first = problem.location[0] if problem.location else ""
    return next((studio_step for studio_step in STEPS if first in studio_step.fields), None)


def format_field_path(problem: Problem) -> str:
    """Return the labels of the path to a field; rows are counted from 1."""
    fields = [problem.location[: end + 1] for end in range(len(problem.location))]
    return " › ".join(
        str(path[-1] + 1) if isinstance(path[-1], int) else _(find_label(path)) for path in fields
    )


def studio_frame(study: Study, now: Edited, problems: list[Problem], here: str) -> dict[str, Any]:
    """Return what all studio pages show: steps, open problems, undo, redo."""
    left = [step_of(problem) for problem in problems]
    return {
        "study": study,
        "now": now,
        "here": here,
        "steps": [(studio_step, left.count(studio_step)) for studio_step in STEPS],
        "left": len(problems),
        "undoable": find_undoable_revision(study, now),
        "redoable": find_redoable_revision(study, now),
    }
