"""Instances of a probe: a question, its counterfactual, and a partition.

The partition has the parts of a text that ought to count. Instances are plain
JSON lines, so that people can check and repair them and other programs can
make them.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from ..io.errors import InputError
from ..io.whole_files import format_json_lines, parse_model, read_lines
from .partitions import Partition, Span

Text = Annotated[str, Field(min_length=1)]
Context = Sequence[tuple[str, Sequence[str]]]
Where = Literal["question", "context"]
Extent = Literal["", "facts", "paragraphs"]
Verdict = Literal["", "valid", "repaired", "rejected"]
# Article (None: the question), sentence (None: a title), first and last code point, number.
Weight = tuple[int | None, int | None, int, int, float]

CONFIRMED: tuple[Verdict, ...] = ("valid", "repaired")
BETWEEN = "\n"  # articles of a context as one text


class _Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Version(_Plain):
    """Input of a system in the HotpotQA form, with the right answer.

    Attributes:
        question: Text of the question.
        context: Title and sentences of each article.
        answer: Right answer; None while nobody knows it.
    """

    question: Text
    context: list[tuple[str, list[str]]]
    answer: str | None


class Instance(_Plain):
    """Question and counterfactual, with a partition of the original's text.

    Attributes:
        id: Unique among the instances.
        question_id: ID of the original question.
        step: Reasoning step, such as "comparison".
        distribution: "in" for words of the training data, "out" for words that they lack.
        extent: The part of the context that is left, "facts" or "paragraphs"; empty for all of it.
        original: The original question.
        counterfactual: Its counterfactual.
        where: "question" or "context": the text that the spans are of; a context's text is that of
            `join_context`.
        positive: Spans that ought to count, in code points, end exclusive.
        negative: Spans that ought not to.
        near_synonym: The swap hardly changes the meaning.
        verdict: Of the people who looked at it; empty if nobody has.
        note: Their note.
        reviews: The verdict of each of several people before it was settled.
    """

    id: Text
    question_id: Text
    step: Text
    distribution: Literal["in", "out"] = "in"
    extent: Extent = ""
    original: Version
    counterfactual: Version
    where: Where
    positive: list[Span]
    negative: list[Span]
    near_synonym: bool = False
    verdict: Verdict = ""
    note: str = ""
    reviews: list[Verdict] = []

    @model_validator(mode="after")
    def _parts_lie_in_their_text(self) -> Self:
        size = len(self.text)
        for name, spans in (("positive", self.positive), ("negative", self.negative)):
            if wrong := [span for span in spans if not 0 <= span[0] < span[1] <= size]:
                raise _make_error(f"{name}: {list(wrong[0])} is not within the {size} characters")
        try:
            _ = self.partition
        except ValueError as error:
            raise _make_error(str(error)) from error
        return self

    @property
    def text(self) -> str:
        """The text that the parts are of."""
        original = self.original
        return original.question if self.where == "question" else join_context(original.context)

    @property
    def partition(self) -> Partition:
        """Both parts."""
        return Partition(tuple(self.positive), tuple(self.negative))

    @property
    def is_doubtful(self) -> bool:
        """True if the swap hardly changes the meaning and nobody confirmed it."""
        return self.near_synonym and self.verdict not in CONFIRMED

    def tokens(self, weights: Iterable[Weight]) -> Iterator[tuple[int, int, float]]:
        """Yield start, end and number of the original's tokens in the text.

        The text is the partition's. Titles are not part of a context's text.

        Args:
            weights: Article (None: the question), sentence (None: a title), first and last code point, and
                number of each token.

        Yields:
            Code points in the text, end exclusive, and number.

        Raises:
            KeyError: The original lacks an article or a sentence.
        """
        offsets = find_sentence_starts(self.original.context) if self.where == "context" else {}
        for article, index, start, end, number in weights:
            if self.where == "question":
                if article is None:
                    yield start, end, number
            elif article is not None and index is not None:
                shift = offsets[article, index]
                yield shift + start, shift + end, number


def _make_error(problem: str) -> PydanticCustomError:
    return PydanticCustomError("parts", "{problem}", {"problem": problem})


def join_context(context: Context) -> str:
    r"""Join a context's sentences, articles in lines of their own.

    Examples:
        >>> join_context([("A", ["One. ", "Two."]), ("B", ["Three."])])
        'One. Two.\nThree.'
    """
    return BETWEEN.join("".join(sentences) for _, sentences in context)


def find_sentence_starts(context: Context) -> dict[tuple[int, int], int]:
    """Return the start of each sentence, by article and index, in that text."""
    offsets: dict[tuple[int, int], int] = {}
    at = 0
    for article, (_, sentences) in enumerate(context):
        for index, sentence in enumerate(sentences):
            offsets[article, index] = at
            at += len(sentence)
        at += len(BETWEEN)
    return offsets


def read_instances(path: Path) -> list[Instance]:
    """Read instances from JSON lines.

    Args:
        path: File of JSON lines with the fields of `Instance`.

    Returns:
        Instances in the file's order.

    Raises:
        InputError: The file is missing or malformed; names file, line and field.
    """
    lines: dict[str, int] = {}
    return read_lines(path, lambda number, line: _read_line(path, number, line, lines), what="instance")


def _read_line(path: Path, number: int, line: bytes, lines: dict[str, int]) -> Instance:
    where = f"line {number}"
    instance = parse_model(Instance, line, path, where=where)
    first = lines.setdefault(instance.id, number)
    if first != number:
        raise InputError(path, f"{instance.id!r} is already in line {first}", where=where, field="id")
    return instance


def instances_text(instances: Iterable[Instance]) -> str:
    """Write instances as JSON lines, the same bytes for the same instances.

    Args:
        instances: Instances to write, in order.

    Returns:
        JSON lines.
    """
    return format_json_lines(instance.model_dump() for instance in instances)
