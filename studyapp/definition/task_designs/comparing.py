"""The task preference: its questions, and what a study needs.

Pure: no Django.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from analysis.participants.tasks.preference import CHOICES
from foundation.messages import value_error
from studyapp.definition.checks import AttentionDefinition
from studyapp.definition.conditions import ConditionDefinition, ItemsDefinition
from studyapp.definition.frozen.freezing import Design, FrozenStudy
from studyapp.definition.questions.answer_scales import Choice, SingleChoice
from studyapp.definition.questions.question import Question
from studyapp.definition.tasks import OVERALL, Preference, Task

# One page shows both conditions and asks about them.
COMPARISON = "comparison"
LEFT, RIGHT, TIE = CHOICES
# The names of the sides on the page, by what is compared. A phone shows them one below the other.
SIDES = {
    "explanation": ("Explanation A", "Explanation B"),
    "answer": ("Answer A", "Answer B"),
}
ALIKE = "Both are alike"


def list_comparison_questions(task: Task, words: Callable[[str], str] = str) -> list[Question]:
    """Return the question on each criterion; none of another task.

    Args:
        task: The task, with criteria in the participant's language.
        words: Translates the names of the sides, and a criterion of our own.
    """
    if not isinstance(task, Preference):
        return []
    left, right = map(words, SIDES[task.of])
    labels = {LEFT: left, **({TIE: words(ALIKE)} if task.ties else {}), RIGHT: right}
    scale = SingleChoice(
        kind="single", choices=[Choice(value=value, label=label) for value, label in labels.items()]
    )
    own = OVERALL.values()
    return [
        Question.model_construct(
            key=criterion.question,
            text=words(criterion.text) if criterion.text in own else criterion.text,
            scale=scale,
            role=None,
        )
        for criterion in task.criteria
    ]


def list_texts_to_translate(task: Task) -> list[Question]:
    """Return the criteria as questions.

    They have no choices, because the site translates those.
    """
    return [question.model_copy(update={"scale": "yes_no"}) for question in list_comparison_questions(task)]


def check_compared(conditions: Sequence[ConditionDefinition], task: Task) -> None:
    """Raise ValueError if conditions cannot be compared in pairs."""
    if not isinstance(task, Preference):
        return
    if len(conditions) < 2:
        raise value_error("the task preference compares conditions: give two or more")
    for condition in conditions:
        if task.of == "explanation" and condition.explanation == "none":
            raise value_error(
                "%(name)r shows no explanation, so it cannot be compared with one; give it an "
                "explanation, or compare answers with `of: answer`",
                name=condition.name,
            )


def check_compared_design(design: Design, task: Task) -> None:
    """Raise ValueError if participants would not compare all conditions."""
    if isinstance(task, Preference) and design != "within":
        raise value_error("in a preference study every participant compares all conditions; choose `within`")


def check_compared_order(order: str, task: Task) -> None:
    """Raise ValueError if pairs of conditions are to come block by block."""
    if isinstance(task, Preference) and order != "shuffled":
        raise value_error("the pairs of a preference study come in a random order; choose `shuffled`")


def check_compared_attention(attention: Sequence[AttentionDefinition], task: Task) -> None:
    """Raise ValueError if an attention item shows one answer in place of two."""
    for row in attention:
        if isinstance(task, Preference) and row.kind == "contradiction":
            raise value_error(
                "attention item %(id)r: a preference study shows two answers, and a contradiction one; "
                "choose instructed",
                id=row.id,
            )


def check_compared_items(items: ItemsDefinition, conditions: Sequence[ConditionDefinition]) -> None:
    """Raise ValueError if a participant could not see every condition once."""
    if 2 * items.total < len(conditions):
        raise value_error(
            "%(n)s items are too few to show %(largest)s conditions in pairs",
            n=items.total,
            largest=len(conditions),
        )


def find_same_pairs(content: FrozenStudy) -> Iterator[tuple[str, str, str]]:
    """Yield item and two conditions that show the same for it."""
    for item in (*content.practice, *content.items):
        for first, second in combinations(content.conditions, 2):
            if first.shown.get(item.id) == second.shown.get(item.id):
                yield item.id, first.name, second.name
