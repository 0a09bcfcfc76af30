"""Jobs that import uploaded files of items and images.

A dry run reads the whole file and stores nothing: it is the preview of the import.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from annotation.actions.data import bring_images, import_items
from annotation.content.label_programs import is_label_text
from annotation.content.schemas import ItemRecord
from annotation.errors import NotFound
from annotation.formats import registry
from annotation.formats.source import Source
from annotation.formats.uploads import find_image_folder, prepare_source
from annotation.models import Item, Project
from annotation.parsed_items import get_kind, parse_task
from foundation.errors import BadFile
from foundation.frozen_model import FrozenModel
from foundation.imports.findings import Findings
from foundation.imports.hub_datasets import fetch_upload
from foundation.imports.import_fields import Text
from foundation.imports.zip_files import is_zip, unpack
from foundation.messages import say
from jobs.actions.imports import FirstRows, import_upload
from jobs.actions.jobs import JobResult, Report
from jobs.models import Job

IMAGES = "images"  # a zip file of images for items that are there already
FORMATS = (*sorted(registry.READERS), IMAGES)
ImportFormat = Annotated[
    Text, Field(json_schema_extra={"enum": list(FORMATS)}, pattern=f"^({'|'.join(FORMATS)})$")
]


class ImportOptions(FrozenModel):
    """The project and format of uploaded items.

    ``preview`` is the job whose upload this one applies; ``labels_from_file`` replaces the task of a project
    without items. With ``hub`` the upload names a dataset of the Hugging Face hub (`HubDataset`).
    """

    project: int
    format: ImportFormat
    purpose: Annotated[
        Text,
        Field(
            json_schema_extra={"enum": Item.Purpose.values}, pattern=f"^({'|'.join(Item.Purpose.values)})$"
        ),
    ] = str(Item.Purpose.ORDINARY)
    dry_run: bool = False
    labels_from_file: bool = False
    hub: bool = False
    preview: int | None = None


def import_items_file(job: Job, report: Report) -> JobResult:
    """Import the items of an uploaded file or zip file into a project.

    The result of a dry run has what would be added (``added``, ``unchanged``, ``with_gold``, ``annotations``,
    ``images``), what the reader repaired or left out (``repairs``), what it refused (``refused``,
    ``refused_count``) and the ``first`` items.

    Raises:
        Refused: The file has mistakes; names file, line and field of each. Nothing is stored.
    """
    options = ImportOptions.model_validate(job.options)
    project = find_project(job, options.project)
    return import_upload(job, _Import(job, report, project, options))


def find_project(job: Job, pk: int) -> Project:
    """Return the project of a job.

    Raises:
        NotFound: It is not in the job's workspace.
    """
    project = Project.objects.filter(pk=pk, workspace=job.workspace).first()
    if project is None:
        raise NotFound(say("the project is not in this workspace any more"))
    return project


@dataclasses.dataclass
class _Import:
    """The import of an upload, of which ``at`` bytes are read."""

    job: Job
    report: Report
    project: Project
    options: ImportOptions
    at: int = 0

    def __call__(self, upload: Path, folder: Path, findings: Findings) -> dict[str, Any]:
        options = self.options
        shared: dict[str, Any] = {
            "project": self.project,
            "by": self.job.created_by,
            "dry_run": options.dry_run,
            "source": upload.name,
            "job": None if options.dry_run else self.job,
            "findings": findings,
        }
        if options.format == IMAGES:
            images = self._images(upload, folder, findings)
            return dataclasses.asdict(bring_images(folder=images, **shared)) | {"first": []}
        source = self._source(upload, folder, findings)
        size = (upload if source.path.is_dir() else source.path).stat().st_size
        # Texts and images without labels take the task of the project in any case.
        from_file = options.labels_from_file and options.format != "plain"
        task = None if from_file else parse_task(self.project)
        source = dataclasses.replace(
            source,
            task=task.text if task else "",
            plain=from_file,
            kind=get_kind(self.project),
            on_progress=lambda at: self._note(at, size),
        )
        first = FirstRows(self._report_progress(registry.read(options.format, source), size), _build_preview)
        counts = import_items(
            records=first,
            purpose=options.purpose,
            image_folder=None if source.images is None else source.images.root,
            labels_from_file=from_file,
            **shared,
        )
        return dataclasses.asdict(counts) | {"first": first.rows}

    def _source(self, upload: Path, folder: Path, findings: Findings) -> Source:
        if self.options.hub:
            return Source(path=fetch_upload(upload, folder, self.report), findings=findings)
        return prepare_source(self.options.format, upload, folder, findings=findings, on_progress=self.report)

    def _images(self, upload: Path, folder: Path, findings: Findings) -> Path:
        if not is_zip(upload):
            raise BadFile(upload, say("is not a zip file; put the images into one"))
        files = unpack(upload, folder, on_progress=self.report, on_error=findings.on_error)
        images = find_image_folder(files, folder)
        if images is None:
            raise BadFile(upload, say("holds no images; add them"))
        return images.root

    def _note(self, at: int, size: int) -> None:
        self.at = at
        self.report(at, size)

    def _report_progress(self, records: Iterator[ItemRecord], size: int) -> Iterator[ItemRecord]:
        """Note progress for formats that do not."""
        for number, record in enumerate(records):
            if number % 256 == 0:
                self.report(self.at, size)
            yield record


def _build_preview(record: ItemRecord) -> dict[str, Any]:
    """Return what a preview shows of an item."""
    return {
        "external_id": record.external_id,
        "text": record.text[:300],
        "program": "" if is_label_text(record.program) else record.program[:300],
        "images": [image.name for image in record.images],
        "passage": record.passage[:300],
        "answer": record.answer,
        "gold": record.gold is not None,
    }
