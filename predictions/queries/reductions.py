"""Read a run's predictions with their reductions and known answers."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from foundation.errors import RunFailed
from jobs.queue import Slice, cut_slices
from modelserver.wire.schema import Context
from predictions.models import Prediction, PredictionRun, ReducedAnswer
from predictions.queries.predictions import CHARACTERS_PER_TOKEN
from predictions.scores.farm_contexts import Reductions, build_reductions

CHUNK = 200


@dataclass(frozen=True)
class PendingReductions:
    """Predictions that lack the answer to a reduced input.

    Attributes:
        total: The number of distinct reduced inputs of the run.
        slices: The predictions, in slices.
    """

    total: int
    slices: list[Slice]


def reduce_prediction(prediction: Prediction) -> Reductions:
    """Return the reductions of a prediction with its question selected.

    Raises:
        RunFailed: Facts and probabilities contradict each other; names the question.
    """
    try:
        return build_reductions(
            prediction.question.context,
            prediction.facts,
            prediction.fact_probabilities or [],
            with_erasure=prediction.answer_logprob is not None,
        )
    except ValueError as error:
        raise RunFailed(f"question {prediction.question.external_id}: {error}") from error


def list_with_questions(run: PredictionRun) -> QuerySet[Prediction]:
    """Return a run's predictions by key, with the columns reductions need."""
    return (
        run.predictions.select_related("question")
        .only(
            "answer",
            "facts",
            "fact_probabilities",
            "answer_logprob",
            "run",
            "question__external_id",
            "question__context",
            "question__labels",
        )
        .order_by("pk")
    )


def count_answered_inputs(run: PredictionRun) -> int:
    """Return the number of a run's reduced inputs with answer or error."""
    return ReducedAnswer.objects.filter(prediction__run=run).count()


def find_pending_reductions(run: PredictionRun, *, tokens: int, most: int) -> PendingReductions:
    """Return what FaRM lacks, in slices of predictions.

    A slice has at most ``most`` predictions and about ``tokens`` tokens. Raises as `reduced`.
    """
    total = 0
    lacking: list[tuple[int, int]] = []
    for prediction, answers in read_with_answers(run):
        contexts = reduce_prediction(prediction).contexts
        total += len(contexts)
        asked = [context for digest, context in contexts.items() if digest not in answers]
        if asked:
            lacking.append((prediction.pk, sum(map(_count_characters, asked)) // CHARACTERS_PER_TOKEN))
    return PendingReductions(total, cut_slices(lacking, most_tokens=tokens, most=most))


def _count_characters(context: Context) -> int:
    return sum(len(title) + sum(map(len, sentences)) for title, sentences in context)


def read_with_answers(
    run: PredictionRun,
) -> Iterator[tuple[Prediction, dict[str, ReducedAnswer]]]:
    """Yield each prediction with its reduced answers by digest.

    Memory holds one chunk at a time.
    """
    after = 0
    while chunk := list(list_with_questions(run).filter(pk__gt=after)[:CHUNK]):
        after = chunk[-1].pk
        answers: dict[int, dict[str, ReducedAnswer]] = {prediction.pk: {} for prediction in chunk}
        for answer in ReducedAnswer.objects.filter(prediction__in=answers):
            answers[answer.prediction_id][answer.digest] = answer
        for prediction in chunk:
            yield prediction, answers[prediction.pk]
