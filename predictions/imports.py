"""Jobs that import uploaded files of questions or predictions.

A dry run reads the whole file and stores nothing: it is the preview of the import. Its result says what would
be stored, what is mended, what is refused, and the first rows.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from foundation.errors import BadFile, NotFound
from foundation.frozen_model import FrozenModel
from foundation.import_fields import Text
from jobs.actions.jobs import JobResult, Report, upload_of
from jobs.models import Job
from predictions.actions.data import import_questions, preview_questions
from predictions.actions.predictions import FIRST_ROWS, import_predictions, preview_predictions
from predictions.formats.findings import Findings
from predictions.formats.hotpot import read_hotpot
from predictions.formats.packed import unpacked
from predictions.formats.predictions import read_predictions
from predictions.formats.records import QuestionRecord
from predictions.formats.squad import read_quoref, read_squad
from predictions.models import Dataset

QUESTION_FORMATS = {"hotpot": read_hotpot, "squad": read_squad, "quoref": read_quoref}
Name = Annotated[Text, Field(pattern=r"^[-a-zA-Z0-9_]+$", max_length=100)]


class DatasetOptions(FrozenModel):
    """The name and format of an uploaded dataset.

    ``preview`` is the job whose upload this one applies.
    """

    name: Name
    format: Annotated[Text, Field(json_schema_extra={"enum": sorted(QUESTION_FORMATS)})]
    licence: Annotated[Text, Field(max_length=100)] = ""
    dry_run: bool = False
    preview: int | None = None


class PredictionsOptions(FrozenModel):
    """The dataset and system of an uploaded file of predictions."""

    dataset: int
    system: Annotated[Text, Field(min_length=1, max_length=100)]
    dry_run: bool = False
    preview: int | None = None


def import_dataset(job: Job, report: Report) -> JobResult:
    """Import the questions of an uploaded file, or preview that.

    Raises:
        BadFile, Conflict: As `import_questions`; nothing is stored.
    """
    options = DatasetOptions.model_validate(job.options)
    with unpacked(_present(job)) as path:
        size, findings = path.stat().st_size, Findings(path, collect=options.dry_run)
        records: Iterator[QuestionRecord] = QUESTION_FORMATS[options.format](
            path, on_progress=lambda at: report(at, size), findings=findings
        )
        if options.dry_run:
            return _preview(job, options, records, findings)
        counts = import_questions(
            records=records,
            name=options.name,
            workspace=job.workspace,
            source_format=options.format,
            licence=options.licence,
            findings=findings,
            by=job.created_by,
        )
    dataset = Dataset.objects.get(workspace=job.workspace, name=options.name)
    done = {"dry_run": False, "dataset": str(dataset.pk)}
    return JobResult(dataclasses.asdict(counts) | findings.as_json() | done)


def _preview(
    job: Job, options: DatasetOptions, records: Iterator[QuestionRecord], findings: Findings
) -> JobResult:
    rows: list[dict[str, Any]] = []
    counts = preview_questions(
        records=_keep_first(findings.until_unreadable(records), rows),
        name=options.name,
        workspace=job.workspace,
        findings=findings,
    )
    existing = Dataset.objects.filter(workspace=job.workspace, name=options.name).exists()
    seen = {"dry_run": True, "first": rows, "extends": existing}
    return JobResult(dataclasses.asdict(counts) | findings.as_json() | seen)


def _keep_first(records: Iterable[QuestionRecord], rows: list[dict[str, Any]]) -> Iterator[QuestionRecord]:
    """Yield records, and put the first into ``rows`` as they will be stored."""
    names = ("external_id", "text", "answer", "supporting_facts")
    for record in records:
        if len(rows) < FIRST_ROWS:
            columns = record.columns()
            titles = [title for title, _ in record.context]
            rows.append({name: columns[name] for name in names} | {"articles": titles})
        yield record


def import_predictions_file(job: Job, report: Report) -> JobResult:
    """Import the predictions of an uploaded file, or preview that.

    Raises:
        BadFile: As `import_predictions`; nothing is stored.
        NotFound: The dataset was deleted meanwhile.
    """
    options = PredictionsOptions.model_validate(job.options)
    dataset = Dataset.objects.filter(pk=options.dataset, workspace=job.workspace).first()
    if dataset is None:
        raise NotFound("The dataset of these predictions is not there any more.")
    with unpacked(_present(job)) as path:
        findings = Findings(path, collect=options.dry_run)
        if not options.dry_run:
            run, counts = import_predictions(
                file=read_predictions(path), dataset=dataset, system=options.system, by=job.created_by
            )
            done = {"dry_run": False, "run": str(run.pk), "dataset": str(dataset.pk)}
            return JobResult(dataclasses.asdict(counts) | done)
        result: dict[str, Any] = {"first": []}
        try:
            rows, counts = preview_predictions(
                file=read_predictions(path), dataset=dataset, system=options.system, findings=findings
            )
            result = {"first": rows} | dataclasses.asdict(counts)
        except BadFile as error:
            findings.end_at(error)
    return JobResult(result | findings.as_json() | {"dry_run": True, "dataset": str(dataset.pk)})


def _present(job: Job) -> Path:
    path = upload_of(job)
    if not path.is_file():
        raise NotFound("The uploaded file is not there any more. Upload it again.")
    return path
