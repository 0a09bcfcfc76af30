"""The shipped weights: small, usable and imperfect, different in LocA, and what their cards say of them."""

import json
import re

import pytest
import torch

from modelserver.evaluation import predict_gold, scores
from modelserver.gold import parse_gold
from modelserver.systems import WEIGHTS, load_system
from modelserver.world import generate

NAMES = ["qi2019", "select-and-forget"]


@pytest.fixture(scope="module")
def gold():
    return parse_gold(generate("test", 120, 1), "world 1, test")


@pytest.fixture(scope="module")
def results(gold):
    torch.set_num_threads(1)
    predictions = {name: predict_gold(load_system(name), gold) for name in NAMES}
    return {name: (predictions[name], scores(gold, predictions[name])) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_small(name):
    assert sum(file.stat().st_size for file in (WEIGHTS / name).iterdir()) < 4_000_000


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_usable_and_imperfect(name, results):
    # Wider than the 55 to 90 % of the card: 120 questions have a standard error of four points.
    assert 0.45 < results[name][1]["em"] < 0.97
    assert results[name][1]["sp_prec"] > 0.75
    assert results[name][1]["sp_recall"] > 0.75


def test_select_and_forget_answers_inside_its_explanation(results):
    predictions, summary = results["select-and-forget"]
    assert summary["loca_outside"] == 0.0
    assert summary["loca"] > results["qi2019"][1]["loca"] + 0.02
    assert all(p.location is None or p.location.first in p.facts for p in predictions)


@pytest.mark.parametrize("name", NAMES)
def test_the_card_states_these_weights(name):
    card = (WEIGHTS / name / "README.md").read_text(encoding="utf-8")
    stated = json.loads(re.search(r"```json\n(.*?)```", card, re.DOTALL).group(1))
    assert stated["system"] == name
    assert stated["revision"] == load_system(name).revision
    assert 0.55 <= stated["em"] <= 0.90
    assert "Apache-2.0" in card
