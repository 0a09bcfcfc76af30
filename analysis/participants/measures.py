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
from functools import reduce
from operator import add
from typing import Literal

import numpy as np
import scipy

from ..stats.arrays import Array, ratio
from .study_version import Question, ScaleScore
from .trial_grid import Sums

Wanted = Literal["higher", "lower"] | None
Unit = Literal["share", "seconds", "points", "number"]
Formula = Callable[[Sums], Array]


@dataclass(frozen=True)
class Measure:
    """One human measure.

    Attributes:
        key: Name in files.
        label: Name for readers.
        unit: "share", "seconds", "points" or "number".
        wanted: The direction that is better for people, "higher" or "lower"; None if neither is.
        needs: Contents that the data must have: roles of questions, `system_correct`, `time`.
        counted: The sum that counts the trials which enter; "" for the post survey.
        formula: Computes the values of participants from their sums.
        definition: The formula for readers.
        geometric: Participants are averaged on the log scale.
        headline: Shown in the report's narrow tables; all measures are in its files.
        conditional: Of the trials of one kind, of which a participant may have one or none.
    """

    key: str
    label: str
    unit: Unit
    wanted: Wanted
    needs: tuple[str, ...]
    counted: str
    formula: Formula
    definition: str
    geometric: bool = False
    headline: bool = True
    conditional: bool = False


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
    ndtri = scipy.special.ndtri
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


def build_mean_formula(name: str) -> Formula:
    """Build the mean of the trials that have a value of this name."""
    return lambda s: ratio(s[name], s[f"{name}_n"])


def _share_of(*cells: str) -> Formula:
    return lambda s: ratio(reduce(add, (s[cell] for cell in cells)), s["judged_n"])


def _build_cell_share(*cells: str) -> Formula:
    """Compute the share of the first cell in the sum of them all."""
    return lambda s: ratio(s[cells[0]], reduce(add, (s[cell] for cell in cells)))


def _define_judged(
    key: str,
    label: str,
    wanted: Wanted,
    formula: Formula,
    definition: str,
    *,
    unit: Unit = "share",
    headline: bool = True,
) -> Measure:
    """Build a measure of trials with a known rating and known correctness."""
    needs = ("correctness_rating", "system_correct")
    return Measure(key, label, unit, wanted, needs, "judged_n", formula, definition, headline=headline)


def _define_survey(key: str, label: str, wanted: Wanted = "higher") -> Measure:
    return Measure(key, label, "points", wanted, (key,), "", lambda s: s[key], "post survey")


MEASURES: tuple[Measure, ...] = (
    Measure(
        "agreement", "Agreement", "share", None, ("correctness_rating",), "correctness_rating_n",
        build_mean_formula("correctness_rating"), "share of trials rated correct",
    ),
    _define_judged(
        "accuracy", "System accuracy on these trials", None, _share_of("tp", "fn"),
        "share of the rated trials in which the system is correct", headline=False,
    ),
    _define_judged(
        "over_estimation", "Over-estimation", "lower", lambda s: ratio(s["fp"] - s["fn"], s["judged_n"]),
        "agreement − accuracy over the same trials = (FP − FN) / n",
    ),
    _define_judged(
        "fraction_correct", "Fraction of correct ratings", "higher", _share_of("tp", "tn"), "(TP + TN) / n"
    ),
    _define_judged(
        "fp", "False positives, of all responses", "lower", _share_of("fp"), "FP / n: rated correct, is wrong"
    ),
    _define_judged(
        "fn", "False negatives, of all responses", "lower", _share_of("fn"), "FN / n: rated wrong, is correct"
    ),
    _define_judged("tp", "True positives, of all responses", "higher", _share_of("tp"), "TP / n"),
    _define_judged("tn", "True negatives, of all responses", "higher", _share_of("tn"), "TN / n"),
    _define_judged(
        "false_positive_rate", "False-positive rate", "lower", _build_cell_share("fp", "tn"),
        "FP / (FP + TN), of the wrong answers", headline=False,
    ),
    _define_judged(
        "false_negative_rate", "False-negative rate", "lower", _build_cell_share("fn", "tp"),
        "FN / (FN + TP), of the correct answers", headline=False,
    ),
    _define_judged(
        "true_negative_rate", "True-negative rate", "higher", _build_cell_share("tn", "fp"),
        "TN / (FP + TN), of the wrong answers", headline=False,
    ),
    _define_judged("user_precision", "User precision", "higher", precision, "TP / (TP + FP)"),
    _define_judged("user_recall", "User recall (true-positive rate)", "higher", recall, "TP / (TP + FN)"),
    _define_judged("user_f1", "User F1", "higher", f1, "harmonic mean of user precision and recall"),
    _define_judged(
        "d_prime", "Sensitivity d′", "higher", d_prime, "z(hits) − z(false alarms), log-linear correction",
        unit="number",
    ),
    _define_judged(
        "criterion", "Criterion c", None, criterion,
        "−(z(hits) + z(false alarms)) / 2; below 0 leans to rating answers correct",
        unit="number", headline=False,
    ),
    Measure(
        "time_mean", "Completion time, mean", "seconds", None, ("time",), "seconds_n",
        build_mean_formula("seconds"), "mean time of a participant's trials",
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
        build_mean_formula("certainty"),
        "mean rating over trials",
    ),
    Measure(
        "helpfulness", "Helpfulness", "points", "higher", ("helpfulness",), "helpfulness_n",
        build_mean_formula("helpfulness"), "mean rating over trials",
    ),
    _define_survey("trust", "Trust"),
    _define_survey("relevant_information", "Relevant information"),
    _define_survey("irrelevant_information", "Irrelevant information", "lower"),
    _define_survey("satisfaction", "Satisfaction"),
)  # fmt: skip
"""The measures of verification studies, in the report's order, each with its unit and formula."""


def build_own_measures(
    item_questions: Iterable[Question], post_questions: Iterable[Question]
) -> list[Measure]:
    """Build measures for questions without a role: the mean answer.

    They have no desired direction.
    """
    return [
        _build_own_measure(question, f"{question.key}_n")
        for question in item_questions
        if question.role is None
    ] + [_build_own_measure(question, "") for question in post_questions if question.role is None]


def build_scale_measures(scores: Iterable[ScaleScore]) -> list[Measure]:
    """Build the measures of the scales asked beside items or at the end."""
    return [
        Measure(
            key=score.column,
            label=score.title,
            unit="points",
            wanted=None,
            needs=(score.column,),
            counted=f"{score.column}_n" if score.table == "trials" else "",
            formula=build_mean_formula(score.column)
            if score.table == "trials"
            else _build_answer_formula(score.column),
            definition=f"score of {len(score.items)} items, {score.range[0]:g} to {score.range[1]:g}",
            headline=False,
        )
        for score in scores
        if score.table != "pre_survey"
    ]


def _build_answer_formula(name: str) -> Formula:
    return lambda s: s[name]


def _build_own_measure(question: Question, counted: str) -> Measure:
    return Measure(
        key=question.key,
        label=question.text,
        unit="share" if question.scale == "yes_no" else "points",
        wanted=None,
        needs=(question.key,),
        counted=counted,
        formula=build_mean_formula(question.key) if counted else _build_answer_formula(question.key),
        definition="mean answer to this study's own question",
        headline=False,
    )
