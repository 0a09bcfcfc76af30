"""What a condition shows for an item, as HTML: question, answer, explanation and articles.

Frozen content never changes and holds nothing of a participant, so each piece is rendered once per process.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe

from studyapp.models import StudyVersion
from studyapp.queries.studies import frozen


class Sentence(NamedTuple):
    """One sentence as shown; ``is_fact`` where the system names it as explanation."""

    text: str
    is_fact: bool


class Article(NamedTuple):
    """One article as shown."""

    title: str
    sentences: list[Sentence]

    @property
    def is_explained(self) -> bool:
        """Whether it holds a fact of the explanation."""
        return any(sentence.is_fact for sentence in self.sentences)


def articles(
    context: Iterable[tuple[str, Sequence[str]]], facts: Iterable[tuple[str, int]]
) -> tuple[list[Article], list[Article]]:
    """Mark the facts ``(title, 0-based index)`` in the articles; return those with a fact and the others.

    Empty sentences are left out. A fact that names no sentence has nothing to mark.
    """
    chosen = set(facts)
    shown = [
        Article(
            title,
            [
                Sentence(text.strip(), (title, index) in chosen)
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


def instructions_html(version: StudyVersion) -> SafeString:
    """The instructions as paragraphs."""
    return _instructions_html(version.hash, version.pk)


@lru_cache(maxsize=128)
def _instructions_html(version_hash: str, version_pk: int) -> SafeString:
    content = frozen(StudyVersion(pk=version_pk, hash=version_hash))
    return mark_safe(linebreaks(content.instructions or "", autoescape=True))  # noqa: S308 (escaped there)


def stimulus_html(version: StudyVersion, *, condition: str, item_id: str) -> SafeString:
    """What participants of ``condition`` see of the item, beside the questions."""
    return _stimulus_html(version.hash, version.pk, condition, item_id)


@lru_cache(maxsize=1024)
def _stimulus_html(version_hash: str, version_pk: int, condition: str, item_id: str) -> SafeString:
    content = frozen(StudyVersion(pk=version_pk, hash=version_hash))
    item = content.item(item_id)
    shown = content.condition(condition).shown[item_id]
    explained, others = articles(item.context or [], shown.facts or [])
    return render_to_string(
        "studyapp/participant/stimulus.html",
        {"question": item.question, "answer": shown.answer, "explained": explained, "others": others},
    )
