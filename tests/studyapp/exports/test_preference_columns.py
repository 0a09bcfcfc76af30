"""Tests of the columns of preference studies, which bots walk.

Bundle and report say what the bots did.
"""

import csv
import json
import math

import pytest

from analysis.participants.bundle import load_bundle
from analysis.study.analysis import Options, analyse
from analysis.study.preferences import fit_preferences
from studyapp.exports.bundle import write_bundle
from studyapp.exports.estimates import compute_running_estimates
from studyapp.exports.responses import list_default_columns, load_response_data, load_response_page
from studyapp.queries.bots import count_stored_rows
from studyapp.queries.running.responses import ResponseFilter
from studyapp.simulation.behaviours import BEHAVIOURS
from tests.studyapp import factories
from tests.studyapp.exports.test_task_columns import bundle, walked

pytestmark = pytest.mark.django_db
CRITERIA = [{"key": "clear", "text": "Which is clearer?"}, {"key": "useful", "text": "Which helps more?"}]


def test_it_works(tmp_path):
    study = factories.make_preference(
        practice={"ids": ["q7"]},
        attention=[{"id": "read", "kind": "instructed", "position": 2, "text": "Choose B.",
                    "expected": {"preferred_clear": "right"}}],
        task={"criteria": CRITERIA},
    )  # fmt: skip
    link, bots = walked(study, kinds=[*BEHAVIOURS])
    assert [bot.error for bot in bots] == [""] * 6
    assert count_stored_rows(link)["completed"] == 5
    rows = bundle(study, tmp_path / "b")
    done = [row for row in rows if row["submitted_at"]]
    for row in done:
        assert row["condition"] == row["system_correct"] == ""
        assert {row["left_condition"], row["right_condition"]} < {"s1", "s2", "s3"}
        assert {row["preferred_clear"], row["preferred_useful"]} <= {"left", "right", "tie"}
    book = json.loads((tmp_path / "b" / "codebook.json").read_text())
    assert [column["name"] for column in book["tables"]["trials"]["columns"]] == list(rows[0])
    version = json.loads((tmp_path / "b" / "study_version.json").read_text())["versions"][0]
    assert version["task"]["criteria"] == CRITERIA
    assert version["design"] == "within"
    with (tmp_path / "b" / "checks.csv").open() as file:
        checks = [
            row for row in csv.DictReader(file) if row["check_kind"] == "attention" and row["check_passed"]
        ]
    assert {(row["check_passed"], row["preferred_clear"]) for row in checks} >= {("true", "right")}
    public = bundle(study, tmp_path / "public", public=True)
    assert sorted(row["preferred_clear"] for row in public) == sorted(row["preferred_clear"] for row in rows)
    page = load_response_page(load_response_data(study), ResponseFilter(condition="s1"))
    assert all("s1" in (row["left_condition"], row["right_condition"]) for row in page.rows)
    assert len(page.rows) == sum("s1" in (row["left_condition"], row["right_condition"]) for row in done)
    names = list_default_columns(load_response_data(study))
    assert {"left_condition", "right_condition", "preferred_clear", "preferred_useful"} <= {*names}
    assert not {"condition", "system_correct"} & {*names}


def test_planted_strengths_are_those_of_the_report(tmp_path):
    study = factories.make_preference(items=6, exclusions=[])
    planted = {"s1": {"preferred": 2.0}, "s2": {"preferred_overall": -2.0}}
    walked(study, kinds=["honest"] * 36, planted=planted)
    write_bundle(study, tmp_path / "b")
    analysed = analyse(load_bundle(tmp_path / "b"), Options(mode="bot", resamples=50))
    (fit,) = fit_preferences(analysed)
    strengths = dict(zip(fit.conditions, fit.strengths.logs, strict=True))
    # Arrangements are drawn again each time; the standard error of a difference is about 0.4.
    assert strengths["s1"] - strengths["s3"] == pytest.approx(2.0, abs=1.8)
    assert strengths["s2"] - strengths["s3"] == pytest.approx(-2.0, abs=1.8)
    assert fit.left.value == pytest.approx(0.5, abs=0.25)
    assert 0 < (fit.tied.value or math.nan) < 0.4
    estimates = compute_running_estimates(study, mode="bot")
    cells = {measure.key: measure_cells for measure, measure_cells in estimates.table}["win_rate_overall"]
    rates = {cell.condition: cell.value or 0.0 for cell in cells}
    assert rates["s1"] > rates["s3"] > rates["s2"] > 0
