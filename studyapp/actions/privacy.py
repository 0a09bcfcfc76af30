"""Remove personal data: withdrawal, deletion, anonymisation, retention.

Deleted data are gone from every table. The event log keeps that, by whom and why they were deleted, without
an ID of the person. Files that were exported before are out of reach.
"""

import secrets
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import DateTimeField, F, Model, QuerySet
from django.utils import timezone

from accounts.models import User
from analysis.scores import hotpotqa
from studyapp.actions import events
from studyapp.actions.conduct import forget_times, recount
from studyapp.actions.correctness import forget_answers
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.questions.question import Question
from studyapp.definition.tasks import Advice
from studyapp.models import (
    Event,
    ExternalIds,
    ManualExclusion,
    Participant,
    Payment,
    ReceivedNotice,
    StageResponse,
    StudyDelivery,
    StudyVersion,
    SurveyResponse,
    Trial,
)
from studyapp.queries.participants.own_answers import list_answer_keys
from studyapp.queries.participants.privacy import find_overdue_versions
from studyapp.queries.question_pages import list_part_questions, list_stages
from studyapp.queries.studies import load_frozen_study
from studyapp.rules import states
from studyapp.rules.survey_pages import merge_answers

_REMOVED_TEXT = "removed"  # a completed participant has some code, and an exclusion some reason
_NOTICES_KEPT = timedelta(days=30)


@transaction.atomic
def withdraw(*, participant: Participant, by: User | None = None, reason: str = "") -> str:
    """Carry out a withdrawal as the study promised.

    Withdrawing twice changes nothing.

    Args:
        participant: The participant.
        by: The member of staff who was asked for it; None if the participant used the code.
        reason: The reason for the log, of a member of staff.

    Returns:
        "exclude" or "delete"; "delete" if the participant is deleted already.
    """
    locked = _lock_participant(participant)
    if locked is None:
        return "delete"
    participant = locked
    promise = load_frozen_study(participant.version).privacy.withdrawal
    if promise == "delete":
        delete_participant(participant=participant, by=by, reason=reason or "withdrawn by the participant")
    elif participant.status != Participant.Status.WITHDRAWN:
        participant.status = states.find_next_status(states.PARTICIPANT, "withdraw", participant.status)
        participant.save(update_fields=["status"])
        forget_answers(_list_answer_keys(participant))
        data = {"reason": reason} if reason else {}
        events.record(kind="withdrawn", participant=participant, by=by, data=data)
    return promise


@transaction.atomic
def delete_participant(*, participant: Participant, by: User | None, reason: str) -> bool:
    """Delete a participant with answers, external IDs and events.

    Returns False if the participant is deleted already.
    """
    locked = _lock_participant(participant)
    if locked is None:
        return False
    study, mode = locked.version.study, locked.mode
    own = _list_answer_keys(locked)
    forget_times(participant=locked)
    _walk(locked, lambda rows: rows.delete())
    Participant.objects.filter(pk=locked.pk).delete()
    forget_answers(own)
    events.record(kind="participant_deleted", study=study, by=by, data={"mode": mode, "reason": reason})
    return True


@transaction.atomic
def anonymise_participant(*, participant: Participant, by: User | None, reason: str) -> bool:
    """Cut every tie between a person and the answers, which stay.

    External IDs, codes, the link and typed texts are removed, also the reason of an exclusion; the
    participant ID is replaced; all times are shifted together, so that the consent falls on the start of
    its day (UTC) and every duration stays. A participant in progress cannot continue.

    Returns:
        False, and changes nothing, if this was done before or the participant was deleted.
    """
    locked = _lock_participant(participant)
    if locked is None or locked.anonymised_on is not None:
        return False
    _anonymise(locked)
    data = {"mode": locked.mode, "reason": reason}
    events.record(kind="participant_anonymised", study=locked.version.study, by=by, data=data)
    return True


def apply_retention(*, today: date) -> dict[str, int]:
    """Delete or anonymise participants whose retention has ended.

    Each participant is a transaction, so that one who cannot be removed keeps no other. A second call on the
    same day finds nobody. Old notices of platforms are deleted too.

    Returns:
        The number of participants by study.

    Raises:
        ExceptionGroup: at the end, if some could not be removed.
    """
    ReceivedNotice.objects.filter(received_at__lt=timezone.now() - _NOTICES_KEPT).delete()
    done: dict[str, int] = {}
    failures: list[Exception] = []
    for version, participants in find_overdue_versions(today):
        slug = version.study.slug
        done[slug] = done.get(slug, 0) + _retire(version, list(participants), failures)
    if failures:
        raise ExceptionGroup("retention has ended for participants who could not be removed", failures)
    return done


def _retire(version: StudyVersion, participants: list[Participant], failures: list[Exception]) -> int:
    promise = load_frozen_study(version).privacy.at_retention
    act = delete_participant if promise == "delete" else anonymise_participant
    done = 0
    for participant in participants:
        try:
            done += act(participant=participant, by=None, reason="retention")
        except Exception as error:  # raised again after the others
            error.add_note(f"participant {participant.pk}")
            failures.append(error)
    return done


def _lock_participant(participant: Participant) -> Participant | None:
    """Return the participant as stored now, locked; None if deleted.

    The lock keeps pages from being submitted in between, and rows that point to the participant from being
    added. Besides that of queued answers, it is the only lock of the study app that is meant for deleting.
    """
    rows = Participant.objects.select_for_update(of=("self",)).select_related("version__study")
    return rows.defer("version__frozen", "version__study__definition").filter(pk=participant.pk).first()


def _anonymise(participant: Participant) -> None:
    ExternalIds.objects.filter(participant=participant).delete()
    StudyDelivery.objects.filter(participant=participant).delete()  # they hold the old ID
    Payment.objects.filter(participant=participant).update(transfer="", note="")
    ManualExclusion.objects.filter(participant=participant).update(reason=_REMOVED_TEXT)  # somebody typed it
    Event.objects.filter(participant=participant).update(data={})
    _remove_typed_texts(participant)
    shift = _compute_time_of_day(participant.consented_at)
    _walk(participant, lambda rows: _shift(rows, shift))
    _shift(Participant.objects.filter(pk=participant.pk), shift)
    Participant.objects.filter(pk=participant.pk).update(
        public_id=secrets.token_hex(10),
        link=None,
        order_seed=None,
        assignment_counts=None,
        completion_code=_REMOVED_TEXT if participant.completion_code else "",
        withdrawal_code=None,
        anonymised_on=timezone.now().date(),
    )


def _remove_typed_texts(participant: Participant) -> None:
    """Remove typed texts, which may identify a person.

    Choices and numbers stay.
    """
    content = load_frozen_study(participant.version)
    for stage in list_stages(content)[:-1]:
        pages = StageResponse.objects.filter(participant=participant, stage=stage)
        _remove_texts(pages, list_part_questions(content, stage))
    _remove_texts(Trial.objects.filter(participant=participant), content.item_questionnaire)
    if isinstance(content.task, Advice):
        own = _list_answer_keys(participant)
        _remove_own_answers(participant, content)
        forget_answers(own)
    _remove_texts(SurveyResponse.objects.filter(participant=participant), content.post_survey)
    recount(Participant.objects.filter(pk=participant.pk))


def _remove_texts(pages: QuerySet[Any], questions: Sequence[Question]) -> None:
    """Remove the answers to text questions from pages.

    Two kinds of pages may use one key for different questions, so each has its own questions.
    """
    typed = {question.key for question in questions if question.kind == "text"}
    for page in pages if typed else ():
        if typed & (page.answers or {}).keys():
            pages.filter(pk=page.pk).update(answers=_drop_answers(page.answers, typed))
        if earlier := getattr(page, "earlier", None):
            kept = [{**record, "answers": _drop_answers(record["answers"], typed)} for record in earlier]
            pages.filter(pk=page.pk).update(earlier=kept)


def _list_answer_keys(participant: Participant) -> set[tuple[int, str]]:
    return list_answer_keys(Trial.objects.filter(participant=participant))


def _remove_own_answers(participant: Participant, content: FrozenStudy) -> None:
    """Remove own answers that are not words of their item."""
    for trial in Trial.objects.filter(participant=participant, earlier__isnull=False).select_related("item"):
        item = content.item(trial.item.external_id)
        advice = [shown.answer for condition in content.conditions if (shown := condition.shown.get(item.id))]
        texts = [
            item.gold_answer,
            *item.options,
            *advice,
            *(" ".join(text) for _title, text in item.context or []),
        ]
        words = " | ".join(hotpotqa.normalise_answer(text or "") for text in texts)
        given = {**merge_answers(trial.earlier), **(trial.answers or {})}
        foreign = {
            key
            for key in ("initial_answer", "final_answer")
            if key in given and f" {hotpotqa.normalise_answer(given[key])} " not in f" {words} "
        }
        if foreign:
            pages = [
                {**page, "answers": _drop_answers(page["answers"], foreign)} for page in trial.earlier or ()
            ]
            answers = None if trial.answers is None else _drop_answers(trial.answers, foreign)
            Trial.objects.filter(pk=trial.pk).update(answers=answers, earlier=pages)


def _drop_answers(answers: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: answer for key, answer in answers.items() if key not in keys}


def _compute_time_of_day(moment: datetime | None) -> timedelta:
    if moment is None:
        return timedelta()
    return moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _shift(rows: QuerySet[Any], by: timedelta) -> None:
    """Move every time of these rows back."""
    times = [field.name for field in rows.model._meta.concrete_fields if isinstance(field, DateTimeField)]
    if times:
        rows.update(**{name: F(name) - by for name in times})


def _walk(row: Model, act: Callable[[QuerySet[Any]], object]) -> None:
    """Apply an act to the rows of every table that points to a row.

    Rows that point to those come first. The tables are discovered, not listed, so that a table added later
    is not forgotten.
    """
    for relation in row._meta.related_objects:
        rows = relation.related_model._base_manager.filter(**{relation.field.name: row})
        for pointing in rows if relation.related_model._meta.related_objects else ():
            _walk(pointing, act)
        act(rows)
