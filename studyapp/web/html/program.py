"""The steps of a program for the template of participants.

A step shows boxes over images, or highlighted words of a passage.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from predictions.explanations.box_labels import Rectangle, place_labels
from predictions.explanations.module_words import describe_module
from predictions.explanations.program_steps import ItemImage, Step, StepBox

IMAGES = 2  # of a program that runs for each of them
WIDTH = 1000  # units of an image's drawing
# Of the largest numbers, beside a questionnaire and on phones: height, width of a digit, distance from a box.
LETTERS, DIGIT, GAP = 44, 36, 12

Numbers = Mapping[tuple[int, float, float, float, float], int]


class NumberedBox(NamedTuple):
    """A box with its number; ``at`` and ``base`` are where the number stands.

    ``words`` are the number and, for a system, its confidence.
    """

    box: Rectangle
    number: int
    at: int
    base: int
    words: str


class Picture(NamedTuple):
    """An image with its boxes; ``words`` describe it for screen readers."""

    url: str
    height: int
    words: str
    boxes: list[NumberedBox]


class StepShown(NamedTuple):
    """A step of a program.

    ``size`` is the number of its boxes or words, None for a step that only has a
    value. ``sure`` is the confidence of the system in each box. ``values`` are those
    for each image, with a label.
    """

    number: int
    words: str
    inputs: str
    value: Any
    values: list[tuple[str, Any]]
    size: int | None
    sure: str
    pictures: list[Picture]
    tokens: list[tuple[int, int, int]]


def build_pictures(images: Sequence[ItemImage], urls: Sequence[str]) -> list[Picture]:
    """Return the images without boxes."""
    return [_build_picture(position, images, urls, []) for position in range(len(images))]


def describe_steps(
    steps: Sequence[Step], images: Sequence[ItemImage], urls: Sequence[str]
) -> list[StepShown]:
    """Return the steps in order of execution, in the active language.

    A box has the same number in all steps.
    """
    boxes = dict.fromkeys(box[:5] for step in steps for box in step.boxes or [])
    numbers = {box: number for number, box in enumerate(boxes, start=1)}
    tried = _find_steps_below(steps, "in-one-other-image")
    return [
        _describe_step(number, step, numbers, number in tried, images, urls)
        for number, step in enumerate(steps, start=1)
    ]


def _find_steps_below(steps: Sequence[Step], module: str) -> set[int]:
    """Return the numbers of the steps that steps of a module build on."""
    below: set[int] = set()
    for number, step in reversed(list(enumerate(steps, start=1))):
        if step.module == module or number in below:
            below.update(step.inputs)
    return below


def _describe_step(
    number: int,
    step: Step,
    numbers: Numbers,
    is_tried: bool,
    images: Sequence[ItemImage],
    urls: Sequence[str],
) -> StepShown:
    numbered = sorted((numbers[box[:5]], box) for box in step.boxes or [])
    drawn = [
        _build_picture(position, images, urls, [(n, box) for n, box in numbered if box[0] == position])
        for position in range(len(images))
    ]
    objects = step.boxes if step.boxes is not None else step.tokens
    return StepShown(
        number=number,
        words=describe_module(step.module, step.argument),
        inputs=", ".join(str(child) for child in step.inputs),
        value=_round_value(step.value),
        values=list(
            zip(_label_runs(len(step.values), is_tried), map(_round_value, step.values), strict=True)
        ),
        size=None if objects is None else len(objects),
        sure="; ".join(_label_box(n, box[5]) for n, box in numbered if box[5] is not None),
        pictures=drawn if step.boxes else [],
        tokens=step.tokens or [],
    )


def _build_picture(
    position: int, images: Sequence[ItemImage], urls: Sequence[str], boxes: Sequence[tuple[int, StepBox]]
) -> Picture:
    image = images[position]
    height = round(WIDTH * image.height / image.width)
    drawn = _number_boxes(boxes, height)
    words = _name_image(position, len(images))
    if drawn:
        count = ngettext("%(n)d box", "%(n)d boxes", len(drawn)) % {"n": len(drawn)}
        words = f"{words}: {count}: {'; '.join(box.words for box in drawn)}"
    return Picture(urls[position], height, words, drawn)


def _name_image(position: int, images: int) -> str:
    if images == 2:
        return _("Right image") if position else _("Left image")
    return _("Image %(n)d") % {"n": position + 1}


def _label_runs(count: int, is_tried: bool) -> list[str]:
    """Return the labels of a step's values; empty if images do not tell them."""
    if count != IMAGES:
        return [""] * count
    if is_tried:
        return [_("with the left image as the one:"), _("with the right image as the one:")]
    return [_("for the left image:"), _("for the right image:")]


def _number_boxes(boxes: Sequence[tuple[int, StepBox]], height: int) -> list[NumberedBox]:
    rectangles = [
        Rectangle(
            round(WIDTH * left),
            round(height * top),
            round(WIDTH * (right - left)),
            round(height * (bottom - top)),
        )
        for _number, (_image, left, top, right, bottom, _sure) in boxes
    ]
    sizes = [(DIGIT * len(str(number)), LETTERS) for number, _box in boxes]
    labels = place_labels(rectangles, sizes, (WIDTH, height), gap=GAP)
    return [
        NumberedBox(rectangle, number, label.x, label.y + label.height, _label_box(number, box[5]))
        for rectangle, (number, box), label in zip(rectangles, boxes, labels, strict=True)
    ]


def _label_box(number: int, sure: float | None) -> str:
    return f"{number}" if sure is None else f"{number}: {sure:.0%}"


def _round_value(value: bool | int | float | str | None) -> bool | int | float | str | None:
    """Round an expected value to one decimal, less a trailing zero."""
    if not isinstance(value, float):
        return value
    near = round(value, 1)
    return int(near) if near.is_integer() else near
