"""Tests of staff who act at the same moment: launches and judgements."""

from collections import Counter
from threading import Barrier
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Role
from predictions.models import PredictionRun
from studyapp.actions.correctness import CannotJudge, judge, queue_answers, settle
from studyapp.models import Event, JudgedAnswer, Judgement, Study, StudyVersion
from studyapp.queries.design.correctness import find_missed_answers, queue
from tests.studyapp import factories
from tests.studyapp.actions.test_participants_at_once import at_once
from tests.workspaces import give

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]
SIX = {"ids": [f"q{number}" for number in range(1, 7)]}


def draft() -> Study:
    return factories.make_study(dataset=factories.make_dataset(questions=6).name, items=SIX, launched=False)


def test_four_launches_of_one_draft_freeze_one_version() -> None:
    study, people = draft(), [factories.make_user() for _ in range(4)]
    for person in people:
        give(person, Role.RESEARCHER)
    factories.accept_checks(study, by=people[0])
    start = Barrier(4)

    def launch(number: int) -> int:
        client = Client()
        client.force_login(people[number])
        start.wait()
        return client.post(reverse("studyapp:studio_launch", args=[study.slug])).status_code

    codes = Counter(at_once(4, launch))
    assert not [code for code in codes if code >= 500], codes
    assert StudyVersion.objects.filter(study=study).count() == 1
    assert Event.objects.filter(study=study, kind="study_launched").count() == 1
    study.refresh_from_db()
    assert study.status == Study.Status.OPEN


def queued() -> tuple[JudgedAnswer, list[Any]]:
    draft()
    people = [factories.make_user() for _ in range(4)]
    run = PredictionRun.objects.get()
    queue_answers(answers=find_missed_answers(run), by=people[0])
    answer = queue(run).first()
    assert answer is not None
    return answer, people


def test_of_four_judges_of_one_answer_two_are_counted() -> None:
    answer, people = queued()
    start = Barrier(4)

    def give_verdict(number: int) -> bool:
        start.wait()
        try:
            judge(judged=answer, is_correct=True, by=people[number])
        except CannotJudge:
            return False
        return True

    assert sorted(at_once(4, give_verdict)) == [False, False, True, True]
    assert sorted(Judgement.objects.values_list("place", flat=True)) == [1, 2]
    assert Event.objects.filter(kind="answer_settled").count() == 1


def test_one_judge_who_sends_twice_is_counted_once() -> None:
    answer, people = queued()
    start = Barrier(3)

    def give_verdict(_number: int) -> bool:
        start.wait()
        try:
            judge(judged=answer, is_correct=False, by=people[0])
        except CannotJudge:
            return False
        return True

    assert sorted(at_once(3, give_verdict)) == [False, False, True]
    answer.refresh_from_db()
    assert answer.is_correct is None


def test_a_disagreement_is_settled_once() -> None:
    answer, people = queued()
    for person, verdict in zip(people, (True, False), strict=False):
        judge(judged=answer, is_correct=verdict, by=person)
    start = Barrier(2)

    def decide(number: int) -> bool:
        start.wait()
        third = people[2 + number]
        try:
            settle(
                judged=answer,
                is_correct=bool(number),
                how=JudgedAnswer.How.THIRD_JUDGE,
                note="seen",
                by=third,
            )
        except CannotJudge:
            return False
        return True

    assert sorted(at_once(2, decide)) == [False, True]
    assert Event.objects.filter(kind="answer_settled").count() == 1
