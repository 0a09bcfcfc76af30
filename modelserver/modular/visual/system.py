"""`visual-nmn` and `lxmert` as the server sees them."""

from __future__ import annotations

import base64
import io
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from PIL import Image, ImageDraw

from analysis.programs import ProgramError
from modelserver.inputs.decoding import require_finite_logits
from modelserver.modular.visual import folder
from modelserver.modular.visual.baseline import Baseline
from modelserver.modular.visual.folder import Network
from modelserver.modular.visual.images import decode, propose
from modelserver.modular.visual.network import Forward, Question
from modelserver.modular.visual.plans import IMAGES, WORDED, Plan, plan_program
from modelserver.modular.visual.region_files import find_regions, read_regions
from modelserver.modular.visual.regions import Regions, collate
from modelserver.modular.visual.scoring import compute_node_boxes
from modelserver.modular.visual.utterances import attend
from modelserver.systems.base import Identified, Identity, Labels
from modelserver.wire.errors import InvalidRequest, UnreadableData
from modelserver.wire.schema import Box, Execution, ModuleImage, ModuleItem, ModuleValue, NodeOutput

REGIONS = "MODELSERVER_REGIONS"  # a file or folder of region features, found by the names of images
WARM_UP_IMAGE = "warm-up of the model server.png"
CACHED_PICTURES = 64  # pictures whose regions stay in memory, because an item is checked and then executed


@dataclass(frozen=True)
class _Read:
    """An item as a network takes it."""

    question: Question
    regions: list[Regions]


class VisualSystem(Identified):
    """A network over images.

    ``regions`` are those of images by name; they win over a picture that comes with the name, unless they
    are of another width than the network's, as those for another system are. The
    baseline ignores an item's program and predicts its answer alone.
    """

    def __init__(
        self, network: Network, *, regions: Mapping[str, Regions] | None = None, **identity: Unpack[Identity]
    ) -> None:
        super().__init__(**identity)
        self.model, self.regions = network.eval(), regions or {}
        self.size = int(network.encoder.config.visual_feat_dim)
        # Of the network's own width, which need not be that of the features of pictures.
        self._warm_up = Regions(np.array([[0, 0, 1, 1]], np.float32), np.zeros((1, self.size), np.float32))
        self.longest = int(network.encoder.config.max_position_embeddings)
        self.warm_up = _build_warm_up_item()
        # Tokenizers that pad are not safe to share between threads.
        self._lock = threading.Lock()

    def cost(self, item: ModuleItem) -> int:
        """Return the regions that are read, as often as they are with other words."""
        readings = 1 if item.program is None else 1 + item.program.count("[")
        return 36 * max(1, len(item.images)) * readings

    def check(self, item: ModuleItem) -> None:
        """Raise InvalidRequest for a missing program or unusable images."""
        self._read(item)

    def execute(self, items: Sequence[ModuleItem]) -> list[Execution]:
        """Execute the items.

        Raises InvalidRequest when `check` would for any of them, and PredictionFailed for scores that are
        not finite.
        """
        if not items:
            return []
        reads = [self._read(item) for item in items]
        device = next(self.model.parameters()).device
        with torch.inference_mode(), self._lock:
            sights = collate([read.regions for read in reads], device)
            if isinstance(self.model, Baseline):
                truths = self.model([item.text for item in items], sights)
                require_finite_logits(truths.float().cpu().numpy())
                return [
                    Execution(
                        id=item.id,
                        program=item.program or "",
                        answer=truth > 0.5,
                        proposals=[_round_boxes(regions) for regions in read.regions],
                        modules=[],
                    )
                    for item, read, truth in zip(items, reads, truths.tolist(), strict=True)
                ]
            forward = self.model([read.question for read in reads], sights)
        return [
            _build_execution(item, read, forward, index)
            for index, (item, read) in enumerate(zip(items, reads, strict=True))
        ]

    def _read(self, item: ModuleItem) -> _Read:
        if item.passage:
            raise InvalidRequest("this system looks at images and reads no passage", field="passage")
        if not 1 <= len(item.images) <= IMAGES:
            raise InvalidRequest(f"{len(item.images)} images; one or two are looked at", field="images")
        laid_out = self._plan(item)
        question = Question(laid_out, attend(laid_out, item.text))
        with self._lock:
            tokens = len(self.model.tokenizer(question.utterance.text)["input_ids"])
        if tokens > self.longest:
            raise InvalidRequest(f"{tokens} tokens; at most {self.longest} are read", field="text")
        return _Read(question, [self._regions(image, index) for index, image in enumerate(item.images)])

    def _plan(self, item: ModuleItem) -> Plan:
        if isinstance(self.model, Baseline):
            return plan_program("exist(find)")  # which is not executed
        if item.program is None:
            raise InvalidRequest("the item has none, and this system parses none itself", field="program")
        try:
            laid_out = plan_program(item.program)
        except ProgramError as error:
            raise InvalidRequest(error.message, field="program") from error
        if len(laid_out.nodes(WORDED)) > MOST_WORDED:
            message = f"more than {MOST_WORDED} modules that read words"
            raise InvalidRequest(message, field="program")
        return laid_out

    def _regions(self, image: ModuleImage, index: int) -> Regions:
        try:
            stored = self._warm_up if image.name == WARM_UP_IMAGE else find_regions(self.regions, image.name)
        except UnreadableData as error:  # one damaged image, of one item
            raise InvalidRequest(
                f"its region features cannot be read: {error}", field=f"images.{index}.name"
            ) from error
        if stored is not None and stored.features.shape[1] == self.size:
            return stored
        if image.data is not None:
            regions = _propose_regions(image.data, f"images.{index}.data")
            if regions.features.shape[1] == self.size:
                return regions
        message = _explain_missing_regions(image, self.size, stored)
        raise InvalidRequest(message, field=f"images.{index}.name")


MOST_WORDED = 64  # modules of one program that read words; those of people stay below 13


def _explain_missing_regions(image: ModuleImage, size: int, stored: Regions | None) -> str:
    """Return why an image has no regions that a system can read."""
    named = f"name the file of features in {REGIONS}"
    if stored is not None:
        return (
            f"the region features of {image.name!r} have {stored.features.shape[1]} numbers for each region, "
            f"this system reads {size}; {named} that this system was trained on"
        )
    missing = f"no region features of {image.name!r} are here"
    if image.data is None:
        return f"{missing}; {named}, or send the image itself if this system reads pictures"
    return (
        f"{missing}, and this system reads {size} numbers for each region of a detector, not pictures; "
        f"{named}"
    )


@lru_cache(maxsize=CACHED_PICTURES)
def _propose_regions(data: bytes, field: str) -> Regions:
    return propose(decode(data, field))


def _build_execution(item: ModuleItem, read: _Read, forward: Forward, index: int) -> Execution:
    laid_out = read.question.plan
    modules = [
        NodeOutput(
            index=node.index,
            module=node.module,
            probabilities=_list_probabilities(read, forward, index, node.index)
            if node.type == "boxes"
            else [],
            **({} if node.type == "boxes" else _read_values(laid_out, forward, index, node.index)),
        )
        for node in laid_out.program.nodes
    ]
    answer = modules[0].value
    if answer is None:  # a program that gives boxes: how many
        answer = sum(p > 0.5 for p in modules[0].probabilities)
    proposals = [_round_boxes(regions) for regions in read.regions]
    return Execution(
        id=item.id, program=str(laid_out.program), answer=answer, proposals=proposals, modules=modules
    )


def _list_probabilities(read: _Read, forward: Forward, index: int, node: int) -> list[float]:
    p = compute_node_boxes(read.question.plan, forward, index, node)
    return [
        probability
        for image, regions in enumerate(read.regions)
        for probability in p[image, : len(regions.boxes)].tolist()
    ]


def _read_values(laid_out: Plan, forward: Forward, index: int, node: int) -> dict[str, Any]:
    """Return a node's truth or expected number, or those of its runs."""
    is_truth = laid_out.program.nodes[node].type == "truth"
    rows = [forward.outputs.row[index, job] for job in laid_out.runs[node]]
    values: list[ModuleValue] = [
        bool(forward.outputs.truth[row] > 0.5)
        if is_truth
        else round(float(forward.outputs.number.mean[row]), 4)
        for row in rows
    ]
    is_single = len(values) == 1 or laid_out.program.nodes[node].module.isdecimal()
    return {"value": values[0]} if is_single else {"values": values}


def _round_boxes(regions: Regions) -> list[Box]:
    rounded = ([round(edge, 5) for edge in box] for box in regions.boxes.tolist())
    return [(left, top, right, bottom) for left, top, right, bottom in rounded]


def _build_warm_up_item() -> ModuleItem:
    picture = Image.new("RGB", (64, 48), "white")
    ImageDraw.Draw(picture).rectangle((10, 10, 30, 30), fill=(200, 30, 30))
    written = io.BytesIO()
    picture.save(written, "PNG")
    image = ModuleImage(name=WARM_UP_IMAGE, data=base64.b64encode(written.getvalue()))
    text, program = "There is a red square.", "exist(filter[red](find[square]))"
    return ModuleItem(id="warm-up", text=text, program=program, images=[image, image])


def load(weights: Path, device: torch.device, **labels: Unpack[Labels]) -> VisualSystem:
    """Load a weights folder and the region features of MODELSERVER_REGIONS.

    Raises UnreadableWeights and UnreadableData.
    """
    network, _, revision = folder.load(weights, device, labels["name"])
    named = os.environ.get(REGIONS)
    regions = read_regions(Path(named)) if named else None
    return VisualSystem(network, regions=regions, revision=revision, **labels)
