"""Positions of marks in pixels, and in shares of an image."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from annotation.content.schemas import Box, Image, KeyPoint, Polygon
from annotation.formats.boxes import DIGITS, clip_box
from annotation.formats.source import Source
from foundation.imports.findings import Findings
from foundation.messages import field_error, value_error

PIXEL_DIGITS = 6  # of a position in pixels, in written files
SLACK = 0.01  # of an image's size: how far other tools let boxes pass the edge
OTHER_SHAPES = "mark of another shape, left out"
MARK_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def list_box_corners(box: tuple[float, float, float, float]) -> list[tuple[float, float]]:
    """Return the corners of a box, clockwise from the upper left one."""
    left, top, right, bottom = box
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def find_image(source: Source, name: str, width: int | None = None, height: int | None = None) -> Image:
    """Return an image with its size: of the file, or as given.

    Raises:
        ValueError: The file has another size than given.
    """
    if source.images is None:
        return Image(name=name, width=width, height=height)
    image = source.images.find(name)
    if width and height and (image.width, image.height) != (width, height):
        text = "%(name)r is shown with %(width)s by %(height)s pixels, not %(width2)s by %(height2)s"
        sizes = {"width": image.width, "height": image.height, "width2": width, "height2": height}
        raise field_error("width", text, name=name, **sizes)
    return image


def require_image_size(image: Image) -> tuple[int, int]:
    """Return the width and height of an image in pixels.

    Raises:
        ValueError: They are unknown.
    """
    if not image.width or not image.height:
        text = "the size of %(name)r is unknown, and boxes in pixels need it; add the images in one zip file"
        raise field_error("image", text, name=image.name)
    return image.width, image.height


def build_box_from_pixels(
    edges: Sequence[float], label: str, image: Image, findings: Findings, path: str, *, name: str = ""
) -> Box | None:
    """Return the box of left, top, right, bottom in pixels; None without area."""
    width, height = require_image_size(image)
    left, top, right, bottom = edges
    return build_box(
        (left / width, top / height, right / width, bottom / height), label, findings, path, name=name
    )


def build_box(
    edges: tuple[float, float, float, float],
    label: str,
    findings: Findings,
    path: str,
    *,
    image: int = 0,
    name: str = "",
) -> Box | None:
    """Return the box of left, top, right, bottom; None without area."""
    fits = clip_box(edges, slack=SLACK, findings=findings, path=path)
    name = name if MARK_ID.fullmatch(name) else "m"
    return None if fits is None else Box(id=name, image=image, box=fits, label=label)


def build_polygon(
    corners: Iterable[Sequence[float]],
    label: str,
    findings: Findings,
    path: str,
    *,
    image: int = 0,
    name: str = "",
) -> Polygon | None:
    """Return the polygon of corners; None without area.

    Raises:
        ValueError: It passes an edge of the image by more than `SLACK`.
    """
    given = [(float(x), float(y)) for x, y in corners]
    if len(given) > 3 and given[0] == given[-1]:
        given = given[:-1]  # files of some tools name the first corner again
    if len(given) < 3:
        findings.note_repair(OTHER_SHAPES, path)
        return None
    across, down = zip(*given, strict=True)
    edges = (min(across), min(down), max(across), max(down))
    if clip_box(edges, slack=SLACK, findings=findings, path=path) is None:
        return None
    name = name if MARK_ID.fullmatch(name) else "m"
    inside = tuple((_clip_edge(x), _clip_edge(y)) for x, y in given)
    return Polygon(id=name, image=image, box=edges, polygon=inside, label=label)


def build_point(x: float, y: float, label: str, *, image: int = 0) -> KeyPoint:
    """Return a key point.

    Raises:
        ValueError: It passes an edge of the image by more than `SLACK`.
    """
    if not all(-SLACK <= edge <= 1 + SLACK for edge in (x, y)):
        text = "the point (%(x)s, %(y)s) leaves its image"
        raise value_error(text, x=f"{x:.4g}", y=f"{y:.4g}")
    point = (_clip_edge(x), _clip_edge(y))
    return KeyPoint(id="m", image=image, box=(*point, *point), point=point, label=label)


def _clip_edge(edge: float) -> float:
    return round(min(max(edge, 0.0), 1.0), DIGITS)
