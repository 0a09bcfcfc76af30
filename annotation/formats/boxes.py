"""Turn boxes of other formats into fractions, and repair rounding."""

from __future__ import annotations

from foundation.imports.findings import Findings
from foundation.messages import value_error

Edges = tuple[float, float, float, float]  # left, top, right, bottom

PAST_THE_EDGE = "box past the edge of its image, cut there"
NO_AREA = "box without an area, left out"
DIGITS = 12  # of a fraction: far below a pixel, and enough that rounding errors of a division disappear


def clip_box(edges: Edges, *, slack: float, findings: Findings, path: str) -> Edges | None:
    """Cut a box at the edges of its image; None if it has no area.

    Args:
        edges: Left, top, right, bottom as fractions of the image.
        slack: Fraction by which a box may pass an edge.
        findings: Collects repairs.
        path: Names the box in the findings.

    Raises:
        ValueError: The box passes an edge by more than the slack.
    """
    if not all(-slack <= edge <= 1 + slack for edge in edges):  # also refuses NaN
        raise value_error(
            "the box %(shown)s leaves its image by more than %(slack)s of its size",
            shown=_format_edges(edges),
            slack=f"{slack:.1%}",
        )
    left, top, right, bottom = (round(min(max(edge, 0.0), 1.0), DIGITS) for edge in edges)
    if right <= left or bottom <= top:
        findings.note_repair(NO_AREA, path)
        return None
    if min(edges) < -1e-9 or max(edges) > 1 + 1e-9:
        findings.note_repair(PAST_THE_EDGE, path)
    return left, top, right, bottom


def _format_edges(edges: Edges) -> str:
    return "(" + ", ".join(f"{edge:.4g}" for edge in edges) + ")"
