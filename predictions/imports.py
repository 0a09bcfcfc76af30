"""Jobs that import uploaded files of questions or predictions.

A dry run reads the whole file and stores nothing: it is the preview of the import. Its result says what would
be stored, what the reader repaired or refused, and the first rows.
"""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from foundation.errors import BadFile, NotFound
from foundation.frozen_model import FrozenModel
from foundation.imports.dataset_rows import measure_size
from foundation.imports.findings import Findings
from foundation.imports.hub_datasets import fetch_upload
from foundation.imports.import_fields import Text
from foundation.imports.zip_files import unpack_file, unpack_folder
from foundation.messages import say
from jobs.actions.imports import FirstRows, import_upload
from jobs.actions.jobs import JobResult, Report
from jobs.models import Job
from predictions.actions.data import import_questions
from predictions.actions.predictions import FIRST_ROWS, import_predictions
from predictions.formats.changed import read_changed
from predictions.formats.claims import (
    CORPUS,
    WIKI_PAGES,
    find_entries_file,
    read_claims,
    read_fever,
    read_scifact,
)
from predictions.formats.hotpot import read_hotpot
from predictions.formats.musique import read_musique
from predictions.formats.predictions import read_predictions
from predictions.formats.rationales import DOCS, read_eraser, read_esnli
from predictions.formats.records import QuestionRecord
from predictions.formats.squad import read_quoref, read_squad
from predictions.models import Dataset

QUESTION_FORMATS = {
    "hotpot": read_hotpot,
    "musique": read_musique,
    "squad": read_squad,
    "quoref": read_quoref,
    "claims": read_claims,
    "fever": read_fever,
    "scifact": read_scifact,
    "esnli": read_esnli,
    "eraser-tasks": read_eraser,
    "changed": read_changed,
}
# Read from a folder, which is uploaded as a zip file; the name is that of the articles in it.
FOLDERS = {"fever": WIKI_PAGES, "scifact": CORPUS, "eraser-tasks": DOCS}
Name = Annotated[Text, Field(pattern=r"^[-a-zA-Z0-9_]+$", max_length=100)]


class DatasetOptions(FrozenModel):
    """The name and format of an uploaded dataset.

    ``preview`` is the job whose upload this one applies. With ``hub`` the upload names a dataset of the
    Hugging Face hub (`HubDataset`).
    """

    name: Name
    format: Annotated[Text, Field(json_schema_extra={"enum": sorted(QUESTION_FORMATS)})]
    licence: Annotated[Text, Field(max_length=100)] = ""
    hub: bool = False
    dry_run: bool = False
    preview: int | None = None


class PredictionsOptions(FrozenModel):
    """The dataset and system of an uploaded file of predictions.

    ``strict`` refuses facts that are not [title, index].
    """

    dataset: int
    system: Annotated[Text, Field(min_length=1, max_length=100)]
    strict: bool = False
    dry_run: bool = False
    preview: int | None = None


def import_dataset(job: Job, report: Report) -> JobResult:
    """Import the questions of an uploaded file, or preview that.

    Raises:
        Refused: As `import_questions`; nothing is stored.
    """
    options = DatasetOptions.model_validate(job.options)
    held = Dataset.objects.filter(workspace=job.workspace, name=options.name)
    extends = held.exists()

    def work(upload: Path, folder: Path, findings: Findings) -> dict[str, Any]:
        path = _fetch_or_unpack(upload, folder, options, report)
        size = measure_size(path) or None
        records = QUESTION_FORMATS[options.format](
            path, on_progress=lambda at: report(at, size), findings=findings
        )
        first = FirstRows(records, _build_preview, most=FIRST_ROWS)
        counts = import_questions(
            records=first,
            name=options.name,
            workspace=job.workspace,
            source_format=options.format,
            licence=options.licence,
            findings=findings,
            by=job.created_by,
            dry_run=options.dry_run,
        )
        done = dataclasses.asdict(counts) | {"first": first.rows, "extends": extends}
        return done if options.dry_run else done | {"dataset": str(held.get().pk)}

    return import_upload(job, work)


def _fetch_or_unpack(upload: Path, folder: Path, options: DatasetOptions, report: Report) -> Path:
    """Fetch or unpack an upload; return the file or folder to read."""
    if options.hub:
        return fetch_upload(upload, folder, report)
    if options.format not in FOLDERS:
        return unpack_file(upload, folder)
    path = unpack_folder(upload, folder)
    try:
        find_entries_file(path, beside=FOLDERS[options.format])
    except BadFile as error:
        raise BadFile(upload, error.message) from error
    return path


def _build_preview(record: QuestionRecord) -> dict[str, Any]:
    """Return what a preview shows of a question: what will be stored."""
    columns = record.columns()
    names = ("external_id", "text", "answer", "supporting_facts")
    return {name: columns[name] for name in names} | {"articles": [title for title, _ in record.context]}


def import_predictions_file(job: Job, report: Report) -> JobResult:
    """Import the predictions of an uploaded file, or preview that.

    Raises:
        Refused: As `import_predictions`; nothing is stored.
        NotFound: The dataset was deleted meanwhile.
    """
    options = PredictionsOptions.model_validate(job.options)
    dataset = Dataset.objects.filter(pk=options.dataset, workspace=job.workspace).first()
    if dataset is None:
        raise NotFound(say("The dataset of these predictions is not there any more."))

    def work(upload: Path, folder: Path, findings: Findings) -> dict[str, Any]:
        run, counts = import_predictions(
            file=read_predictions(unpack_file(upload, folder), findings, strict=options.strict),
            dataset=dataset,
            system=options.system,
            findings=findings,
            by=job.created_by,
            dry_run=options.dry_run,
        )
        done = dataclasses.asdict(counts) | {"dataset": str(dataset.pk)}
        return done if run is None else done | {"run": str(run.pk)}

    return import_upload(job, work)
