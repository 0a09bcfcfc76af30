"""Scenes as examples: a question, its label, gold boxes, and regions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np

from analysis.faithfulness.examples import GoldExample, GoldModule
from modelserver.inputs.data_files import read_records
from modelserver.modular.visual.network import Question
from modelserver.modular.visual.plans import IMAGES, plan_program
from modelserver.modular.visual.region_files import find_name
from modelserver.modular.visual.regions import Numbers, Regions
from modelserver.modular.visual.utterances import attend
from modelserver.wire.errors import UnreadableData


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
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableData(f"{folder}: {error}; make it with `scenes --proposals`") from error

    def parse(record: dict[str, Any]) -> Example:
        row = rows[record["external_id"]]
        seen = [Regions(boxes[row, image], features[row, image]) for image in range(IMAGES)]
        return _build_example(record, seen, folder)

    return read_records(folder / f"{split}.jsonl", parse, most=most)


def read_further(folder: Path, split: str, path: Path) -> list[Example]:
    """Read what `write_further` wrote about the pairs of a split.

    Raises UnreadableData, naming file and line.
    """
    scenes = {example.id: example for example in read_scenes(folder, split)}

    def parse(record: dict[str, Any]) -> Example:
        return _build_example(
            {**record, "images": []}, scenes[record["extra"]["world"]["scene"]].regions, folder
        )

    return read_records(path, parse)


def read_items(path: Path, regions: Mapping[str, Regions]) -> list[Example]:
    """Read plain annotation items, one a line, with region features.

    Each has a program and an ``answer``, true or false; ``gold`` may be missing. Raises UnreadableData,
    naming file and line.
    """

    def parse(record: dict[str, Any]) -> Example:
        if not isinstance(record["answer"], bool):
            raise ValueError(f"answer is {record['answer']!r}, not true or false")
        return _build_example(record, StoredRegions(regions, record["images"]), path.parent)

    examples = read_records(path, parse)
    if not examples:
        raise UnreadableData(f"{path}: holds no item")
    return examples


class StoredRegions(Sequence[Regions]):
    """The regions of an item's images, read again at each access.

    A training set's features are often larger than the memory. Raises ValueError for an image without any.
    """

    def __init__(self, regions: Mapping[str, Regions], images: Sequence[dict[str, Any]]) -> None:
        self.regions = regions
        self.names = [self._name(image["name"]) for image in images]

    def _name(self, image: str) -> str:
        name = find_name(self.regions, image)
        if name is None:
            raise ValueError(f"there are no region features of {image!r}")
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


def _build_example(record: dict[str, Any], regions: Sequence[Regions], folder: Path) -> Example:
    laid_out = plan_program(record["program"])
    return Example(
        id=record["external_id"],
        sentence=record["text"],
        question=Question(laid_out, attend(laid_out, record["text"])),
        label=bool(record["answer"]),
        gold=collect_gold_boxes(record.get("gold") or {"layers": {}}, len(regions)),
        regions=regions,
        pictures=tuple(folder / image["name"] for image in record["images"]),
    )


def collect_gold_boxes(document: dict[str, Any], images: int = IMAGES) -> dict[int, tuple[Numbers, ...]]:
    """Return a gold document's boxes by node and image, references resolved."""
    drawn: dict[str, dict[str, Any]] = {}
    for layer in document["layers"].values():
        drawn |= {mark["id"]: mark for mark in layer.get("objects", ())}
    boxes = {}
    for node, layer in document["layers"].items():
        objects = [
            _follow_references(mark, drawn) for mark in layer.get("objects", ())
        ]  # a step without has none
        boxes[int(node)] = tuple(
            np.array([mark["box"] for mark in objects if mark["image"] == image], np.float32).reshape(-1, 4)
            for image in range(images)
        )
    return boxes


def _follow_references(mark: dict[str, Any], drawn: dict[str, dict[str, Any]]) -> dict[str, Any]:
    while "ref" in mark:
        mark = drawn[mark["ref"]]
    return mark
