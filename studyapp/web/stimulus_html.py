"""The HTML of an item: question, answer, explanation and articles.

Frozen content never changes and holds no data of participants, so each piece is
rendered once per process.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe

from predictions.program_steps import ItemImage
from studyapp.definition.freezing import Explanation, FrozenStudy, Shown
from studyapp.models import StudyVersion
from studyapp.queries.studies import image_paths, localised, study_slug
from studyapp.web.program_html import pictures, shown_steps


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


def articles(
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
    places: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    for title, index, start, end, level in tokens:
        places.setdefault((title, index), []).append((start, end, level))
    shown = [
        Article(
            title,
            [
                Sentence(_pieces(text, places.get((title, index), [])), (title, index) in chosen)
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


def _pieces(text: str, places: Sequence[tuple[int, int, int]]) -> tuple[Piece, ...]:
    """Cut a stripped sentence at its tokens; merge neighbours of one level."""
    levels = [0] * len(text)
    for start, end, level in places:
        levels[start:end] = [level] * (min(end, len(text)) - start)
    # Highlight a blank between two tokens of one level, so that they become one piece.
    for at in range(1, len(text) - 1):
        if text[at].isspace() and levels[at - 1] == levels[at + 1]:
            levels[at] = levels[at - 1]
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    runs = groupby(range(first, last), key=lambda at: levels[at])
    return tuple(Piece("".join(text[at] for at in run), level) for level, run in runs)


def instructions_html(version: StudyVersion, language: str = "") -> SafeString:
    """Return the instructions as paragraphs."""
    return _instructions_html(version.hash, version.pk, language)


@lru_cache(maxsize=128)
def _instructions_html(version_hash: str, version_pk: int, language: str) -> SafeString:
    return rendered_instructions(localised(StudyVersion(pk=version_pk, hash=version_hash), language))


def rendered_instructions(content: FrozenStudy) -> SafeString:
    """Return the instructions of content that may be a draft."""
    return mark_safe(linebreaks(content.instructions or "", autoescape=True))  # noqa: S308 (escaped there)


def stimulus_html(version: StudyVersion, *, condition: str, item_id: str, language: str = "") -> SafeString:
    """Return the part of an item page that a condition shows.

    ``language`` has to be the active one, since the cache key contains it. An
    attention item is the same in every condition.
    """
    return _stimulus_html(version.hash, version.pk, condition, item_id, language)


@lru_cache(maxsize=1024)
def _stimulus_html(
    version_hash: str, version_pk: int, condition: str, item_id: str, language: str
) -> SafeString:
    version = StudyVersion(pk=version_pk, hash=version_hash)
    content = localised(version, language)
    slug = study_slug(version_pk) if image_paths(version) else ""
    return rendered_stimulus(content, condition, item_id, slug=slug)


def rendered_stimulus(
    content: FrozenStudy, condition: str, item_id: str, *, slug: str = "draft"
) -> SafeString:
    """Render an item of content that may be a draft.

    ``slug`` is the study in the addresses of images; staff may use any.
    """
    check = content.attention_item(item_id)
    images: Sequence[ItemImage] = ()
    if check is not None:
        shown = Shown(answer=check.answer, facts=check.facts)
        style: Explanation | Literal["only text"] = "facts" if check.context else "only text"
        context, question = check.context, check.text
    else:
        item, frozen_condition = content.item(item_id), content.condition(condition)
        shown, style = frozen_condition.shown[item_id], frozen_condition.explanation
        context, question, images = item.context, item.question or "", item.images
    explained, others = articles(context or [], shown.facts or [], shown.tokens or [])
    return render_to_string(
        "studyapp/participant/stimulus.html",
        {
            "question": question,
            "answer": shown.answer,
            "style": style,
            "explained": explained,
            "others": others,
            **_program(shown, images, context or [], slug),
        },
    )


def _program(
    shown: Shown, images: Sequence[ItemImage], context: Sequence[tuple[str, list[str]]], slug: str
) -> dict[str, object]:
    """Return the images of an item and the steps of its program."""
    urls = [reverse("studyapp:item_image", args=[slug, one.path.partition("/")[2]]) for one in images]
    passage = "".join(context[0][1]) if context else ""
    return {
        "images": pictures(images, urls),
        "passage": passage,
        "steps": [
            (step, [Sentence(_pieces(passage, step.tokens), False)] if step.tokens and passage else [])
            for step in shown_steps(shown.steps or [], images, urls)
        ],
    }
