"""The shipped weights are small, usable, imperfect, different in LocA.

The tests also check what their cards say of them.
"""

import json
import re

import pytest
import torch

from modelserver.evaluation.scores import compute_scores, predict_gold
from modelserver.inputs.hotpot import parse_gold
from modelserver.registry import WEIGHTS, load_system
from modelserver.world import generate
from tests.analysis.data import real_data
from tests.paths import ROOT

NAMES = ["qi2019", "select-and-forget", "qi2019-reg", "select-and-forget-reg"]
PAGE = ROOT / "docs/reference/systems.md"


@pytest.fixture(scope="module")
def gold():
    return parse_gold(generate("test", 120, 1), "world 1, test")


@pytest.fixture(scope="module")
def results(gold):
    torch.set_num_threads(1)
    predictions = {name: predict_gold(load_system(name), gold) for name in NAMES}
    return {name: (predictions[name], compute_scores(gold, predictions[name])) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_usable_and_imperfect(name, results):
    # Wider than the 55 to 90 % of the card: 120 questions have a standard error of four points.
    assert 0.45 < results[name][1]["em"] < 0.97
    assert results[name][1]["sp_prec"] > 0.75
    assert results[name][1]["sp_recall"] > 0.75


def test_select_and_forget_answers_inside_its_explanation(results):
    for name in ("select-and-forget", "select-and-forget-reg"):
        predictions, summary = results[name]
        assert summary["loca_outside"] == 0.0
        assert summary["loca"] > results["qi2019"][1]["loca"] + 0.02
        assert all(p.location is None or p.location.first in p.facts for p in predictions)


def test_the_regulariser_raises_the_recall_of_facts(results):
    for name in ("qi2019", "select-and-forget"):
        assert results[f"{name}-reg"][1]["sp_recall"] > results[name][1]["sp_recall"]
    assert results["qi2019-reg"][1]["sp_prec"] < results["qi2019"][1]["sp_prec"]
    assert results["qi2019-reg"][1]["loca_outside"] < results["qi2019"][1]["loca_outside"]


@pytest.mark.parametrize("name", NAMES)
def test_real_questions_are_answered(name):
    sample = json.loads(real_data("hotpot/hotpot_sample.json").read_text(encoding="utf-8"))
    gold = parse_gold(sample[:6], "sample")
    predictions = predict_gold(load_system(name), gold)
    for example, prediction in zip(gold, predictions, strict=True):
        facts = {(title, n) for title, sentences in example.context for n in range(len(sentences))}
        assert {(p.title, p.index) for p in prediction.fact_probabilities} == facts
        where = prediction.location
        if where is not None and where.start is not None:
            sentence = dict(example.context)[where.first[0]][where.first[1]]
            assert sentence[where.start : where.end] == prediction.answer


def _card(name):
    card = (WEIGHTS / name / "README.md").read_text(encoding="utf-8")
    return card, json.loads(re.search(r"```json\n(.*?)```", card, re.DOTALL).group(1))


def test_the_page_of_systems_says_what_the_cards_say():
    table = re.search(r"\n\| score \|.*?\n\n", PAGE.read_text(encoding="utf-8"), re.DOTALL).group(0)
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().split("\n"))
    assert [cell.strip("`") for cell in head[1:]] == NAMES
    cards = [_card(name)[1] for name in NAMES]
    assert len(rows) == 18
    for label, *cells in rows:
        key = re.search(r"`(\w+)`", label).group(1)
        assert cells == [f"{100 * card[key]:.1f}" for card in cards], key


@pytest.mark.parametrize("name", NAMES)
def test_the_card_states_these_weights(name):
    card, stated = _card(name)
    assert stated["system"] == name
    assert stated["revision"] == load_system(name).revision
    assert 0.55 <= stated["em"] <= 0.90
    assert "Apache-2.0" in card
