"""Storing imported questions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from django.db import transaction

from accounts.models import User
from foundation.errors import Conflict
from predictions.actions import events
from predictions.formats.records import QuestionRecord
from predictions.models import Dataset, Question

BATCH = 500


@dataclass(frozen=True)
class ImportReport:
    """What an import did, or with a dry run would do. ``stray_facts`` are gold facts without a sentence."""

    added: int = 0
    unchanged: int = 0
    without_facts: int = 0
    stray_facts: int = 0
    first_stray: str = ""


@transaction.atomic
def import_questions(
    *,
    records: Iterable[QuestionRecord],
    name: str,
    source_format: str,
    dry_run: bool = False,
    by: User | None = None,
) -> ImportReport:
    """Add the questions that the dataset lacks, all or none of them; the dataset is made where needed.

    Memory stays the same however many there are. Raises Conflict when the dataset holds another question
    under an id, and whatever ``records`` raises; nothing is stored then.
    """
    dataset, made = Dataset.objects.get_or_create(
        name=name, defaults={"source_format": source_format, "created_by": by}
    )
    report = ImportReport()
    for batch in _batches(records):
        report = _import_batch(dataset, batch, report)
    if report.added or made:
        events.record(kind="dataset_imported", by=by, data={"dataset": name, "added": report.added})
    if dry_run:
        transaction.set_rollback(True)
    return report


def _batches(records: Iterable[QuestionRecord]) -> Iterator[list[QuestionRecord]]:
    stream = iter(records)
    while batch := list(islice(stream, BATCH)):
        yield batch


def _import_batch(dataset: Dataset, batch: list[QuestionRecord], report: ImportReport) -> ImportReport:
    known = {
        question.external_id: question
        for question in dataset.questions.filter(external_id__in=[one.external_id for one in batch])
    }
    new = []
    for one in batch:
        if one.external_id in known:
            _require_same(dataset, known[one.external_id], one)
        else:
            new.append(Question(dataset=dataset, **one.columns()))
    Question.objects.bulk_create(new)
    stray = [(one, one.stray_facts()) for one in batch]
    first = next((f"{one.place}: supporting_facts: {facts[0]}" for one, facts in stray if facts), "")
    return replace(
        report,
        added=report.added + len(new),
        unchanged=report.unchanged + len(batch) - len(new),
        without_facts=report.without_facts + sum(one.supporting_facts is None for one in batch),
        stray_facts=report.stray_facts + sum(len(facts) for _, facts in stray),
        first_stray=report.first_stray or first,
    )


def _require_same(dataset: Dataset, stored: Question, one: QuestionRecord) -> None:
    names = {"text": "question", "kind": "type"}
    for column, value in one.columns().items():
        if getattr(stored, column) != value:
            raise Conflict(
                f"{one.place}: {names.get(column, column)}: differs from what the dataset {dataset.name!r} "
                "holds under this id; questions are never changed, so import under another --name"
            )
