"""Readers whose reasons are known.

One follows the comparing word, the others take a shortcut. They compare years: "Who is older, A or B?"
over articles A and B whose first sentence names a year.
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
    position: tuple[int, int, int, int]  # article, sentence, start, end


class YearReader(nn.Module):
    """The sign of the question times a candidate's year is its logit.

    Rows are [a sign of the question, a year less the mean of all]. ``signs`` says what a token of the
    question adds to the sign. The chosen logit is above 0.
    """

    def __init__(self, signs: Callable[[str], float]) -> None:
        super().__init__()
        self.signs = signs
        self.scale = nn.Parameter(torch.ones(()))

    def rows(self, tokens: Sequence[Token]) -> Tensor:
        rows = torch.zeros(len(tokens), 2, dtype=torch.float64)
        year_rows = _years(tokens)
        middle = float(np.mean([_year(tokens[row].text) for row in year_rows]))
        for row, token in enumerate(tokens):
            if token.position[0] == IN_QUESTION:
                rows[row, 0] = self.signs(token.text)
        for row in year_rows:
            rows[row, 1] = _year(tokens[row].text) - middle
        return rows

    def forward(self, rows: Tensor, chosen: int) -> Tensor:
        return self.scale * rows[:, 0].sum() * rows[chosen, 1]


class Planted:
    """A researcher's own class, as the server takes it.

    ``pick`` may overrule the answer of the reader.
    """

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
            logits = [float(self.reader(rows, row)) for row in _years(tokens)]
        return int(np.argmax(logits))

    def explainable(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Subject]:
        subjects = []
        for item in items:
            tokens = _tokens(item)
            rows = self.reader.rows(tokens)
            places = np.array([token.position for token in tokens], dtype=np.int64)
            chosen = _years(tokens)[self._chosen(item)]
            rows[:, 0] *= torch.sign(rows[:, 0].sum() * rows[chosen, 1])  # what is chosen speaks for itself
            subjects.append(Subject(item, rows, torch.zeros_like(rows), places, chosen, chosen, len(tokens)))
        return subjects

    def scores(
        self, subjects: Sequence[Subject], rows: Sequence[Tensor], hidden: Sequence[Ints | None]
    ) -> Tensor:
        return torch.stack(
            [
                self.reader(subject_rows, subject.first)
                for subject_rows, subject in zip(rows, subjects, strict=True)
            ]
        )


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
    """Return the row of the first year of each article."""
    first_rows: dict[int, int] = {}
    for row, token in enumerate(tokens):
        if token.position[0] != IN_QUESTION and token.text.isdigit():
            first_rows.setdefault(token.position[0], row)
    return [first_rows[article] for article in sorted(first_rows)]


def rule(text: str) -> float:
    """Return the sign of the comparing word, and 0 for every other word."""
    return -1.0 if text in LESS else 1.0 if text in MORE else 0.0


def by_other_words(text: str) -> float:
    """Return a sign for every word but the comparing one."""
    return 0.0 if text in LESS | MORE else 1.0


def true_answer(item: QAItem) -> int:
    """Return the article that is right, known by heart."""
    sign = sum(rule(word) for word in WORD.findall(item.question))
    years = [_year(next(w for w in WORD.findall(texts[0]) if w.isdigit())) for _, texts in item.context]
    return int(np.argmax([sign * year for year in years]))


def systems() -> list[OwnSystem]:
    """Return three readers: one follows the rule, two take shortcuts.

    One of these always takes the first article, and one knows answers by heart.
    """
    readers = {
        "rule": Planted(rule),
        "first": Planted(rule, pick=lambda item: 0),
        "heart": Planted(by_other_words, pick=true_answer),
    }
    return [
        OwnSystem(reader, name=name, description=name, revision=f"{name}-1")
        for name, reader in readers.items()
    ]
