"""Reading probes: what they lack, how far they are, and their records."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Length

from jobs.queue import Slice, cut_slices
from modelserver.wire.schema import SaliencyOptions
from predictions.models import Dataset, Question, ReadingProbe, ReadingRecord
from predictions.queries.predictions import CHARACTERS_PER_TOKEN
from predictions.queries.saliency import passes_tokens

CHUNK = 500


def question_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """The questions of a dataset in the HotpotQA form, as `analysis.counterfactuals.drafts` takes them."""
    for question in Question.objects.filter(dataset=dataset).order_by("pk").iterator(chunk_size=CHUNK):
        row: dict[str, Any] = {
            "_id": question.external_id, "question": question.text, "answer": question.answer,
            "context": question.context, "supporting_facts": question.supporting_facts,
        }  # fmt: skip
        yield row | ({"type": question.kind} if question.kind else {})


def pending(probe: ReadingProbe) -> QuerySet[ReadingRecord]:
    """The records of a probe that have neither a result nor an error, in the order of their keys."""
    return probe.records.filter(result__isnull=True, error="").order_by("pk")


def done(probe: ReadingProbe) -> int:
    """How many records of a probe have a result or an error."""
    return probe.records.count() - pending(probe).count()


def pending_slices(probe: ReadingProbe, *, tokens: int, most: int) -> list[Slice]:
    """What a probe lacks, in slices of at most ``most`` records and about ``tokens`` tokens in all passes."""
    characters = Length(Cast("instance__content", TextField()))
    rows = pending(probe).values_list("pk", characters).iterator()
    sizes = ((key, _work(probe, count // (2 * CHARACTERS_PER_TOKEN))) for key, count in rows)
    return cut_slices(sizes, most_tokens=tokens, most=most)


def _work(probe: ReadingProbe, tokens: int) -> int:
    """Tokens that are computed for an instance: of two texts once, and of one in every pass of saliency."""
    if probe.saliency is None:
        return 2 * tokens
    return 2 * tokens + passes_tokens(SaliencyOptions.model_validate(probe.saliency), tokens)


def records_of(probe: ReadingProbe, instances: Sequence[int]) -> Iterator[ReadingRecord]:
    """The records of a probe on these instances, in their order."""
    for at in range(0, len(instances), CHUNK):
        part = instances[at : at + CHUNK]
        found = {one.instance_id: one for one in probe.records.filter(instance__in=part)}
        yield from (found[key] for key in part)
