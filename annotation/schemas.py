"""What people say about an item, and the items themselves, as they cross files, the wire and JSON columns.

A `Document` holds one layer per distinct subtree of the item's program (equal subtrees share theirs, under
the index of the first one in pre-order). Boxes are fractions of the image as it is shown, after its EXIF
orientation; spans count code points, end exclusive, and name the same place in tokens, with the quote.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

Kind = Literal["boxes", "spans"]
State = Literal["open", "done", "nothing", "unsure"]
Plain = Annotated[str, Field(pattern=r"^[^\x00]*$")]  # PostgreSQL stores no NUL
Value = bool | int | Annotated[float, Field(allow_inf_nan=False)] | Plain
ObjectId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:-]+$")]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Position = Annotated[int, Field(ge=0, lt=2**31)]  # what both databases can store
Note = Annotated[str, Field(max_length=2000, pattern=r"^[^\x00]*$")]


class Payload(BaseModel):
    """What all types here have in common: unknown fields are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Drawn(Payload):
    """What a new box or span carries besides its place."""

    id: ObjectId
    links: tuple[ObjectId, ...] = ()  # objects of a child's layer that this one was found from
    reason: Note = ""  # why it is new where one chooses among the child's objects


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


class Span(Drawn):
    """A stretch of the passage: code points and tokens, ends exclusive, and the characters themselves."""

    span: tuple[Position, Position]
    tokens: tuple[Position, Position]
    quote: str

    @model_validator(mode="after")
    def _is_not_empty(self) -> Span:
        if self.span[1] <= self.span[0] or self.tokens[1] <= self.tokens[0]:
            raise ValueError("a span must end after it starts")
        return self


class Chosen(Payload):
    """An object of a child's layer, taken over by reference: it moves when that one is moved."""

    id: ObjectId
    ref: ObjectId


def _shape(value: object) -> str:
    """Say which kind of object a value is, by the field that only that kind has."""
    if isinstance(value, dict):
        return "chosen" if "ref" in value else "span" if "span" in value else "box"
    # Writing asks for each object: looking for absent attributes of a model would take most of its time.
    return "chosen" if isinstance(value, Chosen) else "span" if isinstance(value, Span) else "box"


Object = Annotated[
    Annotated[Box, Tag("box")] | Annotated[Span, Tag("span")] | Annotated[Chosen, Tag("chosen")],
    Discriminator(_shape),
]


class Layer(Payload):
    """What a person says about one node: its objects, and how far they got with it."""

    state: State = "open"
    objects: tuple[Object, ...] = ()
    value: Value | None = None  # only where somebody gave it; values of computed nodes are computed
    note: Note = ""


ProblemKind = Literal["wrong module", "wrong argument", "wrong structure", "cannot be answered", "other"]


class Problem(Payload):
    """The statement that the program itself is wrong."""

    kind: ProblemKind
    node: Position | None = None
    note: Note = ""


class Document(Payload):
    """All that one person, or the gold, says about one item. Keys of `layers` are node indices."""

    layers: dict[Position, Layer] = {}
    problem: Problem | None = None


class Image(Payload):
    """An image of an item: where its file lies, and its size in pixels as shown (None: not opened yet)."""

    name: Plain
    width: Annotated[int, Field(gt=0)] | None = None
    height: Annotated[int, Field(gt=0)] | None = None


class AnnotationRecord(Payload):
    """One person's document with what an analysis of it needs to know."""

    annotator: str
    document: Document
    status: str = "submitted"
    revision: Position = 0
    started: datetime | None = None
    submitted: datetime | None = None
    predictions_shown: tuple[str, ...] = ()  # system@revision of every prediction that was on the screen


class ItemRecord(Payload):
    """An item of an annotation project, as files carry it in and out."""

    external_id: Annotated[Plain, Field(min_length=1, max_length=200)]
    kind: Kind
    program: str  # nested text, as `analysis.programs` prints it
    text: str  # the sentence about the images, or the question about the passage
    passage: str = ""
    tokens: tuple[tuple[Position, Position], ...] = ()  # code points of each token of the passage
    images: tuple[Image, ...] = ()
    answer: Value | None = None
    gold: Document | None = None
    annotations: tuple[AnnotationRecord, ...] = ()
    extra: dict[str, Any] = {}  # what a format needs to go out again without loss, under the format's name


class ModuleOutput(Payload):
    """What a system put out at one node: a probability per proposal, or per token, or a value.

    Without an index it is of the next node of that module in the program, in pre-order.
    """

    index: Position | None = None
    module: Plain
    probabilities: tuple[Fraction, ...] = ()
    attention: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] = ()
    value: Value | None = None


class SystemRecord(Payload):
    """A system's output for one item. ``proposals`` holds the candidate boxes of each image.

    ``answer`` is what the whole program came to; None where it is not known.
    """

    id: Plain
    proposals: tuple[tuple[tuple[Fraction, Fraction, Fraction, Fraction], ...], ...] = ()
    modules: tuple[ModuleOutput, ...]
    answer: Value | None = None
