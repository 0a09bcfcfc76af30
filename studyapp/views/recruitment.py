"""Recruitment: arriving from a platform, the way back of who took no part, the platform's webhook."""

import time

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from studyapp.actions import recruitment as actions
from studyapp.definition.prolific_webhook import BadNotice, read_notice
from studyapp.definition.recruitment import (
    Arrival,
    BadArrival,
    Outcome,
    Recruitment,
    WayBack,
    Why,
    read_arrival,
)
from studyapp.models import EntryLink
from studyapp.queries.recruitment import known_participant, recruitment_of, way_back_of_link
from studyapp.views import told
from studyapp.views.access import (
    arrival_of,
    is_looking,
    link_of,
    remember_arrival,
    remember_link,
    remember_participant,
)
from studyapp.web import prolific_signature
from studyapp.web.prolific_signature import KeysUnavailable


def arrive(request: HttpRequest, link: EntryLink) -> HttpResponse:
    """Send a person on from the entry link, with the platform's ids in a cookie and out of the address.

    Somebody whose id is known goes on where they stopped. Nobody is made into a participant here.
    """
    recruitment = recruitment_of(link)
    try:
        arrival = None if recruitment is None else _arrival(request, recruitment)
    except BadArrival as refusal:
        return refused(request, link, refusal.why, refusal.parameter)
    except KeysUnavailable:
        return _try_later(request, link)
    known = known_participant(link.study, link.mode, arrival) if arrival is not None else None
    if known is not None and arrival is not None:
        if is_looking(request):
            actions.come_back(participant=known, arrival=arrival)
        response = redirect("studyapp:study", link.study.slug)
        remember_participant(response, known)
        return response
    response = redirect("studyapp:consent", link.study.slug)
    remember_link(response, link)
    if recruitment is not None:
        remember_arrival(response, link, arrival)
    return response


def _arrival(request: HttpRequest, recruitment: Recruitment) -> Arrival | None:
    sent = request.GET.dict()
    if recruitment.signed_urls:
        sent |= prolific_signature.verified(
            sent, jwks_url=settings.PROLIFIC_JWKS_URL, site_url=settings.SITE_URL
        )
    return read_arrival(recruitment, sent)


def way_back(request: HttpRequest, slug: str, outcome: Outcome) -> WayBack:
    """What takes somebody back who is no participant, by the link and the ids of the cookies."""
    link = link_of(request, slug)
    return WayBack() if link is None else way_back_of_link(link, outcome, arrival_of(request, link))


def refused(request: HttpRequest, link: EntryLink, why: Why, parameter: str) -> HttpResponse:
    """What somebody is shown who came without what the platform should have sent along."""
    context = told.not_arrived(link.study.title, why, parameter)
    status = 200 if why == "preview" else 400
    return render(request, "studyapp/participant/message.html", context, status=status)


def _try_later(request: HttpRequest, link: EntryLink) -> HttpResponse:
    context = told.try_later(link.study.title)
    return render(request, "studyapp/participant/message.html", context, status=503)


@csrf_exempt
@require_POST
def prolific_webhook(request: HttpRequest) -> HttpResponse:
    """Hear of submissions that were returned or timed out. Only what the shared secret signs is read."""
    if not settings.PROLIFIC_WEBHOOK_SECRET:
        raise Http404("This site has no secret of Prolific, so it hears no webhooks.")
    secret = settings.PROLIFIC_WEBHOOK_SECRET
    try:
        notice = read_notice(request.body, request.headers, secret=secret, now=time.time())
    except BadNotice as refusal:
        return HttpResponse(f"{refusal}\n", status=403, content_type="text/plain")
    actions.act_on_notice(notice=notice)
    return HttpResponse(status=204)
