"""Write webhooks of studies, and queue the events that they receive.

An event is queued in the transaction of the act that causes it. Its ``id`` is the same in every delivery, so
that receivers can tell repetitions. It names participants by their ID alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from jobs.actions import webhooks
from studyapp.actions import events
from studyapp.definition.participation.suspicion_flags import OF_ALL_ITEMS, Flag
from studyapp.models import (
    Condition,
    EntryLink,
    Participant,
    Study,
    StudyDelivery,
    StudyWebhook,
    WebhookEvent,
)
from studyapp.queries.answer_quotas import AnswerQuota
from studyapp.queries.participants.flags import list_participant_flags
from studyapp.queries.participants.recruitment import count_participants


def add_webhook(*, study: Study, url: str, kinds: Sequence[str], by: User) -> StudyWebhook:
    """Add a webhook with a new secret that signs its deliveries.

    Raises:
        ValidationError: The address is not valid, or not public.
    """
    webhooks.check_url(url)
    with transaction.atomic():
        hook = webhooks.store_webhook(StudyWebhook(study=study), url=url, kinds=kinds, by=by)
        events.record(kind="webhook_added", study=study, by=by, data={"url": url, "kinds": list(kinds)})
    return hook


@transaction.atomic
def end_webhook(*, webhook: StudyWebhook, by: User) -> None:
    """End a webhook. Its past deliveries stay on record."""
    if webhooks.deactivate(webhook, StudyDelivery):
        events.record(kind="webhook_ended", study=webhook.study, by=by, data={"url": webhook.url})


def _list_listening(study_id: int) -> list[StudyWebhook]:
    """Return the active webhooks of a study, with what they want to know."""
    return list(StudyWebhook.objects.filter(study=study_id, active=True).only("kinds"))


def has_listener(study_id: int, kind: WebhookEvent) -> bool:
    """Return whether a webhook of the study wants events of a kind."""
    return _is_event_wanted(_list_listening(study_id), kind)


def announce_completed(participant: Participant) -> None:
    """Queue that a participant completed, and the flags of all items."""
    hooks = _list_listening(participant.version.study_id)
    _announce(
        hooks, participant.version.study, WebhookEvent.COMPLETED, _describe_person(participant), participant
    )
    if _is_event_wanted(hooks, WebhookEvent.FLAGGED):
        own = list_participant_flags(Participant.objects.filter(pk=participant.pk)).get(participant.pk, [])
        _announce_flags(hooks, participant, [flag for flag in own if flag in OF_ALL_ITEMS])


def announce_flag(participant: Participant, flag: Flag) -> None:
    """Queue a flag of a participant, if it was not announced before."""
    hooks = _list_listening(participant.version.study_id)
    if _is_event_wanted(hooks, WebhookEvent.FLAGGED):
        _announce_flags(hooks, participant, [flag])


def _announce_flags(hooks: Sequence[StudyWebhook], participant: Participant, flags: Iterable[Flag]) -> None:
    earlier = StudyDelivery.objects.filter(participant=participant, kind=WebhookEvent.FLAGGED)
    announced = {flag for body in earlier.values_list("body", flat=True) for flag in body["data"]["flags"]}
    if new := [flag for flag in flags if flag not in announced]:
        data = {**_describe_person(participant), "flags": new}
        _announce(hooks, participant.version.study, WebhookEvent.FLAGGED, data, participant)


def announce_full(
    study: Study, conditions: Sequence[Condition], *, all_groups: Iterable[Sequence[Condition]] | None
) -> None:
    """Queue the conditions that an assignment filled.

    Args:
        study: The study.
        conditions: The conditions that have reached their quota.
        all_groups: The conditions of the study by group, if no group has room any more.
    """
    for condition in conditions:
        _announce_quota(study, "condition", condition.name, condition.quota or 0)
    if all_groups is not None:
        quotas = [[member.quota for member in group if member.quota is not None] for group in all_groups]
        _announce_quota(study, "study", study.slug, sum(min(own) for own in quotas))


def announce_full_link(link: EntryLink) -> None:
    """Queue that a link has its number of participants, if it has."""
    if link.quota is not None and count_participants(link) >= link.quota:
        _announce_quota(link.study, "link", link.label or str(link.pk), link.quota)


def announce_full_answers(participant: Participant, quotas: Iterable[AnswerQuota]) -> None:
    """Queue the quotas of screening answers that one more participant fills.

    Args:
        participant: The one whose answers passed the screening.
        quotas: Those that the answers fall under; the participant is not counted.
    """
    for quota in quotas:
        if quota.held + 1 == quota.quota:
            name = f"{quota.question}={quota.answer}"
            _announce_quota(participant.version.study, "answer", name, quota.quota)


def _announce_quota(study: Study, scope: str, name: str, quota: int) -> None:
    data = {"scope": scope, "name": name, "quota": quota}
    _announce(_list_listening(study.pk), study, WebhookEvent.QUOTA, data)


def _is_event_wanted(hooks: Iterable[StudyWebhook], kind: WebhookEvent) -> bool:
    return any(not hook.kinds or kind in hook.kinds for hook in hooks)


def _describe_person(participant: Participant) -> dict[str, Any]:
    return {
        "participant": participant.public_id,
        "mode": participant.mode,
        "condition": participant.group,
    }


def _announce(
    hooks: Iterable[StudyWebhook],
    study: Study,
    kind: WebhookEvent,
    data: Mapping[str, Any],
    participant: Participant | None = None,
) -> None:
    body = {
        "id": uuid4().hex,
        "kind": kind.value,
        "study": study.slug,
        "at": timezone.now().isoformat(),
        "data": dict(data),
    }
    webhooks.queue_event(StudyDelivery, hooks, kind=kind.value, body=body, participant=participant)
