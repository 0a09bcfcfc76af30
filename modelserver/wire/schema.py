"""Wire types of the model server, shared by server, client and site.

A *fact* is a sentence of an article, named ``(title, index)`` with the index 0-based. Offsets are
code points within that sentence, end exclusive. Probabilities are in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

SCHEMA_VERSION = 1
LONGEST_MESSAGE = 2_000  # characters
LONGEST_REVISION = 50
LONGEST_QUESTION = 10_000  # and longest program
LONGEST_TEXT = 1_000_000  # of a title, a sentence or an answer
MOST_LABELS = 100


def _check_version(version: int) -> int:
    if version != SCHEMA_VERSION:
        raise PydanticCustomError(
            "schema_mismatch",
            "speaks wire schema {theirs}, this side {ours}",
            {"theirs": version, "ours": SCHEMA_VERSION},
        )
    return version


SchemaVersion = Annotated[int, AfterValidator(_check_version)]


def _clean_message(text: object) -> object:
    """Shorten an error's text and make it valid JSON, whatever it quotes."""
    if not isinstance(text, str):
        return text
    shown = text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}…"
    return shown.encode("utf-8", "backslashreplace").decode()


def format_first_problem(error: ValidationError, *, whole: str = "") -> str:
    """Return the first problem that pydantic reports, as ``field: message``.

    ``whole`` names the value if the problem is not about one of its fields.
    """
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc'])) or whole}: {format_problem_message(problem)}"


def format_problem_message(problem: Any) -> str:
    """Return pydantic's message of a problem, about fields in plain words."""
    plain = {"missing": "is missing", "extra_forbidden": "there is no such field"}
    return plain.get(problem["type"], str(problem["msg"]))


Message = Annotated[str, BeforeValidator(_clean_message)]

AnswerType = Literal["span", "yes", "no", "label"]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]
# A natural logarithm of a probability; 0 probability is LEAST_LOGPROB, because JSON has no infinity.
LogProbability = Annotated[float, Field(le=0.0, allow_inf_nan=False)]
LEAST_LOGPROB = -700.0
# The bound also makes pydantic refuse lone surrogates, which are not valid text and not valid JSON.
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
# Of items: `find_text_problem` bounds these, because one item must not cost its whole request.
UnboundedText = Annotated[str, Field(max_length=2**31)]
Article = tuple[Text, list[Text]]
Context = list[Article]
Fact = tuple[Text, NonNegativeInt]


class Wire(BaseModel):
    """Base of all wire types: immutable, unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class QAItem(Wire):
    """One question with its articles.

    They have the HotpotQA form ``[[title, [sentence, ...]], ...]``. ``target`` is an answer of which the
    caller wants the probability beside the system's own answer. ``labels`` are the answers to choose from,
    such as the verdicts on a claim; without them the answer is free. `find_text_problem` bounds the texts.
    """

    id: Annotated[str, Field(min_length=1, max_length=200)]
    question: UnboundedText
    context: list[tuple[UnboundedText, list[UnboundedText]]]
    target: Text | None = None
    labels: Annotated[tuple[Text, ...], Field(max_length=MOST_LABELS)] = ()

    @model_serializer(mode="wrap")
    def _drop_unused_fields(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is not used: servers of other people know no such fields."""
        fields: dict[str, Any] = handler(self)
        if self.target is None:
            fields.pop("target", None)
        if not self.labels:
            fields.pop("labels", None)
        return fields


class AnswerLocation(Wire):
    """The position of a span answer.

    ``first`` and ``last`` differ if it crosses sentences. ``first`` or ``last`` is None for a token of a
    title, which is not a fact. ``start`` and ``end`` are code points, given only if the whole answer
    lies in one sentence.
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
        """Return the fact's key."""
        return (self.title, self.index)


class QuestionWeight(Wire):
    """The support of a token of the question for the answer.

    Larger is more; 0 or less is not at all. ``start`` and ``end`` are code points, end exclusive.
    """

    start: NonNegativeInt
    end: NonNegativeInt
    weight: Annotated[float, Field(allow_inf_nan=False)]

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        if self.end <= self.start:
            raise ValueError("end must lie after start")
        return self


class TokenWeight(QuestionWeight):
    """The support of a token of a fact for the answer.

    ``start`` and ``end`` count in the sentence.
    """

    title: Text
    index: NonNegativeInt


class Usage(Wire):
    """The tokens that a language model was sent and wrote for one item.

    ``cached_tokens`` are those of the input that the server had read before.
    """

    input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0
    cached_tokens: NonNegativeInt = 0


class QAPrediction(Wire):
    """A system's answer and explanation for one item.

    ``facts`` are those predicted relevant, most relevant first. ``fact_probabilities`` hold every
    fact of the context in its order, or None when the system gives none. ``threshold`` is what a
    probability must exceed to count as relevant. ``explanation_weights`` are of the context's tokens and
    ``question_weights`` of the question's, if known.

    ``rationale`` is the explanation that a language model wrote, and ``unknown_citations`` are the
    sentence numbers it cited that no sentence has. ``answer_logprob`` is the logarithm of the probability
    of the answer, and ``target_logprob`` that of the item's ``target``.
    """

    id: str
    answer: Text
    type: AnswerType | None = None
    location: AnswerLocation | None = None
    facts: list[Fact]
    fact_probabilities: list[FactProbability] | None = None
    threshold: Probability | None = None
    explanation_weights: list[TokenWeight] | None = None
    question_weights: list[QuestionWeight] | None = None
    rationale: Text | None = None
    answer_logprob: LogProbability | None = None
    target_logprob: LogProbability | None = None
    usage: Usage | None = None
    unknown_citations: list[int] | None = None


SaliencyMethod = Literal["integrated-gradients", "occlusion", "gradient-x-input"]


class SaliencyOptions(Wire):
    """The explained value and the method; see `docs/reference/saliency.md`.

    ``target`` is the largest start logit, or start + end logit of the best span. ``summary`` turns the
    numbers of an embedding into one for methods with gradients; ``steps`` are of Integrated Gradients.
    """

    method: SaliencyMethod = "integrated-gradients"
    target: Literal["start", "span"] = "start"
    level: Literal["token", "word"] = "token"
    baseline: Literal["mask", "zero"] = "mask"
    summary: Literal["l1", "l2", "dot"] = "l2"
    steps: Annotated[int, Field(ge=1, le=500)] = 50


class SaliencyScore(Wire):
    """The saliency of one token or word, at code points ``start`` to ``end``.

    They count in the question if ``title`` and ``article`` are None, and in the title if only ``index``
    is. ``article`` is the 0-based position of the paragraph in the context, because two may have the
    same title.
    """

    article: NonNegativeInt | None
    title: Text | None
    index: NonNegativeInt | None
    start: NonNegativeInt
    end: NonNegativeInt
    score: Annotated[float, Field(allow_inf_nan=False)]


class Explanation(Wire):
    """Saliency of one item as the system read it: question, then context.

    ``first`` and ``last`` are the positions, in ``scores``, of the tokens whose logits are explained.
    ``value`` is the explained number and ``baseline_value`` the same number on the baseline. ``delta``
    is the sum of all attributions less ``value - baseline_value``. The last two are of Integrated
    Gradients alone.
    """

    id: str
    revision: str
    options: SaliencyOptions
    scores: list[SaliencyScore]
    first: NonNegativeInt
    last: NonNegativeInt
    value: Annotated[float, Field(allow_inf_nan=False)]
    baseline_value: Annotated[float, Field(allow_inf_nan=False)] | None = None
    delta: Annotated[float, Field(allow_inf_nan=False)] | None = None


Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Box = tuple[Fraction, Fraction, Fraction, Fraction]


class ModuleImage(Wire):
    """An image: a PNG or JPEG file in base64, or a name.

    The name alone is enough if the system has the image's region features.
    """

    name: Annotated[str, Field(max_length=1_000)]
    data: Base64Bytes | None = None


class ModuleItem(Wire):
    """An item for a modular network: a sentence on images, or a question.

    A question is about a passage. ``program`` is nested text as `analysis.programs` prints it; None
    leaves it to the system's own parser. ``tokens`` are code points of the passage, ends exclusive;
    attentions are over these. `find_text_problem` bounds the texts.
    """

    id: Annotated[str, Field(min_length=1, max_length=200)]
    text: UnboundedText
    program: UnboundedText | None = None
    passage: UnboundedText = ""
    tokens: list[tuple[NonNegativeInt, NonNegativeInt]] = []
    images: list[ModuleImage] = []


def find_text_problem(item: QAItem | ModuleItem) -> str | None:
    """Return ``field: message`` for an empty or too long text, or None."""
    for field, text, most in _list_texts(item):
        if len(text) > most:
            return f"{field}: {len(text)} characters; at most {most} are read"
        if not text and field in ("question", "text"):
            return f"{field}: it is empty"
    return None


def _list_texts(item: QAItem | ModuleItem) -> Iterator[tuple[str, str, int]]:
    """Yield field, text and bound of each text of an item."""
    if isinstance(item, ModuleItem):
        yield "text", item.text, LONGEST_QUESTION
        yield "program", item.program or "", LONGEST_QUESTION
        yield "passage", item.passage, LONGEST_TEXT
        return
    yield "question", item.question, LONGEST_QUESTION
    for article, (title, sentences) in enumerate(item.context):
        yield f"context.{article}.0", title, LONGEST_TEXT
        for number, sentence in enumerate(sentences):
            yield f"context.{article}.1.{number}", sentence, LONGEST_TEXT


ModuleValue = bool | int | Annotated[float, Field(allow_inf_nan=False)] | str


class NodeOutput(Wire):
    """The output of one node of a program, nodes numbered in pre-order.

    ``probabilities`` are of the proposals, those of the first image, then those of the next.
    ``attention`` is over the item's tokens. ``value`` is the node's most probable or expected value, by
    its type. A node that runs for each image alone, or with each as the one, has no single value:
    ``values`` are those of its runs, the left image first.
    """

    index: NonNegativeInt
    module: str
    probabilities: list[Probability] = []
    attention: list[Annotated[float, Field(ge=0.0, allow_inf_nan=False)]] = []
    value: ModuleValue | None = None
    values: list[ModuleValue] = []


class Execution(Wire):
    """An executed program: its answer and the output of every node.

    ``proposals`` are the candidate boxes of each image: left, top, right, bottom, as fractions of it.
    """

    id: str
    program: str
    answer: ModuleValue
    proposals: list[list[Box]] = []
    modules: list[NodeOutput]


class ItemError(Wire):
    """Why one item of a batch has no prediction; the others are unaffected."""

    id: str
    error: Literal["invalid_item", "prediction_failed", "out_of_memory", "invalid_answer", "refused"]
    message: Message


Asked = TypeVar("Asked", QAItem, ModuleItem)


def _check_unique_ids(items: list[Asked]) -> list[Asked]:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise ValueError(f"two items have the id {item.id!r}")
        seen.add(item.id)
    return items


class SystemRequest(Wire):
    """Base of the requests to one system."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    system: str


class SystemResponse(SystemRequest):
    """Base of the responses of one system."""

    revision: str


class PredictRequest(SystemRequest):
    """``POST /v1/predict``: items for one system, batched in any way."""

    items: Annotated[list[QAItem], Field(min_length=1), AfterValidator(_check_unique_ids)]


class PredictResponse(SystemResponse):
    """One prediction or one error for every item, in the order of the request."""

    predictions: list[QAPrediction | ItemError]


class ExplainRequest(PredictRequest):
    """``POST /v1/explain``: items for one system, and what to explain how."""

    options: SaliencyOptions = SaliencyOptions()


class ExplainResponse(SystemResponse):
    """One explanation or error for every item, in the order of the request."""

    explanations: list[Explanation | ItemError]


class ExecuteRequest(SystemRequest):
    """``POST /v1/execute``: programs for a modular network, in any batching."""

    items: Annotated[list[ModuleItem], Field(min_length=1), AfterValidator(_check_unique_ids)]


class ExecuteResponse(SystemResponse):
    """One execution or one error for every item, in the order of the request."""

    executions: list[Execution | ItemError]


SystemKind = Literal["reader", "modular"]
ProgramKind = Literal["boxes", "spans"]


class LanguageModel(Wire):
    """The language model behind a system, where texts go, and what that costs.

    ``recipient`` is the address of the server that texts are sent to; empty if they stay on the model
    server. Prices are per million tokens, None if not declared. ``prompt_characters`` are those of the
    instructions sent with each item, ``requests`` are how many an item needs at least, and
    ``spent_tokens`` and ``spent_money`` are those of all requests so far.
    """

    model: str
    recipient: str = ""
    order: str = ""
    relevance: str = ""
    prompt_characters: NonNegativeInt = 0
    most_output_tokens: NonNegativeInt = 0
    input_price: Annotated[float, Field(ge=0)] | None = None
    output_price: Annotated[float, Field(ge=0)] | None = None
    currency: str = ""
    budget_tokens: NonNegativeInt | None = None
    budget_money: Annotated[float, Field(ge=0)] | None = None
    spent_tokens: NonNegativeInt = 0
    spent_money: Annotated[float, Field(ge=0)] = 0.0


class SystemInfo(Wire):
    """A served system.

    ``revision`` is a digest of its weights and configuration. It is empty for a system that has not been
    loaded since the server started; ``POST /v1/load`` loads it. ``kind`` is "modular" for a network that
    executes programs; a reader answers questions. ``programs`` is the kind of programs that a network
    executes: over boxes of images, or over spans of a passage; None if it takes both, or is a reader.
    ``spans_only`` marks a reader that answers with words of the articles, yes or no, and chooses no labels.
    ``language_model`` is that of a reader that asks one, once it is loaded.
    """

    name: str
    revision: str
    description: str
    loaded: bool
    kind: SystemKind = "reader"
    programs: ProgramKind | None = None
    spans_only: bool = False
    language_model: LanguageModel | None = None


class LoadRequest(SystemRequest):
    """``POST /v1/load``: load a system if needed; answers its SystemInfo."""


class SystemList(Wire):
    """``GET /v1/systems``."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    systems: list[SystemInfo]


class ErrorBody(Wire):
    """Every non-2xx response of the server."""

    error: str
    message: Message
    field: Message | None = None
