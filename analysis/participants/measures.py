"""Measures of participants as functions of their sums over trials.

A "positive" rating says that the system's answer is correct. `tp`, `fp`, `fn`,
`tn` are counts over the trials with a known rating and a known correctness of
the system. Undefined measures are NaN. docs/reference/measures.md has the
formulas.

References:
    1. Schuff et al. (2020), section 6.3.
    2. Nourani et al. (2019): agreement, over-estimation.
    3. Stanislaw and Todorov (1999), p. 143: d′ and c, log-linear correction.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from ..stats.arrays import Array, ratio
from .bundle import Question
from .trial_grid import Sums

Wanted = Literal["higher", "lower"] | None
Unit = Literal["share", "seconds", "points", "number"]


@dataclass(frozen=True)
class Measure:
    """One human measure.

    needs: what the data must hold: roles of questions, `system_correct`, `time`.
    counted: the sum that counts the trials which enter, "" for the post survey.
    wanted: the direction that is better for people; None where neither is.
    geometric: participants are averaged on the log scale.
    headline: shown in the report's narrow tables; all measures are in its files.
    """

    key: str
    label: str
    unit: Unit
    wanted: Wanted
    needs: tuple[str, ...]
    counted: str
    formula: Callable[[Sums], Array]
    definition: str
    geometric: bool = False
    headline: bool = True


def precision(s: Sums) -> Array:
    """Compute the share of "correct" ratings that are right."""
    return ratio(s["tp"], s["tp"] + s["fp"])


def recall(s: Sums) -> Array:
    """Compute the share of correct answers that are rated correct."""
    return ratio(s["tp"], s["tp"] + s["fn"])


def f1(s: Sums) -> Array:
    """Compute the harmonic mean of precision and recall.

    Undefined if either is, 0 if both are 0.
    """
    p, r = precision(s), recall(s)
    return np.where(p + r == 0, 0.0, 2 * ratio(p * r, p + r))


def _z_scores(s: Sums) -> tuple[Array, Array]:
    """Compute normal quantiles of hit rate and false-alarm rate.

    Half a trial is added to each cell. Undefined without a correct or without a
    wrong answer: the correction would invent that rate.
    """
    signal, noise = s["tp"] + s["fn"], s["fp"] + s["tn"]
    defined = np.where((signal > 0) & (noise > 0), 1.0, np.nan)
    return ndtri((s["tp"] + 0.5) / (signal + 1)) * defined, ndtri((s["fp"] + 0.5) / (noise + 1)) * defined


def d_prime(s: Sums) -> Array:
    """Compute d′ = z(hits) − z(false alarms), log-linear correction."""
    hits, false_alarms = _z_scores(s)
    return hits - false_alarms


def criterion(s: Sums) -> Array:
    """Compute the criterion c = −(z(hits) + z(false alarms)) / 2.

    Below 0 the participant leans to rating answers correct.
    """
    hits, false_alarms = _z_scores(s)
    return -(hits + false_alarms) / 2


_RATING = ("correctness_rating",)
_BOTH = ("correctness_rating", "system_correct")

MEASURES: tuple[Measure, ...] = (
    Measure(
        "agreement", "Agreement", "share", None, _RATING, "correctness_rating_n",
        lambda s: ratio(s["correctness_rating"], s["correctness_rating_n"]),
        "share of trials rated correct",
    ),
    Measure(
        "accuracy", "System accuracy on these trials", "share", None, _BOTH, "judged_n",
        lambda s: ratio(s["tp"] + s["fn"], s["judged_n"]),
        "share of the rated trials in which the system is correct", headline=False,
    ),
    Measure(
        "over_estimation", "Over-estimation", "share", "lower", _BOTH, "judged_n",
        lambda s: ratio(s["fp"] - s["fn"], s["judged_n"]),
        "agreement − accuracy over the same trials = (FP − FN) / n",
    ),
    Measure(
        "fraction_correct", "Fraction of correct ratings", "share", "higher", _BOTH, "judged_n",
        lambda s: ratio(s["tp"] + s["tn"], s["judged_n"]),
        "(TP + TN) / n",
    ),
    Measure(
        "fp", "False positives, of all responses", "share", "lower", _BOTH, "judged_n",
        lambda s: ratio(s["fp"], s["judged_n"]), "FP / n: rated correct, is wrong",
    ),
    Measure(
        "fn", "False negatives, of all responses", "share", "lower", _BOTH, "judged_n",
        lambda s: ratio(s["fn"], s["judged_n"]), "FN / n: rated wrong, is correct",
    ),
    Measure(
        "tp", "True positives, of all responses", "share", "higher", _BOTH, "judged_n",
        lambda s: ratio(s["tp"], s["judged_n"]), "TP / n",
    ),
    Measure(
        "tn", "True negatives, of all responses", "share", "higher", _BOTH, "judged_n",
        lambda s: ratio(s["tn"], s["judged_n"]), "TN / n",
    ),
    Measure(
        "false_positive_rate", "False-positive rate", "share", "lower", _BOTH, "judged_n",
        lambda s: ratio(s["fp"], s["fp"] + s["tn"]), "FP / (FP + TN), of the wrong answers", headline=False,
    ),
    Measure(
        "false_negative_rate", "False-negative rate", "share", "lower", _BOTH, "judged_n",
        lambda s: ratio(s["fn"], s["fn"] + s["tp"]), "FN / (FN + TP), of the correct answers", headline=False,
    ),
    Measure(
        "true_negative_rate", "True-negative rate", "share", "higher", _BOTH, "judged_n",
        lambda s: ratio(s["tn"], s["fp"] + s["tn"]), "TN / (FP + TN), of the wrong answers", headline=False,
    ),
    Measure(
        "user_precision", "User precision", "share", "higher", _BOTH, "judged_n", precision,
        "TP / (TP + FP)",
    ),
    Measure(
        "user_recall", "User recall (true-positive rate)", "share", "higher", _BOTH, "judged_n", recall,
        "TP / (TP + FN)",
    ),
    Measure(
        "user_f1", "User F1", "share", "higher", _BOTH, "judged_n", f1,
        "harmonic mean of user precision and recall",
    ),
    Measure(
        "d_prime", "Sensitivity d′", "number", "higher", _BOTH, "judged_n", d_prime,
        "z(hits) − z(false alarms), log-linear correction",
    ),
    Measure(
        "criterion", "Criterion c", "number", None, _BOTH, "judged_n", criterion,
        "−(z(hits) + z(false alarms)) / 2; below 0 leans to rating answers correct", headline=False,
    ),
    Measure(
        "time_mean", "Completion time, mean", "seconds", None, ("time",), "seconds_n",
        lambda s: ratio(s["seconds"], s["seconds_n"]), "mean time of a participant's trials",
    ),
    Measure(
        "time_median", "Completion time, median", "seconds", None, ("time",), "seconds_n",
        lambda s: s["median_seconds"], "median time of a participant's trials", headline=False,
    ),
    Measure(
        "time_geometric", "Completion time, geometric mean", "seconds", None, ("time",), "log_seconds_n",
        lambda s: np.exp(ratio(s["log_seconds"], s["log_seconds_n"])),
        "geometric mean of a participant's times, and of the participants", geometric=True, headline=False,
    ),
    Measure(
        "certainty", "Certainty", "points", "higher", ("certainty",), "certainty_n",
        lambda s: ratio(s["certainty"], s["certainty_n"]), "mean rating over trials",
    ),
    Measure(
        "helpfulness", "Helpfulness", "points", "higher", ("helpfulness",), "helpfulness_n",
        lambda s: ratio(s["helpfulness"], s["helpfulness_n"]), "mean rating over trials",
    ),
    Measure(
        "trust", "Trust", "points", "higher", ("trust",), "", lambda s: s["trust"], "post survey",
    ),
    Measure(
        "relevant_information", "Relevant information", "points", "higher", ("relevant_information",), "",
        lambda s: s["relevant_information"], "post survey",
    ),
    Measure(
        "irrelevant_information", "Irrelevant information", "points", "lower", ("irrelevant_information",),
        "", lambda s: s["irrelevant_information"], "post survey",
    ),
    Measure(
        "satisfaction", "Satisfaction", "points", "higher", ("satisfaction",), "",
        lambda s: s["satisfaction"], "post survey",
    ),
)  # fmt: skip
_BY_KEY = {measure.key: measure for measure in MEASURES}


def find_measure(name: str) -> Measure | None:
    """Find a measure by key or label, ignoring case; None without one."""
    wanted = name.strip().lower()
    return next((m for m in MEASURES if wanted in (m.key, m.label.lower())), None)


def own_measures(item_questions: Iterable[Question], post_questions: Iterable[Question]) -> list[Measure]:
    """Build measures for questions without a role: the mean answer.

    They have no desired direction.
    """
    return [_own(question, f"{question.key}_n") for question in item_questions if question.role is None] + [
        _own(question, "") for question in post_questions if question.role is None
    ]


def _own(question: Question, counted: str) -> Measure:
    def formula(s: Sums, key: str = question.key) -> Array:
        return ratio(s[key], s[counted]) if counted else s[key]

    return Measure(
        key=question.key,
        label=question.text,
        unit="share" if question.scale == "yes_no" else "points",
        wanted=None,
        needs=(question.key,),
        counted=counted,
        formula=formula,
        definition="mean answer to this study's own question",
        headline=False,
    )
