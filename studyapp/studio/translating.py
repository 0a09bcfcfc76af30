"""The form of the translations: a field for every text of the study.

Pure: no Django.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from studyapp.definition.languages.translations import list_labels, map_builtin_texts, translate_builtin_texts
from studyapp.definition.questions.question import Question
from studyapp.definition.task_designs.comparing import list_texts_to_translate
from studyapp.definition.yaml_document import Location
from studyapp.studio.drafts import Draft, parse_task
from studyapp.studio.widgets import Widget

_PART_TITLES = {
    "screening": "Screening",
    "comprehension": "Comprehension check",
    "pre_survey": "Before the items",
    "item": "Beside every item",
    "post_survey": "After the items",
}


def group_questions_by_part(draft: Draft) -> dict[str, list[Question]]:
    """Return the questions of each part, as far as they are questions already."""
    asked, check = draft.get("questionnaire"), draft.get("comprehension")
    rows = {
        "screening": draft.get("screening"),
        "comprehension": check.get("questions") if isinstance(check, dict) else None,
        **{
            name: asked.get(name) if isinstance(asked, dict) else None
            for name in ("pre_survey", "item", "post_survey")
        },
    }
    language = str(draft.get("language", "en"))
    parts = {name: translate_builtin_texts(_parse_questions(found), language) for name, found in rows.items()}
    task = parse_task(draft)
    return parts | {"item": [*(list_texts_to_translate(task) if task else []), *parts["item"]]}


def _parse_questions(rows: Any) -> list[Question]:
    questions = []
    for row in rows if isinstance(rows, list) else []:
        try:
            questions.append(
                Question.model_validate({key: row[key] for key in Question.model_fields if key in row})
            )
        except (ValidationError, TypeError):
            continue
    return questions


def fill_translation_rows(
    widget: Widget, draft: Draft, value: Any, languages: Sequence[tuple[str, str]]
) -> Widget:
    """Return a row per language, and a way to add those that the site speaks."""
    given = value if isinstance(value, dict) else {}
    names = dict(languages)
    widget.kind, widget.is_dropped_empty = "group", True
    widget.hint = (
        "A language is offered to participants once all its texts are there. Texts of our templates and "
        "scales are already translated into German."
    )
    widget.children = [
        _build_language_row((*widget.location, code), draft, words if isinstance(words, dict) else {}, names)
        for code, words in given.items()
    ]
    widget.adds = [
        (code, name) for code, name in languages if code not in given and code != draft.get("language", "en")
    ]
    return widget


def _build_language_row(
    location: Location, draft: Draft, words: Mapping[str, Any], names: Mapping[str, str]
) -> Widget:
    """Return the texts of one language."""
    code = str(location[-1])
    row = Widget("row", location, summary_labels=[names.get(code, code)], is_removable=True)
    originals = {**draft, "title": draft.get("title_for_participants") or draft.get("title")}
    for name in ("title", "consent", "instructions"):
        if isinstance(originals.get(name), str) and originals[name]:
            row.children.append(_build_text((*location, name), originals[name], words.get(name), {}))
    if isinstance(draft.get("instructions"), list):
        row.children.append(_build_instructions((*location, "instructions"), draft["instructions"], words))
    builtin = map_builtin_texts(code)
    parts = group_questions_by_part(draft)
    for part, title in _PART_TITLES.items():
        texts = {question.key: question.text for question in parts[part]}
        _add_group(row, (*location, part), title, texts, words, builtin)
    attention = draft.get("attention")
    instructed = {
        str(check.get("id")): str(check.get("text"))
        for check in (attention if isinstance(attention, list) else [])
        if isinstance(check, dict) and check.get("kind") == "instructed" and check.get("text")
    }
    _add_group(row, (*location, "attention"), "Attention items", instructed, words, builtin)
    labels = {label: label for rows in parts.values() for question in rows for label in list_labels(question)}
    _add_group(row, (*location, "labels"), "Labels and other texts", labels, words, builtin)
    return row


def _build_instructions(location: Location, parts: list[Any], words: Mapping[str, Any]) -> Widget:
    """Return a field for each part of the instructions, stored as a list."""
    given = words.get("instructions")
    texts = given if isinstance(given, list) else [given]
    group = Widget("texts", location, "Instructions")
    for number, part in enumerate(parts):
        original = str(part.get("text") or "…") if isinstance(part, dict) else "…"
        value = texts[number] if number < len(texts) else None
        group.children.append(_build_text((*location, number), original, value, {}))
    return group


def _add_group(
    row: Widget,
    location: Location,
    title: str,
    texts: Mapping[str, str],
    words: Mapping[str, Any],
    builtin: Mapping[str, str],
) -> None:
    """Return a field for each of some texts, by key."""
    if not texts:
        return
    given = words.get(str(location[-1]))
    given = given if isinstance(given, dict) else {}
    group = Widget("group", location, title, is_dropped_empty=True)
    dotted = ".".join(str(part) for part in location)
    for number, (key, text) in enumerate(texts.items(), start=1):
        field = _build_text((*location, key), text, given.get(key), builtin)
        # A label may contain any character, so its number identifies it in the form.
        field.code = f"{dotted}.{number}"
        group.children.append(field)
    row.children.append(group)


def _build_text(location: Location, original: str, value: Any, builtin: Mapping[str, str]) -> Widget:
    hint = "If left empty:" if original in builtin else ""
    kind: Any = "area" if "\n" in original or len(original) > 80 else "text"
    label = original if len(original) <= 300 else original[:300] + " …"
    return Widget(
        kind,
        location,
        label,
        hint=hint,
        value="" if value is None else str(value),
        quoted=builtin.get(original, ""),
    )
