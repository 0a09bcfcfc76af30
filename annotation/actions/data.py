"""Bringing items, gold, people's earlier work and systems' outputs in: all of a file or nothing."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import User
from annotation import images
from annotation.actions import audit
from annotation.errors import Conflict
from annotation.models import Gold, ImageFile, Item, Membership, Project, Role, SystemOutput, Work
from annotation.payloads import Annotation, ItemRecord, SystemRecord

BATCH = 1000
Row = TypeVar("Row")
# What makes two imports of one id the same item. `extra` is what a format keeps for itself.
SHOWN = ("program", "text", "passage", "tokens", "images", "answer")


@dataclass(frozen=True)
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
    password named after them. Raises Conflict when the project holds another item under an id, and whatever
    ``records`` raises; nothing is stored then.
    """
    Project.objects.select_for_update().get(pk=project.pk)  # positions are counted one after the other
    position = (project.items.aggregate(last=Max("position"))["last"] or 0) + 1
    report = ImportReport()
    for batch in _batches(records):
        report = _import_batch(project, batch, position, purpose, image_folder, dry_run, report)
        position += len(batch)
    if report.added:
        audit.record(project=project, kind="items_imported", by=by, data={"added": report.added})
    if dry_run:
        transaction.set_rollback(True)
    return report


def _batches(records: Iterable[Row]) -> Iterator[list[Row]]:
    stream = iter(records)
    while batch := list(islice(stream, BATCH)):
        yield batch


def _import_batch(
    project: Project,
    batch: list[ItemRecord],
    position: int,
    purpose: str,
    image_folder: Path | None,
    dry_run: bool,
    report: ImportReport,
) -> ImportReport:
    known = {
        item.external_id: item
        for item in project.items.filter(external_id__in=[one.external_id for one in batch])
    }
    new: list[tuple[ItemRecord, Item]] = []
    for place, one in enumerate(batch):
        if one.kind != project.kind:
            raise Conflict(f"{one.external_id}: kind: the project marks {project.kind}, not {one.kind}")
        columns = _columns(one)
        if (stored := known.get(one.external_id)) is not None:
            _require_same(stored, columns)
            continue
        item = Item(project=project, position=position + place, purpose=purpose, extra=one.extra, **columns)
        item.places = project.annotators_per_item
        new.append((one, item))
    files = _keep_images(project, [one for one, _item in new], image_folder, dry_run)
    Item.objects.bulk_create([item for _one, item in new])
    golds = _bring_gold(new)
    works = _bring_annotations(project, new)
    return replace(
        report,
        added=report.added + len(new),
        unchanged=report.unchanged + len(batch) - len(new),
        with_gold=report.with_gold + golds,
        annotations=report.annotations + works,
        images=report.images + files,
    )


def _columns(one: ItemRecord) -> dict[str, Any]:
    return {
        "external_id": one.external_id,
        "program": one.program,
        "text": one.text,
        "passage": one.passage,
        "tokens": [list(token) for token in one.tokens],
        "images": [image.name for image in one.images],
        "answer": one.answer,
        "text_hash": hashlib.sha256(one.passage.encode()).hexdigest() if one.passage else "",
    }


def _require_same(stored: Item, columns: Mapping[str, Any]) -> None:
    for name in SHOWN:
        if getattr(stored, name) != columns[name]:
            raise Conflict(
                f"{stored.external_id}: {name}: differs from what the project {stored.project.slug!r} holds "
                "under this id; items are never changed, so import into another project"
            )


def _keep_images(project: Project, new: list[ItemRecord], image_folder: Path | None, dry_run: bool) -> int:
    """Store the images that items name and the project lacks; with a folder, their files too."""
    named = {image.name: image for one in new for image in one.images}
    if not named:
        return 0
    there = set(project.image_files.filter(name__in=named).values_list("name", flat=True))
    rows = []
    for name, image in named.items():
        if name in there:
            continue
        source = image_folder / name if image_folder is not None else None
        kept = images.keep(source) if source is not None and not dry_run else ""
        rows.append(ImageFile(project=project, name=name, width=image.width, height=image.height, path=kept))
    ImageFile.objects.bulk_create(rows)
    return len(rows)


def _bring_gold(new: list[tuple[ItemRecord, Item]]) -> int:
    golds = [
        Gold(item=item, version=1, method=Gold.Method.IMPORTED, document=one.gold.model_dump(mode="json"))
        for one, item in new
        if one.gold is not None
    ]
    Gold.objects.bulk_create(golds)
    return len(golds)


def _bring_annotations(project: Project, new: list[tuple[ItemRecord, Item]]) -> int:
    works = []
    for one, item in new:
        for annotation in one.annotations:
            works.append(_work(project, item, annotation))
        if one.annotations:
            count = len(one.annotations)
            item.places, item.taken = max(item.places, count), count
            item.submitted = count
            item.save(update_fields=["places", "taken", "submitted"])
    Work.objects.bulk_create(works)
    return len(works)


def _work(project: Project, item: Item, annotation: Annotation) -> Work:
    now = timezone.now()
    return Work(
        item=item,
        project=project,
        annotator=_annotator(project, annotation.annotator),
        status=annotation.status if annotation.status in Work.HOLDING else Work.Status.SUBMITTED,
        document=annotation.document.model_dump(mode="json"),
        revision=annotation.revision,
        submitted_at=_aware(annotation.submitted) or now,
        reserved_until=now if annotation.status == Work.Status.RESERVED else None,
        saved_at=_aware(annotation.submitted),
        predictions_shown=list(annotation.predictions_shown),
    )


def _aware(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


def _annotator(project: Project, name: str) -> User:
    """The user of that name; one made here has no password, and only stands for who drew it elsewhere."""
    user, made = User.objects.get_or_create(username=name[:150], defaults={"is_active": False})
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    Membership.objects.get_or_create(
        project=project, user=user, defaults={"role": Role.ANNOTATOR, "active": False}
    )
    return user


@transaction.atomic
def import_outputs(
    *,
    records: Iterable[SystemRecord],
    project: Project,
    system: str,
    revision: str,
    by: User | None = None,
) -> int:
    """Store what a system put out for items of a project; returns how many. The same again changes nothing.

    Raises Conflict when an id is not in the project, or the revision has other outputs for it already.
    """
    added = 0
    for batch in _batches(records):
        items = {
            item.external_id: item
            for item in project.items.filter(external_id__in=[one.id for one in batch]).only("external_id")
        }
        there = {
            one.item_id: one
            for one in SystemOutput.objects.filter(item__in=items.values(), system=system, revision=revision)
        }
        new = []
        for one in batch:
            if one.id not in items:
                raise Conflict(f"{one.id}: the project {project.slug!r} has no item of this id")
            columns = one.model_dump(mode="json", exclude={"id"})
            same = there.get(items[one.id].pk)
            if same is None:
                new.append(SystemOutput(item=items[one.id], system=system, revision=revision, **columns))
            elif [same.proposals, same.modules] != [columns["proposals"], columns["modules"]]:
                raise Conflict(
                    f"{one.id}: {system}@{revision} has put out something else for it before; "
                    "name another revision"
                )
        SystemOutput.objects.bulk_create(new)
        added += len(new)
    if added:
        audit.record(
            project=project,
            kind="outputs_imported",
            by=by,
            data={"system": system, "revision": revision, "added": added},
        )
    return added
