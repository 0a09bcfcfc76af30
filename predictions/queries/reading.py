"""Read reading probes: their progress, missing records and results."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Length

from jobs.queue import Slice, cut_slices
from modelserver.wire.schema import SaliencyOptions
from predictions.models import Dataset, Question, ReadingProbe, ReadingRecord
from predictions.queries.predictions import CHARACTERS_PER_TOKEN
from predictions.queries.saliency import count_pass_tokens

CHUNK = 500


def build_hotpot_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield the questions of a dataset in the HotpotQA form."""
    for question in Question.objects.filter(dataset=dataset).order_by("pk").iterator(chunk_size=CHUNK):
        row: dict[str, Any] = {
            "_id": question.external_id, "question": question.text, "answer": question.answer,
            "context": question.context, "supporting_facts": question.supporting_facts,
        }  # fmt: skip
        yield row | ({"type": question.kind} if question.kind else {})


def list_pending(probe: ReadingProbe) -> QuerySet[ReadingRecord]:
    """Return a probe's records with neither result nor error, by key."""
    return probe.records.filter(result__isnull=True, error="").order_by("pk")


def count_done(probe: ReadingProbe) -> int:
    """Return the number of a probe's records with a result or an error."""
    return probe.records.count() - list_pending(probe).count()


def cut_pending_slices(probe: ReadingProbe, *, tokens: int, most: int) -> list[Slice]:
    """Cut the pending records of a probe into slices.

    A slice has at most ``most`` records and about ``tokens`` tokens in all passes.
    """
    characters = Length(Cast("instance__content", TextField()))
    rows = list_pending(probe).values_list("pk", characters).iterator()
    sizes = ((key, _count_tokens(probe, count // (2 * CHARACTERS_PER_TOKEN))) for key, count in rows)
    return cut_slices(sizes, most_tokens=tokens, most=most)


def _count_tokens(probe: ReadingProbe, tokens: int) -> int:
    """Return the tokens computed for an instance in all passes.

    Both texts count once, and the original again in every pass of saliency.
    """
    if probe.saliency is None:
        return 2 * tokens
    return 2 * tokens + count_pass_tokens(SaliencyOptions.model_validate(probe.saliency), tokens)


def read_probe_records(probe: ReadingProbe, instances: Sequence[int]) -> Iterator[ReadingRecord]:
    """Yield the records of a probe on these instances, in their order."""
    for at in range(0, len(instances), CHUNK):
        part = instances[at : at + CHUNK]
        records = {record.instance_id: record for record in probe.records.filter(instance__in=part)}
        yield from (records[key] for key in part)
