"""Counterfactual comparison questions: comparing words and answer swapped.

References:
    1. Ray Choudhury et al. (2022), footnote 8 (swaps within the training
       distribution) and appendix A.2 (words that the training data lack).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ..scores.hotpotqa import normalise_answer
from ..stats.arguments import check_choice
from .edits import Edit

Distribution = Literal["in", "out"]

IN_DISTRIBUTION: dict[str, tuple[str, ...]] = {
    "earlier": ("later",),
    "later": ("earlier",),
    "first": ("later",),
    "more recently": ("earlier",),
    "older": ("younger",),
    "younger": ("older",),
}
OUT_OF_DISTRIBUTION: dict[str, tuple[str, ...]] = {
    "first": ("less recently",),
    "older": ("less old", "more junior", "less mature", "less grown-up"),
    "earlier": ("subsequently", "thereafter", "less recently"),
    "later": ("less recently",),
    "younger": ("more old", "less junior", "more mature", "more grown-up"),
    "more recently": ("less recently", "longer ago"),
}
SWAPS: dict[Distribution, dict[str, tuple[str, ...]]] = {"in": IN_DISTRIBUTION, "out": OUT_OF_DISTRIBUTION}
# Listed by the source among the opposites, though "came less recently" says "came earlier".
NEAR_SYNONYMS = frozenset({("first", "less recently"), ("earlier", "less recently")})

# Lower case alone: a capital mostly belongs to a name (First Blood).
_WORDS = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(IN_DISTRIBUTION, key=len, reverse=True))})(?![\w-])")
_SUFFIX = re.compile(r"\s*\([^()]*\)$")


@dataclass(frozen=True)
class Counterfactual:
    """A question with its comparing words swapped.

    Attributes:
        question: The question with the swapped words.
        answer: Its gold answer; None if the data do not tell it.
        edit: The swap.
        distribution: "in" for words of the training data, "out" for words that they lack.
        near_synonym: The listed swap hardly changes the meaning, so that the swapped gold answer is doubtful.
    """

    question: str
    answer: str | None
    edit: Edit
    distribution: Distribution
    near_synonym: bool = False


def find_comparing_words(question: str, entities: Sequence[str] = ()) -> list[tuple[int, int]]:
    """Find the listed words outside the entities: code points, end exclusive."""
    taken = [mention for entity in entities if (mention := find_entity(question, entity))]
    spans = (match.span() for match in _WORDS.finditer(question))
    return [(start, end) for start, end in spans if not any(a <= start < b for a, b in taken)]


def swaps(
    question: str, answer: str, entities: Sequence[str] = (), *, distribution: Distribution = "in"
) -> list[Counterfactual]:
    """List every swap of the question's comparing words that is listed.

    Args:
        question: Text of the question.
        answer: Gold answer.
        entities: The compared ones, in any spelling and with or without a note in brackets, such as the
            titles of the supporting facts. With two of them in the question the gold answer becomes the other
            one, as the question writes it.
        distribution: "in" for words of the training data, "out" for words that they lack.

    Returns:
        Swaps in the order of the list; none unless the question has exactly one comparing word.

    Raises:
        ValueError: `distribution` is unknown.

    Examples:
        >>> swap = swaps("Who is older, Ann Lee or Bob Ray?", "Ann Lee", ["Bob Ray", "Ann Lee"])[0]
        >>> swap.question, swap.answer
        ('Who is younger, Ann Lee or Bob Ray?', 'Bob Ray')
    """
    check_choice(distribution, get_args(Distribution), "distribution")
    spans = find_comparing_words(question, entities)
    if len(spans) != 1:
        return []
    start, end = spans[0]
    word, opposite = question[start:end], find_other_answer(question, answer, entities)
    edits = (Edit(start, word, new) for new in SWAPS[distribution][word])
    return [
        Counterfactual(
            edit.apply(question), opposite, edit, distribution, (edit.old, edit.new) in NEAR_SYNONYMS
        )
        for edit in edits
    ]


def find_other_answer(question: str, answer: str, entities: Sequence[str]) -> str | None:
    """Return the compared entity that is not the answer.

    None unless two are named and one of them is the answer.
    """
    named = {
        mention: question[slice(*mention)]
        for entity in entities
        if (mention := find_entity(question, entity))
    }
    if len(named) != 2:
        return None
    matching = [name for name in named.values() if _is_same_name(name, answer)]
    if len(matching) != 1:
        return None
    return next(name for name in named.values() if name != matching[0])


def find_entity(question: str, entity: str) -> tuple[int, int] | None:
    """Find an entity in the question, ignoring case; None if it is not there.

    A note in brackets does not count.
    """
    name = _SUFFIX.sub("", entity)
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question, re.IGNORECASE) if name else None
    return match.span() if match else None


def _is_same_name(name: str, answer: str) -> bool:
    """Test whether one holds all words of the other.

    Answers add or leave out parts of a name.
    """
    first, second = (set(normalise_answer(_SUFFIX.sub("", text)).split()) for text in (name, answer))
    return bool(first and second) and (first <= second or second <= first)
