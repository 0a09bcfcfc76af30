"""Section that plots people against the model scores."""

from collections.abc import Sequence

import numpy as np

from ..scores.score_table import SCORES, STANDARD_GROUPS
from ..study.analysis import Study
from ..study.human_vs_model import Quantity
from .figures import scores_figure
from .page import Block, Section, Text


def against_scores_section(study: Study) -> Section:
    """Plot the main human measure against each score.

    The measure is false positives, or agreement if they are unknown.
    """
    relations = study.retained.relations
    available = {measure.key: measure for measure in relations.measures}
    measure = available.get("fp") or available.get("agreement")
    title = "People against each score"
    if measure is None or not relations.scores:
        return Section("against-scores", title, [Text("Nothing to plot: no pair has both values.")])
    blocks: list[Block] = []
    if measure.key != "fp":
        blocks.append(Text("False positives are unknown here; the figure shows agreement instead.", "note"))
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
            "intervals of "
            f"the measure. {_score_intervals(study, scores)} The sign in a title is the rank relation."
        )
        figure = scores_figure(study, study.retained, measure, scores, f"{measure.key}-{name}", caption)
        if figure:
            blocks.append(figure)
    return Section("against-scores", title, blocks)


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
