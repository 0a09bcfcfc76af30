"""First screen of the report: the answers, and how sure they are."""

from collections.abc import Sequence

from ...participants.estimates import Estimate
from ...participants.exclusion_rules import ByHand
from ...stats.correlations import LEAST_FOR_P, compute_smallest_p
from ...study.analysis import Study
from ...study.inference import Inference
from ..page import Card, Cards, Section
from ..plots.intervals import draw_condition_figure
from ..tables import format_number
from .against_scores import build_follow_card
from .claims import TARGET_WORDS, build_claims, describe_clear_claims, draw_claims_figure, select_first_rows
from .explanations import QUESTIONS, build_against_zero_card, build_explanation_card
from .preferences import build_preference_cards

HELPFUL = "Is the explanation helpful?"


def build_summary_section(study: Study, inference: Inference) -> Section:
    """Answer the questions of the study in a sentence and a figure each."""
    first = _build_explanation_cards if study.version.task.kind in QUESTIONS else _build_system_cards
    if study.task.pairs:
        first = _build_preference_cards
    cards = [
        *first(study, inference),
        Card("How sure is this?", _describe_certainty(study, inference)),
        Card("What was planned?", _describe_plan(study, inference)),
    ]
    return Section("summary", "In short", [Cards(cards)])


def _build_system_cards(study: Study, inference: Inference) -> list[Card]:
    """Answer what a study of systems asks."""
    title = "Do the systems differ?" if len(study.systems) > 1 else "Do the conditions differ?"
    return [
        _build_differences_card(study, inference, title),
        build_follow_card(study, inference.plan),
        _build_helpfulness_card(study, inference),
    ]


def _build_explanation_cards(study: Study, inference: Inference) -> list[Card]:
    """Answer what a study of explanations asks, and what else its data hold."""
    questions = QUESTIONS[study.version.task.kind]
    cards = [
        *(build_explanation_card(study, inference, question) for question in questions),
        build_against_zero_card(study),
    ]
    cards.append(_build_differences_card(study, inference, "What else differs?"))
    if len(study.systems) > 1 and study.retained.relations.scores:
        cards.append(build_follow_card(study, inference.plan))
    if study.retained.estimates.has_value("helpfulness"):
        cards.append(_build_ratings_card(study))
    return [card for card in cards if card]


def _build_preference_cards(study: Study, inference: Inference) -> list[Card]:
    """Answer which condition is preferred, and if the side matters."""
    preferred, *sides = build_preference_cards(study)
    cards = [preferred, _build_differences_card(study, inference, "Which differences are clear?"), *sides]
    if len(study.systems) > 1 and study.retained.relations.scores:
        cards.append(build_follow_card(study, inference.plan))
    return cards


def _build_differences_card(study: Study, inference: Inference, title: str) -> Card:
    claims, alpha = build_claims(inference.family.comparisons, inference.plan.target), inference.plan.alpha
    if not claims:
        return Card(
            title, ["No two conditions could be compared. The section on differences gives the reasons."]
        )
    shown = select_first_rows(claims, alpha)
    left = len(claims) - len(shown)
    caption = (
        "Differences with 95 % confidence intervals of each comparison alone; a filled diamond is clear "
        "after Holm’s correction over all of them, so an interval may leave out 0 beside an empty one. The "
        "claim is "
        f"{TARGET_WORDS[inference.plan.target]}."
        + (f" {left} more are in the table of differences." if left else "")
    )
    figure = draw_claims_figure(study, shown, alpha, "differences-forest", caption)
    return Card(title, describe_clear_claims(study, claims, alpha), figure)


def _build_helpfulness_card(study: Study, inference: Inference) -> Card:
    """Compare styles of one system, or show the ratings of helpfulness."""
    if claims := build_claims(inference.styles.comparisons, inference.plan.target):
        alpha = inference.plan.alpha
        caption = "Styles of the same system: differences with 95 % confidence intervals."
        figure = draw_claims_figure(study, select_first_rows(claims, alpha), alpha, "styles-forest", caption)
        return Card(HELPFUL, describe_clear_claims(study, claims, alpha), figure)
    if not study.retained.estimates.has_value("helpfulness"):
        return Card(
            HELPFUL,
            ["Not known: the study has no rating of helpfulness, and shows no system in two styles."],
        )
    return _build_ratings_card(study)


def _build_ratings_card(study: Study) -> Card:
    estimates = study.retained.estimates
    rated = [estimates.get("helpfulness", condition.name) for condition in study.conditions]
    points = _describe_helpfulness(study, [estimate for estimate in rated if estimate.value is not None])
    caption = (
        "Helpfulness of the explanations: small marks are participants, large ones their means with 95 % "
        "confidence intervals."
    )
    return Card(HELPFUL, points, draw_condition_figure(study, "helpfulness", caption))


def _describe_helpfulness(study: Study, rated: Sequence[Estimate]) -> list[str]:
    titles = study.titles
    question = study.version.question("helpfulness")
    points = getattr(question.scale, "points", None) if question else None
    highest = max(rated, key=lambda estimate: estimate.value or 0.0)
    lowest = min(rated, key=lambda estimate: estimate.value or 0.0)
    scale = f" on a scale of 1 to {points}" if points else ""
    if len(rated) == 1:
        sentences = [
            f"The mean rating{scale} is {format_number(highest.value)} ({titles[highest.condition]})."
        ]
    else:
        sentences = [
            f"Mean ratings{scale} run from {format_number(lowest.value)} ({titles[lowest.condition]}) to "
            f"{format_number(highest.value)} ({titles[highest.condition]})."
        ]
    if points:
        middle = (points + 1) / 2
        above = [
            titles[estimate.condition]
            for estimate in rated
            if estimate.interval and estimate.interval[0] > middle
        ]
        below = [
            titles[estimate.condition]
            for estimate in rated
            if estimate.interval and estimate.interval[1] < middle
        ]
        sentences += [f"Clearly above the middle of the scale: {', '.join(above)}."] if above else []
        sentences += [f"Clearly below it: {', '.join(below)}."] if below else []
        sentences += [] if above or below else ["No mean is clearly above or below the middle of the scale."]
    if all(condition.explained for condition in study.conditions if condition.system):
        sentences.append(
            "No condition shows a system without its explanation, so ratings say how helpful people found "
            "it, not if it helped them."
        )
    return sentences


def _describe_certainty(study: Study, inference: Inference) -> list[str]:
    """State what limits the conclusions: family, samples, systems."""
    family = inference.family
    people = [len(grid.participants) for grid in study.retained.grids]
    size = str(min(people)) if min(people) == max(people) else f"{min(people)} to {max(people)}"
    points = [
        f"Holm’s correction covers all {family.size} comparisons; at most {100 * inference.plan.alpha:g} % "
        "of such families would hold a false one.",
        f"{size} participants {'compared' if study.task.pairs else 'per condition judged'} "
        f"{study.trials['item_id'].nunique()} items.",
    ]
    n = len(study.systems)
    if n >= 2 and study.retained.relations.scores:
        smallest = compute_smallest_p(n, "spearman")
        points.append(
            f"Scores are compared over n = {n} systems. The smallest p that any ranking of them could reach "
            f"is {smallest:.2g}"
            + (
                ", so the relation describes these systems and cannot show that it holds for others."
                if n < LEAST_FOR_P
                else "."
            )
        )
    controls = [condition.title for condition in study.conditions if not condition.advice]
    if controls:
        points.append(
            f"Without advice: {', '.join(controls)}. It has no measures of reliance and is left out of "
            "rankings and correlations."
        )
    truth = [
        condition.title
        for condition in study.conditions
        if condition.advice and (condition.system is None or condition.ground_truth)
    ]
    if truth:
        points.append(
            f"Ground truth, not a system: {', '.join(truth)}. It is measured like the others and left out of "
            "rankings and correlations."
        )
    if unexplained := [condition.title for condition in study.systems if not condition.explained]:
        points.append(
            f"Shown without explanations: {', '.join(unexplained)}. Scores of explanations are not related "
            "to what people said about them."
        )
    points += _describe_rationales(study)
    if study.task.accuracy and not study.retained.estimates.has_value(study.task.accuracy):
        points.append(
            "The data do not record which answers are correct, so they cannot show how well people judged."
        )
    return points


def _describe_rationales(study: Study) -> list[str]:
    """Name the conditions that showed free-text rationales."""
    alone = [condition.title for condition in study.systems if condition.explanation == "rationale"]
    with_facts = [
        condition.title for condition in study.conditions if condition.explanation == "facts+rationale"
    ]
    points = []
    if with_facts:
        points.append(f"Shown with facts and a free-text rationale: {', '.join(with_facts)}.")
    if alone:
        points.append(
            f"Shown with a free-text rationale and no facts: {', '.join(alone)}. Scores of "
            "facts do not measure that text and are not related to what people said about them."
        )
    return points


def _describe_plan(study: Study, inference: Inference) -> list[str]:
    """Tell confirmatory from exploratory results."""
    plan, points = inference.plan, []
    if inference.declared:
        points.append(
            f"A plan declared {inference.family.size} comparisons before the data: they are confirmatory. "
            "Everything else is exploratory."
        )
        points += [f"Hypothesis: {hypothesis}" for hypothesis in plan.hypotheses]
        if plan.participants:
            smallest = min(len(grid.participants) for grid in study.retained.grids)
            points.append(
                f"It planned {plan.participants} participants per condition; the smallest has {smallest}."
            )
    else:
        points.append(
            "No plan was declared, so everything here is exploratory: it can suggest a hypothesis, and a new "
            "study can test it."
        )
    return [*points, _describe_exclusions(study)]


def _describe_exclusions(study: Study) -> str:
    """Tell trials that rules leave out from those that researchers do."""
    rules, exclusions = study.bundle.rules, study.exclusions
    total = exclusions.total
    by_hand = [rule.name for rule in rules if isinstance(rule, ByHand)]
    more = sum(exclusions.only_by_rule[name] for name in by_hand)
    if not rules:
        return f"The study has no exclusion rules; all {total} trials count."
    if len(by_hand) == len(rules):
        return f"The study has no exclusion rules; researchers excluded {more} of {total} trials by hand."
    by_rules = (
        f"The exclusion rules of the study’s definition leave out {exclusions.excluded - more} of {total}"
    )
    return f"{by_rules} trials" + (f"; researchers excluded {more} more by hand." if by_hand else ".")
