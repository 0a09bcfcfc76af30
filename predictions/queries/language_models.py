"""The cost of runs of language models, before and after."""

from dataclasses import dataclass

from django.db.models import BigIntegerField, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from modelserver.wire.schema import LanguageModel
from predictions.models import Dataset, Prediction, PredictionRun
from predictions.queries.predictions import CHARACTERS_PER_TOKEN

NUMBER_CHARACTERS = 6  # of a sentence's number in the prompt
MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """Requests, tokens and money of a run.

    Attributes:
        requests: Before a run, those that are expected; afterwards, the answered questions.
        output_tokens: Before a run, the most that may be written.
        cached_tokens: The part of the input that the server had read before.
        money: At the system's prices; None if it declares none.
        stray: The answers that cite sentences that do not exist.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    money: float | None
    currency: str = ""
    cached_tokens: int = 0
    stray: int = 0


def estimate_cost(dataset: Dataset, system: str, revision: str, model: LanguageModel) -> Cost:
    """Estimate what the missing predictions cost; nothing is sent for it.

    Tokens are a fourth of the characters. A retry of an invalid answer comes on top, and answers that are
    stored at the model server come off.
    """
    answered = Prediction.objects.filter(
        run__dataset=dataset, run__system__name=system, run__revision=revision
    )
    rows = dataset.questions.exclude(pk__in=answered.values("question")).values_list("text", "context")
    requests = characters = 0
    for text, context in rows.iterator():
        lengths = [len(sentence) + NUMBER_CHARACTERS for _, sentences in context for sentence in sentences]
        once = model.prompt_characters + len(text) + sum(lengths) + sum(len(title) for title, _ in context)
        times = 1 + len(lengths) if model.relevance == "leave-one-out" else 1
        requests, characters = requests + times, characters + times * once
    read, written = characters // CHARACTERS_PER_TOKEN, requests * model.most_output_tokens
    return Cost(requests, read, written, _compute_price(model, read, written), model.currency)


def sum_counted_cost(run: PredictionRun, model: LanguageModel) -> Cost:
    """Return what the stored predictions of a run took, as the server counted."""
    rows = run.predictions.filter(usage__isnull=False)
    names = ("input_tokens", "output_tokens", "cached_tokens")
    sums = rows.aggregate(
        **{name: Sum(Cast(KeyTextTransform(name, "usage"), BigIntegerField())) for name in names}
    )
    read, written, cached = (sums[name] or 0 for name in names)
    stray = run.predictions.filter(unknown_citations__isnull=False).exclude(unknown_citations=[]).count()
    return Cost(
        rows.count(), read, written, _compute_price(model, read, written), model.currency, cached, stray
    )


def _compute_price(model: LanguageModel, read: int, written: int) -> float | None:
    if model.input_price is None or model.output_price is None:
        return None
    return (read * model.input_price + written * model.output_price) / MILLION
