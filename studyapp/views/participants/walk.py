"""Views of participants: entry link, consent, and the pages of a study.

The server owns the position: a request for any page but the current one is
redirected to the current one.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from studyapp import link_tokens
from studyapp.actions.pages import note_honeypot
from studyapp.actions.participants import check_room
from studyapp.actions.recruitment import enter
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.participation.recruitment import WayBack
from studyapp.definition.participation.suspicion_flags import HONEYPOT_FIELD
from studyapp.definition.questions.flow import select_visible_questions
from studyapp.models import Device, EntryLink, Mode, Participant, Study, StudyVersion
from studyapp.policies import Full, NotAdmitted, NotArrived, Outdated, check_admission, check_arrival
from studyapp.queries.participants.recruitment import find_link_way_back, find_shown_title
from studyapp.queries.studies import find_latest_version, load_frozen_study, load_translated_study
from studyapp.rules.page_timing import PageTiming, parse_openings
from studyapp.views import participant_messages
from studyapp.views.access import (
    access_ended,
    arrival_of,
    is_another_person,
    is_looking,
    link_of,
    participant_of,
    participant_page,
    remember_participant,
    use_browser_language,
)
from studyapp.views.participants import recruitment
from studyapp.views.participants.pages import Page, consent_context, list_offered_languages, page_of
from studyapp.web import rate_limit
from studyapp.web.forms.participants import build_rows, make_consent_key, read_consent_key
from studyapp.web.forms.posted_answers import parse_answers, parse_changes
from studyapp.web.shared_pages import render_shared


@require_safe
@use_browser_language
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Exchange an entry token and a platform's IDs for cookies.

    Creates no participant. The consent page decides about admission, because only
    there the browser sends the cookie of a person who is in the study already.
    """
    link = link_tokens.find_link(token)
    if link is None:
        raise Http404(_("This study link does not exist. Please check that you copied the whole link."))
    return recruitment.arrive(request, link)


@require_safe
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Continue as a participant, for example on another device."""
    try:
        participant = link_tokens.read_resume(token)
    except link_tokens.AccessEnded:
        return access_ended(request)
    if participant is None:
        raise Http404(_("This personal link is not complete. Please copy the whole link."))
    response = redirect("studyapp:study", participant.version.study.slug)
    remember_participant(response, participant)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@use_browser_language
def consent(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for consent; only agreeing creates a participant."""
    participant, link = participant_of(request, slug), link_of(request, slug)
    if participant is not None and (link is None or not is_another_person(request, link, participant)):
        return redirect(page_of(participant).url)
    if link is None:
        return _ask_for_link(request)
    version, error = find_latest_version(link.study), ""
    try:
        if request.method == "POST" and request.POST.get("consent") == "yes":
            return _enter(_create_from_consent(request, link, version))
        check_arrival(link, arrival_of(request, link))
        check_admission(link)
        if version is not None:
            check_room(version, link.mode)
    except NotArrived as refusal:
        return recruitment.show_bad_address(request, link, "missing", refusal.parameter)
    except Outdated as refusal:
        error = str(refusal)
    except NotAdmitted as refusal:
        return _show_refusal(request, link, refusal)
    if request.method == "POST" and request.POST.get("consent") == "no":
        return redirect("studyapp:declined", slug)
    if request.method == "POST" and not error:
        error = _("Please choose whether you want to take part.")
    assert version is not None  # an open study has been launched
    language = _consent_language(request, load_frozen_study(version))
    with translation.override(language):
        return _ask_consent(request, version, language, link.mode, error)


def _create_from_consent(request: HttpRequest, link: EntryLink, version: StudyVersion | None) -> Participant:
    if link.mode == Mode.BOT:
        rate_limit.leave_uncounted(request)
    page = read_consent_key(request.POST.get("page_key", ""))
    device = request.POST.get("device", "")
    return enter(
        link=link,
        public_id=page and page.public_id,
        shown=page and page.version,
        language=_consent_language(request, load_frozen_study(version)) if version else "",
        device=device if device in Device.values else "",
        arrival=arrival_of(request, link),
    )


def _consent_language(request: HttpRequest, content: FrozenStudy) -> str:
    """Return the chosen language, else the browser's, else the study's."""
    offered = list_offered_languages(content)
    wanted = request.POST.get("language") or request.GET.get("language") or ""
    if wanted not in offered:
        wanted = translation.get_language_from_request(request)
    return wanted if wanted in offered else content.language


def _ask_consent(
    request: HttpRequest, version: StudyVersion, language: str, mode: str, error: str
) -> HttpResponse:
    context = consent_context(load_translated_study(version, language), language)
    context |= {"page_key": make_consent_key(version.number), "mark": mode, "error": error}
    return render(request, "studyapp/participant/consent.html", context, status=422 if error else 200)


def _enter(participant: Participant) -> HttpResponse:
    """Redirect to the current page at once, also after a second consent."""
    response = redirect(page_of(participant).url)
    remember_participant(response, participant)
    return response


def _show_refusal(request: HttpRequest, link: EntryLink, refusal: NotAdmitted) -> HttpResponse:
    status = 403 if link.study.status == Study.Status.DRAFT else 410
    is_full = isinstance(refusal, Full)
    back = find_link_way_back(link, "full", arrival_of(request, link)) if is_full else WayBack()
    context = participant_messages.explain_refusal(find_shown_title(link), str(refusal), back)
    return render(request, "studyapp/participant/message.html", context, status=status)


def _ask_for_link(request: HttpRequest) -> HttpResponse:
    context = participant_messages.ask_for_link()
    return render(request, "studyapp/participant/message.html", context, status=403)


@require_safe
@use_browser_language
def show_declined(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the page for a person who declined. Nothing is stored."""
    context = participant_messages.confirm_decline(slug, recruitment.way_back(request, slug, "no_consent"))
    return render(request, "studyapp/participant/message.html", context)


# In the address of a page, what became of the form that was sent: it belonged to a page that had been
# answered before, its time was over, or it came so long after that its answers were not stored.
_STALE, _TIME_OVER, _TOO_LATE = _NOTICES = ("answered-before", "time-over", "too-late")


def _go(address: str, notice: str = "") -> HttpResponse:
    return HttpResponseRedirect(f"{address}?{notice}" if notice else address)


def _notice(request: HttpRequest) -> str:
    return next((notice for notice in _NOTICES if notice in request.GET), "")


@require_safe
@participant_page
def study(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Redirect to the current page."""
    return _go(page_of(participant).url, _notice(request))


@require_http_methods(["GET", "HEAD", "POST"])
@participant_page
def page(request: HttpRequest, participant: Participant, **_address: object) -> HttpResponse:
    """Show the current page, or store what its form sent."""
    page = page_of(participant)
    if request.path != page.url:
        return _go(page.url, _STALE if request.method == "POST" else _notice(request))
    if request.method == "POST":
        return _submit(request, participant, page)
    if not is_looking(request):
        return HttpResponse(status=200 if request.method == "HEAD" else 503)
    page.show()
    context = page.context() | {"notice": _notice(request)}
    return (render_shared if page.is_shared else render)(request, page.template, context)


# Shown as often as asked, and nothing can be sent from it.
done = require_safe(page)


def _submit(request: HttpRequest, participant: Participant, page: Page) -> HttpResponse:
    if page.name is None or request.POST.get("page_key") != page.key:
        return _go(page.url, _STALE)
    sent = dict(request.POST.lists())
    answers, errors = parse_answers(page.questions, sent, page.earlier)
    time_up = page.check_time_limit(sent_at_the_end="time_is_up" in request.POST)
    if errors and not time_up.has_run_out:
        context = page.context(build_rows(page.questions, sent, errors))
        return render(request, page.template, context, status=422)
    if request.POST.get(HONEYPOT_FIELD):
        note_honeypot(participant=participant, page=page.name)
    shown = select_visible_questions(page.questions, {**page.earlier, **answers})
    changes, timing = parse_changes(shown, sent), PageTiming.parse(request.POST)
    more: dict[str, Any] = {}
    if page.name == "item":
        answers = {} if time_up.is_too_late else answers
        more["articles"] = parse_openings(request.POST.get("articles", ""))
        more["has_run_out"] = time_up.has_run_out
    is_stored = page.submit(answers=answers, changes=changes, timing=timing, **more)
    if not is_stored:  # another tab was faster
        return _go(reverse("studyapp:study", args=[participant.version.study.slug]), _STALE)
    return _go(
        page.next_url, (_TOO_LATE if time_up.is_too_late else _TIME_OVER) if time_up.has_run_out else ""
    )
