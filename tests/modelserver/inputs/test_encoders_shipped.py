"""The two small encoders that are shipped: they fit, they answer, and they have saliency."""

import pytest

from analysis.scores.hotpotqa import answer_f1
from benchmarks.models._trend_cells import compute_reason_scores, draft_comparisons
from modelserver.inputs.hotpot import parse_gold
from modelserver.registry import WEIGHTS, load_system
from modelserver.systems.extractive import ExtractiveSystem
from modelserver.wire.schema import SaliencyOptions
from modelserver.world import generate

ENCODERS = ("encoder-small", "encoder-mini")


@pytest.mark.parametrize("name", ENCODERS)
def test_it_works(name: str):
    """Better than chance on questions of its world, of which a fifth has an answer that it never gives."""
    system = load_system(name)
    assert isinstance(system, ExtractiveSystem)
    gold = parse_gold(generate("test", 80, 1, 2), "world")
    found = system.predict([one.item for one in gold])
    assert (
        sum(answer_f1(one.answer, given.answer).f1 for one, given in zip(gold, found, strict=True)) / 80 > 0.4
    )
    (why,) = system.explain([gold[0].item], SaliencyOptions(steps=20))
    assert why.delta is not None
    assert why.baseline_value is not None
    assert abs(why.delta) < 0.05 * abs(why.value - why.baseline_value)


@pytest.mark.parametrize("name", ENCODERS)
def test_they_compare_and_their_reasons_show(name: str):
    """They answer most comparisons and their opposites, fewer in words never trained, some for a reason."""
    scores = compute_reason_scores(WEIGHTS / name, draft_comparisons(400))
    assert scores["f1"] > 0.7
    assert scores["f1_in"] > 0.6
    assert scores["f1_out"] < scores["f1_in"] - 0.1
    assert scores["alignment integrated-gradients"] > 0.05
    assert scores["alignment occlusion"] > 0.05


@pytest.mark.parametrize("name", ENCODERS)
def test_they_say_where_they_are_from(name: str):
    card = (WEIGHTS / name / "README.md").read_text(encoding="utf-8")
    assert f"--out modelserver/weights/{name}" in card
