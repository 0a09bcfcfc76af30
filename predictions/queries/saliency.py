"""Predictions that lack the weights that their run asks for."""

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast, Length

from jobs.queue import Slice, cut_slices
from modelserver.wire.schema import SaliencyOptions
from predictions.models import Prediction, PredictionRun
from predictions.queries.predictions import CHARACTERS_PER_TOKEN

# Runs of before 0.2 have weights of the context alone.
LACKS_WEIGHTS = Q(explanation_weights__isnull=True) | Q(question_weights__isnull=True)


def list_without_weights(run: PredictionRun) -> QuerySet[Prediction]:
    """Return a run's predictions with neither weights nor error, by key."""
    return run.predictions.filter(LACKS_WEIGHTS, saliency_error="").order_by("pk")


def cut_weight_slices(run: PredictionRun, *, tokens: int, most: int) -> list[Slice]:
    """Cut the predictions without weights into slices.

    A slice has at most ``most`` predictions and about ``tokens`` tokens in all passes.
    """
    options = SaliencyOptions.model_validate(run.saliency)
    characters = Length(Cast("question__context", TextField())) + Length("question__text")
    rows = list_without_weights(run).values_list("pk", characters).iterator()
    sizes = ((key, count_pass_tokens(options, count // CHARACTERS_PER_TOKEN)) for key, count in rows)
    return cut_slices(sizes, most_tokens=tokens, most=most)


def count_pass_tokens(options: SaliencyOptions, tokens: int) -> int:
    """Return the tokens that all passes compute for a text of so many."""
    passes = {"integrated-gradients": options.steps + 2, "occlusion": tokens + 1, "gradient-x-input": 1}
    return tokens * passes[options.method]
