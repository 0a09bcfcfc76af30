"""What a bot draws: the gold of an item as its behaviour distorts it, or something plausible without gold.

The gold is never sent as it is: ids are the bot's own, edges and ends move, objects are missed, and others
are taken instead. What a step may refer to is what the bot itself has drawn below it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.bots.behaviours import Behaviour
from annotation.schemas import Box, Chosen, Document, Layer, Object, Span

Json = dict[str, Any]


@dataclass(frozen=True)
class Sheet:
    """An item as the site shows it: the steps of its program, and what they are drawn on."""

    nodes: Sequence[Mapping[str, Any]]
    walk: Sequence[int]
    kind: str
    images: int
    passage: str
    tokens: Sequence[Sequence[int]]

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Sheet:
        """The sheet of a work's state, as the API gives it."""
        item, program = state["item"], state["program"]
        return cls(
            nodes=program["nodes"],
            walk=program["walk"],
            kind=item["kind"],
            images=len(item["images"]),
            passage=item["passage"],
            tokens=item["tokens"],
        )

    @property
    def drawn(self) -> list[int]:
        """The steps that a person does, bottom-up."""
        return [index for index in self.walk if self.nodes[index]["role"] != "compute"]

    def below(self, index: int) -> Iterator[int]:
        """The steps whose objects a step works on; a computed step hands on those below it."""
        for child in self.nodes[index]["children"]:
            if self.nodes[child]["role"] == "compute":
                yield from self.below(child)
            else:
                yield self.nodes[child]["representative"]


def draw(
    sheet: Sheet, gold: Document | None, behaviour: Behaviour, rng: random.Random
) -> dict[int, list[Json]]:
    """The objects that a bot gives to each step, bottom-up; a step without one has nothing there."""
    pen = _Pen(sheet, behaviour, rng)
    for index in sheet.drawn:
        pen.draw(index, None if gold is None else gold.layers.get(index, Layer()))
    return pen.layers


class _Pen:
    """Draws step by step, and remembers which object of the bot stands for which one of the gold."""

    def __init__(self, sheet: Sheet, behaviour: Behaviour, rng: random.Random) -> None:
        self.sheet, self.behaviour, self.rng = sheet, behaviour, rng
        self.layers: dict[int, list[Json]] = {}
        self.known: dict[str, str] = {}  # id in the gold to id of the bot's own

    def draw(self, index: int, gold: Layer | None) -> None:
        self.layers[index] = []
        below = list(
            dict.fromkeys(one["id"] for child in self.sheet.below(index) for one in self.layers[child])
        )
        if gold is None:
            self._make_up(index, below)
            return
        for one in gold.objects:
            if self.rng.random() < self.behaviour.misses:
                continue
            if isinstance(one, Chosen):
                self._choose(index, one, below)
            else:
                links = [self.known[name] for name in one.links if self.known.get(name) in below]
                self._add(index, self._moved(one), links, one.reason, one.id)
            if not isinstance(one, Chosen) and self.rng.random() < self.behaviour.wrong:
                self._add(index, self._anywhere(), links, "looks like one")

    def _add(
        self, index: int, place: Json, links: Sequence[str] = (), reason: str = "", gold: str = ""
    ) -> None:
        name = f"b{index}-{len(self.layers[index])}"
        one = {"id": name, **place}
        if links:
            one["links"] = list(links)
        if reason:
            one["reason"] = reason
        self.layers[index].append(one)
        if gold:
            self.known[gold] = name

    def _choose(self, index: int, one: Chosen, below: Sequence[str]) -> None:
        """Choose what the gold does where the bot has it, or another one; never one twice."""
        taken = {other.get("ref") for other in self.layers[index]}
        free = [name for name in below if name not in taken]
        meant = self.known.get(one.ref)
        if free and self.rng.random() < self.behaviour.wrong:
            meant = self.rng.choice(free)
        if meant in free:
            self._add(index, {"ref": meant}, gold=one.id)

    def _make_up(self, index: int, below: Sequence[str]) -> None:
        """Something a person might draw where nobody knows what is right."""
        role = self.sheet.nodes[index]["role"]
        if role == "draw":
            for _ in range(self.rng.randint(1, 3)):
                self._add(index, self._anywhere())
            return
        for name in below:
            if role == "link":
                self._add(index, self._anywhere(), [name])
            elif self.rng.random() < 0.5:
                self._add(index, {"ref": name})

    def _anywhere(self) -> Json:
        if self.sheet.kind == "boxes":
            width, height = self.rng.uniform(0.05, 0.4), self.rng.uniform(0.05, 0.4)
            left, top = self.rng.uniform(0, 1 - width), self.rng.uniform(0, 1 - height)
            image = self.rng.randrange(max(1, self.sheet.images))
            return {"image": image, "box": [left, top, left + width, top + height]}
        first = self.rng.randrange(len(self.sheet.tokens))
        return self._span(first, min(first + self.rng.randint(1, 3), len(self.sheet.tokens)))

    def _moved(self, one: Object) -> Json:
        """An object of the gold as the bot's hand draws it."""
        if isinstance(one, Box):
            return {"image": one.image, "box": self._moved_box(one.box)}
        assert isinstance(one, Span)
        first, beyond = one.tokens
        moved = [place + self._slip() for place in (first, beyond)]
        start = min(max(0, moved[0]), len(self.sheet.tokens) - 1)
        if (start, moved[1]) == (first, beyond):
            return {"span": list(one.span), "tokens": list(one.tokens), "quote": one.quote}
        return self._span(start, min(max(start + 1, moved[1]), len(self.sheet.tokens)))

    def _slip(self) -> int:
        return self.rng.choice((-1, 1)) if self.rng.random() < self.behaviour.jitter else 0

    def _moved_box(self, box: Sequence[float]) -> list[float]:
        sides = (box[2] - box[0], box[3] - box[1]) * 2
        moved = [
            round(min(1.0, max(0.0, edge + self.rng.gauss(0, self.behaviour.jitter * side))), 4)
            for edge, side in zip(box, sides, strict=True)
        ]
        return moved if moved[2] > moved[0] and moved[3] > moved[1] else list(box)

    def _span(self, first: int, beyond: int) -> Json:
        start, end = self.sheet.tokens[first][0], self.sheet.tokens[beyond - 1][1]
        return {"span": [start, end], "tokens": [first, beyond], "quote": self.sheet.passage[start:end]}


def edits(layers: Mapping[int, Sequence[Json]]) -> list[Json]:
    """The layers as a person's edits, one object or state at a time, bottom-up."""
    found: list[Json] = []
    for index, objects in layers.items():
        found += [{"node": index, "put": [one]} for one in objects]
        found.append({"node": index, "state": "done" if objects else "nothing"})
    return found


def clearing(document: Mapping[str, Any], walk: Sequence[int]) -> list[Json]:
    """The edits that take out what a begun work already holds, from the top down."""
    layers = {int(index): layer["objects"] for index, layer in document.get("layers", {}).items()}
    return [
        {"node": index, "remove": [one["id"] for one in layers[index]]}
        for index in reversed(walk)
        if layers.get(index)
    ]
