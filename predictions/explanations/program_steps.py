"""The steps of an executed program, as studies show them. Pure.

Boxes and tokens are those that count as found: the import of items drops unlikely ones and decides the
strength of an attention.
"""

from typing import Annotated

from pydantic import Field, TypeAdapter

from foundation.frozen_model import Growing

Fraction = Annotated[float, Field(ge=0, le=1)]
Level = Annotated[int, Field(ge=1, le=3)]  # of an attention: 1 weak, 2 medium, 3 strong
Number = Annotated[int, Field(ge=0)]
# Image (0-based), left, top, right, bottom as fractions, and the probability; None for gold.
StepBox = tuple[Number, Fraction, Fraction, Fraction, Fraction, Fraction | None]


class ItemImage(Growing):
    """An image of an item.

    Attributes:
        path: Relative to the image folder; the file is named by its SHA-256.
        name: That of the image in its project, by which systems know its region features; empty if unknown.
    """

    path: Annotated[str, Field(pattern=r"^[0-9a-f]{2}/[0-9a-f]{64}\.[a-z0-9]{1,5}$")]
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]
    name: str = ""


class Step(Growing):
    """The output of one module.

    Attributes:
        inputs: The numbers, from 1, of the steps that it builds on.
        values: Those of a module that runs for each image, the left one first, which has no single value.
        boxes: None for a module without boxes; empty if it found none.
        tokens: ``[start, end, level]`` in code points of the passage, end exclusive; None and empty as for
        boxes.
    """

    FIRST = frozenset({"argument", "inputs", "value", "boxes", "tokens"})

    module: str
    argument: str | None = None
    inputs: list[Annotated[int, Field(ge=1)]] = []
    value: bool | int | float | str | None = None
    values: list[bool | int | float | str] = []
    boxes: list[StepBox] | None = None
    tokens: list[tuple[Number, Number, Level]] | None = None


STEPS = TypeAdapter(list[Step])
IMAGES = TypeAdapter(list[ItemImage])
