"""Read NLVR: sentences about three boxes of shapes (Suhr et al. 2017).

The sentences have no program, so an item's is ``find[object]``, and its gold the boxes around all shapes,
whose positions are exact. Each example was drawn six times with its boxes in another order; the first
drawing is an item unless others are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from annotation.content.schemas import Box, Document, Image, ItemRecord, Layer
from annotation.formats.boxes import clip_box
from annotation.formats.checks import check_record
from annotation.formats.images import ImageFolder
from annotation.formats.nlvr.nlvr2 import Label
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.imports.import_fields import Id, LongText
from foundation.imports.json_stream import read_values
from foundation.messages import field_error, value_error

PROGRAM = "find[object]"
WIDTH, HEIGHT, STEP = 400, 100, 150  # pixels of a drawing; from the left edge of one box to that of the next
ORDERS = tuple(permutations(range(3)))  # drawing k shows in each slot the box ORDERS[k][slot]

NOT_DRAWN = "drawing whose picture is not in the folder, left out"

Pixels = Annotated[int, Field(ge=0, le=100)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    x_loc: Pixels
    y_loc: Pixels
    size: Annotated[int, Field(gt=0, le=100)]
    type: str
    color: str


class _Example(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    identifier: Id
    sentence: LongText
    label: Label = None
    directory: str = ""
    structured_rep: tuple[tuple[_Shape, ...], tuple[_Shape, ...], tuple[_Shape, ...]]


def read_nlvr(source: Source, *, drawings: Sequence[int] = (0,), split: str = "dev") -> Iterator[ItemRecord]:
    """Yield an item with gold for each example and drawing (0 to 5).

    Drawings that are missing are reported, but each example needs at least one. Images are called
    ``split-identifier-drawing.png``.

    Raises:
        BadFile: Names line and field.
    """
    path, findings = source.path, source.findings
    for element in read_values(path, on_progress=source.on_progress, on_error=findings.on_error):
        name = ""
        try:
            example = _Example.model_validate(element.value)
            findings.note_entry(example.identifier, path, line=element.line, field="identifier")
            name = example.identifier
            records = list(_build_records(example, source.images, drawings, split, findings))
            if not records:
                raise value_error("none of its drawings is in the folder")
            for record in records:
                findings.note_entry(record.external_id, path, line=element.line, field="identifier")
        except (ValueError, BadFile) as error:  # BadFile of an image
            findings.refuse(error, path, element=element, entry=name)
        else:
            yield from records


def _build_records(
    example: _Example, images: ImageFolder | None, drawings: Sequence[int], split: str, findings: Findings
) -> Iterator[ItemRecord]:
    for drawing in drawings:
        name = f"{example.directory}/{split}-{example.identifier}-{drawing}.png"
        image = Image(name=name, width=WIDTH, height=HEIGHT)
        if images is not None:
            try:
                image = images.find(name)
            except ValueError:
                findings.note_repair(NOT_DRAWN, name)
                continue
            if (image.width, image.height) != (WIDTH, HEIGHT):
                raise field_error(
                    name,
                    "has %(width)s × %(height)s pixels, not %(width2)s × %(height2)s",
                    width=image.width,
                    height=image.height,
                    width2=WIDTH,
                    height2=HEIGHT,
                )
        yield _build_record(example, drawing, image, findings)


def _build_record(example: _Example, drawing: int, image: Image, findings: Findings) -> ItemRecord:
    boxes, looks = [], {}
    for slot, index in enumerate(ORDERS[drawing]):
        for number, shape in enumerate(example.structured_rep[index]):
            box = _build_box(f"s{slot}-{number}", slot, shape, findings)
            boxes.append(box)
            looks[box.id] = {"shape": shape.type, "color": shape.color, "size": shape.size}
    layer = Layer(state="done" if boxes else "nothing", objects=tuple(boxes))
    extra: dict[str, Any] = {"identifier": example.identifier, "drawing": drawing, "objects": looks}
    return check_record(
        ItemRecord(
            external_id=f"{example.identifier}-{drawing}",
            kind="boxes",
            program=PROGRAM,
            text=example.sentence,
            images=(image,),
            answer=example.label,
            gold=Document(layers={0: layer}),
            extra={"nlvr": extra},
        )
    )


def _build_box(name: str, slot: int, shape: _Shape, findings: Findings) -> Box:
    """Return the square around a shape.

    Raises:
        ValueError: It leaves the drawing.
    """
    left, top = STEP * slot + shape.x_loc, shape.y_loc
    edges = (left / WIDTH, top / HEIGHT, (left + shape.size) / WIDTH, (top + shape.size) / HEIGHT)
    fits = clip_box(edges, slack=0, findings=findings, path=name)
    assert fits is not None  # every shape has a size
    return Box(id=name, image=0, box=fits)
