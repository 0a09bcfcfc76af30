"""Reads of the decisions of judges about answers."""

import hashlib
from collections.abc import Iterable, Mapping

from analysis.scores import hotpotqa
from predictions.models import Question
from studyapp.models import JudgedAnswer

Decided = Mapping[tuple[int, str], bool]  # by key of the question and digest of the answer


def hash_answer(answer: str) -> str:
    """Return the SHA-256, in hex, of an answer as it stands."""
    return hashlib.sha256(answer.encode()).hexdigest()


def read_verdicts(questions: Iterable[int | None]) -> dict[tuple[int, str], bool]:
    """Return what judges decided about answers to questions with these keys.

    One judge's verdict counts until there are two.
    """
    verdicts: dict[tuple[int, str], bool] = {}
    rows = JudgedAnswer.objects.filter(question__in=questions)
    for row in rows.prefetch_related("judgements"):
        given = list(row.judgements.all())
        verdict = row.is_correct
        if verdict is None and len(given) == 1:
            verdict = given[0].is_correct
        if verdict is not None:
            verdicts[row.question_id, row.digest] = verdict
    return verdicts


def is_correct(question: Question, answer: str, verdicts: Decided) -> bool:
    """Return whether an answer is gold, or correct as judges decided."""
    if hotpotqa.exact_match(question.answer, answer):
        return True
    return verdicts.get((question.pk, hash_answer(answer)), False)
