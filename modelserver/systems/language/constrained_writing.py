"""Constrained decoding: what a model writes is the JSON asked for.

The names of the fields are given; the model writes only their values, and chooses among the tokens that a
value may have there. Its own quotation mark, or closing bracket, ends a value. Because the text around the
values is given, no answer fails to parse. One `AnswerWriter` is one answer: a batch advances them together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from modelserver.systems.language.questions import FIELDS, ModelAnswer, Order
from modelserver.wire.schema import LEAST_LOGPROB

TYPES = ("span", "yes", "no")
_IN_TEXT = re.compile(r'[^"\\\x00-\x1f]+')
_IN_LIST = re.compile(r"[\d, ]+")
LIST_TOKENS = 60
# The labels that an answer may be, by their tokens.
LabelTokens = Mapping[tuple[int, ...], str]


@dataclass(frozen=True)
class TokenSets:
    """Tokens that a value may have, and that end it, [vocabulary]."""

    in_text: Tensor
    ends_text: Tensor
    in_list: Tensor
    ends_list: Tensor

    @classmethod
    def of(cls, texts: Sequence[str], special: Sequence[int], size: int) -> TokenSets:
        """Return the sets of a vocabulary, whose tokens read as ``texts``."""

        def mask(fits: Callable[[str], object]) -> Tensor:
            chosen = torch.zeros(size, dtype=torch.bool)
            chosen[: len(texts)] = torch.tensor([bool(fits(text)) for text in texts])
            chosen[list(special)] = False
            return chosen

        return cls(
            in_text=mask(_IN_TEXT.fullmatch),
            ends_text=mask(lambda text: text.startswith('"')),
            in_list=mask(_IN_LIST.fullmatch),
            ends_list=mask(lambda text: text.startswith("]")),
        )


def encode_labels(labels: Sequence[str], encode: Callable[[str], list[int]]) -> LabelTokens:
    """Return the labels by their tokens inside a JSON text."""
    return {tuple(encode(json.dumps(label, ensure_ascii=False)[1:-1])): label for label in labels}


def label_chances(
    logits: Tensor, written: Sequence[int], labels: LabelTokens, sets: TokenSets
) -> tuple[Tensor, float]:
    """Return the log-probabilities of what may follow in a label.

    Args:
        logits: Those of the model for the next token, [vocabulary].
        written: The tokens of the label so far.
        labels: All labels.
        sets: The sets of the vocabulary.

    Returns:
        Those of all tokens, -inf for one that continues no label, and that of the end.
    """
    size = len(written)
    alive = [tokens for tokens in labels if tokens[:size] == tuple(written)]
    allowed = torch.zeros_like(sets.in_text)
    allowed[[tokens[size] for tokens in alive if len(tokens) > size]] = True
    ends = sets.ends_text if tuple(written) in labels else torch.zeros_like(allowed)
    chances = torch.log_softmax(logits.masked_fill(~(allowed | ends), -torch.inf), -1)
    end = float(torch.logsumexp(chances.masked_fill(~ends, -torch.inf), -1))
    return chances.masked_fill(~allowed, -torch.inf), end


def compute_text_logprob(logits: Tensor, wanted: Sequence[int], sets: TokenSets) -> float:
    """Return the log-probability that a text is written and ends.

    It is among the tokens that a text may have.

    Args:
        logits: Those of the model before each token and after the last, [tokens + 1, vocabulary].
        wanted: The tokens of the text.
        sets: The sets of the vocabulary.
    """
    allowed = sets.in_text | sets.ends_text
    chances = torch.log_softmax(logits.masked_fill(~allowed, -torch.inf), -1)
    total = sum(float(chances[step, token]) for step, token in enumerate(wanted))
    return total + float(torch.logsumexp(chances[-1][sets.ends_text], -1))


def label_logprob(logits: Tensor, wanted: Sequence[int], labels: LabelTokens, sets: TokenSets) -> float:
    """Return the log-probability of a label among all of them.

    Arguments are as those of `compute_text_logprob`.
    """
    total = 0.0
    for step, token in enumerate(wanted):
        total += float(label_chances(logits[step], wanted[:step], labels, sets)[0][token])
    return total + label_chances(logits[-1], wanted, labels, sets)[1]


@dataclass
class AnswerWriter:
    """The state of one answer.

    ``encode`` and ``decode`` are the tokenizer's. ``longest`` bounds the tokens of each text. ``logprobs``
    are those of the values: of a text with its end, among the tokens that may stand there. With ``labels``
    the answer is one of them.
    """

    order: Order
    sets: TokenSets
    encode: Callable[[str], list[int]]
    decode: Callable[[Sequence[int]], str]
    longest: Mapping[str, int]
    labels: LabelTokens = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    logprobs: dict[str, float] = field(default_factory=dict)
    type_logprobs: dict[str, float] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left = list(FIELDS[self.order])
        self._value: list[int] = []
        self._given: list[int] = []
        self._candidates = {name: self.encode(f'{name}"') for name in TYPES}
        self._begin("{")

    @property
    def done(self) -> bool:
        """Return True once all values are written."""
        return not self._left

    def choose_next_token(self, logits: Tensor) -> int:
        """Return the next token, given the logits [vocabulary] of the model."""
        if not self._given:
            self._choose(logits)
        token = self._given.pop(0) if self._given else 0
        self.tokens.append(token)
        if not self._given and self._left and self._left[0] not in self.starts:
            self.starts[self._left[0]] = len(self.tokens)
        return token

    def answer(self) -> ModelAnswer:
        """Return the finished answer."""
        numbers = [int(number) for number in re.findall(r"\d{1,6}", self.values["facts"])]
        return ModelAnswer.model_validate(self.values | {"facts": numbers})

    def logprob(self) -> float:
        """Return the log-probability of the answer.

        The type counts too if it was written first, because it says yes, no, or that words follow.
        """
        kind = self.values["type"]
        first = self.type_logprobs[kind] if self.order == "explain-first" else 0.0
        own = 0.0 if kind in ("yes", "no") and self.order == "explain-first" else self.logprobs["answer"]
        return min(0.0, max(LEAST_LOGPROB, first + own))

    def _begin(self, before: str) -> None:
        """Give the text up to the next value."""
        opening = {"facts": "["}.get(self._left[0], '"')
        self._given = self.encode(f"{before}{json.dumps(self._left[0])}: {opening}")
        self._value = []
        self.logprobs[self._left[0]] = 0.0

    def _end(self, value: str) -> None:
        name = self._left.pop(0)
        self.values[name] = value
        closing = {"facts": "]"}.get(name, '"')
        if not self._left:
            self._given = self.encode(closing + "}")
            return
        self._begin(f"{closing}, ")
        if self._left[0] == "answer" and self.values.get("type") in ("yes", "no"):
            kind = self.values["type"]
            self._given += self.encode(kind)
            given, self.starts["answer"] = self._given, len(self.tokens)
            self._end(kind)
            self._given = given + self._given

    def _choose(self, logits: Tensor) -> None:
        name = self._left[0]
        if name == "type":
            self._choose_type(logits)
            return
        if name == "answer" and self.labels:
            self._choose_label(logits)
            return
        inside = self.sets.in_list if name == "facts" else self.sets.in_text
        ends = self.sets.ends_list if name == "facts" else self.sets.ends_text
        chances = torch.log_softmax(logits.masked_fill(~(inside | ends), -torch.inf), -1)
        end = torch.logsumexp(chances.masked_fill(~ends, -torch.inf), -1)
        best = int(chances.masked_fill(~inside, -torch.inf).argmax())
        full = len(self._value) >= self.longest.get(name, LIST_TOKENS)
        if full or float(end) >= float(chances[best]):
            self.logprobs[name] += 0.0 if full else float(end)
            self._end(self.decode(self._value).strip())
            return
        self.logprobs[name] += float(chances[best])
        self._value.append(best)
        self._given = [best]

    def _choose_type(self, logits: Tensor) -> None:
        """Choose by the first token, in which the three types have to differ.

        With labels there is nothing to choose.
        """
        if self.labels:
            self.type_logprobs = {"label": 0.0}
            self._write_type("label")
            return
        first = torch.tensor([self._candidates[name][0] for name in TYPES], device=logits.device)
        chances = torch.log_softmax(logits[first], -1).tolist()
        self.type_logprobs = dict(zip(TYPES, chances, strict=True))
        self._write_type(max(TYPES, key=lambda name: self.type_logprobs[name]))

    def _choose_label(self, logits: Tensor) -> None:
        chances, end = label_chances(logits, self._value, self.labels, self.sets)
        best = int(chances.argmax())
        if end >= float(chances[best]):
            self.logprobs["answer"] += end
            self._end(self.labels[tuple(self._value)])
            return
        self.logprobs["answer"] += float(chances[best])
        self._value.append(best)
        self._given = [best]

    def _write_type(self, kind: str) -> None:
        given = self.encode(kind)
        self._end(kind)
        self._given = given + self._given
