"""Defaults of a study definition that depend on its task and questions.

Pure: no Django.
"""

from typing import Any

from studyapp.definition.exclusion_rules import RULES_2020, RULES_PICTURES
from studyapp.definition.questions.questionnaires import TASK_TEMPLATES
from studyapp.definition.questions.scales import expand_if_possible
from studyapp.definition.task_designs.blocks import fill_item_count
from studyapp.definition.tasks import expand_task

_RULES = RULES_2020[:2]  # without the one that reads known_before
# The default rules of templates that do not ask known_before.
_RULES_OF = {"pictures": RULES_PICTURES, **dict.fromkeys(TASK_TEMPLATES, _RULES)}


def fill_task_defaults(data: dict[str, Any]) -> dict[str, Any]:
    """Return a written definition with what its task and questions decide.

    Participants of a preference study compare all conditions. A task that has a template asks its questions
    if none are given. The default rule that reads known_before is left out if that is not asked.
    """
    data = _fill_rules(data)
    task = expand_task(data.get("task"))
    kind = task.get("kind") if isinstance(task, dict) else None
    if kind in TASK_TEMPLATES:
        data = fill_item_count(data, task)
        if "questionnaire" not in data:
            data = {"exclusions": _RULES, **data, "questionnaire": kind}
    if kind == "preference":
        data = {"design": "within", "condition_order": "shuffled", **data}
    return data


def _fill_rules(data: dict[str, Any]) -> dict[str, Any]:
    """Fill the exclusion rules of questions that leave out known_before."""
    questionnaire = data.get("questionnaire")
    if "exclusions" in data:
        return data
    if isinstance(questionnaire, str) and questionnaire in _RULES_OF:
        return {**data, "exclusions": _RULES_OF[questionnaire]}
    asked = expand_if_possible(questionnaire.get("item")) if isinstance(questionnaire, dict) else None
    if isinstance(asked, list):
        keys = [question.get("key") for question in asked if isinstance(question, dict)]
        return data if "known_before" in keys else {**data, "exclusions": _RULES}
    return data
