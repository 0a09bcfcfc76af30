"""Reads of recruitment: participants by ID, quotas, codes at the end."""

from typing import cast

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone, translation

from studyapp.definition.participation.recruitment import Arrival, Outcome, PlatformName, Recruitment, WayBack
from studyapp.models import EntryLink, ExternalIds, Participant, Study
from studyapp.queries.studies import (
    find_latest_version,
    load_frozen_study,
    load_translated_study,
    match_counted_participants,
)


def find_recruitment(link: EntryLink) -> Recruitment | None:
    """Return the recruitment of a link, else of the newest version."""
    if link.recruitment is not None:
        return Recruitment.model_validate(link.recruitment)
    version = find_latest_version(link.study)
    return None if version is None else load_frozen_study(version).recruitment


def find_shown_title(link: EntryLink) -> str:
    """Return the title of a link's study for visitors, also before a launch."""
    version = find_latest_version(link.study)
    if version is None:
        return link.study.definition.get("title_for_participants") or link.study.title
    return load_translated_study(version, translation.get_language() or "").shown_title


def find_earlier_participant(study: Study, mode: str, arrival: Arrival) -> Participant | None:
    """Return the participant who came with the same ID before, if any."""
    ids = ExternalIds.objects.select_related("participant__condition", "participant__version__study")
    match = ids.filter(study=study, mode=mode, platform=arrival.platform, person_id=arrival.person).first()
    return match.participant if match is not None else None


def is_person(participant: Participant, arrival: Arrival) -> bool:
    """Return whether a participant is the one whom these IDs name."""
    ids = ExternalIds.objects.filter(participant=participant)
    return ids.filter(platform=arrival.platform, person_id=arrival.person).exists()


def count_participants(link: EntryLink) -> int:
    """Count the participants of a link that count against its quota."""
    version = find_latest_version(link.study)
    minutes = load_frozen_study(version).stale_after_minutes if version is not None else None
    return Participant.objects.filter(match_counted_participants(minutes, timezone.now()), link=link).count()


def list_links_with_counts(study: Study) -> QuerySet[EntryLink]:
    """Return the links of a study with their participants, newest first."""
    done = Q(participants__status=Participant.Status.COMPLETED)
    return study.links.annotate(
        arrived=Count("participants"),
        completed=Count("participants", filter=done),
        last_used=Max("participants__consented_at"),
    ).order_by("-created_at", "-pk")


def find_link_way_back(link: EntryLink, outcome: Outcome, arrival: Arrival | None) -> WayBack:
    """Return the code and address for a visitor who is not a participant."""
    recruitment = find_recruitment(link)
    return WayBack() if recruitment is None else recruitment.way_back(outcome, arrival)


def find_way_back(participant: Participant) -> WayBack:
    """Return the code and address for a participant who has ended."""
    outcome = cast("Outcome", participant.outcome or "done")  # the two lists are the same: a test compares
    content = load_frozen_study(participant.version)
    own_code = participant.completion_code if outcome == "done" else ""
    link = EntryLink.objects.filter(participants=participant).only("recruitment").first()
    recruitment = content.recruitment
    if link is not None and link.recruitment is not None:
        recruitment = Recruitment.model_validate(link.recruitment)
    if recruitment is not None:
        back = recruitment.way_back(outcome, _find_arrival(participant), own_code)
        if back.url or outcome != "done":
            return back
        own_code = back.code
    address = content.redirect_url if own_code and content.redirect_url else ""
    platform = recruitment.platform if recruitment is not None else None
    return WayBack(own_code, address.replace("{code}", own_code), platform)


def find_shown_code(participant: Participant) -> str:
    """Return the code that a participant saw at the end, empty before it.

    It is that of the platform for the outcome, else the participant's own. ``link`` should be loaded with
    the participant.
    """
    if not participant.outcome:
        return ""
    outcome = cast("Outcome", participant.outcome)
    own_code = participant.completion_code if outcome == "done" else ""
    recruitment = load_frozen_study(participant.version).recruitment
    if participant.link is not None and participant.link.recruitment is not None:
        recruitment = Recruitment.model_validate(participant.link.recruitment)
    return own_code if recruitment is None else recruitment.way_back(outcome, None, own_code).code


def _find_arrival(participant: Participant) -> Arrival | None:
    ids = ExternalIds.objects.filter(participant=participant).first()
    if ids is None:
        return None
    platform = cast("PlatformName", ids.platform)  # only what `read_arrival` gave is stored
    return Arrival(platform, ids.person_id, ids.study_id_there, ids.session_id)
