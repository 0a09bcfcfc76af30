"""Differences of two texts or two lists of articles, word by word.

Pure: no Django.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Context = Sequence[tuple[str, Sequence[str]]]
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class ChangedPiece(NamedTuple):
    """A piece of a text that stayed, was removed, or was added."""

    text: str
    kind: Literal["same", "removed", "added"] = "same"


class ChangedArticle(NamedTuple):
    """An article with changes: each sentence in pieces, None for what stayed."""

    title: str
    sentences: list[list[ChangedPiece] | None]


class ChangedContext(NamedTuple):
    """The articles that changed, and the titles of those that are gone."""

    articles: list[ChangedArticle]
    gone: list[str]


def compare_words(before: str, after: str) -> list[ChangedPiece]:
    """Return the pieces of two texts: what stayed, was removed, was added.

    >>> [piece.text for piece in compare_words("Who is older?", "Who is younger?")]
    ['Who is ', 'older', 'younger', '?']
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    pieces: list[ChangedPiece] = []
    for tag, start, end, from_, to in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(ChangedPiece("".join(new[from_:to])))
        else:
            pieces.append(ChangedPiece("".join(old[start:end]), "removed"))
            pieces.append(ChangedPiece("".join(new[from_:to]), "added"))
    return [piece for piece in pieces if piece.text]


def compare_articles(before: Context, after: Context) -> ChangedContext:
    """Return the differences of articles, which are paired by title."""
    left = [(title, list(sentences)) for title, sentences in before]
    articles = []
    for title, sentences in after:
        old = next((row for row in left if row[0] == title), None)
        if old is not None:
            left.remove(old)
        rows = _compare_sentences(old[1] if old else [], sentences)
        if any(rows):
            articles.append(ChangedArticle(title, rows))
    return ChangedContext(articles, [title for title, _sentences in left])


def _compare_sentences(before: Sequence[str], after: Sequence[str]) -> list[list[ChangedPiece] | None]:
    """Return the changed sentences, with one None for each run that stayed."""
    old, new = ([sentence.strip() for sentence in text] for text in (before, after))
    rows: list[list[ChangedPiece] | None] = []
    for tag, start, end, from_, to in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if tag == "equal":
            rows.append(None)
            continue
        pairs = min(end - start, to - from_)
        rows += [compare_words(old[start + at], new[from_ + at]) for at in range(pairs)]
        rows += [[ChangedPiece(sentence, "removed")] for sentence in old[start + pairs : end]]
        rows += [[ChangedPiece(sentence, "added")] for sentence in new[from_ + pairs : to]]
    return rows
