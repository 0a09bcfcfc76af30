"""Staff pages: list of studies, progress, life cycle and entry links."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from foundation.errors import TouchstoneError
from foundation.translated_messages import translated_error
from studyapp.actions import studies as actions
from studyapp.actions.links import create_link
from studyapp.actions.running import pause_study, resume_study
from studyapp.models import Study
from studyapp.queries.progress import studies_with_counts, study_progress
from studyapp.rules import states
from studyapp.rules.states import ForbiddenTransition
from studyapp.views.access import staff_only, staff_user, study_or_404
from studyapp.web.participant_forms import LinkForm


@require_safe
@staff_only
def studies(request: HttpRequest) -> HttpResponse:
    """List all studies with their status."""
    return render(request, "studyapp/staff/studies.html", {"studies": studies_with_counts()})


@require_safe
@staff_only
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a study: progress per condition, versions, links."""
    return _study_page(request, study_or_404(slug), LinkForm())


@require_safe
@staff_only
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the progress table, which the study page fetches repeatedly."""
    return render(request, "studyapp/staff/progress.html", {"modes": study_progress(study_or_404(slug))})


@require_POST
@staff_only
def make_link(request: HttpRequest, slug: str) -> HttpResponse:
    """Create an entry link and show it once: only its hash is stored."""
    target = study_or_404(slug)
    form = LinkForm(request.POST)
    if not form.is_valid():
        return _study_page(request, target, form, status=422)
    _link, token = create_link(study=target, by=staff_user(request), **form.cleaned_data)
    address = settings.SITE_URL + reverse("studyapp:join", args=[token])
    return _study_page(request, target, LinkForm(), new_link=address)


@require_POST
@staff_only
def launch(request: HttpRequest, slug: str) -> HttpResponse:
    """Freeze the draft into a version and open the study."""
    return _act(request, slug, actions.launch_study, _("The study is open."))


@require_POST
@staff_only
def pause(request: HttpRequest, slug: str) -> HttpResponse:
    """Stop admitting participants for a while."""
    return _act(request, slug, pause_study, _("Study paused. Participants in progress can finish."))


@require_POST
@staff_only
def resume(request: HttpRequest, slug: str) -> HttpResponse:
    """End a pause."""
    return _act(request, slug, resume_study, _("The study is open again."))


@require_POST
@staff_only
def close(request: HttpRequest, slug: str) -> HttpResponse:
    """Stop admitting participants."""
    return _act(request, slug, actions.close_study, _("Study closed. Participants in progress can finish."))


@require_POST
@staff_only
def reopen(request: HttpRequest, slug: str) -> HttpResponse:
    """Admit participants again."""
    return _act(request, slug, actions.reopen_study, _("The study is open again."))


def _act(request: HttpRequest, slug: str, action: Callable[..., Any], done: str) -> HttpResponse:
    try:
        action(study=study_or_404(slug), by=staff_user(request))
    except (TouchstoneError, ForbiddenTransition) as error:
        messages.error(request, translated_error(error))
    else:
        messages.success(request, done)
    return redirect("studyapp:staff_study", slug)


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
