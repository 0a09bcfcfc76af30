"""Relations of measures and scores: replicates, declared scores, order."""

import numpy as np
import pytest

from analysis.io.errors import AnalysisError
from analysis.planning.declared_plan import Plan
from analysis.study.human_vs_model import Quantity, choose_main_relation, relate, select_declared_scores

RNG = np.random.default_rng(1)
HUMAN = np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 3], [2, 1, 3]])


def related(score_draws=None, measure="fp", score="f1"):
    people = Quantity(measure, "People", "lower", np.array([1.0, 2, 3]), HUMAN)
    model = Quantity(score, "Score", "higher", np.array([0.1, 0.2, 0.3]), score_draws)
    return relate(["a", "b", "c"], [people], [model], rng=RNG).get(measure, score)


def test_the_share_counts_replicates_with_the_sign():
    relation = related()
    assert (relation.rank.sign, relation.desirable, relation.sign_share) == ("+", "undesirable", 0.75)
    assert relation.is_recurring(0.75)
    assert not relation.is_recurring(0.9)
    assert not relation.is_score_drawn
    assert relation.correlations["pearson"].positive == 1


def test_measure_and_score_are_drawn_together():
    draws = np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.2, 0.1, 0.3], [0.2, 0.1, 0.3]])
    relation = related(draws)
    assert relation.is_score_drawn
    assert relation.sign_share == 0.75  # the first two, and the last, where both turn


def test_a_system_without_questions_keeps_its_score():
    draws = np.array([[0.1, np.nan, 0.3], [0.25, np.nan, 0.3], [0.1, np.nan, 0.3], [0.1, np.nan, 0.3]])
    relation = related(draws)
    assert relation.sign_share == 0.5
    assert not relation.is_score_drawn


def test_without_replicates_nothing_recurs():
    people = Quantity("fp", "People", "lower", np.array([1.0, 2, 3]))
    model = Quantity("f1", "Score", "higher", np.array([0.1, 0.2, 0.3]))
    relation = relate(["a", "b", "c"], [people], [model], rng=RNG).get("fp", "f1")
    assert (relation.shares, relation.sign_share, relation.is_recurring(0.0)) == (None, None, False)


def test_declared_scores_and_what_the_report_shows_first():
    values = np.array([1.0, 2, 4])
    measures = [Quantity(key, key, None, values) for key in ("certainty", "agreement", "fp")]
    scores = [
        Quantity(key, key, None, values, headline=key != "farm_2")
        for key in ("em", "joint_f1", "loca", "farm_2")
    ]
    relations = relate(["a", "b", "c"], measures, scores, rng=RNG)
    first = choose_main_relation(relations, Plan())
    assert (first.measure.key, first.score.key) == ("fp", "joint_f1")
    declared = Plan(family=(("certainty", "x", "y"),), scores=("farm_2", "em"))
    first = choose_main_relation(relations, declared)
    assert (first.measure.key, first.score.key) == ("certainty", "farm_2")
    assert [score.key for score in select_declared_scores(relations, declared)] == ["farm_2", "em"]
    assert [score.key for score in select_declared_scores(relations, Plan())] == ["em", "joint_f1", "loca"]
    with pytest.raises(AnalysisError, match="no score 'f2'; they have em, joint_f1, loca, farm_2"):
        select_declared_scores(relations, Plan(scores=("f2",)))
