"""Text to numbers: tokens with offsets, vocabulary, features of an item."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import Context, Fact, QAItem

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

CHARACTERS = 256  # ASCII as itself, everything else folded into the upper half
FORM_LENGTH = 12  # characters of a word that are looked at: the first 8 and the last 4 of a longer one
NUMBER_FEATURES = 4  # of each token, see `compute_number_features`
UNKNOWN = 1  # id of a word without an embedding
NO_FACT = -1  # fact number of a title's token
IN_TITLE = -1  # sentence number of a title's token

_NUMBER = re.compile(r"\d{1,15}(?:,\d{3})*(?:\.\d+)?")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+|[^\w\s]|_")


@dataclass(frozen=True)
class Token:
    """A token and its code points in its text, end exclusive."""

    text: str
    start: int
    end: int


def tokenise(text: str) -> list[Token]:
    """Split into numbers (with inner points and commas), words, other signs.

    White space is dropped. Offsets refer to the original text.
    """
    return [Token(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]


def list_lower_words(text: str) -> list[str]:
    """Return the tokens of a text in lower case."""
    return [word.lower() for word in _TOKEN.findall(text)]


def count_tokens(text: str) -> int:
    """Return ``len(tokenise(text))`` in a fraction of its time."""
    return len(_TOKEN.findall(text))


def require_free_answer(item: QAItem) -> None:
    """Raise InvalidRequest for an item whose answer is one of several labels."""
    if item.labels:
        raise InvalidRequest(
            "this system answers with words of the articles, yes or no, and cannot choose a label",
            field="labels",
        )


@dataclass(frozen=True)
class WordLimit:
    """Checks items for a system that reads up to ``most`` words at once.

    Question and context count together.
    """

    most: int

    def cost(self, item: QAItem) -> int:
        """Return the words of question and context."""
        return count_tokens("\n".join(list_texts(item.question, item.context)))  # no token goes across lines

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest for an item that the system cannot read.

        That is a question without words or with labels, no article, or too many words.
        """
        # Every word has a character: most items need no counting here, and `cost` is asked for next.
        short = sum(map(len, list_texts(item.question, item.context))) <= self.most
        self.require(item, count_tokens(item.question), 0 if short else self.cost(item))

    def require(self, item: QAItem, asked: int, words: int) -> None:
        """Raise as `check` does, given the number of words.

        ``asked`` of the ``words`` are in the question.
        """
        require_free_answer(item)
        if not item.context:
            raise InvalidRequest("at least one article is needed", field="context")
        if not asked:
            raise InvalidRequest("it contains no words", field="question")
        if words > self.most:
            message = f"{words} tokens with the question; at most {self.most} are read"
            raise InvalidRequest(message, field="context")


def list_texts(question: str, context: Context) -> Iterator[str]:
    """Yield the question, then every title and sentence of the context."""
    yield question
    for title, sentences in context:
        yield title
        yield from sentences


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the lower-cased tokens."""
    return Counter(word for text in texts for word in list_lower_words(text))


@dataclass(frozen=True)
class Vocabulary:
    """The words with an embedding of their own, lower-cased.

    Ids: 0 padding, 1 unknown, then the words.
    """

    words: tuple[str, ...]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words, start=2)}

    def __len__(self) -> int:
        return len(self.words) + 2

    def id(self, word: str) -> int:
        """Return the id of a word, UNKNOWN for one without an embedding."""
        return self._ids.get(word, UNKNOWN)

    @classmethod
    def build(cls, texts: Iterable[str], *, at_least: int) -> Vocabulary:
        """Keep words that occur ``at_least`` times, by frequency, then spelling."""
        counts = count_words(texts)
        kept = [word for word, count in counts.items() if count >= at_least]
        return cls(tuple(sorted(kept, key=lambda word: (-counts[word], word))))

    def save(self, path: Path) -> None:
        """Write the words as JSON."""
        path.write_text(json.dumps(self.words, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read the words from JSON; raises ValueError for anything else."""
        words = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"{path}: a list of words is expected")
        return cls(tuple(words))


class Place(NamedTuple):
    """The position of a context token: article, sentence, code points.

    The sentence is IN_TITLE for a token of the title.
    """

    article: int
    sentence: int
    start: int
    end: int


class Located:
    """The positions of an item's K context tokens, for any tokenizer."""

    fact: Ints  # [K] number of the fact in ``facts``, NO_FACT in a title
    facts: tuple[Fact, ...]  # F, in context order; two paragraphs with one title share theirs
    places: Ints  # [K, 4] the fields of Place

    @property
    def article(self) -> Ints:
        """Return the article of each context token, [K], never decreasing."""
        return self.places[:, 0]

    def place(self, token: int) -> Place:  # words: allow - the fields of `Place`
        """Return the position of a context token."""
        return Place(*self.places[token].tolist())


@dataclass(frozen=True)
class Features(Located):
    """One item as numbers.

    M question tokens, K context tokens, F facts, U distinct spellings. ``forms`` holds the characters of
    each spelling; ``*_form`` say which spelling a token has; ``*_key`` are equal exactly if two words
    are equal but for case (up to a 32-bit digest).
    """

    question_word: Ints  # [M]
    question_form: Ints  # [M]
    question_key: Ints  # [M]
    word: Ints  # [K]
    form: Ints  # [K]
    key: Ints  # [K]
    number: Floats  # [K, NUMBER_FEATURES]
    fact: Ints
    forms: Ints  # [U, FORM_LENGTH]
    facts: tuple[Fact, ...]
    places: Ints

    def __len__(self) -> int:
        return len(self.word) + len(self.question_word)


def featurise(item: QAItem, vocabulary: Vocabulary) -> Features:
    """Turn an item into numbers.

    Empty sentences and articles are allowed, and give no tokens.
    """
    texts: list[str] = []
    spans: list[int] = []  # start and end of each token
    numbers: dict[Fact, int] = {}
    of_text: list[tuple[int, int, int, int]] = []  # article, sentence, fact number, tokens
    for article, (title, sentences) in enumerate(item.context):
        for index, text in enumerate((title, *sentences)):
            number = numbers.setdefault((title, index - 1), len(numbers)) if index else NO_FACT
            before = len(texts)
            for match in _TOKEN.finditer(text):
                texts.append(match.group())
                spans.extend(match.span())
            of_text.append((article, index - 1 if index else IN_TITLE, number, len(texts) - before))
    forms: dict[str, int] = {}
    question_form = _to_ints([forms.setdefault(text, len(forms)) for text in _TOKEN.findall(item.question)])
    form = _to_ints([forms.setdefault(text, len(forms)) for text in texts])
    # Features that the spelling alone decides are computed once for each.
    word = _to_ints([vocabulary.id(text.lower()) for text in forms])
    keys, numbers_of, characters = zip(*map(_encode_spelling, forms), strict=True) if forms else ((), (), ())
    key, number_of = _to_ints(keys), np.array(numbers_of, np.float32).reshape(-1, NUMBER_FEATURES)
    of_token = _to_ints(of_text).reshape(-1, 4)
    of_token = of_token.repeat(of_token[:, 3], axis=0)  # [K, 4]
    return Features(
        question_word=word[question_form],
        question_form=question_form,
        question_key=key[question_form],
        word=word[form],
        form=form,
        key=key[form],
        number=number_of[form],
        fact=of_token[:, 2],
        forms=np.frombuffer(b"".join(characters), np.uint8).astype(np.int64).reshape(-1, FORM_LENGTH),
        facts=tuple(numbers),
        places=np.hstack((of_token[:, :2], _to_ints(spans).reshape(-1, 2))),
    )


def compute_number_features(text: str) -> tuple[float, float, float, float]:
    """Return whether a token is a number, its magnitude and its year scales.

    The last two place it among old and recent years. All lie between -2 and 3, and are 0 for a word.
    """
    if not text[0].isdecimal():
        return 0.0, 0.0, 0.0, 0.0
    value = min(float(text.replace(",", "")), 1e15) if _NUMBER.fullmatch(text) else 0.0
    is_year = 900 <= value < 2100
    old, recent = ((value - 1500) / 500, max(-2.0, (value - 1950) / 50)) if is_year else (0.0, 0.0)
    return 1.0, math.log10(1 + value) / 6, old, recent


def extract_text(item: QAItem, first: Place, last: Place) -> str:
    """Return the context text from one token to another of the same article."""
    title, sentences = item.context[first.article]
    if first.sentence == IN_TITLE or last.sentence == IN_TITLE:
        return title[first.start : last.end]
    if first.sentence == last.sentence:
        return sentences[first.sentence][first.start : last.end]
    between = sentences[first.sentence + 1 : last.sentence]
    return "".join([sentences[first.sentence][first.start :], *between, sentences[last.sentence][: last.end]])


def find_answer(features: Features, answer: str, facts: set[Fact]) -> tuple[int, int] | None:
    """Return first and last token of the answer's first occurrence.

    Only whole tokens match. Searches the given facts first, then the other facts, then titles.
    """
    wanted = [_compute_key(token.text) for token in tokenise(answer)]
    keys = features.key.tolist()
    fact, article = features.fact.tolist(), features.article.tolist()
    starts: dict[int, int] = {}
    for start in range(len(keys) - len(wanted) + 1 if wanted else 0):
        end = start + len(wanted)
        if keys[start:end] == wanted and article[start] == article[end - 1]:
            number = fact[start]
            rank = 2 if number == NO_FACT else 0 if features.facts[number] in facts else 1
            starts.setdefault(rank, start)
    if not starts:
        return None
    start = starts[min(starts)]
    return start, start + len(wanted) - 1


def _compute_key(text: str) -> int:
    return zlib.crc32(text.lower().encode("utf-8", "surrogatepass"))


@lru_cache(2**14)  # the words of one text are mostly those of another
def _encode_spelling(text: str) -> tuple[int, tuple[float, ...], bytes]:
    """Return the key, `compute_number_features` and characters of a token."""
    short = text if len(text) <= FORM_LENGTH else text[: FORM_LENGTH - 4] + text[-4:]
    half = CHARACTERS // 2
    codes = bytes(code if code < half else half + code % half for code in map(ord, short))
    return _compute_key(text), compute_number_features(text), codes.ljust(FORM_LENGTH, b"\0")


def _to_ints(values: Sequence[int] | Sequence[Sequence[int]]) -> Ints:
    return np.asarray(values, dtype=np.int64)
