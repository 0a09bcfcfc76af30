"""Looks of conditions: one colour everywhere, told apart by everybody."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from analysis.participants.condition_styles import COLOURS, GREY, MARKERS, number_conditions

ROOT = Path(__file__).resolve().parents[3]
# Linear RGB as seen without one kind of cones. Machado, Oliveira and Fernandes 2009, table 1, severity 1.
VISION = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ.sum(axis=1)
CLEAR = 10  # a difference of Lab that is seen at a glance; 2.3 is just noticeable
FIRST = 4  # conditions that nearly every study stays below


def linear(colour: str) -> np.ndarray:
    """Return linear RGB from 0 to 1 of a colour such as #0072B2."""
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str) -> np.ndarray:
    """Return CIE Lab of a colour as somebody sees it."""
    rgb = np.clip(VISION[vision] @ linear(colour), 0, 1)
    ratio = TO_XYZ @ rgb / WHITE
    root = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def test_conditions_are_numbered_in_order_and_ground_truth_has_no_number():
    rows = [("a", False), ("gold", True), ("b", False), ("a", False), *((f"c{n}", False) for n in range(6))]
    numbers = number_conditions(rows)
    assert (numbers["a"], numbers["gold"], numbers["b"]) == (0, None, 1)
    assert numbers["c5"] == 0  # the eighth system has the first colour again
    assert len(set(MARKERS)) == len(COLOURS)


def test_pages_have_the_colours_of_the_report():
    sheet = (ROOT / "static/css/results.css").read_text(encoding="utf-8")
    listed = re.findall(r"^\.condition-(\d) \{ --condition: (#\w{6}); \}", sheet, flags=re.M)
    assert [(int(number), colour.upper()) for number, colour in listed] == list(
        enumerate((colour.upper() for colour in COLOURS), start=1)
    )


@pytest.mark.parametrize("vision", VISION)
def test_everybody_tells_the_colours_of_conditions_apart(vision):
    for first, second in combinations([*COLOURS[:FIRST], GREY], 2):
        difference = float(np.linalg.norm(lab(first, vision) - lab(second, vision)))
        assert difference > CLEAR, (first, second, difference)


@pytest.mark.parametrize("surface", ["#ffffff", "#1a1f26"])
def test_colours_stand_out_from_pages_in_light_and_dark(surface):
    weights = TO_XYZ[1]
    ground = float(weights @ linear(surface))
    for colour in COLOURS[:FIRST]:  # after them the mark and the label have to help
        levels = sorted((float(weights @ linear(colour)), ground))
        assert (levels[1] + 0.05) / (levels[0] + 0.05) >= 3, colour
