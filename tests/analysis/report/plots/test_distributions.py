"""Distributions: shares of answers, and the figures' descriptions.

The shares count every participant once; the figures say in text what they show.
"""

import numpy as np
import pytest

from analysis.participants.bundle import load_bundle
from analysis.participants.study_version import Points, Question
from analysis.participants.trial_grid import Grid
from analysis.report.plots.distributions import (
    compute_level_shares,
    draw_boxes_figure,
    draw_likert_figure,
    draw_times_figure,
)
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import released_study

NAN = np.nan
CERTAINTY = Question(key="sure", text="I am sure.", scale=Points(points=3), role="certainty")
TRUST = Question(key="trust", text="I trust it.", scale=Points(points=3), role="trust")


def grid(certainty, trust=(NAN, NAN)):
    answers = np.array(certainty, dtype=float)
    people, items = answers.shape
    return Grid(
        condition="one",
        participants=tuple(map(str, range(people))),
        items=tuple(map(str, range(items))),
        present=np.ones(answers.shape, dtype=bool),
        seconds=np.full(answers.shape, 2.0),
        system_correct=np.ones(answers.shape),
        answers={"certainty": answers},
        post={"trust": np.array(trust, dtype=float)},
    )


def test_everybody_counts_once():
    shares = compute_level_shares(grid([[1, 1, 3, 3], [2, NAN, NAN, NAN]]), CERTAINTY)
    assert shares.shares == pytest.approx([0.25, 0.5, 0.25])  # pooled it would be 2/5, 1/5, 2/5
    assert (shares.participants, shares.answers) == (2, 5)


def test_who_gave_no_answer_is_not_counted():
    shares = compute_level_shares(grid([[3, 3], [NAN, NAN]]), CERTAINTY)
    assert shares.shares.tolist() == [0, 0, 1]
    assert shares.participants == 1
    assert compute_level_shares(grid([[NAN], [NAN]]), CERTAINTY) is None


def test_the_post_survey_has_one_answer_a_participant():
    shares = compute_level_shares(grid([[1], [1]], trust=(3, 1)), TRUST)
    assert shares.shares == pytest.approx([0.5, 0, 0.5])


def test_a_question_that_the_condition_lacks_has_no_shares():
    other = Question(key="other", text="?", scale=Points(points=3))
    assert compute_level_shares(grid([[1]], trust=(1,)), other) is None


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return analyse(load_bundle(released_study(tmp_path_factory.mktemp("released"))), Options(resamples=0))


def test_the_figures_of_the_released_study_say_what_they_show(study):
    bars = draw_likert_figure(study)
    grid = next(grid for grid in study.retained.grids if grid.condition == "ground truth")
    highest = compute_level_shares(grid, study.version.question("trust")).shares[-1]
    assert f"ground truth 1: 0 %, 2: 0 %, 3: 0 %, 4: 70 %, 5: {100 * highest:.0f} %" in bars.alternative
    headline = [measure for measure in study.retained.estimates.measures if measure.headline]
    agreement = study.retained.estimates.per_participant["agreement"][0]
    boxes = draw_boxes_figure(study, headline)
    assert f"Agreement: Qi-2019 median {100 * np.median(agreement):.2f}" in boxes.alternative
    assert "Over-estimation" not in boxes.alternative  # the release does not say what is correct
    times = draw_times_figure(study)
    for figure in (bars, boxes, times):
        assert figure.svg.count("<svg") == 1


def test_without_times_there_are_no_clouds(study):
    study.retained.grids[:], grids = [], list(study.retained.grids)
    try:
        assert draw_times_figure(study) is None
        assert draw_likert_figure(study) is None
    finally:
        study.retained.grids[:] = grids
