"""Jobs that import uploaded files of items and images.

A dry run reads the whole file and stores nothing: it is the preview of the import.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from annotation.actions.data import ImportReport, bring_images, import_items
from annotation.errors import NotFound
from annotation.formats import registry
from annotation.formats.source import Source
from annotation.formats.uploads import pictures_of, source_of
from annotation.labels import is_label_text
from annotation.models import Item, Project
from annotation.parsed_items import kind_of, task_of
from annotation.schemas import ItemRecord
from foundation.errors import BadFile
from foundation.findings import Findings
from foundation.frozen_model import FrozenModel
from foundation.hub_datasets import HubDataset, fetch_dataset
from foundation.import_fields import Text
from foundation.messages import say
from foundation.zip_files import emptied, is_zip, unpack
from jobs.actions.jobs import JobResult, Report, upload_of
from jobs.models import Job

IMAGES = "images"  # a zip file of images for items that are there already
FORMATS = (*sorted(registry.READERS), IMAGES)
FIRST_ITEMS = 5  # shown of a preview
UNPACKED = "unpacked"  # the folder beside the upload
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
    ``images``), what is mended or left out (``mended``), what is refused (``refused``, ``refused_count``) and
    the ``first`` items.

    Raises:
        Refused: The file has mistakes; names file, line and field of each. Nothing is stored.
    """
    options = ImportOptions.model_validate(job.options)
    project = project_of(job, options.project)
    unpacked = upload_of(job).parent / UNPACKED
    with emptied(unpacked):
        return JobResult(_Upload(job, report, project, options, unpacked).result())


def project_of(job: Job, pk: int) -> Project:
    """Return the project of a job.

    Raises:
        NotFound: It is not in the job's workspace.
    """
    project = Project.objects.filter(pk=pk, workspace=job.workspace).first()
    if project is None:
        raise NotFound(say("the project is not in this workspace any more"))
    return project


class _Upload:
    """One upload being read."""

    def __init__(
        self, job: Job, report: Report, project: Project, options: ImportOptions, unpacked: Path
    ) -> None:
        self._job, self._report, self._project, self._options = job, report, project, options
        self._path, self._unpacked = upload_of(job), unpacked
        self._findings = Findings(collect=True, roots=[self._path.parent, unpacked])
        self._first: list[dict[str, Any]] = []
        self._at = 0

    def result(self) -> dict[str, Any]:
        """Import the upload, or preview it; return the result of the job.

        Raises:
            Refused: The file has mistakes, and it is no preview.
        """

        def work() -> dict[str, Any]:
            counts = self._images() if self._options.format == IMAGES else self._items()
            return dataclasses.asdict(counts) | {"first": self._first}

        return self._findings.result_of(work, dry_run=self._options.dry_run)

    def _items(self) -> ImportReport:
        source = self._source()
        size = (self._path if source.path.is_dir() else source.path).stat().st_size
        # Texts and images without labels take the task of the project in any case.
        from_file = self._options.labels_from_file and self._options.format != "plain"
        task = None if from_file else task_of(self._project)
        source = dataclasses.replace(
            source,
            task=task.text if task else "",
            plain=from_file,
            kind=kind_of(self._project),
            on_progress=lambda at: self._note(at, size),
        )
        return import_items(
            records=self._watched(registry.read(self._options.format, source), size),
            purpose=self._options.purpose,
            image_folder=None if source.images is None else source.images.root,
            labels_from_file=from_file,
            **self._shared(),
        )

    def _source(self) -> Source:
        if self._options.hub:
            wanted = HubDataset.model_validate_json(self._path.read_bytes())
            folder = fetch_dataset(wanted, self._unpacked, on_progress=self._report)
            return Source(path=folder, findings=self._findings)
        return source_of(
            self._options.format,
            self._path,
            self._unpacked,
            findings=self._findings,
            on_progress=self._report,
        )

    def _images(self) -> ImportReport:
        if not is_zip(self._path):
            raise BadFile(self._path, say("is not a zip file; put the images into one"))
        on_error = self._findings.on_error
        files = unpack(self._path, self._unpacked, on_progress=self._report, on_error=on_error)
        folder = pictures_of(files, self._unpacked)
        if folder is None:
            raise BadFile(self._path, say("holds no images; add them"))
        return bring_images(folder=folder.root, **self._shared())

    def _shared(self) -> dict[str, Any]:
        return {
            "project": self._project,
            "by": self._job.created_by,
            "dry_run": self._options.dry_run,
            "source": self._path.name,
            "job": None if self._options.dry_run else self._job,
            "findings": self._findings,
        }

    def _note(self, at: int, size: int) -> None:
        self._at = at
        self._report(at, size)

    def _watched(self, records: Iterator[ItemRecord], size: int) -> Iterator[ItemRecord]:
        """Keep the first items, and note progress for formats that do not."""
        for number, record in enumerate(records):
            if number < FIRST_ITEMS:
                self._first.append(_shown(record))
            if number % 256 == 0:
                self._report(self._at, size)
            yield record


def _shown(record: ItemRecord) -> dict[str, Any]:
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
