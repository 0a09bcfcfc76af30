"""COCO files whose categories are the labels of boxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from annotation.formats.labelled.documents import box_labels, boxes, pixels, require_kind
from annotation.formats.labelled.entries import (
    OBJECTS,
    OTHER_SHAPES,
    Entry,
    LabelledSource,
    Labelling,
    guarded,
    image_named,
    pixel_box,
)
from annotation.formats.writing import encoded, written
from annotation.labels import LabelLayer
from annotation.schemas import ItemRecord
from foundation.json_stream import read_document
from foundation.messages import at_field, say

NAME = "coco"
DIGITS = 6  # of a pixel
OUTLINES = "outline of an object, left out; its box is kept"
CROWDS = "region of a crowd, kept as an ordinary box"


class _Named(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    id: int | str


class _Category(_Named):
    name: Annotated[str, Field(min_length=1)]


class _Picture(_Named):
    file_name: Annotated[str, Field(min_length=1, max_length=200)]
    width: Annotated[int, Field(gt=0)] | None = None
    height: Annotated[int, Field(gt=0)] | None = None


class _Object(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    id: int | str | None = None
    image_id: int | str
    category_id: int | str
    bbox: tuple[float, float, float, float] | None = None
    segmentation: Any = None
    iscrowd: int = 0


class _File(BaseModel):
    images: list[Any]
    annotations: list[Any] = []
    categories: list[Any] = []
    info: Any = None
    licenses: Any = None


def read(source: LabelledSource) -> Iterator[Entry]:
    """Yield an entry for each image; the file is held in memory."""
    path, findings = source.path, source.findings
    element = read_document(path)
    for _field, content in findings.each_of(_File, [element.value], path, element, ""):
        categories = {
            each.id: each.name
            for _at, each in findings.each_of(_Category, content.categories, path, element, "categories")
        }
        names = tuple(dict.fromkeys(categories.values()))
        layer = (
            LabelLayer.model_validate({"type": "boxes", "name": OBJECTS, "labels": names}) if names else None
        )
        drawn: dict[int | str, list[tuple[str, _Object]]] = {}
        for at, each in findings.each_of(_Object, content.annotations, path, element, "annotations"):
            drawn.setdefault(each.image_id, []).append((at, each))
        for at, picture in findings.each_of(_Picture, content.images, path, element, "images"):
            make = partial(
                _entry, source, picture, drawn.pop(picture.id, []), categories, bool(content.annotations)
            )
            for entry in guarded(source, {"element": element, "within": at}, make):
                entry.declared = [layer] if layer else []
                about = {"info": content.info, "licenses": content.licenses}
                entry.extra = {
                    NAME: {**entry.extra, **{name: value for name, value in about.items() if value}}
                }
                yield entry
        for objects in drawn.values():
            at, each = objects[0]
            error = ValueError(
                at_field("image_id", say("there is no image %(image_id)r", image_id=each.image_id))
            )
            findings.refuse(error, path, element=element, within=at)


def _entry(
    source: LabelledSource,
    picture: _Picture,
    drawn: list[tuple[str, _Object]],
    categories: dict[int | str, str],
    is_annotated: bool,
) -> list[Entry]:
    image = image_named(source, picture.file_name, picture.width, picture.height)
    kept = picture.model_dump(exclude={"file_name", "width", "height"}, exclude_unset=True)
    entry = Entry(picture.file_name, images=(image,), extra={"image": kept})
    gold = Labelling()
    for at, each in drawn:
        if each.category_id not in categories:
            text = "%(at)s.category_id: there is no category %(category_id)r"
            raise ValueError(say(text, at=at, category_id=each.category_id))
        if each.segmentation:
            source.findings.mend(OUTLINES, at)
        if each.iscrowd:
            source.findings.mend(CROWDS, at)
        if each.bbox is None:
            source.findings.mend(OTHER_SHAPES, at)
            continue
        x, y, width, height = each.bbox
        edges = (x, y, x + width, y + height)
        box = pixel_box(
            edges, categories[each.category_id], image, source.findings, at, name=str(each.id or "")
        )
        if box is not None:
            gold.marks.append((OBJECTS, box))
    entry.labellings = [gold] if is_annotated else []
    return [entry]


def write(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the gold of all images as one file, which is held in memory."""
    images: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    categories: dict[str, int] = {}
    head: dict[str, Any] = {}
    for record in records:
        require_kind(record, "boxes", "COCO")
        kept = record.extra.get(NAME, {})
        head = head or {name: kept[name] for name in ("info", "licenses") if name in kept}
        for name in box_labels(record):
            categories.setdefault(name, len(categories) + 1)
        first = len(images) + 1
        for place, image in enumerate(record.images):
            width, height = pixels(record, place)
            about = {name: value for name, value in kept.get("image", {}).items() if name != "id"}
            images.append(
                {**about, "id": first + place, "file_name": image.name, "width": width, "height": height}
            )
        for _layer, box in boxes(record, record.gold):
            width, height = pixels(record, box.image)
            left, top, right, bottom = box.box
            bbox = (left * width, top * height, (right - left) * width, (bottom - top) * height)
            area = round(bbox[2] * bbox[3], DIGITS)
            rounded = [round(value, DIGITS) for value in bbox]
            about = {
                "id": len(objects) + 1,
                "image_id": first + box.image,
                "category_id": categories[box.label],
            }
            objects.append({**about, "bbox": rounded, "area": area, "iscrowd": 0})
    listed = [{"id": number, "name": name, "supercategory": ""} for name, number in categories.items()]
    file = {
        "info": {},
        "licenses": [],
        **head,
        "images": images,
        "annotations": objects,
        "categories": listed,
    }
    with written(path) as out:
        out.write(encoded(file) + b"\n")
