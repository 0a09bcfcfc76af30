"""Quotas of screening answers: how many participants hold a place."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models.fields.json import KeyTransform
from django.utils import timezone

from studyapp.definition.checks import ScreeningQuestion
from studyapp.definition.questions.question import Answer
from studyapp.models import Mode, Participant, Stage, StageResponse, Study, StudyVersion
from studyapp.queries.studies import find_latest_version, load_frozen_study, match_counted_participants


@dataclass(frozen=True)
class AnswerQuota:
    """The quota of an answer, and the live participants who hold a place."""

    question: str
    answer: str
    held: int
    quota: int


def find_matching_quotas(
    participant: Participant, answers: Mapping[str, Answer], now: datetime
) -> list[AnswerQuota]:
    """Return the quotas that a participant's screening answers fall under.

    The participant is not counted, and the version must be locked. Only live participants have quotas.
    """
    if participant.mode != Mode.LIVE:
        return []
    version = participant.version
    return [
        AnswerQuota(
            question.key,
            str(answer),
            _count_participants(version, question, answer, now, apart=participant),
            quota,
        )
        for question in load_frozen_study(version).screening
        if (answer := answers.get(question.key)) is not None
        and (quota := question.quota_of(answer)) is not None
    ]


def list_answer_quotas(study: Study) -> list[AnswerQuota]:
    """Return the quotas of the newest version, in the order of its questions."""
    version = find_latest_version(study)
    if version is None:
        return []
    now = timezone.now()
    return [
        AnswerQuota(
            question.text, label, _count_participants(version, question, question.values[sent], now), quota
        )
        for question in load_frozen_study(version).screening
        for sent, label in question.choices
        if (quota := question.quotas.get(sent)) is not None
    ]


def _count_participants(
    version: StudyVersion,
    question: ScreeningQuestion,
    answer: Answer,
    now: datetime,
    apart: Participant | None = None,
) -> int:
    """Count the live participants with an answer who completed or are active."""
    held = match_counted_participants(load_frozen_study(version).stale_after_minutes, now)
    people = Participant.objects.filter(held, version=version, mode=Mode.LIVE)
    if apart is not None:
        people = people.exclude(pk=apart.pk)
    pages = StageResponse.objects.filter(participant__in=people.values("pk"), stage=Stage.SCREENING)
    return pages.annotate(given=KeyTransform(question.key, "answers")).filter(given=answer).count()
