"""Read COCO files: boxes in pixels of the images as they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from analysis.programs import Program
from annotation.content.schemas import AnnotationRecord, Box, Chosen, Document, Image, ItemRecord, Object
from annotation.formats.boxes import clip_box
from annotation.formats.checks import check_record, parse_program_text
from annotation.formats.coco.keys import EXTRA, Id
from annotation.formats.images import ImageFolder, read_image_size
from annotation.formats.references import build_document
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings, Part
from foundation.imports.json_elements import Element
from foundation.imports.json_stream import read_document
from foundation.messages import extract_message, field_error, prefix_field, say

SLACK = 0.01  # of an image's size: how far other tools let boxes pass the edge

NO_CATEGORY = "image without boxes, which comes without a program"
OUTLINE = "outline other than a box, kept aside"

Size = Annotated[int, Field(gt=0, le=1_000_000)]


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


Named = TypeVar("Named", _Picture, _Category)


class _Outline(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    image_id: Id
    category_id: Id
    bbox: tuple[float, float, float, float]
    node: Annotated[int, Field(ge=0)] | None = None
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


class _Annotation(BaseModel):
    item: str
    work: dict[str, Any]
    annotations: list[_Outline] = []


class _File(BaseModel):
    """A whole file; `_Reading` checks the parts one by one."""

    images: list[Any]
    annotations: list[Any] = []
    categories: list[Any] = []
    items: list[Any] = []
    works: list[Any] = []


def read_coco(source: Source) -> Iterator[ItemRecord]:
    """Yield the items of a file, which is held in memory whole.

    Boxes stand apart from their images, so it cannot be streamed. The sizes of the images after EXIF must
    equal those in the file.

    Raises:
        BadFile: Names the part, its position and the field.
    """
    path, images, findings = source.path, source.images, source.findings
    element = read_document(path)
    for _field, content in findings.validate_each(_File, [element.value], path, element, ""):
        yield from _Reading(path, element, content, images, findings).records()


class _Reading:
    """A file being read."""

    def __init__(
        self, path: Path, element: Element, content: _File, folder: ImageFolder | None, findings: Findings
    ) -> None:
        self._path, self._element, self._content = path, element, content
        self._folder, self._findings = folder, findings
        self._pictures = self._index_by_id(_Picture, "images")
        self._categories = self._index_by_id(_Category, "categories")
        self._outlines: dict[Id, list[tuple[int, str, _Outline]]] = {}
        images, categories = _collect_ids(content.images), _collect_ids(content.categories)
        for number, (within, outline) in enumerate(self._read_parts(_Outline, "annotations")):
            # A refused part is not missing, too.
            if outline.image_id not in images:
                self._refuse(
                    field_error("image_id", "there is no image %(image_id)r", image_id=outline.image_id),
                    within,
                )
            elif outline.category_id not in categories:
                self._refuse(
                    field_error(
                        "category_id", "there is no category %(category_id)r", category_id=outline.category_id
                    ),
                    within,
                )
            elif outline.category_id in self._categories:
                self._outlines.setdefault(outline.image_id, []).append((number, within, outline))

    def _read_parts(self, kind: type[Part], name: str) -> Iterator[tuple[str, Part]]:
        values = getattr(self._content, name)
        return self._findings.validate_each(kind, values, self._path, self._element, name)

    def _index_by_id(self, kind: type[Named], name: str) -> dict[Id, tuple[str, Named]]:
        """Return place and content of each part by its id."""
        by_id: dict[Id, tuple[str, Named]] = {}
        for within, part in self._read_parts(kind, name):
            if by_id.setdefault(part.id, (within, part))[0] != within:
                self._refuse(field_error("id", "%(id)r came before; ids must differ", id=part.id), within)
        return by_id

    def _refuse(self, error: Exception, within: str) -> None:
        # Errors of boxes name their place in the file, others a field of the part.
        if str(error).startswith(("annotations[", "works[")):
            within = ""
        self._findings.refuse(error, self._path, element=self._element, within=within)

    def records(self) -> Iterator[ItemRecord]:
        """Yield our own items first, then one item for each other image."""
        ours: dict[str, list[_Picture]] = {}
        others: list[tuple[str, _Picture]] = []
        for within, picture in self._pictures.values():
            if picture.item is None:
                others.append((within, picture))
            else:
                ours.setdefault(picture.item, []).append(picture)
        annotations: dict[str, list[tuple[str, _Annotation]]] = {}
        for within, annotation in self._read_parts(_Annotation, "works"):
            annotations.setdefault(annotation.item, []).append((within, annotation))
        for within, item in self._read_parts(_Item, "items"):
            pictures = ours.pop(item.external_id, [])
            yield from self._record_or_none(
                partial(self._item, item, pictures, annotations.get(item.external_id, [])), within
            )
        for within, picture in self._pictures.values():
            if picture.item in ours:
                self._refuse(field_error("item", "there is no item %(item)r", item=picture.item), within)
        for within, picture in others:
            yield from self._record_or_none(partial(self._image, picture), within)

    def _record_or_none(self, make: Callable[[], ItemRecord], within: str) -> list[ItemRecord]:
        """Return the record that a function makes, or none after a refusal."""
        try:
            record = make()
            where: dict[str, Any] = {"element": self._element, "within": within}
            field = "external_id" if within.startswith("items") else "file_name"
            self._findings.note_entry(record.external_id, self._path, field=field, **where)
        except (ValueError, BadFile) as error:  # BadFile of an image
            self._refuse(error, within)
            return []
        return [record]

    def _check_image(self, picture: _Picture) -> Image:
        """Return the image after checking that its size is the one shown."""
        size = (picture.width, picture.height)
        if self._folder is None:
            return Image(name=picture.file_name, width=size[0], height=size[1])
        image = self._folder.find(picture.file_name)
        shown = read_image_size(self._folder.root / image.name)
        if shown != size:
            sizes = {"width": shown[0], "height": shown[1], "width2": size[0], "height2": size[1]}
            message = say(
                "%(name)r is shown with %(width)s by %(height)s pixels, not %(width2)s by %(height2)s",
                name=picture.file_name,
                **sizes,
            )
            if shown == size[::-1]:
                message = say(
                    "%(problem)s; the file counts pixels before the EXIF orientation", problem=message
                )
            raise ValueError(prefix_field("width", message))
        return image

    def _image(self, picture: _Picture) -> ItemRecord:
        """Make the item of another tool's image: one step per category."""
        outlines = self._outlines.get(picture.id, [])
        categories = dict.fromkeys(outline.category_id for _number, _path, outline in outlines)
        names = [self._categories[key][1].name for key in categories]
        program = _build_find_program(names)
        gold, kept = None, {}
        if program is None:
            self._findings.note_repair(NO_CATEGORY, picture.file_name)
        else:
            finds = (node.index for node in program.nodes if node.module == "find")
            nodes = dict(zip(categories, finds, strict=True))
            drawn: dict[int, list[Object]] = {}
            for _number, path, outline in outlines:
                node = nodes[outline.category_id]
                name = f"m{node}-{len(drawn.get(node, []))}"
                box = self._box(picture, outline, name, 0, path)
                if box is not None:
                    drawn.setdefault(node, []).append(box)
                    rest = outline.model_dump(
                        mode="json", exclude={"image_id", "category_id"}, exclude_unset=True
                    )
                    kept[name] = rest
                    if rest.get("segmentation"):
                        self._findings.note_repair(OUTLINE, path)
            gold = build_document(program, drawn, reason="", findings=self._findings, path=picture.file_name)
        kept_categories = [self._categories[key][1].model_dump() for key in categories]
        more = picture.model_dump(exclude={"file_name", "width", "height", "item"}, exclude_unset=True)
        return check_record(
            ItemRecord(
                external_id=picture.file_name,
                kind="boxes",
                program="" if program is None else str(program),
                text=f"Every {' and every '.join(names)}." if names else "",
                images=(self._check_image(picture),),
                gold=gold,
                extra={EXTRA: {"images": [more], "categories": kept_categories, "objects": kept}},
            )
        )

    def _item(
        self, item: _Item, pictures: Sequence[_Picture], annotations: Sequence[tuple[str, _Annotation]]
    ) -> ItemRecord:
        """Make an item of a file that this site wrote."""
        program = parse_program_text(item.program, "boxes") if item.program else None
        drawn = [part for picture in pictures for part in self._outlines.get(picture.id, [])]
        outlines = [(path, outline) for _number, path, outline in sorted(drawn, key=lambda part: part[0])]
        gold = None if item.gold is None else self._document(item.gold, outlines, pictures, program)
        people = []
        for within, annotation in annotations:
            own = [
                (f"{within}.annotations[{at}]", outline) for at, outline in enumerate(annotation.annotations)
            ]
            document = self._document(annotation.work.get("document"), own, pictures, program)
            people.append(AnnotationRecord.model_validate({**annotation.work, "document": document}))
        return check_record(
            ItemRecord(
                external_id=item.external_id,
                kind="boxes",
                program=item.program,
                text=item.text,
                images=tuple(self._check_image(picture) for picture in pictures),
                answer=item.answer,
                gold=gold,
                annotations=tuple(people),
                extra=item.extra,
            )
        )

    def _document(
        self,
        stored: Any,
        outlines: Sequence[tuple[str, _Outline]],
        pictures: Sequence[_Picture],
        program: Program | None,
    ) -> Document:
        """Join the outlines with the stored rest of each layer."""
        document = Document.model_validate(stored)
        if program is None:
            return document
        numbers = {picture.id: number for number, picture in enumerate(pictures)}
        drawn: dict[int, list[Object]] = {}
        for path, outline in outlines:
            if outline.node is None or outline.node >= len(program.nodes) or outline.object is None:
                raise field_error(f"{path}.node", "is not a step of the item's program")
            if outline.image_id not in numbers:
                raise field_error(f"{path}.image_id", "is not an image of the item")
            number = numbers[outline.image_id]
            shape: Object | None
            if outline.ref is not None:
                shape = Chosen(id=outline.object, ref=outline.ref)
            else:
                shape = self._box(pictures[number], outline, outline.object, number, path)
            if shape is not None:
                drawn.setdefault(outline.node, []).append(shape)
        return build_document(
            program,
            drawn,
            reason="drawn elsewhere",
            findings=self._findings,
            path=str(program),
            layers=document.layers,
            problem=document.problem,
        )

    def _box(self, picture: _Picture, outline: _Outline, name: str, image: int, path: str) -> Box | None:
        x, y, width, height = outline.bbox
        edges = (
            x / picture.width,
            y / picture.height,
            (x + width) / picture.width,
            (y + height) / picture.height,
        )
        try:
            fits = clip_box(edges, slack=SLACK, findings=self._findings, path=path)
        except ValueError as error:
            raise ValueError(prefix_field(f"{path}.bbox", extract_message(error))) from error
        if fits is None:
            return None
        return Box(id=name, image=image, box=fits, links=outline.links, reason=outline.reason)


def _collect_ids(values: Sequence[Any]) -> set[Id]:
    """Return the ids of parts, also of refused ones."""
    ids = (value.get("id") for value in values if isinstance(value, dict))
    return {identity for identity in ids if isinstance(identity, int | str)}


def _build_find_program(names: Sequence[str]) -> Program | None:
    """Return the program that asks if there is one of each category."""
    if not names:
        return None
    finds = [f"find[{_escape_name(name)}]" for name in names]
    if len(finds) == 1:
        return parse_program_text(finds[0], "boxes")
    text = f"exist({finds[-1]})"
    for find in reversed(finds[:-1]):
        text = f"and(exist({find}), {text})"
    return parse_program_text(text, "boxes")


def _escape_name(name: str) -> str:
    return name.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
