"""Write COCO files: boxes in pixels of the images as they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from analysis.programs import Program, describe
from annotation.content.completeness import resolve_references
from annotation.content.schemas import Box, Chosen, Document, Image, ItemRecord, Object
from annotation.formats.checks import parse_record_program
from annotation.formats.coco.keys import EXTRA, Id
from annotation.formats.flat.statements import dump_without_objects
from annotation.formats.writing import encode_json, write_file
from foundation.messages import field_error

DIGITS = 6  # of a pixel


def write_coco(records: Iterable[ItemRecord], path: Path) -> None:
    """Write items as one COCO file, which is held in memory.

    Raises:
        ValueError: An item has no images, or their sizes are unknown, so that pixels cannot be counted.
    """
    writing = _Writing()
    for record in records:
        writing.add(record)
    with write_file(path) as file:
        file.writelines(writing.parts())


# An outline as JSON without its id, and its original id. Text, because garbage collection of hundreds of
# thousands of dictionaries would take a third of the time.
_Encoded = tuple[Id | None, bytes]


class _Writing:
    """A file being written. Keeps original ids if no two files clash."""

    def __init__(self) -> None:
        self._images: dict[Id, dict[str, Any]] = {}
        self._next_image = 1
        self._categories: dict[str, dict[str, Any]] = {}
        self._known: dict[Id, str] = {}
        self._annotations: list[_Encoded] = []
        self._items: list[bytes] = []
        self._people: list[tuple[bytes, list[_Encoded]]] = []
        self._given: set[Id] = set()
        self._fresh = count(1)

    def parts(self) -> Iterator[bytes]:
        """Yield the parts of the file in their order."""
        everything = chain(self._annotations, *(outlines for _header, outlines in self._people))
        used: set[Id] = {identity for identity, _rest in everything if identity is not None}
        self._fresh = _make_id_counter(used)
        yield b'{"images": ' + encode_json(list(self._images.values()))
        yield b', "categories": ' + encode_json(list(self._categories.values()))
        yield b', "annotations": ' + self._list(self._annotations)
        if self._items:
            yield b', "items": [' + b",\n".join(self._items) + b"]"
        if self._people:
            people = (
                header[:-1] + b', "annotations": ' + self._list(own) + b"}" for header, own in self._people
            )
            yield b', "works": [' + b",\n".join(people) + b"]"
        yield b"}\n"

    def _list(self, outlines: Iterable[_Encoded]) -> bytes:
        return b"[" + b",\n".join(self._encode_with_id(*outline) for outline in outlines) + b"]"

    def _encode_with_id(self, identity: Id | None, rest: bytes) -> bytes:
        if identity is None or identity in self._given:
            identity = next(self._fresh)
        self._given.add(identity)
        return b'{"id":' + encode_json(identity) + b"," + rest[1:]

    def add(self, record: ItemRecord) -> None:
        """Add an item, with its images, gold and annotations."""
        if record.kind != "boxes" or not record.images:
            raise field_error(record.external_id, "COCO files hold boxes in images only")
        kept = record.extra.get(EXTRA)
        for category in (kept or {}).get("categories", []):
            if category["name"] not in self._categories and category["id"] not in self._known:
                self._categories[category["name"]] = category
                self._known[category["id"]] = category["name"]
        identities = [self._image(record, number, kept) for number in range(len(record.images))]
        program = parse_record_program(record)
        if record.gold is not None and program is not None:
            self._annotations.extend(self._outlines(record, program, record.gold, identities, kept))
        if kept is None or record.annotations:
            self._items.append(encode_json(_build_item(record)))
            for identity in identities:
                self._images[identity]["item"] = record.external_id
        for annotation in record.annotations:
            outlines: list[_Encoded] = []
            if program is not None:
                outlines = list(self._outlines(record, program, annotation.document, identities, None))
            fields = annotation.model_dump(mode="json", exclude={"document"})
            fields["document"] = dump_without_objects(annotation.document)
            self._people.append((encode_json({"item": record.external_id, "work": fields}), outlines))

    def _image(self, record: ItemRecord, number: int, kept: Mapping[str, Any] | None) -> Id:
        image = record.images[number]
        if image.width is None or image.height is None:
            raise field_error(record.external_id, "the size of %(name)r is not known", name=image.name)
        rest = dict(kept["images"][number]) if kept else {}
        identity: Id = rest.get("id", 0)
        if not kept or identity in self._images:
            identity = self._next_image
        if isinstance(identity, int):
            self._next_image = max(self._next_image, identity + 1)
        size = {"file_name": image.name, "width": image.width, "height": image.height}
        self._images[identity] = {**rest, "id": identity, **size}
        return identity

    def _category(self, name: str, supercategory: str) -> Id:
        if name not in self._categories:
            identity = next(_make_id_counter(self._known))
            self._categories[name] = {"id": identity, "name": name, "supercategory": supercategory}
            self._known[identity] = name
        return self._categories[name]["id"]

    def _outlines(
        self,
        record: ItemRecord,
        program: Program,
        document: Document,
        identities: Sequence[Id],
        kept: Mapping[str, Any] | None,
    ) -> Iterator[_Encoded]:
        shapes = resolve_references(document, program)
        named = [category["name"] for category in (kept or {}).get("categories", [])]
        for index, layer in document.layers.items():
            node = program.nodes[index]
            name = node.argument if node.argument in named and node.argument else describe(node)
            for drawn, shape in zip(layer.objects, shapes.get(index, ()), strict=True):
                if not isinstance(shape, Box):
                    continue
                raw = (kept or {}).get("objects", {}).get(drawn.id)
                outline = {
                    "image_id": identities[shape.image],
                    "category_id": self._category(name, node.module),
                    **_convert_box_to_pixels(record.images[shape.image], shape, raw),
                }
                if kept is None or record.annotations:
                    outline |= {"node": index, "object": drawn.id}
                    outline |= _build_fields(drawn)
                yield outline.pop("id", None), encode_json(outline)


def _convert_box_to_pixels(image: Image, box: Box, raw: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a box in pixels, unchanged with its outline if nobody moved it."""
    assert image.width is not None
    assert image.height is not None
    left, top, right, bottom = box.box
    x, y = left * image.width, top * image.height
    exact = (x, y, right * image.width - x, bottom * image.height - y)
    bbox = [round(value, DIGITS) for value in exact]
    if raw is not None:
        if all(abs(before - after) < 10**-DIGITS for before, after in zip(raw["bbox"], bbox, strict=True)):
            return dict(raw)
        raw = {key: value for key, value in raw.items() if key not in ("segmentation", "area")}
    return {"iscrowd": 0, **(raw or {}), "bbox": bbox, "area": round(exact[2] * exact[3], DIGITS)}


def _build_fields(drawn: Object) -> dict[str, Any]:
    if isinstance(drawn, Chosen):
        return {"ref": drawn.ref}
    fields = {"links": list(drawn.links), "reason": drawn.reason}
    return {key: value for key, value in fields.items() if value}


def _build_item(record: ItemRecord) -> dict[str, Any]:
    return {
        "external_id": record.external_id,
        "text": record.text,
        "program": record.program,
        "answer": record.answer,
        "gold": None if record.gold is None else dump_without_objects(record.gold),
        "extra": record.extra,
    }


def _make_id_counter(used: Iterable[Id]) -> count[int]:
    """Count from the number after the largest used one, at least from 1."""
    return count(max((identity for identity in used if isinstance(identity, int)), default=0) + 1)
