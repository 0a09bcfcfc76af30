"""Overlap of outlines against counted points; polygons and key points."""

import numpy as np
import pytest

from analysis.gold_agreement import box_clusters, ellipse_outline
from analysis.gold_agreement.outlines import REACH, Outline, compute_likeness


def inside(outline: Outline, points: np.ndarray) -> np.ndarray:
    """Mark points within an outline by the rule of odd crossings."""
    corners = np.array(outline)
    odd = np.zeros(len(points), dtype=bool)
    for (left, top), (right, bottom) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        between = (top > points[:, 1]) != (bottom > points[:, 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            edge = left + (points[:, 1] - top) / (bottom - top) * (right - left)
        odd ^= between & (points[:, 0] < edge)
    return odd


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_share_of_points_in_both(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Corners in any order: most of these outlines cross themselves.
    first, second = (
        [(float(x), float(y)) for x, y in rng.random((number, 2))] for number in rng.integers(3, 9, 2)
    )
    points = rng.random((200_000, 2))
    in_first, in_second = inside(first, points), inside(second, points)
    assert compute_likeness(first, second) == pytest.approx(
        (in_first & in_second).sum() / (in_first | in_second).sum(), abs=0.01
    )
    assert compute_likeness(second, first) == pytest.approx(compute_likeness(first, second))
    assert compute_likeness(first, first) == pytest.approx(1)


def test_an_ellipse_covers_pi_quarters_of_its_box() -> None:
    box = [(0.2, 0.1), (0.8, 0.1), (0.8, 0.5), (0.2, 0.5)]
    assert compute_likeness(ellipse_outline((0.2, 0.1, 0.8, 0.5)), box) == pytest.approx(np.pi / 4, rel=0.005)


def test_points_are_alike_by_their_distance() -> None:
    assert compute_likeness([(0.5, 0.5)], [(0.5, 0.5 + REACH / 4)]) == pytest.approx(0.75)
    assert compute_likeness([(0.1, 0.1)], [(0.9, 0.1)]) == 0
    assert compute_likeness([(0.1, 0.1)], [(0, 0), (1, 0), (0, 1)]) == 0
    assert compute_likeness([(0.1, 0.1)] * 3, [(0.1, 0.1)] * 3) == 0  # without an area


def test_polygons_with_like_boxes_are_apart_and_points_meet_at_their_median() -> None:
    sides = (0.0, 0.0, 1.0, 1.0)
    upper, lower = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), ((1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    clusters = box_clusters({"ada": [(0, sides, upper)], "ben": [(0, sides, lower)]})
    assert [len(cluster.members) for cluster in clusters] == [1, 1]
    [cluster] = box_clusters(
        {name: [(0, (x, 0.5, x, 0.5), ((x, 0.5),))] for name, x in (("ada", 0.3), ("ben", 0.32))}
    )
    assert cluster.members == {"ada": 0, "ben": 0}
    assert cluster.median[2][0] == pytest.approx((0.31, 0.5))  # type: ignore[misc]
