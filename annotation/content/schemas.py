"""Types of items and annotations in files, on the wire and in columns.

A `Document` holds one layer per distinct subtree of the item's program (equal subtrees share theirs, under
the index of the first one in pre-order). Boxes are fractions of the image as it is shown, after its EXIF
orientation; spans count code points, end exclusive, and name the same stretch in tokens, with the quote.
"""

from __future__ import annotations

import operator
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from foundation.frozen_model import FrozenModel
from foundation.messages import field_error

Kind = Literal["boxes", "spans"]
State = Literal["open", "done", "nothing", "unsure"]
Plain = Annotated[str, Field(pattern=r"^[^\x00]*$")]  # PostgreSQL stores no NUL
Value = bool | int | Annotated[float, Field(allow_inf_nan=False)] | Plain
MOST_NAME = 500  # characters of the name of an image
MOST_REJECTED = 5_000  # suggestions of a layer
ObjectId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:-]+$")]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Position = Annotated[int, Field(ge=0, lt=2**31)]  # what both databases can store
Note = Annotated[str, Field(max_length=2000, pattern=r"^[^\x00]*$")]


class Suggested(FrozenModel):
    """The suggestion of a model that a person accepted as this object.

    ``by`` is ``system@revision``, and ``id`` that of the suggestion; ``changed`` says whether the person
    moved or relabelled the object since.
    """

    by: Annotated[Plain, Field(max_length=201)]
    id: ObjectId
    changed: bool = False


# Most objects are drawn by people, so that documents leave it out there.
Origin = Annotated[Suggested | None, Field(exclude_if=lambda given: given is None)]


# A label of a choice, a rating or a text.
AnswerValue = Annotated[int, Field(strict=True)] | Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]
Answers = dict[
    Annotated[str, Field(max_length=60, pattern=r"^[^\x00]*$")],
    Annotated[tuple[AnswerValue, ...], Field(min_length=1, max_length=200)],
]


class Drawn(FrozenModel):
    """The fields of a new box or span besides its coordinates.

    ``answers`` are what a person says about the mark in a plain task, by the name of the question.
    """

    id: ObjectId
    suggested: Origin = None
    links: tuple[ObjectId, ...] = ()  # objects of a child's layer that led to this one
    reason: Note = ""  # why it is new, at a step that chooses among the child's objects
    label: Annotated[str, Field(max_length=60, pattern=r"^[^\x00]*$")] = ""  # of its layer, in a plain task
    answers: Annotated[Answers, Field(exclude_if=operator.not_)] = {}


class Box(Drawn):
    """A box in one of the item's images (0-based): left, top, right, bottom."""

    image: Position
    box: tuple[Fraction, Fraction, Fraction, Fraction]

    @model_validator(mode="after")
    def _has_an_area(self) -> Box:
        left, top, right, bottom = self.box
        if right <= left or bottom <= top:
            raise ValueError("a box must have its right beyond its left and its bottom below its top")
        return self


class Ellipse(Box):
    """An upright ellipse; ``box`` is the box around it."""

    shape: Literal["ellipse"]


Corner = tuple[Fraction, Fraction]  # from the left and from the top


def _add_bounds(value: Any, name: str) -> Any:
    """Return the fields of a mark with the box around its corners."""
    try:
        corners = value[name] if name == "polygon" else [value[name]]
        across, down = zip(*corners, strict=True)
        return {**value, "box": (min(across), min(down), max(across), max(down))}
    except (TypeError, ValueError, KeyError):
        return {"box": (0, 0, 1, 1), **value} if isinstance(value, dict) else value


class Polygon(Box):
    """An outline by its corners; ``box`` follows from them."""

    polygon: Annotated[tuple[Corner, ...], Field(min_length=3, max_length=2000)]

    @model_validator(mode="before")
    @classmethod
    def _bounds(cls, value: Any) -> Any:
        return _add_bounds(value, "polygon")


class KeyPoint(Box):
    """A point of an image; ``box`` is the point twice."""

    point: Corner

    @model_validator(mode="before")
    @classmethod
    def _bounds(cls, value: Any) -> Any:
        return _add_bounds(value, "point")

    @model_validator(mode="after")
    def _has_an_area(self) -> KeyPoint:
        return self  # a point has none


class Span(Drawn):
    """A stretch of the passage in code points and tokens, with the quote."""

    span: tuple[Position, Position]
    tokens: tuple[Position, Position]
    quote: str

    @model_validator(mode="after")
    def _is_not_empty(self) -> Span:
        if self.span[1] <= self.span[0] or self.tokens[1] <= self.tokens[0]:
            raise ValueError("a span must end after it starts")
        return self


class Chosen(FrozenModel):
    """A reference to an object of a child's layer, which it follows."""

    id: ObjectId
    suggested: Origin = None
    ref: ObjectId


class Answer(FrozenModel):
    """An answer to a question of a plain task.

    ``value`` is a label of a choice, a rating or a text; several choices are several answers.
    """

    links: ClassVar[tuple[ObjectId, ...]] = ()  # answers follow from no objects
    reason: ClassVar[str] = ""
    id: ObjectId
    suggested: Origin = None
    value: AnswerValue


class Relation(FrozenModel):
    """A relation of a plain task, from its first mark to its second."""

    links: ClassVar[tuple[ObjectId, ...]] = ()  # its ends are what it refers to
    reason: ClassVar[str] = ""
    id: ObjectId
    suggested: Origin = None
    ends: tuple[ObjectId, ObjectId]
    label: Annotated[str, Field(max_length=60, pattern=r"^[^\x00]*$")]

    @model_validator(mode="after")
    def _has_two_ends(self) -> Relation:
        if self.ends[0] == self.ends[1]:
            raise ValueError("a relation must connect two different marks")
        return self


# The field that only one kind of object has; what has none is a box.
_FIELDS = {
    "ref": "chosen",
    "span": "span",
    "value": "answer",
    "ends": "relation",
    "polygon": "polygon",
    "point": "point",
    "shape": "ellipse",
}
_CLASSES: dict[type, str] = {
    Chosen: "chosen",
    Span: "span",
    Answer: "answer",
    Relation: "relation",
    Polygon: "polygon",
    KeyPoint: "point",
    Ellipse: "ellipse",
}


def _detect_shape(value: object) -> str:
    """Return the kind of an object, by the field that only that kind has."""
    if isinstance(value, dict):
        return next((kind for field, kind in _FIELDS.items() if field in value), "box")
    # Called for each object written: looking up absent attributes of a model would take most of the time.
    return _CLASSES.get(type(value), "box")


Object = Annotated[
    Annotated[Box, Tag("box")]
    | Annotated[Ellipse, Tag("ellipse")]
    | Annotated[Polygon, Tag("polygon")]
    | Annotated[KeyPoint, Tag("point")]
    | Annotated[Span, Tag("span")]
    | Annotated[Chosen, Tag("chosen")]
    | Annotated[Answer, Tag("answer")]
    | Annotated[Relation, Tag("relation")],
    Discriminator(_detect_shape),
]


class Layer(FrozenModel):
    """One person's objects, state and note at one node.

    ``rejected`` has the IDs of the suggestions of models that the person turned down.
    """

    state: State = "open"
    objects: tuple[Object, ...] = ()
    value: Value | None = None  # only if a person gave it; values of computed nodes are computed
    note: Note = ""
    rejected: Annotated[tuple[ObjectId, ...], Field(max_length=MOST_REJECTED, exclude_if=operator.not_)] = ()


ProblemKind = Literal["wrong module", "wrong argument", "wrong structure", "cannot be answered", "other"]


class Problem(FrozenModel):
    """The statement that the program itself is wrong."""

    kind: ProblemKind
    node: Position | None = None
    note: Note = ""


class Document(FrozenModel):
    """The annotation or gold of one item, by node index."""

    layers: dict[Position, Layer] = {}
    problem: Problem | None = None


class Image(FrozenModel):
    """An image of an item: its file name, and its size in pixels as shown.

    The size is None until the file has been opened.
    """

    name: Annotated[Plain, Field(max_length=MOST_NAME)]
    width: Annotated[int, Field(gt=0, lt=2**31)] | None = None
    height: Annotated[int, Field(gt=0, lt=2**31)] | None = None


class AnnotationRecord(FrozenModel):
    """One person's annotation of an item, as files hold it."""

    annotator: str
    document: Document
    status: str = "submitted"
    revision: Position = 0
    started: datetime | None = None
    submitted: datetime | None = None
    predictions_shown: tuple[str, ...] = ()  # system@revision of every prediction that was on the screen


class ItemRecord(FrozenModel):
    """An item of an annotation project, as files hold it."""

    external_id: Annotated[Plain, Field(min_length=1, max_length=200)]
    kind: Kind
    program: (
        str  # nested text, as `analysis.programs` prints it; a plain task as `annotation.content.labels` does
    )
    text: str  # the sentence about the images, or the question about the passage
    passage: str = ""
    tokens: tuple[tuple[Position, Position], ...] = ()  # code points of each token of the passage
    images: tuple[Image, ...] = ()
    answer: Value | None = None
    gold: Document | None = None
    annotations: tuple[AnnotationRecord, ...] = ()
    extra: dict[str, Any] = {}  # data that a format needs for a lossless round trip, by format


class ModuleOutput(FrozenModel):
    """A system's output at one node: probabilities, attention or a value.

    There is a probability per proposal, or attention per token. ``values`` are those of a node that runs for
    each image, the left one first. Without an index it belongs to the next
    node of that module in the program, in pre-order.
    """

    index: Position | None = None
    module: Plain
    probabilities: tuple[Fraction, ...] = ()
    attention: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] = ()
    value: Value | None = None
    values: tuple[Value, ...] = ()


class SystemRecord(FrozenModel):
    """A model output for one item. ``proposals`` holds each image's boxes.

    ``answer`` is the value of the whole program; None if it is unknown. ``marks`` are objects and answers to
    suggest, by node, and ``score`` says how certain the system is of all it says about the item.
    """

    id: Plain
    proposals: tuple[tuple[tuple[Fraction, Fraction, Fraction, Fraction], ...], ...] = ()
    modules: tuple[ModuleOutput, ...] = ()
    answer: Value | None = None
    marks: dict[Position, tuple[Object, ...]] = {}
    score: Fraction | None = None

    @model_validator(mode="after")
    def _check_has_content(self) -> SystemRecord:
        if not self.model_fields_set & {"modules", "marks"}:
            raise field_error("modules", "is missing, and so are marks; give one of them")
        return self
