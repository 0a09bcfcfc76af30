"""Turn questions of GQA into items with programs and gold boxes.

Source of the data: Hudson and Manning 2019, with the scene graphs of Krishna
et al. 2017 (Visual Genome). Subramanian et al. 2020 (section 4.2) pretrain
`find` and `filter` on the questions that only ask if something exists.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Parameter
from pydantic import BaseModel, Field, NonNegativeInt, PositiveFloat, ValidationError

from analysis.programs.notation import format_module
from modelserver.inputs.json_stream import read_entries
from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import format_first_problem
from modelserver.world.items import write_items

ANSWERS = {"yes": True, "no": False}
POSITIONS = ("hposition", "vposition")  # kinds of filters whose words no attribute holds
OTHER_FORM = "ask for more than find and filter"
OTHER_FILTERS = "filter by place, or by what something is not"
NO_SCENE = "have no scene graph of their image"
CONTRADICTED = "have an answer that their scene graph contradicts"
_SELECTED = re.compile(r"(.*?)\s*\(([-\d,\s]*)\)\s*")

Wire = TypeVar("Wire", bound=BaseModel)


class _Step(BaseModel):
    operation: str
    dependencies: list[NonNegativeInt] = []
    argument: str = ""


class _Question(BaseModel):
    question: Annotated[str, Field(min_length=1)]
    image: Annotated[str, Field(alias="imageId", min_length=1)]
    answer: str
    semantic: Annotated[list[_Step], Field(min_length=1)]


class _Object(BaseModel):
    x: float
    y: float
    w: float
    h: float
    attributes: list[str] = []


class _GqaObject(_Object):
    name: str


class _GqaScene(BaseModel):
    width: PositiveFloat
    height: PositiveFloat
    objects: dict[str, _GqaObject]


class _GenomeObject(_Object):
    object_id: int
    names: Annotated[list[str], Field(min_length=1)]


class _GenomeScene(BaseModel):
    """An image of attributes.json, whose objects have attributes."""

    image_id: int
    attributes: list[_GenomeObject]


class _GenomeImage(BaseModel):
    image_id: int
    width: PositiveFloat
    height: PositiveFloat


@dataclass(frozen=True)
class Thing:
    """An object of a scene graph; its box is in fractions of the image."""

    names: tuple[str, ...]
    attributes: frozenset[str]
    box: tuple[float, float, float, float]


@dataclass(frozen=True)
class Scene:
    """An image with its things, by their ids."""

    image: str
    width: float
    height: float
    things: dict[str, Thing]


@dataclass(frozen=True)
class Call:
    """A module with its children; ``ids`` are the things that GQA names."""

    module: str
    argument: str | None = None
    children: tuple[Call, ...] = ()
    ids: frozenset[str] = frozenset()

    def __str__(self) -> str:
        below = f"({', '.join(map(str, self.children))})" if self.children else ""
        return format_module(self.module, self.argument) + below


@dataclass(frozen=True)
class Asked:
    """A question with its program."""

    id: str
    text: str
    program: Call
    answer: bool


class Unusable(ValueError):
    """A question has no gold boxes, for the reason of the message."""


def gqa_items(
    *,
    questions: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    scene_graphs: Path,
    out: Path,
    image_data: Path | None = None,
) -> None:
    """Write questions of GQA as items to pretrain visual-nmn on.

    Those that ask if something exists by find and filter alone get a program,
    and gold boxes from the scene graph of their image. The others are counted.

    Args:
        questions: Questions of GQA, such as train_balanced_questions.json.
        scene_graphs: GQA's train_sceneGraphs.json, or attributes.json of
            Visual Genome.
        out: File to write, one item a line.
        image_data: image_data.json of Visual Genome, with its attributes.json.

    Raises:
        UnreadableData: A file is malformed; names file, entry and field.
    """
    left_out: Counter[str] = Counter()
    asked = read_questions(questions, left_out)
    written = Counter[str]()
    write_items(out, _count_records(items(asked, read_scenes(scene_graphs, image_data), left_out), written))
    left_out[NO_SCENE] += sum(map(len, asked.values()))
    for reason, number in left_out.items():
        if number:
            sys.stderr.write(f"{number} questions left out: they {reason}\n")
    sys.stderr.write(f"{out}: {written['items']} items\n")


def _count_records(records: Iterable[dict[str, Any]], written: Counter[str]) -> Iterator[dict[str, Any]]:
    for record in records:
        written["items"] += 1
        yield record


def read_questions(paths: Iterable[Path], left_out: Counter[str]) -> dict[str, list[Asked]]:
    """Return the usable questions by image.

    Args:
        paths: Files of questions.
        left_out: Counts the others by reason.

    Raises:
        UnreadableData: A file is malformed.
    """
    asked: dict[str, list[Asked]] = defaultdict(list)
    for path in paths:
        for key, entry in read_entries(path):
            question = _validate_entry(_Question, entry, f"{path}: question {key}")
            try:
                program = build_program(question)
            except Unusable as reason:
                left_out[str(reason)] += 1
            else:
                answer = ANSWERS[question.answer]
                asked[question.image].append(Asked(key, question.question, program, answer))
    return asked


def build_program(question: _Question) -> Call:
    """Return the program of a question. Raises Unusable if it has none."""
    if question.answer not in ANSWERS:
        raise Unusable(OTHER_FORM)
    program = _call(question.semantic, len(question.semantic) - 1)
    if program.module not in ("exist", "and", "or"):
        raise Unusable(OTHER_FORM)
    return program


def _call(steps: Sequence[_Step], index: int) -> Call:
    step = steps[index]
    if any(below >= index for below in step.dependencies):
        raise Unusable(OTHER_FORM)  # a step reads earlier ones
    children = tuple(_call(steps, below) for below in step.dependencies)
    kind, _, of = step.operation.partition(" ")
    takes = tuple(child.module in ("exist", "and", "or") for child in children)
    match kind, takes:
        case "select", ():
            return _find(step.argument)
        case "filter", (False,):
            if of in POSITIONS or step.argument.startswith("not("):
                raise Unusable(OTHER_FILTERS)
            return Call("filter", step.argument.strip(), children)
        case "exist", (False,):
            return Call("exist", None, children)
        case "and" | "or", (True, True):
            return Call(kind, None, children)
    raise Unusable(OTHER_FORM)


def _find(argument: str) -> Call:
    """Return find for an argument such as "car (12,15)" or "car (-)"."""
    match = _SELECTED.fullmatch(argument)
    words, listed = (match[1], match[2]) if match else (argument.strip(), "")
    return Call("find", words, ids=frozenset(re.findall(r"\d+", listed)))


def read_scenes(path: Path, image_data: Path | None) -> Iterator[Scene]:
    """Yield the scene graphs of GQA, or of Visual Genome with their sizes.

    Raises:
        UnreadableData: A file is malformed, or an image has no size.
    """
    if image_data is None:
        for key, entry in read_entries(path):
            if not isinstance(entry, dict) or "width" not in entry:
                raise UnreadableData(
                    f"{path}: image {key}: has no width; with a file of Visual Genome name --image-data"
                )
            graph = _validate_entry(_GqaScene, entry, f"{path}: image {key}")
            objects = {name: (entity, (entity.name,)) for name, entity in graph.objects.items()}
            yield _build_scene(key, graph.width, graph.height, objects)
        return
    images = (_validate_entry(_GenomeImage, entry, f"{image_data}: entry {key}")
              for key, entry in read_entries(image_data))  # fmt: skip
    sizes = {image.image_id: (image.width, image.height) for image in images}
    for key, entry in read_entries(path):
        genome = _validate_entry(_GenomeScene, entry, f"{path}: entry {key}")
        if genome.image_id not in sizes:
            raise UnreadableData(f"{path}: entry {key}: {image_data} has no image {genome.image_id}")
        things = {str(entity.object_id): (entity, tuple(entity.names)) for entity in genome.attributes}
        yield _build_scene(str(genome.image_id), *sizes[genome.image_id], things)


def _build_scene(
    image: str, width: float, height: float, objects: Mapping[str, tuple[_Object, tuple[str, ...]]]
) -> Scene:
    things = {}
    for name, (entity, names) in objects.items():
        right, bottom = entity.x + entity.w, entity.y + entity.h
        edges = (entity.x / width, entity.y / height, right / width, bottom / height)
        left, top, right, bottom = (round(min(max(edge, 0.0), 1.0), 5) for edge in edges)
        if left < right and top < bottom:
            attributes = frozenset(attribute.strip().lower() for attribute in entity.attributes)
            things[name] = Thing(tuple(map(_stem, names)), attributes, (left, top, right, bottom))
    return Scene(image, width, height, things)


def items(
    asked: dict[str, list[Asked]], scenes: Iterable[Scene], left_out: Counter[str]
) -> Iterator[dict[str, Any]]:
    """Yield an item for each question that its scene graph agrees with.

    Args:
        asked: Questions by image; those with a scene graph are taken out.
        scenes: Scene graphs.
        left_out: Counts the questions that are not written.
    """
    for scene in scenes:
        for question in asked.pop(scene.image, ()):
            if _is_true(question.program, scene) != question.answer:
                left_out[CONTRADICTED] += 1
                continue
            yield {
                "external_id": question.id,
                "kind": "boxes",
                "program": str(question.program),
                "text": question.text,
                "images": [
                    {"name": f"{scene.image}.jpg", "width": int(scene.width), "height": int(scene.height)}
                ],
                "answer": question.answer,
                "gold": {"layers": dict(_build_layers(question.program, scene)), "problem": None},
            }


def _is_true(program: Call, scene: Scene) -> bool:
    values = (_is_true(child, scene) for child in program.children)
    match program.module:
        case "and":
            return all(values)
        case "or":
            return any(values)
    return bool(_select_ids(program.children[0], scene))


def _select_ids(call: Call, scene: Scene) -> list[str]:
    """Return the ids of the things that find or filter gives."""
    words = str(call.argument).lower()
    if call.module == "find":
        return [
            name for name, thing in scene.things.items() if name in call.ids or _stem(words) in thing.names
        ]
    below = _select_ids(call.children[0], scene)
    return [name for name in below if words in scene.things[name].attributes]


def _stem(words: str) -> str:
    """Return words in lower case and, by a plain rule, in the singular."""
    words = words.strip().lower()
    return words if words.endswith("ss") else words.removesuffix("s")


def _build_layers(program: Call, scene: Scene) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the gold of each distinct find and filter, by its node."""
    first: dict[Call, int] = {}
    for index, call in enumerate(_walk(program)):
        first.setdefault(call, index)
    for call, index in first.items():
        if call.module in ("find", "filter"):
            objects = [_build_object(call, name, scene, first) for name in _select_ids(call, scene)]
            state = "done" if objects else "nothing"
            yield str(index), {"state": state, "objects": objects, "value": None, "note": ""}


def _build_object(call: Call, name: str, scene: Scene, indices: Mapping[Call, int]) -> dict[str, Any]:
    """Return a thing as an object of a gold document."""
    own = {"id": f"n{indices[call]}.{name}"}
    if call.module == "filter":
        return {**own, "ref": f"n{indices[call.children[0]]}.{name}"}
    return {**own, "image": 0, "box": list(scene.things[name].box), "links": [], "reason": ""}


def _walk(call: Call) -> Iterator[Call]:
    yield call
    for child in call.children:
        yield from _walk(child)


def _validate_entry(model: type[Wire], entry: Any, where: str) -> Wire:
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        raise UnreadableData(f"{where}: {format_first_problem(error, whole='entry')}") from error
