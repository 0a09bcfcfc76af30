"""Partitions of a text: words that ought to count for an answer or not.

Positive words ought to count, negative ones ought not to. The source took
verbs and coreference clusters from a parser; here plain rules stand in, whose
result people can correct: a partition is two lists of spans.

References:
    1. Ray Choudhury et al. (2022), section 3.3 and figure 4.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .comparison import find_comparing_words, find_entity

Span = tuple[int, int]  # code points, end exclusive

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+(?:['’-][^\W_]+)*")


def _set_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VERBS = _set_of(
    """
    is are was were be been being am do does did done has have had having can could will would shall should
    may might must came come comes go goes went gone become became begin began begun run ran win won made
    make built build wrote write written held hold took take taken led lead died die born live lived lies
    lie sold sell grew grow left leave met meet sang sing sung found flew fly got get gave give given open
    started start release released publish published establish established form formed direct directed
    """
)
_NOT_VERBS = _set_of("red hundred bed need speed seed feed breed kindred sacred")
_GENDERS = tuple(
    map(_set_of, ("he him his himself", "she her hers herself", "they them their theirs", "it its itself"))
)
_PRONOUNS = frozenset().union(*_GENDERS)
_PREPOSITIONS = _set_of(
    """
    of in at from to with for on by about near under over against between into through during since until
    within without among across behind beside like than as
    """
)
_ARTICLES = _set_of("the a an his her their its")
_STOP = re.compile(r"[.!?][\"”’)\]]*\s|\n")  # the end of a sentence, between two words
_FUNCTION = _set_of(
    """
    a an the in on at of for from to by with and or but nor if when while after before as since until his
    her he she they it its their there this that these those who which what where why how
    """
)


@dataclass(frozen=True)
class Partition:
    """Spans of a text's words; no word is in both lists.

    Attributes:
        positive: Spans that ought to count, in code points, end exclusive.
        negative: Spans that ought not to.

    Raises:
        ValueError: A negative span overlaps a positive one.
    """

    positive: tuple[Span, ...]
    negative: tuple[Span, ...]

    def __post_init__(self) -> None:
        both = [span for span in self.negative if _is_overlapping(span, self.positive)]
        if both:
            raise ValueError(f"negative: the span {both[0]} is also positive")

    def scores(self, weights: Iterable[tuple[int, int, float]]) -> tuple[list[float], list[float]]:
        """Return the saliency of the positive and of the negative tokens.

        A token belongs to a span that it overlaps.

        Args:
            weights: Start, end and saliency of each token, in code points, end exclusive.

        Returns:
            Two lists in the order of the tokens, in the unit of the saliency; tokens in neither part are left
            out.
        """
        positive: list[float] = []
        negative: list[float] = []
        for start, end, weight in weights:
            if _is_overlapping((start, end), self.positive):
                positive.append(weight)
            elif _is_overlapping((start, end), self.negative):
                negative.append(weight)
        return positive, negative


def find_words(text: str) -> list[Span]:
    """Find the spans of words and numbers, without punctuation."""
    return [match.span() for match in _WORD.finditer(text)]


def comparison_partition(question: str, entities: Sequence[str] = ()) -> Partition:
    """Partition a comparison question: comparing words against the rest.

    The rest leaves out entities, values and verbs. Entities are those given and,
    behind the first word, every word with a capital; values are words with a
    digit; verbs are a list of common ones and words in -ed.

    Args:
        question: Text of the question.
        entities: The compared ones, in any spelling and with or without a note in brackets, such as the
            titles of the supporting facts.

    Returns:
        Words of the question, in code points.

    Examples:
        >>> question = "Which film was released first, Avalon or Brass?"
        >>> parts = comparison_partition(question, ["Avalon", "Brass"])
        >>> [[question[a:b] for a, b in spans] for spans in (parts.positive, parts.negative)]
        [['first'], ['Which', 'film', 'or']]
    """
    comparing = find_comparing_words(question, entities)
    named = [mention for entity in entities if (mention := find_entity(question, entity))]
    tokens = find_words(question)
    negative = [
        span
        for number, span in enumerate(tokens)
        if not _is_overlapping(span, comparing)
        and not _is_overlapping(span, named)
        and not (number and question[span[0]].isupper())
        and not any(sign.isdigit() for sign in question[slice(*span)])
        and not _is_verb(question[slice(*span)].lower())
    ]
    return Partition(tuple(span for span in tokens if _is_overlapping(span, comparing)), tuple(negative))


def coreference_partition(context: str, question: str, cluster: Sequence[Span]) -> Partition:
    """Partition a context: words of the cluster against the others.

    The others leave out words of the question.

    Args:
        context: Text of the context.
        question: Text of the question.
        cluster: Spans of the relevant cluster, in code points of the context, end exclusive.

    Returns:
        Words of the context, in code points.
    """
    asked = {question[slice(*span)].lower() for span in find_words(question)}
    tokens = find_words(context)
    return Partition(
        tuple(span for span in tokens if _is_overlapping(span, cluster)),
        tuple(
            span
            for span in tokens
            if not _is_overlapping(span, cluster) and context[slice(*span)].lower() not in asked
        ),
    )


def cluster_of(context: str, answer: str) -> list[Span]:
    """Find mentions of a named answer in the context, for people to correct.

    A word of the answer is a mention if it has a capital. A pronoun is one if it stands for the answer: for
    the latest name before it in its sentence, or else for the subject of the sentence before, names behind
    prepositions only if there is no other. Only pronouns of the most frequent gender and number are taken.

    Args:
        context: Text of the context.
        answer: Gold answer.

    Returns:
        Spans in order, in code points, end exclusive. Empty if the answer has no word with a capital.

    Examples:
        >>> context = "Barack Obama was the 44th president of the US. He was born in Hawaii."
        >>> [context[slice(*span)] for span in cluster_of(context, "Barack Obama")]
        ['Barack', 'Obama', 'He']
    """
    parts = {answer[slice(*span)] for span in find_words(answer)}
    names = {part for part in parts if part[0].isupper() and part.lower() not in _FUNCTION}
    mentions = _Mentions(context, names)
    for span in find_words(context):
        mentions.read(span)
    return mentions.spans()


class _Mentions:
    """The mentions of a name found so far, and whom a pronoun stands for.

    Each of the three states of a sentence is True for the answer, False for
    another name, None for nobody yet.
    """

    def __init__(self, context: str, names: set[str]) -> None:
        self.context, self.names = context, names
        self.named: list[Span] = []
        self.pronouns: dict[frozenset[str], list[Span]] = {}
        self.common = {context[slice(*span)] for span in find_words(context) if context[span[0]].islower()}
        self.before: bool | None = None  # the subject of the sentence before
        self.subject: bool | None = None
        self.latest: bool | None = None
        self.oblique: bool | None = None
        self.end, self.previous, self.in_name, self.behind = 0, "", False, False

    def spans(self) -> list[Span]:
        """Return all mentions in order, none without a name."""
        pronouns = max(self.pronouns.values(), key=len, default=[])
        return sorted([*self.named, *pronouns]) if self.named else []

    def read(self, span: Span) -> None:
        """Take the next word."""
        word, gap = self.context[slice(*span)], self.context[self.end : span[0]]
        starts = self.end == 0 or bool(_STOP.search(gap))
        if starts and self.end:
            self._start_sentence()
        lower = word.lower()
        if lower in _PRONOUNS:
            self._pronoun(span, lower)
        elif self._is_name(word, starts=starts):
            # A name of several words is behind a preposition if its first word is.
            goes_on = self.in_name and not gap.strip()
            self.behind = self.behind if goes_on else self.previous in _PREPOSITIONS
            self._name(span, re.sub(r"['’]s?$", "", word) in self.names)
        self.in_name = word[0].isupper() and lower not in _FUNCTION
        if lower not in _ARTICLES:
            self.previous = lower
        self.end = span[1]

    def _start_sentence(self) -> None:
        subject = self.oblique if self.subject is None else self.subject
        self.before = self.before if subject is None else subject
        self.subject = self.latest = self.oblique = None
        self.previous, self.in_name = "", False

    def _is_name(self, word: str, *, starts: bool) -> bool:
        if not word[0].isupper() or word.lower() in _FUNCTION:
            return False
        return not (starts and word not in self.names and word.lower() in self.common)

    def _name(self, span: Span, is_answer: bool) -> None:
        if is_answer:
            self.named.append(span)
        if self.behind:
            self.oblique = is_answer
            return
        self.latest = is_answer
        if self.subject is None:
            self.subject = is_answer

    def _pronoun(self, span: Span, word: str) -> None:
        states = (self.latest, self.before, self.oblique)
        is_answer = next((state for state in states if state is not None), False)
        if is_answer:
            kind = next(group for group in _GENDERS if word in group)
            self.pronouns.setdefault(kind, []).append(span)
        if self.subject is None:
            self.subject = is_answer


def random_partition(partition: Partition, rng: np.random.Generator) -> Partition:
    """Shuffle the words into parts of the same sizes.

    This is what a partition without meaning would give.

    Args:
        partition: Partition whose words are shuffled.
        rng: Source of random numbers.

    Returns:
        A partition of the same words.
    """
    spans = sorted((*partition.positive, *partition.negative))
    chosen = set(rng.choice(len(spans), len(partition.positive), replace=False).tolist())
    return Partition(
        tuple(span for index, span in enumerate(spans) if index in chosen),
        tuple(span for index, span in enumerate(spans) if index not in chosen),
    )


def _is_verb(word: str) -> bool:
    return word in _VERBS or (word.endswith("ed") and word not in _NOT_VERBS and len(word) > 3)


def _is_overlapping(span: Span, others: Iterable[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)
