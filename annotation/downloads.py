"""Jobs that make files of a project: its items with gold and annotations."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import Field

from accounts.actions import audit
from annotation.formats import registry
from annotation.importing.items import find_project
from annotation.queries.export import write_items
from foundation.frozen_model import FrozenModel
from foundation.imports.import_fields import Text
from jobs.actions.jobs import JobResult, Report, allocate_file
from jobs.models import Job

FORMATS = registry.WRITER_NAMES
SUFFIXES = {
    "jsonl": ".jsonl", "reasons": ".jsonl", "doccano": ".jsonl", "prodigy": ".jsonl", "parquet": ".parquet",
    "conll": ".conll", "cvat": ".xml",
}  # fmt: skip
# All other files are .json.

ExportFormat = Annotated[
    Text, Field(json_schema_extra={"enum": list(FORMATS)}, pattern=f"^({'|'.join(FORMATS)})$")
]


class ExportOptions(FrozenModel):
    """The project and format of an export."""

    project: int
    format: ExportFormat
    gold_only: bool = False


def export_annotations(job: Job, report: Report) -> JobResult:
    """Write the items of a project as a file, or as a zip file of several.

    Raises:
        Conflict: The format cannot hold the items.
    """
    options = ExportOptions.model_validate(job.options)
    project = find_project(job, options.project)
    suffix = SUFFIXES.get(options.format, ".json")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / (project.slug if options.format in registry.FOLDERS else f"items{suffix}")
        counts = write_items(project, options.format, target, gold_only=options.gold_only, on_progress=report)
        file = (
            _zip_folder(target)
            if target.is_dir()
            else Path(shutil.move(target, allocate_file(f"items{suffix}")))
        )
    audit.record_export(by=job.created_by, subject=project, kind=options.format)
    name = f"{project.slug}-{options.format}{file.suffix}"
    losses = counts.findings.as_json()["repairs"]
    return JobResult({"items": counts.items, "gold": counts.gold, "losses": losses}, file, name)


def _zip_folder(folder: Path) -> Path:
    path = allocate_file("items.zip")
    shutil.make_archive(str(path.with_suffix("")), "zip", folder)
    return path
