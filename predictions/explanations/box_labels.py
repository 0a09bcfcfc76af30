"""Positions of the labels of boxes, so that no two cover each other. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Rectangle(NamedTuple):
    """A rectangle in units of a drawing."""

    x: int
    y: int
    width: int
    height: int

    def overlap(self, other: "Rectangle") -> int:
        """Return the area that both cover."""
        across = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        down = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(0, across) * max(0, down)


def place_labels(
    boxes: Sequence[Rectangle], sizes: Sequence[tuple[int, int]], image: tuple[int, int], *, gap: int
) -> list[Rectangle]:
    """Place a label at each box, inside the image.

    Above the box is preferred, then below, beside and inside it. A label that would cover an earlier one
    there goes to the nearest free position in the image; without any, to the one of these that covers
    earlier labels least.

    Args:
        boxes: The boxes, the most important first.
        sizes: Width and height of each label.
        image: Width and height of the image.
        gap: Distance of a label from its box.
    """
    placed: list[Rectangle] = []
    for box, size in zip(boxes, sizes, strict=True):
        tried = [
            (candidate, _move_inside(candidate, image)) for candidate in _list_candidates(box, size, gap)
        ]
        _, best = min(tried, key=lambda pair: (_sum_overlaps(pair[1], placed), pair[0] != pair[1]))
        placed.append(_move_to_free_position(best, placed, image))
    return placed


def _list_candidates(box: Rectangle, size: tuple[int, int], gap: int) -> Iterator[Rectangle]:
    width, height = size
    right, bottom = box.x + box.width, box.y + box.height
    for y in (box.y - gap - height, bottom + gap):
        for x in (box.x, right - width):
            yield Rectangle(x, y, width, height)
    for y in (box.y, bottom - height):
        for x in (box.x - gap - width, right + gap):
            yield Rectangle(x, y, width, height)
    for y in (box.y + gap, bottom - gap - height):
        for x in (box.x + gap, right - gap - width):
            yield Rectangle(x, y, width, height)


def _sum_overlaps(label: Rectangle, placed: Sequence[Rectangle]) -> int:
    return sum(label.overlap(other) for other in placed)


def _move_to_free_position(
    label: Rectangle, placed: Sequence[Rectangle], image: tuple[int, int]
) -> Rectangle:
    """Return a label where it covers none, as near as possible.

    A label that is free can be moved up and left until it touches others or the edge, so that these
    positions suffice to find one if there is any.
    """
    if not _sum_overlaps(label, placed):
        return label
    free = []
    for y in {0, *(other.y + other.height for other in placed)}:
        beside = [other for other in placed if other.y < y + label.height and y < other.y + other.height]
        for x in {0, *(other.x + other.width for other in beside)}:
            moved = label._replace(x=x, y=y)
            if moved == _move_inside(moved, image) and not _sum_overlaps(moved, beside):
                free.append(moved)
    return min(free, key=lambda moved: abs(moved.x - label.x) + abs(moved.y - label.y), default=label)


def _move_inside(label: Rectangle, image: tuple[int, int]) -> Rectangle:
    x = max(0, min(label.x, image[0] - label.width))
    y = max(0, min(label.y, image[1] - label.height))
    return label._replace(x=x, y=y)
