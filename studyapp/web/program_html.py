"""The steps of a program for the template of participants.

A step shows boxes over images, or highlighted words of a passage.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from predictions.program_steps import ItemImage, Step, StepBox
from studyapp.web.program_labels import step_words

WIDTH = 1000  # units of an image's drawing
LETTERS, GAP = 50, 12  # height of a number, and its distance from its box


class Rectangle(NamedTuple):
    """A box with its number, in units of the drawing.

    ``at`` and ``base`` are the position of the number, above or beside the box.
    ``words`` are the number and, for a system, its confidence.
    """

    x: int
    y: int
    width: int
    height: int
    number: int
    at: int
    base: int
    words: str


class Picture(NamedTuple):
    """An image with its boxes; ``words`` describe it for screen readers."""

    url: str
    height: int
    words: str
    boxes: list[Rectangle]


class StepShown(NamedTuple):
    """A step of a program.

    ``size`` is the number of its boxes or words, None for a step that only has a
    value. ``sure`` is the confidence of the system in each box.
    """

    number: int
    words: str
    inputs: str
    value: Any
    size: int | None
    sure: str
    pictures: list[Picture]
    tokens: list[tuple[int, int, int]]


def pictures(images: Sequence[ItemImage], urls: Sequence[str]) -> list[Picture]:
    """Return the images without boxes."""
    return [_picture(position, images, urls, []) for position in range(len(images))]


def shown_steps(steps: Sequence[Step], images: Sequence[ItemImage], urls: Sequence[str]) -> list[StepShown]:
    """Return the steps in order of execution, in the active language."""
    return [_shown(number, step, images, urls) for number, step in enumerate(steps, start=1)]


def _shown(number: int, step: Step, images: Sequence[ItemImage], urls: Sequence[str]) -> StepShown:
    numbered = list(enumerate(step.boxes or [], start=1))
    drawn = [
        _picture(position, images, urls, [(n, box) for n, box in numbered if box[0] == position])
        for position in range(len(images))
    ]
    objects = step.boxes if step.boxes is not None else step.tokens
    return StepShown(
        number=number,
        words=step_words(step),
        inputs=", ".join(str(one) for one in step.inputs),
        value=_rounded(step.value),
        size=None if objects is None else len(objects),
        sure="; ".join(_words(n, box[5]) for n, box in numbered if box[5] is not None),
        pictures=drawn if step.boxes else [],
        tokens=step.tokens or [],
    )


def _picture(
    position: int, images: Sequence[ItemImage], urls: Sequence[str], boxes: Sequence[tuple[int, StepBox]]
) -> Picture:
    image = images[position]
    height = round(WIDTH * image.height / image.width)
    drawn = [_rectangle(number, box, height) for number, box in boxes]
    words = _name(position, len(images))
    if drawn:
        count = ngettext("%(n)d box", "%(n)d boxes", len(drawn)) % {"n": len(drawn)}
        words = f"{words}: {count}: {'; '.join(one.words for one in drawn)}"
    return Picture(urls[position], height, words, drawn)


def _name(position: int, images: int) -> str:
    if images == 2:
        return _("Right image") if position else _("Left image")
    return _("Image %(n)d") % {"n": position + 1}


def _rectangle(number: int, box: StepBox, height: int) -> Rectangle:
    _image, left, top, right, bottom, sure = box
    x, y = round(WIDTH * left), round(height * top)
    is_above = y >= LETTERS + GAP
    beside = x - LETTERS if x >= LETTERS else round(WIDTH * right) + GAP
    return Rectangle(
        x=x,
        y=y,
        width=round(WIDTH * (right - left)),
        height=round(height * (bottom - top)),
        number=number,
        at=x if is_above else beside,
        base=y - GAP if is_above else y + LETTERS,
        words=_words(number, sure),
    )


def _words(number: int, sure: float | None) -> str:
    return f"{number}" if sure is None else f"{number}: {sure:.0%}"


def _rounded(value: bool | int | float | str | None) -> bool | int | float | str | None:
    """Round an expected value to one decimal, less a trailing zero."""
    if not isinstance(value, float):
        return value
    near = round(value, 1)
    return int(near) if near.is_integer() else near
