"""Writes that take people's data out: withdrawal, deleting or anonymising one person, retention.

What is deleted is gone from every table; the event log keeps that it was done, by whom and why, without an
id of the person. Files that were exported before are out of reach.
"""

import secrets
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import DateTimeField, F, Model, QuerySet
from django.utils import timezone

from accounts.models import User
from studyapp.actions import events
from studyapp.definition.questionnaires import Question
from studyapp.models import (
    Event,
    ExternalIds,
    Participant,
    ReceivedNotice,
    Stage,
    StageResponse,
    StudyVersion,
    SurveyResponse,
    Trial,
)
from studyapp.queries.privacy import overdue_versions
from studyapp.queries.studies import frozen
from studyapp.rules import states

_GONE = "removed"  # a completed participant has some code
_NOTICES_KEPT = timedelta(days=30)


@transaction.atomic
def withdraw(*, participant: Participant) -> str:
    """Do what the study promised to a person who withdraws: "exclude" or "delete".

    Returns which.

    Withdrawing twice changes nothing. Who was deleted meanwhile is told that.
    """
    found = _locked(participant)
    if found is None:
        return "delete"
    participant = found
    promise = frozen(participant.version).privacy.withdrawal
    if promise == "delete":
        delete_participant(participant=participant, by=None, reason="withdrawn by the participant")
    elif participant.status != Participant.Status.WITHDRAWN:
        participant.status = states.next_status(states.PARTICIPANT, "withdraw", participant.status)
        participant.save(update_fields=["status"])
        events.record(kind="withdrawn", study=participant.version.study, participant=participant)
    return promise


@transaction.atomic
def delete_participant(*, participant: Participant, by: User | None, reason: str) -> bool:
    """Delete a person: answers, external ids, events, and the participant.

    False if nobody is left.
    """
    found = _locked(participant)
    if found is None:
        return False
    study, mode = found.version.study, found.mode
    _walk(found, lambda rows: rows.delete())
    Participant.objects.filter(pk=found.pk).delete()
    events.record(kind="participant_deleted", study=study, by=by, data={"mode": mode, "reason": reason})
    return True


@transaction.atomic
def anonymise_participant(*, participant: Participant, by: User | None, reason: str) -> bool:
    """Cut every tie between a person and the answers, which stay.

    External ids, codes, the link and typed texts go; the id becomes another one; all times are shifted
    together, so that the consent falls on the start of its day (UTC) and every duration stays. Whoever was
    on the way cannot go on. False if that was done before, or the person was deleted: nothing changes.
    """
    found = _locked(participant)
    if found is None or found.anonymised_on is not None:
        return False
    _anonymise(found)
    events.record(
        kind="participant_anonymised",
        study=found.version.study,
        by=by,
        data={"mode": found.mode, "reason": reason},
    )
    return True


@transaction.atomic
def apply_retention(*, today: date, by: User | None = None) -> dict[str, int]:
    """Delete or anonymise everybody whose version's last day has passed.

    Returns how many per study.

    Doing it again on the same day finds nobody. Old notices of platforms are deleted too.
    """
    ReceivedNotice.objects.filter(received_at__lt=timezone.now() - _NOTICES_KEPT).delete()
    done: dict[str, int] = {}
    for version, participants in overdue_versions(today):
        slug = version.study.slug
        done[slug] = done.get(slug, 0) + _retire(version, list(participants), by)
    return done


def _retire(version: StudyVersion, participants: list[Participant], by: User | None) -> int:
    promise = frozen(version).privacy.at_retention
    act = delete_participant if promise == "delete" else anonymise_participant
    return sum(act(participant=participant, by=by, reason="retention") for participant in participants)


def _locked(participant: Participant) -> Participant | None:
    """Return the participant as stored now, locked, so that no page is submitted in between; None if deleted.

    Nor is any row added that points to it: the one lock of the study app that is for deleting.
    """
    rows = Participant.objects.select_for_update(of=("self",)).select_related("version__study")
    return rows.defer("version__frozen", "version__study__definition").filter(pk=participant.pk).first()


def _anonymise(participant: Participant) -> None:
    ExternalIds.objects.filter(participant=participant).delete()
    Event.objects.filter(participant=participant).update(data={})
    _remove_typed_texts(participant)
    shift = _since_midnight(participant.consented_at)
    _walk(participant, lambda rows: _shift(rows, shift))
    _shift(Participant.objects.filter(pk=participant.pk), shift)
    Participant.objects.filter(pk=participant.pk).update(
        public_id=secrets.token_hex(10),
        link=None,
        order_seed=None,
        assignment_counts=None,
        completion_code=_GONE if participant.completion_code else "",
        withdrawal_code=None,
        anonymised_on=timezone.now().date(),
    )


def _remove_typed_texts(participant: Participant) -> None:
    """Return what a person wrote may say who it is; what was chosen or counted stays."""
    content = frozen(participant.version)
    asked: dict[Stage, Sequence[Question]] = {
        Stage.SCREENING: content.screening,
        Stage.COMPREHENSION: content.comprehension_questions,
        Stage.PRE_SURVEY: content.pre_survey,
    }
    for stage, questions in asked.items():
        _remove_texts(StageResponse.objects.filter(participant=participant, stage=stage), questions)
    _remove_texts(Trial.objects.filter(participant=participant), content.item_questionnaire)
    _remove_texts(SurveyResponse.objects.filter(participant=participant), content.post_survey)


def _remove_texts(pages: QuerySet[Any], questions: Sequence[Question]) -> None:
    """Two kinds of pages may give one key to different questions, so each is asked for its own."""
    typed = {question.key for question in questions if question.kind == "text"}
    for page in pages.filter(answers__isnull=False) if typed else ():
        if typed & page.answers.keys():
            kept = {key: answer for key, answer in page.answers.items() if key not in typed}
            pages.filter(pk=page.pk).update(answers=kept)


def _since_midnight(moment: datetime | None) -> timedelta:
    if moment is None:
        return timedelta()
    return moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _shift(rows: QuerySet[Any], by: timedelta) -> None:
    """Move every time of these rows back."""
    times = [field.name for field in rows.model._meta.concrete_fields if isinstance(field, DateTimeField)]
    if times:
        rows.update(**{name: F(name) - by for name in times})


def _walk(row: Model, act: Callable[[QuerySet[Any]], object]) -> None:
    """Do something to the rows of every table that points to this row, those that point to them first.

    The tables are found, not listed: one that is added later is not forgotten.
    """
    for relation in row._meta.related_objects:
        rows = relation.related_model._base_manager.filter(**{relation.field.name: row})
        for found in rows if relation.related_model._meta.related_objects else ():
            _walk(found, act)
        act(rows)
