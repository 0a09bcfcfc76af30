"""Turn an item into network inputs: words, pieces, numbers and dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from modelserver.inputs.decoding import Bools
from modelserver.inputs.features import Ints
from modelserver.inputs.windows import Encoded, WindowReader
from modelserver.modular.text.quantities import Quantity, find_dates, find_numbers, locate_quantities
from modelserver.systems.contextual import find_first_pieces
from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import ModuleItem, QAItem
from modelserver.world.games.prose import tokenise

MOST_WORDS = 2_000  # of a passage: modules that relate every word to every other take their square

Place = tuple[int, int]  # start and end in code points, end exclusive


@dataclass(frozen=True)
class Quantities:
    """The N numbers, or dates, of a passage, each with its words.

    ``words`` are the first word and the one after the last.
    """

    items: tuple[Quantity, ...]
    words: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class TextFeatures:
    """One item: M question words, and T passage words as the item gives them.

    ``*_first`` is the first piece of each word (`contextual.NO_PIECE` if none). ``same`` tells which
    question words occur in the passage and where, [M, T]: equal but for case, punctuation left out.
    ``marked`` are the pieces of such words, of the question and of the passage.
    """

    item: ModuleItem
    asked: tuple[Place, ...]  # M
    encoded: Encoded
    question_first: Ints  # [M]
    first: Ints  # [T]
    same: Bools  # [M, T]
    marked: tuple[Bools, Bools]
    numbers: Quantities
    dates: Quantities

    def words(self) -> list[str]:
        """Return the words of the question."""
        return [self.item.text[start:end] for start, end in self.asked]

    def quote(self, first: int, beyond: int) -> str:
        """Return the passage from word ``first`` up to the one before ``beyond``."""
        return self.item.passage[self.item.tokens[first][0] : self.item.tokens[beyond - 1][1]]


def read(item: ModuleItem, reader: WindowReader) -> TextFeatures:
    """Turn an item into what the network looks at.

    Raises InvalidRequest, naming the field, for an item without passage or words, words that are out of order
    or out of the passage, and what is longer than is read.
    """
    _check(item)
    asked, tokens = tuple(tokenise(item.text)), item.tokens
    if not asked:
        raise InvalidRequest("it contains no words", field="text")
    encoded = _encode(item, reader)
    keys, asked_keys = _normalise_words(item.passage, tokens), _normalise_words(item.text, asked)
    same = (asked_keys[:, None] == keys[None, :]) & (asked_keys[:, None] != "")
    return TextFeatures(
        item=item,
        asked=asked,
        encoded=encoded,
        question_first=find_first_pieces(_build_rows(asked), np.pad(encoded.asked, ((0, 0), (2, 0)))),
        first=find_first_pieces(_build_rows(tokens), encoded.places),
        same=same,
        marked=(
            _mark_pieces(same.any(1), asked, encoded.asked),
            _mark_pieces(same.any(0), tokens, encoded.places[:, 2:]),
        ),
        numbers=_build_quantities(find_numbers(item.passage), tokens),
        dates=_build_quantities(find_dates(item.passage), tokens),
    )


def find_argument_words(argument: str, words: Sequence[str]) -> list[int]:
    """Return the positions of an argument's words in the question.

    Of several occurrences, those closest together. Words that the question does not hold are left out;
    there may be none left.
    """
    asked = [word.casefold() for word in words]
    wanted = [argument[start:end].casefold() for start, end in tokenise(argument)]
    shared = [word for word in wanted if word in asked]
    best: list[int] = []
    for begin in (index for index, word in enumerate(asked) if shared and word == shared[0]):
        chosen = [begin]
        for word in shared[1:]:
            later = [i for i, other in enumerate(asked) if other == word and i > chosen[-1]]
            chosen.append(later[0] if later else asked.index(word))
        if not best or max(chosen) - min(chosen) < max(best) - min(best):
            best = chosen
    return sorted(set(best))


def _check(item: ModuleItem) -> None:
    if not item.tokens:
        raise InvalidRequest("the words of a passage are needed: attentions are over them", field="tokens")
    if len(item.tokens) > MOST_WORDS:
        raise InvalidRequest(f"{len(item.tokens)} words; at most {MOST_WORDS} are read", field="tokens")
    for number, (start, end) in enumerate(item.tokens):
        if not start < end <= len(item.passage):
            message = f"a word from {start} to {end} is not in a passage of {len(item.passage)} code points"
            raise InvalidRequest(message, field=f"tokens.{number}")
    for number, (before, after) in enumerate(pairwise(item.tokens), start=1):
        if after[0] < before[1]:
            raise InvalidRequest("begins before the word before it ends", field=f"tokens.{number}")


def _encode(item: ModuleItem, reader: WindowReader) -> Encoded:
    """Return the pieces; the passage is a one-sentence article without title."""
    try:
        return reader.encode(QAItem(id=item.id, question=item.text, context=[("", [item.passage])]))
    except InvalidRequest as error:
        field = {"question": "text", "context": "passage"}.get(error.field or "", error.field)
        raise InvalidRequest(str(error), field=field) from error


def _normalise_words(text: str, spans: Sequence[Place]) -> np.ndarray:
    """Return each word in lower case, empty for one without letters or digits."""
    words = (text[start:end].casefold() for start, end in spans)
    return np.array([word if any(map(str.isalnum, word)) else "" for word in words], dtype=object)


def _build_rows(spans: Sequence[Place]) -> Ints:
    """Return positions in one text as rows of the fields of `Place`."""
    return np.pad(np.array(spans, dtype=np.int64).reshape(-1, 2), ((0, 0), (2, 0)))


def _mark_pieces(marked: Bools, words: Sequence[Place], pieces: Ints) -> Bools:
    """Return which pieces, [S, 2] code points, touch a marked word."""
    spans = np.array(words, dtype=np.int64).reshape(-1, 2)
    after = np.searchsorted(spans[:, 1], pieces[:, 0], side="right")
    word = np.minimum(after, len(spans) - 1)
    return marked[word] & (after < len(spans)) & (spans[word, 0] < pieces[:, 1])


def _build_quantities(quantities: Sequence[Quantity], tokens: Sequence[Place]) -> Quantities:
    placed = locate_quantities(quantities, tokens)
    return Quantities(tuple(quantity for quantity, _ in placed), tuple(words for _, words in placed))
