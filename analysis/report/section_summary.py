"""The first screen of the report: what the study found, and how sure that is."""

from collections.abc import Sequence


from ..participants.estimates import Estimate
from ..planning.declared_plan import Plan
from ..stats.correlations import LEAST_FOR_P, smallest_p
from ..stats.results import Target
from ..study.analysis import Study
from ..study.comparisons import Comparison, Family
from ..study.inference import Inference
from .figures import ForestRow, condition_figure, forest_figure
from .page import Card, Cards, Figure, Section, Text
from .section_against_scores import follow_card
from .section_participants import FORMATS
from .tables import interval, number, p_text, scale

MOST_ROWS = 9  # of the first screen's forest plots; the tables below have all
MOST_NAMED = 3  # differences that the first screen spells out
CLAIMS: dict[Target, str] = {
    "items_like_these": "items like these: participants and items count as samples of more of their kind",
    "these_items": "these items: participants count as a sample, the items are given",
}
MAIN_MEASURES = ("over_estimation", "fraction_correct", "fp", "agreement")  # the first that the data have


def summary_section(study: Study, inference: Inference) -> Section:
    """Answer the questions of the study in a sentence and a figure each."""
    cards = [
        _differ_card(study, inference),
        follow_card(study, inference.plan),
        _helpful_card(study, inference),
        Card("How sure is this?", _certainty(study, inference)),
        Card("What was planned?", _planned(study, inference)),
    ]
    return Section("summary", "In short", [Cards(cards)])


def _differ_card(study: Study, inference: Inference) -> Card:
    title = "Do the conditions differ?"
    compared = _compared(inference.family, inference.plan.target)
    if not compared:
        return Card(title, ["No two conditions could be compared. The section on differences gives the reasons."])
    points = _verdicts(study, compared, inference.plan)
    shown = compared if len(compared) <= MOST_ROWS else _of_main_measure(study, compared)[:MOST_ROWS]
    left = len(compared) - len(shown)
    caption = (
        "Differences with 95 % confidence intervals; a filled diamond is clear after Holm’s correction. "
        f"The claim is about {CLAIMS[inference.plan.target]}." + (f" {left} more are in the table of differences." if left else "")
    )
    return Card(title, points, _forest(study, inference, shown, "differences-forest", caption))


def _compared(family: Family, target: Target) -> list[Comparison]:
    return [one for one in family.comparisons if one.about(target).estimate is not None]


def _verdicts(study: Study, compared: Sequence[Comparison], plan: Plan) -> list[str]:
    """Name the differences that are clear after correction."""
    titles = {condition.name: condition.title for condition in study.conditions}
    clear = [one for one in compared if _is_clear(one, plan)]
    if not clear:
        return [
            f"None of {len(compared)} comparisons is clear after Holm’s correction. That does not show that "
            "the conditions are alike: the intervals give the differences that remain possible."
        ]
    named = sorted(clear, key=lambda one: one.adjusted[plan.target] or 0.0)[:MOST_NAMED]
    points = [f"{len(clear)} of {len(compared)} comparisons are clear after Holm’s correction."]
    return points + [_difference_sentence(one, titles, plan.target) for one in named]


def _is_clear(one: Comparison, plan: Plan) -> bool:
    p = one.adjusted.get(plan.target)
    return p is not None and p <= plan.alpha


def _difference_sentence(one: Comparison, titles: dict[str, str], target: Target) -> str:
    factor, decimals, unit = _format(one)
    found = one.about(target)
    value, bounds = number((found.estimate or 0.0) * factor, decimals), scale(found.interval, factor)
    between = " as a ratio to " if one.measure.geometric else " minus "
    return (
        f"{one.measure.label}: {titles[one.second]}{between}{titles[one.first]} is {value}{unit} "
        f"{interval(bounds, decimals)}, p {p_text(one.adjusted.get(target))}."
    )


def _forest(
    study: Study, inference: Inference, shown: Sequence[Comparison], name: str, caption: str
) -> Figure | None:
    titles = {condition.name: condition.title for condition in study.conditions}
    rows = []
    for one in sorted(shown, key=lambda one: [each.measure for each in shown].index(one.measure)):
        factor, _, unit = _format(one)
        of = f"{one.measure.label} ({'ratio' if one.measure.geometric else unit.strip() or 'points'})"
        found = one.about(inference.plan.target)
        sizes = "/".join(map(str, found.n[:1] if one.paired else found.n))
        sign = " / " if one.measure.geometric else " − "
        label = f"{titles[one.second]}{sign}{titles[one.first]}, n\u00a0=\u00a0{sizes}"
        is_clear = _is_clear(one, inference.plan)
        estimate, bounds = (found.estimate or 0.0) * factor, scale(found.interval, factor)
        rows.append(ForestRow(of, label, estimate, bounds, 1.0 if one.measure.geometric else 0.0, is_clear))
    return forest_figure(name, caption, rows)


def _format(one: Comparison) -> tuple[float, int, str]:
    """Return factor, decimals and unit of a difference."""
    if one.measure.geometric:
        return 1, 2, ""
    shown = FORMATS[one.measure.unit]
    units = {"share": " percentage points", "seconds": " s"}
    return shown.factor, shown.decimals, units.get(one.measure.unit, "")


def _of_main_measure(study: Study, compared: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons of the main measure, or of the first one."""
    present = [one.measure.key for one in compared]
    key = next((key for key in MAIN_MEASURES if key in present), present[0])
    return [one for one in compared if one.measure.key == key]


def _helpful_card(study: Study, inference: Inference) -> Card:
    """Compare styles of one system, or show the ratings of helpfulness."""
    title = "Is the explanation helpful?"
    compared = _compared(inference.styles, inference.plan.target)
    if compared:
        shown = _of_main_measure(study, compared)[:MOST_ROWS]
        caption = "Styles of the same system: differences with 95 % confidence intervals."
        figure = _forest(study, inference, shown, "styles-forest", caption)
        return Card(title, _verdicts(study, compared, inference.plan), figure)
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
    highest = max(rated, key=lambda one: one.value or 0.0)
    lowest = min(rated, key=lambda one: one.value or 0.0)
    sentences = [
        f"On a scale of 1 to {points}, means" * bool(points) or "Means",
    ]
    sentences[0] += (
        f" of helpfulness run from {number(lowest.value)} ({titles[lowest.condition]}) to "
        f"{number(highest.value)} ({titles[highest.condition]})."
    )
    if points:
        middle = (points + 1) / 2
        above = [titles[one.condition] for one in rated if one.interval and one.interval[0] > middle]
        below = [titles[one.condition] for one in rated if one.interval and one.interval[1] < middle]
        sentences += [f"Clearly above the middle of the scale: {', '.join(above)}."] if above else []
        sentences += [f"Clearly below it: {', '.join(below)}."] if below else []
        sentences += [] if above or below else ["No mean is clearly above or below the middle of the scale."]
    if all(condition.explained for condition in study.systems):
        sentences.append(
            "No condition shows a system without its explanation, so ratings say how helpful people found it, "
            "not if it helped them."
        )
    return sentences


def _certainty(study: Study, inference: Inference) -> list[str]:
    """State what limits the conclusions: family, samples, systems."""
    family = inference.family
    people = [len(grid.participants) for grid in study.retained.grids]
    size = str(min(people)) if min(people) == max(people) else f"{min(people)} to {max(people)}"
    points = [
        f"Holm’s correction covers all {family.size} comparisons; at most {100 * inference.plan.alpha:g} % of "
        "such families would hold a false one.",
        f"{size} participants per condition judged {study.trials['item_id'].nunique()} items.",
    ]
    n = len(study.systems)
    if n >= 2 and study.retained.relations.scores:
        smallest = smallest_p(n, "spearman")
        points.append(
            f"Scores are compared over n = {n} systems. The smallest p that any ranking of {n} could reach is "
            f"{smallest:.2g}"
            + (
                ", so the relation describes these systems and cannot show that it holds for others."
                if n < LEAST_FOR_P
                else "."
            )
        )
    if study.mode != "live":
        points.append(f"The participants are of mode {study.mode}; they say nothing about people’s judgement.")
    if not study.retained.estimates.available("fraction_correct"):
        points.append(
            "The data do not record which answers are correct, so they cannot show how well people judged."
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
            points.append(f"It planned {plan.participants} participants per condition; the smallest has {smallest}.")
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
