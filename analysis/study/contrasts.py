"""Comparisons of a study whose plan names none."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from ..participants.study_version import Condition, Kind

Contrast = tuple[str, str, str]  # measure, first and second condition

# Compared if nothing was declared. Few, because Holm's correction counts them all.
EXPLORED: dict[Kind, tuple[str, ...]] = {
    "verification": (
        *("agreement", "fraction_correct", "fp", "over_estimation", "time_geometric", "certainty"),
    ),
    "advice": (
        *("over_reliance", "under_reliance", "final_accuracy", "complementarity", "confidence_change"),
        "time_geometric",
    ),
    "simulation": ("simulation_effect", "after_accuracy", "time_geometric"),
    "counterfactual": ("coverage", "precision", "above_chance", "time_geometric"),
    "preference": (),  # the win rate on each criterion
}
WITHOUT_ADVICE = ("final_accuracy",)  # what is compared with the control condition of a study of advice


def all_pairs(measures: Sequence[str], conditions: Sequence[str]) -> list[Contrast]:
    """List all pairs of conditions for each measure as a family.

    Args:
        measures: Keys of the measures.
        conditions: Names of the conditions.

    Returns:
        Measure, first and second condition, in the order given.
    """
    return [(measure, *pair) for measure in measures for pair in combinations(conditions, 2)]


def pair_with_baseline(measures: Sequence[str], baseline: str, conditions: Sequence[str]) -> list[Contrast]:
    """List each other condition against the baseline as a family.

    Args:
        measures: Keys of the measures.
        baseline: Name of the condition to compare with.
        conditions: Names of the conditions. The baseline may be one of them.

    Returns:
        Measure, baseline and other condition, in the order given.
    """
    return [(measure, baseline, name) for measure in measures for name in conditions if name != baseline]


def pair_with_unexplained(conditions: Iterable[Condition]) -> list[tuple[str, str]]:
    """Pair each condition with an explanation with the one that shows none.

    That is the condition without explanation of the same system, else the first one.

    Args:
        conditions: Conditions of the version; those without advice and the ground truth are left out.

    Returns:
        Names of the condition without explanation and of the one with it, in the order given.
    """
    shown = [condition for condition in conditions if condition.advice and not condition.ground_truth]
    plain = [condition for condition in shown if not condition.explained]
    pairs = []
    for condition in shown:
        own = [candidate for candidate in plain if candidate.system == condition.system] or plain
        if condition.explained and own:
            pairs.append((own[0].name, condition.name))
    return pairs


def pair_with_control(conditions: Sequence[Condition]) -> list[tuple[str, str]]:
    """Pair the conditions without advice with all those that show some."""
    return [
        (control.name, condition.name)
        for control in conditions
        for condition in conditions
        if not control.advice and condition.advice and not condition.ground_truth
    ]
