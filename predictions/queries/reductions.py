"""Reading what FaRM needs of a run: its predictions with their reductions, and the answers known so far."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from foundation.errors import RunFailed
from jobs.queue import Slice, cut_slices
from modelserver.wire.schema import Context
from predictions.farm_contexts import Reductions, reductions
from predictions.models import Prediction, PredictionRun, ReducedAnswer
from predictions.queries.predictions import CHARACTERS_PER_TOKEN

CHUNK = 200


@dataclass(frozen=True)
class PendingReductions:
    """``total`` distinct reduced inputs of a run, and slices of predictions that lack the answer to some."""

    total: int
    slices: list[Slice]


def reduced(prediction: Prediction) -> Reductions:
    """The reductions of a prediction, with its question selected.

    Raises RunFailed, naming the question, when its facts and probabilities contradict each other.
    """
    try:
        return reductions(prediction.question.context, prediction.facts, prediction.fact_probabilities or [])
    except ValueError as error:
        raise RunFailed(f"question {prediction.question.external_id}: {error}") from error


def with_question(run: PredictionRun) -> QuerySet[Prediction]:
    """The predictions of a run in the order of their keys, with what reductions need."""
    return (
        run.predictions.select_related("question")
        .only("answer", "facts", "fact_probabilities", "run", "question__external_id", "question__context")
        .order_by("pk")
    )


def answered(run: PredictionRun) -> int:
    """How many reduced inputs of a run have their answer, or the reason why there is none."""
    return ReducedAnswer.objects.filter(prediction__run=run).count()


def pending_reductions(run: PredictionRun, *, tokens: int, most: int) -> PendingReductions:
    """What is left to ask for FaRM, in slices of at most ``most`` predictions and about ``tokens`` tokens.

    Raises as `reduced`.
    """
    total = 0
    lacking: list[tuple[int, int]] = []
    for prediction, known in with_known_answers(run):
        contexts = reduced(prediction).contexts
        total += len(contexts)
        asked = [context for digest, context in contexts.items() if digest not in known]
        if asked:
            lacking.append((prediction.pk, sum(map(_characters, asked)) // CHARACTERS_PER_TOKEN))
    return PendingReductions(total, cut_slices(lacking, most_tokens=tokens, most=most))


def _characters(context: Context) -> int:
    return sum(len(title) + sum(map(len, sentences)) for title, sentences in context)


def with_known_answers(
    run: PredictionRun,
) -> Iterator[tuple[Prediction, dict[str, ReducedAnswer]]]:
    """Every prediction of a run with its reduced answers by digest, a chunk in memory at a time."""
    after = 0
    while chunk := list(with_question(run).filter(pk__gt=after)[:CHUNK]):
        after = chunk[-1].pk
        known: dict[int, dict[str, ReducedAnswer]] = {prediction.pk: {} for prediction in chunk}
        for answer in ReducedAnswer.objects.filter(prediction__in=known):
            known[answer.prediction_id][answer.digest] = answer
        for prediction in chunk:
            yield prediction, known[prediction.pk]
