"""Store imported questions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from django.db import transaction

from accounts.models import User, Workspace
from foundation.errors import Conflict
from predictions.actions import events
from predictions.formats.records import QuestionRecord
from predictions.models import Dataset, Question

BATCH = 500


@dataclass(frozen=True)
class ImportReport:
    """Counts of an import, or of what a dry run would import.

    Attributes:
        stray_facts: Gold facts that name no sentence.
        first_stray: The first of them.
    """

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
    workspace: Workspace,
    source_format: str,
    dry_run: bool = False,
    by: User | None = None,
) -> ImportReport:
    """Add the questions that a dataset lacks, all or none of them.

    A missing dataset is created in the workspace. Memory does not grow with the number of questions.

    Raises:
        Conflict: The dataset has another question under an id; nothing is stored.
        BadFile: As ``records`` raises; nothing is stored.
    """
    dataset, created = Dataset.objects.get_or_create(
        workspace=workspace, name=name, defaults={"source_format": source_format, "created_by": by}
    )
    report = ImportReport()
    for batch in _batches(records):
        report = _import_batch(dataset, batch, report)
    if report.added or created:
        events.record(kind="dataset_imported", by=by, data={"dataset": name, "added": report.added})
    if dry_run:
        transaction.set_rollback(True)
    return report


def _batches(records: Iterable[QuestionRecord]) -> Iterator[list[QuestionRecord]]:
    stream = iter(records)
    while batch := list(islice(stream, BATCH)):
        yield batch


def _import_batch(dataset: Dataset, batch: list[QuestionRecord], report: ImportReport) -> ImportReport:
    stored = {
        question.external_id: question
        for question in dataset.questions.filter(external_id__in=[record.external_id for record in batch])
    }
    new = []
    for record in batch:
        if record.external_id in stored:
            _require_same(dataset, stored[record.external_id], record)
        else:
            new.append(Question(dataset=dataset, **record.columns()))
    Question.objects.bulk_create(new)
    stray = [(record, record.stray_facts()) for record in batch]
    first = next((f"{record.place}: supporting_facts: {facts[0]}" for record, facts in stray if facts), "")
    return replace(
        report,
        added=report.added + len(new),
        unchanged=report.unchanged + len(batch) - len(new),
        without_facts=report.without_facts + sum(record.supporting_facts is None for record in batch),
        stray_facts=report.stray_facts + sum(len(facts) for _, facts in stray),
        first_stray=report.first_stray or first,
    )


def _require_same(dataset: Dataset, stored: Question, record: QuestionRecord) -> None:
    names = {"text": "question", "kind": "type"}
    for column, value in record.columns().items():
        if getattr(stored, column) != value:
            raise Conflict(
                f"{record.place}: {names.get(column, column)}: differs from what the dataset "
                f"{dataset.name!r} holds under this id; "
                "questions are never changed, so import under another --name"
            )
