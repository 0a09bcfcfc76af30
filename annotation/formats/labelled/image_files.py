"""YOLO, Pascal VOC and CVAT: marks of images in text and XML files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from annotation.content.labels import MARKS, LabelLayer, LayerType, Question
from annotation.content.schemas import Box, Ellipse, Image, ItemRecord, KeyPoint, Polygon
from annotation.formats.labelled.documents import (
    list_box_labels,
    list_boxes,
    list_classes,
    list_corners,
    list_image_marks,
    list_mark_answers,
    parse_record_task,
    require_item_image_size,
    require_kind,
)
from annotation.formats.labelled.entries import (
    ATTRIBUTES,
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
from annotation.formats.labelled.mark_positions import (
    OTHER_SHAPES,
    build_box,
    build_box_from_pixels,
    build_point,
    build_polygon,
    find_image,
    require_image_size,
)
from annotation.formats.source import Source
from annotation.formats.writing import quote_file_name, write_file, write_folder
from foundation.errors import BadFile
from foundation.imports.text_files import open_text
from foundation.messages import field_error, say, value_error

CVAT_SHAPES = ("box", "polygon", "ellipse", "points")
PICTURES = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"}
NAMES = ("data.yaml", "data.yml", "dataset.yaml", "classes.txt", "obj.names", "predefined_classes.txt")
LISTS = ("images.txt", "train.txt", "val.txt", "valid.txt", "test.txt")
NO_LABELS = "image without a file of labels, which comes without gold"
DIGITS = 6
# CVAT's kinds of attributes that our questions are, and the questions that those of others are.
INPUTS = {"choice": "radio", "choices": "select", "rating": "number", "text": "text"}
ASKED: dict[str, LayerType] = {"radio": "choice", "select": "choice", "number": "rating", "text": "text"}
RATINGS = {str(number) for number in range(21)}


def _read_text(path: Path) -> str:
    with open_text(path) as file:
        return file.read()


def read_yolo(source: Source) -> Iterator[Entry]:
    """Yield an entry for each image of a YOLO folder.

    Raises:
        BadFile: There are no names of classes, or no images.
    """
    if not source.path.is_dir():
        raise BadFile(
            source.path, say("YOLO needs its files of labels, names and images in one folder or zip file")
        )
    files = [file for file in sorted(source.path.rglob("*")) if file.is_file()]
    names = _read_class_names(source.path, files)
    listed = [line.strip() for file in files if file.name in LISTS for line in _read_text(file).splitlines()]
    pictures = [file.relative_to(source.path).as_posix() for file in files if file.suffix.lower() in PICTURES]
    images = {Path(name).stem: name for name in (*listed, *pictures) if name}
    labels = {
        file.stem: file
        for file in files
        if file.suffix.lower() == ".txt"
        and file.name not in (*LISTS, *NAMES)
        and file.name.lower() != "readme.txt"
    }
    for stem in sorted(images.keys() | labels.keys()):
        location = {"path": labels.get(stem, source.path)}
        yield from make_entries_or_refuse(
            source,
            location,
            partial(_read_yolo_entry, source, stem, images.get(stem), labels.get(stem), names),
        )


def _read_class_names(folder: Path, files: list[Path]) -> list[str]:
    for name in NAMES:
        for file in (each for each in files if each.name == name):
            if file.suffix == ".names" or file.suffix == ".txt":
                return [line.strip() for line in _read_text(file).splitlines() if line.strip()]
            try:
                given = yaml.safe_load(_read_text(file))
                names = given["names"]
                return [str(each) for each in (names.values() if isinstance(names, dict) else names)]
            except (yaml.YAMLError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise BadFile(file, say("has no list of names; add the names of the classes")) from error
    raise BadFile(folder, say("has no data.yaml, classes.txt or obj.names with the names of the classes"))


def _read_yolo_entry(
    source: Source, stem: str, image: str | None, labels: Path | None, names: list[str]
) -> list[Entry]:
    if image is None:
        text = "no image is called %(name)r; add the image files, or list their names in images.txt"
        raise value_error(text, name=stem)
    entry = Entry(image, images=(find_image(source, image),))
    entry.declared = (
        [LabelLayer.model_validate({"type": "boxes", "name": OBJECTS, "labels": names})] if names else []
    )
    if labels is None:
        source.findings.mend(NO_LABELS, image)
        return [entry]
    gold = Labelling()
    for number, line in enumerate(_read_text(labels).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            cells = [float(cell) for cell in line.split()]
            label = names[int(cells[0])] if cells and int(cells[0]) >= 0 else ""
        except (ValueError, IndexError, OverflowError):
            cells, label = [], ""
        if not label or len(cells) < 5:
            text = "%(line)r is not the number of one of %(count)s classes with x, y, width and height"
            raise BadFile(labels, say(text, line=line[:80], count=len(names)), line=number)
        try:
            mark = _parse_yolo_mark(source, cells[1:], label, f"{labels.name}:{number}")
        except ValueError as error:
            raise BadFile(labels, str(error), line=number) from error
        if mark is not None:
            gold.marks.append((OBJECTS, mark))
    entry.labellings = [gold]
    return [entry]


def _parse_yolo_mark(source: Source, cells: list[float], label: str, where: str) -> Box | None:
    """Return the box of a line, or the polygon of one with corners."""
    if len(cells) > 5 and len(cells) % 2 == 0:
        return build_polygon(zip(cells[::2], cells[1::2], strict=True), label, source.findings, where)
    if len(cells) > 5:
        source.findings.mend(OTHER_SHAPES, where)
        return None
    x, y, width, height = cells[:4]
    edges = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    return build_box(edges, label, source.findings, where)


_TWICE = (
    "shows the image %(name)s of another item, and this format has one file for each image; use JSON lines"
)


def write_yolo(records: Iterable[ItemRecord], path: Path) -> None:
    """Write ``labels``, ``images.txt`` and ``data.yaml``, but no images.

    Raises:
        ValueError: Two items with gold have the same image, or two images the same name.
    """
    names: dict[str, int] = {}
    listed: dict[str, str] = {}
    with write_folder(path) as folder:
        (folder / "labels").mkdir()
        for record in records:
            require_kind(record, "boxes", "YOLO")
            for name in list_box_labels(record):
                names.setdefault(name, len(names))
            for index, image in enumerate(record.images):
                lines = []
                for _layer, box in list_boxes(record, record.gold):
                    left, top, right, bottom = box.box
                    numbers = [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]
                    if corners := list_corners(box):
                        numbers = [edge for corner in corners for edge in corner]
                    if box.image == index:
                        lines.append(
                            " ".join([str(names[box.label]), *(f"{value:.8f}" for value in numbers)])
                        )
                stem = Path(image.name).stem
                if listed.setdefault(stem, image.name) != image.name:
                    text = "two images are called %(name)s, and YOLO tells images apart by name alone"
                    raise field_error(record.external_id, text, name=stem)
                labels = folder / "labels" / f"{stem}.txt"
                if record.gold is not None:
                    if labels.exists():
                        raise field_error(record.external_id, _TWICE, name=image.name)
                    labels.write_text("".join(f"{line}\n" for line in lines))
        (folder / "images.txt").write_text("".join(f"{name}\n" for name in listed.values()), encoding="utf-8")
        data = {
            "path": ".",
            "train": "images",
            "val": "images",
            "names": {index: name for name, index in names.items()},
        }
        (folder / "data.yaml").write_text(
            yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8"
        )


def _parse_xml(path: Path) -> ElementTree.Element:
    """Parse an XML file that declares no document type, so no entities.

    Raises:
        BadFile: It is not such a file.
    """
    text = _read_text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise BadFile(path, say("declares a document type; remove it"), line=1)
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - without a document type there are no entities
    except (ElementTree.ParseError, ValueError) as error:
        line = getattr(error, "position", (1, 0))[0]
        raise BadFile(path, say("this is not XML: %(problem)s", problem=str(error)), line=line) from error


def _parse_number(element: ElementTree.Element | None, name: str) -> float:
    text = None if element is None else element.findtext(name)
    try:
        return float(text or "")
    except ValueError as error:
        raise field_error(name, "%(value)r is not a number", value=text) from error


def read_voc(source: Source) -> Iterator[Entry]:
    """Yield the images of Pascal VOC files."""
    for path in list_files(source, ".xml"):
        yield from make_entries_or_refuse(source, {"path": path}, partial(_read_voc_entry, source, path))


def _read_voc_entry(source: Source, path: Path) -> list[Entry]:
    root = _parse_xml(path)
    if root.tag != "annotation":
        raise BadFile(path, say("is not a Pascal VOC file, whose root is annotation"), line=1)
    size = root.find("size")
    width, height = (
        int(_parse_number(size, name)) if size is not None else None for name in ("width", "height")
    )
    name = root.findtext("filename") or ""
    entry = Entry(name, images=(find_image(source, name, width or None, height or None),))
    gold = Labelling()
    for number, each in enumerate(root.iter("object")):
        where = f"{path.name}: object {number}"
        bounds = each.find("bndbox")
        if bounds is None:
            source.findings.mend(OTHER_SHAPES, where)
            continue
        if each.find("part") is not None:
            source.findings.mend(ATTRIBUTES, where)
        # VOC counts pixels from 1, and its last pixel is inside the box.
        left, top = _parse_number(bounds, "xmin") - 1, _parse_number(bounds, "ymin") - 1
        edges = (left, top, _parse_number(bounds, "xmax"), _parse_number(bounds, "ymax"))
        box = build_box_from_pixels(
            edges, each.findtext("name") or "", entry.images[0], source.findings, where
        )
        if box is not None:
            gold.marks.append((OBJECTS, box))
    entry.labellings = [gold]
    return [entry]


def _add_element(
    parent: ElementTree.Element, tag: str, /, text: object = None, **attributes: str
) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, tag, attributes)
    child.text = None if text is None else str(text)
    return child


def write_voc(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the gold of each image as a file of a folder, in whole pixels.

    Raises:
        ValueError: Two items with gold have the same image.
    """
    names: set[str] = set()
    with write_folder(path) as folder:
        for record in records:
            require_kind(record, "boxes", "Pascal VOC")
            for index, image in enumerate(record.images if record.gold is not None else ()):
                name = f"{quote_file_name(str(Path(image.name).with_suffix('')))}.xml"
                if name in names:
                    raise field_error(record.external_id, _TWICE, name=image.name)
                names.add(name)
                (folder / name).write_bytes(_format_voc(record, index))


def _format_voc(record: ItemRecord, index: int) -> bytes:
    width, height = require_item_image_size(record, index)
    root = ElementTree.Element("annotation")
    _add_element(root, "folder", "")
    _add_element(root, "filename", record.images[index].name)
    size = _add_element(root, "size")
    for name, value in (("width", width), ("height", height), ("depth", 3)):
        _add_element(size, name, value)
    for _layer, box in list_boxes(record, record.gold):
        if box.image == index:
            _add_voc_object(root, box.label, box.box, width, height)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8")


def _add_voc_object(
    root: ElementTree.Element, label: str, edges: tuple[float, float, float, float], width: int, height: int
) -> None:
    each = _add_element(root, "object")
    for name, value in (("name", label), ("pose", "Unspecified"), ("truncated", 0), ("difficult", 0)):
        _add_element(each, name, value)
    bounds = _add_element(each, "bndbox")
    left, top, right, bottom = edges
    corners = {
        "xmin": left * width + 1,
        "ymin": top * height + 1,
        "xmax": right * width,
        "ymax": bottom * height,
    }
    for name, corner in corners.items():
        _add_element(bounds, name, f"{corner:.{DIGITS}f}".rstrip("0").rstrip("."))


def read_cvat(source: Source) -> Iterator[Entry]:
    """Yield the images of “CVAT for images 1.1” files."""
    for path in list_files(source, ".xml"):
        try:
            root = _parse_xml(path)
            if root.tag != "annotations":
                raise BadFile(
                    path, say("is not a file of CVAT for images, whose root is annotations"), line=1
                )
        except BadFile as error:
            source.findings.refuse(error, path)
            continue
        names = [each.findtext("name") or "" for each in root.iter("label") if each.findtext("name")]
        inputs = {
            (label.findtext("name") or "", each.findtext("name") or ""): each.findtext("input_type") or ""
            for label in root.iter("label")
            for each in label.iter("attribute")
        }
        declared = (
            [
                LabelLayer.model_validate(
                    {"type": "boxes", "name": OBJECTS, "labels": tuple(dict.fromkeys(names))}
                )
            ]
            if names
            else []
        )
        for each in root.iter("image"):
            for entry in make_entries_or_refuse(
                source,
                {"path": path, "entry": each.get("name", "")},
                partial(_read_cvat_entry, source, each, inputs),
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
    for number, each in enumerate(element):
        where = f"{name}: {each.tag} {number}"
        if each.tag == "tag":
            gold.answers.append((CLASS, "choice", each.get("label", "")))
        elif each.tag not in CVAT_SHAPES or float(each.get("rotation") or 0):
            source.findings.mend(OTHER_SHAPES, where)
        else:
            for name_of_layer, mark in _parse_cvat_marks(source, entry.images[0], each, where):
                own = mark.model_copy(update={"id": f"c{len(gold.marks)}"})
                gold.marks.append((name_of_layer, own))
                gold.about += _parse_cvat_attributes(each, own, inputs)
    entry.labellings = [gold]
    return [entry]


def _parse_cvat_attributes(
    element: ElementTree.Element, mark: Box, inputs: dict[tuple[str, str], str]
) -> Iterator[AboutMark]:
    """Yield the attributes of a mark as answers; an empty one is none."""
    for each in element.iter("attribute"):
        name, value = each.get("name", ""), (each.text or "").strip()
        kind = ASKED.get(inputs.get((mark.label, name), ""))
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
    _add_element(root, "version", "1.1")
    labels = _add_element(_add_element(_add_element(root, "meta"), "task"), "labels")
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
                listed[name] = _add_element(labels, "label")
                _add_element(listed[name], "name", name)
                _add_element(listed[name], "attributes")
        for layer in parse_record_task(record).layers if not number else ():
            for name in layer.names:
                for question in layer.questions:
                    _add_cvat_question(listed[name].find("attributes"), question)
        for index, image in enumerate(record.images):
            width, height = require_item_image_size(record, index)
            about = {"id": str(number), "name": image.name, "width": str(width), "height": str(height)}
            picture = _add_element(root, "image", **about)
            number += 1
            for layer, mark in list_image_marks(record, record.gold):
                if mark.image == index:
                    tag, about = _build_cvat_shape(mark, width, height)
                    common = {"label": mark.label, "occluded": "0", "z_order": "0", "source": "manual"}
                    drawn = _add_element(picture, tag, **common, **about)
                    for question, values in list_mark_answers(layer, mark):
                        _add_element(drawn, "attribute", values[0], name=question.name)
            for name in list_classes(record, record.gold) if index == 0 else []:
                _add_element(picture, "tag", label=name, source="manual")
    ElementTree.indent(root)
    with write_file(path) as file:
        file.write(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _add_cvat_question(parent: ElementTree.Element, question: Question) -> None:
    """Declare a question as an attribute of a label."""
    numbers = [str(question.lowest), str(question.highest), "1"]
    values = {"rating": numbers, "text": [""]}.get(question.type, list(question.names))
    declared = _add_element(parent, "attribute")
    about = {
        "name": question.name,
        "mutable": False,
        "input_type": INPUTS[question.type],
        "default_value": "",
    }
    for name, value in (about | {"values": "\n".join(values)}).items():
        _add_element(declared, name, value)


def _build_cvat_shape(mark: Box, width: int, height: int) -> tuple[str, dict[str, str]]:
    """Return the element of a mark, and its place in pixels."""

    def pair(x: float, y: float) -> str:
        return f"{x * width:.{DIGITS}f},{y * height:.{DIGITS}f}"

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
    return tag, {name: f"{value:.{DIGITS}f}" for name, value in edges.items()}
