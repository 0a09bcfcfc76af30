"""Bots answer as their behaviour says."""

import random
from collections import Counter

import pytest

from studyapp.definition.questions.questionnaires import TEMPLATES
from studyapp.simulation.behaviours import BEHAVIOURS, choose, draw_times

QUESTIONS = TEMPLATES["xqa-2020"].item


@pytest.mark.parametrize("kind", list(BEHAVIOURS))
def test_behaviours_answer_as_declared(kind):
    behaviour, rng = BEHAVIOURS[kind], random.Random(3)
    rated = QUESTIONS[0]
    for right, expected in ((True, behaviour.yes_if_right), (False, behaviour.yes_if_wrong)):
        yes = Counter(choose(rated, behaviour, right, rng) for _ in range(2000))["yes"] / 2000
        assert abs(yes - expected) < 0.05
    times = sorted(int(draw_times(behaviour, rng)["client_total_ms"]) for _ in range(1001))
    assert abs(times[500] / 1000 / behaviour.seconds - 1) < 0.15


def test_a_straight_liner_always_chooses_the_same():
    questions = [*QUESTIONS[2:], *TEMPLATES["xqa-2020"].post_survey]
    rng = random.Random(1)
    chosen = {choose(question, BEHAVIOURS["straight-liner"], None, rng) for question in questions}
    assert chosen == {"5"}
