"""Comprehensiveness and sufficiency against cases computed by hand (DeYoung et al. 2020, section 4)."""

import pytest

from analysis.scores.erasure import Erasure, Probabilities, erasure


def one(whole: float, without: float, only: float, *steps: float) -> Probabilities:
    """A question whose probabilities for k = 1..4 are the steps: without, then alone."""
    return Probabilities(
        whole, without, only, dict(enumerate(steps[:4], start=1)), dict(enumerate(steps[4:], start=1))
    )


FAITHFUL = one(0.9, 0.1, 0.8, 0.5, 0.3, 0.1, 0.1, 0.4, 0.6, 0.8, 0.8)
UNFAITHFUL = one(0.6, 0.6, 0.2, 0.6, 0.6, 0.6, 0.6, 0.2, 0.2, 0.2, 0.2)


def test_it_works() -> None:
    found = erasure([FAITHFUL])
    assert found.comprehensiveness == pytest.approx(0.8)  # .9 - .1
    assert found.sufficiency == pytest.approx(0.1)  # .9 - .8
    assert found.comprehensiveness_aopc == pytest.approx(0.65)  # (.4 + .6 + .8 + .8) / 4
    assert found.sufficiency_aopc == pytest.approx(0.25)  # (.5 + .3 + .1 + .1) / 4


def test_the_scores_are_means_over_questions() -> None:
    found = erasure([FAITHFUL, UNFAITHFUL])
    assert found.questions == 2
    assert found.comprehensiveness == pytest.approx(0.4)
    assert found.sufficiency == pytest.approx(0.25)
    assert found.sufficiency_aopc == pytest.approx((0.25 + 0.4) / 2)


def test_an_answer_that_gets_more_probable_counts_below_zero() -> None:
    found = erasure([one(0.2, 0.7, 0.1, 0.7, 0.7, 0.7, 0.7, 0.1, 0.1, 0.1, 0.1)])
    assert found.comprehensiveness == pytest.approx(-0.5)


def test_no_question_has_no_score() -> None:
    assert erasure([]) == Erasure(None, None, None, None, 0)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (one(1.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "between 0 and 1"),
        (one(float("nan"), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "between 0 and 1"),
        (one(0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0), "k = 4"),
    ],
)
def test_malformed_probabilities_are_named(question: Probabilities, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        erasure([question])
