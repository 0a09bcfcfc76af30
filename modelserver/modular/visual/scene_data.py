"""Scenes as examples: a question, its label, gold boxes, and regions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, overload

import numpy as np
from pydantic import BaseModel, Field, StrictBool, ValidationError

from analysis.faithfulness.examples import GoldExample, GoldModule
from analysis.io.errors import describe_os_error
from analysis.programs import ProgramError
from analysis.programs.program import Node
from modelserver.inputs.data_files import read_records
from modelserver.modular.visual.network import Question
from modelserver.modular.visual.plans import IMAGES, Plan, plan_program
from modelserver.modular.visual.region_files import find_name
from modelserver.modular.visual.regions import Numbers, Regions
from modelserver.modular.visual.utterances import attend
from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import format_first_problem

MAKE_SCENES = "make it with `.venv/bin/python -m modelserver scenes --proposals`"


@dataclass(frozen=True)
class Example:
    """A statement about images.

    Attributes:
        gold: Boxes [k, 4] by image for each node that a person would mark.
    """

    id: str
    sentence: str
    question: Question
    label: bool
    gold: dict[int, tuple[Numbers, ...]]
    regions: Sequence[Regions]
    pictures: tuple[Path, ...] = ()

    @property
    def modules(self) -> list[str]:
        """The modules of its program, each as often as it is there."""
        return [node.module for node in self.question.plan.program.nodes]

    @cached_property
    def gold_example(self) -> GoldExample:
        """Its gold as `analysis.faithfulness` scores it."""
        nodes = self.question.plan.program.nodes
        modules = (
            GoldModule(
                node,
                nodes[node].module,
                tuple(image.astype(float) for image in boxes),
                nodes[node].argument or "",
            )
            for node, boxes in sorted(self.gold.items())
        )
        return GoldExample(self.id, tuple(modules))


def read_scenes(folder: Path, split: str, *, most: int | None = None) -> list[Example]:
    """Read a split that ``scenes --proposals`` wrote.

    The features stay on disk until they are needed. Raises UnreadableData, naming file and line.
    """
    try:
        about = json.loads((folder / f"{split}.proposals.json").read_text(encoding="utf-8"))
        boxes = np.load(folder / f"{split}.boxes.npy", mmap_mode="r")
        features = np.load(folder / f"{split}.features.npy", mmap_mode="r")
        rows = {name: row for row, name in enumerate(about["items"])}
    except OSError as error:
        raise UnreadableData(
            f"{error.filename or folder}: {describe_os_error(error)}; {MAKE_SCENES}"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableData(f"{folder}: {error}; {MAKE_SCENES}") from error

    def parse(record: dict[str, Any]) -> Example:
        row = rows[record["external_id"]]
        seen = [Regions(boxes[row, image], features[row, image]) for image in range(IMAGES)]
        return _build_example(_Item.model_validate(record), seen, folder)

    return _read_examples(folder / f"{split}.jsonl", parse, most=most)


def read_further(folder: Path, split: str, path: Path) -> list[Example]:
    """Read what `write_further` wrote about the pairs of a split.

    Raises UnreadableData, naming file and line.
    """
    scenes = {example.id: example for example in read_scenes(folder, split)}

    def parse(record: dict[str, Any]) -> Example:
        item = _Item.model_validate({**record, "images": []})
        return _build_example(item, scenes[record["extra"]["world"]["scene"]].regions, folder)

    return _read_examples(path, parse)


def read_items(path: Path, regions: Mapping[str, Regions]) -> list[Example]:
    """Read plain annotation items, one a line, with region features.

    Each has a program and an ``answer``, true or false; ``gold`` may be missing. Raises UnreadableData,
    naming file and line.
    """

    def parse(record: dict[str, Any]) -> Example:
        item = _Item.model_validate(record)
        return _build_example(item, StoredRegions(regions, item.images), path.parent)

    examples = _read_examples(path, parse)
    if not examples:
        raise UnreadableData(f"{path}: holds no item")
    return examples


def _read_examples(
    path: Path, parse: Callable[[dict[str, Any]], Example], *, most: int | None = None
) -> list[Example]:
    """Read a file of items; errors name file, line, id and field."""
    lines: dict[str, int] = {}

    def parse_unique(record: dict[str, Any]) -> Example:
        where, line = f"item {record.get('external_id')!r}", len(lines) + 1
        try:
            example = parse(record)
        except ValidationError as error:
            raise ValueError(f"{where}: {format_first_problem(error)}") from error
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
        if (earlier := lines.setdefault(example.id, line)) != line:
            raise ValueError(f"{where}: external_id: line {earlier} has it already")
        return example

    return read_records(path, parse_unique, most=most)


class _Image(BaseModel):
    name: str


Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Mark(BaseModel):
    """A box in an image, or a reference to that of another layer."""

    id: str
    ref: str | None = None
    image: int | None = None
    box: tuple[Fraction, Fraction, Fraction, Fraction] | None = None


class _Layer(BaseModel):
    objects: list[_Mark] = []


class _Gold(BaseModel):
    layers: dict[int, _Layer] = {}


class _Item(BaseModel):
    """An annotation item, as far as it is needed here."""

    external_id: str
    text: str
    program: str
    answer: StrictBool
    images: list[_Image]
    gold: _Gold | None = None


class StoredRegions(Sequence[Regions]):
    """The regions of an item's images, read again at each access.

    A training set's features are often larger than the memory. Raises ValueError for an image without any.
    """

    def __init__(self, regions: Mapping[str, Regions], images: Sequence[_Image]) -> None:
        self.regions = regions
        self.names = [self._name(image.name) for image in images]

    def _name(self, image: str) -> str:
        name = find_name(self.regions, image)
        if name is None:
            raise ValueError(f"images: there are no region features of {image!r}")
        return name

    @overload
    def __getitem__(self, index: int) -> Regions: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Regions]: ...
    def __getitem__(self, index: int | slice) -> Regions | Sequence[Regions]:
        """Read the regions of an image, or of several."""
        if isinstance(index, slice):
            return [self.regions[name] for name in self.names[index]]
        return self.regions[self.names[index]]

    def __len__(self) -> int:
        return len(self.names)


def _build_example(item: _Item, regions: Sequence[Regions], folder: Path) -> Example:
    """Return an item as an example; raises ValueError with the field."""
    if not 1 <= len(regions) <= IMAGES:
        raise ValueError(f"images: {len(regions)} are listed; a statement is about one or two")
    plan = _plan_statement(item.program)
    return Example(
        id=item.external_id,
        sentence=item.text,
        question=Question(plan, attend(plan, item.text)),
        label=item.answer,
        gold=_collect_gold_boxes(item.gold or _Gold(), plan.program.nodes, len(regions)),
        regions=regions,
        pictures=tuple(folder / image.name for image in item.images),
    )


def _plan_statement(program: str) -> Plan:
    try:
        plan = plan_program(program)
    except ProgramError as error:
        raise ValueError(f"program, column {error.column}: {error.message}") from error
    if plan.program.type != "truth":
        module = plan.program.root.module
        raise ValueError(f"program: {module} gives {plan.program.type}; a statement is true or false")
    return plan


def _collect_gold_boxes(gold: _Gold, nodes: Sequence[Node], images: int) -> dict[int, tuple[Numbers, ...]]:
    """Return boxes by node and image of the nodes that give boxes.

    Args:
        gold: A gold document, whose references are followed.
        nodes: The nodes of the item's program.
        images: Number of images of the item.
    """
    drawn = {mark.id: mark for layer in gold.layers.values() for mark in layer.objects}
    boxes = {}
    for node, layer in gold.layers.items():
        where = f"gold.layers.{node}"
        if not 0 <= node < len(nodes):
            raise ValueError(f"{where}: the program has no node {node}; its last is {len(nodes) - 1}")
        if nodes[node].type != "boxes":
            if layer.objects:
                raise ValueError(f"{where}: {nodes[node].module} gives {nodes[node].type}, not boxes")
            continue
        pairs = [_find_box(mark, drawn, images, where) for mark in layer.objects]
        boxes[node] = tuple(
            np.array([box for number, box in pairs if number == image], np.float32).reshape(-1, 4)
            for image in range(images)
        )
    return boxes


def _find_box(
    mark: _Mark, drawn: Mapping[str, _Mark], images: int, where: str
) -> tuple[int, tuple[float, ...]]:
    """Return image and box of a mark, or of the mark that it refers to."""
    where = f"{where}.objects {mark.id!r}"
    passed = set()
    while mark.ref is not None:
        if mark.ref in passed:
            raise ValueError(f"{where}: ref leads back to {mark.ref!r}, so there is no box")
        if mark.ref not in drawn:
            raise ValueError(f"{where}: ref is {mark.ref!r}, which is not an id of any layer")
        passed.add(mark.ref)
        mark = drawn[mark.ref]
    if mark.image is None or mark.box is None:
        raise ValueError(f"{where}: has neither a ref nor an image and a box")
    if not 0 <= mark.image < images:
        raise ValueError(f"{where}: image is {mark.image}; the item has {images}, counted from 0")
    left, top, right, bottom = mark.box
    if right < left or bottom < top:
        raise ValueError(f"{where}: box {list(mark.box)} ends before it starts")
    return mark.image, mark.box
