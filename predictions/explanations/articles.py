"""Articles with highlighted facts and tokens, as pages draw them. Pure."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple


class Piece(NamedTuple):
    """A piece of a sentence, highlighted from 0 (not) to 3 (strong)."""

    text: str
    level: int = 0


class Sentence(NamedTuple):
    """A sentence; ``is_fact`` if the system gives it as explanation."""

    pieces: tuple[Piece, ...]
    is_fact: bool

    @property
    def text(self) -> str:
        """The text without highlights."""
        return "".join(piece.text for piece in self.pieces)


class Article(NamedTuple):
    """An article with its title and sentences."""

    title: str
    sentences: list[Sentence]

    @property
    def is_explained(self) -> bool:
        """True if the article contains a fact or a highlighted token."""
        return any(
            sentence.is_fact or any(piece.level for piece in sentence.pieces) for sentence in self.sentences
        )


def highlight_articles(
    context: Iterable[tuple[str, Sequence[str]]],
    facts: Iterable[tuple[str, int]],
    tokens: Iterable[tuple[str, int, int, int, int]] = (),
) -> tuple[list[Article], list[Article]]:
    """Highlight facts and tokens in the articles.

    Args:
        context: Titles and sentences.
        facts: Titles and 0-based indices of sentences.
        tokens: Title, sentence index, start, end and level of each token.

    Returns:
        The articles with highlights, and the others. Empty sentences are left
        out; a fact or token without a sentence is ignored.
    """
    chosen = set(facts)
    tokens_of: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    for title, index, start, end, level in tokens:
        tokens_of.setdefault((title, index), []).append((start, end, level))
    shown = [
        Article(
            title,
            [
                Sentence(cut_pieces(text, tokens_of.get((title, index), [])), (title, index) in chosen)
                for index, text in enumerate(sentences)
                if text.strip()
            ],
        )
        for title, sentences in context
    ]
    return (
        [article for article in shown if article.is_explained],
        [article for article in shown if not article.is_explained],
    )


def cut_pieces(text: str, tokens: Sequence[tuple[int, int, int]]) -> tuple[Piece, ...]:
    """Cut a stripped sentence at its tokens; merge neighbours of one level."""
    levels = [0] * len(text)
    for start, end, level in tokens:
        levels[start:end] = [level] * (min(end, len(text)) - start)
    # Highlight a blank between two tokens of one level, so that they become one piece.
    for at in range(1, len(text) - 1):
        if text[at].isspace() and levels[at - 1] == levels[at + 1]:
            levels[at] = levels[at - 1]
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    runs = groupby(range(first, last), key=lambda at: levels[at])
    return tuple(Piece("".join(text[at] for at in run), level) for level, run in runs)
