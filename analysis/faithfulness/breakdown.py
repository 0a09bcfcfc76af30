"""Error analysis: scores of modules by words and by the size of boxes.

References:
    1. Subramanian et al. (2020), section 5.3.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..stats.arrays import Array
from .boxes import BoxScores
from .examples import GoldExample
from .matching import prf

SIZES = (0.01, 0.05, 0.2)  # borders between small, medium, large and huge boxes, as shares of the image


@dataclass(frozen=True)
class Part:
    """Mean scores of the nodes that have something in common.

    Attributes:
        module: Their module type.
        argument: Their words; empty if they differ.
        n: Nodes.
        boxes: Gold boxes.
        area: Mean area of these, as a share of the image; None without any.
        precision: Mean over nodes, as are the others.
        recall: See precision.
        f1: See precision.
        upper_f1: The most that the system's proposals allow.
    """

    module: str
    argument: str
    n: int
    boxes: int
    area: float | None
    precision: float
    recall: float
    f1: float
    upper_f1: float


@dataclass(frozen=True)
class SizePart:
    """Mean scores of nodes whose gold boxes have a mean area in a range.

    Attributes:
        module: Module type.
        least: Smallest mean area, as a share of the image.
        below: The area that it is below; None for the largest.
        n: Nodes.
        recall: Mean over nodes, as are the others.
        f1: See recall.
        upper_f1: The most that the system's proposals allow.
    """

    module: str
    least: float
    below: float | None
    n: int
    recall: float
    f1: float
    upper_f1: float


def score_by_argument(gold: Sequence[GoldExample], scores: BoxScores) -> list[Part]:
    """Score each module and its words, case ignored, the most frequent first.

    Examples:
        >>> from analysis.faithfulness import GoldModule, OutputExample, OutputModule, score_boxes
        >>> dog = np.array([[0.0, 0.0, 0.5, 0.5]])
        >>> gold = [GoldExample("a", (GoldModule(0, "find", (dog,), "Dog"),))]
        >>> outputs = [OutputExample("a", (dog,), (OutputModule(0, "find", np.array([0.2])),))]
        >>> parts = score_by_argument(gold, score_boxes(gold, outputs))
        >>> [(part.argument, part.area, part.f1) for part in parts]
        [('dog', 0.25, 0.0)]
    """
    words = {(example.id, node.index): node.argument.lower() for example in gold for node in example.modules}
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, (example_id, index, module) in enumerate(_list_nodes(scores)):
        groups[module, words.get((example_id, index), "")].append(row)
    parts = [_build_part(scores, module, argument, rows) for (module, argument), rows in groups.items()]
    return sorted(parts, key=lambda part: (-part.n, part.module, part.argument))


def score_by_module(scores: BoxScores) -> list[Part]:
    """Score each module over all its words, with the mean area of its boxes."""
    groups: dict[str, list[int]] = defaultdict(list)
    for row, (_, _, module) in enumerate(_list_nodes(scores)):
        groups[module].append(row)
    return [_build_part(scores, module, "", rows) for module, rows in groups.items()]


def score_by_size(scores: BoxScores) -> list[SizePart]:
    """Score each module by the mean area of a node's gold boxes.

    Nodes without gold boxes are left out.
    """
    areas = _average_areas(scores)
    bins = np.searchsorted(np.asarray(SIZES), areas, side="right")
    lows, highs = [0.0, *SIZES], [*SIZES, None]
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row, (_, _, module) in enumerate(_list_nodes(scores)):
        if np.isfinite(areas[row]):
            groups[module, int(bins[row])].append(row)
    own, upper = prf(scores.system.by_node), prf(scores.upper.by_node)
    return [
        SizePart(
            module,
            lows[size],
            highs[size],
            len(rows),
            *_average_rows(own[rows])[1:],
            _average_rows(upper[rows])[2],
        )
        for (module, size), rows in sorted(groups.items())
    ]


def _list_nodes(scores: BoxScores) -> list[tuple[str, int, str]]:
    """List the scored nodes as example, place in the program and module."""
    cells = scores.cells
    return [
        (cells.examples[example], int(index), cells.modules[module])
        for example, index, module in zip(
            cells.node_example, cells.node_index, cells.node_module, strict=True
        )
    ]


def _average_areas(scores: BoxScores) -> Array:
    """Return the mean area of each node's gold boxes, NaN without any."""
    cells = scores.cells
    node = cells.node[cells.box_cell]
    total = np.bincount(node, _compute_areas(cells.boxes), minlength=len(cells.node_index))
    count = np.bincount(node, minlength=len(cells.node_index))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _compute_areas(boxes: Array) -> Array:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def _build_part(scores: BoxScores, module: str, argument: str, rows: list[int]) -> Part:
    cells = scores.cells
    boxes = cells.boxes[np.isin(cells.node[cells.box_cell], rows)]
    area = float(_compute_areas(boxes).mean()) if len(boxes) else None
    own, upper = (_average_rows(prf(counted.by_node[rows])) for counted in (scores.system, scores.upper))
    return Part(module, argument, len(rows), len(boxes), area, *own, upper[2])


def _average_rows(rows: Array) -> tuple[float, float, float]:
    precision, recall, f1 = rows.mean(axis=0)
    return float(precision), float(recall), float(f1)
