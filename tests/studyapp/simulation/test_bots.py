"""Bots of a mix of behaviours."""

from collections import Counter

import pytest

from foundation.behaviour_mix import parse_mix
from studyapp.simulation.behaviours import BEHAVIOURS
from studyapp.simulation.bots import make_bots


def test_mix_is_met_exactly_and_shuffled():
    mix = parse_mix("honest=0.7, random=0.2,drop-out=0.1", BEHAVIOURS)
    kinds = [bot.kind for bot in make_bots(40, mix, seed=1)]
    assert Counter(kinds) == {"honest": 28, "random": 8, "drop-out": 4}
    assert kinds == [bot.kind for bot in make_bots(40, mix, seed=1)]
    assert kinds != [bot.kind for bot in make_bots(40, mix, seed=2)]
    assert len(make_bots(7, parse_mix("honest=1,random=1,speeder=1", BEHAVIOURS), seed=1)) == 7
    assert parse_mix("speeder", BEHAVIOURS) == {"speeder": 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lazy", "no behaviour 'lazy'; there is honest"),
        ("honest=many", "share of honest is 'many'"),
        ("honest=-1,random=2", "share of honest is '-1'"),
        ("honest=nan", "share of honest is 'nan'"),
        ("honest=0", "all 0"),
        ("honest,honest", "twice"),
        ("", "no behaviour ''"),
    ],
)
def test_a_wrong_mix(text, message):
    with pytest.raises(ValueError, match=message):
        parse_mix(text, BEHAVIOURS)
