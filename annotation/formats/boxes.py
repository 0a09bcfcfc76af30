"""Boxes of other formats as fractions of the image, mended where the format rounds."""

from __future__ import annotations

from annotation.formats.report import Report

Edges = tuple[float, float, float, float]  # left, top, right, bottom

PAST_THE_EDGE = "box past the edge of its image, cut there"
NO_AREA = "box without an area, left out"
DIGITS = 12  # of a fraction: far below a pixel, and enough that rounding errors of a division disappear


def fitted(edges: Edges, *, slack: float, report: Report, place: str) -> Edges | None:
    """The box with what lies past the image's edges cut off, or None where it has no area.

    ``slack`` is how far (as a fraction) it may lie past an edge before it is an error: then ValueError.
    """
    if not all(-slack <= edge <= 1 + slack for edge in edges):  # also refuses NaN
        raise ValueError(f"the box {_shown(edges)} leaves its image by more than {slack:.1%} of its size")
    left, top, right, bottom = (round(min(max(edge, 0.0), 1.0), DIGITS) for edge in edges)
    if right <= left or bottom <= top:
        report.add(NO_AREA, place)
        return None
    if min(edges) < -1e-9 or max(edges) > 1 + 1e-9:
        report.add(PAST_THE_EDGE, place)
    return left, top, right, bottom


def _shown(edges: Edges) -> str:
    return "(" + ", ".join(f"{edge:.4g}" for edge in edges) + ")"
