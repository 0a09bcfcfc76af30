"""First screen of the report: the answers, and how sure they are."""

from collections.abc import Sequence
from typing import NamedTuple

from ..participants.estimates import Estimate
from ..stats.correlations import LEAST_FOR_P, smallest_p
from ..stats.results import Target
from ..study.analysis import Study
from ..study.comparisons import Comparison
from ..study.inference import Inference
from .figures import ForestRow, condition_figure, forest_figure
from .page import Card, Cards, Figure, Section, Text
from .section_against_scores import against_scores_section
from .section_participants import FORMATS
from .tables import interval, number, p_text, scale

MOST_ROWS = 9  # of the first screen's forest plots; the tables below have all
MOST_NAMED = 2  # differences that the first screen spells out
TARGET_WORDS: dict[Target, str] = {
    "items_like_these": "about items like these: participants and items count as samples",
    "these_items": "about these items: participants count as a sample",
}
MAIN_MEASURES = ("over_estimation", "fraction_correct", "fp", "agreement")  # the first that the data have


class _Claim(NamedTuple):
    """A difference with the interval and corrected p of one target."""

    comparison: Comparison
    estimate: float | None
    interval: tuple[float, float] | None
    n: tuple[int, int]
    p: float | None

    def is_clear(self, alpha: float) -> bool:
        """True if the corrected test rejects."""
        return self.p is not None and self.p <= alpha


def _claims(comparisons: Sequence[Comparison], target: Target) -> list[_Claim]:
    """Return the comparisons that have an estimate, in their order."""
    about = [(one, one.about(target)) for one in comparisons]
    claims = [_Claim(one, each.estimate, each.interval, each.n, one.adjusted[target]) for one, each in about]
    return [claim for claim in claims if claim.estimate is not None]


def summary_section(study: Study, inference: Inference) -> Section:
    """Answer the questions of the study in a sentence and a figure each."""
    cards = [
        _differ_card(study, inference),
        _follow_card(against_scores_section(study, inference.plan)),
        _helpful_card(study, inference),
        Card("How sure is this?", _certainty(study, inference)),
        Card("What was planned?", _planned(study, inference)),
    ]
    return Section("summary", "In short", [Cards(cards)])


def _differ_card(study: Study, inference: Inference) -> Card:
    title = "Do the systems differ?" if len(study.systems) > 1 else "Do the conditions differ?"
    claims, alpha = _claims(inference.family.comparisons, inference.plan.target), inference.plan.alpha
    if not claims:
        return Card(
            title, ["No two conditions could be compared. The section on differences gives the reasons."]
        )
    shown = _first_rows(claims, alpha)
    left = len(claims) - len(shown)
    caption = (
        "Differences with 95 % confidence intervals; a filled diamond is clear after Holm’s correction. The "
        f"claim is {TARGET_WORDS[inference.plan.target]}."
        + (f" {left} more are in the table of differences." if left else "")
    )
    figure = _forest(study, shown, alpha, "differences-forest", caption)
    return Card(title, _verdicts(study, claims, alpha), figure)


def _first_rows(claims: Sequence[_Claim], alpha: float) -> list[_Claim]:
    """Return the rows of a forest plot: clear ones, then the main measure."""
    if len(claims) <= MOST_ROWS:
        return list(claims)
    present = [claim.comparison.measure.key for claim in claims]
    main = next((key for key in MAIN_MEASURES if key in present), present[0])
    ordered = sorted(
        claims, key=lambda claim: (not claim.is_clear(alpha), claim.comparison.measure.key != main)
    )
    return ordered[:MOST_ROWS]


def _verdicts(study: Study, claims: Sequence[_Claim], alpha: float) -> list[str]:
    """Name the differences that are clear after correction."""
    titles = {condition.name: condition.title for condition in study.conditions}
    clear = sorted((claim for claim in claims if claim.is_clear(alpha)), key=lambda claim: claim.p or 0.0)
    if not clear:
        return [
            f"None of {len(claims)} comparisons is clear after Holm’s correction. That does not show that "
            "the conditions are alike: the intervals give the differences that remain possible."
        ]
    points = [f"{len(clear)} of {len(claims)} comparisons are clear after Holm’s correction."]
    return points + [_difference_sentence(claim, titles) for claim in clear[:MOST_NAMED]]


def _difference_sentence(claim: _Claim, titles: dict[str, str]) -> str:
    pair, (factor, decimals, unit) = claim.comparison, _format(claim.comparison)
    value = number((claim.estimate or 0.0) * factor, decimals)
    between = " as a ratio to " if pair.measure.geometric else " minus "
    return (
        f"{pair.measure.label}: {titles[pair.second]}{between}{titles[pair.first]} is {value}{unit} "
        f"{interval(scale(claim.interval, factor), decimals)}, p {p_text(claim.p)}."
    )


def _forest(study: Study, shown: Sequence[_Claim], alpha: float, name: str, caption: str) -> Figure | None:
    """Draw claims, those about a measure together."""
    measures = list(dict.fromkeys(claim.comparison.measure for claim in shown))
    alike = len({_sizes(claim) for claim in shown}) == 1
    rows = [
        _forest_row(study, claim, alpha, n_in_panel=alike)
        for claim in sorted(shown, key=lambda claim: measures.index(claim.comparison.measure))
    ]
    return forest_figure(name, caption, rows)


def _forest_row(study: Study, claim: _Claim, alpha: float, *, n_in_panel: bool) -> ForestRow:
    titles = {condition.name: condition.title for condition in study.conditions}
    pair, (factor, _, unit) = claim.comparison, _format(claim.comparison)
    geometric = pair.measure.geometric
    panel = f"{pair.measure.label} ({'ratio' if geometric else unit.strip() or 'points'})"
    label = f"{titles[pair.second]}{' / ' if geometric else ' − '}{titles[pair.first]}"
    n = f", n\u00a0=\u00a0{_sizes(claim)}"
    return ForestRow(
        panel=panel + n if n_in_panel else panel,
        label=label if n_in_panel else label + n,
        estimate=(claim.estimate or 0.0) * factor,
        interval=scale(claim.interval, factor),
        no_difference=1.0 if geometric else 0.0,
        is_clear=claim.is_clear(alpha),
    )


def _sizes(claim: _Claim) -> str:
    first, second = claim.n
    return str(first) if claim.comparison.paired else f"{first} and {second}"


def _format(pair: Comparison) -> tuple[float, int, str]:
    """Return factor, decimals and unit of a difference."""
    if pair.measure.geometric:
        return 1, 2, ""
    shown = FORMATS[pair.measure.unit]
    units = {"share": " percentage points", "seconds": " s"}
    return shown.factor, shown.decimals, units.get(pair.measure.unit, "")


def _follow_card(section: Section) -> Card:
    """Take the sentences and the first figure of the section on the score."""
    points = [block.text for block in section.blocks if isinstance(block, Text)]
    figure = next((block for block in section.blocks if isinstance(block, Figure)), None)
    return Card("Do people follow the score?", points, figure)


def _helpful_card(study: Study, inference: Inference) -> Card:
    """Compare styles of one system, or show the ratings of helpfulness."""
    title = "Is the explanation helpful?"
    if claims := _claims(inference.styles.comparisons, inference.plan.target):
        alpha = inference.plan.alpha
        caption = "Styles of the same system: differences with 95 % confidence intervals."
        figure = _forest(study, _first_rows(claims, alpha), alpha, "styles-forest", caption)
        return Card(title, _verdicts(study, claims, alpha), figure)
    estimates = study.retained.estimates
    if not estimates.available("helpfulness"):
        return Card(
            title,
            ["Not known: the study has no rating of helpfulness, and shows no system in two styles."],
        )
    rated = [estimates.get("helpfulness", condition.name) for condition in study.conditions]
    points = _helpfulness(study, [one for one in rated if one.value is not None])
    caption = (
        "Helpfulness of the explanations: small marks are participants, large ones their means with 95 % "
        "confidence intervals."
    )
    return Card(title, points, condition_figure(study, "helpfulness", caption))


def _helpfulness(study: Study, rated: Sequence[Estimate]) -> list[str]:
    titles = {condition.name: condition.title for condition in study.conditions}
    question = study.version.question("helpfulness")
    points = getattr(question.scale, "points", None) if question else None
    highest = max(rated, key=lambda estimate: estimate.value or 0.0)
    lowest = min(rated, key=lambda estimate: estimate.value or 0.0)
    sentences = [
        f"Mean ratings{f' on a scale of 1 to {points}' if points else ''} run from {number(lowest.value)} "
        f"({titles[lowest.condition]}) to {number(highest.value)} ({titles[highest.condition]})."
    ]
    if points:
        middle = (points + 1) / 2
        above = [titles[one.condition] for one in rated if one.interval and one.interval[0] > middle]
        below = [titles[one.condition] for one in rated if one.interval and one.interval[1] < middle]
        sentences += [f"Clearly above the middle of the scale: {', '.join(above)}."] if above else []
        sentences += [f"Clearly below it: {', '.join(below)}."] if below else []
        sentences += [] if above or below else ["No mean is clearly above or below the middle of the scale."]
    if all(condition.explained for condition in study.systems):
        sentences.append(
            "No condition shows a system without its explanation, so ratings say how helpful people found "
            "it, not if it helped them."
        )
    return sentences


def _certainty(study: Study, inference: Inference) -> list[str]:
    """State what limits the conclusions: family, samples, systems."""
    family = inference.family
    people = [len(grid.participants) for grid in study.retained.grids]
    size = str(min(people)) if min(people) == max(people) else f"{min(people)} to {max(people)}"
    points = [
        f"Holm’s correction covers all {family.size} comparisons; at most {100 * inference.plan.alpha:g} % "
        "of such families would hold a false one.",
        f"{size} participants per condition judged {study.trials['item_id'].nunique()} items.",
    ]
    n = len(study.systems)
    if n >= 2 and study.retained.relations.scores:
        smallest = smallest_p(n, "spearman")
        points.append(
            f"Scores are compared over n = {n} systems. The smallest p that any ranking of them could reach "
            f"is {smallest:.2g}"
            + (
                ", so the relation describes these systems and cannot show that it holds for others."
                if n < LEAST_FOR_P
                else "."
            )
        )
    truth = [one.title for one in study.conditions if one.system is None or one.ground_truth]
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
    points += _rationales(study)
    if not study.retained.estimates.available("fraction_correct"):
        points.append(
            "The data do not record which answers are correct, so they cannot show how well people judged."
        )
    return points


def _rationales(study: Study) -> list[str]:
    """Name the conditions that showed free-text rationales."""
    alone = [condition.title for condition in study.systems if condition.explanation == "rationale"]
    with_facts = [one.title for one in study.conditions if one.explanation == "facts+rationale"]
    points = []
    if with_facts:
        points.append(f"Shown with facts and a free-text rationale: {', '.join(with_facts)}.")
    if alone:
        points.append(
            f"Shown with a free-text rationale and no facts: {', '.join(alone)}. Scores of "
            "facts do not measure that text and are not related to what people said about them."
        )
    return points


def _planned(study: Study, inference: Inference) -> list[str]:
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
    excluded, total = study.exclusions.excluded, study.exclusions.total
    points.append(
        f"The exclusion rules of the study’s definition leave out {excluded} of {total} trials."
        if study.bundle.rules
        else f"The study has no exclusion rules; all {total} trials count."
    )
    return points


def no_results_section(text: str) -> Section:
    """Summarise a study whose rules leave nothing to analyse."""
    return Section("summary", "In short", [Text(text)])
