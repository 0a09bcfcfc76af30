"""Pages of studies: list, progress, life cycle and entry links."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import user_of
from accounts.current_workspace import chosen_workspace
from accounts.policy import Act
from foundation.errors import TouchstoneError
from foundation.translated_messages import translated_error
from studyapp.actions import studies as actions
from studyapp.actions.links import create_link
from studyapp.actions.running import pause_study, resume_study
from studyapp.models import Study
from studyapp.queries.progress import studies_with_counts, study_progress
from studyapp.rules import states
from studyapp.rules.states import ForbiddenTransition
from studyapp.views.access import study_page
from studyapp.web.participant_forms import LinkForm


@require_safe
@login_required
def studies(request: HttpRequest) -> HttpResponse:
    """List the studies that the user may see, with their status."""
    user = user_of(request)
    workspace = chosen_workspace(request)
    return render(request, "studyapp/staff/studies.html", {"studies": studies_with_counts(user, workspace)})


@require_safe
@study_page(Act.STUDY_SEE)
def study(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study: progress per condition, versions, links."""
    return _study_page(request, study, LinkForm())


@require_safe
@study_page(Act.STUDY_SEE)
def progress(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the progress table, which the study page fetches repeatedly."""
    return render(request, "studyapp/staff/progress.html", {"modes": study_progress(study)})


@require_POST
@study_page(Act.STUDY_EDIT)
def make_link(request: HttpRequest, study: Study) -> HttpResponse:
    """Create an entry link and show it once: only its hash is stored."""
    form = LinkForm(request.POST)
    if not form.is_valid():
        return _study_page(request, study, form, status=422)
    _link, token = create_link(study=study, by=user_of(request), **form.cleaned_data)
    address = settings.SITE_URL + reverse("studyapp:join", args=[token])
    return _study_page(request, study, LinkForm(), new_link=address)


@require_POST
@study_page(Act.STUDY_EDIT)
def launch(request: HttpRequest, study: Study) -> HttpResponse:
    """Freeze the draft into a version and open the study."""
    return _act(request, study, actions.launch_study, _("The study is open."))


@require_POST
@study_page(Act.STUDY_EDIT)
def pause(request: HttpRequest, study: Study) -> HttpResponse:
    """Stop admitting participants for a while."""
    return _act(request, study, pause_study, _("Study paused. Participants in progress can finish."))


@require_POST
@study_page(Act.STUDY_EDIT)
def resume(request: HttpRequest, study: Study) -> HttpResponse:
    """End a pause."""
    return _act(request, study, resume_study, _("The study is open again."))


@require_POST
@study_page(Act.STUDY_EDIT)
def close(request: HttpRequest, study: Study) -> HttpResponse:
    """Stop admitting participants."""
    return _act(request, study, actions.close_study, _("Study closed. Participants in progress can finish."))


@require_POST
@study_page(Act.STUDY_EDIT)
def reopen(request: HttpRequest, study: Study) -> HttpResponse:
    """Admit participants again."""
    return _act(request, study, actions.reopen_study, _("The study is open again."))


def _act(request: HttpRequest, study: Study, action: Callable[..., Any], done: str) -> HttpResponse:
    try:
        action(study=study, by=user_of(request))
    except (TouchstoneError, ForbiddenTransition) as error:
        messages.error(request, translated_error(error))
    else:
        messages.success(request, done)
    return redirect("studyapp:staff_study", study.slug)


def _study_page(
    request: HttpRequest, study: Study, form: LinkForm, *, new_link: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "study": study,
        "modes": study_progress(study),
        "versions": study.versions.defer("frozen").order_by("-number"),
        "links": study.links.order_by("-created_at", "-pk"),
        "acts": [move.act for move in states.STUDY if study.status in move.sources],
        "form": form,
        "new_link": new_link,
    }
    return render(request, "studyapp/staff/study.html", context, status=status)
