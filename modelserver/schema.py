"""Wire types of the model server: what goes in and out, declared once, for server, client and site.

A *fact* is a sentence of an article, named ``(title, index)`` with the index 0-based. Offsets are
code points within that sentence, end exclusive. Probabilities are in [0, 1].
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    model_validator,
)
from pydantic_core import PydanticCustomError

SCHEMA_VERSION = 1
LONGEST_MESSAGE = 2_000  # characters
LONGEST_REVISION = 50


def _same_version(version: int) -> int:
    if version != SCHEMA_VERSION:
        raise PydanticCustomError(
            "schema_mismatch",
            "speaks wire schema {theirs}, this side {ours}",
            {"theirs": version, "ours": SCHEMA_VERSION},
        )
    return version


SchemaVersion = Annotated[int, AfterValidator(_same_version)]


def _sayable(text: object) -> object:
    """Shorten a text about an error and make it one that fits into JSON: it may quote anything."""
    if not isinstance(text, str):
        return text
    shown = text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}…"
    return shown.encode("utf-8", "backslashreplace").decode()


Message = Annotated[str, BeforeValidator(_sayable)]

AnswerType = Literal["span", "yes", "no"]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]
# The bound also makes pydantic refuse lone surrogates, which are no text and fit into no JSON.
Text = Annotated[str, Field(max_length=1_000_000)]
Article = tuple[Text, list[Text]]
Context = list[Article]
Fact = tuple[Text, NonNegativeInt]


class Wire(BaseModel):
    """Base of all wire types: immutable, and an unknown field is an error rather than ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class QAItem(Wire):
    """One question with its articles, in the HotpotQA form ``[[title, [sentence, ...]], ...]``."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    question: Annotated[str, Field(min_length=1, max_length=10_000)]
    context: Context


class AnswerLocation(Wire):
    """Where a span answer lies. ``first`` and ``last`` differ when it crosses sentences.

    ``first`` or ``last`` is None for a token of a title, which is no fact. ``start`` and ``end`` are
    code points, given only when the whole answer lies in one sentence.
    """

    first: Fact | None
    last: Fact | None
    start: NonNegativeInt | None = None
    end: NonNegativeInt | None = None

    @model_validator(mode="after")
    def _offsets_need_one_sentence(self) -> Self:
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end are given together or not at all")
        if self.start is not None and self.end is not None:
            if self.first is None or self.first != self.last:
                raise ValueError("start and end need an answer inside one sentence")
            if self.end < self.start:
                raise ValueError("end lies before start")
        return self


class FactProbability(Wire):
    """The predicted relevance of one fact."""

    title: Text
    index: NonNegativeInt
    probability: Probability

    @property
    def fact(self) -> Fact:
        return (self.title, self.index)


class TokenWeight(Wire):
    """How much a token of a fact spoke for the answer: larger is more, at or below 0 is not at all.

    ``start`` and ``end`` are code points in the sentence, end exclusive.
    """

    title: Text
    index: NonNegativeInt
    start: NonNegativeInt
    end: NonNegativeInt
    weight: Annotated[float, Field(allow_inf_nan=False)]

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        if self.end <= self.start:
            raise ValueError("end must lie after start")
        return self


class QAPrediction(Wire):
    """A system's answer and explanation for one item.

    ``facts`` are those predicted relevant, most relevant first. ``fact_probabilities`` hold every
    fact of the context in its order, or None when the system gives none. ``threshold`` is what a
    probability must exceed to count as relevant. ``explanation_weights`` are of tokens, where known.
    """

    id: str
    answer: Text
    type: AnswerType | None = None
    location: AnswerLocation | None = None
    facts: list[Fact]
    fact_probabilities: list[FactProbability] | None = None
    threshold: Probability | None = None
    explanation_weights: list[TokenWeight] | None = None


class ItemError(Wire):
    """Why one item of a batch has no prediction; the others are unaffected."""

    id: str
    error: Literal["invalid_item", "prediction_failed", "out_of_memory"]
    message: Message


def _unique_ids(items: list[QAItem]) -> list[QAItem]:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise ValueError(f"two items have the id {item.id!r}")
        seen.add(item.id)
    return items


class PredictRequest(Wire):
    """``POST /v1/predict``: items for one system, answered in one response, in any batching."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    system: str
    items: Annotated[list[QAItem], Field(min_length=1), AfterValidator(_unique_ids)]


class PredictResponse(Wire):
    """One prediction or one error for every item, in the order of the request."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    system: str
    revision: str
    predictions: list[QAPrediction | ItemError]


class SystemInfo(Wire):
    """A served system. ``revision`` is a digest of its weights and configuration.

    It is empty for a system that has not been loaded since the server started; ``POST /v1/load`` loads it.
    """

    name: str
    revision: str
    description: str
    loaded: bool


class LoadRequest(Wire):
    """``POST /v1/load``: load a system if it is not; the answer is its SystemInfo."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    system: str


class SystemList(Wire):
    """``GET /v1/systems``."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    systems: list[SystemInfo]


class ErrorBody(Wire):
    """Every non-2xx response of the server."""

    error: str
    message: Message
    field: Message | None = None
