"""Decode images, and propose regions for those without a detector's.

The proposer is simple on purpose. Dark or coloured pixels are foreground, pale or grey ones are ground;
each connected patch of foreground is proposed, and each patch of one hue within it. That fits drawings
(generated scenes, NLVR); for photographs, use region features from a detector.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from modelserver.modular.visual.regions import Numbers, Regions
from modelserver.wire.errors import InvalidRequest
from modelserver.world.scenes.proposals import PROPOSALS, compute_features, compute_overlap

MOST_PIXELS = 25_000_000
LONGEST_SIDE = 640  # pixels; larger pictures are made smaller before they are looked at
COLOURED, DARK = 0.25, 0.42  # above this saturation, or below this lightness, a pixel is foreground
HUES = 12  # classes of hue; two of them overlap by half, so that no hue falls on a border of both
LEAST_PIXELS = 6  # pixels of a side of a proposal
MOST_OVERLAP = 0.85  # of two proposals that overlap by more, one is dropped
FORMATS = ("PNG", "JPEG")

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]


def decode(data: bytes, field: str) -> Image.Image:
    """Return the RGB picture in a PNG or JPEG file; transparent becomes white.

    Raises InvalidRequest, naming the field, for invalid bytes or too many pixels.
    """
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                size = f"{opened.width} × {opened.height}"
                raise InvalidRequest(
                    f"an image of {size} pixels; at most {MOST_PIXELS} are read", field=field
                )
            layers = opened.convert("RGBA")
    except UnidentifiedImageError:
        raise InvalidRequest("no PNG or JPEG image", field=field) from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InvalidRequest(f"a damaged image: {error}", field=field) from error
    picture = Image.new("RGB", layers.size, "white")
    picture.paste(layers, mask=layers.getchannel("A"))
    return picture


def propose(picture: Image.Image) -> Regions:
    """Return the picture's regions, largest first.

    There are at most as many as in generated scenes.
    """
    small = picture.copy()
    small.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    boxes = _drop_duplicates(_find_patches(np.asarray(small)))[:PROPOSALS]
    wide, high = small.size
    sides = np.array([wide, high, wide, high], np.float32)
    scaled: Numbers = (np.array(boxes, np.float32).reshape(-1, 4) / sides).astype(np.float32)
    if not boxes:
        return Regions(scaled, compute_features(small, [(0.0, 0.0, 1.0, 1.0)])[:0])
    return Regions(scaled, compute_features(small, [tuple(box) for box in scaled.tolist()]))


def _find_patches(pixels: Pixels) -> Iterator[tuple[int, int, int, int]]:
    """Yield the boxes of all patches in pixels.

    First those of the foreground, then those of each class of hue in it.
    """
    values: Numbers = (pixels / np.float32(255)).astype(np.float32)
    most, least = values.max(axis=2), values.min(axis=2)
    span: Numbers = most - least
    coloured = span > COLOURED * np.maximum(most, 1e-6)
    foreground = (coloured & (span > 0.1)) | (most < DARK)
    yield from _find_boxes(foreground)
    hue = _compute_hue(values, most, span)
    strong = foreground & (span > 0.15)
    for shift in (0.0, 0.5):
        classes = np.floor(hue * HUES + shift).astype(int) % HUES
        for number in range(HUES):
            yield from _find_boxes(strong & (classes == number))
    yield from _find_boxes(foreground & (span <= 0.15))


def _compute_hue(values: Numbers, most: Numbers, span: Numbers) -> Numbers:
    """Return the hue of each pixel from 0 to 1."""
    red, green, blue = np.moveaxis(values, 2, 0)
    safe = np.where(span > 0, span, 1)
    turn = np.select(
        [most == red, most == green],
        [(green - blue) / safe % 6, (blue - red) / safe + 2],
        (red - green) / safe + 4,
    )
    return (turn / 6).astype(np.float32)


def _find_boxes(mask: Mask) -> Iterator[tuple[int, int, int, int]]:
    labels, _ = scipy.ndimage.label(mask, structure=np.ones((3, 3)))
    for rows, columns in scipy.ndimage.find_objects(labels):
        if rows.stop - rows.start >= LEAST_PIXELS and columns.stop - columns.start >= LEAST_PIXELS:
            yield columns.start, rows.start, columns.stop, rows.stop


def _drop_duplicates(boxes: Iterator[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Return the boxes, largest first, without near duplicates."""
    kept: list[tuple[int, int, int, int]] = []
    for box in sorted(set(boxes), key=lambda b: (-(b[2] - b[0]) * (b[3] - b[1]), b)):
        if all(compute_overlap(box, other) <= MOST_OVERLAP for other in kept):
            kept.append(box)
    return kept
