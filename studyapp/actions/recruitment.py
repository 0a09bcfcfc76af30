"""Write arrivals from recruitment platforms, returns and notices."""

from collections.abc import Callable
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from studyapp.actions import events
from studyapp.actions.participants import consent, hold
from studyapp.definition.participation.prolific_webhook import Notice
from studyapp.definition.participation.recruitment import Arrival
from studyapp.models import EntryLink, ExternalIds, Participant, ReceivedNotice, StudyVersion
from studyapp.policies import check_arrival
from studyapp.queries.participants.recruitment import find_earlier_participant


def enter(
    *,
    link: EntryLink,
    public_id: str | None = None,
    shown: int | None = None,
    language: str = "",
    device: str = "",
    arrival: Arrival | None = None,
) -> Participant:
    """Return the participant who consented, or came with the same ID before.

    Raises:
        NotAdmitted: as `participants.consent`; NotArrived if the platform's ID is missing.
    """
    check_arrival(link, arrival)
    agree = partial(consent, link=link, public_id=public_id, shown=shown, language=language, device=device)
    return agree() if arrival is None else _enter_as(link, arrival, agree)


@transaction.atomic
def _enter_as(link: EntryLink, arrival: Arrival, agree: Callable[[], Participant]) -> Participant:
    _lock(link)
    earlier = find_earlier_participant(link.study, link.mode, arrival)
    if earlier is not None:
        come_back(participant=earlier, arrival=arrival)
        return earlier
    participant = agree()
    # If one consent page is sent twice with two IDs, as after a change of the address, the first ID stays.
    ExternalIds.objects.get_or_create(
        participant=participant,
        defaults={
            "study": link.study,
            "mode": link.mode,
            "platform": arrival.platform,
            "person_id": arrival.person,
            "study_id_there": arrival.study,
            "session_id": arrival.session,
        },
    )
    return participant


def _lock(link: EntryLink) -> None:
    """Take the lock of `consent` before the ID is looked up.

    Two tabs of one person must not become two participants.
    """
    versions = StudyVersion.objects.select_for_update(of=("self",), no_key=True).only("pk")
    versions.filter(study=link.study_id).order_by("-number").first()


@transaction.atomic
def come_back(*, participant: Participant, arrival: Arrival) -> None:
    """Record the submission under which a person is back.

    A participant whose submission was returned counts again. Coming back under the same submission changes
    nothing, and so does coming back after the end, whose submission is the one to approve.
    """
    hold(participant)
    goes_on = Q(participant__status=Participant.Status.ACTIVE) | Q(participant__returned_at__isnull=False)
    ids = ExternalIds.objects.filter(goes_on, participant=participant).exclude(session_id=arrival.session)
    if not arrival.session or not ids.update(session_id=arrival.session, study_id_there=arrival.study):
        return
    Participant.objects.filter(pk=participant.pk, status=Participant.Status.ACTIVE).update(
        returned_at=None, last_seen_at=timezone.now()
    )
    events.record(kind="came_back", participant=participant)


@transaction.atomic
def act_on_notice(*, notice: Notice) -> bool:
    """Stop counting the participant of a returned or timed-out submission.

    The same notice a second time, a notice about an unknown submission, and any other status change
    nothing. The answers remain, and the person may still finish.

    Returns:
        True if this notice changed a participant.
    """
    _row, is_new = ReceivedNotice.objects.get_or_create(platform="prolific", event_id=notice.event_id[:200])
    if not is_new or not notice.is_returned:
        return False
    ids = ExternalIds.objects.select_related("participant__version__study").filter(
        platform="prolific", session_id=notice.submission
    )
    given_back = [_give_back(row.participant, notice.status) for row in ids.order_by("participant")]
    return any(given_back)


def _give_back(participant: Participant, status: str) -> bool:
    free = Participant.objects.filter(pk=participant.pk, returned_at__isnull=True)
    if not free.update(returned_at=timezone.now()):
        return False
    events.record(kind="place_returned", participant=participant, data={"status": status})
    return True
