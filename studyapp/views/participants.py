"""The participant's way: link, consent, items, post survey, completion code.

The server owns the position: a request for any page but the current one is redirected to the current one.
"""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from studyapp import tokens
from studyapp.actions import participants as actions
from studyapp.forms import (
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
from studyapp.models import EntryLink, Participant, Study
from studyapp.policies import NotAdmitted, check_admission
from studyapp.queries.studies import CurrentPage, current_page, frozen, latest_version
from studyapp.questionnaires import parse_answers, parse_changes
from studyapp.stimuli import instructions_html, stimulus_html
from studyapp.timing import PageTiming
from studyapp.views.access import (
    is_looking,
    link_of,
    participant_of,
    remember_link,
    remember_participant,
)


@require_safe
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Exchange an entry token for a cookie and a clean address. Creates no participant.

    Whether the person may enter is decided on the consent page: only there the cookie of somebody who is
    in the study already is sent.
    """
    link = tokens.find_link(token)
    if link is None:
        raise Http404(_("There is no such study link. Please check that you copied the whole link."))
    response = redirect("studyapp:consent", link.study.slug)
    remember_link(response, link)
    return response


@require_safe
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Take a participant on, for example on another device."""
    participant = tokens.read_resume(token)
    if participant is None:
        raise Http404(_("This personal link is not complete. Please copy the whole link."))
    response = redirect("studyapp:study", participant.version.study.slug)
    remember_participant(response, participant)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
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
            public_id = consent_public_id(request.POST.get("page_key", ""))
            return _enter(actions.consent(link=link, public_id=public_id))
        check_admission(link)
    except NotAdmitted as refusal:
        return _refused(request, link, refusal)
    if request.method == "POST" and request.POST.get("consent") == "no":
        return redirect("studyapp:declined", slug)
    return _ask_consent(request, link)


def _ask_consent(request: HttpRequest, link: EntryLink) -> HttpResponse:
    version = latest_version(link.study)
    assert version is not None  # an open study has been launched
    content = frozen(version)
    missing = request.method == "POST"
    context = {
        "title": content.title,
        "consent": content.consent,
        "instructions": content.instructions,
        "page_key": new_consent_key(),
        "error": _("Please say whether you want to take part.") if missing else "",
    }
    return render(request, "studyapp/participant/consent.html", context, status=422 if missing else 200)


def _enter(participant: Participant) -> HttpResponse:
    """Go to the first item at once; somebody who consents again is sent on from there."""
    response = redirect("studyapp:item", participant.version.study.slug, 1)
    remember_participant(response, participant)
    return response


def _refused(request: HttpRequest, link: EntryLink, refusal: NotAdmitted) -> HttpResponse:
    status = 403 if link.study.status == Study.Status.DRAFT else 410
    paragraphs = [str(refusal), _("Nothing was stored. You can close this page.")]
    context = {"title": link.study.title, "heading": _("You cannot take part now"), "paragraphs": paragraphs}
    return render(request, "studyapp/participant/message.html", context, status=status)


def _no_link(request: HttpRequest) -> HttpResponse:
    context = {
        "title": "Touchstone",
        "heading": _("Please open your study link again"),
        "paragraphs": [
            _("This page can be entered only by the link that you were given. Please open that link again."),
            _("If you came by the link just now, your browser kept no cookie. This site needs cookies to "
              "remember where you are. Please allow cookies for this site, then open the link again."),
        ],
    }  # fmt: skip
    return render(request, "studyapp/participant/message.html", context, status=403)


@require_safe
def declined(request: HttpRequest, slug: str) -> HttpResponse:
    """What a person sees who does not want to take part. Nothing is stored."""
    context = {
        "title": "Touchstone",
        "heading": _("You are not taking part"),
        "paragraphs": [_("That is fine. Nothing about you was stored. You can close this page.")],
        "link_url": reverse("studyapp:consent", args=[slug]),
        "link_text": _("I changed my mind"),
    }
    return render(request, "studyapp/participant/message.html", context)


@require_safe
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirect to the current page."""
    participant = participant_of(request, slug)
    if participant is None:
        return redirect("studyapp:consent", slug)
    return redirect(_address(participant, current_page(participant)))


@require_http_methods(["GET", "HEAD", "POST"])
def item(request: HttpRequest, slug: str, position: int) -> HttpResponse:
    """One item: what the condition shows, and the questions about it."""
    participant = participant_of(request, slug)
    if participant is None:
        return redirect("studyapp:consent", slug)
    page = current_page(participant)
    if page.trial is None or page.trial.position != position:
        return redirect(_address(participant, page))
    return _timed_page(request, participant, page, "item")


@require_http_methods(["GET", "HEAD", "POST"])
def survey(request: HttpRequest, slug: str) -> HttpResponse:
    """The questions after the last item."""
    participant = participant_of(request, slug)
    if participant is None:
        return redirect("studyapp:consent", slug)
    page = current_page(participant)
    if page.kind != "survey":
        return redirect(_address(participant, page))
    return _timed_page(request, participant, page, "survey")


@require_safe
def done(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the completion code, as often as asked, then the way back to where the person came from."""
    participant = participant_of(request, slug)
    if participant is None:
        return redirect("studyapp:consent", slug)
    page = current_page(participant)
    if page.kind != "done":
        return redirect(_address(participant, page))
    content = frozen(participant.version)
    code = participant.completion_code
    back = content.redirect_url.replace("{code}", code) if content.redirect_url else ""
    context = {"title": content.title, "code": code, "redirect_url": back}
    return render(request, "studyapp/participant/done.html", context)


def _timed_page(
    request: HttpRequest, participant: Participant, page: CurrentPage, kind: PageName
) -> HttpResponse:
    row = page.trial or page.survey
    assert row is not None
    key = page_key(kind, row.pk)
    if request.method != "POST":
        if not is_looking(request):
            return HttpResponse(status=200 if request.method == "HEAD" else 503)
        _note_shown(participant, page)
        return _render_page(request, participant, page, kind, key)
    if request.POST.get("page_key") != key:
        return redirect(_address(participant, page))
    questions = questions_of(participant.version, kind)
    answers, errors = parse_answers(questions, request.POST)
    if errors:
        filled = rows(questions, request.POST, errors)
        return _render_page(request, participant, page, kind, key, filled=filled)
    changes, timing = parse_changes(questions, request.POST), PageTiming.parse(request.POST)
    if page.trial is not None:
        actions.submit_trial(trial=page.trial, answers=answers, changes=changes, timing=timing)
    else:
        actions.submit_survey(participant=participant, answers=answers, changes=changes, timing=timing)
    return redirect(_next_address(participant, page))


def _note_shown(participant: Participant, page: CurrentPage) -> None:
    if page.trial is not None:
        actions.show_trial(trial=page.trial)
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
    version = participant.version
    content = frozen(version)
    step = page.items if page.trial is None else page.trial.position - 1
    context = {
        "title": content.title,
        "instructions": instructions_html(version) if page.trial else "",
        "step": step,
        "steps": page.items,
        "page_key": key,
        "clocks": CLOCK_FIELDS,
        "questions": empty_questions_html(version, kind) if filled is None else questions_html(filled),
        "errors": [row for row in filled or [] if row.error],
        "resume_url": settings.SITE_URL + reverse("studyapp:resume", args=[tokens.resume_token(participant)]),
    }
    if page.trial is None:
        context |= {"place": _("Last page"), "submit_text": _("Finish")}
    else:
        context |= {
            "place": _("Question %(n)d of %(all)d") % {"n": page.trial.position, "all": page.items},
            "submit_text": _("Save and go on"),
            "stimulus": stimulus_html(
                version, condition=participant.condition.name, item_id=page.trial.item.external_id
            ),
        }
    return render(request, "studyapp/participant/page.html", context, status=422 if filled else 200)


def _address(participant: Participant, page: CurrentPage) -> str:
    slug = participant.version.study.slug
    if page.trial is not None:
        return reverse("studyapp:item", args=[slug, page.trial.position])
    return reverse(f"studyapp:{page.kind}", args=[slug])


def _next_address(participant: Participant, page: CurrentPage) -> str:
    """The page after this one, without another query; were it not the right one, it would redirect."""
    slug = participant.version.study.slug
    if page.trial is None:
        return reverse("studyapp:done", args=[slug])
    if page.trial.position < page.items:
        return reverse("studyapp:item", args=[slug, page.trial.position + 1])
    return reverse("studyapp:survey", args=[slug])
