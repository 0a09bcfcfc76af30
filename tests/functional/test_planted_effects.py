"""The report finds the effects planted in bots, and nothing else.

The tests go the whole way from the bots to the report.
"""

from __future__ import annotations

import csv
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from scripts.sites.example import load_example
from studyapp.simulation.behaviours import BEHAVIOURS
from tests.site import Site

SHIFT, FACTOR = -0.4, 1.6
EFFECT = f"wrong:correctness_rating={SHIFT},time={FACTOR}"
BOTS = BEHAVIOURS["random"]
SHORTEST, LONGEST = 15, 300  # seconds; the default rules exclude trials beyond

# The site draws the order of items from a participant's random id, so the seed of the bots does not decide
# everything. A planted effect is therefore seven standard errors large, its estimate may be four of them
# away, and differences that are not planted may be as rare as this.
RARE = 0.0005

KINDS = """  # words: allow - test data
questionnaire:
  template: xqa-2020
  post_survey:
    - {key: share, text: Share correct, scale: {kind: slider, min: 0, max: 100}}
    - {key: said, text: It was …, scale: {kind: matrix, rows: {clear: clear., long: long.}, points: 5}}
    - key: order
      text: What helped
      scale: {kind: ranking, choices: {a: Answer, b: Marks, c: Articles, d: Luck}}
    - {template: umux-lite}
"""
# A shift of agreement, or of a rank.
PLANTED = {"share": -0.6, "said_clear": -0.6, "order_b": 4, "umux_ease": -0.6, "umux_capabilities": -0.6}

pytestmark = pytest.mark.service


def values(report: Path, table: str, key: str) -> dict[tuple[str, str], dict[str, str]]:
    with (report / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row[key], row["condition"]): row
            for row in csv.DictReader(file)
            if row.get("exclusions", "with") == "with"
        }


def differences(report: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with (report / "tables" / "differences.csv").open(encoding="utf-8", newline="") as file:
        return {(row["measure"], row["first"], row["second"]): row for row in csv.DictReader(file)}


def retained_log_time(median: float) -> float:
    """Return the mean log time of the trials that the rules retain.

    They are trials of bots with this median.
    """
    ends = [np.log(second / median) / BOTS.sigma for second in (SHORTEST, LONGEST)]
    return float(np.log(median) + BOTS.sigma * stats.truncnorm(*ends).mean())


@pytest.mark.soak
def test_it_works(site: Site, tmp_path: Path):
    load_example(site, slug="planted", items=20)
    output = site.manage(
        "simulate_participants", "planted", "-n", "90", "--behaviour", "random", "--effect", EFFECT,
        "--seed", "1",
    )  # fmt: skip
    assert "90 completed" in output
    site.manage("export_results", "planted", "--out", str(tmp_path / "bundle"))
    pairs = list(combinations(("right", "wrong", "ground truth"), 2))
    family = [[key, *pair] for key in ("agreement", "time_geometric", "certainty") for pair in pairs]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"family": family}), encoding="utf-8")
    out = str(tmp_path / "report")
    site.python("analysis", "report", str(tmp_path / "bundle"), "--out", out, "--plan", str(plan))
    rows = differences(tmp_path / "report")

    slower = np.exp(retained_log_time(FACTOR * BOTS.seconds) - retained_log_time(BOTS.seconds))
    for measure, truth in (("agreement", SHIFT), ("time_geometric", slower)):
        back = 1 / truth if measure == "time_geometric" else -truth
        for pair, expected in ((("right", "wrong"), truth), (("wrong", "ground truth"), back)):
            row = rows[measure, *pair]
            low, high = float(row["low"]), float(row["high"])
            assert abs((low + high) / 2 - expected) < high - low
            assert float(row["p_holm"]) < 0.05
    unchanged = [("agreement", "right", "ground truth"), ("time_geometric", "right", "ground truth")]
    unchanged += [("certainty", *pair) for pair in pairs]
    for measure, first, second in unchanged:
        assert float(rows[measure, first, second]["p"]) > RARE


def test_every_kind_of_question(site: Site, tmp_path: Path):
    load_example(site, slug="kinds", items=1, systems=2, more=KINDS)
    effect = "wrong:" + ",".join(f"{name}={shift}" for name, shift in PLANTED.items())
    site.manage(
        *("simulate_participants", "kinds", "-n", "150", "--behaviour", "random"),
        *("--effect", effect, "--seed", "1"),
    )
    site.manage("export_results", "kinds", "--out", str(tmp_path / "bundle"))
    site.python("analysis", "report", str(tmp_path / "bundle"), "--out", str(tmp_path / "report"))
    means = values(tmp_path / "report", "measures", "measure")
    scores = values(tmp_path / "report", "scale_scores", "score")
    for table, name, sign in (
        (means, "share", -1),
        (means, "said_clear", -1),
        (means, "order_b", 1),
        (scores, "score_umux_lite", -1),
    ):
        plain, planted = table[name, "right"], table[name, "wrong"]
        near, far = ("low", "high") if sign < 0 else ("high", "low")
        assert sign * (float(planted[far]) - float(plain[near])) > 0, name
    for name in ("said_long", "order_a"):
        plain, other = means[name, "right"], means[name, "ground truth"]
        assert float(plain["low"]) < float(other["high"])
        assert float(other["low"]) < float(plain["high"])
    reliability = (tmp_path / "report" / "tables" / "scale_reliability.csv").read_text(encoding="utf-8")
    assert "score_umux_lite_sus" in reliability
