"""Writes of the judging of answers: the queue, judgements, settled disagreements, a version brought up."""

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from studyapp.actions import events
from studyapp.errors import StudyappError
from studyapp.models import JudgedAnswer, Judgement, Stimulus, Study, StudyVersion
from studyapp.queries.correctness import Answer, digest, later_decisions

HOW = JudgedAnswer.How


class CannotJudge(StudyappError):
    """The judgement or decision is not this person's to make, or not now; the message is for that person."""


@transaction.atomic
def queue_answers(*, answers: Iterable[Answer], by: User, study: Study | None = None) -> int:
    """Put answers that miss the gold answer into the queue, once each.

    Returns how many are new.
    """
    rows = {(question, digest(answer)): answer for question, answer in answers}
    before = JudgedAnswer.objects.count()
    JudgedAnswer.objects.bulk_create(
        (
            JudgedAnswer(question_id=question, answer=answer, digest=key)
            for (question, key), answer in sorted(rows.items())  # so that two at once do not deadlock
        ),
        ignore_conflicts=True,
        batch_size=500,
    )
    new = JudgedAnswer.objects.count() - before
    events.record(kind="answers_queued", study=study, by=by, data={"answers": len(rows), "new": new})
    return new


@transaction.atomic
def judge(*, judged: JudgedAnswer, is_correct: bool, by: User, note: str = "") -> JudgedAnswer:
    """Store what a judge says.

    The second judgement settles the answer where it equals the first.

    Raises:
        CannotJudge: this person has judged it, or two others have.
    """
    judged = JudgedAnswer.objects.select_for_update(no_key=True).get(pk=judged.pk)
    given = list(judged.judgements.all())
    if any(one.judge_id == by.pk for one in given):
        raise CannotJudge(_("You have judged this answer already."))
    if judged.is_correct is not None or len(given) == 2:
        raise CannotJudge(_("Two others have judged this answer already."))
    Judgement.objects.create(
        judged=judged, place=len(given) + 1, judge=by, is_correct=is_correct, note=note.strip()
    )
    events.record(kind="answer_judged", by=by, data={"answer": judged.pk})
    if given and given[0].is_correct == is_correct:
        _settle(judged, is_correct, HOW.AGREEMENT, "", by)
    return judged


@transaction.atomic
def settle(*, judged: JudgedAnswer, is_correct: bool, how: str, note: str, by: User) -> JudgedAnswer:
    """Settle a disagreement: by a third judge, or after the two have talked.

    Raises:
        CannotJudge: there is no disagreement to settle, the note is empty, or a third judge is one of the
            two, or the outcome of the discussion is stored by somebody who is neither.
    """
    judged = JudgedAnswer.objects.select_for_update(no_key=True).get(pk=judged.pk)
    verdicts = {one.judge_id: one.is_correct for one in judged.judgements.all()}
    if judged.is_correct is not None or len(verdicts) < 2:
        raise CannotJudge(_("There is no disagreement to settle here any more."))
    if how == HOW.THIRD_JUDGE and by.pk in verdicts:
        raise CannotJudge(_("You judged this answer, so you cannot be the third judge."))
    if how == HOW.DISCUSSION and by.pk not in verdicts:
        raise CannotJudge(_("What a discussion led to is stored by one of the two judges."))
    if how not in (HOW.THIRD_JUDGE, HOW.DISCUSSION):
        raise CannotJudge(_("A disagreement is settled by a third judge or by discussion."))
    if not note.strip():
        raise CannotJudge(_("Say in the note why it was settled so."))
    _settle(judged, is_correct, how, note.strip(), by)
    return judged


def _settle(judged: JudgedAnswer, is_correct: bool, how: str, note: str, by: User) -> None:
    judged.is_correct, judged.settled_how, judged.note = is_correct, how, note
    judged.settled_at, judged.settled_by = timezone.now(), by
    judged.save(update_fields=["is_correct", "settled_how", "settled_at", "settled_by", "note"])
    events.record(
        kind="answer_settled", by=by, data={"answer": judged.pk, "is_correct": is_correct, "how": how}
    )


@transaction.atomic
def apply_decisions(*, version: StudyVersion, by: User) -> int:
    """Bring the system correctness of a launched version up to what was decided since.

    Returns how many.

    What was frozen, and its hash, stay: they hold what is shown, not whether it is correct. The event lists
    every answer whose correctness changed.
    """
    found = later_decisions(version)
    changed = [
        {"condition": row.condition.name, "item": row.item.external_id, "is_correct": decision.is_correct}
        for row, decision in found
        if row.system_correct != decision.is_correct
    ]
    for row, decision in found:
        row.system_correct, row.judged_by, row.decision = decision.is_correct, judged_by(decision), decision
    Stimulus.objects.bulk_update(
        (row for row, _decision in found), ["system_correct", "judged_by", "decision"]
    )
    events.record(
        kind="decisions_applied",
        study=version.study,
        by=by,
        data={"version": version.number, "answers": len(found), "changed": changed},
    )
    return len(found)


def judged_by(decision: JudgedAnswer) -> str:
    """Return what a stimulus says of where its correctness comes from."""
    return "two judges" if decision.settled_how == HOW.AGREEMENT else decision.settled_how
