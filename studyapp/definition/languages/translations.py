"""Translations of a study: texts, missing texts, translated questions.

Pure: no Django. A translation counts once it is complete; participants then choose among the languages. Items
stay in the language of their dataset.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Field

from foundation.frozen_model import FrozenModel
from studyapp.definition.languages.builtin_translations import WORDINGS
from studyapp.definition.questions.answer_scales import (
    Choice,
    Choices,
    LikertScale,
    MatrixScale,
    NumberScale,
    SliderScale,
)
from studyapp.definition.questions.display import TranslatedInstructions
from studyapp.definition.questions.question import Question

Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]+)*$", max_length=10)]
Asked = TypeVar("Asked", bound=Question)
Texts = dict[str, Annotated[str, Field(min_length=1)]]
# The parts of a study that ask questions, by the names of their fields.
PARTS = ("screening", "comprehension", "pre_survey", "item", "post_survey")


class Translation(FrozenModel):
    """All texts of a study in one language.

    Texts of our own templates and scales are known already.
    """

    title: str | None = Field(default=None, description="the title that participants see")
    consent: str | None = Field(default=None, description="the consent")
    instructions: TranslatedInstructions | None = Field(
        default=None,
        description="the instructions, if there are any: a text, or a list of texts if they have parts",
    )
    screening: Texts = Field(default={}, description="wording of screening questions, by key")
    comprehension: Texts = Field(default={}, description="wording of comprehension questions, by key")
    pre_survey: Texts = Field(default={}, description="wording of questions before the items, by key")
    item: Texts = Field(default={}, description="wording of item questions, by key")
    post_survey: Texts = Field(default={}, description="wording of questions at the end, by key")
    attention: Texts = Field(default={}, description="text of instructed attention items, by id")
    labels: Texts = Field(
        default={},
        description="labels, units, headings and wordings for some conditions, by their original: each once, "
        "wherever it is used",
    )


def list_labels(question: Question) -> list[str]:
    """Return labels, units and all other texts of a question but its wording.

    Yes and no are the site's own words.
    """
    alt = question.image.alt if question.image else None
    others = (question.unexplained_text, question.heading, question.heading_text, alt)
    return [*_list_scale_labels(question), *(text for text in others if text is not None)]


def _list_scale_labels(question: Question) -> list[str]:
    match question.scale:
        case LikertScale(labels=labels):
            return [label for label in labels if not label.isdecimal()]
        case MatrixScale(rows=rows, answers=answers):
            inner = _list_scale_labels(question.model_copy(update={"scale": answers}))
            return [*(row.text for row in rows), *inner]
        case Choices(choices=choices):
            return [choice.label for choice in choices]
        case SliderScale(ends=ends, unit=unit):
            return [*ends, *_list_unit_words(unit)]
        case NumberScale(unit=unit):
            return _list_unit_words(unit)
    return []


def _list_unit_words(unit: str | None) -> list[str]:
    """Return a unit that is a word in some language; % is none."""
    return [unit] if unit and any(map(str.isalpha, unit)) else []


def map_builtin_texts(language: str) -> dict[str, str]:
    """Return our texts in a language by those that a study may have.

    In English, these are the originals of the German ones.
    """
    if language == "en":
        return {german: original for original, german in WORDINGS["de"].items()}
    return WORDINGS.get(language, {})


def fill_translation(
    translation: Translation, language: str, parts: Mapping[str, Sequence[Question]]
) -> Translation:
    """Return a translation, completed with texts of templates and scales.

    Args:
        translation: The translation as written, which keeps its own texts.
        language: Code of its language.
        parts: The questions of each of `PARTS`; a part that is left out has none.
    """
    builtin = map_builtin_texts(language)
    texts: dict[str, Texts] = {}
    labels = dict(translation.labels)
    for part in PARTS:
        questions = parts.get(part, ())
        written: Texts = getattr(translation, part)
        texts[part] = {q.key: builtin[q.text] for q in questions if q.text in builtin} | written
        for label in (label for question in questions for label in list_labels(question)):
            if label in builtin:
                labels.setdefault(label, builtin[label])
    return translation.model_copy(update={**texts, "labels": labels})


def translate_builtin_texts(questions: Sequence[Asked], language: str) -> list[Asked]:
    """Return questions whose texts of ours are in a language.

    These are the texts of our templates and scales; all others stay as they are written.
    """
    texts = WORDINGS.get(language)
    if texts is None:
        return [*questions]
    return [translate(question, texts.get(question.text, question.text), texts) for question in questions]


def find_missing_fields(
    translation: Translation,
    parts: Mapping[str, Sequence[Question]],
    *,
    instructions: Sequence[str],
    attention: Sequence[str] = (),
) -> list[str]:
    """Return the fields that a filled translation lacks, as dotted names."""
    return list(_find_missing_fields(translation, parts, instructions, attention))


def _find_missing_fields(
    translation: Translation,
    parts: Mapping[str, Sequence[Question]],
    instructions: Sequence[str],
    attention: Sequence[str],
) -> Iterator[str]:
    yield from (name for name in ("title", "consent") if not getattr(translation, name))
    written = translation.instructions or []
    if len(instructions) != len([written] if isinstance(written, str) else written) or not all(written):
        yield "instructions"
    for part in PARTS:
        for question in parts.get(part, ()):
            if question.key not in getattr(translation, part):
                yield f"{part}.{question.key}"
    yield from (f"attention.{name}" for name in attention if name not in translation.attention)
    used = {label: None for part in PARTS for q in parts.get(part, ()) for label in list_labels(q)}
    yield from (f"labels.{label}" for label in used if label not in translation.labels)


def find_unknown_texts(
    translation: Translation, parts: Mapping[str, Sequence[Question]], attention: Sequence[str]
) -> list[tuple[str, str]]:
    """Return part and key of texts that belong to nothing in the study.

    Such a text is a slip, because it would be lost.
    """
    lost = []
    for part in PARTS:
        keys = {question.key for question in parts.get(part, ())}
        lost += [(part, key) for key in getattr(translation, part) if key not in keys]
    lost += [("attention", key) for key in translation.attention if key not in attention]
    used = {label for part in PARTS for q in parts.get(part, ()) for label in list_labels(q)}
    return lost + [("labels", label) for label in translation.labels if label not in used]


def _translate_choices(choices: Sequence[Choice], labels: Mapping[str, str]) -> list[Choice]:
    return [choice.model_copy(update={"label": labels.get(choice.label, choice.label)}) for choice in choices]


def translate(question: Asked, text: str, labels: Mapping[str, str]) -> Asked:
    """Return the question in another language; stored answers stay the same."""
    scale = question.scale
    match scale:
        case LikertScale():
            scale = scale.model_copy(update={"labels": [labels.get(label, label) for label in scale.labels]})
        case Choices(choices=choices):
            scale = scale.model_copy(update={"choices": _translate_choices(choices, labels)})
        case MatrixScale(rows=rows, labels=points, choices=choices):
            update = {
                "rows": [row.model_copy(update={"text": labels.get(row.text, row.text)}) for row in rows],
                "labels": [labels.get(label, label) for label in points],
                "choices": _translate_choices(choices, labels),
            }
            scale = scale.model_copy(update=update)
        case SliderScale(ends=ends, unit=unit):
            words = {"ends": [labels.get(end, end) for end in ends], "unit": unit and labels.get(unit, unit)}
            scale = scale.model_copy(update=words)
        case NumberScale(unit=str(unit)):
            scale = scale.model_copy(update={"unit": labels.get(unit, unit)})
    others: dict[str, Any] = {
        name: labels.get(original, original)
        for name in ("unexplained_text", "heading", "heading_text")
        if (original := getattr(question, name)) is not None
    }
    if question.image is not None:
        alt = question.image.alt
        others["image"] = question.image.model_copy(update={"alt": labels.get(alt, alt)})
    return question.model_copy(update={"text": text, "scale": scale, **others})
