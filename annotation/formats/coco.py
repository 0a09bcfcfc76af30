"""COCO: boxes in pixels of the images as they are shown, with categories.

The gold of all items is in ``annotations``, as every tool that reads COCO expects. What people drew is in
``works``, and what an item has besides its images in ``items``: keys that those tools pass over. Files of
others become an item for each image, whose program looks for each of its categories.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from analysis.programs import Program, describe
from annotation.formats.boxes import fitted
from annotation.formats.checks import check_record, program_of_text, record_program
from annotation.formats.drawn import document_of
from annotation.formats.images import ImageFolder, image_size
from annotation.formats.report import Report
from annotation.formats.statements import besides
from annotation.formats.writing import encoded, written
from annotation.operations import resolved
from annotation.schemas import Annotation, Box, Chosen, Document, Image, ItemRecord, Object
from foundation.errors import BadFile
from foundation.import_fields import first_error

NAME = "coco"  # of the part of `extra` that holds what an image needs to go out again
SLACK = 0.01  # of an image's size: what other tools put past the edge
DIGITS = 6  # of a pixel

NO_CATEGORY = "image without boxes, which comes without a program"
OUTLINE = "outline that is no box, kept aside"

Id = int | str
Size = Annotated[int, Field(gt=0)]


class _Picture(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    id: Id
    file_name: Annotated[str, Field(min_length=1, max_length=200)]
    width: Size
    height: Size
    item: str | None = None


class _Category(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    id: Id
    name: Annotated[str, Field(min_length=1)]


class _Outline(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    image_id: Id
    category_id: Id
    bbox: tuple[float, float, float, float]
    node: int | None = None
    object: str | None = None
    ref: str | None = None
    links: tuple[str, ...] = ()
    reason: str = ""


class _Item(BaseModel):
    external_id: str
    text: str
    program: str
    answer: bool | int | float | str | None = None
    gold: dict[str, Any] | None = None
    extra: dict[str, Any] = {}


class _Work(BaseModel):
    item: str
    work: dict[str, Any]
    annotations: list[_Outline] = []


class _File(BaseModel):
    """The parts of a file, whole."""

    model_config = ConfigDict(extra="allow", frozen=True)

    images: list[_Picture]
    annotations: list[_Outline] = []
    categories: list[_Category] = []
    items: list[_Item] = []
    works: list[_Work] = []


# --- reading -----------------------------------------------------------------------------------------


def read_coco(
    path: Path, *, images: ImageFolder | None = None, report: Report | None = None
) -> Iterator[ItemRecord]:
    """Yield the items of a file, which is held in memory whole: boxes stand apart from their images.

    images: the folder of the pictures, whose sizes after EXIF must be those that the file says. Raises
    BadFile, which names the part, its place and the field.
    """
    try:
        content = _File.model_validate(json.loads(path.read_bytes()))
        yield from _Reading(content, images, report if report is not None else Report()).records()
    except OSError as error:
        raise BadFile(path, error.strerror or str(error)) from error
    except json.JSONDecodeError as error:
        raise BadFile(path, f"not JSON: {error.msg}", line=error.lineno) from error
    except ValidationError as error:
        raise BadFile(path, first_error(error)) from error
    except (ValueError, RecursionError) as error:
        raise BadFile(path, str(error)) from error


class _Reading:
    """A file being read."""

    def __init__(self, content: _File, folder: ImageFolder | None, report: Report) -> None:
        self._content = content
        self._folder = folder
        self._report = report
        self._pictures = _by_id("images", content.images)
        self._categories = _by_id("categories", content.categories)
        self._outlines: dict[Id, list[tuple[int, str, _Outline]]] = {}
        for number, outline in enumerate(content.annotations):
            place = f"annotations[{number}]"
            if outline.image_id not in self._pictures:
                raise ValueError(f"{place}.image_id: there is no image {outline.image_id!r}")
            if outline.category_id not in self._categories:
                raise ValueError(f"{place}.category_id: there is no category {outline.category_id!r}")
            self._outlines.setdefault(outline.image_id, []).append((number, place, outline))

    def records(self) -> Iterator[ItemRecord]:
        ours: dict[str, list[_Picture]] = {}
        for picture in self._content.images:
            if picture.item is not None:
                ours.setdefault(picture.item, []).append(picture)
        works: dict[str, list[_Work]] = {}
        for work in self._content.works:
            works.setdefault(work.item, []).append(work)
        for item in self._content.items:
            pictures = ours.pop(item.external_id, [])
            yield self._item(item, pictures, works.get(item.external_id, []))
        if ours:
            raise ValueError(f"items: there is no item {next(iter(ours))!r}, which an image belongs to")
        names: set[str] = set()
        for number, picture in enumerate(self._content.images):
            if picture.item is None:
                if picture.file_name in names:
                    raise ValueError(f"images[{number}].file_name: {picture.file_name!r} came before")
                names.add(picture.file_name)
                yield self._image(picture)

    def _shown(self, picture: _Picture) -> Image:
        """The image, whose size must be the one that is shown."""
        size = (picture.width, picture.height)
        if self._folder is None:
            return Image(name=picture.file_name, width=size[0], height=size[1])
        image = self._folder.find(picture.file_name)
        shown = image_size(self._folder.root / image.name)
        if shown != size:
            hint = "; the file counts pixels before the EXIF orientation" if shown == size[::-1] else ""
            message = f"is shown with {shown[0]} by {shown[1]} pixels, not {size[0]} by {size[1]}{hint}"
            raise ValueError(f"images: {picture.file_name!r} {message}")
        return image

    def _image(self, picture: _Picture) -> ItemRecord:
        """The item of an image of others: a step for each of its categories."""
        outlines = self._outlines.get(picture.id, [])
        found = dict.fromkeys(outline.category_id for _number, _place, outline in outlines)
        names = [self._categories[key].name for key in found]
        program = _looking_for(names)
        gold, kept = None, {}
        if program is None:
            self._report.add(NO_CATEGORY, picture.file_name)
        else:
            finds = (node.index for node in program.nodes if node.module == "find")
            nodes = dict(zip(found, finds, strict=True))
            drawn: dict[int, list[Object]] = {}
            for _number, place, outline in outlines:
                node = nodes[outline.category_id]
                name = f"m{node}-{len(drawn.get(node, []))}"
                box = self._box(picture, outline, name, 0, place)
                if box is not None:
                    drawn.setdefault(node, []).append(box)
                    rest = outline.model_dump(
                        mode="json", exclude={"image_id", "category_id"}, exclude_unset=True
                    )
                    kept[name] = rest
                    if rest.get("segmentation"):
                        self._report.add(OUTLINE, place)
            gold = document_of(program, drawn, reason="", report=self._report, place=picture.file_name)
        categories = [self._categories[key].model_dump() for key in found]
        more = picture.model_dump(exclude={"file_name", "width", "height", "item"}, exclude_unset=True)
        return check_record(
            ItemRecord(
                external_id=picture.file_name,
                kind="boxes",
                program="" if program is None else str(program),
                text=f"Every {' and every '.join(names)}." if names else "",
                images=(self._shown(picture),),
                gold=gold,
                extra={NAME: {"images": [more], "categories": categories, "objects": kept}},
            )
        )

    def _item(self, item: _Item, pictures: Sequence[_Picture], works: Sequence[_Work]) -> ItemRecord:
        """An item that was written here."""
        program = program_of_text(item.program, "boxes") if item.program else None
        drawn = [one for picture in pictures for one in self._outlines.get(picture.id, [])]
        outlines = [(place, one) for _number, place, one in sorted(drawn, key=lambda each: each[0])]
        gold = None if item.gold is None else self._document(item.gold, outlines, pictures, program)
        people = []
        for number, work in enumerate(works):
            placed = [(f"works[{number}].annotations[{at}]", one) for at, one in enumerate(work.annotations)]
            document = self._document(work.work["document"], placed, pictures, program)
            people.append(Annotation.model_validate({**work.work, "document": document}))
        return check_record(
            ItemRecord(
                external_id=item.external_id,
                kind="boxes",
                program=item.program,
                text=item.text,
                images=tuple(self._shown(picture) for picture in pictures),
                answer=item.answer,
                gold=gold,
                annotations=tuple(people),
                extra=item.extra,
            )
        )

    def _document(
        self,
        told: Mapping[str, Any],
        outlines: Sequence[tuple[str, _Outline]],
        pictures: Sequence[_Picture],
        program: Program | None,
    ) -> Document:
        """What the outlines and what is told of each layer besides make together."""
        document = Document.model_validate(told)
        if program is None:
            return document
        numbers = {picture.id: number for number, picture in enumerate(pictures)}
        drawn: dict[int, list[Object]] = {}
        for place, outline in outlines:
            if outline.node is None or outline.node >= len(program.nodes) or outline.object is None:
                raise ValueError(f"{place}.node: is no step of the item's program")
            if outline.image_id not in numbers:
                raise ValueError(f"{place}.image_id: is no image of the item")
            number = numbers[outline.image_id]
            one: Object | None
            if outline.ref is not None:
                one = Chosen(id=outline.object, ref=outline.ref)
            else:
                one = self._box(pictures[number], outline, outline.object, number, place)
            if one is not None:
                drawn.setdefault(outline.node, []).append(one)
        return document_of(
            program,
            drawn,
            reason="drawn elsewhere",
            report=self._report,
            place=str(program),
            layers=document.layers,
            problem=document.problem,
        )

    def _box(self, picture: _Picture, outline: _Outline, name: str, image: int, place: str) -> Box | None:
        x, y, width, height = outline.bbox
        edges = (
            x / picture.width,
            y / picture.height,
            (x + width) / picture.width,
            (y + height) / picture.height,
        )
        try:
            fits = fitted(edges, slack=SLACK, report=self._report, place=place)
        except ValueError as error:
            raise ValueError(f"{place}.bbox: {error}") from error
        if fits is None:
            return None
        return Box(id=name, image=image, box=fits, links=outline.links, reason=outline.reason)


def _by_id(part: str, values: Sequence[Any]) -> dict[Id, Any]:
    found: dict[Id, Any] = {}
    for number, value in enumerate(values):
        if value.id in found:
            raise ValueError(f"{part}[{number}].id: {value.id!r} came before")
        found[value.id] = value
    return found


def _looking_for(names: Sequence[str]) -> Program | None:
    """The program that looks for each of some categories: whether there is one of each."""
    if not names:
        return None
    finds = [f"find[{_escaped(name)}]" for name in names]
    if len(finds) == 1:
        return program_of_text(finds[0], "boxes")
    text = f"exist({finds[-1]})"
    for find in reversed(finds[:-1]):
        text = f"and(exist({find}), {text})"
    return program_of_text(text, "boxes")


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


# --- writing -----------------------------------------------------------------------------------------


def write_coco(records: Iterable[ItemRecord], path: Path) -> None:
    """Write items as one COCO file, which is held in memory. Raises ValueError where an item has no images
    or their sizes are not known: then there are no pixels to count.
    """
    writing = _Writing()
    for record in records:
        writing.add(record)
    with written(path) as file:
        file.writelines(writing.parts())


# An outline as JSON without its id, and the id that it came with. Text instead of objects: hundreds of
# thousands of dictionaries would keep the collector of garbage busy for a third of the time.
_Encoded = tuple[Id | None, bytes]


class _Writing:
    """A file being written. Ids that images, categories and boxes came with are kept while they are free."""

    def __init__(self) -> None:
        self._images: dict[Id, dict[str, Any]] = {}
        self._next_image = 1
        self._categories: dict[str, dict[str, Any]] = {}
        self._known: dict[Id, str] = {}
        self._annotations: list[_Encoded] = []
        self._items: list[bytes] = []
        self._works: list[tuple[bytes, list[_Encoded]]] = []
        self._given: set[Id] = set()
        self._fresh = count(1)

    def parts(self) -> Iterator[bytes]:
        """The file in its order."""
        everything = chain(self._annotations, *(outlines for _told, outlines in self._works))
        taken: set[Id] = {identity for identity, _rest in everything if identity is not None}
        self._fresh = _fresh(taken)
        yield b'{"images": ' + encoded(list(self._images.values()))
        yield b', "categories": ' + encoded(list(self._categories.values()))
        yield b', "annotations": ' + self._list(self._annotations)
        if self._items:
            yield b', "items": [' + b",\n".join(self._items) + b"]"
        if self._works:
            works = (told[:-1] + b', "annotations": ' + self._list(own) + b"}" for told, own in self._works)
            yield b', "works": [' + b",\n".join(works) + b"]"
        yield b"}\n"

    def _list(self, outlines: Iterable[_Encoded]) -> bytes:
        return b"[" + b",\n".join(self._numbered(*outline) for outline in outlines) + b"]"

    def _numbered(self, identity: Id | None, rest: bytes) -> bytes:
        if identity is None or identity in self._given:
            identity = next(self._fresh)
        self._given.add(identity)
        return b'{"id":' + encoded(identity) + b"," + rest[1:]

    def add(self, record: ItemRecord) -> None:
        if record.kind != "boxes" or not record.images:
            raise ValueError(f"{record.external_id}: COCO files hold boxes in images only")
        kept = record.extra.get(NAME)
        for category in (kept or {}).get("categories", []):
            if category["name"] not in self._categories and category["id"] not in self._known:
                self._categories[category["name"]] = category
                self._known[category["id"]] = category["name"]
        identities = [self._image(record, number, kept) for number in range(len(record.images))]
        program = record_program(record)
        if record.gold is not None and program is not None:
            self._annotations.extend(self._outlines(record, program, record.gold, identities, kept))
        if kept is None or record.annotations:
            self._items.append(encoded(_item(record)))
            for identity in identities:
                self._images[identity]["item"] = record.external_id
        for work in record.annotations:
            outlines: list[_Encoded] = []
            if program is not None:
                outlines = list(self._outlines(record, program, work.document, identities, None))
            told = {**work.model_dump(mode="json", exclude={"document"}), "document": besides(work.document)}
            self._works.append((encoded({"item": record.external_id, "work": told}), outlines))

    def _image(self, record: ItemRecord, number: int, kept: Mapping[str, Any] | None) -> Id:
        image = record.images[number]
        if image.width is None or image.height is None:
            raise ValueError(f"{record.external_id}: the size of {image.name!r} is not known")
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
            identity = next(_fresh(self._known))
            self._categories[name] = {"id": identity, "name": name, "supercategory": supercategory}
            self._known[identity] = name
        found: Id = self._categories[name]["id"]
        return found

    def _outlines(
        self,
        record: ItemRecord,
        program: Program,
        document: Document,
        identities: Sequence[Id],
        kept: Mapping[str, Any] | None,
    ) -> Iterator[_Encoded]:
        shapes = resolved(document, program)
        named = [category["name"] for category in (kept or {}).get("categories", [])]
        for index, layer in document.layers.items():
            node = program.nodes[index]
            name = node.argument if node.argument in named and node.argument else describe(node)
            for one, shape in zip(layer.objects, shapes.get(index, ()), strict=True):
                if not isinstance(shape, Box):
                    continue
                raw = (kept or {}).get("objects", {}).get(one.id)
                outline = {
                    "image_id": identities[shape.image],
                    "category_id": self._category(name, node.module),
                    **_pixels(record.images[shape.image], shape, raw),
                }
                if kept is None or record.annotations:
                    outline |= {"node": index, "object": one.id}
                    outline |= _said(one)
                yield outline.pop("id", None), encoded(outline)


def _pixels(image: Image, box: Box, raw: Mapping[str, Any] | None) -> dict[str, Any]:
    """A box in pixels; as it came, with its outline, where nobody moved it."""
    assert image.width is not None
    assert image.height is not None
    left, top, right, bottom = box.box
    x, y = left * image.width, top * image.height
    exact = (x, y, right * image.width - x, bottom * image.height - y)
    bbox = [round(value, DIGITS) for value in exact]
    if raw is not None:
        if all(abs(one - other) < 10**-DIGITS for one, other in zip(raw["bbox"], bbox, strict=True)):
            return dict(raw)
        raw = {key: value for key, value in raw.items() if key not in ("segmentation", "area")}
    return {"iscrowd": 0, **(raw or {}), "bbox": bbox, "area": round(exact[2] * exact[3], DIGITS)}


def _said(one: Object) -> dict[str, Any]:
    if isinstance(one, Chosen):
        return {"ref": one.ref}
    said = {"links": list(one.links), "reason": one.reason}
    return {key: value for key, value in said.items() if value}


def _item(record: ItemRecord) -> dict[str, Any]:
    return {
        "external_id": record.external_id,
        "text": record.text,
        "program": record.program,
        "answer": record.answer,
        "gold": None if record.gold is None else besides(record.gold),
        "extra": record.extra,
    }


def _fresh(taken: Iterable[Id]) -> count[int]:
    """The numbers after the largest that is taken, from 1."""
    return count(max((one for one in taken if isinstance(one, int)), default=0) + 1)
