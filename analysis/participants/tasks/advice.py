"""Advice: an own answer, then the system's, then a final answer.

h₁ and h₂ are the first and the final answer, a the advice. A trial enters a measure if all that the measure
needs is known: a missing answer is not a wrong one.

References:
    1. Schemmer, Kuehl, Benz, Bartos, Satzger (2023), Appropriate Reliance on AI Advice, IUI: RAIR and RSR.
    2. Bansal et al. (2021), Does the Whole Exceed its Parts?, CHI: complementary performance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...io.table_columns import Column
from ...stats.arrays import Array, ratio
from ..measures import Formula, Measure, Wanted, build_mean_formula
from ..trial_grid import Sums
from .task import Task, keep_where, read_numbers, select_common_measures

if TYPE_CHECKING:
    import pandas as pd

_ADVISED = ("advice", "system_correct")


def compute_trial_values(trials: pd.DataFrame) -> dict[str, Array]:
    """Compute what the measures of reliance sum up.

    final_took_advice: h₂ is correct, where h₁ is wrong and a is correct. final_kept_answer: h₂ is correct,
    where h₁ is correct and a is wrong. final_switched: h₂ = a, where h₁ ≠ a. …_whole and initial_system:
    correctness where that of h₁, h₂ and a is known. advice: 1 if the participant saw advice.

    Examples:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"initial_correct": [0.0, 1.0], "final_correct": [1.0, 1.0],
        ...                      "system_correct": [1.0, 0.0]})
        >>> compute_trial_values(rows)["final_took_advice"].tolist()
        [1.0, nan]
    """
    initial, final, system = read_numbers(trials, "initial_correct", "final_correct", "system_correct")
    agreed, agrees = read_numbers(trials, "initial_agrees", "final_agrees")
    confidence = read_numbers(trials, "initial_confidence", "final_confidence")
    whole = ~np.isnan(initial + final + system)
    shown = ~np.isnan(agreed) | ~np.isnan(agrees) | ~np.isnan(system)
    return {
        "initial_correct": initial,
        "final_correct": final,
        "initial_confidence": confidence[0],
        "final_confidence": confidence[1],
        "final_confidence_change": confidence[1] - confidence[0],
        "advice": keep_where(np.ones(len(trials)), shown),
        "final_agrees": agrees,
        "final_switched": keep_where(agrees, agreed == 0),
        "final_took_advice": keep_where(final, (initial == 0) & (system == 1)),
        "final_kept_answer": keep_where(final, (initial == 1) & (system == 0)),
        "initial_whole": keep_where(initial, whole),
        "final_whole": keep_where(final, whole),
        "initial_system": keep_where(system, whole),
    }


def complementarity(s: Sums) -> Array:
    """Compute final accuracy minus the better of own and system accuracy.

    All three are over the same trials.
    """
    return ratio(s["final_whole"] - np.maximum(s["initial_whole"], s["initial_system"]), s["final_whole_n"])


def _define_reliance(
    key: str, label: str, value: str, definition: str, *, wanted: Wanted, rest: bool
) -> Measure:
    """Build a measure of trials in which exactly one of h₁ and a is correct."""
    share = build_mean_formula(value)
    formula: Formula = (lambda s: 1 - share(s)) if rest else share
    needs = (*_ADVISED, "initial_correct", "final_correct")
    return Measure(key, label, "share", wanted, needs, f"{value}_n", formula, definition, conditional=True)


MEASURES: tuple[Measure, ...] = (
    Measure(
        "initial_accuracy", "Accuracy of first answers", "share", None, ("initial_correct",),
        "initial_correct_n", build_mean_formula("initial_correct"), "share of correct first answers",
    ),
    Measure(
        "final_accuracy", "Accuracy of final answers", "share", "higher", ("final_correct",),
        "final_correct_n", build_mean_formula("final_correct"), "share of correct final answers",
    ),
    Measure(
        "advice_accuracy", "System accuracy on these trials", "share", None,
        (*_ADVISED, "initial_correct", "final_correct"), "initial_system_n",
        build_mean_formula("initial_system"),
        "share of trials in which the advice is correct", headline=False,
    ),
    Measure(
        "advice_agreement", "Agreement with advice", "share", None, ("advice", "final_agrees"),
        "final_agrees_n", build_mean_formula("final_agrees"), "share of final answers that equal the advice",
    ),
    Measure(
        "switch_fraction", "Switch fraction", "share", None, ("advice", "final_agrees"),
        "final_switched_n", build_mean_formula("final_switched"),
        "share of final answers that equal the advice, where the first one did not",
        conditional=True,
    ),
    _define_reliance(
        "rair", "Relative AI reliance (RAIR)", "final_took_advice",
        "right final answers, where the first one is wrong and the advice right", wanted="higher", rest=False,
    ),
    _define_reliance(
        "rsr", "Relative self-reliance (RSR)", "final_kept_answer",
        "right final answers, where the first one is right and the advice wrong", wanted="higher", rest=False,
    ),
    _define_reliance(
        "over_reliance", "Over-reliance", "final_kept_answer",
        "1 − RSR: right first answers given up for wrong advice", wanted="lower", rest=True,
    ),
    _define_reliance(
        "under_reliance", "Under-reliance", "final_took_advice",
        "1 − RAIR: wrong first answers not corrected by right advice", wanted="lower", rest=True,
    ),
    Measure(
        "complementarity", "Complementarity", "share", "higher",
        (*_ADVISED, "initial_correct", "final_correct"), "final_whole_n", complementarity,
        "final accuracy − max(first accuracy, system accuracy), same trials",
    ),
    Measure(
        "confidence_change", "Change of confidence", "points", None,
        ("initial_confidence", "final_confidence"),
        "final_confidence_change_n", build_mean_formula("final_confidence_change"),
        "confidence in the final answer − confidence in the first one",
    ),
    Measure(
        "initial_confidence", "Confidence in first answers", "points", None, ("initial_confidence",),
        "initial_confidence_n", build_mean_formula("initial_confidence"), "mean rating", headline=False,
    ),
    Measure(
        "final_confidence", "Confidence in final answers", "points", None, ("final_confidence",),
        "final_confidence_n", build_mean_formula("final_confidence"), "mean rating", headline=False,
    ),
)  # fmt: skip

ADVICE = Task(
    kind="advice",
    columns=(
        *(
            Column(name, "boolean")
            for name in ("initial_correct", "final_correct", "initial_agrees", "final_agrees")
        ),
        *(Column(f"{page}_confidence", "number", low=1, high=5) for page in ("initial", "final")),
    ),
    values=compute_trial_values,
    measures=(*MEASURES, *select_common_measures()),
    accuracy="final_accuracy",
    outcomes={
        "Correct final answer": "final_correct",
        "Right answer kept against wrong advice": "final_kept_answer",
        "Right advice taken": "final_took_advice",
    },
    item_shares={
        "initial_correct": "share of correct first answers",
        "final_correct": "share of correct final answers",
        "final_agrees": "share of final answers that equal the advice",
        "final_kept_answer": "right first answers kept against wrong advice",
        "final_took_advice": "wrong first answers corrected by right advice",
    },
)
