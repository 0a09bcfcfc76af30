"""Turn single results of Label Studio into objects.

Percent become fractions, and offsets code points.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from annotation.content.schemas import Box, Image, Span
from annotation.formats.boxes import Edges, clip_box
from annotation.formats.texts import Tokens, build_span, find_code_point, trim_stretch
from foundation.imports.findings import Findings
from foundation.messages import field_error

SLACK = 0.005  # of an image's size: how far rounding in a browser passes the edge
BOXES, SPANS = ("rectanglelabels", "rectangle"), ("labels",)

ROTATED_BOX = "rotated box, replaced by the upright one around it"
UTF_16_OFFSETS = "offsets in UTF-16 units, counted again in code points"
TRIMMED_SPAN = "white space at the ends of a span, left out"


class _Shape(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    x: float
    y: float
    width: float
    height: float
    rotation: float = 0


class _Stretch(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    start: int
    end: int
    text: str | None = None


def parse_box_result(
    result: dict[str, Any], name: str, images: Sequence[Image], findings: Findings, path: str
) -> Box | None:
    """Return the box of a result, or None if it has no area.

    Raises:
        ValueError: It cannot be read.
    """
    shape = _Shape.model_validate(result.get("value", {}))
    if result.get("image_rotation"):
        raise field_error(
            "image_rotation", "boxes on a rotated image cannot be placed in the image as it is shown"
        )
    number = find_image_index(result.get("to_name"), images)
    edges = (shape.x / 100, shape.y / 100, (shape.x + shape.width) / 100, (shape.y + shape.height) / 100)
    slack = SLACK
    if shape.rotation % 360:
        edges, slack = _find_upright_box(result, images[number]), 1.0
        findings.note_repair(ROTATED_BOX, path)
    fits = clip_box(edges, slack=slack, findings=findings, path=path)
    return None if fits is None else Box(id=name, image=number, box=fits)


def find_image_index(name: Any, images: Sequence[Image]) -> int:
    """Return the number of a result's image: by name, or the only one."""
    match = re.fullmatch(r"image[-_]?(\d+)", str(name))
    if match and int(match[1]) < len(images):
        return int(match[1])
    if len(images) == 1:
        return 0
    raise field_error(
        "to_name",
        "%(name)r is not one of the task's %(number)s images (image0, image1, …)",
        name=name,
        number=len(images),
    )


def rotate_corners(result: dict[str, Any], image: Image) -> list[tuple[float, float]]:
    """Return the corners of a rotated box as fractions of its image.

    Label Studio rotates clockwise by degrees about the top left corner.

    Raises:
        ValueError: It cannot be read, or the size of the image is unknown.
    """
    shape = _Shape.model_validate(result.get("value", {}))
    width = result.get("original_width") or image.width
    height = result.get("original_height") or image.height
    if not width or not height:
        raise field_error("original_width", "is missing, and a rotated box needs the size of its image")
    turn = math.radians(shape.rotation)
    across, down = shape.width * width, shape.height * height  # in hundredths of pixels
    corners = [(0.0, 0.0), (across, 0.0), (across, down), (0.0, down)]
    xs = [shape.x * width + u * math.cos(turn) - v * math.sin(turn) for u, v in corners]
    ys = [shape.y * height + u * math.sin(turn) + v * math.cos(turn) for u, v in corners]
    return [(x / (100 * width), y / (100 * height)) for x, y in zip(xs, ys, strict=True)]


def _find_upright_box(result: dict[str, Any], image: Image) -> Edges:
    """Return the upright box around a rotated one."""
    xs, ys = zip(*rotate_corners(result, image), strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def parse_span_result(
    result: dict[str, Any], name: str, passage: str, tokens: Tokens, findings: Findings, path: str
) -> Span:
    """Return the span of a result.

    Raises:
        ValueError: Its offsets and its text name different stretches.
    """
    stretch = _Stretch.model_validate(result.get("value", {}))
    start, end = stretch.start, stretch.end
    if stretch.text is not None and not _is_same_text(passage[start:end], stretch.text):
        # Versions before 1.5 counted UTF-16 units as JavaScript does.
        start, end = _convert_to_code_points(passage, stretch)
        findings.note_repair(UTF_16_OFFSETS, path)
    if not 0 <= start < end <= len(passage):
        raise field_error(
            "value",
            "%(start)s to %(end)s is outside the passage of %(number)s characters",
            start=start,
            end=end,
            number=len(passage),
        )
    first, last = trim_stretch(start, end, passage)
    if (first, last) != (start, end):
        findings.note_repair(TRIMMED_SPAN, path)
    return build_span(name, first, last, passage, tokens)


def _convert_to_code_points(passage: str, stretch: _Stretch) -> tuple[int, int]:
    try:
        start, end = find_code_point(passage, stretch.start), find_code_point(passage, stretch.end)
    except ValueError:
        start = end = 0
    if not _is_same_text(passage[start:end], stretch.text or ""):
        here = passage[stretch.start : stretch.end]
        raise field_error(
            "value.text", "is %(text)r, but %(here)r is at these offsets", text=stretch.text, here=here
        )
    return start, end


def _is_same_text(text: str, other: str) -> bool:
    r"""Return True if two texts differ only in white space.

    Line breaks may come as ``\\\
    ``.
    """
    return re.sub(r"(\s|\\n)+", " ", text).strip() == re.sub(r"(\s|\\n)+", " ", other).strip()
