"""The two shipped encoders: they fit, they answer, they have saliency."""

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
    """It is better than chance on questions of its world.

    A fifth of the questions has an answer that the encoder never gives.
    """
    system = load_system(name)
    assert isinstance(system, ExtractiveSystem)
    gold = parse_gold(generate("test", 80, 1, 2), "world")
    predictions = system.predict([example.item for example in gold])
    assert (
        sum(
            answer_f1(example.answer, prediction.answer).f1
            for example, prediction in zip(gold, predictions, strict=True)
        )
        / 80
        > 0.4
    )
    (explanation,) = system.explain([gold[0].item], SaliencyOptions(steps=20))
    assert explanation.delta is not None
    assert explanation.baseline_value is not None
    assert abs(explanation.delta) < 0.05 * abs(explanation.value - explanation.baseline_value)


@pytest.mark.parametrize("name", ENCODERS)
def test_they_compare_and_their_reasons_show(name: str):
    """They answer most comparisons and their opposites, some for a reason.

    They answer fewer if these use words that were never trained.
    """
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
