"""Bringing items in, with their images, gold and people's earlier work: all of a file or nothing."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import User
from annotation.actions import audit
from annotation.actions.bulk_insert import as_json, as_time, check_storable, insert
from annotation.actions.projects import create_project
from annotation.actions.review import set_gold
from annotation.errors import Conflict
from annotation.formats.images import ImageFolder
from annotation.models import Annotation, Gold, ImageFile, Item, Membership, Project, Role
from annotation.operations import checked
from annotation.parsed_items import program_of, subject_of
from annotation.schemas import AnnotationRecord, Document, Image, ItemRecord
from foundation import image_files

BATCH = 1000
Row = TypeVar("Row")
# What makes two imports of one id the same item. `extra` is what a format keeps for itself.
SHOWN = ("program", "text", "passage", "tokens", "images", "answer")
FINISHED = {"submitted", "in review", "returned", "accepted"}  # statuses that count in Item.submitted
SHAPE = 0.01  # of the ratio of width to height, by which a file may differ from what an item says of it

ITEM = (
    "project_id", "external_id", "position", "purpose", "program", "text", "passage", "tokens", "text_hash",
    "images", "answer", "extra", "annotators_wanted", "assigned", "submitted",
)  # fmt: skip
GOLD = ("item_id", "version", "current", "method", "document", "annotation_id", "by_id", "at")
ANNOTATION = (
    "item_id", "project_id", "annotator_id", "task", "status", "document", "revision", "reserved_until",
    "started_at", "saved_at", "submitted_at", "active_seconds", "predictions_shown",
)  # fmt: skip
IMAGE = ("project_id", "name", "width", "height", "path")


@dataclass
class ImportReport:
    """What an import did, or with a dry run would do."""

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
) -> ImportReport:
    """Add the items that the project lacks, with their gold and annotations; all of them or none.

    Memory stays the same however many there are. Annotations of earlier people belong to users without a
    password named after them; where a file has no times, that of the import stands for them. With a folder,
    images get their files from it, also those of items that were there before.

    ``records`` are checked already (`annotation.formats`). Raises Conflict when the project holds another
    item under an id or an image of another shape, and whatever ``records`` raises; nothing is stored then.
    """
    # Positions are counted one after the other.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    position = (project.items.aggregate(last=Max("position"))["last"] or 0) + 1
    folder = None if image_folder is None else ImageFolder(image_folder)
    job = _Import(project, purpose, folder, dry_run, timezone.now())
    for batch in batches(records):
        position += job.add(batch, position)
    if job.report.added:
        audit.record(project=project, kind="items_imported", by=by, data={"added": job.report.added})
    if dry_run:
        transaction.set_rollback(True)
    return job.report


@transaction.atomic
def import_project(
    *,
    slug: str,
    records: Iterable[ItemRecord],
    annotators: int | None = None,
    by: User | None = None,
    purpose: str = Item.Purpose.ORDINARY,
    image_folder: Path | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Bring items into the project of that name, made where it is new, for what its first item marks.

    ``annotators`` per item count for a new project. Raises Conflict where there is another number already,
    and whatever `import_items` raises; neither items nor a project are stored then.
    """
    stream = iter(records)
    first = list(islice(stream, 1))
    project = Project.objects.filter(slug=slug).first()
    if project is None and first:
        places = {} if annotators is None else {"annotators_per_item": annotators}
        project = create_project(slug=slug, title=slug, kind=first[0].kind, by=by, **places)
    elif project is None:
        raise Conflict("the file holds no item that can be annotated")
    elif annotators not in (None, project.annotators_per_item):
        raise Conflict(
            f"{slug}: has {project.annotators_per_item} annotators per item; its dashboard changes that"
        )
    report = import_items(
        records=chain(first, stream),
        project=project,
        by=by,
        purpose=purpose,
        image_folder=image_folder,
        dry_run=dry_run,
    )
    if dry_run:
        transaction.set_rollback(True)  # a project that was made for it goes too
    return report


@transaction.atomic
def bring_gold(*, item: Item, document: Document, by: User) -> Gold:
    """Give an item gold that was made elsewhere. The versions before stay.

    Raises BadEdit, which names the field, where the document does not follow the rules of editing.
    """
    kind = item.project.kind
    checked(document, program_of(item, kind), subject_of(item, kind))
    check_storable(item.external_id, (), (document.model_dump_json(),))
    return set_gold(item=item, document=document, method=Gold.Method.IMPORTED, by=by)


def batches(records: Iterable[Row]) -> Iterator[list[Row]]:
    """Cut a stream into lists of BATCH."""
    stream = iter(records)
    while batch := list(islice(stream, BATCH)):
        yield batch


class _Import:
    """One import under way: where to, what it counts, and the annotators that it has met."""

    def __init__(
        self, project: Project, purpose: str, folder: ImageFolder | None, dry_run: bool, now: datetime
    ) -> None:
        self.project, self.purpose, self.folder, self.dry_run = project, purpose, folder, dry_run
        self.now = now
        self.report = ImportReport()
        self._annotators: dict[str, int] = {}

    def add(self, batch: list[ItemRecord], position: int) -> int:
        """Store what is new of a batch, from a position on; return how many items that were."""
        new = self._new(batch)
        self.report.images += self._keep_images(batch if self.folder else new)
        rows = [self._row(one, position + place) for place, one in enumerate(new)]
        insert(Item, ITEM, rows)
        with_more = [place for place, one in enumerate(new) if one.gold is not None or one.annotations]
        if with_more:
            ids = self._ids(position, position + len(new))
            self._bring_gold([(ids[position + place], new[place]) for place in with_more])
            self._bring_annotations([(ids[position + place], new[place]) for place in with_more])
        self.report.added += len(new)
        self.report.unchanged += len(batch) - len(new)
        return len(new)

    def _new(self, batch: list[ItemRecord]) -> list[ItemRecord]:
        ids = [one.external_id for one in batch]
        known = {item.external_id: item for item in self.project.items.filter(external_id__in=ids)}
        new: dict[str, ItemRecord] = {}
        for one in batch:
            if one.kind != self.project.kind:
                kinds = f"the project marks {self.project.kind}, not {one.kind}"
                raise Conflict(f"{one.external_id}: kind: {kinds}")
            if not one.program:
                raise Conflict(f"{one.external_id}: program: is missing; without one there is nothing to do")
            if (stored := known.get(one.external_id)) is not None:
                _require_same(stored, one)
            elif new.setdefault(one.external_id, one) is not one:
                raise Conflict(f"{one.external_id}: external_id: comes twice")
        return list(new.values())

    def _row(self, one: ItemRecord, position: int) -> tuple[Any, ...]:
        tokens, names = as_json(one.tokens), as_json([image.name for image in one.images])
        answer = None if one.answer is None else as_json(one.answer)
        extra = as_json(one.extra, f"{one.external_id}: extra")
        check_storable(
            one.external_id, (one.external_id, one.text, one.passage), (names, answer or "", extra)
        )
        digest = hashlib.sha256(one.passage.encode()).hexdigest() if one.passage else ""
        taken = sum(_status(each) in Annotation.HOLDING for each in one.annotations)
        return (
            self.project.pk, one.external_id, position, self.purpose, one.program, one.text, one.passage,
            tokens, digest, names, answer, extra, max(self.project.annotators_per_item, taken), taken,
            sum(_status(each) in FINISHED for each in one.annotations),
        )  # fmt: skip

    def _ids(self, first: int, beyond: int) -> dict[int, int]:
        """The ids of the items at these positions."""
        items = self.project.items.filter(position__gte=first, position__lt=beyond)
        return dict(items.values_list("position", "pk"))

    def _bring_gold(self, new: list[tuple[int, ItemRecord]]) -> None:
        now = as_time(self.now)
        rows = []
        for item, one in new:
            if one.gold is not None:
                document = one.gold.model_dump_json()
                check_storable(one.external_id, (), (document,))
                rows.append((item, 1, True, Gold.Method.IMPORTED.value, document, None, None, now))
        insert(Gold, GOLD, rows)
        self.report.with_gold += len(rows)

    def _bring_annotations(self, new: list[tuple[int, ItemRecord]]) -> None:
        rows = []
        for item, one in new:
            names = [each.annotator for each in one.annotations]
            if len(set(names)) != len(names):
                raise Conflict(f"{one.external_id}: annotations: somebody has annotated the item twice")
            rows += [self._annotation(item, one, each) for each in one.annotations]
        insert(Annotation, ANNOTATION, rows)
        self.report.annotations += len(rows)

    def _annotation(self, item: int, one: ItemRecord, each: AnnotationRecord) -> tuple[Any, ...]:
        status, submitted = _status(each), _aware(each.submitted)
        started = _aware(each.started) or submitted or self.now
        if status in FINISHED:
            submitted = submitted or self.now
        document, shown = each.document.model_dump_json(), as_json(each.predictions_shown)
        check_storable(one.external_id, (each.annotator,), (document, shown))
        return (
            item, self.project.pk, self._annotator(each.annotator), Annotation.Task.ANNOTATION.value, status,
            document, each.revision, None, as_time(started), as_time(submitted), as_time(submitted), 0.0,
            shown,
        )  # fmt: skip

    def _annotator(self, name: str) -> int:
        """The user of that name; one made here has no password, and stands for who drew it elsewhere."""
        if name not in self._annotators:
            if not 0 < len(name) <= 150:
                raise Conflict(f"{name[:20]!r}: the name of an annotator has 1 to 150 characters")
            user, made = User.objects.get_or_create(username=name, defaults={"is_active": False})
            if made:
                user.set_unusable_password()
                user.save(update_fields=["password"])
            Membership.objects.get_or_create(
                project=self.project, user=user, defaults={"role": Role.ANNOTATOR, "active": False}
            )
            self._annotators[name] = user.pk
        return self._annotators[name]

    def _keep_images(self, records: list[ItemRecord]) -> int:
        """Store the images that items name and the project lacks; with a folder, their files too."""
        named: dict[str, Image] = {}
        for image in (image for one in records for image in one.images):
            first = named.setdefault(image.name, image)
            _require_shape(image.name, _Kept(first.width, first.height, ""), image)
            if not (first.width and first.height):
                named[image.name] = image
        rows = self.project.image_files.filter(name__in=named).values_list("name", "width", "height", "path")
        there = {name: _Kept(width, height, path) for name, width, height, path in rows} if named else {}
        new = []
        for name, image in named.items():
            kept = there.get(name)
            if kept is not None:
                _require_shape(name, kept, image)
            if kept is None or (self.folder is not None and not kept.path):
                file = self._file(image)
                if kept is None:
                    new.append((self.project.pk, name, *file))
                else:
                    _require_shape(name, kept, Image(name=name, width=file.width, height=file.height))
                    self.project.image_files.filter(name=name).update(**file._asdict())
        insert(ImageFile, IMAGE, new)
        return len(new)

    def _file(self, image: Image) -> "_Kept":
        """What is stored of an image; with a folder, its file is copied and measured."""
        if self.folder is None:
            return _Kept(image.width, image.height, "")
        try:
            found = self.folder.find(image.name)
        except ValueError as error:
            raise Conflict(str(error)) from error
        kept = _Kept(found.width, found.height, "")
        _require_shape(image.name, kept, image)
        return kept if self.dry_run else kept._replace(path=image_files.keep(self.folder.root / found.name))


class _Kept(NamedTuple):
    """What the site stores of an image."""

    width: int | None
    height: int | None
    path: str


def _require_shape(name: str, kept: _Kept, image: Image) -> None:
    """Boxes are fractions: another size of the same picture does no harm, another shape does."""
    if kept.width and kept.height and image.width and image.height:
        ratio = kept.width * image.height / (kept.height * image.width)
        if abs(ratio - 1) > SHAPE:
            raise Conflict(
                f"{name}: is {kept.width} × {kept.height} pixels here, and {image.width} × {image.height} "
                "for the item: boxes would not fit"
            )


def _require_same(stored: Item, one: ItemRecord) -> None:
    now = {
        "program": one.program,
        "text": one.text,
        "passage": one.passage,
        "tokens": [list(token) for token in one.tokens],
        "images": [image.name for image in one.images],
        "answer": one.answer,
    }
    for name in SHOWN:
        if getattr(stored, name) != now[name]:
            raise Conflict(
                f"{stored.external_id}: {name}: differs from what the project {stored.project.slug!r} holds "
                "under this id; items are never changed, so import into another project"
            )


def _status(annotation: AnnotationRecord) -> str:
    """The status that the work gets. A reservation of elsewhere is over; what was drawn is kept."""
    if annotation.status not in Annotation.Status.values:
        known = ", ".join(Annotation.Status.values)
        raise Conflict(f"{annotation.annotator}: status: {annotation.status!r} is none of {known}")
    return "expired" if annotation.status == Annotation.Status.RESERVED else annotation.status


def _aware(moment: datetime | None) -> datetime | None:
    """A moment as UTC, which one without a time zone is meant to be. Raises Conflict beyond the calendar."""
    if moment is None or moment.tzinfo is None:
        return moment and moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise Conflict(f"{moment}: the year lies beyond the calendar") from error
