"""Systems and the conditions that show them: a condition is not a system.

A system may be shown in several styles, with or without explanations. Rankings and correlations over systems
take one condition for each system; the styles of one system are compared with each other instead.
"""

from collections.abc import Iterable
from itertools import combinations

from ..participants.study_version import Condition
from ..scores.score_table import Score

ANSWER_SCORES = "Answer"  # the group of scores that explanations do not enter


def choose_representatives(conditions: Iterable[Condition]) -> list[Condition]:
    """Return the one condition that stands for each system, in order.

    It is the only condition of the system, or the one marked ``represents``. Bundles without a mark have the
    first condition with explanations, or the first without any.
    """
    chosen = {}
    for system, shown in group_styles(conditions).items():
        marked = [condition for condition in shown if condition.represents]
        explained = [condition for condition in shown if condition.explained]
        chosen[system] = (marked or explained or shown)[0]
    return list(chosen.values())


def group_styles(conditions: Iterable[Condition]) -> dict[str, list[Condition]]:
    """Return the conditions of each system, by name; not the ground truth."""
    by_system: dict[str, list[Condition]] = {}
    for condition in conditions:
        if condition.system is not None and not condition.ground_truth:
            by_system.setdefault(condition.system, []).append(condition)
    return by_system


def pair_styles(conditions: Iterable[Condition]) -> list[tuple[str, str]]:
    """Return the pairs of conditions that show the same system."""
    return [
        (first.name, second.name)
        for shown in group_styles(conditions).values()
        for first, second in combinations(shown, 2)
    ]


def is_comparable(condition: Condition, score: Score) -> bool:
    """Return whether people who saw the condition can be compared by a score.

    Scores of explanations say nothing about people who saw none, or a written rationale alone.
    """
    return score.group == ANSWER_SCORES or condition.shows_scored_explanation
