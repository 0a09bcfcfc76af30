"""The HTML of two conditions side by side.

As `render_stimulus_once`, each piece is rendered once per process.
"""

from collections.abc import Sequence

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from predictions.explanations.articles import highlight_articles
from studyapp.definition.frozen.freezing import FrozenItem, FrozenStudy
from studyapp.definition.task_designs.comparing import SIDES
from studyapp.definition.tasks import Preference
from studyapp.models import StudyVersion
from studyapp.queries.studies import cache_per_version, find_image_slug, load_translated_study
from studyapp.web.html.stimulus import build_answer_context, build_program_context

# Characters of text that stand above the two sides. A longer text opens on demand, as does one that a side
# shows with highlights.
SHORT = 700


@cache_per_version(1024)
def render_comparison_once(
    version: StudyVersion, conditions: tuple[str, ...], *, item_id: str, language: str = ""
) -> SafeString:
    """Return the part of an item page with the left and the right condition.

    ``language`` has to be the active one, since the cache key contains it.
    """
    return render_comparison(
        load_translated_study(version, language), conditions, item_id, slug=find_image_slug(version)
    )


def render_comparison(
    content: FrozenStudy, conditions: Sequence[str], item_id: str, *, slug: str = "draft"
) -> SafeString:
    """Render two conditions of an item of content that may be a draft.

    ``slug`` is the study in the addresses of images; staff may use any.
    """
    assert isinstance(content.task, Preference)
    item = content.item(item_id)
    sides = [
        {"title": _(title), **_build_side_context(content, name, item, slug)}
        for title, name in zip(SIDES[content.task.of], conditions, strict=True)
    ]
    _marked, plain = highlight_articles(item.context or [], [], [])
    length = sum(len(sentence.text) for article in plain for sentence in article.sentences)
    # The steps of a program come with the whole passage.
    texts = [] if any(side["steps"] and side["passage"] for side in sides) else plain
    return render_to_string(
        "studyapp/participant/comparison.html",
        {
            "question": item.question or "",
            "images": sides[0]["images"],
            "sides": sides,
            "others": texts,
            "is_open": length <= SHORT and not any(side["explained"] for side in sides),
            "has_steps": any(side["steps"] for side in sides),
        },
    )


def _build_side_context(content: FrozenStudy, name: str, item: FrozenItem, slug: str) -> dict[str, object]:
    condition, context = content.condition(name), item.context or []
    shown = condition.shown[item.id]
    return {
        **build_answer_context(
            shown, condition.explanation, condition.saliency, item.question or "", context
        ),
        **build_program_context(shown, item.images, context, slug),
    }
