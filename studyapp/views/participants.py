"""The participant's way: link, consent, stages before the items, items, post survey, completion code.

The server owns the position: a request for any page but the current one is redirected to the current one.
"""

from typing import Any, cast

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from studyapp import link_tokens
from studyapp.actions import pages as actions
from studyapp.actions.recruitment import enter
from studyapp.definition.freezing import FrozenStudy
from studyapp.definition.recruitment import WayBack
from studyapp.definition.suspicion_flags import HONEYPOT_FIELD
from studyapp.models import (
    EntryLink,
    Mode,
    Outcome,
    Participant,
    Stage,
    StageResponse,
    Study,
    StudyVersion,
    Trial,
)
from studyapp.policies import Full, NotAdmitted, NotArrived, check_admission, check_arrival
from studyapp.queries.recruitment import way_back_of, way_back_of_link
from studyapp.queries.studies import (
    CurrentPage,
    condition_name,
    current_page,
    frozen,
    latest_version,
    localised,
)
from studyapp.rules.page_timing import PageTiming
from studyapp.views import recruitment, told
from studyapp.views.access import (
    arrival_of,
    in_browser_language,
    is_looking,
    link_of,
    participant_of,
    participant_page,
    remember_participant,
)
from studyapp.web import rate_limit
from studyapp.web.participant_forms import (
    CLOCK_FIELDS,
    PageName,
    Row,
    consent_public_id,
    empty_questions_html,
    new_consent_key,
    page_key,
    questions_html,
    questions_of,
    rows,
)
from studyapp.web.posted_answers import parse_answers, parse_changes
from studyapp.web.stimulus_html import instructions_html, stimulus_html


@require_safe
@in_browser_language
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Exchange an entry token, and a platform's ids, for cookies and a clean address. Creates no participant.

    Whether the person may enter is decided on the consent page: only there the cookie of somebody who is
    in the study already is sent.
    """
    link = link_tokens.find_link(token)
    if link is None:
        raise Http404(_("There is no such study link. Please check that you copied the whole link."))
    return recruitment.arrive(request, link)


@require_safe
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Take a participant on, for example on another device."""
    participant = link_tokens.read_resume(token)
    if participant is None:
        raise Http404(_("This personal link is not complete. Please copy the whole link."))
    response = redirect("studyapp:study", participant.version.study.slug)
    remember_participant(response, participant)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@in_browser_language
def consent(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for consent; only agreeing creates a participant."""
    participant = participant_of(request, slug)
    if participant is not None:
        return redirect(_address(participant, current_page(participant)))
    link = link_of(request, slug)
    if link is None:
        return _no_link(request)
    try:
        if request.method == "POST" and request.POST.get("consent") == "yes":
            return _enter(_consented(request, link))
        check_arrival(link, arrival_of(request, link))
        check_admission(link)
    except NotArrived as refusal:
        return recruitment.refused(request, link, "missing", refusal.parameter)
    except NotAdmitted as refusal:
        return _refused(request, link, refusal)
    if request.method == "POST" and request.POST.get("consent") == "no":
        return redirect("studyapp:declined", slug)
    version = latest_version(link.study)
    assert version is not None  # an open study has been launched
    language = _wanted_language(request, frozen(version))
    with translation.override(language):
        return _ask_consent(request, version, language)


def _consented(request: HttpRequest, link: EntryLink) -> Participant:
    if link.mode == Mode.BOT:
        rate_limit.leave_uncounted(request)
    version = latest_version(link.study)
    language = _wanted_language(request, frozen(version)) if version else ""
    public_id = consent_public_id(request.POST.get("page_key", ""))
    return enter(link=link, public_id=public_id, language=language, arrival=arrival_of(request, link))


def _wanted_language(request: HttpRequest, content: FrozenStudy) -> str:
    """The language chosen, else that of the browser, where the study has it; else that of the study."""
    offered = offered_languages(content)
    wanted = request.POST.get("language") or request.GET.get("language") or ""
    if wanted not in offered:
        wanted = translation.get_language_from_request(request)
    return wanted if wanted in offered else content.language


def offered_languages(content: FrozenStudy) -> dict[str, str]:
    """The languages that both the study and the site speak, with their own names."""
    spoken = {code for code, _name in settings.LANGUAGES}
    return {
        code: translation.get_language_info(code)["name_local"]
        for code in content.languages
        if code in spoken or code == content.language
    }


def _ask_consent(request: HttpRequest, version: StudyVersion, language: str) -> HttpResponse:
    content = localised(version, language)
    offered = offered_languages(content)
    missing = request.method == "POST"
    context = {
        "title": content.title,
        "consent": content.consent,
        "instructions": "" if content.instructions_page else content.instructions,
        "page_key": new_consent_key(),
        "language": language,
        "languages": offered if len(offered) > 1 else {},
        "error": _("Please say whether you want to take part.") if missing else "",
    }
    return render(request, "studyapp/participant/consent.html", context, status=422 if missing else 200)


def _enter(participant: Participant) -> HttpResponse:
    """Go to the first page at once; somebody who consents again is sent on from there."""
    response = redirect(_address(participant, current_page(participant)))
    remember_participant(response, participant)
    return response


def _refused(request: HttpRequest, link: EntryLink, refusal: NotAdmitted) -> HttpResponse:
    status = 403 if link.study.status == Study.Status.DRAFT else 410
    is_full = isinstance(refusal, Full)
    back = way_back_of_link(link, "full", arrival_of(request, link)) if is_full else WayBack()
    context = told.not_admitted(link.study.title, str(refusal), back)
    return render(request, "studyapp/participant/message.html", context, status=status)


def _no_link(request: HttpRequest) -> HttpResponse:
    return render(request, "studyapp/participant/message.html", told.without_link(), status=403)


@require_safe
@in_browser_language
def declined(request: HttpRequest, slug: str) -> HttpResponse:
    """What a person sees who does not want to take part. Nothing is stored."""
    context = told.declined(slug, recruitment.way_back(request, slug, "no_consent"))
    return render(request, "studyapp/participant/message.html", context)


@require_safe
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirect to the current page."""
    participant = participant_of(request, slug)
    if participant is None:
        return redirect("studyapp:consent", slug)
    return redirect(_address(participant, current_page(participant)))


@require_http_methods(["GET", "HEAD", "POST"])
@participant_page
def stage(request: HttpRequest, participant: Participant, name: str) -> HttpResponse:
    """A page before the items: screening, instructions, comprehension check, survey."""
    page = current_page(participant)
    if page.stage is None or page.stage.stage != name:
        return redirect(_address(participant, page))
    return _timed_page(request, participant, page, cast("PageName", name))


@require_http_methods(["GET", "HEAD", "POST"])
@participant_page
def item(request: HttpRequest, participant: Participant, position: int) -> HttpResponse:
    """One item: what the condition shows, and the questions about it."""
    page = current_page(participant)
    if page.trial is None or page.trial.position != position:
        return redirect(_address(participant, page))
    return _timed_page(request, participant, page, "item")


@require_http_methods(["GET", "HEAD", "POST"])
@participant_page
def survey(request: HttpRequest, participant: Participant) -> HttpResponse:
    """The questions after the last item."""
    page = current_page(participant)
    if page.kind != "survey":
        return redirect(_address(participant, page))
    return _timed_page(request, participant, page, "survey")


@require_safe
@participant_page
def done(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Say how it ended, show the codes, as often as asked, then offer the way back to the platform."""
    page = current_page(participant)
    if page.kind != "done":
        return redirect(_address(participant, page))
    has_withdrawn = participant.status == Participant.Status.WITHDRAWN
    context = {
        "title": localised(participant.version, participant.language).title,
        "outcome": participant.outcome or Outcome.DONE,
        "has_withdrawn": has_withdrawn,
        "back": WayBack() if has_withdrawn else way_back_of(participant),
        "withdrawal_code": "" if has_withdrawn else participant.withdrawal_code or "",
    }
    return render(request, "studyapp/participant/done.html", context)


def _timed_page(
    request: HttpRequest, participant: Participant, page: CurrentPage, kind: PageName
) -> HttpResponse:
    row = page.trial or page.survey or page.stage
    assert row is not None
    key = page_key(kind, row.pk)
    if request.method != "POST":
        if not is_looking(request):
            return HttpResponse(status=200 if request.method == "HEAD" else 503)
        _note_shown(participant, page)
        return _render_page(request, participant, page, kind, key)
    if request.POST.get("page_key") != key:
        return redirect(_address(participant, page))
    questions = questions_of(participant.version, kind, participant.language)
    sent = dict(request.POST.lists())
    answers, errors = parse_answers(questions, sent)
    if errors:
        filled = rows(questions, sent, errors)
        return _render_page(request, participant, page, kind, key, filled=filled)
    if request.POST.get(HONEYPOT_FIELD):
        actions.note_honeypot(participant=participant, page=kind)
    changes, timing = parse_changes(questions, sent), PageTiming.parse(request.POST)
    if page.trial is not None:
        actions.submit_trial(trial=page.trial, answers=answers, changes=changes, timing=timing)
    elif page.stage is not None:
        actions.submit_stage(page=page.stage, answers=answers, changes=changes, timing=timing)
    else:
        actions.submit_survey(participant=participant, answers=answers, changes=changes, timing=timing)
    return redirect(_next_address(participant, page))


def _note_shown(participant: Participant, page: CurrentPage) -> None:
    if page.trial is not None:
        actions.show_trial(trial=page.trial)
    elif page.stage is not None and page.stage.shown_at is None:
        actions.show_stage(page=page.stage)
    elif page.survey is not None and page.survey.shown_at is None:
        actions.show_survey(participant=participant)


def _render_page(
    request: HttpRequest,
    participant: Participant,
    page: CurrentPage,
    kind: PageName,
    key: str,
    filled: list[Row] | None = None,
) -> HttpResponse:
    version, language = participant.version, participant.language
    content = localised(version, language)
    context = {
        "title": content.title,
        "instructions": instructions_html(version, language) if page.kind in ("item", "stage") else "",
        "steps": page.items,
        "page_key": key,
        "clocks": CLOCK_FIELDS,
        "honeypot": HONEYPOT_FIELD,
        "questions": (
            empty_questions_html(version, kind, language) if filled is None else questions_html(filled)
        ),
        "errors": [row for row in filled or [] if row.error],
        "resume_url": settings.SITE_URL
        + reverse("studyapp:resume", args=[link_tokens.resume_token(participant)]),
        "kind": kind,
    }
    if page.trial is not None:
        context |= _item_context(participant, page, page.trial)
    elif page.stage is not None:
        context |= stage_context(content, page.stage)
    else:
        context |= {"place": _("Last page"), "submit_text": _("Finish"), "step": page.items}
    return render(request, "studyapp/participant/page.html", context, status=422 if filled else 200)


def _item_context(participant: Participant, page: CurrentPage, trial: Trial) -> dict[str, Any]:
    """What an item page has beside its questions. Practice items are counted apart."""
    version = participant.version
    number = trial.position - page.practice
    is_practice = number < 1
    place = (
        _("Practice %(n)d of %(all)d") % {"n": trial.position, "all": page.practice}
        if is_practice
        else _("Question %(n)d of %(all)d") % {"n": number, "all": page.items}
    )
    return {
        "place": place,
        "step": max(number - 1, 0),
        "is_practice": is_practice,
        "submit_text": _("Save and go on"),
        "stimulus": stimulus_html(
            version,
            condition=condition_name(version, trial.condition_id) if trial.condition_id else "",
            item_id=trial.item.external_id,
            language=participant.language,
        ),
    }


def stage_context(content: FrozenStudy, page: StageResponse) -> dict[str, Any]:
    """What a page before the items has beside its questions."""
    headings = {
        Stage.SCREENING: _("A few questions first"),
        Stage.INSTRUCTIONS: _("What you will do"),
        Stage.COMPREHENSION: _("Is everything clear?"),
        Stage.PRE_SURVEY: _("Before you begin"),
    }
    tries = content.comprehension.tries if content.comprehension else 0
    return {
        "place": headings[Stage(page.stage)],
        "heading": headings[Stage(page.stage)],
        "submit_text": _("Go on"),
        "step": 0,
        "again": page.attempt > 1,
        "tries_left": tries - page.attempt + 1,
        "shows_instructions": page.stage == Stage.INSTRUCTIONS or page.attempt > 1,
    }


def _address(participant: Participant, page: CurrentPage) -> str:
    slug = participant.version.study.slug
    if page.trial is not None:
        return reverse("studyapp:item", args=[slug, page.trial.position])
    if page.stage is not None:
        return reverse("studyapp:stage", args=[slug, page.stage.stage])
    return reverse(f"studyapp:{page.kind}", args=[slug])


def _next_address(participant: Participant, page: CurrentPage) -> str:
    """The page after this one, without another query; were it not the right one, it would redirect."""
    slug = participant.version.study.slug
    if page.stage is not None:
        return reverse("studyapp:study", args=[slug])
    if page.trial is None:
        return reverse("studyapp:done", args=[slug])
    if page.trial.position < page.practice + page.items:
        return reverse("studyapp:item", args=[slug, page.trial.position + 1])
    return reverse("studyapp:survey", args=[slug])
