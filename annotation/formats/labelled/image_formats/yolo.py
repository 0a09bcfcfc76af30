"""YOLO: a text file of labels for each image, and names of the classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import yaml

from annotation.content.labels import LabelLayer
from annotation.content.schemas import Box, ItemRecord
from annotation.formats.labelled.documents import (
    IMAGE_TWICE,
    list_box_labels,
    list_boxes,
    list_corners,
    require_kind,
)
from annotation.formats.labelled.entries import OBJECTS, Entry, Labelling, make_entries_or_refuse
from annotation.formats.labelled.mark_positions import OTHER_SHAPES, build_box, build_polygon, find_image
from annotation.formats.source import Source
from annotation.formats.writing import write_folder
from foundation.errors import BadFile
from foundation.imports.text_files import read_text
from foundation.messages import field_error, say, value_error

PICTURES = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"}
NAME_FILES = ("data.yaml", "data.yml", "dataset.yaml", "classes.txt", "obj.names", "predefined_classes.txt")
IMAGE_LISTS = ("images.txt", "train.txt", "val.txt", "valid.txt", "test.txt")
NO_LABELS = "image without a file of labels, which comes without gold"


def read_yolo(source: Source) -> Iterator[Entry]:
    """Yield an entry for each image of a YOLO folder.

    Raises:
        BadFile: There are no names of classes, or no images.
    """
    if not source.path.is_dir():
        text = "YOLO needs its files of labels, names and images in one folder or zip file"
        raise BadFile(source.path, say(text))
    files = [file for file in sorted(source.path.rglob("*")) if file.is_file()]
    names = _read_class_names(source.path, files)
    listed = [
        line.strip() for file in files if file.name in IMAGE_LISTS for line in read_text(file).splitlines()
    ]
    pictures = [file.relative_to(source.path).as_posix() for file in files if file.suffix.lower() in PICTURES]
    images = {Path(name).stem: name for name in (*listed, *pictures) if name}
    labels = {
        file.stem: file
        for file in files
        if file.suffix.lower() == ".txt"
        and file.name not in (*IMAGE_LISTS, *NAME_FILES)
        and file.name.lower() != "readme.txt"
    }
    for stem in sorted(images.keys() | labels.keys()):
        make = partial(_read_yolo_entry, source, stem, images.get(stem), labels.get(stem), names)
        yield from make_entries_or_refuse(source, {"path": labels.get(stem, source.path)}, make)


def _read_class_names(folder: Path, files: list[Path]) -> list[str]:
    for name in NAME_FILES:
        for file in (path for path in files if path.name == name):
            if file.suffix in (".names", ".txt"):
                return [line.strip() for line in read_text(file).splitlines() if line.strip()]
            try:
                given = yaml.safe_load(read_text(file))
                names = given["names"]
                return [
                    str(class_name) for class_name in (names.values() if isinstance(names, dict) else names)
                ]
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
        source.findings.note_repair(NO_LABELS, image)
        return [entry]
    gold = Labelling()
    for number, line in enumerate(read_text(labels).splitlines(), start=1):
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
        source.findings.note_repair(OTHER_SHAPES, where)
        return None
    x, y, width, height = cells[:4]
    edges = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    return build_box(edges, label, source.findings, where)


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
                        raise field_error(record.external_id, IMAGE_TWICE, name=image.name)
                    labels.write_text("".join(f"{line}\n" for line in lines))
        (folder / "images.txt").write_text("".join(f"{name}\n" for name in listed.values()), encoding="utf-8")
        data = {"path": ".", "train": "images", "val": "images", "names": dict(enumerate(names))}
        (folder / "data.yaml").write_text(
            yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8"
        )
