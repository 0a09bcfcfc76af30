"""COCO files: boxes and outlines by their label, and key points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from annotation.content.labels import LabelLayer, LayerType, Question, nest_labels
from annotation.content.schemas import ItemRecord, KeyPoint
from annotation.formats.labelled.documents import (
    list_box_labels,
    list_boxes,
    list_corners,
    list_key_points,
    list_mark_answers,
    parse_record_task,
    require_item_image_size,
    require_kind,
)
from annotation.formats.labelled.entries import (
    OBJECTS,
    AboutMark,
    Entry,
    Labelling,
    can_hold_marks,
    make_entries_or_refuse,
)
from annotation.formats.labelled.mark_positions import (
    OTHER_SHAPES,
    PIXEL_DIGITS,
    build_box_from_pixels,
    build_point,
    build_polygon,
    find_image,
    require_image_size,
)
from annotation.formats.source import Source
from annotation.formats.writing import encode_json, write_file
from foundation.imports.json_stream import read_document
from foundation.messages import field_error, value_error

Row = dict[str, Any]

NAME = "coco"
VISIBLE = 2  # COCO's number of a key point that is in sight
OUTLINES = "outline of an object, left out; its box remains"
SPLIT_OUTLINE = "outline in several parts, one polygon for each"
CROWDS = "region of a crowd, kept as an ordinary box"


class _Named(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    id: int | str


class _Category(_Named):
    name: Annotated[str, Field(min_length=1)]
    supercategory: str | None = None
    keypoints: list[str] = []
    questions: dict[str, LayerType] = {}  # ours: what the attributes of its objects answer


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
    keypoints: list[float] = []
    iscrowd: int = 0
    attributes: Any = None


class _File(BaseModel):
    images: list[Any]
    annotations: list[Any] = []
    categories: list[Any] = []
    info: Any = None
    licenses: Any = None


def read(source: Source) -> Iterator[Entry]:
    """Yield an entry for each image; the file is held in memory."""
    path, findings = source.path, source.findings
    element = read_document(path)
    for _field, content in findings.validate_each(_File, [element.value], path, element, ""):
        categories = {
            category.id: category
            for _at, category in findings.validate_each(
                _Category, content.categories, path, element, "categories"
            )
        }
        layers = list(_declare_layers(categories.values()))
        drawn: dict[int | str, list[tuple[str, _Object]]] = {}
        for at, object_ in findings.validate_each(_Object, content.annotations, path, element, "annotations"):
            drawn.setdefault(object_.image_id, []).append((at, object_))
        for at, picture in findings.validate_each(_Picture, content.images, path, element, "images"):
            make = partial(
                _build_entry,
                source,
                picture,
                drawn.pop(picture.id, []),
                categories,
                bool(content.annotations),
            )
            for entry in make_entries_or_refuse(source, {"element": element, "within": at}, make):
                entry.declared = layers
                about = {"info": content.info, "licenses": content.licenses}
                entry.extra = {
                    NAME: {**entry.extra, **{name: value for name, value in about.items() if value}}
                }
                yield entry
        for objects in drawn.values():
            at, object_ = objects[0]
            error = field_error("image_id", "there is no image %(image_id)r", image_id=object_.image_id)
            findings.refuse(error, path, element=element, within=at)


def _build_entry(
    source: Source,
    picture: _Picture,
    drawn: list[tuple[str, _Object]],
    categories: dict[int | str, _Category],
    is_annotated: bool,
) -> list[Entry]:
    image = find_image(source, picture.file_name, picture.width, picture.height)
    kept = picture.model_dump(exclude={"file_name", "width", "height"}, exclude_unset=True)
    entry = Entry(picture.file_name, images=(image,), extra={"image": kept})
    gold = Labelling()
    for at, object_ in drawn:
        if object_.category_id not in categories:
            text = "%(at)s.category_id: there is no category %(category_id)r"
            raise value_error(text, at=at, category_id=object_.category_id)
        if object_.iscrowd:
            source.findings.note_repair(CROWDS, at)
        category, before = categories[object_.category_id], len(gold.marks)
        _take(source, entry, gold, object_, category, at)
        for index in range(before, len(gold.marks) if object_.attributes else before):
            layer, mark = gold.marks[index]
            own = mark.model_copy(update={"id": f"c{index}"})
            gold.marks[index] = (layer, own)
            gold.about += _list_attribute_answers(object_, category, own.id)
    entry.labellings = [gold] if is_annotated else []
    return [entry]


def _list_attribute_answers(object_: _Object, category: _Category, mark: str) -> Iterator[AboutMark]:
    """Yield what other tools call the attributes of an object as answers."""
    for name, given in object_.attributes.items() if isinstance(object_.attributes, dict) else ():
        for value in given if isinstance(given, list) else [given]:
            if isinstance(value, str | int) and not isinstance(value, bool):
                yield AboutMark(mark, name, category.questions.get(name), value)


def _declare_layers(categories: Iterable[_Category]) -> Iterator[LabelLayer]:
    """Yield the layers of a file: key points by their category, and the rest."""
    parents = {
        category.name: category.supercategory or "" for category in categories if not category.keypoints
    }
    if parents:
        yield LabelLayer.model_validate({"type": "boxes", "name": OBJECTS, "labels": nest_labels(parents)})
    for category in categories:
        if category.keypoints:
            labels = tuple(dict.fromkeys(category.keypoints))
            yield LabelLayer.model_validate({"type": "points", "name": category.name, "labels": labels})


def _take(
    source: Source, entry: Entry, gold: Labelling, object_: _Object, category: _Category, at: str
) -> None:
    """Add the key points of an object, its outline, or else its box."""
    image, name = entry.images[0], str(object_.id or "")
    width, height = require_image_size(image)
    if category.keypoints and object_.keypoints:
        for label, x, y, seen in zip(
            category.keypoints,
            object_.keypoints[::3],
            object_.keypoints[1::3],
            object_.keypoints[2::3],
            strict=False,
        ):
            if seen:
                gold.marks.append((category.name, build_point(x / width, y / height, label)))
        return
    parts = object_.segmentation if isinstance(object_.segmentation, list) else []
    if parts and can_hold_marks(source, "polygons"):
        for part in parts:
            corners = [(x / width, y / height) for x, y in zip(part[::2], part[1::2], strict=True)]
            polygon = build_polygon(corners, category.name, source.findings, at, name=name)
            gold.marks += [(OBJECTS, polygon)] if polygon else []
        if len(parts) > 1:
            source.findings.note_repair(SPLIT_OUTLINE, at)
        return
    if object_.segmentation:
        source.findings.note_repair(OUTLINES, at)
    if object_.bbox is None:
        source.findings.note_repair(OTHER_SHAPES, at)
        return
    x, y, across, down = object_.bbox
    box = build_box_from_pixels(
        (x, y, x + across, y + down), category.name, image, source.findings, at, name=name
    )
    gold.marks += [(OBJECTS, box)] if box else []


def write(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the gold of all images as one file, which is held in memory."""
    images: list[Row] = []
    objects: list[Row] = []
    categories: dict[tuple[str, str], Row] = {}  # by type and name
    head: Row = {}
    for record in records:
        require_kind(record, "boxes", "COCO")
        kept = record.extra.get(NAME, {})
        head = head or {name: kept[name] for name in ("info", "licenses") if name in kept}
        for kind, name, more in _list_categories(record):
            about = {"id": len(categories) + 1, "name": name, "supercategory": "", **more}
            categories.setdefault((kind, name), about)
        first = len(images) + 1
        for index, image in enumerate(record.images):
            width, height = require_item_image_size(record, index)
            about = {name: value for name, value in kept.get("image", {}).items() if name != "id"}
            images.append(
                {**about, "id": first + index, "file_name": image.name, "width": width, "height": height}
            )
        for kind, name, image_place, row in _build_objects(record):
            about = {"image_id": first + image_place, "category_id": categories[kind, name]["id"]}
            objects.append({"id": len(objects) + 1, **about, **row})
    listed = {"images": images, "annotations": objects, "categories": list(categories.values())}
    with write_file(path) as out:
        out.write(encode_json({"info": {}, "licenses": [], **head, **listed}) + b"\n")


def _list_categories(record: ItemRecord) -> Iterator[tuple[str, str, Row]]:
    """Yield type, name and further fields of the categories of an item."""
    asked: dict[str, dict[str, str]] = {}
    for layer in parse_record_task(record).layers:
        for name in layer.names if layer.questions else ():
            asked.setdefault(name, {}).update({question.name: question.type for question in layer.questions})
    parents = {
        label.name: label.parent for layer in parse_record_task(record).layers for label in layer.labels
    }
    for name in list_box_labels(record):
        questions = {"questions": asked[name]} if name in asked else {}
        yield "boxes", name, {"supercategory": parents.get(name, ""), **questions}
    for layer in parse_record_task(record).layers:
        if layer.type == "points":
            yield "points", layer.name, {"keypoints": list(layer.names), "skeleton": []}


def _build_objects(record: ItemRecord) -> Iterator[tuple[str, str, int, Row]]:
    """Yield type and name of the category, image and fields of each object."""
    for layer, mark in list_boxes(record, record.gold):
        width, height = require_item_image_size(record, mark.image)
        left, top, right, bottom = mark.box
        bbox = (left * width, top * height, (right - left) * width, (bottom - top) * height)
        row = {"bbox": _round_values(bbox), "area": round(bbox[2] * bbox[3], PIXEL_DIGITS), "iscrowd": 0}
        if corners := list_corners(mark):
            flat = [value for x, y in corners for value in (x * width, y * height)]
            row |= {"segmentation": [_round_values(flat)], "area": round(_compute_area(flat), PIXEL_DIGITS)}
        given = {
            asked.name: _unpack_values(asked, values) for asked, values in list_mark_answers(layer, mark)
        }
        yield "boxes", mark.label, mark.image, row | ({"attributes": given} if given else {})
    for layer, image, shown in _group_key_points(record):
        yield "points", layer.name, image, _build_keypoints(record, layer, image, shown)


def _unpack_values(asked: Question, values: tuple[str | int, ...]) -> Any:
    return list(values) if asked.type == "choices" else values[0]


def _round_values(values: Iterable[float]) -> list[float]:
    return [round(value, PIXEL_DIGITS) for value in values]


def _compute_area(flat: list[float]) -> float:
    """Return the area of a polygon by the shoelace formula."""
    xs, ys = flat[::2], flat[1::2]
    return (
        abs(
            sum(
                x * ys[index - 1] - xs[index - 1] * y for index, (x, y) in enumerate(zip(xs, ys, strict=True))
            )
        )
        / 2
    )


def _group_key_points(record: ItemRecord) -> Iterator[tuple[LabelLayer, int, dict[str, KeyPoint]]]:
    """Yield sets of key points: the n-th of each label belong together."""
    sets: dict[tuple[str, int], list[dict[str, KeyPoint]]] = {}
    layers: dict[str, LabelLayer] = {}
    for layer, point in list_key_points(record, record.gold):
        layers[layer.name] = layer
        own = sets.setdefault((layer.name, point.image), [])
        free = next((points for points in own if point.label not in points), None)
        if free is None:
            own.append(free := {})
        free[point.label] = point
    for (name, image), several in sets.items():
        yield from ((layers[name], image, points) for points in several)


def _build_keypoints(record: ItemRecord, layer: LabelLayer, image: int, shown: dict[str, KeyPoint]) -> Row:
    width, height = require_item_image_size(record, image)
    flat: list[float] = []
    for name in layer.names:
        x, y = shown[name].point if name in shown else (0.0, 0.0)
        flat += [*_round_values((x * width, y * height)), VISIBLE if name in shown else 0]
    xs, ys = zip(
        *((point.point[0] * width, point.point[1] * height) for point in shown.values()), strict=True
    )
    bbox = (min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))
    about = {"bbox": _round_values(bbox), "area": round(bbox[2] * bbox[3], PIXEL_DIGITS), "iscrowd": 0}
    return {"keypoints": flat, "num_keypoints": len(shown), **about}
