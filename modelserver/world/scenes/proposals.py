"""Region proposals with features, as a detector would give them, for models that look at generated scenes.

Every image has `PROPOSALS` boxes in no particular order: each thing's own, a shifted and stretched copy of
it, and boxes that lie elsewhere. Their features are computed from the pixels alone: mean colours on a grid
of 8 × 8, then how strong the edges of 8 directions are on a grid of 4 × 4 (Dalal and Triggs 2005, without
their overlapping blocks). Nothing about what was drawn goes into them.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from modelserver.world.items import whole
from modelserver.world.scenes.gold import fractions
from modelserver.world.scenes.scene import Scene
from modelserver.world.scenes.things import HEIGHT, WIDTH

PROPOSALS = 36  # per image, as in Subramanian et al. 2020
SHIFT = 0.15  # of a box's side, by how much each edge of a copy moves at most
ELSEWHERE = 0.3  # boxes that overlap no thing by more (intersection over union) may be background
SIDE, COLOUR_GRID, EDGE_GRID, DIRECTIONS = 32, 8, 4, 8
FEATURES = COLOUR_GRID**2 * 3 + EDGE_GRID**2 * DIRECTIONS

Box = tuple[float, float, float, float]
Numbers = NDArray[np.float32]


def propose(scene: Scene, image: int) -> list[Box]:
    """Return the boxes of an image as fractions of it: left, top, right, bottom."""
    rng = random.Random(f"proposals/{scene.name}/{image}")
    own = [_box(fractions(thing)) for thing in scene.pair if thing.image == image]
    boxes = [*own, *(_shifted(box, rng) for box in own)][:PROPOSALS]
    while len(boxes) < PROPOSALS:
        box = _anywhere(rng)
        if all(_overlap(box, thing) <= ELSEWHERE for thing in own):
            boxes.append(box)
    rng.shuffle(boxes)
    return boxes


def features(image: Image.Image, boxes: Iterable[Box]) -> Numbers:
    """Return [boxes, `FEATURES`]: 8 × 8 × 3 mean colours from 0 to 1, then 4 × 4 × 8 edges of length 1."""
    crops = [image.resize((SIDE, SIDE), Image.Resampling.BILINEAR, _pixels(box, image)) for box in boxes]
    pixels = np.stack([np.asarray(crop, dtype=np.float32) for crop in crops]) / 255  # [n, side, side, 3]
    n, step = len(pixels), SIDE // COLOUR_GRID
    colours = pixels.reshape(n, COLOUR_GRID, step, COLOUR_GRID, step, 3).mean(axis=(2, 4))
    return np.concatenate([colours.reshape(n, -1), _edges(pixels.mean(axis=3))], axis=1)


def _edges(light: Numbers) -> Numbers:
    """Return how strong edges of each direction are in each cell, [n, cells × directions], of length 1."""
    down, across = np.gradient(light, axis=(1, 2))
    strength = np.hypot(down, across)
    direction = (np.arctan2(down, across) % math.pi / math.pi * DIRECTIONS).astype(int) % DIRECTIONS
    n, step = len(light), SIDE // EDGE_GRID
    cells = np.stack([strength * (direction == d) for d in range(DIRECTIONS)], axis=-1)
    cells = cells.reshape(n, EDGE_GRID, step, EDGE_GRID, step, DIRECTIONS).sum(axis=(2, 4)).reshape(n, -1)
    length = np.linalg.norm(cells, axis=1, keepdims=True)
    return (cells / np.where(length > 0, length, 1)).astype(np.float32)


def written(folder: Path, split: str, n: int, scenes: Iterable[Scene]) -> Iterator[Scene]:
    """Pass scenes on while writing their proposals beside them; nothing is kept in memory.

    ``SPLIT.boxes.npy`` is [n, 2, `PROPOSALS`, 4] in float32, ``SPLIT.features.npy``
    [n, 2, `PROPOSALS`, `FEATURES`] in float16, and ``SPLIT.proposals.json`` names the items in this order.
    """
    paths = {name: folder / f"{split}.{name}" for name in ("boxes.npy", "features.npy", "proposals.json")}
    names: list[str] = []
    with whole(paths["boxes.npy"]) as boxes_path, whole(paths["features.npy"]) as features_path:
        shape = (n, 2, PROPOSALS)
        all_boxes = _array(boxes_path, (*shape, 4), np.float32)
        all_features = _array(features_path, (*shape, FEATURES), np.float16)
        for index, scene in enumerate(scenes):
            for image, picture in enumerate(scene.images):
                boxes = propose(scene, image)
                all_boxes[index, image] = boxes
                all_features[index, image] = features(picture, boxes)
            names.append(scene.name)
            yield scene
        all_boxes.flush()
        all_features.flush()
    with whole(paths["proposals.json"]) as partial:
        about = {"items": names, "images": 2, "proposals": PROPOSALS, "features": FEATURES}
        partial.write_text(json.dumps(about) + "\n", encoding="utf-8")


def _array(path: Path, shape: tuple[int, ...], kind: type) -> np.memmap:
    path.parent.mkdir(parents=True, exist_ok=True)
    return np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=shape)


def _box(edges: list[float]) -> Box:
    left, top, right, bottom = edges
    return left, top, right, bottom


def _shifted(box: Box, rng: random.Random) -> Box:
    wide, high = (box[2] - box[0]) * SHIFT, (box[3] - box[1]) * SHIFT
    moved = (edge + rng.uniform(-1, 1) * by for edge, by in zip(box, (wide, high) * 2, strict=True))
    return _box([round(min(max(edge, 0), 1), 5) for edge in moved])


def _anywhere(rng: random.Random) -> Box:
    wide, high = (math.exp(rng.uniform(math.log(24), math.log(130))) / side for side in (WIDTH, HEIGHT))
    left, top = rng.uniform(0, 1 - wide), rng.uniform(0, 1 - high)
    return _box([round(edge, 5) for edge in (left, top, left + wide, top + high)])


def _pixels(box: Box, image: Image.Image) -> Box:
    left, top, right, bottom = box
    return left * image.width, top * image.height, right * image.width, bottom * image.height


def _overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    if wide <= 0 or high <= 0:
        return 0.0
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return wide * high / (areas - wide * high)
