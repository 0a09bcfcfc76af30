"""Jobs that import uploaded files of model outputs.

A dry run reads the whole file and stores nothing: it is the preview of the import.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from annotation.actions.outputs import import_outputs
from annotation.content.schemas import SystemRecord
from annotation.formats.outputs import read_outputs
from annotation.importing.items import find_project
from foundation.frozen_model import FrozenModel
from foundation.imports.findings import Findings
from foundation.imports.import_fields import Text
from foundation.imports.zip_files import unpack_file
from jobs.actions.imports import FirstRows, import_upload
from jobs.actions.jobs import JobResult, Report
from jobs.models import Job

Name = Annotated[Text, Field(min_length=1, max_length=100)]


class OutputOptions(FrozenModel):
    """The project, system and revision of uploaded outputs.

    ``preview`` is the job whose upload this one applies.
    """

    project: int
    system: Name
    revision: Name
    dry_run: bool = False
    preview: int | None = None


def import_outputs_file(job: Job, report: Report) -> JobResult:
    """Import the outputs of an uploaded file, or preview that.

    The result has the numbers of new outputs and of those that are there already (``added``, ``unchanged``),
    the refusals (``refused``, ``refused_count``) and the ``first`` outputs.

    Raises:
        Refused: The file has mistakes; names file, line and field of each. Nothing is stored.
        NotFound: The project is not in the workspace of the job.
    """
    options = OutputOptions.model_validate(job.options)
    project = find_project(job, options.project)

    def work(upload: Path, folder: Path, findings: Findings) -> dict[str, Any]:
        path = unpack_file(upload, folder)
        size = path.stat().st_size
        records = read_outputs(path, findings=findings, on_progress=lambda at: report(at, size))
        first = FirstRows(records, _build_preview)
        added = import_outputs(
            records=first,
            project=project,
            system=options.system,
            revision=options.revision,
            findings=findings,
            by=job.created_by,
            dry_run=options.dry_run,
        )
        return {"added": added, "unchanged": first.number - added, "first": first.rows}

    return import_upload(job, work)


def _build_preview(record: SystemRecord) -> dict[str, Any]:
    """Return what a preview shows of an output."""
    return {
        "external_id": record.id,
        "answer": record.answer,
        "modules": len(record.modules),
        "marks": sum(len(objects) for objects in record.marks.values()),
    }
