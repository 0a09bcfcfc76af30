"""Region proposals with features for scenes, like those of a detector.

Every image has `PROPOSALS` boxes in no particular order: each thing's own, a shifted and stretched copy
of it, and boxes elsewhere. Their features are computed from the pixels alone: mean colours on a grid of
8 × 8, then edge strengths in 8 directions on a grid of 4 × 4 (Dalal and Triggs 2005, without their
overlapping blocks). They contain nothing about what was drawn.
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

from modelserver.world.items import write_whole
from modelserver.world.scenes.gold import compute_fractions
from modelserver.world.scenes.scene import Scene
from modelserver.world.scenes.things import HEIGHT, WIDTH

PROPOSALS = 36  # per image, as in Subramanian et al. 2020
SHIFT = 0.15  # of a box's side, by how much each edge of a copy moves at most
MOST_BACKGROUND_OVERLAP = (
    0.3  # boxes that overlap no thing by more (intersection over union) may be background
)
SIDE, COLOUR_GRID, EDGE_GRID, DIRECTIONS = 32, 8, 4, 8
FEATURES = COLOUR_GRID**2 * 3 + EDGE_GRID**2 * DIRECTIONS

Box = tuple[float, float, float, float]
Numbers = NDArray[np.float32]


def propose(scene: Scene, image: int) -> list[Box]:
    """Return an image's boxes as fractions: left, top, right, bottom."""
    rng = random.Random(f"proposals/{scene.name}/{image}")
    own = [_to_box(compute_fractions(thing)) for thing in scene.pair if thing.image == image]
    boxes = [*own, *(_shift_box(box, rng) for box in own)][:PROPOSALS]
    while len(boxes) < PROPOSALS:
        box = _draw_box(rng)
        if all(compute_overlap(box, other) <= MOST_BACKGROUND_OVERLAP for other in own):
            boxes.append(box)
    rng.shuffle(boxes)
    return boxes


def compute_features(image: Image.Image, boxes: Iterable[Box]) -> Numbers:
    """Return the features of boxes, [boxes, `FEATURES`].

    These are 8 × 8 × 3 mean colours from 0 to 1, then 4 × 4 × 8 edge strengths of length 1.
    """
    crops = [image.resize((SIDE, SIDE), Image.Resampling.BILINEAR, _to_pixels(box, image)) for box in boxes]
    pixels = np.stack([np.asarray(crop, dtype=np.float32) for crop in crops]) / 255  # [n, side, side, 3]
    n, step = len(pixels), SIDE // COLOUR_GRID
    colours = pixels.reshape(n, COLOUR_GRID, step, COLOUR_GRID, step, 3).mean(axis=(2, 4))
    return np.concatenate([colours.reshape(n, -1), _compute_edges(pixels.mean(axis=3))], axis=1)


def _compute_edges(light: Numbers) -> Numbers:
    """Return edge strengths per cell and direction, of length 1.

    The shape is [n, cells × directions].
    """
    down, across = np.gradient(light, axis=(1, 2))
    strength = np.hypot(down, across)
    direction = (np.arctan2(down, across) % math.pi / math.pi * DIRECTIONS).astype(int) % DIRECTIONS
    n, step = len(light), SIDE // EDGE_GRID
    cells = np.stack([strength * (direction == d) for d in range(DIRECTIONS)], axis=-1)
    cells = cells.reshape(n, EDGE_GRID, step, EDGE_GRID, step, DIRECTIONS).sum(axis=(2, 4)).reshape(n, -1)
    length = np.linalg.norm(cells, axis=1, keepdims=True)
    return (cells / np.where(length > 0, length, 1)).astype(np.float32)


def write_proposals(folder: Path, split: str, n: int, scenes: Iterable[Scene]) -> Iterator[Scene]:
    """Pass scenes on while writing their proposals; nothing stays in memory.

    ``SPLIT.boxes.npy`` is [n, 2, `PROPOSALS`, 4] in float32, ``SPLIT.features.npy``
    [n, 2, `PROPOSALS`, `FEATURES`] in float16, and ``SPLIT.proposals.json`` names the items in this order.
    """
    paths = {name: folder / f"{split}.{name}" for name in ("boxes.npy", "features.npy", "proposals.json")}
    names: list[str] = []
    with write_whole(paths["boxes.npy"]) as boxes_path, write_whole(paths["features.npy"]) as features_path:
        shape = (n, 2, PROPOSALS)
        all_boxes = _create_array(boxes_path, (*shape, 4), np.float32)
        all_features = _create_array(features_path, (*shape, FEATURES), np.float16)
        for index, scene in enumerate(scenes):
            for image, picture in enumerate(scene.images):
                boxes = propose(scene, image)
                all_boxes[index, image] = boxes
                all_features[index, image] = compute_features(picture, boxes)
            names.append(scene.name)
            yield scene
        all_boxes.flush()
        all_features.flush()
    with write_whole(paths["proposals.json"]) as partial:
        about = {"items": names, "images": 2, "proposals": PROPOSALS, "features": FEATURES}
        partial.write_text(json.dumps(about) + "\n", encoding="utf-8")


def _create_array(path: Path, shape: tuple[int, ...], kind: type) -> np.memmap:
    path.parent.mkdir(parents=True, exist_ok=True)
    return np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=shape)


def _to_box(edges: list[float]) -> Box:
    left, top, right, bottom = edges
    return left, top, right, bottom


def _shift_box(box: Box, rng: random.Random) -> Box:
    wide, high = (box[2] - box[0]) * SHIFT, (box[3] - box[1]) * SHIFT
    moved = (edge + rng.uniform(-1, 1) * by for edge, by in zip(box, (wide, high) * 2, strict=True))
    return _to_box([round(min(max(edge, 0), 1), 5) for edge in moved])


def _draw_box(rng: random.Random) -> Box:
    wide, high = (math.exp(rng.uniform(math.log(24), math.log(130))) / side for side in (WIDTH, HEIGHT))
    left, top = rng.uniform(0, 1 - wide), rng.uniform(0, 1 - high)
    return _to_box([round(edge, 5) for edge in (left, top, left + wide, top + high)])


def _to_pixels(box: Box, image: Image.Image) -> Box:
    left, top, right, bottom = box
    return left * image.width, top * image.height, right * image.width, bottom * image.height


def compute_overlap(first: Box, second: Box) -> float:
    """Return the intersection over union of two boxes."""
    wide = min(first[2], second[2]) - max(first[0], second[0])
    high = min(first[3], second[3]) - max(first[1], second[1])
    if wide <= 0 or high <= 0:
        return 0.0
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return wide * high / (areas - wide * high)
