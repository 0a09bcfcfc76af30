"""Tests of judging answers: rights, decisions, agreement, launch, export.

The pages of judges have tests, too.
"""

import csv
import re
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction

from predictions.models import PredictionRun
from studyapp.actions.correctness import (
    CannotJudge,
    apply_decisions,
    judge,
    queue_answers,
    settle,
)
from studyapp.actions.pages import show_trial, submit_trial
from studyapp.exports.bundle import write_bundle
from studyapp.models import Event, JudgedAnswer, Judgement, ProposedVerdict, Stimulus, Study
from studyapp.models.studies import FrozenRow
from studyapp.queries.design.correctness import (
    count_design_correctness,
    count_queue,
    find_later_decisions,
    find_missed_answers,
    find_next_answer,
    judge_agreement,
    list_disagreements,
    queue,
    queue_counts,
)
from studyapp.queries.design.designs import build_design
from studyapp.queries.design.drafts import read_definition
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from tests import workspaces
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """A draft with one system and the ground truth, over six questions.

    Three answers of the system miss.
    """
    dataset = factories.make_dataset(questions=6)
    ids = [f"q{number}" for number in range(1, 7)]
    return factories.make_study(dataset=dataset.name, items={"ids": ids}, launched=False)


@pytest.fixture
def run(study) -> PredictionRun:
    return PredictionRun.objects.get()


@pytest.fixture
def judges():
    return [factories.make_user() for _number in range(3)]


def queued(run, by):
    queue_answers(answers=find_missed_answers(run), by=by)
    return list(queue(run).order_by("question__external_id"))


def decide(answer, judges, *, is_correct):
    for user in judges[:2]:
        judge(judged=answer, is_correct=is_correct, by=user)
    answer.refresh_from_db()


def test_it_works(study, run, judges):
    first, second, _third = queued(run, judges[0])
    assert [row.answer for row in queue(run)] == ["Elsewhere"] * 3
    decide(first, judges, is_correct=True)
    decide(second, judges, is_correct=False)
    assert (first.is_correct, first.settled_how, first.settled_by) == (True, "agreement", judges[1])
    version = factories.launch(study, by=judges[0])
    stimuli = Stimulus.objects.filter(condition__run=run, condition__version=version)
    correctness = {
        row.item.external_id: (row.exact_match, row.system_correct, row.judged_by, row.decision_id)
        for row in stimuli.select_related("item")
    }
    assert correctness["q1"] == (True, True, "exact match", None)
    assert correctness[first.question.external_id] == (False, True, "two judges", first.pk)
    assert correctness[second.question.external_id] == (False, False, "two judges", second.pk)
    assert correctness["q6"] == (False, False, "exact match", None)


def test_the_same_answer_is_queued_once_whoever_gave_it(study, run, judges):
    again = factories.make_run(dataset=run.dataset)
    assert queue_answers(answers=find_missed_answers(run), by=judges[0]) == 3
    assert queue_answers(answers=find_missed_answers(again), by=judges[0]) == 0
    assert set(queue(run)) == set(queue(again))
    assert queue_counts() == {run.pk: count_queue(run), again.pk: count_queue(run)}
    assert count_queue(run).unjudged == 3


def test_nobody_judges_twice_and_no_third_judges(run, judges):
    answer = queued(run, judges[0])[0]
    judge(judged=answer, is_correct=True, by=judges[0])
    with pytest.raises(CannotJudge, match="You have already judged"):
        judge(judged=answer, is_correct=False, by=judges[0])
    judge(judged=answer, is_correct=False, by=judges[1])
    with pytest.raises(CannotJudge, match="Two others"):
        judge(judged=answer, is_correct=True, by=judges[2])
    assert Judgement.objects.count() == 2


@pytest.mark.database
@pytest.mark.parametrize(
    ("position", "index", "complaint"),
    [(2, 0, "judge_once_per_answer|UNIQUE"), (1, 1, "judgement_place_once|UNIQUE"), (3, 2, "two_judgements")],
)
def test_the_database_keeps_two_different_judges(run, judges, position, index, complaint):
    answer = queued(run, judges[0])[0]
    judge(judged=answer, is_correct=True, by=judges[0])
    with pytest.raises(IntegrityError, match=complaint), transaction.atomic():
        Judgement.objects.create(judged=answer, place=position, judge=judges[index], is_correct=True)


def test_a_judgement_is_never_changed(run, judges):
    answer = queued(run, judges[0])[0]
    judge(judged=answer, is_correct=True, by=judges[0])
    mine = Judgement.objects.get()
    mine.is_correct = False
    with pytest.raises(FrozenRow):
        mine.save()
    with pytest.raises(FrozenRow):
        Judgement.objects.update(is_correct=False)


def test_what_needs_this_judge_comes_next(run, judges):
    answers = queued(run, judges[0])
    judged = []
    while (answer := find_next_answer(run, judges[0])) is not None:
        judge(judged=answer, is_correct=True, by=judges[0])
        judged.append(answer)
    assert set(judged) == set(answers)
    last = judged[-1]
    judge(judged=last, is_correct=True, by=judges[1])
    assert find_next_answer(run, judges[1]) in set(judged) - {last}
    assert find_next_answer(run, judges[2]) in set(judged) - {last}


@pytest.fixture
def disagreed(run, judges):
    answer = queued(run, judges[0])[0]
    judge(judged=answer, is_correct=True, by=judges[0])
    judge(judged=answer, is_correct=False, by=judges[1], note="another town")
    return answer


def test_a_disagreement_is_settled_by_a_third_judge(run, disagreed, judges):
    assert [row.pk for row in list_disagreements(run)] == [disagreed.pk]
    settle(judged=disagreed, is_correct=False, how="third judge", note="It is another town.", by=judges[2])
    disagreed.refresh_from_db()
    assert (disagreed.is_correct, disagreed.settled_how, disagreed.settled_by, disagreed.note) == (
        False, "third judge", judges[2], "It is another town.",
    )  # fmt: skip
    assert disagreed.settled_at is not None
    assert list_disagreements(run) == []
    assert Event.objects.filter(kind="answer_settled", actor=judges[2]).count() == 1


@pytest.mark.parametrize(
    ("how", "note", "index", "complaint"),
    [
        ("third judge", "because", 0, "cannot be the third"),
        ("discussion", "because", 2, "one of the two judges"),
        ("discussion", "  ", 0, "note"),
        ("agreement", "because", 0, "third judge or by discussion"),
    ],
)
def test_a_disagreement_is_not_settled(disagreed, judges, how, note, index, complaint):
    with pytest.raises(CannotJudge, match=complaint):
        settle(judged=disagreed, is_correct=True, how=how, note=note, by=judges[index])
    disagreed.refresh_from_db()
    assert disagreed.is_correct is None


def test_what_is_settled_stays(disagreed, judges):
    settle(judged=disagreed, is_correct=True, how="discussion", note="A suburb of it.", by=judges[1])
    with pytest.raises(CannotJudge, match="no open disagreement"):
        settle(judged=disagreed, is_correct=False, how="discussion", note="No.", by=judges[1])


def test_agreement_is_of_the_two_judgements(run, disagreed, judges):
    others = [row for row in queue(run) if row.pk != disagreed.pk]
    decide(others[0], judges, is_correct=True)
    decide(others[1], judges, is_correct=False)
    agreement = judge_agreement(run)
    assert agreement.pairs == 3
    assert agreement.share == pytest.approx(2 / 3)
    # Values 1 1, 0 0, 1 0: observed disagreement 1/3, expected 2·3·3 / (6·5) = 3/5; alpha is 1 less 5/9.
    assert agreement.alpha.value == pytest.approx(4 / 9)
    settle(judged=disagreed, is_correct=True, how="discussion", note="A suburb of it.", by=judges[1])
    assert judge_agreement(run).share == pytest.approx(2 / 3)


def test_no_agreement_without_pairs(run, judges):
    agreement = judge_agreement(run)
    assert (agreement.pairs, agreement.share, agreement.alpha.value) == (0, None, None)


def test_what_a_launch_would_freeze_is_counted(study, run, judges):
    answers = queued(run, judges[0])
    decide(answers[0], judges, is_correct=True)
    decide(answers[1], judges, is_correct=False)
    JudgedAnswer.objects.filter(pk=answers[2].pk).delete()
    [row] = count_design_correctness(build_design(read_definition(study), workspaces.main()))
    assert (row.exact, row.correct, row.wrong, row.waiting, row.not_queued) == (3, 1, 1, 0, 1)


def test_later_decisions_are_taken_over_on_demand(study, run, judges):
    version = factories.launch(study, by=judges[0])
    answer = queued(run, judges[0])[0]
    decide(answer, judges, is_correct=True)
    stimulus = Stimulus.objects.get(
        condition__version=version, condition__run=run, item__question=answer.question
    )
    assert stimulus.system_correct is False
    assert apply_decisions(version=version, by=judges[0]) == 1
    stimulus.refresh_from_db()
    assert (stimulus.system_correct, stimulus.judged_by, stimulus.decision) == (True, "two judges", answer)
    assert find_later_decisions(version) == []
    assert Event.objects.get(kind="decisions_applied").data["changed"] == [
        {"condition": stimulus.condition.name, "item": answer.question.external_id, "is_correct": True}
    ]


def test_the_export_says_who_decided(study, run, judges, tmp_path):
    answer = queued(run, judges[0])[0]
    decide(answer, judges, is_correct=True)
    factories.launch(study, by=judges[0])
    for public, names in ((False, {judges[0].username, judges[1].username}), (True, {""})):
        out = tmp_path / str(public)
        write_bundle(study, out, public=public)
        with (out / "judgements.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert [(row["item_id"], row["place"], row["is_correct"]) for row in rows] == [
            (answer.question.external_id, "1", "true"), (answer.question.external_id, "2", "true"),
        ]  # fmt: skip
        assert {row["judge"] for row in rows} == names
        with (out / "items.csv").open() as file:
            by_item = {row["item_id"]: row for row in csv.DictReader(file) if row["system"]}
        assert by_item[answer.question.external_id]["settled_how"] == "agreement"
        assert by_item["q1"]["settled_how"] == ""


# The pages


@pytest.fixture
def staff(client, judges):
    client.force_login(judges[0])
    return client


ADDRESSES = ["/staff/correctness/", "/staff/correctness/{run}/", "/staff/correctness/{run}/judge/",
             "/staff/studies/{slug}/correctness/"]  # fmt: skip


def test_the_pages_are_for_judges(client, study, run):
    client.force_login(factories.make_user(None))
    assert client.get(ADDRESSES[0]).status_code == 403
    for address in ADDRESSES[1:]:
        assert client.get(address.format(run=run.pk, slug=study.slug)).status_code == 404


def test_a_judge_goes_through_the_queue(staff, study, run, judges):
    page = staff.post(f"/staff/studies/{study.slug}/correctness/queue/", follow=True).content.decode()
    assert "Queued 3 new answers" in page
    for left in (3, 2, 1):
        assert count_queue(run).unjudged == left
        page = staff.get(f"/staff/correctness/{run.pk}/judge/").content.decode()
        assert "Elsewhere" in page
        assert "Kolwen" in page
        assert "Ada Brenn was born" in page
        key = page.split('name="answer" value="')[1].split('"')[0]
        sent = {"answer": key, "verdict": "no", "note": ""}
        staff.post(f"/staff/correctness/{run.pk}/judge/store/", sent)
    page = staff.get(f"/staff/correctness/{run.pk}/judge/", follow=True).content.decode()
    assert "You have judged all answers" in page
    assert f'href="/staff/studies/{study.slug}/correctness/"' in page
    assert count_queue(run).judged_once == 3


def test_answers_of_people_and_systems_are_queued_with_one_message(staff, judges):
    study = factories.make_advice(conditions=[{"system": "helper"}], items={"ids": ["q1"]})
    trial = find_current_page(factories.make_participant(link=factories.make_link(study=study))).trial
    show_trial(trial=trial)
    answers = {"initial_answer": "The town of Kolwen"}
    assert submit_trial(trial=trial, answers=answers, changes={}, timing=PageTiming())
    page = staff.post(f"/staff/studies/{study.slug}/correctness/queue/", follow=True).content.decode()
    assert re.findall(r"Queued \d+ new answers?", page) == ["Queued 1 new answer"]


def test_a_judge_goes_on_with_the_next_queue(staff, run, judges):
    other = factories.make_run(dataset=run.dataset)
    changed = other.predictions.filter(answer="Elsewhere").first()
    changed.answer = "Yet elsewhere"
    changed.save()
    for queued_run in (run, other):
        queue_answers(answers=find_missed_answers(queued_run), by=judges[0])
    for answer in queue(run):
        judge(judged=answer, is_correct=False, by=judges[0])
    page = staff.get(f"/staff/correctness/{run.pk}/judge/", follow=True)
    assert page.redirect_chain[-1][0] == f"/staff/correctness/{other.pk}/judge/"
    assert "This is the next one." in page.content.decode()
    assert "Yet elsewhere" in page.content.decode()


def test_a_judge_does_not_see_what_another_said(client, run, judges):
    answers = queued(run, judges[0])
    for answer in answers:
        judge(judged=answer, is_correct=True, by=judges[0], note="clearly so")
    client.force_login(judges[1])
    for address in ("", "judge/"):
        page = client.get(f"/staff/correctness/{run.pk}/{address}").content.decode()
        assert "clearly so" not in page


def test_a_verdict_is_needed(staff, run, judges):
    answer = queued(run, judges[0])[0]
    response = staff.post(f"/staff/correctness/{run.pk}/judge/store/", {"answer": answer.pk})
    assert response.status_code == 422
    assert "Please choose whether" in response.content.decode()
    assert (
        staff.post(
            f"/staff/correctness/{run.pk}/judge/store/", {"answer": 10**9, "verdict": "no"}
        ).status_code
        == 404
    )
    assert staff.post(f"/staff/correctness/{run.pk}/judge/store/", {}).status_code == 404


def test_a_disagreement_is_settled_on_the_page(staff, run, disagreed, judges):
    page = staff.get(f"/staff/correctness/{run.pk}/").content.decode()
    assert "another town" in page
    address = f"/staff/correctness/{run.pk}/settle/{disagreed.pk}/"
    assert staff.post(address, {}).status_code == 422
    sent = {f"{disagreed.pk}-{name}": value for name, value in
            {"verdict": "no", "how": "discussion", "note": "We looked at a map."}.items()}  # fmt: skip
    page = staff.post(address, sent, follow=True).content.decode()
    assert "We looked at a map." in page
    disagreed.refresh_from_db()
    assert disagreed.is_correct is False


def test_later_decisions_are_taken_over_on_the_page(staff, study, run, judges):
    factories.launch(study, by=judges[0])
    decide(queued(run, judges[0])[0], judges, is_correct=True)
    address = f"/staff/studies/{study.slug}/correctness/"
    assert "1 answer was decided after the launch" in staff.get(address).content.decode()
    assert "Applied 1 decision" in staff.post(f"{address}apply/", follow=True).content.decode()


# Proposals of programs


def proposed(*rows: str) -> str:
    return "\n".join(["question,answer,proposal,by", *rows]) + "\n"


def sent(staff, run, text):
    file = SimpleUploadedFile("proposals.csv", text.encode())
    return staff.post(f"/staff/correctness/{run.pk}/proposals/", {"file": file}, follow=True)


def test_a_proposal_is_shown_and_decides_nothing(staff, run, judges):
    queued(run, judges[0])
    rows = [f"q{number},Elsewhere,correct,a model" for number in (2, 4, 6)]
    assert "Imported 3 new proposals" in sent(staff, run, proposed(*rows)).content.decode()
    assert "Imported 0 new proposals" in sent(staff, run, proposed(*rows)).content.decode()
    assert "Proposed by a model: correct" in staff.get(f"/staff/correctness/{run.pk}/judge/").content.decode()
    counts = count_queue(run)
    assert (counts.unjudged, counts.judged_once, counts.proposed) == (3, 0, 3)
    assert not Judgement.objects.exists()
    assert not JudgedAnswer.objects.filter(is_correct__isnull=False).exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("question,answer\n", "proposals.csv:1: the columns must be question, answer, proposal, by"),
        (proposed(), "holds no proposal"),
        (proposed("q2,Elsewhere,maybe,a model"), "proposals.csv:2: proposal: 'maybe' is not one of"),
        (proposed("q2,Elsewhere,wrong,"), "proposals.csv:2: by: must have 1 to 100 characters"),
        (proposed("q2,Elsewhere,wrong"), "proposals.csv:2: has 3 columns, not 4"),
        (proposed("q2,Elsewhere,wrong,m", "q2,Elsewhere,wrong,m"), "proposals.csv:3: answer: proposes"),
        (proposed("q2,Else\0where,wrong,m"), "proposals.csv:2: answer: holds the character NUL"),
        (
            proposed("q2,Elsewhere,wrong,m", "q1,Elsewhere,wrong,m"),
            "proposals.csv:3: answer: no queued",
        ),
        (proposed('q2,"Elsewhere'), "proposals.csv:2: unexpected end of data"),
    ],
)
def test_a_spoilt_file_of_proposals_stores_nothing(staff, run, judges, text, complaint):
    queued(run, judges[0])
    response = sent(staff, run, text)
    assert response.status_code == 422
    assert complaint in unescape(response.content.decode())
    assert not ProposedVerdict.objects.exists()


def test_a_proposer_cannot_change_its_mind_unseen(staff, run, judges):
    queued(run, judges[0])
    sent(staff, run, proposed("q2,Elsewhere,correct,a model"))
    response = sent(staff, run, proposed("q2,Elsewhere,wrong,a model"))
    assert "proposed the opposite in an earlier import" in response.content.decode()
