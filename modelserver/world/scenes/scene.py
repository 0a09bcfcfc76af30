"""One generated example: two images, a sentence, its truth, program, gold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from PIL import Image

from modelserver.world.scenes.gold import build_gold, compute_fractions, values
from modelserver.world.scenes.layout import Pair
from modelserver.world.scenes.painting import paint
from modelserver.world.scenes.statements import SIDES, Claim
from modelserver.world.scenes.things import HEIGHT, WIDTH, Thing


@dataclass(frozen=True)
class Scene:
    """One example: what is drawn, the sentence about it, and its truth."""

    name: str
    pair: Pair
    grounds: tuple[tuple[str, int], tuple[str, int]]
    kind: str
    claim: Claim
    sentence: str
    label: bool
    change: str

    @cached_property
    def images(self) -> tuple[Image.Image, Image.Image]:
        """The left and the right image, drawn when first asked for."""
        left, right = (
            paint([t for t in self.pair if t.image == image], *self.grounds[image]) for image in (0, 1)
        )
        return left, right

    def file_names(self, folder: str) -> tuple[str, str]:
        """Name the files of the left and the right image."""
        left, right = (f"{folder}/{self.name}-{side}.png" for side in SIDES)
        return left, right

    def record(self, folder: str) -> dict[str, Any]:
        """Return the example as an annotation item with images in the folder."""
        program = self.claim.program
        return {
            "external_id": self.name,
            "kind": "boxes",
            "program": str(program),
            "text": self.sentence,
            "images": [{"name": name, "width": WIDTH, "height": HEIGHT} for name in self.file_names(folder)],
            "answer": self.label,
            "gold": build_gold(program, self.pair),
            "extra": {
                "world": {
                    "sentence": self.kind,
                    "change": self.change,
                    "values": values(program, self.pair),
                    "things": [_build_record(thing) for thing in self.pair],
                }
            },
        }


def _build_record(thing: Thing) -> dict[str, Any]:
    looks = {"size": thing.size, "pattern": thing.pattern} if thing.is_shape else {}
    described = {"number": thing.number, "image": thing.image, "kind": thing.kind, "colour": thing.colour}
    return {**described, **looks, "holder": thing.holder, "box": compute_fractions(thing)}
