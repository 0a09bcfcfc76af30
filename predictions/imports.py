"""Jobs that import uploaded files of questions or predictions.

A dry run reads the whole file and stores nothing: it is the preview of the import.
"""

import dataclasses
from typing import Annotated

from pydantic import Field

from foundation.frozen_model import FrozenModel
from foundation.import_fields import Text
from jobs.actions.jobs import JobResult, Report, upload_of
from jobs.models import Job
from predictions.actions.data import import_questions
from predictions.actions.predictions import import_predictions
from predictions.formats.hotpot import read_hotpot
from predictions.formats.predictions import read_predictions
from predictions.formats.squad import read_quoref, read_squad
from predictions.models import Dataset

QUESTION_FORMATS = {"hotpot": read_hotpot, "squad": read_squad, "quoref": read_quoref}
Name = Annotated[Text, Field(pattern=r"^[-a-zA-Z0-9_]+$", max_length=100)]


class DatasetOptions(FrozenModel):
    """The name and format of an uploaded dataset."""

    name: Name
    format: Annotated[Text, Field(json_schema_extra={"enum": sorted(QUESTION_FORMATS)})]
    dry_run: bool = False


class PredictionsOptions(FrozenModel):
    """The dataset and system of an uploaded file of predictions."""

    dataset: int
    system: Annotated[Text, Field(min_length=1, max_length=100)]


def import_dataset(job: Job, report: Report) -> JobResult:
    """Import the questions of an uploaded file.

    Raises:
        BadFile, Conflict: As `import_questions`; nothing is stored.
    """
    options, path = DatasetOptions.model_validate(job.options), upload_of(job)
    size = path.stat().st_size
    records = QUESTION_FORMATS[options.format](path, on_progress=lambda at: report(at, size))
    counts = import_questions(
        records=records,
        name=options.name,
        workspace=job.workspace,
        source_format=options.format,
        dry_run=options.dry_run,
        by=job.created_by,
    )
    return JobResult(dataclasses.asdict(counts) | {"dry_run": options.dry_run})


def import_predictions_file(job: Job, report: Report) -> JobResult:
    """Import the predictions of an uploaded file.

    Raises:
        BadFile: As `import_predictions`; nothing is stored.
    """
    options = PredictionsOptions.model_validate(job.options)
    dataset = Dataset.objects.get(pk=options.dataset, workspace=job.workspace)
    counts = import_predictions(
        file=read_predictions(upload_of(job)), dataset=dataset, system=options.system, by=job.created_by
    )
    return JobResult(dataclasses.asdict(counts) | {"run": str(counts.run.pk)})
