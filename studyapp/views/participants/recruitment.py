"""Recruitment platforms: arrival, return to the platform, webhook."""

import time

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from studyapp.actions import recruitment as actions
from studyapp.definition.participation.prolific_webhook import BadNotice, read_notice
from studyapp.definition.participation.recruitment import (
    Arrival,
    BadArrival,
    Outcome,
    Recruitment,
    WayBack,
    Why,
    read_arrival,
)
from studyapp.models import EntryLink
from studyapp.queries.participants.recruitment import (
    find_earlier_participant,
    find_link_way_back,
    find_recruitment,
    find_shown_title,
)
from studyapp.views import participant_messages
from studyapp.views.access import (
    arrival_of,
    is_looking,
    link_of,
    remember_arrival,
    remember_link,
    remember_participant,
)
from studyapp.web.prolific import signature as prolific_signature
from studyapp.web.prolific.signature import KeysUnavailable


def arrive(request: HttpRequest, link: EntryLink) -> HttpResponse:
    """Redirect from the entry link, with the platform's IDs in a cookie.

    A person whose ID is known continues as the same participant. Creates no
    participant.
    """
    recruitment = find_recruitment(link)
    try:
        arrival = None if recruitment is None else _arrival(request, recruitment)
    except BadArrival as refusal:
        return show_bad_address(request, link, refusal.why, refusal.parameter)
    except KeysUnavailable:
        return _try_later(request, link)
    participant = find_earlier_participant(link.study, link.mode, arrival) if arrival is not None else None
    if participant is not None and arrival is not None:
        if is_looking(request):
            actions.come_back(participant=participant, arrival=arrival)
        response = redirect("studyapp:study", link.study.slug)
        remember_participant(response, participant)
    else:
        response = redirect("studyapp:consent", link.study.slug)
    remember_link(response, link)
    if recruitment is not None:
        remember_arrival(response, link, arrival)
    return response


def _arrival(request: HttpRequest, recruitment: Recruitment) -> Arrival | None:
    sent = request.GET.dict()
    if recruitment.signed_urls:
        sent |= prolific_signature.verify_ids(
            sent, jwks_url=settings.PROLIFIC_JWKS_URL, site_url=settings.SITE_URL
        )
    return read_arrival(recruitment, sent)


def way_back(request: HttpRequest, slug: str, outcome: Outcome) -> WayBack:
    """Return the way back to the platform for a person who is no participant."""
    link = link_of(request, slug)
    return WayBack() if link is None else find_link_way_back(link, outcome, arrival_of(request, link))


def show_bad_address(request: HttpRequest, link: EntryLink, why: Why, parameter: str) -> HttpResponse:
    """Show that the address lacks something the platform should have sent."""
    context = participant_messages.explain_bad_address(find_shown_title(link), why, parameter)
    status = 200 if why == "preview" else 400
    return render(request, "studyapp/participant/message.html", context, status=status)


def _try_later(request: HttpRequest, link: EntryLink) -> HttpResponse:
    context = participant_messages.try_later(find_shown_title(link))
    return render(request, "studyapp/participant/message.html", context, status=503)


@csrf_exempt
@require_POST
def prolific_webhook(request: HttpRequest) -> HttpResponse:
    """Receive signed notices of submissions that were returned or timed out."""
    if not settings.PROLIFIC_WEBHOOK_SECRET:
        raise Http404("PROLIFIC_WEBHOOK_SECRET is not set, so this site receives no webhooks.")
    secret = settings.PROLIFIC_WEBHOOK_SECRET
    try:
        notice = read_notice(request.body, request.headers, secret=secret, now=time.time())
    except BadNotice as refusal:
        return HttpResponse(f"{refusal}\n", status=403, content_type="text/plain")
    actions.act_on_notice(notice=notice)
    return HttpResponse(status=204)
