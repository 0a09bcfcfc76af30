"""The last page of the studio: checklist, rehearsal and launch."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import NOT_THERE, require_user
from analysis.planning.registration_forms import FORMS
from foundation.errors import TouchstoneError
from foundation.translated_messages import show_errors, translate_error, translate_text
from studyapp.actions import drafts as actions
from studyapp.actions.links import create_link
from studyapp.actions.rehearsals import start_rehearsal
from studyapp.actions.studies import accept_check, launch_study
from studyapp.definition.yaml_document import DefinitionError
from studyapp.exports.registration import build_draft_preregistration
from studyapp.models import Mode, Study
from studyapp.queries.design.correctness import count_design_correctness, count_judges, list_shown_answers
from studyapp.queries.design.designs import build_design
from studyapp.queries.design.drafts import list_revisions, preview_draft, read_current_draft
from studyapp.queries.design.launches import CheckState, build_checklist
from studyapp.queries.running.overview import has_live_link
from studyapp.queries.studies import find_latest_version
from studyapp.rules.states import ForbiddenTransition
from studyapp.simulation_job import SimulationOptions
from studyapp.studio import starts
from studyapp.studio.drafts import Problem, parse_draft
from studyapp.studio.files import read_draft
from studyapp.studio.widgets import Widget
from studyapp.views.access import study_page
from studyapp.views.staff.results import build_attachment, start_job
from studyapp.views.studio.steps import format_field_path, step_of, studio_frame
from studyapp.web.event_labels import CHANGES
from studyapp.web.forms.studio import DecisionForm, ImportForm
from studyapp.web.launch_checks import CHECK_TITLES, REASON_LABELS

HISTORY = 30  # revisions on the page
FEWEST_BOTS = 4


@require_safe
@study_page(Act.STUDY_EDIT)
def review(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the whole draft: checklist, launch, history and file."""
    return _review(request, study)


@require_POST
@study_page(Act.STUDY_EDIT)
def replace(request: HttpRequest, study: Study) -> HttpResponse:
    """Replace the draft by a definition in a file; keep the short name."""
    filled = ImportForm(request.POST, request.FILES)
    if filled.is_valid():
        try:
            draft = starts.from_file(read_draft(filled.text, filled.name), slug=study.slug)
            now = read_current_draft(study)
            actions.save_draft(
                study=study, base=now.number, draft=draft, changed="file", by=require_user(request)
            )
        except DefinitionError as error:
            filled.add_error("file", [f"{where}{translate_text(message)}" for where, message in error.lines])
        except TouchstoneError as error:
            filled.add_error("file", translate_error(error))
        else:
            messages.success(request, _("Replaced the draft by the file."))
            return redirect("studyapp:studio_review", study.slug)
    return _review(request, study, file=filled, status=422)


@require_POST
@study_page(Act.STUDY_EDIT)
def accept(request: HttpRequest, study: Study, check: str) -> HttpResponse:
    """Record the decision to launch although a check is open."""
    if check not in REASON_LABELS:
        raise Http404(str(NOT_THERE))
    form = DecisionForm(request.POST, check=check)
    if form.is_valid():
        try:
            accept_check(
                study=study, check=check, reason=form.cleaned_data["reason"], by=require_user(request)
            )
        except TouchstoneError as error:
            form.add_error("reason", translate_error(error))
        else:
            messages.success(request, _("Decision recorded."))
            return redirect("studyapp:studio_review", study.slug)
    return _review(request, study, decision=form, status=422)


@require_POST
@study_page(Act.STUDY_EDIT)
def rehearse(request: HttpRequest, study: Study) -> HttpResponse:
    """Have bots walk the draft, frozen provisionally."""
    with show_errors(request, TouchstoneError):
        rehearsal = start_rehearsal(study=study, by=require_user(request))
        bots = max(FEWEST_BOTS, len(study.definition["conditions"]))
        options = SimulationOptions(study=study.pk, rehearsal=rehearsal.pk, n=bots)
        return start_job(request, study, "simulate_participants", options)
    return redirect("studyapp:studio_review", study.slug)


@require_POST
@study_page(Act.STUDY_EDIT)
def rehearsal_link(request: HttpRequest, study: Study) -> HttpResponse:
    """Create a link by which the team walks the draft, and show it once."""
    with show_errors(request, TouchstoneError):
        rehearsal = start_rehearsal(study=study, by=require_user(request))
        _link, token = create_link(
            study=rehearsal, by=require_user(request), label="rehearsal of the team", mode=Mode.PILOT
        )
        return _review(request, study, new_link=settings.SITE_URL + reverse("studyapp:join", args=[token]))
    return redirect("studyapp:studio_review", study.slug)


@require_POST
@study_page(Act.STUDY_EDIT)
def launch(request: HttpRequest, study: Study) -> HttpResponse:
    """Freeze the draft into a version and open the study."""
    with show_errors(request, TouchstoneError, ForbiddenTransition):
        version = launch_study(study=study, by=require_user(request))
        launched = (
            _("Launched version %(n)d. Existing entry links lead to it.")
            if has_live_link(study)
            else _("Launched version %(n)d. Create an entry link to invite participants.")
        )
        messages.success(request, launched % {"n": version.number})
        return redirect("studyapp:staff_study", study.slug)
    return redirect("studyapp:studio_review", study.slug)


@require_safe
@study_page(Act.STUDY_EDIT)
def preregistration(request: HttpRequest, study: Study, form: str) -> HttpResponse:
    """Download the pre-registration of the draft."""
    if form not in FORMS:
        raise Http404(str(NOT_THERE))
    with show_errors(request, TouchstoneError):
        text = build_draft_preregistration(study, form)
        return build_attachment(text, f"{study.slug}-{form}.md", "text/markdown; charset=utf-8")
    return redirect("studyapp:studio_review", study.slug)


def _review(
    request: HttpRequest,
    study: Study,
    *,
    file: ImportForm | None = None,
    decision: DecisionForm | None = None,
    new_link: str = "",
    status: int = 200,
) -> HttpResponse:
    now = read_current_draft(study)
    seen, version = preview_draft(now.draft, study.workspace), find_latest_version(study)
    problems, definition = seen.problems, parse_draft(now.draft)
    checks = build_checklist(study, seen)
    is_newest = version is not None and not problems and seen.content.hash() == version.hash
    plan = build_design(definition, study.workspace) if definition and not problems else None
    context = {
        **studio_frame(study, now, problems, "review"),
        "unchanged": is_newest and study.status == Study.Status.OPEN,
        "checks": [_check(check, decision) for check in checks],
        "is_ready": all(check.state in ("done", "decided") for check in checks),
        "correctness": count_design_correctness(plan) if plan else [],
        "judges": count_judges(list_shown_answers(plan)) if plan else 0,
        "forms": [(name, form.title) for name, form in FORMS.items()] if plan else [],
        "hash": seen.content.hash() if plan else "",
        "new_link": new_link,
        "history": [
            (revision, CHANGES.get(revision.changed, revision.changed))
            for revision in list_revisions(study)[:HISTORY]
        ],
        "version": version,
        "file": file or ImportForm(),
        "refused": file or decision,
        "shows_title": seen.content.shown_title == seen.content.title,
    }
    return render(request, "studyapp/studio/review.html", context, status=status)


def _check(state: CheckState, decision: DecisionForm | None) -> dict[str, Any]:
    """Return a line of the checklist with the step that corrects it."""
    problem = Problem(state.location, state.message)
    step = step_of(problem) if state.state == "refused" else None
    form = decision if decision and decision.check == state.name else None
    if form is None and state.name in REASON_LABELS:
        form = DecisionForm(check=state.name)
    return {
        "check": state,
        "title": CHECK_TITLES[state.name],
        "step": step,
        "place": format_field_path(problem) if state.location else "",
        "at": ".".join(map(str, state.location)),
        "field": Widget("text", state.location).id,
        "form": form,
    }
