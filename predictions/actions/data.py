"""Store imported questions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from django.db import transaction
from django.db.models import F

from accounts.models import User, Workspace
from foundation.errors import Conflict
from predictions.actions import events
from predictions.formats.findings import Findings
from predictions.formats.records import QuestionRecord
from predictions.models import Dataset, Question

BATCH = 500
NAMES = {"text": "question", "kind": "type"}  # of columns, as files name them


@dataclass(frozen=True)
class ImportReport:
    """Counts of an import, or of what a preview would import.

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
    licence: str = "",
    findings: Findings | None = None,
    by: User | None = None,
) -> ImportReport:
    """Add the questions that a dataset lacks, all or none of them.

    A missing dataset is created in the workspace. Memory does not grow with the number of questions.

    Raises:
        Conflict: The dataset has another question under an id; nothing is stored.
        BadFile: As ``records`` raises; nothing is stored.
    """
    dataset, created = Dataset.objects.get_or_create(
        workspace=workspace,
        name=name,
        defaults={"source_format": source_format, "licence": licence, "created_by": by},
    )
    report, without_facts = ImportReport(), 0
    for batch in _batches(records):
        new = _new_records(dataset, batch, None)
        Question.objects.bulk_create([Question(dataset=dataset, **record.columns()) for record in new])
        without_facts += sum(record.supporting_facts is None for record in new)
        report = _counted(report, batch, new, findings)
    Dataset.objects.filter(pk=dataset.pk).update(
        question_count=F("question_count") + report.added, without_facts=F("without_facts") + without_facts
    )
    if report.added or created:
        events.record(kind="dataset_imported", by=by, data={"dataset": name, "added": report.added})
    return report


def preview_questions(
    *, records: Iterable[QuestionRecord], name: str, workspace: Workspace, findings: Findings
) -> ImportReport:
    """Return what an import of these records would store; write nothing.

    ``findings`` takes each question that differs from the stored one.
    """
    dataset = Dataset.objects.filter(workspace=workspace, name=name).first()
    report = ImportReport()
    for batch in _batches(records):
        new = batch if dataset is None else _new_records(dataset, batch, findings)
        report = _counted(report, batch, new, findings)
    return report


def _batches(records: Iterable[QuestionRecord]) -> Iterator[list[QuestionRecord]]:
    stream = iter(records)
    while batch := list(islice(stream, BATCH)):
        yield batch


def _new_records(
    dataset: Dataset, batch: Sequence[QuestionRecord], findings: Findings | None
) -> list[QuestionRecord]:
    """Return the records that a dataset lacks.

    Raises:
        Conflict: A stored question differs, and there are no findings to list that in.
    """
    stored = {
        question.external_id: question
        for question in dataset.questions.filter(external_id__in=[record.external_id for record in batch])
    }
    for record in batch:
        for column in _differing(stored.get(record.external_id), record):
            reason = (
                f"differs from what the dataset {dataset.name!r} holds under this id; "
                "questions are never changed, so import under another --name"
            )
            if findings is None:
                raise Conflict(f"{record.place}: {column}: {reason}")
            findings.refuse(f"{record.external_id}: {column}", reason, line=record.line)
    return [record for record in batch if record.external_id not in stored]


def _differing(stored: Question | None, record: QuestionRecord) -> list[str]:
    """Return the columns, as files name them, that differ from a stored row."""
    if stored is None:
        return []
    columns = record.columns().items()
    return [NAMES.get(column, column) for column, value in columns if getattr(stored, column) != value]


def _counted(
    report: ImportReport,
    batch: Sequence[QuestionRecord],
    new: Sequence[QuestionRecord],
    findings: Findings | None,
) -> ImportReport:
    """Return the counts with those of a batch, of which ``new`` is added."""
    stray = [(record, facts) for record in batch if (facts := record.stray_facts())]
    without = [record for record in batch if record.supporting_facts is None]
    if findings is not None:
        for record, facts in stray:
            findings.mend("stray_facts", f"{record.external_id}: {facts[0]}", len(facts))
        for record in without:
            findings.mend("without_facts", record.external_id)
    first = next((f"{record.place}: supporting_facts: {facts[0]}" for record, facts in stray), "")
    return replace(
        report,
        added=report.added + len(new),
        unchanged=report.unchanged + len(batch) - len(new),
        without_facts=report.without_facts + len(without),
        stray_facts=report.stray_facts + sum(len(facts) for _, facts in stray),
        first_stray=report.first_stray or first,
    )
