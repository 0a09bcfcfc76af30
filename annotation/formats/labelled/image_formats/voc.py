"""Pascal VOC: an XML file of boxes for each image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from annotation.content.schemas import ItemRecord
from annotation.formats.labelled.documents import (
    IMAGE_TWICE,
    list_boxes,
    require_item_image_size,
    require_kind,
)
from annotation.formats.labelled.entries import (
    ATTRIBUTES,
    OBJECTS,
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
    find_image,
)
from annotation.formats.source import Source
from annotation.formats.writing import quote_file_name, write_folder
from foundation.errors import BadFile
from foundation.messages import field_error, say


def read_voc(source: Source) -> Iterator[Entry]:
    """Yield the images of Pascal VOC files."""
    for path in list_files(source, ".xml"):
        yield from make_entries_or_refuse(source, {"path": path}, partial(_read_voc_entry, source, path))


def _read_voc_entry(source: Source, path: Path) -> list[Entry]:
    root = parse_xml(path)
    if root.tag != "annotation":
        raise BadFile(path, say("is not a Pascal VOC file, whose root is annotation"), line=1)
    size = root.find("size")
    width, height = (
        int(_parse_number(size, name)) if size is not None else None for name in ("width", "height")
    )
    name = root.findtext("filename") or ""
    entry = Entry(name, images=(find_image(source, name, width or None, height or None),))
    gold = Labelling()
    for number, object_ in enumerate(root.iter("object")):
        where = f"{path.name}: object {number}"
        bounds = object_.find("bndbox")
        if bounds is None:
            source.findings.note_repair(OTHER_SHAPES, where)
            continue
        if object_.find("part") is not None:
            source.findings.note_repair(ATTRIBUTES, where)
        # VOC counts pixels from 1, and its last pixel is inside the box.
        left, top = _parse_number(bounds, "xmin") - 1, _parse_number(bounds, "ymin") - 1
        edges = (left, top, _parse_number(bounds, "xmax"), _parse_number(bounds, "ymax"))
        box = build_box_from_pixels(
            edges, object_.findtext("name") or "", entry.images[0], source.findings, where
        )
        if box is not None:
            gold.marks.append((OBJECTS, box))
    entry.labellings = [gold]
    return [entry]


def _parse_number(element: ElementTree.Element | None, name: str) -> float:
    text = None if element is None else element.findtext(name)
    try:
        return float(text or "")
    except ValueError as error:
        raise field_error(name, "%(value)r is not a number", value=text) from error


def write_voc(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the gold of each image as a file of a folder, in pixels.

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
                    raise field_error(record.external_id, IMAGE_TWICE, name=image.name)
                names.add(name)
                (folder / name).write_bytes(_format_voc(record, index))


def _format_voc(record: ItemRecord, index: int) -> bytes:
    width, height = require_item_image_size(record, index)
    root = ElementTree.Element("annotation")
    add_element(root, "folder", "")
    add_element(root, "filename", record.images[index].name)
    size = add_element(root, "size")
    for name, value in (("width", width), ("height", height), ("depth", 3)):
        add_element(size, name, value)
    for _layer, box in list_boxes(record, record.gold):
        if box.image == index:
            _add_voc_object(root, box.label, box.box, width, height)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8")


def _add_voc_object(
    root: ElementTree.Element, label: str, edges: tuple[float, float, float, float], width: int, height: int
) -> None:
    object_ = add_element(root, "object")
    for name, value in (("name", label), ("pose", "Unspecified"), ("truncated", 0), ("difficult", 0)):
        add_element(object_, name, value)
    bounds = add_element(object_, "bndbox")
    left, top, right, bottom = edges
    corners = (left * width + 1, top * height + 1, right * width, bottom * height)
    for name, corner in zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True):
        add_element(bounds, name, f"{corner:.{PIXEL_DIGITS}f}".rstrip("0").rstrip("."))
