"""The HTML of an item: question, answer, explanation and articles.

Frozen content never changes and holds no data of participants, so each piece is
rendered once per process.
"""

from collections.abc import Sequence
from typing import Literal

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from foundation.pages.paragraphs import paragraphs
from predictions.explanations.articles import Sentence, cut_pieces, highlight_articles
from predictions.explanations.program_steps import ItemImage
from predictions.explanations.saliency import has_sign
from studyapp.definition.frozen.freezing import Explanation, FrozenStudy, Shown
from studyapp.definition.questions.flow import Viewer
from studyapp.definition.tasks import Advice, Simulation
from studyapp.models import StudyVersion
from studyapp.queries.studies import cache_per_version, find_image_slug, load_translated_study
from studyapp.web.html.program import build_pictures, describe_steps
from studyapp.web.html.word_changes import compare_articles, compare_words


def render_instructions(version: StudyVersion, language: str, viewer: Viewer) -> SafeString:
    """Return the instructions of the viewer's conditions as paragraphs."""
    return _render_instructions_once(version, language, viewer._replace(seed=None))


@cache_per_version(128)
def _render_instructions_once(version: StudyVersion, language: str, viewer: Viewer) -> SafeString:
    return paragraphs(load_translated_study(version, language).instructions_for(viewer))


@cache_per_version(1024)
def render_stimulus_once(
    version: StudyVersion, *, condition: str, item_id: str, language: str = "", has_answer: bool = True
) -> SafeString:
    """Return the part of an item page that a condition shows.

    Without a condition that is what people see before they answer for themselves. ``language`` has to be the
    active one, since the cache key contains it. An attention item is the same in every condition. Without
    the answer, only its explanation is shown.
    """
    content = load_translated_study(version, language)
    return render_stimulus(content, condition, item_id, slug=find_image_slug(version), has_answer=has_answer)


def render_stimulus(
    content: FrozenStudy, condition: str, item_id: str, *, slug: str = "draft", has_answer: bool = True
) -> SafeString:
    """Render an item of content that may be a draft.

    Without a condition, or in one without advice, only question and articles are shown. ``slug`` is the study
    in the addresses of images; staff may use any. ``has_answer`` is False to show the explanation alone.
    """
    check = content.attention_item(item_id)
    frozen_condition = content.condition(condition) if condition and check is None else None
    images: Sequence[ItemImage] = ()
    if check is not None:
        shown = Shown(answer=check.answer, facts=check.facts)
        style: Explanation | Literal["only text", "no answer"] = "facts" if check.context else "only text"
        context, question = check.context, check.text
    else:
        item = content.item(item_id)
        if frozen_condition and frozen_condition.advice:
            shown, style = frozen_condition.shown[item_id], frozen_condition.explanation
        else:
            shown, style = Shown(answer=None, facts=None), "no answer"
        if not has_answer and style == "none":
            style = "no answer"
        context, question, images = item.context, item.question or "", item.images
    saliency = frozen_condition.saliency if frozen_condition else ""
    return render_to_string(
        "studyapp/participant/stimulus.html",
        {
            "hides_answer": not has_answer,
            "is_original": check is None and item.changed is not None,
            "is_open": isinstance(content.task, Advice | Simulation),
            **build_answer_context(shown, style, saliency, question, context or []),
            **build_program_context(shown, images, context or [], slug),
        },
    )


def build_answer_context(
    shown: Shown, style: str, saliency: str, question: str, context: Sequence[tuple[str, list[str]]]
) -> dict[str, object]:
    """Return what the template needs of an answer with its explanation.

    Args:
        shown: The answer and the explanation.
        style: The style of explanation.
        saliency: The method of the weights of tokens; empty if it is unknown.
        question: The text of the question.
        context: The articles.
    """
    explained, others = highlight_articles(context, shown.facts or [], shown.tokens or [])
    return {
        "question": Sentence(cut_pieces(question, shown.question_tokens or []), False),
        "has_question_marks": bool(shown.question_tokens),
        "answer": shown.answer,
        "style": style,
        "rationale": shown.rationale,
        "has_sign": has_sign(saliency),
        "explained": explained,
        "others": others,
    }


@cache_per_version(1024)
def render_change_once(version: StudyVersion, *, item_id: str, language: str = "") -> SafeString:
    """Return the changed version of an item, empty without one.

    ``language`` has to be the active one.
    """
    return render_change(load_translated_study(version, language), item_id)


def render_change(content: FrozenStudy, item_id: str) -> SafeString:
    """Render the change of an item of content that may be a draft."""
    item = None if content.attention_item(item_id) else content.item(item_id)
    if item is None or item.changed is None:
        return SafeString("")
    before, after = item.question or "", item.changed.question
    return render_to_string(
        "studyapp/participant/changed.html",
        {
            "question": compare_words(before, after) if before != after else [],
            "context": compare_articles(item.context or [], item.changed.context),
        },
    )


def build_program_context(
    shown: Shown, images: Sequence[ItemImage], context: Sequence[tuple[str, list[str]]], slug: str
) -> dict[str, object]:
    """Return the images of an item and the steps of its program."""
    urls = [reverse("studyapp:item_image", args=[slug, image.path.partition("/")[2]]) for image in images]
    passage = "".join(context[0][1]) if context else ""
    return {
        "images": build_pictures(images, urls),
        "passage": passage,
        "steps": [
            (step, [Sentence(cut_pieces(passage, step.tokens), False)] if step.tokens and passage else [])
            for step in describe_steps(shown.steps or [], images, urls)
        ],
    }
