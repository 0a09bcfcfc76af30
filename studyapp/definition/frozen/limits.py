"""Limits to some conditions, as a launch freezes them.

Pure: no Django. A part that belongs to every condition is frozen without a limit, so that a study in which
all conditions show explanations has the hash that it had before there were limits.
"""

from collections.abc import Sequence

from studyapp.definition.questions.display import (
    InstructionPart,
    Instructions,
    NamedCondition,
    is_for_condition,
)
from studyapp.definition.questions.question import Question


def freeze_questions(questions: Sequence[Question], conditions: Sequence[NamedCondition]) -> list[Question]:
    """Return the questions, each with the conditions that ask it."""
    has_others = not all(condition.is_explained for condition in conditions)
    return [
        question.model_copy(
            update={
                "only": _list_condition_names(question, conditions),
                "except_": None,
                "unexplained_text": question.unexplained_text if has_others else None,
            }
        )
        for question in questions
    ]


def freeze_instructions(instructions: Instructions, conditions: Sequence[NamedCondition]) -> Instructions:
    """Return the instructions as text if all conditions have the same."""
    if isinstance(instructions, str):
        return instructions
    limited = [(part, _list_condition_names(part, conditions)) for part in instructions]
    if all(names is None for _part, names in limited):
        return "\n\n".join(part.text for part, _names in limited)
    return [part.model_copy(update={"only": names, "except_": None}) for part, names in limited]


def list_instruction_texts(instructions: Instructions) -> list[str]:
    """Return the texts of the instructions, part by part."""
    if isinstance(instructions, str):
        return [instructions] if instructions else []
    return [part.text for part in instructions]


def _list_condition_names(
    part: Question | InstructionPart, conditions: Sequence[NamedCondition]
) -> list[str] | None:
    """Return the conditions that a limit leaves; None if it leaves all."""
    names = [
        condition.name for condition in conditions if is_for_condition(part.only, part.except_, condition)
    ]
    return None if len(names) == len(conditions) else names
