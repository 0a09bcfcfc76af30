"""Write judgements of answers, settled disagreements and later decisions."""

from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from foundation.errors import BadFile
from predictions.models import PredictionRun
from studyapp.actions import events
from studyapp.errors import StudyappError
from studyapp.models import JudgedAnswer, Judgement, ProposedVerdict, Stimulus, Study, StudyVersion, Trial
from studyapp.queries.design.correctness import Answer, find_later_decisions, name_decision_source, queue
from studyapp.queries.design.decisions import hash_answer
from studyapp.queries.participants.own_answers import exclude_withdrawn, list_answer_keys
from studyapp.rules.proposed_verdicts import Proposal

HOW = JudgedAnswer.How


class CannotJudge(StudyappError):
    """A person may not make a judgement or decision, or not now.

    The message is for that person.
    """


@transaction.atomic
def queue_answers(
    *, answers: Iterable[Answer], by: User | None, study: Study | None = None, from_people: bool = False
) -> int:
    """Queue answers that miss the gold answer, each once.

    Args:
        answers: The answers.
        by: The person who queues them; None for the shell.
        study: The study, if they are those of one.
        from_people: Participants gave them, not systems.

    Returns:
        The number of answers that are new in the queue.
    """
    rows = {(question, hash_answer(answer)): answer for question, answer in answers}
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
    if from_people:
        for question, key in rows:
            JudgedAnswer.objects.filter(question=question, digest=key).update(from_people=True)
    events.record(kind="answers_queued", study=study, by=by, data={"answers": len(rows), "new": new})
    return new


@transaction.atomic
def forget_answers(keys: Set[tuple[int, str]]) -> None:
    """Delete queued answers of people that nobody who counts gives now.

    Their judgements and proposals go too. An answer that a system gave stays, as one of systems alone.

    Args:
        keys: Question and digest of answers that may have been the last of their text.
    """
    rows = JudgedAnswer.objects.filter(
        from_people=True,
        question__in={question for question, _digest in keys},
        digest__in={text for _question, text in keys},
    )
    # Locked for deleting, so that no judgement is added in between.
    queued = [row for row in rows.select_for_update().order_by("pk") if (row.question_id, row.digest) in keys]
    if not queued:
        return
    questions = {row.question_id for row in queued}
    given = list_answer_keys(exclude_withdrawn(Trial.objects.filter(item__question__in=questions)))
    left = [row.pk for row in queued if (row.question_id, row.digest) not in given]
    gone = JudgedAnswer.objects.filter(pk__in=left)
    of_systems = gone.filter(Q(question__predictions__answer=F("answer")) | Q(stimuli__isnull=False))
    kept = set(of_systems.values_list("pk", flat=True))
    JudgedAnswer.objects.filter(pk__in=kept).update(from_people=False)
    gone = gone.exclude(pk__in=kept)
    for verdicts in (Judgement, ProposedVerdict):  # their own managers refuse to delete
        verdicts._base_manager.filter(judged__in=gone).delete()
    gone.delete()


@transaction.atomic
def judge(*, judged: JudgedAnswer, is_correct: bool, by: User, note: str = "") -> JudgedAnswer:
    """Store a judgement.

    The second judgement settles the answer if it equals the first.

    Raises:
        CannotJudge: this person has judged it, or two others have.
    """
    judged = JudgedAnswer.objects.select_for_update(no_key=True).get(pk=judged.pk)
    given = list(judged.judgements.all())
    if any(judgement.judge_id == by.pk for judgement in given):
        raise CannotJudge(_("You have already judged this answer."))
    if judged.is_correct is not None or len(given) == 2:
        raise CannotJudge(_("Two others have already judged this answer."))
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
            two, or the outcome of a discussion is stored by neither of the judges.
    """
    judged = JudgedAnswer.objects.select_for_update(no_key=True).get(pk=judged.pk)
    verdicts = {row.judge_id: row.is_correct for row in judged.judgements.all()}
    if judged.is_correct is not None or len(verdicts) < 2:
        raise CannotJudge(_("This answer has no open disagreement."))
    if how == HOW.THIRD_JUDGE and by.pk in verdicts:
        raise CannotJudge(_("You judged this answer, so you cannot be the third judge."))
    if how == HOW.DISCUSSION and by.pk not in verdicts:
        raise CannotJudge(_("Only one of the two judges can store the outcome of a discussion."))
    if how not in (HOW.THIRD_JUDGE, HOW.DISCUSSION):
        raise CannotJudge(_("A disagreement is settled by a third judge or by discussion."))
    if not note.strip():
        raise CannotJudge(_("Explain the decision in the note."))
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
def import_proposals(*, run: PredictionRun, proposals: Sequence[Proposal], name: str, by: User) -> int:
    """Store verdicts that a program proposes for queued answers of a run.

    They decide nothing and count as no judgement. The same file again stores nothing.

    Args:
        run: The run whose answers they are about.
        proposals: The rows of the file.
        name: The name of the file, for messages.
        by: The person who imports them.

    Returns:
        The number of new proposals.

    Raises:
        BadFile: A row is about no queued answer of the run, or contradicts an earlier import; nothing is
            stored then.
    """
    queued = {(row.question.external_id, row.answer): row for row in queue(run).select_related("question")}
    stored = {
        (row.judged_id, row.proposed_by): row.is_correct
        for row in ProposedVerdict.objects.filter(judged__in=queue(run))
    }
    new = []
    for row in proposals:
        judged = queued.get((row.question, row.answer))
        if judged is None:
            message = _("no queued answer of this run has this question and text; queue the answers first")
            raise BadFile(Path(name), message, line=row.line, field="answer")
        before = stored.get((judged.pk, row.by))
        if before is not None and before != row.is_correct:
            message = _("this proposer proposed the opposite in an earlier import; give it another name")
            raise BadFile(Path(name), message, line=row.line, field="proposal")
        if before is None:
            new.append(
                ProposedVerdict(judged=judged, proposed_by=row.by, is_correct=row.is_correct, imported_by=by)
            )
    ProposedVerdict.objects.bulk_create(new, batch_size=500)
    events.record(kind="proposals_imported", by=by, data={"run": str(run), "new": len(new)})
    return len(new)


@transaction.atomic
def apply_decisions(*, version: StudyVersion, by: User) -> int:
    """Apply decisions made since the launch to the version's correctness.

    The frozen content and its hash stay: they hold what participants see, not whether it is correct. The
    event lists every answer whose correctness changed.

    Returns:
        The number of answers decided since.
    """
    decided = find_later_decisions(version)
    changed = [
        {"condition": row.condition.name, "item": row.item.external_id, "is_correct": decision.is_correct}
        for row, decision in decided
        if row.system_correct != decision.is_correct
    ]
    for row, decision in decided:
        row.system_correct, row.judged_by, row.decision = (
            decision.is_correct,
            name_decision_source(decision),
            decision,
        )
    Stimulus.objects.bulk_update(
        (row for row, _decision in decided), ["system_correct", "judged_by", "decision"]
    )
    events.record(
        kind="decisions_applied",
        study=version.study,
        by=by,
        data={"version": version.number, "answers": len(decided), "changed": changed},
    )
    return len(decided)
