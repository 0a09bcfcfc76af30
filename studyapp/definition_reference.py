"""Writes the reference page of study definitions from the definition itself.

``python -m studyapp.definition_reference > docs/reference/study-definition.md``; a test compares the two.
"""

import sys
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from studyapp import definition as form
from studyapp.questionnaires import TEMPLATES, LikertScale, Question, Questionnaire, Role

_INTRODUCTION = """\
<!-- Made by `python -m studyapp.definition_reference`: change the definition, not this page. -->
# The study definition

`python manage.py create_study FILE.yaml` reads a study from a YAML file. \
[An example](../examples/study.yaml) shows most fields; [how to run a study](../how-to/run-a-study.md) says \
what to do with it. An unknown field, a field given twice and a value out of place are errors that name \
file, line and field.

Launching a study freezes everything below, with the texts, answers and facts that it refers to, into a \
version with a hash. A change makes a new version at the next launch; participants stay in the version they \
began.
"""

_SECTIONS: list[tuple[str, str, type[BaseModel]]] = [
    ("The study", "", form.StudyDefinition),
    ("conditions", "A list. Each has either a system or the ground truth.", form.ConditionDefinition),
    (
        "items",
        "Either `count` and `seed`, or `ids`. Items are drawn among the questions for which every condition "
        "has an answer to show; the ground truth needs known gold facts too.",
        form.ItemsDefinition,
    ),
    ("questionnaire", "", Questionnaire),
    ("A question", "", Question),
    ("A rating scale", "", LikertScale),
    ("exclusions: min_time", "", form.MinTimeDefinition),
    ("exclusions: max_time", "", form.MaxTimeDefinition),
    ("exclusions: answered", "", form.AnsweredDefinition),
    ("exclusions: item", "", form.ItemDefinition),
    ("completion", "", form.CompletionDefinition),
]

_DESCRIPTIONS = {
    "item": "questions asked beside every item",
    "post_survey": "questions asked once at the end; may be empty",
    "key": "name of the column: lower-case letters, digits, `_`",
    "text": "the wording",
    "scale": "`yes_no`, or a mapping with `points` and `labels`",
    "role": "what the measures take it for: " + ", ".join(f"`{role}`" for role in get_args(Role)),
    "required": "whether it must be answered to go on",
    "points": "2 to 11 steps, stored as 1, 2, …",
    "labels": "a word label for each step, lowest first",
}


def page() -> str:
    """The whole page, in Markdown."""
    return "\n".join([_INTRODUCTION, *(_section(*section) for section in _SECTIONS), _templates()])


def _section(title: str, introduction: str, model: type[BaseModel]) -> str:
    lines = [f"## {title}", "", introduction or str(model.__doc__).splitlines()[0].replace("``", "`"), ""]
    lines += ["| field | default | meaning |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        meaning = field.description or _DESCRIPTIONS[name]
        lines.append(f"| `{name}` | {_default(field)} | {meaning} |")
    return "\n".join([*lines, ""])


def _default(field: FieldInfo) -> str:
    default = field.default
    if field.is_required():
        return "required"
    if isinstance(default, bool | int | float):
        return f"`{str(default).lower()}`"
    if default is form.RULES_2020:
        return "the rules of the 2020 study"
    if default == TEMPLATES["xqa-2020"]:
        return "`xqa-2020`"
    if isinstance(default, list):
        return ", ".join(default)
    return "see below" if isinstance(default, BaseModel) else "none"


def _templates() -> str:
    rules = "; ".join(_rule(rule.freeze().model_dump()) for rule in form.RULES_2020)
    lines = ["## Defaults of the 2020 study", ""]
    lines += [f"Rules: {rules}. A questionnaire without the key `known_before` takes the first two.", ""]
    for name, questionnaire in TEMPLATES.items():
        lines += [f"The template `{name}` asks, beside every item and then at the end:", ""]
        lines += ["| key | wording | scale |", "|---|---|---|"]
        for question in [*questionnaire.item, *questionnaire.post_survey]:
            scale = "yes, no" if question.scale == "yes_no" else f"1 to {question.scale.points}"
            lines.append(f"| `{question.key}` | {question.text} | {scale} |")
    return "\n".join([*lines, ""])


def _rule(rule: dict[str, Any]) -> str:
    if rule["kind"] == "answered":
        return f"`{rule['name']}` where `{rule['question']}` is {str(rule['value']).lower()}"
    side = "under" if rule["kind"] == "min_time" else "over"
    return f"`{rule['name']}` {side} {rule['milliseconds'] / 1000:g} s on the {rule['clock']} clock"


if __name__ == "__main__":
    sys.stdout.write(page())
