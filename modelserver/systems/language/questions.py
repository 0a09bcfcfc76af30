"""A question as a prompt, and a language model's JSON as a prediction.

Sentences are numbered from 1 through all articles, and the model cites them by number. The order of the
fields is the order in which the model writes, so that ``explain-first`` and ``answer-first`` make two
systems that differ in nothing else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from analysis.scores.hotpotqa import normalise_answer
from modelserver.wire.schema import (
    LEAST_LOGPROB,
    AnswerLocation,
    AnswerType,
    Fact,
    FactProbability,
    QAItem,
    QAPrediction,
    Usage,
    format_first_problem,
)

Order = Literal["explain-first", "answer-first"]
Relevance = Literal["citation", "leave-one-out"]
Numbers = Literal["before", "behind"]  # a sentence's number stands there
FIELDS: dict[Order, tuple[str, ...]] = {
    "explain-first": ("rationale", "facts", "type", "answer"),
    "answer-first": ("answer", "type", "facts", "rationale"),
}
ORDER_SENTENCES: dict[Order, str] = {
    "explain-first": "Explain first: write the rationale before the answer.",
    "answer-first": "Answer first: write the answer before the rationale.",
}
MEANINGS = {
    "answer": "the answer in as few words as possible, copied from the sentences; or yes, or no",
    "type": '"span" for words of the sentences, "yes" or "no"',
    "facts": "the numbers of the sentences that the answer needs, the most important first",
    "rationale": "one sentence that explains the answer",
}
PROMPT = """\
Answer the question from the numbered sentences.

{sentences}

Question: {question}

Write one JSON object and nothing else, with these fields in this order:
{fields}
{order}
"""
REQUIRED = ("{sentences}", "{question}", "{order}")
PLACEHOLDERS = (*REQUIRED, "{fields}")
LONGEST_ANSWER, LONGEST_RATIONALE = 2_000, 10_000  # characters
MOST_FACTS = 100
_PLACEHOLDER = re.compile("|".join(map(re.escape, PLACEHOLDERS)))
_FENCED = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)
_SPACE = re.compile(r"\s*")


class ModelAnswer(BaseModel):
    """The JSON object that a language model writes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    answer: Annotated[str, Field(max_length=LONGEST_ANSWER)]
    type: AnswerType
    facts: Annotated[list[int], Field(max_length=MOST_FACTS)]
    rationale: Annotated[str, Field(max_length=LONGEST_RATIONALE)]

    @field_validator("answer", "rationale")
    @classmethod
    def _has_no_zero(cls, text: str) -> str:
        if "\0" in text:
            raise ValueError("holds the character 0, which no database takes")
        return text


class InvalidAnswer(Exception):
    """The text of a model is not the JSON object that it was asked for."""


class Numbered(NamedTuple):
    """Numbered sentences as text; ``facts`` are those of number 1, 2, …."""

    text: str
    facts: list[Fact]


def number_sentences(context: Sequence[tuple[str, Sequence[str]]], numbers: Numbers = "before") -> Numbered:
    """Give the sentences of all articles numbers from 1.

    A small causal model cites better if the numbers stand behind: one before, it reads before it knows what
    is numbered.
    """
    lines: list[str] = []
    facts: list[Fact] = []
    for title, sentences in context:
        lines.append(f"Article: {title}")
        for index, sentence in enumerate(sentences):
            facts.append((title, index))
            number, text = f"[{len(facts)}]", sentence.strip()
            lines.append(f"{number} {text}" if numbers == "before" else f"{text} {number}")
    return Numbered("\n".join(lines), facts)


def build_prompt(template: str, item: QAItem, order: Order, numbers: Numbers = "before") -> str:
    """Fill a template; what an item's texts hold in braces stays as it is."""
    values = {
        "{sentences}": number_sentences(item.context, numbers).text,
        "{question}": item.question,
        "{fields}": "\n".join(f"- {name}: {_describe_fields(item.labels)[name]}" for name in FIELDS[order]),
        "{order}": ORDER_SENTENCES[order],
    }
    return _PLACEHOLDER.sub(lambda match: values[match[0]], template)


def _describe_fields(labels: Sequence[str]) -> dict[str, str]:
    if not labels:
        return MEANINGS
    chosen = ", ".join(json.dumps(label, ensure_ascii=False) for label in labels)
    return MEANINGS | {"answer": f"the label that fits: one of {chosen}", "type": '"label"'}


def build_answer_schema(order: Order, labels: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON schema of an answer, its fields in the order of writing.

    With ``labels`` the answer is one of them.
    """
    kinds: dict[str, dict[str, Any]] = {
        "answer": {"type": "string", "enum": list(labels)} if labels else {"type": "string"},
        "type": {"type": "string", "enum": ["label"] if labels else ["span", "yes", "no"]},
        "facts": {"type": "array", "items": {"type": "integer"}},
        "rationale": {"type": "string"},
    }
    return {
        "type": "object",
        "properties": {name: kinds[name] for name in FIELDS[order]},
        "required": list(FIELDS[order]),
        "additionalProperties": False,
    }


def parse_answer(text: str, labels: Sequence[str] = ()) -> ModelAnswer:
    """Read a model's JSON, which may stand in a fenced block.

    Raises:
        InvalidAnswer: It is no such object, or another answer than one of the labels; names the field.
    """
    fenced = _FENCED.fullmatch(text)
    try:
        answer = ModelAnswer.model_validate_json(fenced[1] if fenced else text)
    except ValidationError as error:
        raise InvalidAnswer(format_first_problem(error, whole="answer")) from error
    if bool(labels) != (answer.type == "label"):
        raise InvalidAnswer(f"type: it is {answer.type!r}, and the item has {'' if labels else 'no '}labels")
    if labels and answer.answer not in labels:
        raise InvalidAnswer(f"answer: {answer.answer[:100]!r} is none of the labels")
    return answer


def find_value_bounds(text: str, name: str) -> tuple[int, int] | None:
    """Return start and end of a field's value in the text of a JSON object.

    None if the object does not have the field.
    """
    position = text.find("{") + 1
    decoder = json.JSONDecoder()
    try:
        while position:
            position = _skip_space(text, position)
            key, position = scanstring(text, position + 1, True)
            start = _skip_space(text, _skip_space(text, position) + 1)
            _, end = decoder.raw_decode(text, start)
            if key == name:
                return start, end
            position = _skip_space(text, end) + 1  # after the comma
    except (ValueError, IndexError):
        pass
    return None


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def compute_target_logprob(answer: str, logprob: float | None, target: str | None) -> float | None:
    """Return a target's log-probability, as far as one answer tells.

    A server tells the probability of what it wrote. If that is another answer, the target can have had at
    most the rest of the probability, and that bound is returned.
    """
    if logprob is None or target is None:
        return None
    if normalise_answer(answer) == normalise_answer(target):
        return logprob
    rest = -math.expm1(logprob)  # 1 - p
    return max(LEAST_LOGPROB, math.log(rest)) if rest > 0 else LEAST_LOGPROB


def compute_lost_share(whole: float, without: float) -> float:
    """Return the share of an answer's probability that a sentence carried.

    That is 1 - p(answer | context without the sentence) / p(answer | context), and 0 for a sentence
    without which the answer is more probable.
    """
    return max(0.0, -math.expm1(min(0.0, without - whole)))


def leave_out(item: QAItem, number: int) -> QAItem:
    """Return an item without the sentence of a number."""
    context = [(title, list(sentences)) for title, sentences in item.context]
    left = number
    for _, sentences in context:
        if left <= len(sentences):
            del sentences[left - 1]
            break
        left -= len(sentences)
    return item.model_copy(update={"context": context})


def add_usage(*usages: Usage) -> Usage:
    """Return the sum of tokens."""
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
    )


def build_prediction(
    item: QAItem,
    answer: ModelAnswer,
    *,
    logprob: float | None = None,
    target: float | None = None,
    usage: Usage | None = None,
    relevance: Mapping[int, float] | None = None,
) -> QAPrediction:
    """Return a model's answer to an item as a prediction.

    Cited numbers become facts; the probability of the first cited is 1 and that of the others falls to
    more than a half, so that FaRM removes them in the order cited. With ``relevance`` (by sentence number)
    those are the probabilities, and facts are ordered by them.
    """
    facts = number_sentences(item.context).facts
    cited = [number for number in dict.fromkeys(answer.facts) if 0 < number <= len(facts)]
    chances = relevance or {number: 1 - rank / (2 * len(cited)) for rank, number in enumerate(cited)}
    cited.sort(key=lambda number: -chances.get(number, 0.0))
    chosen = list(dict.fromkeys(facts[number - 1] for number in cited))
    probability: dict[Fact, float] = {}
    for number, fact in enumerate(facts, start=1):
        probability[fact] = max(probability.get(fact, 0.0), chances.get(number, 0.0))
    return QAPrediction(
        id=item.id,
        answer=answer.answer,
        type=answer.type,
        location=locate(item, answer.answer, chosen) if answer.type == "span" else None,
        facts=chosen,
        fact_probabilities=[
            FactProbability(title=title, index=index, probability=p)
            for (title, index), p in probability.items()
        ],
        rationale=answer.rationale,
        answer_logprob=logprob,
        target_logprob=target,
        usage=usage,
        unknown_citations=[number for number in dict.fromkeys(answer.facts) if not 0 < number <= len(facts)],
    )


def locate(item: QAItem, answer: str, cited: Sequence[Fact]) -> AnswerLocation:
    """Return the location of an answer, in a cited sentence if it can be.

    Else it is in the first sentence that holds it. A model may use words that no sentence has. Such an
    answer lies in no sentence, as one in a title does.
    """
    texts: dict[Fact, str] = {}
    for title, sentences in item.context:
        for index, sentence in enumerate(sentences):
            texts.setdefault((title, index), sentence)
    wanted = re.compile(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", re.IGNORECASE)
    for fact in (*cited, *texts):
        match = wanted.search(texts[fact]) if answer.strip() else None
        if match:
            return AnswerLocation(first=fact, last=fact, start=match.start(), end=match.end())
    return AnswerLocation(first=None, last=None)
