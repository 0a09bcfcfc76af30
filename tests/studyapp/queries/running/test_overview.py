"""Figures of the overview, and what to do next."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from predictions.models import PredictionRun
from studyapp.actions.correctness import judge, queue_answers, settle
from studyapp.actions.exclusions import exclude_participant
from studyapp.actions.studies import pause_study
from studyapp.models import Condition, JudgedAnswer, Participant, Report, Study
from studyapp.queries.design.correctness import count_waiting, find_missed_answers
from studyapp.queries.running import overview
from studyapp.queries.running.progress import build_study_progress
from studyapp.queries.running.results import read_data_state
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


def next_acts(study: Study, user: User) -> list[overview.NextAct]:
    flagged = overview.count_flagged_participants(study)
    return overview.list_next_acts(study, build_study_progress(study)[0], flagged=flagged, user=user)


def kinds(study: Study) -> list[str]:
    study.refresh_from_db()
    return [act.kind for act in next_acts(study, factories.make_user())]


def test_from_the_draft_to_the_report():
    assert kinds(factories.make_study(launched=False)) == ["launch"]
    study = factories.make_study()
    assert kinds(study) == ["pilot", "link"]
    factories.make_participant(link=factories.make_link(study=study, mode="pilot"), completed=True)
    assert kinds(study) == ["link"]
    link = factories.make_link(study=study)
    assert kinds(study) == []
    participant = factories.make_participant(link=link, completed=True)
    Participant.objects.update(consented_at=timezone.now() - timedelta(hours=1))
    assert kinds(study)[-1] == "report"
    factories.make_report(study=study)
    assert "report" not in kinds(study)
    exclude_participant(participant=participant, reason="took part twice", by=None)
    assert kinds(study)[-1] == "report_again"
    pause_study(study=study, by=factories.make_user())
    assert "resume" in kinds(study)


def test_a_study_that_live_participants_take_needs_no_pilot():
    study = factories.make_study()
    factories.make_participant(link=factories.make_link(study=study))
    assert "pilot" not in kinds(study)


def test_a_report_is_old_once_a_survey_is_submitted():
    study = factories.make_study(items=1)
    factories.make_participant(study=study, completed=True)
    late = factories.make_participant(study=study, items=1)
    report = factories.make_report(study=study)
    assert "report_again" not in kinds(study)
    factories.answer_survey(late)
    assert "report_again" in kinds(study)
    Report.objects.filter(pk=report.pk).update(data=read_data_state(study, "live"))
    assert "report_again" not in kinds(study)
    del report.data["surveys"], report.data["decisions"]  # as kept before they were counted
    report.save()
    assert "report_again" in kinds(study)


def test_quotas():
    study = factories.make_study(conditions=2)
    link = factories.make_link(study=study)
    conditions = list(Condition.objects.filter(version__study=study))
    Condition.objects.update(quota=1)
    first = factories.make_participant(link=link, completed=True)
    assert "full" in kinds(study)
    factories.make_participant(link=link, completed=True)
    assert "close" in kinds(study)
    assert "full" not in kinds(study)
    live = build_study_progress(study)[0]
    assert overview.sum_quotas(live) == 2
    Condition.objects.filter(pk=conditions[0].pk).update(quota=None)
    assert overview.sum_quotas(build_study_progress(study)[0]) is None
    Condition.objects.update(is_open=False)
    assert "no_condition" in kinds(study)
    assert first.condition_id is not None


def test_answers_that_wait_for_judges():
    study = factories.make_study()
    run = Condition.objects.get(version__study=study, run__isnull=False).run
    bea, cem, dan = (factories.make_user() for _ in range(3))
    queue_answers(answers=find_missed_answers(run), by=bea)
    acts = next_acts(study, cem)
    shown = study.versions.get().items.values("question")
    assert [act.count for act in acts if act.kind == "judge"] == [
        JudgedAnswer.objects.filter(question__in=shown).count()
    ]
    for answer in JudgedAnswer.objects.all():
        judge(judged=answer, is_correct=True, by=bea)
    assert "judge" not in [act.kind for act in next_acts(study, bea)]  # they wait for somebody else
    assert "judge" in [act.kind for act in next_acts(study, cem)]
    assert count_waiting(PredictionRun.objects.filter(pk=run.pk), bea) == 0
    assert count_waiting(PredictionRun.objects.filter(pk=run.pk), cem) == JudgedAnswer.objects.count()
    first, *others = JudgedAnswer.objects.all()
    judge(judged=first, is_correct=False, by=cem)
    assert count_waiting(PredictionRun.objects.filter(pk=run.pk), bea) == 1  # a disagreement to settle
    for answer in others:
        judge(judged=answer, is_correct=True, by=cem)
    settle(judged=first, is_correct=True, how="third judge", note="Read again.", by=dan)
    assert "judge" not in kinds(study)
    assert "apply" in kinds(study)


@pytest.mark.database
def test_arrivals_and_times():
    study = factories.make_study()
    link = factories.make_link(study=study)
    assert overview.count_arrivals(study).bars == []
    assert overview.summarise_times(study).median is None
    start = timezone.now().replace(minute=30) - timedelta(hours=5)
    for hours, minutes in ((0, 4), (0, 6), (3, 20)):
        participant = factories.make_participant(link=link, completed=True)
        consented = start + timedelta(hours=hours)
        Participant.objects.filter(pk=participant.pk).update(
            consented_at=consented, completed_at=consented + timedelta(minutes=minutes)
        )
    arrivals = overview.count_arrivals(study)
    assert (arrivals.by, [bar.count for bar in arrivals.bars]) == ("hour", [2, 0, 0, 1])
    times = overview.summarise_times(study)
    assert times.median == pytest.approx(6)
    assert sum(bar.count for bar in times.bars) == 3
    Participant.objects.filter(pk=participant.pk).update(consented_at=start + timedelta(days=4))
    assert overview.count_arrivals(study).by == "day"
