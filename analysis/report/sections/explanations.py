"""First screen of studies of explanations and people's answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...participants.estimates import Estimate
from ...participants.study_version import Kind
from ...study.analysis import Study
from ...study.contrasts import pair_with_unexplained
from ...study.inference import Inference
from ..page import Card
from ..plots.intervals import draw_condition_figure
from ..tables import format_count, format_interval, format_number, format_p
from .claims import TARGET_WORDS, Claim, build_claims, find_format

SMALL_MARKS = "Small marks are participants, large ones their means with 95 % confidence intervals."


@dataclass(frozen=True)
class Question:
    """A question of the first screen, and the measure that answers it.

    Attributes:
        undefined: Why participants may lack the measure.
    """

    title: str
    measure: str
    caption: str
    undefined: str = ""


@dataclass(frozen=True)
class AgainstZero:
    """A question that a condition answers by a measure above or below 0."""

    title: str
    measure: str
    caption: str
    above: str
    below: str


QUESTIONS: dict[Kind, tuple[Question, ...]] = {
    "advice": (
        Question(
            "Do explanations reduce over-reliance?",
            "over_reliance",
            "Over-reliance: share of right first answers that were given up for wrong advice.",
            "never gave a right first answer before wrong advice",
        ),
    ),
    "simulation": (
        Question(
            "Do explanations help people predict the system?",
            "simulation_effect",
            "Effect on predictions: a participant’s accuracy after the learning block minus that before it.",
            "made no prediction in one of the blocks",
        ),
    ),
    "counterfactual": (
        Question(
            "Do explanations make predictions more often right?",
            "precision",
            "Precision: share of right predictions; “cannot tell” is left out.",
            "never made a prediction",
        ),
        Question(
            "Do explanations let people predict more often?",
            "coverage",
            "Coverage: share of answers that are not “cannot tell”.",
        ),
    ),
}
AGAINST_ZERO: dict[Kind, AgainstZero] = {
    "advice": AgainstZero(
        "Are people with advice better than either alone?",
        "complementarity",
        "Complementarity: final accuracy minus the better of a participant’s first answers and the system’s, "
        "on the same trials.",
        "Better than people and system alone",
        "Worse than the better of the two",
    ),
    "simulation": AgainstZero(
        "Do people then predict better than by guessing?",
        "after_above_chance",
        "Accuracy above chance after the learning block: share of right predictions minus that of guesses "
        "among the options.",
        "Better than guesses",
        "Worse than guesses",
    ),
    "counterfactual": AgainstZero(
        "Do people predict better than by guessing?",
        "above_chance",
        "Accuracy above chance: share of right predictions minus that of guesses among the options; “cannot "
        "tell” counts as a guess.",
        "Better than guesses",
        "Worse than guesses",
    ),
}


def build_explanation_card(study: Study, inference: Inference, question: Question) -> Card:
    """Say if explanations change a main measure of the task as wanted."""
    claims = _select_main_claims(study, inference, question.measure)
    points = [_describe_claim(claim, study.titles, inference.plan.alpha) for claim in claims]
    if not points:
        points = [_explain_not_compared(study)]
    estimates = study.retained.estimates
    undefined = sum(
        estimates.get(question.measure, name).undefined
        for name in estimates.conditions
        if estimates.get(question.measure, name).participants
    )
    if undefined and question.undefined:
        points.append(f"Left out: {format_count(undefined, 'participant')} who {question.undefined}.")
    points.append(f"The answer is {TARGET_WORDS[inference.plan.target]}.")
    return Card(
        question.title,
        points,
        draw_condition_figure(study, question.measure, f"{question.caption} {SMALL_MARKS}"),
    )


def _select_main_claims(study: Study, inference: Inference, key: str) -> list[Claim]:
    """Return the claims about a main measure, explanations against none."""
    pairs = pair_with_unexplained(study.conditions)
    compared = [*inference.family.comparisons, *inference.styles.comparisons]
    own = [
        comparison
        for comparison in compared
        if comparison.measure.key == key and (comparison.first, comparison.second) in pairs
    ]
    return build_claims(own, inference.plan.target)


def _describe_claim(claim: Claim, titles: dict[str, str], alpha: float) -> str:
    """Answer for one condition with explanations."""
    pair, (factor, decimals, unit) = claim.comparison, find_format(claim.comparison.measure)
    value, bounds = (claim.estimate or 0.0) * factor, format_interval(claim.interval, decimals, factor)
    second, first, label = titles[pair.second], titles[pair.first], pair.measure.label.lower()
    if not claim.is_clear(alpha):
        return (
            f"Not shown for {second}: {label} differs from that with {first} by "
            f"{format_number(value, decimals)}{unit} {bounds}, p {format_p(claim.p)}. That does not show "
            "that explanations change nothing: every difference in the interval remains possible."
        )
    lower = value < 0
    answer = "Yes" if lower == (pair.measure.wanted == "lower") else "No, the opposite"
    return (
        f"{answer}, with {second}: {label} is {format_number(abs(value), decimals)}{unit} "
        f"{'lower' if lower else 'higher'} than with {first} "
        f"(difference {format_number(value, decimals)} {bounds}, p {format_p(claim.p)})."
    )


def _explain_not_compared(study: Study) -> str:
    if not pair_with_unexplained(study.conditions):
        return (
            "This study cannot say: it takes a condition with explanations and one that shows the same "
            "without. The figure has the conditions that there are."
        )
    return "This study cannot say: the section on differences gives the reasons."


def build_against_zero_card(study: Study) -> Card | None:
    """Say for each condition on which side of 0 a measure is, if it is known."""
    question = AGAINST_ZERO.get(study.version.task.kind)
    estimates = study.retained.estimates
    if question is None or not estimates.has_value(question.measure):
        return None
    every = [estimates.get(question.measure, name) for name in estimates.conditions]
    given = [estimate for estimate in every if estimate.value is not None]
    points = [
        f"{words}: {_format_estimates(own, study.titles)}."
        for words, own in (
            (
                question.above,
                [estimate for estimate in given if estimate.interval and estimate.interval[0] > 0],
            ),
            (
                question.below,
                [estimate for estimate in given if estimate.interval and estimate.interval[1] < 0],
            ),
            (
                "Open",
                [
                    estimate
                    for estimate in given
                    if not estimate.interval or estimate.interval[0] <= 0 <= estimate.interval[1]
                ],
            ),
        )
        if own
    ]
    return Card(
        question.title,
        points,
        draw_condition_figure(study, question.measure, f"{question.caption} {SMALL_MARKS}"),
    )


def _format_estimates(estimates: Sequence[Estimate], titles: dict[str, str]) -> str:
    shown = []
    for estimate in estimates:
        factor, decimals, unit = find_format(estimate.measure)
        value = format_number((estimate.value or 0.0) * factor, decimals)
        bounds = format_interval(estimate.interval, decimals, factor)
        shown.append(f"{titles[estimate.condition]}, {value}{unit} {bounds}".rstrip())
    return "; ".join(shown)
