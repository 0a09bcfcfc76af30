"""Comprehensiveness and sufficiency against cases computed by hand.

Reference: DeYoung et al. 2020, section 4.
"""

import pytest

from analysis.scores.erasure import Erasure, Probabilities, erasure


def make_question(whole: float, without: float, only: float, *steps: float) -> Probabilities:
    """Return a question whose probabilities for k = 1..4 are the steps.

    The first four are without the k most relevant facts, the others with these alone.
    """
    return Probabilities(
        whole, without, only, dict(enumerate(steps[:4], start=1)), dict(enumerate(steps[4:], start=1))
    )


FAITHFUL = make_question(0.9, 0.1, 0.8, 0.5, 0.3, 0.1, 0.1, 0.4, 0.6, 0.8, 0.8)
UNFAITHFUL = make_question(0.6, 0.6, 0.2, 0.6, 0.6, 0.6, 0.6, 0.2, 0.2, 0.2, 0.2)


def test_it_works() -> None:
    scores = erasure([FAITHFUL])
    assert scores.comprehensiveness == pytest.approx(0.8)  # .9 - .1
    assert scores.sufficiency == pytest.approx(0.1)  # .9 - .8
    assert scores.comprehensiveness_aopc == pytest.approx(0.65)  # (.4 + .6 + .8 + .8) / 4
    assert scores.sufficiency_aopc == pytest.approx(0.25)  # (.5 + .3 + .1 + .1) / 4


def test_the_scores_are_means_over_questions() -> None:
    scores = erasure([FAITHFUL, UNFAITHFUL])
    assert scores.questions == 2
    assert scores.comprehensiveness == pytest.approx(0.4)
    assert scores.sufficiency == pytest.approx(0.25)
    assert scores.sufficiency_aopc == pytest.approx((0.25 + 0.4) / 2)


def test_an_answer_that_gets_more_probable_counts_below_zero() -> None:
    scores = erasure([make_question(0.2, 0.7, 0.1, 0.7, 0.7, 0.7, 0.7, 0.1, 0.1, 0.1, 0.1)])
    assert scores.comprehensiveness == pytest.approx(-0.5)


def test_no_question_has_no_score() -> None:
    assert erasure([]) == Erasure(None, None, None, None, 0)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (make_question(1.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "between 0 and 1"),
        (make_question(float("nan"), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "between 0 and 1"),
        (make_question(0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0), "k = 4"),
    ],
)
def test_malformed_probabilities_are_named(question: Probabilities, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        erasure([question])
