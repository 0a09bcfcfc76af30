"""People plotted against the model scores: a card, and a section."""

from collections.abc import Sequence

import numpy as np

from ...planning.declared_plan import Plan
from ...scores.score_table import SCORES, STANDARD_GROUPS
from ...study.analysis import Study
from ...study.human_vs_model import Quantity, Relation, choose_main_relation
from ..page import Block, Card, Section
from ..plots.intervals import draw_scores_figure
from ..tables import format_number
from .correlations import NAMES
from .systems import format_percent

TITLE = "Do people follow the score?"


def build_follow_card(study: Study, plan: Plan) -> Card:
    """Plot the main human measure against the main score.

    Those are the first that the plan declares; see
    `analysis.study.human_vs_model.choose_main_relation`.
    """
    main = choose_main_relation(study.retained.relations, plan)
    if main is None or main.rank is None:
        return Card(TITLE, ["Nothing to plot: no pair has both values."])
    chosen = (
        "the first measure and score that the plan declares"
        if plan.scores and main.measure.key in {measure for measure, *_ in plan.family}
        else "no plan declares both, so these stand for the others, which the appendix shows"
    )
    caption = (
        f"{main.measure.label} against {main.score.label} ({chosen}). One mark per system; vertical lines "
        f"are 95 % confidence intervals of the measure. {_score_intervals(study, [main.score])}"
    )
    figure = draw_scores_figure(
        study, study.retained, main.measure, [main.score], "people-against-score", caption
    )
    return Card(TITLE, [describe_relation(main, plan)], figure)


def describe_relation(relation: Relation, plan: Plan) -> str:
    """Say if people follow the score, and how sure that is."""
    measure, score, n = relation.measure.label, relation.score.label, relation.n
    assert relation.rank is not None
    if relation.rank.tied:
        seen = f"{score} and {measure} cannot be compared as rankings, because two systems are tied"
    elif not relation.rank.sign:
        seen = f"{score} ranks the {n} systems neither as {measure} does nor the other way round"
    else:
        order = "in the same order as" if relation.rank.sign == "+" else "in the reverse order of"
        seen = f"{score} ranks the {n} systems {order} {measure}"
    share = relation.sign_share
    if share is not None:
        sure = f", at least the {format_percent(plan.sign_share)} that count as sure"
        unsure = f", less than {format_percent(plan.sign_share)}: the question stays open"
        seen += (
            f" in this study, and in {format_percent(share)} of its bootstrap replicates"
            f"{sure if relation.is_recurring(plan.sign_share) else unsure}"
        )
    correlation = relation.correlations[plan.coefficient]
    if correlation.value is None:
        return f"{seen}."
    likely = (
        ""
        if correlation.positive is None
        else f", positive in {format_percent(correlation.positive)} of the replicates"
    )
    return f"{seen}. {NAMES[plan.coefficient]} is {format_number(correlation.value)}{likely}."


def build_all_scores_section(study: Study, plan: Plan | None = None) -> Section | None:
    """Plot the main human measure against each score; None without any."""
    relations = study.retained.relations
    main = choose_main_relation(relations, plan or Plan())
    if main is None:
        return None
    measure, blocks = main.measure, list[Block]()
    groups = {score.key: score.group for score in SCORES}
    for name, standard, words in (
        ("standard-scores", True, "the standard scores"),
        ("coupling-scores", False, "the scores of answer-explanation coupling"),
    ):
        scores = [
            s for s in relations.scores if s.headline and (groups[s.key] in STANDARD_GROUPS) is standard
        ]
        caption = (
            f"{measure.label} against {words} (%), one mark per system. Vertical lines are 95 % confidence "
            f"intervals of the measure. {_score_intervals(study, scores)} The sign in a title is the rank "
            "relation, with the share of replicates in which it recurs."
        )
        name = f"{measure.key.replace('_', '-')}-{name}"
        figure = draw_scores_figure(study, study.retained, measure, scores, name, caption)
        if figure:
            blocks.append(figure)
    return Section("all-scores", "People against each score", blocks) if blocks else None


def _score_intervals(study: Study, scores: Sequence[Quantity]) -> str:
    """Describe the horizontal intervals, and name scores without one."""
    given = {
        (condition.title, score.label): score.interval(column) is not None
        for score in scores
        for column, condition in enumerate(study.systems)
        if not np.isnan(score.values[column])
    }
    if not study.options.resamples:
        return "The scores have no confidence intervals because they were switched off (--resamples 0)."
    lacking = [f"{label} of {title}" for (title, label), known in given.items() if not known]
    if len(lacking) == len(given):
        return (
            "The scores have no confidence intervals because the contribution of each question is unknown "
            "(there is no table question_scores)."
        )
    text = "Horizontal lines are confidence intervals of the score, from a bootstrap over its questions."
    return f"{text} Unknown for {', '.join(lacking)}." if lacking else text
