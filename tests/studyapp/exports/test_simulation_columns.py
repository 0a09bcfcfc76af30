"""Tests of the columns of simulations, which bots walk.

Bundle and report say what the bots did.
"""

import csv
import json
from collections import Counter

import pytest

from analysis.participants.bundle import load_bundle
from analysis.study.analysis import Options, analyse
from studyapp.exports.estimates import compute_running_estimates
from studyapp.queries.bots import count_stored_rows
from studyapp.simulation.behaviours import BEHAVIOURS
from tests.studyapp import factories
from tests.studyapp.exports.test_task_columns import bundle, walked

pytestmark = pytest.mark.django_db


def test_it_works(tmp_path):
    study = factories.make_simulation(
        practice={"count": 1, "seed": 4},
        attention=[{"id": "read", "kind": "instructed", "position": 4, "text": "Choose 5.",
                    "expected": {"certainty": 5}}],
    )  # fmt: skip
    link, bots = walked(study, kinds=[*BEHAVIOURS])
    assert [bot.error for bot in bots] == [""] * 6
    assert count_stored_rows(link)["completed"] == 5
    rows = bundle(study, tmp_path / "b")
    done = [row for row in rows if row["submitted_at"]]
    assert Counter(row["block"] for row in rows) == {"before": 12, "learning": 12, "after": 12}
    for row in done:
        is_right = row["predicted_answer"] == row["system_answer"]
        assert row["prediction_right"] == str(is_right).lower()
        assert row["predicted_correct"] == ""
        assert int(row["options"]) >= 2
        is_learning = row["block"] == "learning"
        assert row["prediction_server_ms"]
        assert bool(row["answer_server_ms"]) is is_learning
        parts = [int(row[f"{page}_client_total_ms"] or 0) for page in ("prediction", "answer")]
        assert sum(parts) == int(row["client_total_ms"])
        assert bool(row["helpfulness"]) is (is_learning and row["condition"] == "helper")
        assert "cannot_tell" not in row
    with (tmp_path / "b" / "checks.csv").open() as file:
        checks = [row for row in csv.DictReader(file) if row["submitted_at"]]
    assert {row["block"] for row in checks} == {""}
    assert {bool(row["predicted_answer"]) for row in checks if row["check_kind"] == "practice"} == {True}
    book = json.loads((tmp_path / "b" / "codebook.json").read_text())
    assert [column["name"] for column in book["tables"]["trials"]["columns"]] == list(rows[0])
    version = json.loads((tmp_path / "b" / "study_version.json").read_text())["versions"][0]
    assert version["task"]["blocks"] == {"before": 2, "learning": 2, "after": 2}
    public = bundle(study, tmp_path / "public", public=True)
    assert Counter(row["predicted_answer"] for row in public) == Counter(
        row["predicted_answer"] for row in rows
    )


def test_predictions_of_correctness_are_right_if_the_system_is_as_predicted(tmp_path):
    study = factories.make_simulation(conditions=[{"system": "helper"}], task={"ask": "correct"})
    walked(study, kinds=["honest"] * 2)
    for row in bundle(study, tmp_path / "b"):
        assert (row["options"], row["predicted_answer"]) == ("2", "")
        is_right = row["predicted_correct"] == row["system_correct"]
        assert row["prediction_right"] == str(is_right).lower()


def test_a_planted_effect_is_recovered(tmp_path):
    """Bots with explanations learn; bots without them learn nothing.

    The former are wrong before learning and right after it.
    """
    study = factories.make_simulation(exclusions=[])
    effects = {"helper": {"prediction_before": -0.7, "prediction_learning": 0.3, "prediction_after": 0.3}}
    walked(study, kinds=["honest"] * 6, planted=effects)
    bundle(study, tmp_path / "b")
    estimates = analyse(load_bundle(tmp_path / "b"), Options(resamples=0, mode="bot")).retained.estimates
    assert estimates.get("simulation_effect", "helper").value == 1.0
    assert estimates.get("learning_accuracy", "helper").value == 1.0
    alone = estimates.get("simulation_effect", "helper (no explanation)").value
    assert alone is not None
    assert alone < 1.0
    running = compute_running_estimates(study, mode="bot")
    assert {"simulation_effect", "after_accuracy"} <= {measure.key for measure, _cells in running.table}
