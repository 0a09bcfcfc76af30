"""Access: participants and links behind cookies, and the staff."""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.models import User
from studyapp import link_tokens
from studyapp.definition.recruitment import Arrival
from studyapp.models import EntryLink, Participant, Study
from studyapp.queries.studies import frozen

_LINK_COOKIE = "entry"
_PARTICIPANT_COOKIE = "participant"
_ARRIVAL_COOKIE = "arrival"
_LINK_SECONDS = 7 * 24 * 3600
_PARTICIPANT_SECONDS = 90 * 24 * 3600


def participant_of(request: HttpRequest, slug: str) -> Participant | None:
    """Return the participant of this study whom the cookie names.

    Runs one query, none without a cookie.
    """
    value = request.COOKIES.get(_PARTICIPANT_COOKIE)
    participant = link_tokens.read_participant(value) if value else None
    return participant if participant is not None and participant.version.study.slug == slug else None


def participant_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Pass the participant of the cookie to a view, in their language.

    Everybody else is redirected to the consent page.
    """

    @wraps(view)
    def page(request: HttpRequest, slug: str, *args: object, **kwargs: object) -> HttpResponse:
        participant = participant_of(request, slug)
        if participant is None:
            return redirect("studyapp:consent", slug)
        with translation.override(participant.language or frozen(participant.version).language):
            return view(request, participant, *args, **kwargs)

    return page


def in_browser_language(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
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
    _set(response, _PARTICIPANT_COOKIE, link_tokens.sign_participant(participant), slug, _PARTICIPANT_SECONDS)


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


def is_looking(request: HttpRequest) -> bool:
    """Tell whether a person will see the response.

    Nobody sees the response to a HEAD request or to a browser's prefetch.
    """
    purpose = request.headers.get("Sec-Purpose", "") + request.headers.get("Purpose", "")
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


def staff_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Redirect to the login page; answer users who are not staff with 403."""

    @login_required
    @wraps(view)
    def checked(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not request.user.is_staff:
            raise PermissionDenied(_("Only staff of this site can see this page."))
        return view(request, *args, **kwargs)

    return checked


def staff_user(request: HttpRequest) -> User:
    """Return the logged-in user of a view that `staff_only` guards."""
    assert isinstance(request.user, User)
    return request.user


def study_or_404(slug: str) -> Study:
    """Return the study, or raise Http404."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise Http404(_("There is no study with this short name."))
    return study
