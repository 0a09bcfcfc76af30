"""The steps of a program as the participants' template takes them: boxes over images, words of a passage."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from predictions.program_steps import ItemImage, Step, StepBox
from studyapp.web.program_labels import step_words

WIDTH = 1000  # units of an image's drawing
LETTERS, GAP = 50, 12  # height of a number written in it, and what lies between that and its box


class Rectangle(NamedTuple):
    """A box in units of its image's drawing, with its number, and where that is written: above or beside.

    ``words`` are the number and, of a system, how sure it is.
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
    """An image with what is drawn over it. ``words`` say the same for those who do not see it."""

    url: str
    height: int
    words: str
    boxes: list[Rectangle]


class StepShown(NamedTuple):
    """One step. ``found`` is the number of its boxes or words, None where it gives a value only.

    ``sure`` says of each box how sure the system was.
    """

    number: int
    words: str
    inputs: str
    value: Any
    found: int | None
    sure: str
    pictures: list[Picture]
    tokens: list[tuple[int, int, int]]


def pictures(images: Sequence[ItemImage], urls: Sequence[str]) -> list[Picture]:
    """The images alone."""
    return [_picture(place, images, urls, []) for place in range(len(images))]


def shown_steps(steps: Sequence[Step], images: Sequence[ItemImage], urls: Sequence[str]) -> list[StepShown]:
    """The steps in the order of work, in the active language."""
    return [_shown(number, step, images, urls) for number, step in enumerate(steps, start=1)]


def _shown(number: int, step: Step, images: Sequence[ItemImage], urls: Sequence[str]) -> StepShown:
    numbered = list(enumerate(step.boxes or [], start=1))
    drawn = [
        _picture(place, images, urls, [(n, box) for n, box in numbered if box[0] == place])
        for place in range(len(images))
    ]
    objects = step.boxes if step.boxes is not None else step.tokens
    return StepShown(
        number=number,
        words=step_words(step),
        inputs=", ".join(str(one) for one in step.inputs),
        value=_rounded(step.value),
        found=None if objects is None else len(objects),
        sure="; ".join(_words(n, box[5]) for n, box in numbered if box[5] is not None),
        pictures=drawn if step.boxes else [],
        tokens=step.tokens or [],
    )


def _picture(
    place: int, images: Sequence[ItemImage], urls: Sequence[str], boxes: Sequence[tuple[int, StepBox]]
) -> Picture:
    image = images[place]
    height = round(WIDTH * image.height / image.width)
    drawn = [_rectangle(number, box, height) for number, box in boxes]
    words = _name(place, len(images))
    if drawn:
        told = ngettext("%(n)d box", "%(n)d boxes", len(drawn)) % {"n": len(drawn)}
        words = f"{words}: {told}: {'; '.join(one.words for one in drawn)}"
    return Picture(urls[place], height, words, drawn)


def _name(place: int, images: int) -> str:
    if images == 2:
        return _("Right image") if place else _("Left image")
    return _("Image %(n)d") % {"n": place + 1}


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
    """An expected value to one decimal, and without one where that is 0."""
    if not isinstance(value, float):
        return value
    near = round(value, 1)
    return int(near) if near.is_integer() else near
