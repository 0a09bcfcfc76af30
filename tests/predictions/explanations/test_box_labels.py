"""Labels lie inside the image, and apart if there is room."""

import random
from itertools import combinations

import pytest

from predictions.explanations.box_labels import Rectangle, place_labels

IMAGE = (1000, 750)


def test_it_works():
    (label,) = place_labels([Rectangle(100, 200, 300, 300)], [(40, 30)], IMAGE, gap=10)
    assert label == Rectangle(100, 160, 40, 30), "above the box, at its left edge"


@pytest.mark.parametrize(
    "box", [Rectangle(0, 0, 1000, 750), Rectangle(990, 740, 10, 10), Rectangle(0, 5, 20, 20)]
)
def test_a_label_stays_in_the_image(box):
    (label,) = place_labels([box], [(160, 40)], IMAGE, gap=10)
    assert label.x >= 0
    assert label.y >= 0
    assert label.x + label.width <= 1000
    assert label.y + label.height <= 750


def test_equal_boxes_have_labels_apart():
    boxes = [Rectangle(300, 300, 200, 200)] * 6
    labels = place_labels(boxes, [(80, 40)] * 6, IMAGE, gap=10)
    assert not any(label.overlap(other) for label in labels for other in labels if label is not other)


def test_labels_of_crowded_boxes_do_not_collide():
    rng = random.Random(1)
    boxes = [Rectangle(rng.randrange(900), rng.randrange(650), 80, 80) for _ in range(25)]
    labels = place_labels(boxes, [(72, 44)] * 25, IMAGE, gap=12)
    assert not any(label.overlap(other) for label in labels for other in labels if label is not other)


def test_labels_of_boxes_that_fill_the_image_do_not_collide():
    rng = random.Random(1)
    for count in range(2, 37):
        boxes = [
            Rectangle(rng.randrange(80), rng.randrange(60), rng.randrange(850, 920), rng.randrange(640, 690))
            for _ in range(count)
        ]
        labels = place_labels(boxes, [(72, 44)] * count, IMAGE, gap=12)
        assert not any(one.overlap(other) for one, other in combinations(labels, 2))
        assert all(Rectangle(0, 0, *IMAGE).overlap(label) == 72 * 44 for label in labels)


def test_without_a_free_place_the_label_that_covers_least_is_taken():
    labels = place_labels([Rectangle(0, 0, 20, 20)] * 3, [(90, 90)] * 3, (100, 100), gap=5)
    assert len(labels) == 3
