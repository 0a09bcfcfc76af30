"""Store imported questions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import F

from accounts.models import User, Workspace
from foundation.batches import cut_batches
from foundation.errors import Conflict, NotFound
from foundation.imports.findings import Findings
from foundation.messages import prefix_field, say
from predictions.actions import events
from predictions.explanations.program_steps import IMAGES
from predictions.formats.records import QuestionRecord
from predictions.models import Dataset, Question

BATCH = 500
NAMES = {"text": "question", "kind": "type"}  # of columns, as files name them


@dataclass(frozen=True)
class ImportReport:
    """Counts of an import, or of what a preview would import."""

    added: int = 0
    unchanged: int = 0


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
    dry_run: bool = False,
) -> ImportReport:
    """Add the questions that a dataset lacks, all or none of them.

    A missing dataset is created in the workspace. Memory holds a batch, and the ids.

    Args:
        records: The questions.
        name: The dataset.
        workspace: The workspace of the dataset.
        source_format: The format of the file, for a new dataset.
        licence: Its licence, for a new dataset.
        findings: The findings of the reader of ``records``; without them the first mistake is raised.
        by: The person who imports them.
        dry_run: Store nothing.

    Raises:
        Conflict: The dataset has another question under an id; nothing is stored.
        Refused, BadFile: The file has mistakes; nothing is stored.
    """
    findings = findings or Findings()
    dataset, created = None, False
    if dry_run:
        dataset = Dataset.objects.filter(workspace=workspace, name=name).first()
    else:
        dataset, created = Dataset.objects.get_or_create(
            workspace=workspace,
            name=name,
            defaults={"source_format": source_format, "licence": licence, "created_by": by},
        )
    added = unchanged = without_facts = 0
    for read in cut_batches(findings.read_until_broken(records), BATCH):
        batch = _complete_records(read, workspace, findings)
        new = batch if dataset is None else _select_new_records(dataset, batch, findings)
        if not dry_run and not findings.refused_count:
            Question.objects.bulk_create([Question(dataset=dataset, **record.columns()) for record in new])
        without_facts += sum(record.supporting_facts is None for record in new)
        added, unchanged = added + len(new), unchanged + len(batch) - len(new)
        _note_repairs(batch, findings)
    if dataset is not None and not dry_run:
        findings.check()
        counts = {"question_count": F("question_count") + added}
        Dataset.objects.filter(pk=dataset.pk).update(
            **counts, without_facts=F("without_facts") + without_facts
        )
        if added or created:
            events.record(kind="dataset_imported", by=by, data={"dataset": name, "added": added})
    return ImportReport(added, unchanged)


def _complete_records(
    batch: Sequence[QuestionRecord], workspace: Workspace, findings: Findings
) -> list[QuestionRecord]:
    """Fill in what changed items leave out; refuse one without its original."""
    wanted = [record for record in batch if record.source_dataset]
    if not wanted:
        return list(batch)
    rows = Question.objects.filter(
        dataset__workspace=workspace,
        dataset__name__in={record.source_dataset for record in wanted},
        external_id__in={record.source_item_id for record in wanted},
    )
    originals = {(row.dataset.name, row.external_id): row for row in rows.select_related("dataset")}
    return [_complete_record(record, originals, findings) for record in batch]


def _complete_record(
    record: QuestionRecord, originals: Mapping[tuple[str, str], Question], findings: Findings
) -> QuestionRecord:
    if not record.source_dataset:
        return record
    original = originals.get((record.source_dataset, record.source_item_id))
    if original is None:
        reason = say(
            "the dataset %(dataset)r has no question %(id)r",
            dataset=record.source_dataset,
            id=record.source_item_id,
        )
        findings.refuse_entry(record.external_id, NotFound(prefix_field("source_item_id", reason)))
        return record
    context = [(title, sentences) for title, sentences in original.context]
    return replace(
        record,
        text=record.text or original.text,
        context=record.context or context,
        images=IMAGES.validate_python(original.images),
        labels=original.labels,
    )


def _select_new_records(
    dataset: Dataset, batch: Sequence[QuestionRecord], findings: Findings
) -> list[QuestionRecord]:
    """Return the records that a dataset lacks; refuse those that differ."""
    stored = {
        question.external_id: question
        for question in dataset.questions.filter(external_id__in=[record.external_id for record in batch])
    }
    for record in batch:
        for column in _find_differing_columns(stored.get(record.external_id), record):
            reason = say(
                "differs from what the dataset %(dataset)r holds under the id %(id)s; questions are never "
                "changed, so import under another name",
                dataset=dataset.name,
                id=record.external_id,
            )
            findings.refuse_entry(record.external_id, Conflict(prefix_field(column, reason)))
    return [record for record in batch if record.external_id not in stored]


def _find_differing_columns(stored: Question | None, record: QuestionRecord) -> list[str]:
    """Return the columns, as files name them, that differ from a stored row."""
    if stored is None:
        return []
    columns = record.columns()
    held = {column: getattr(stored, column) for column in columns}
    columns["images"], held["images"] = _drop_names(columns["images"]), _drop_names(held["images"])
    return [NAMES.get(column, column) for column, value in columns.items() if held[column] != value]


def _drop_names(images: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return images without their names, which old questions lack."""
    return [{**image, "name": ""} for image in images]


def _note_repairs(batch: Sequence[QuestionRecord], findings: Findings) -> None:
    """Note what the import keeps though it is not as it should be."""
    for record in batch:
        if facts := record.find_stray_facts():
            findings.note_repair("stray_facts", f"{record.external_id}: {facts[0]}", len(facts))
        if record.supporting_facts is None:
            findings.note_repair("without_facts", record.external_id)
