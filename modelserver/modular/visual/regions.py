"""Regions of images with their features, and a batch of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from modelserver.modular.visual.plans import IMAGES

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class Regions:
    """One image: boxes [m, 4] as fractions, and features [m, size].

    Boxes are left, top, right, bottom.
    """

    boxes: Numbers
    features: Numbers


@dataclass(frozen=True)
class Sights:
    """A batch of images.

    Boxes [n, images, m, 4], features [n, images, m, size], present [n, images, m] as 0 and 1. Missing
    regions and images are 0.
    """

    boxes: Tensor
    features: Tensor
    present: Tensor


def collate(items: Sequence[Sequence[Regions]], device: torch.device) -> Sights:
    """Put the regions of the one or two images of every item into one batch."""
    items = [list(item) for item in items]  # once: those of a file are read at each access
    most = max(1, *(len(image.boxes) for item in items for image in item))
    size = items[0][0].features.shape[1]
    shape = (len(items), IMAGES, most)
    boxes, features = np.zeros((*shape, 4), np.float32), np.zeros((*shape, size), np.float32)
    present = np.zeros(shape, np.float32)
    for row, item in enumerate(items):
        for index, image in enumerate(item):
            n = len(image.boxes)
            boxes[row, index, :n], features[row, index, :n], present[row, index, :n] = (
                image.boxes, image.features, 1,
            )  # fmt: skip
    return Sights(*(torch.from_numpy(array).to(device) for array in (boxes, features, present)))
