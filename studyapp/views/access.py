"""Access: participants and links behind cookies, and users with roles."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import translation

from accounts.actions.audit import record_reading
from accounts.models import User
from accounts.policy_table import Act, Roles
from accounts.rights.access import require, require_existing, require_somewhere, require_user
from studyapp import link_tokens
from studyapp.definition.participation.recruitment import Arrival
from studyapp.models import EntryLink, Participant, Study
from studyapp.queries.access import list_allowed_acts
from studyapp.queries.participants.recruitment import is_person
from studyapp.queries.studies import load_frozen_study
from studyapp.views import participant_messages

_LINK_COOKIE = "entry"
_PARTICIPANT_COOKIE = "participant"
_ARRIVAL_COOKIE = "arrival"
_LINK_SECONDS = int(link_tokens.LINK_AGE.total_seconds())


def participant_of(request: HttpRequest, slug: str) -> Participant | None:
    """Return the participant of this study whom the cookie names.

    Runs one query, none without a cookie.
    """
    try:
        return _participant_or_ended(request, slug)
    except link_tokens.AccessEnded:
        return None


def _participant_or_ended(request: HttpRequest, slug: str) -> Participant | None:
    value = request.COOKIES.get(_PARTICIPANT_COOKIE)
    participant = link_tokens.read_participant(value) if value else None
    return participant if participant is not None and participant.version.study.slug == slug else None


def participant_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Pass the participant of the cookie to a view, in their language.

    Everybody else is redirected to the consent page.
    """

    @wraps(view)
    def page(request: HttpRequest, slug: str, *args: object, **kwargs: object) -> HttpResponse:
        try:
            participant = _participant_or_ended(request, slug)
        except link_tokens.AccessEnded:
            return access_ended(request)
        if participant is None:
            return redirect("studyapp:consent", slug)
        with translation.override(participant.language or load_frozen_study(participant.version).language):
            return view(request, participant, *args, **kwargs)

    return page


def access_ended(request: HttpRequest) -> HttpResponse:
    """Tell a participant that a cookie or personal link has ended."""
    with translation.override(translation.get_language_from_request(request)):
        context = participant_messages.access_ended()
        return render(request, "studyapp/participant/message.html", context, status=410)


def use_browser_language(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Show a page without a participant in the language of the browser."""

    @wraps(view)
    def page(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        with translation.override(translation.get_language_from_request(request)):
            return view(request, *args, **kwargs)

    return page


def link_of(request: HttpRequest, slug: str) -> EntryLink | None:
    """Return the entry link of this study that the cookie names."""
    value = request.COOKIES.get(_LINK_COOKIE)
    link = link_tokens.read_link(value) if value else None
    return link if link is not None and link.study.slug == slug else None


def remember_participant(response: HttpResponseBase, participant: Participant) -> None:
    """Set the participant cookie; it is sent to the pages of this study only."""
    slug = participant.version.study.slug
    seconds = int(link_tokens.read_participant_link_age().total_seconds())
    _set(response, _PARTICIPANT_COOKIE, link_tokens.sign_participant(participant), slug, seconds)


def remember_link(response: HttpResponseBase, link: EntryLink) -> None:
    """Set the link cookie; it is sent to the pages of this study only."""
    _set(response, _LINK_COOKIE, link_tokens.sign_link(link), link.study.slug, _LINK_SECONDS)


def arrival_of(request: HttpRequest, link: EntryLink) -> Arrival | None:
    """Return the IDs that the recruitment platform sent with this link."""
    value = request.COOKIES.get(_ARRIVAL_COOKIE)
    return link_tokens.read_arrival(value, link) if value else None


def remember_arrival(response: HttpResponseBase, link: EntryLink, arrival: Arrival | None) -> None:
    """Set the cookie of the platform's IDs, or delete it without any."""
    if arrival is None:
        response.delete_cookie(_ARRIVAL_COOKIE, path=f"/study/{link.study.slug}/", samesite="Lax")
    else:
        value = link_tokens.sign_arrival(link, arrival)
        _set(response, _ARRIVAL_COOKIE, value, link.study.slug, _LINK_SECONDS)


def is_another_person(request: HttpRequest, link: EntryLink, participant: Participant) -> bool:
    """Tell whether the visitor of a link is not the browser's participant.

    People share computers: another ID of a platform, or another link for one person, means another person. A
    link of another mode, such as a pilot's, makes another participant, too.
    """
    if link.mode != participant.mode:
        return True
    arrival = arrival_of(request, link)
    if arrival is not None:
        return not is_person(participant, arrival)
    return link.single_use and participant.link_id != link.pk


def is_looking(request: HttpRequest) -> bool:
    """Tell whether a person will see the response.

    Nobody sees the response to a HEAD request or to a browser's prefetch.
    """
    purpose = request.META.get("HTTP_SEC_PURPOSE", "") + request.META.get("HTTP_PURPOSE", "")
    return request.method != "HEAD" and "prefetch" not in purpose


def _set(response: HttpResponseBase, name: str, value: str, slug: str, seconds: int) -> None:
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=f"/study/{slug}/",
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


class StudyRequest(HttpRequest):
    """A request that `study_page` let through.

    Templates show a button exactly if its act is in ``may``.

    Attributes:
        roles: The roles of the user on the study.
        may: The acts that these roles allow.
    """

    roles: Roles
    may: frozenset[Act]


def study_page(act: Act, *, reads: str = "") -> Callable[..., Any]:
    """Let users through who may do this with a study; pass the study.

    Args:
        act: The act that a role of the user has to allow.
        reads: The name of the page in the audit log, if it shows personal data.
    """

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @login_required
        @wraps(view)
        def check_access(request: HttpRequest, slug: str, *args: object, **kwargs: object) -> HttpResponse:
            user = require_user(request)
            study, roles = require_study(user, slug, act)
            access = cast("StudyRequest", request)
            access.roles, access.may = roles, list_allowed_acts(roles)
            if reads and request.method == "GET":
                record_reading(by=user, subject=study, page=reads)
            return view(request, study, *args, **kwargs)

        return check_access

    return decorate


def require_study(user: User, slug: str, act: Act) -> tuple[Study, Roles]:
    """Return a study with which a user may do this, and their roles on it.

    Raises:
        Http404: There is no such study, or the user has no role on it.
        PermissionDenied: No role of the user allows the act.
    """
    study = require_existing(Study.objects.select_related("workspace").filter(slug=slug).first())
    return study, require(user, act, study)


def workspaces_page(act: Act) -> Callable[..., Any]:
    """Let users through who may do this in a workspace; pass these workspaces."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @login_required
        @wraps(view)
        def check_access(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
            return view(request, require_somewhere(require_user(request), act), *args, **kwargs)

        return check_access

    return decorate
