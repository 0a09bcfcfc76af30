"""Draw objects: distorted gold, or plausible ones without gold.

The gold is never sent unchanged: IDs are the bot's own, edges and ends move, and objects are missed or
replaced. References are to the bot's own objects below.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.bots.behaviours import Behaviour
from annotation.content.labels import MarkCondition
from annotation.content.schemas import Answer, Box, Chosen, Document, Ellipse, KeyPoint, Layer, Object, Span

Json = dict[str, Any]


@dataclass(frozen=True)
class Sheet:
    """The steps of an item's program, and its images or passage."""

    nodes: Sequence[Mapping[str, Any]]
    walk: Sequence[int]
    kind: str
    images: int
    passage: str
    tokens: Sequence[Sequence[int]]

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Sheet:
        """Return the sheet of an editor state, as the API gives it."""
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
        """Return the steps that people annotate, bottom-up."""
        return [index for index in self.walk if self.nodes[index]["role"] != "compute"]

    def below(self, index: int) -> Iterator[int]:
        """Yield the steps whose objects a step works on.

        A computed step hands on those below it.
        """
        for child in self.nodes[index]["children"]:
            if self.nodes[child]["role"] == "compute":
                yield from self.below(child)
            else:
                yield self.nodes[child]["representative"]


def draw(
    sheet: Sheet, gold: Document | None, behaviour: Behaviour, rng: random.Random
) -> dict[int, list[Json]]:
    """Return the objects of each step, bottom-up."""
    pen = _Pen(sheet, behaviour, rng)
    for index in sheet.drawn:
        pen.draw(index, None if gold is None else gold.layers.get(index, Layer()))
    return pen.layers


class _Pen:
    """Draws step by step, and maps objects of the gold to its own."""

    def __init__(self, sheet: Sheet, behaviour: Behaviour, rng: random.Random) -> None:
        self.sheet, self.behaviour, self.rng = sheet, behaviour, rng
        self.layers: dict[int, list[Json]] = {}
        self.known: dict[str, str] = {}  # ID in the gold to the bot's own ID

    def draw(self, index: int, gold: Layer | None) -> None:
        """Draw the objects of a step, or answer its question."""
        self.layers[index] = []
        if not self._is_shown(self.sheet.nodes[index].get("layer", {}).get("show_if")):
            return
        if self.sheet.nodes[index]["role"] == "relate":
            return  # bots see no relations
        if self.sheet.nodes[index]["role"] == "answer":
            self._answer(index, self.sheet.nodes[index]["layer"], gold)
            return
        below = list(
            dict.fromkeys(
                object_["id"] for child in self.sheet.below(index) for object_ in self.layers[child]
            )
        )
        if gold is None:
            self._make_up(index, below)
            return
        for object_ in gold.objects:
            if self.rng.random() < self.behaviour.misses:
                continue
            if isinstance(object_, Chosen):
                self._choose(index, object_, below)
            else:
                links = [self.known[name] for name in object_.links if self.known.get(name) in below]
                label, about = (
                    (object_.label, object_.answers) if isinstance(object_, Box | Span) else ("", {})
                )
                if label and self.rng.random() < self.behaviour.wrong:
                    label = ""
                moved = {**self._distort_object(object_), **({"answers": dict(about)} if about else {})}
                self._add(index, moved, links, object_.reason, object_.id, label)
            if not isinstance(object_, Chosen) and self.rng.random() < self.behaviour.wrong:
                self._add(index, self._draw_anywhere(index), links, "looks like one")

    def _add(
        self,
        index: int,
        content: Json,
        links: Sequence[str] = (),
        reason: str = "",
        gold: str = "",
        label: str = "",
    ) -> None:
        """Add an object; a mark of a plain task gets a label.

        Without a given one, it is any.
        """
        name = f"b{index}-{len(self.layers[index])}"
        shape = {"id": name, **content}
        layer = self.sheet.nodes[index].get("layer")
        if layer and layer["labels"] and "value" not in content:
            shape["label"] = label or self.rng.choice(layer["labels"])["name"]
            if layer["questions"]:
                shape["answers"] = self._answer_questions(
                    shape["label"], layer["questions"], shape.get("answers", {})
                )
        if links:
            shape["links"] = list(links)
        if reason:
            shape["reason"] = reason
        self.layers[index].append(shape)
        if gold:
            self.known[gold] = name

    def _answer_questions(
        self, label: str, questions: Sequence[Mapping[str, Any]], gold: Mapping[str, Sequence[str | int]]
    ) -> dict[str, list[str | int]]:
        """Return answers to the questions that a mark with a label is asked."""
        answers: dict[str, list[str | int]] = {}
        for question in questions:
            condition = question["show_if"] and MarkCondition.model_validate(question["show_if"])
            if condition is None or condition.holds(label, answers):
                answers[question["name"]] = self._values(question, gold.get(question["name"], ()))
        return answers

    def _is_shown(self, condition: Mapping[str, Any] | None) -> bool:
        """Return whether an earlier choice shows a layer."""
        return condition is None or any(
            answer["value"] in condition["labels"]
            for index, objects in self.layers.items()
            for answer in objects
            if self.sheet.nodes[index].get("layer", {}).get("name") == condition["layer"]
        )

    def _answer(self, index: int, layer: Mapping[str, Any], gold: Layer | None) -> None:
        """Answer as the gold does, or anything."""
        values = (
            [] if gold is None else [answer.value for answer in gold.objects if isinstance(answer, Answer)]
        )
        for value in self._values(layer, values):
            self._add(index, {"value": value})

    def _values(self, asked: Mapping[str, Any], gold: Sequence[str | int]) -> list[str | int]:
        """Return the answers of the gold, or any."""
        if gold and self.rng.random() >= self.behaviour.wrong:
            return list(gold)
        names = [label["name"] for label in asked["labels"]]
        ratings = range(asked["lowest"], asked["highest"] + 1) if asked["type"] == "rating" else ["Seen."]
        return [self.rng.choice(names or list(ratings))]

    def _choose(self, index: int, chosen: Chosen, below: Sequence[str]) -> None:
        """Choose the gold's object, or another; never one twice."""
        taken = {other.get("ref") for other in self.layers[index]}
        free = [name for name in below if name not in taken]
        meant = self.known.get(chosen.ref)
        if free and self.rng.random() < self.behaviour.wrong:
            meant = self.rng.choice(free)
        if meant in free:
            self._add(index, {"ref": meant}, gold=chosen.id)

    def _make_up(self, index: int, below: Sequence[str]) -> None:
        """Draw something plausible without gold."""
        role = self.sheet.nodes[index]["role"]
        if role == "draw":
            for _ in range(self.rng.randint(1, 3)):
                self._add(index, self._draw_anywhere(index))
            return
        for name in below:
            if role == "link":
                self._add(index, self._draw_anywhere(index), [name])
            elif self.rng.random() < 0.5:
                self._add(index, {"ref": name})

    def _draw_anywhere(self, index: int) -> Json:
        if self.sheet.kind == "boxes":
            width, height = self.rng.uniform(0.05, 0.4), self.rng.uniform(0.05, 0.4)
            left, top = self.rng.uniform(0, 1 - width), self.rng.uniform(0, 1 - height)
            image = self.rng.randrange(max(1, self.sheet.images))
            layer = self.sheet.nodes[index].get("layer") or {"type": "boxes"}
            return {"image": image, **_build_shape(layer["type"], (left, top, left + width, top + height))}
        first = self.rng.randrange(len(self.sheet.tokens))
        return self._span(first, min(first + self.rng.randint(1, 3), len(self.sheet.tokens)))

    def _distort_object(self, shape: Object) -> Json:
        """Return an object of the gold, distorted."""
        if isinstance(shape, Box):
            return {"image": shape.image, **self._distort_mark(shape)}
        assert isinstance(shape, Span)
        first, beyond = shape.tokens
        moved = [token + self._slip() for token in (first, beyond)]
        start = min(max(0, moved[0]), len(self.sheet.tokens) - 1)
        if (start, moved[1]) == (first, beyond):
            return {"span": list(shape.span), "tokens": list(shape.tokens), "quote": shape.quote}
        return self._span(start, min(max(start + 1, moved[1]), len(self.sheet.tokens)))

    def _slip(self) -> int:
        return self.rng.choice((-1, 1)) if self.rng.random() < self.behaviour.jitter else 0

    def _distort_box(self, box: Sequence[float]) -> list[float]:
        sides = (box[2] - box[0], box[3] - box[1]) * 2
        moved = [
            round(min(1.0, max(0.0, edge + self.rng.gauss(0, self.behaviour.jitter * side))), 4)
            for edge, side in zip(box, sides, strict=True)
        ]
        return moved if moved[2] > moved[0] and moved[3] > moved[1] else list(box)

    def _distort_mark(self, mark: Box) -> Json:
        corners = [mark.point] if isinstance(mark, KeyPoint) else getattr(mark, "polygon", ())
        if not corners:
            box = self._distort_box(mark.box)
            return {"box": box} | ({"shape": mark.shape} if isinstance(mark, Ellipse) else {})
        left, top, right, bottom = mark.box
        step = self.behaviour.jitter * max(right - left, bottom - top, 0.05)
        moved = [
            [min(1.0, max(0.0, edge + self.rng.gauss(0, step))) for edge in corner] for corner in corners
        ]
        return {"point": moved[0]} if len(moved) == 1 else {"polygon": moved}

    def _span(self, first: int, beyond: int) -> Json:
        start, end = self.sheet.tokens[first][0], self.sheet.tokens[beyond - 1][1]
        return {"span": [start, end], "tokens": [first, beyond], "quote": self.sheet.passage[start:end]}


def _build_shape(kind: str, box: tuple[float, float, float, float]) -> Json:
    """Return a mark of a layer with a box around it."""
    left, top, right, bottom = box
    if kind == "points":
        return {"point": [left, top]}
    if kind == "polygons":
        return {"polygon": [[left, top], [right, top], [(left + right) / 2, bottom]]}
    return {"box": list(box)} | ({"shape": "ellipse"} if kind == "ellipses" else {})


def build_edits(layers: Mapping[int, Sequence[Json]]) -> list[Json]:
    """Return the layers as edits of one object or state, bottom-up."""
    edited: list[Json] = []
    for index, objects in layers.items():
        edited += [{"node": index, "put": [object_]} for object_ in objects]
        edited.append({"node": index, "state": "done" if objects else "nothing"})
    return edited


def build_removal_edits(document: Mapping[str, Any], walk: Sequence[int]) -> list[Json]:
    """Return the edits that remove all objects, from the top down."""
    layers = {int(index): layer["objects"] for index, layer in document.get("layers", {}).items()}
    return [
        {"node": index, "remove": [object_["id"] for object_ in layers[index]]}
        for index in reversed(walk)
        if layers.get(index)
    ]
