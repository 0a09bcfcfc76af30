"""Import items with images, gold and annotations: whole files or nothing."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import User, Workspace
from annotation.actions import audit
from annotation.actions.bulk_insert import as_json, as_time, check_storable, insert
from annotation.actions.images import ImportedImages
from annotation.actions.projects import create_project, replace_labels
from annotation.content.label_changes import can_extend, relabel_record
from annotation.content.label_programs import is_label_text
from annotation.content.labels import LabelTask
from annotation.content.schemas import AnnotationRecord, ItemRecord
from annotation.errors import Conflict, conflict_at
from annotation.formats.images import ImageFolder
from annotation.models import Annotation, Gold, Item, ItemImport, Membership, Project, Role
from annotation.parsed_items import label_changes_of, parse_task
from foundation.batches import cut_batches
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.messages import prefix_field, say
from jobs.models import Job

BATCH = 1000
# Fields that make two imports of one ID the same item. `extra` belongs to the format.
SHOWN = ("program", "text", "passage", "tokens", "images", "answer")

ITEM = (
    "project_id", "external_id", "position", "rank", "purpose", "program", "text", "passage", "tokens",
    "text_hash", "images", "answer", "extra", "annotators_wanted", "assigned", "submitted", "disagreement",
)  # fmt: skip
GOLD = ("item_id", "version", "current", "method", "document", "annotation_id", "by_id", "at")
ANNOTATION = (
    "item_id", "project_id", "annotator_id", "batch_id", "task", "status", "document", "revision",
    "reserved_until", "started_at", "saved_at", "submitted_at", "active_seconds", "predictions_shown",
)  # fmt: skip


@dataclass
class ImportReport:
    """The results of an import, or of its dry run."""

    added: int = 0
    unchanged: int = 0
    with_gold: int = 0
    annotations: int = 0
    images: int = 0


@transaction.atomic
def import_items(
    *,
    records: Iterable[ItemRecord],
    project: Project,
    by: User | None = None,
    purpose: str = Item.Purpose.ORDINARY,
    image_folder: Path | None = None,
    dry_run: bool = False,
    labels_from_file: bool = False,
    source: str = "",
    job: Job | None = None,
    findings: Findings | None = None,
) -> ImportReport:
    """Add the items that the project lacks, with gold and annotations.

    All are stored or none, with constant memory. Annotations of earlier people belong to users without a
    password named after them; times missing from a file are those of the import. With a folder, images get
    their files from it, also those of earlier items.

    Args:
        records: The items, checked already (`annotation.formats`).
        project: The project.
        by: The person who imports them.
        purpose: The purpose of the items.
        image_folder: The folder of the images.
        dry_run: Store nothing.
        labels_from_file: Replace the task of the project, which has no items yet, by that of the file.
        source: The name of the file.
        job: The job that does it. A job that was done already is not done again.
        findings: The findings of the reader of ``records``; without them the first mistake is raised.

    Raises:
        Conflict: The project holds another item under an ID, or an image of another shape.
        Refused: The file has mistakes; nothing is stored.
    """
    # Lock the project, so that positions stay unique.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if job is not None and (earlier := ItemImport.objects.filter(job=job).first()) is not None:
        return ImportReport(**earlier.counts)
    first = position = _find_next_position(project)
    folder = None if image_folder is None else ImageFolder(image_folder)
    findings = findings if findings is not None else Findings()
    stream = findings.read_until_broken(records)
    if labels_from_file:
        stream = _adopt_labels(stream, project, by)
    images = ImportedImages(project, folder, dry_run=dry_run, findings=findings)
    work = _Import(project, purpose, images, timezone.now(), findings)
    for batch in cut_batches(stream, BATCH):
        position += work.add(batch, position)
    if dry_run:
        transaction.set_rollback(True)
    else:
        findings.check()
        _note_import(work.report, project, by, source, job, range(first, position))
    return work.report


def _adopt_labels(records: Iterator[ItemRecord], project: Project, by: User | None) -> Iterator[ItemRecord]:
    """Give the project the labels of the first record, if that is plain."""
    first = list(islice(records, 1))
    if first and is_label_text(first[0].program):
        labels = LabelTask.model_validate_json(first[0].program)
        replace_labels(project=project, labels=labels, kind=first[0].kind, by=by)
    return chain(first, records)


@transaction.atomic
def bring_images(
    *,
    project: Project,
    folder: Path,
    by: User | None = None,
    dry_run: bool = False,
    source: str = "",
    job: Job | None = None,
    findings: Findings | None = None,
) -> ImportReport:
    """Give the images of a project's items their files, found by name.

    Images that have a file keep it. Arguments and errors are those of `import_items`.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if job is not None and (earlier := ItemImport.objects.filter(job=job).first()) is not None:
        return ImportReport(**earlier.counts)
    findings = findings if findings is not None else Findings()
    images = ImportedImages(project, ImageFolder(folder), dry_run=dry_run, findings=findings)
    report = ImportReport(images=images.find_files())
    if dry_run:
        transaction.set_rollback(True)
    else:
        findings.check()
        position = _find_next_position(project)
        _note_import(report, project, by, source, job, range(position, position))
    return report


def _find_next_position(project: Project) -> int:
    """Return the first position that no item ever had."""
    items, imports = project.items.aggregate(at=Max("position")), project.imports.aggregate(at=Max("last"))
    return max(items["at"] or 0, imports["at"] or 0) + 1


def _note_import(
    report: "ImportReport",
    project: Project,
    by: User | None,
    source: str,
    job: Job | None,
    positions: range,
) -> None:
    """Note an import that changed something, or that a job did."""
    if report.added or report.images or job is not None:
        ItemImport.objects.create(
            project=project,
            job=job,
            source=source[:200],
            counts=asdict(report),
            first=positions.start,
            last=positions.stop - 1,
            by=by,
        )
    if report.added or report.images:
        data = {"added": report.added} if report.added else {"images": report.images}
        audit.record(project=project, kind="items_imported", by=by, data=data)


@transaction.atomic
def import_project(
    *,
    slug: str,
    workspace: Workspace,
    records: Iterable[ItemRecord],
    annotators: int | None = None,
    by: User | None = None,
    purpose: str = Item.Purpose.ORDINARY,
    image_folder: Path | None = None,
    dry_run: bool = False,
    source: str = "",
    findings: Findings | None = None,
) -> ImportReport:
    """Import items into a workspace's project of that name, made if it is new.

    ``annotators`` per item count for a new project; its kind is that of the first item.

    Raises:
        Conflict: The project has another number of annotators, or as `import_items`.
    """
    findings = findings if findings is not None else Findings()
    stream = findings.read_until_broken(records)
    first = list(islice(stream, 1))
    project = Project.objects.filter(slug=slug).first()
    if project is None and first:
        options: dict[str, Any] = {} if annotators is None else {"annotators_per_item": annotators}
        if is_label_text(first[0].program):
            options["labels"] = LabelTask.model_validate_json(first[0].program)
        project = create_project(
            slug=slug, title=slug, kind=first[0].kind, workspace=workspace, by=by, **options
        )
    elif project is None:
        findings.check()
        raise Conflict(say("the file holds no item that can be annotated"))
    elif project.workspace_id != workspace.pk:
        raise conflict_at(slug, "a project of another workspace has this name; choose another with --name")
    elif annotators not in (None, project.annotators_per_item):
        raise conflict_at(
            slug,
            "has %(annotators_per_item)s annotators per item; its dashboard changes that",
            annotators_per_item=project.annotators_per_item,
        )
    report = import_items(
        records=chain(first, stream),
        project=project,
        by=by,
        purpose=purpose,
        image_folder=image_folder,
        dry_run=dry_run,
        source=source,
        findings=findings,
    )
    if dry_run:
        transaction.set_rollback(True)  # also removes a project that was made for it
    return report


class _Import:
    """One import in progress, with its counts and known annotators."""

    def __init__(
        self,
        project: Project,
        purpose: str,
        images: ImportedImages,
        now: datetime,
        findings: Findings,
    ) -> None:
        self.project, self.purpose, self._images = project, purpose, images
        self.now, self._findings = now, findings
        self.report = ImportReport()
        self._annotators: dict[str, int] = {}
        task = parse_task(project)
        self._task = task.text if task else ""
        self._changes = label_changes_of(project)
        self._earlier: dict[str, bool] = {}  # whether a plain task of a file became that of the project
        self._highest = project.items.aggregate(rank=Max("rank"))["rank"] or 0

    def add(self, batch: list[ItemRecord], position: int) -> int:
        """Store the new items of a batch; return their number."""
        new, rows = self._new(batch, position)
        self.report.images += self._images.keep(batch if self._images.folder else new)
        insert(Item, ITEM, rows)
        with_more = [
            index for index, record in enumerate(new) if record.gold is not None or record.annotations
        ]
        if with_more:
            ids = self._ids(position, position + len(new))
            self._bring_gold([(ids[position + index], new[index]) for index in with_more])
            self._bring_annotations([(ids[position + index], new[index]) for index in with_more])
        self.report.added += len(new)
        self.report.unchanged += len(batch) - len(new)
        return len(new)

    def _new(self, batch: list[ItemRecord], position: int) -> tuple[list[ItemRecord], list[tuple[Any, ...]]]:
        """Return the new records with their rows; refuse those that do not fit."""
        rows: list[tuple[Any, ...]] = []
        ids = [record.external_id for record in batch]
        stored = {item.external_id: item for item in self.project.items.filter(external_id__in=ids)}
        new: dict[str, ItemRecord] = {}
        for given in batch:
            record = self._relabel_record(given)
            with self._findings.refusing_entry(record.external_id, Conflict, BadFile):
                self._check(record, stored.get(record.external_id), new)
                if record.external_id not in stored:
                    rows.append(self._row(record, position + len(new)))
                    new[record.external_id] = record
        return list(new.values()), rows

    def _relabel_record(self, record: ItemRecord) -> ItemRecord:
        """Give a record of an earlier configuration the labels changed since."""
        if not self._task or record.program == self._task or not is_label_text(record.program):
            return record
        if self._changes:
            record = relabel_record(record, self._changes)
        if record.program not in self._earlier:
            self._earlier[record.program] = can_extend(record.program, self._task)
        return record.model_copy(update={"program": self._task}) if self._earlier[record.program] else record

    def _check(self, record: ItemRecord, stored: Item | None, new: Collection[str]) -> None:
        """Check that an item fits the project, and what it holds already."""
        if record.kind != self.project.kind:
            spans, boxes = "the project marks spans, not boxes", "the project marks boxes, not spans"
            reason = spans if self.project.kind == "spans" else boxes
            raise Conflict(prefix_field(record.external_id, prefix_field("kind", say(reason))))
        if not record.program:
            raise conflict_at(
                (record.external_id, "program"), "is missing; without one there is nothing to do"
            )
        if self._task != (record.program if is_label_text(record.program) or self._task else ""):
            where = (record.external_id, "program")
            if self._task:
                raise conflict_at(where, "differs from the label configuration of the project")
            raise conflict_at(where, "is a plain task, but the project has no label configuration")
        if stored is not None:
            _require_same(stored, record)
        elif record.external_id in new:
            raise conflict_at((record.external_id, "external_id"), "comes twice")

    def _row(self, record: ItemRecord, position: int) -> tuple[Any, ...]:
        tokens, names = as_json(record.tokens), as_json([image.name for image in record.images])
        answer = None if record.answer is None else as_json(record.answer)
        extra = as_json(record.extra, f"{record.external_id}: extra")
        check_storable(
            record.external_id,
            (record.external_id, record.text, record.passage),
            (names, answer or "", extra),
        )
        digest = hashlib.sha256(record.passage.encode()).hexdigest() if record.passage else ""
        assigned = sum(_read_status(annotation) in Annotation.HOLDING for annotation in record.annotations)
        return (
            self.project.pk, record.external_id, position, self._rank(position), self.purpose,
            record.program, record.text, record.passage, tokens, digest, names, answer, extra,
            max(self.project.annotators_per_item, assigned), assigned,
            sum(_read_status(annotation) in Annotation.HANDED_IN for annotation in record.annotations), None,
        )  # fmt: skip

    def _rank(self, position: int) -> int:
        """Return the rank of a new item, after all others in file order."""
        return max(self._highest, 0) + position

    def _ids(self, first: int, beyond: int) -> dict[int, int]:
        """Return the IDs of the items at these positions."""
        items = self.project.items.filter(position__gte=first, position__lt=beyond)
        return dict(items.values_list("position", "pk"))

    def _bring_gold(self, new: list[tuple[int, ItemRecord]]) -> None:
        now = as_time(self.now)
        rows = []
        for item, record in new:
            if record.gold is not None:
                document = record.gold.model_dump_json()
                with self._findings.refusing_entry(record.external_id, Conflict, BadFile):
                    check_storable(record.external_id, (), (document,))
                    rows.append((item, 1, True, Gold.Method.IMPORTED.value, document, None, None, now))
        insert(Gold, GOLD, rows)
        self.report.with_gold += len(rows)

    def _bring_annotations(self, new: list[tuple[int, ItemRecord]]) -> None:
        rows = []
        for item, record in new:
            names = [annotation.annotator for annotation in record.annotations]
            with self._findings.refusing_entry(record.external_id, Conflict, BadFile):
                if len(set(names)) != len(names):
                    raise conflict_at(
                        (record.external_id, "annotations"), "somebody has annotated the item twice"
                    )
                rows += [self._annotation(item, record, annotation) for annotation in record.annotations]
        insert(Annotation, ANNOTATION, rows)
        self.report.annotations += len(rows)

    def _annotation(self, item: int, record: ItemRecord, annotation: AnnotationRecord) -> tuple[Any, ...]:
        status, submitted = _read_status(annotation), _convert_to_utc(annotation.submitted)
        started = _convert_to_utc(annotation.started) or submitted or self.now
        if status in Annotation.HANDED_IN:
            submitted = submitted or self.now
        document, shown = annotation.document.model_dump_json(), as_json(annotation.predictions_shown)
        check_storable(record.external_id, (annotation.annotator,), (document, shown))
        return (
            item, self.project.pk, self._annotator(annotation.annotator), None,
            Annotation.Task.ANNOTATION.value, status, document, annotation.revision, None, as_time(started),
            as_time(submitted), as_time(submitted), 0.0, shown,
        )  # fmt: skip

    def _annotator(self, name: str) -> int:
        """Return the user of that name.

        Users made here have no password, and stand for people who annotated elsewhere.
        """
        if name not in self._annotators:
            if not 0 < len(name) <= 150:
                raise Conflict(
                    say("%(name)r: the name of an annotator has 1 to 150 characters", name=name[:20])
                )
            user, is_new = User.objects.get_or_create(username=name, defaults={"is_active": False})
            if is_new:
                user.set_unusable_password()
                user.save(update_fields=["password"])
            Membership.objects.get_or_create(
                project=self.project, user=user, defaults={"role": Role.ANNOTATOR, "active": False}
            )
            self._annotators[name] = user.pk
        return self._annotators[name]


def _require_same(stored: Item, record: ItemRecord) -> None:
    now = {
        "program": record.program,
        "text": record.text,
        "passage": record.passage,
        "tokens": [list(token) for token in record.tokens],
        "images": [image.name for image in record.images],
        "answer": record.answer,
    }
    for name in SHOWN:
        if getattr(stored, name) != now[name]:
            raise conflict_at(
                (stored.external_id, name),
                "differs from what the project %(slug)r holds under this id; items are "
                "never changed, so import into another project",
                slug=stored.project.slug,
            )


def _read_status(annotation: AnnotationRecord) -> str:
    """Return the stored status; reservations from elsewhere have expired."""
    if annotation.status not in Annotation.Status.values:
        statuses = ", ".join(Annotation.Status.values)
        raise conflict_at(
            (annotation.annotator, "status"),
            "%(status)r is not one of %(statuses)s",
            status=annotation.status,
            statuses=statuses,
        )
    return "expired" if annotation.status == Annotation.Status.RESERVED else annotation.status


def _convert_to_utc(moment: datetime | None) -> datetime | None:
    """Return a time in UTC, which is assumed without a time zone.

    Raises:
        Conflict: The year is beyond the calendar.
    """
    if moment is None or moment.tzinfo is None:
        return moment and moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise conflict_at(str(moment), "the year lies beyond the calendar") from error
