"""Scenes as examples: a question, its label, gold boxes, and regions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from analysis.faithfulness.examples import GoldExample, GoldModule
from modelserver.inputs.data_files import read_records
from modelserver.modular.visual.network import Question
from modelserver.modular.visual.plans import IMAGES, plan
from modelserver.modular.visual.region_files import of_image
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
    regions: tuple[Regions, ...]
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
            GoldModule(node, nodes[node].module, tuple(image.astype(float) for image in boxes))
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
        places = {name: place for place, name in enumerate(about["items"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableData(f"{folder}: {error}; make it with `scenes --proposals`") from error

    def parse(record: dict[str, Any]) -> Example:
        place = places[record["external_id"]]
        seen = [Regions(boxes[place, image], features[place, image]) for image in range(IMAGES)]
        return _example(record, seen, folder)

    return read_records(folder / f"{split}.jsonl", parse, most=most)


def read_items(path: Path, regions: Mapping[str, Regions]) -> list[Example]:
    """Read plain annotation items, one a line, with region features.

    Each has a program and an ``answer``, true or false; ``gold`` may be missing. Raises UnreadableData,
    naming file and line.
    """

    def parse(record: dict[str, Any]) -> Example:
        if not isinstance(record["answer"], bool):
            raise ValueError(f"answer is {record['answer']!r}, not true or false")
        seen = [_regions_of(regions, image["name"]) for image in record["images"]]
        return _example(record, seen, path.parent)

    examples = read_records(path, parse)
    if not examples:
        raise UnreadableData(f"{path}: holds no item")
    return examples


def _regions_of(regions: Mapping[str, Regions], name: str) -> Regions:
    image_regions = of_image(regions, name)
    if image_regions is None:
        raise ValueError(f"there are no region features of {name!r}")
    return image_regions


def _example(record: dict[str, Any], regions: Sequence[Regions], folder: Path) -> Example:
    laid_out = plan(record["program"])
    return Example(
        id=record["external_id"],
        sentence=record["text"],
        question=Question(laid_out, attend(laid_out, record["text"])),
        label=bool(record["answer"]),
        gold=gold_boxes(record.get("gold") or {"layers": {}}, len(regions)),
        regions=tuple(regions),
        pictures=tuple(folder / image["name"] for image in record["images"]),
    )


def gold_boxes(document: dict[str, Any], images: int = IMAGES) -> dict[int, tuple[Numbers, ...]]:
    """Return a gold document's boxes by node and image, references resolved."""
    drawn: dict[str, dict[str, Any]] = {}
    for layer in document["layers"].values():
        drawn |= {each["id"]: each for each in layer["objects"]}
    boxes = {}
    for node, layer in document["layers"].items():
        objects = [_followed(each, drawn) for each in layer["objects"]]
        boxes[int(node)] = tuple(
            np.array([each["box"] for each in objects if each["image"] == image], np.float32).reshape(-1, 4)
            for image in range(images)
        )
    return boxes


def _followed(each: dict[str, Any], drawn: dict[str, dict[str, Any]]) -> dict[str, Any]:
    while "ref" in each:
        each = drawn[each["ref"]]
    return each
