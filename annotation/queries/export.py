"""Export a project's items with gold, annotations, times and revisions.

They are read in blocks by position, so memory stays constant.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.content.schemas import AnnotationRecord, Document, Image, ItemRecord
from annotation.formats import registry
from annotation.models import Annotation, Gold, ImageFile, Item, Project
from annotation.parsed_items import drop_hidden_layers
from foundation.imports.findings import Findings

BLOCK = 1000
OWN = "touchstone"  # the key in `ItemRecord.extra` of the project's own data

_ITEM = (
    "pk", "position", "purpose", "external_id", "program", "text", "passage", "tokens", "images", "answer",
    "extra",
)  # fmt: skip


@dataclass
class ExportCounts:
    """The number of exported items, and of those with gold."""

    items: int = 0
    gold: int = 0
    findings: Findings = field(default_factory=Findings)  # what the format cannot hold


def write_items(
    project: Project,
    name: str,
    out: Path,
    *,
    gold_only: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> ExportCounts:
    """Write the items of a project to a file, or to a folder of files.

    Args:
        project: The project.
        name: The format, one of `registry.WRITER_NAMES`.
        out: The file or folder; it appears once it is complete.
        gold_only: Leave out items without gold.
        on_progress: Called with the number of items so far, and of all.

    Raises:
        Conflict: The format cannot hold the items.
    """
    counts, total = ExportCounts(), export_size(project, gold_only=gold_only)

    def count_records() -> Iterator[ItemRecord]:
        for record in read_item_records(project, gold_only=gold_only):
            counts.items += 1
            counts.gold += record.gold is not None
            if on_progress is not None and counts.items % 256 == 0:
                on_progress(counts.items, total)
            yield record

    registry.write(name, count_records(), out, findings=counts.findings)
    return counts


def read_item_records(project: Project, *, gold_only: bool = False) -> Iterator[ItemRecord]:
    """Yield every item in order, or with ``gold_only`` those that have gold.

    ``extra["touchstone"]`` holds the item's position and purpose, and the version, method, time and author
    of its gold. Annotations of every status are included, as far as they got.
    """
    beyond = 0
    while True:
        items = project.items.filter(position__gt=beyond).order_by("position")
        if gold_only:
            items = items.filter(golds__current=True)
        block = list(items.values(*_ITEM)[:BLOCK])
        if not block:
            return
        yield from _build_records(project, block, range(block[0]["position"], block[-1]["position"] + 1))
        beyond = block[-1]["position"]


def _build_records(project: Project, block: list[dict[str, Any]], positions: range) -> Iterator[ItemRecord]:
    here = {"item__project": project, "item__position__range": (positions.start, positions.stop - 1)}
    golds = _load_golds(here)
    annotations = _load_annotations(here)
    images = _load_images(project, block)
    for row in block:
        gold, facts = golds.get(row["pk"], (None, None))
        own = {"position": row["position"], "purpose": row["purpose"], "gold": facts}
        yield ItemRecord(
            external_id=row["external_id"],
            kind=project.kind,  # type: ignore[arg-type]  # the column holds one of the two
            program=row["program"],
            text=row["text"],
            passage=row["passage"],
            tokens=row["tokens"],
            images=tuple(images[name] for name in row["images"]),
            answer=row["answer"],
            gold=gold and drop_hidden_layers(gold, row["program"], project.kind),
            annotations=tuple(
                annotation.model_copy(
                    update={"document": drop_hidden_layers(annotation.document, row["program"], project.kind)}
                )
                for annotation in annotations.get(row["pk"], ())
            ),
            extra={**row["extra"], OWN: own},
        )


def _load_golds(here: dict[str, Any]) -> dict[int, tuple[Document, dict[str, Any]]]:
    """Return the current gold of each item, and facts about it."""
    columns = ("item_id", "document", "version", "method", "at", "by__username")
    return {
        item: (
            Document.model_validate(document),
            {"version": version, "method": method, "at": at.isoformat(), "by": by},
        )
        for item, document, version, method, at, by in Gold.objects.filter(**here, current=True).values_list(
            *columns
        )
    }


def _load_annotations(here: dict[str, Any]) -> dict[int, list[AnnotationRecord]]:
    """Return the annotations of each item, in the order of their start."""
    columns = (
        "item_id", "annotator__username", "document", "status", "revision", "started_at", "submitted_at",
        "predictions_shown",
    )  # fmt: skip
    by_item: dict[int, list[AnnotationRecord]] = defaultdict(list)
    annotations = Annotation.objects.filter(**here, task=Annotation.Task.ANNOTATION).order_by("pk")
    for item, name, document, status, revision, started, submitted, shown in annotations.values_list(
        *columns
    ):
        by_item[item].append(
            AnnotationRecord(
                annotator=name,
                document=Document.model_validate(document),
                status=status,
                revision=revision,
                started=started,
                submitted=submitted,
                predictions_shown=shown,
            )
        )
    return by_item


def _load_images(project: Project, block: Iterable[dict[str, Any]]) -> dict[str, Image]:
    """Return the images that the items name."""
    names = {name for row in block for name in row["images"]}
    images = {name: Image(name=name) for name in names}
    files = ImageFile.objects.filter(project=project, name__in=names).exclude(width=None)
    if names:
        for name, width, height in files.values_list("name", "width", "height"):
            images[name] = Image(name=name, width=width, height=height)
    return images


def export_size(project: Project, *, gold_only: bool = False) -> int:
    """Count the items of an export."""
    items = Item.objects.filter(project=project)
    return items.filter(golds__current=True).count() if gold_only else items.count()
