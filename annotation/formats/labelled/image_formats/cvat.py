"""CVAT for images 1.1: all marks, attributes and tags in one XML file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from annotation.content.labels import MARKS, LabelLayer, LayerType, Question
from annotation.content.schemas import Box, Ellipse, Image, ItemRecord, KeyPoint, Polygon
from annotation.formats.labelled.documents import (
    list_classes,
    list_image_marks,
    list_mark_answers,
    parse_record_task,
    require_item_image_size,
    require_kind,
)
from annotation.formats.labelled.entries import (
    CLASS,
    ELLIPSES,
    OBJECTS,
    POINTS,
    AboutMark,
    Entry,
    Labelling,
    list_files,
    make_entries_or_refuse,
)
from annotation.formats.labelled.image_formats.xml_files import add_element, parse_xml
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
from annotation.formats.writing import write_file
from foundation.errors import BadFile
from foundation.messages import field_error, say

CVAT_SHAPES = ("box", "polygon", "ellipse", "points")
# CVAT's kinds of attributes that our questions are, and the questions that those of others are.
INPUT_TYPES = {"choice": "radio", "choices": "select", "rating": "number", "text": "text"}
LAYER_TYPES: dict[str, LayerType] = {
    "radio": "choice",
    "select": "choice",
    "number": "rating",
    "text": "text",
}
RATINGS = {str(number) for number in range(21)}


def read_cvat(source: Source) -> Iterator[Entry]:
    """Yield the images of “CVAT for images 1.1” files."""
    for path in list_files(source, ".xml"):
        try:
            root = parse_xml(path)
            if root.tag != "annotations":
                text = "is not a file of CVAT for images, whose root is annotations"
                raise BadFile(path, say(text), line=1)
        except BadFile as error:
            source.findings.refuse(error, path)
            continue
        names = [label.findtext("name") or "" for label in root.iter("label") if label.findtext("name")]
        inputs = {
            (label.findtext("name") or "", attribute.findtext("name") or ""): attribute.findtext("input_type")
            or ""
            for label in root.iter("label")
            for attribute in label.iter("attribute")
        }
        boxes = {"type": "boxes", "name": OBJECTS, "labels": tuple(dict.fromkeys(names))}
        declared = [LabelLayer.model_validate(boxes)] if names else []
        for image in root.iter("image"):
            for entry in make_entries_or_refuse(
                source,
                {"path": path, "entry": image.get("name", "")},
                partial(_read_cvat_entry, source, image, inputs),
            ):
                marks = [mark for labelling in entry.labellings for _name, mark in labelling.marks]
                other = any(isinstance(mark, KeyPoint | Ellipse) for mark in marks)
                entry.declared = [] if other or entry.labellings[0].answers else declared
                yield entry


def _read_cvat_entry(
    source: Source, element: ElementTree.Element, inputs: dict[tuple[str, str], str]
) -> list[Entry]:
    name = element.get("name", "")
    try:
        size = [int(element.get(key, "")) for key in ("width", "height")]
    except ValueError as error:
        raise field_error("width", "is missing or not a number") from error
    entry = Entry(name, images=(find_image(source, name, *size),))
    gold = Labelling()
    for number, child in enumerate(element):
        where = f"{name}: {child.tag} {number}"
        if child.tag == "tag":
            gold.answers.append((CLASS, "choice", child.get("label", "")))
        elif child.tag not in CVAT_SHAPES or float(child.get("rotation") or 0):
            source.findings.note_repair(OTHER_SHAPES, where)
        else:
            for name_of_layer, mark in _parse_cvat_marks(source, entry.images[0], child, where):
                own = mark.model_copy(update={"id": f"c{len(gold.marks)}"})
                gold.marks.append((name_of_layer, own))
                gold.about += _parse_cvat_attributes(child, own, inputs)
    entry.labellings = [gold]
    return [entry]


def _parse_cvat_attributes(
    element: ElementTree.Element, mark: Box, inputs: dict[tuple[str, str], str]
) -> Iterator[AboutMark]:
    """Yield the attributes of a mark as answers; an empty one is none."""
    for attribute in element.iter("attribute"):
        name, value = attribute.get("name", ""), (attribute.text or "").strip()
        kind = LAYER_TYPES.get(inputs.get((mark.label, name), ""))
        # A value that no question can hold must not keep the file from becoming a project.
        if (kind == "rating" and value not in RATINGS) or (kind == "choice" and len(value) > 60):
            kind = None
        if value:
            yield AboutMark(mark.id, name, kind, int(value) if kind == "rating" else value)


def _parse_numbers(element: ElementTree.Element, *names: str) -> list[float]:
    try:
        return [float(element.get(name, "")) for name in names]
    except ValueError as error:
        raise field_error(names[0], "is missing or not a number") from error


def _parse_cvat_marks(
    source: Source, image: Image, element: ElementTree.Element, where: str
) -> Iterator[tuple[str, Box]]:
    """Yield the marks of an element with the names of their layers."""
    width, height = require_image_size(image)
    label = element.get("label", "")
    mark: Box | None
    if element.tag in ("polygon", "points"):
        pairs = [pair.split(",") for pair in element.get("points", "").split(";") if pair]
        corners = [(float(x) / width, float(y) / height) for x, y in pairs]
        if element.tag == "points":
            yield from ((POINTS, build_point(x, y, label)) for x, y in corners)
            return
        mark = build_polygon(corners, label, source.findings, where)
    elif element.tag == "ellipse":
        x, y, across, down = _parse_numbers(element, "cx", "cy", "rx", "ry")
        mark = build_box_from_pixels(
            (x - across, y - down, x + across, y + down), label, image, source.findings, where
        )
        mark = mark and Ellipse(**mark.model_dump(), shape="ellipse")
    else:
        edges = _parse_numbers(element, "xtl", "ytl", "xbr", "ybr")
        mark = build_box_from_pixels(edges, label, image, source.findings, where)
    if mark is not None:
        yield ELLIPSES if isinstance(mark, Ellipse) else OBJECTS, mark


def write_cvat(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the gold as one file of CVAT for images 1.1, held in memory."""
    root = ElementTree.Element("annotations")
    add_element(root, "version", "1.1")
    labels = add_element(add_element(add_element(root, "meta"), "task"), "labels")
    listed: dict[str, Any] = {}
    number = 0
    for record in records:
        require_kind(record, "boxes", "CVAT")
        names = [
            name
            for layer in parse_record_task(record).layers
            if layer.type in (*MARKS, "choice", "choices")
            for name in layer.names
        ]
        for name in dict.fromkeys(names):
            if name not in listed:
                listed[name] = add_element(labels, "label")
                add_element(listed[name], "name", name)
                add_element(listed[name], "attributes")
        for layer in parse_record_task(record).layers if not number else ():
            for name in layer.names:
                for question in layer.questions:
                    _add_cvat_question(listed[name].find("attributes"), question)
        for index, image in enumerate(record.images):
            width, height = require_item_image_size(record, index)
            about = {"id": str(number), "name": image.name, "width": str(width), "height": str(height)}
            picture = add_element(root, "image", **about)
            number += 1
            for layer, mark in list_image_marks(record, record.gold):
                if mark.image == index:
                    tag, about = _build_cvat_shape(mark, width, height)
                    common = {"label": mark.label, "occluded": "0", "z_order": "0", "source": "manual"}
                    drawn = add_element(picture, tag, **common, **about)
                    for question, values in list_mark_answers(layer, mark):
                        add_element(drawn, "attribute", values[0], name=question.name)
            for name in list_classes(record, record.gold) if index == 0 else []:
                add_element(picture, "tag", label=name, source="manual")
    ElementTree.indent(root)
    with write_file(path) as file:
        file.write(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _add_cvat_question(parent: ElementTree.Element, question: Question) -> None:
    """Declare a question as an attribute of a label."""
    numbers = [str(question.lowest), str(question.highest), "1"]
    values = {"rating": numbers, "text": [""]}.get(question.type, list(question.names))
    declared = add_element(parent, "attribute")
    about = {"name": question.name, "mutable": False, "input_type": INPUT_TYPES[question.type]}
    for name, value in (about | {"default_value": "", "values": "\n".join(values)}).items():
        add_element(declared, name, value)


def _build_cvat_shape(mark: Box, width: int, height: int) -> tuple[str, dict[str, str]]:
    """Return the element of a mark, and its place in pixels."""

    def pair(x: float, y: float) -> str:
        return f"{x * width:.{PIXEL_DIGITS}f},{y * height:.{PIXEL_DIGITS}f}"

    left, top, right, bottom = mark.box
    if isinstance(mark, Polygon):
        return "polygon", {"points": ";".join(pair(*corner) for corner in mark.polygon)}
    if isinstance(mark, KeyPoint):
        return "points", {"points": pair(*mark.point)}
    edges = {"xtl": left * width, "ytl": top * height, "xbr": right * width, "ybr": bottom * height}
    if isinstance(mark, Ellipse):
        middle = {"cx": (left + right) / 2 * width, "cy": (top + bottom) / 2 * height}
        edges = middle | {"rx": (right - left) / 2 * width, "ry": (bottom - top) / 2 * height}
    tag = "ellipse" if isinstance(mark, Ellipse) else "box"
    return tag, {name: f"{value:.{PIXEL_DIGITS}f}" for name, value in edges.items()}
