"""Readers whose reasons are known: one follows the comparing word, the others take a shortcut.

They compare years: "Who is older, A or B?" over articles A and B whose first sentence names a year.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from modelserver.inputs.features import Ints
from modelserver.saliency.attribution import IN_QUESTION, Subject
from modelserver.systems.own import OwnSystem
from modelserver.wire.schema import QAItem, SaliencyOptions

WORD = re.compile(r"\w+")
LESS = {"older", "first", "earlier"}  # ask for the smaller year
MORE = {"younger", "later", "recently"}


class Token(NamedTuple):
    text: str
    place: tuple[int, int, int, int]  # article, sentence, start, end


class YearReader(nn.Module):
    """Rows are [a sign of the question, a year less the mean of all]; a candidate's logit is their product.

    ``signs`` says what a token of the question adds to the sign. The chosen logit is above 0.
    """

    def __init__(self, signs: Callable[[str], float]) -> None:
        super().__init__()
        self.signs = signs
        self.scale = nn.Parameter(torch.ones(()))

    def rows(self, tokens: Sequence[Token]) -> Tensor:
        rows = torch.zeros(len(tokens), 2, dtype=torch.float64)
        places = _years(tokens)
        middle = float(np.mean([_year(tokens[place].text) for place in places]))
        for place, token in enumerate(tokens):
            if token.place[0] == IN_QUESTION:
                rows[place, 0] = self.signs(token.text)
        for place in places:
            rows[place, 1] = _year(tokens[place].text) - middle
        return rows

    def forward(self, rows: Tensor, chosen: int) -> Tensor:
        return self.scale * rows[:, 0].sum() * rows[chosen, 1]


class Planted:
    """A class of one's own, as the server takes it. ``pick`` may overrule the answer of the reader."""

    description = "reads years"

    def __init__(
        self, signs: Callable[[str], float], pick: Callable[[QAItem], int | None] = lambda item: None
    ) -> None:
        self.reader, self.pick = YearReader(signs), pick

    def predict(self, items: Sequence[QAItem]) -> list[dict[str, Any]]:
        return [{"answer": item.context[self._chosen(item)][0], "facts": []} for item in items]

    def _chosen(self, item: QAItem) -> int:
        tokens = _tokens(item)
        if not _years(tokens):  # as in the question that the server warms up with
            return 0
        overruled = self.pick(item)
        if overruled is not None:
            return overruled
        rows = self.reader.rows(tokens)
        with torch.no_grad():
            logits = [float(self.reader(rows, place)) for place in _years(tokens)]
        return int(np.argmax(logits))

    def explainable(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Subject]:
        found = []
        for item in items:
            tokens = _tokens(item)
            rows = self.reader.rows(tokens)
            places = np.array([token.place for token in tokens], dtype=np.int64)
            chosen = _years(tokens)[self._chosen(item)]
            rows[:, 0] *= torch.sign(rows[:, 0].sum() * rows[chosen, 1])  # what is chosen speaks for itself
            found.append(Subject(item, rows, torch.zeros_like(rows), places, chosen, chosen, len(tokens)))
        return found

    def scores(
        self, subjects: Sequence[Subject], rows: Sequence[Tensor], hidden: Sequence[Ints | None]
    ) -> Tensor:
        return torch.stack([self.reader(own, of.first) for own, of in zip(rows, subjects, strict=True)])


def _year(text: str) -> float:
    return (int(text) - 1900) / 100 if text.isdigit() else 0.0


def _tokens(item: QAItem) -> list[Token]:
    texts = [(IN_QUESTION, 0, item.question)] + [
        (article, index, sentence)
        for article, (_, sentences) in enumerate(item.context)
        for index, sentence in enumerate(sentences)
    ]
    return [
        Token(match[0], (article, index, *match.span()))
        for article, index, text in texts
        for match in WORD.finditer(text)
    ]


def _years(tokens: Sequence[Token]) -> list[int]:
    """The place of the first year in each article."""
    found: dict[int, int] = {}
    for row, token in enumerate(tokens):
        if token.place[0] != IN_QUESTION and token.text.isdigit():
            found.setdefault(token.place[0], row)
    return [found[article] for article in sorted(found)]


def rule(text: str) -> float:
    """The sign of the comparing word; every other word counts nothing."""
    return -1.0 if text in LESS else 1.0 if text in MORE else 0.0


def by_other_words(text: str) -> float:
    """Signs on every word but the comparing one."""
    return 0.0 if text in LESS | MORE else 1.0


def true_answer(item: QAItem) -> int:
    """The article that is right, known by heart."""
    sign = sum(rule(word) for word in WORD.findall(item.question))
    years = [_year(next(w for w in WORD.findall(texts[0]) if w.isdigit())) for _, texts in item.context]
    return int(np.argmax([sign * year for year in years]))


def systems() -> list[OwnSystem]:
    """One that follows the rule, one that always takes the first article, one that knows answers by heart."""
    made = {
        "rule": Planted(rule),
        "first": Planted(rule, pick=lambda item: 0),
        "heart": Planted(by_other_words, pick=true_answer),
    }
    return [OwnSystem(one, name=name, description=name, revision=f"{name}-1") for name, one in made.items()]
