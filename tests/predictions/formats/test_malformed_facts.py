"""Malformed facts of predictions are read, reported and scored.

Their scores are those of the official script.
"""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.scores.hotpotqa import KEYS, normalise_facts, score
from foundation.errors import BadFile
from foundation.imports.findings import MOST_EXAMPLES, Findings
from predictions.formats.predictions import read_predictions
from predictions.models import Dataset, Prediction
from predictions.scores.scoring import Scored, Standard
from tests.analysis.data import real_data
from tests.studyapp.questions import entries, write_json
from tests.studyapp.serving import made_dataset

# Shapes that the official script scores without an error: they match nothing, but for the last two.
MALFORMED: list[Any] = [
    ["A"], ["A", "0"], ["A", -1], ["A", 0.5], ["A", 0, 0.9], ["A", None], [], "A0", "fact", {"A": 0},
    ["A", 1.0], ["A", True],
]  # fmt: skip


def official(facts: list[Any], gold: list[Any]) -> tuple[float, ...]:
    """EM, F1, precision and recall as the published script computes them."""
    predicted, expected = set(map(tuple, facts)), set(map(tuple, gold))
    tp, fp, fn = len(predicted & expected), len(predicted - expected), len(expected - predicted)
    precision = tp / (tp + fp) if tp + fp > 0 else 0.0
    recall = tp / (tp + fn) if tp + fn > 0 else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return float(fp + fn == 0), f1, precision, recall


@pytest.mark.parametrize("malformed", MALFORMED)
def test_a_malformed_fact_scores_as_in_the_official_script(malformed: Any):
    gold = [["A", 0], ["A", 1]]
    for facts in ([malformed], [["A", 0], malformed], [malformed, ["A", 0], malformed, ["A"]]):
        plain, _ = normalise_facts(facts)
        assert official([list(fact) for fact in plain], gold) == official(facts, gold)


@pytest.mark.parametrize("facts", [None, 3, [None], [3], [["A", ["B"]]], {"A": 0}, "abc"])
def test_no_shape_fails(facts: Any):
    plain, places = normalise_facts(facts)
    assert len(plain) == len(places) > 0
    assert not any(title == "A" for title, _ in plain)


def test_the_rest_of_the_file_is_read_and_each_is_reported_with_its_line(tmp_path: Path):
    path = tmp_path / "p.json"
    path.write_text(
        '{"answer": {"a": "x", "b": "y"},\n"sp": {"a": [["T", 0],\n["T"]],\n"b": "none"}}', encoding="utf-8"
    )
    findings = Findings(collect=True)
    file = read_predictions(path, findings)
    assert file.content.sp["a"] == [("T", 0), ("malformed fact 1: ('T',)", 0)]
    assert findings.refused_count == 0
    (repair,) = findings.repairs.values()
    assert (repair.kind, repair.count) == ("malformed_facts", 5)
    assert repair.examples[:2] == ["p.json:3: sp.a[1]", "p.json:4: sp.b[0]"]
    assert len(repair.examples) == MOST_EXAMPLES
    with pytest.raises(BadFile, match=r"p\.json:3: sp\.a\[1\]\[1\]: is missing"):
        read_predictions(path, strict=True)


def test_titles_that_cannot_be_stored_are_refused_still(tmp_path: Path):
    content = {"answer": {}, "sp": {"q0": [["a\0b", 0], ["a\0b"]]}}
    with pytest.raises(BadFile, match=r"sp\.q0\[0\]\[0\]: holds the character NUL"):
        read_predictions(write_json(tmp_path / "p.json", content))


PLANTS: list[Callable[[list[Any]], Any]] = [
    lambda facts: [*facts, ["A"]],
    lambda facts: [[title, str(index)] for title, index in facts],
    lambda facts: [*facts, *facts[:1], "x y", "x y"],
    lambda facts: [[title, float(index)] for title, index in facts],
]


@pytest.mark.django_db
@pytest.mark.database
@pytest.mark.parametrize("system", ["srlgrn", "hp_model_9", "qwen3_8b_ragdrop"])
def test_real_predictions_with_planted_facts_get_the_official_scores(system: str, tmp_path: Path):
    gold = json.loads(real_data("hotpot/hotpot_sample.json").read_text("utf-8"))[:60]
    predictions = json.loads(real_data(f"hotpot/predictions/{system}.json").read_text("utf-8"))
    for number, question in enumerate(gold):
        facts = predictions["sp"].get(question["_id"], [])
        predictions["sp"][question["_id"]] = PLANTS[number % len(PLANTS)](facts)
    call_command(
        "import_dataset", "hotpot", str(write_json(tmp_path / "gold.json", gold)), "--name", "hotpot",
        stdout=StringIO(),
    )  # fmt: skip
    path, error = write_json(tmp_path / "p.json", predictions), StringIO()
    options = {"dataset": "hotpot", "system": system, "stdout": StringIO(), "stderr": error}
    call_command("import_predictions", str(path), **options)
    assert "facts that are not [title, index]; they score as in the official script" in error.getvalue()
    assert "p.json:1: sp." in error.getvalue()
    standard = Standard()
    predictions_by_id = {
        prediction.question.external_id: prediction
        for prediction in Prediction.objects.select_related("question")
    }
    for question in gold:
        prediction = predictions_by_id.get(question["_id"])
        answer_and_facts = (prediction.answer, prediction.facts) if prediction else (None, None)
        standard.add(Scored(question["answer"], question["supporting_facts"], *answer_and_facts))
    expected = score(gold, predictions)
    assert {key: standard.scores().values[key] for key in KEYS} == pytest.approx(expected)
    by_script = [
        official(predictions["sp"][question["_id"]], question["supporting_facts"]) for question in gold
    ]
    means = [sum(column) / len(gold) for column in zip(*by_script, strict=True)]
    assert [expected[key] for key in ("sp_em", "sp_f1", "sp_prec", "sp_recall")] == pytest.approx(means)
    with pytest.raises(CommandError, match=r"sp\."):
        call_command("import_predictions", str(path), "--strict", **options)


@pytest.mark.django_db
@pytest.mark.database
def test_a_malformed_fact_is_counted_once(tmp_path: Path):
    dataset: Dataset = made_dataset("films", entries(1))
    error = StringIO()
    content = {"answer": {"q0": "Oslo"}, "sp": {"q0": [["Oslo"], ["Nowhere", 0]]}}
    call_command(
        "import_predictions", str(write_json(tmp_path / "p.json", content)), "--dataset", dataset.name,
        "--system", "reader", stdout=StringIO(), stderr=error,
    )  # fmt: skip
    assert error.getvalue().splitlines() == [
        "warning: 1 facts that are not [title, index]; they score as in the official script",
        "  p.json:1: sp.q0[0]",
        "warning: 1 predicted facts that name no sentence of the articles; kept as wrong facts",
    ]
