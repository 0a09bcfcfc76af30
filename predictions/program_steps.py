"""A program's execution as a study stores, freezes and shows it: steps in the order of work. Pure.

Boxes and tokens are those that a step puts out: what a system thinks unlikely is left out when the items are
brought in, and the strength of an attention is decided there.
"""

from typing import Annotated

from pydantic import Field, TypeAdapter

from foundation.frozen_model import FrozenModel

Fraction = Annotated[float, Field(ge=0, le=1)]
Level = Annotated[int, Field(ge=1, le=3)]  # of an attention: 1 weak, 2 medium, 3 strong
Number = Annotated[int, Field(ge=0)]
# Image (0-based), left, top, right, bottom as fractions, and the probability; None for gold.
StepBox = tuple[Number, Fraction, Fraction, Fraction, Fraction, Fraction | None]


class ItemImage(FrozenModel):
    """An image of an item. ``path`` is its place in the site's image folder, named by its SHA-256."""

    path: Annotated[str, Field(pattern=r"^[0-9a-f]{2}/[0-9a-f]{64}\.[a-z0-9]{1,5}$")]
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]


class Step(FrozenModel):
    """What one module put out. ``inputs`` are the numbers, from 1, of the steps that it builds on.

    ``boxes`` and ``tokens`` are None where the module gives none, and empty where it found nothing.
    ``tokens`` are ``[start, end, level]``: code points of the passage, end exclusive.
    """

    module: str
    argument: str | None = None
    inputs: list[Annotated[int, Field(ge=1)]] = []
    value: bool | int | float | str | None = None
    boxes: list[StepBox] | None = None
    tokens: list[tuple[Number, Number, Level]] | None = None


STEPS = TypeAdapter(list[Step])
IMAGES = TypeAdapter(list[ItemImage])
