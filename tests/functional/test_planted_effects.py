"""Effects planted in bots are found by the report, over the whole way, and nothing else is."""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from scripts.example import load_example
from studyapp.simulation.walk import BEHAVIOURS
from tests.site import Site

SHIFT, FACTOR = -0.4, 1.6
EFFECT = f"wrong:correctness_rating={SHIFT},time={FACTOR}"
BOTS = BEHAVIOURS["random"]
SHORTEST, LONGEST = 15, 300  # seconds; the default rules exclude trials beyond

# The site draws the order of items from a participant's random id, so the seed of the bots does not decide
# everything. A planted effect is therefore seven standard errors large, its estimate may be four of them
# away, and differences that are not planted may be as rare as this.
RARE = 0.0005

pytestmark = pytest.mark.service


def differences(report: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with (report / "tables" / "differences.csv").open(encoding="utf-8", newline="") as file:
        return {(row["measure"], row["first"], row["second"]): row for row in csv.DictReader(file)}


def retained_log_time(median: float) -> float:
    """Mean log time of the trials that the rules retain, of bots with this median."""
    ends = [np.log(second / median) / BOTS.sigma for second in (SHORTEST, LONGEST)]
    return float(np.log(median) + BOTS.sigma * stats.truncnorm(*ends).mean())


def test_it_works(site: Site, tmp_path: Path):
    load_example(site, slug="planted", items=20)
    said = site.manage(
        "simulate_participants", "planted", "-n", "90", "--behaviour", "random", "--effect", EFFECT,
        "--seed", "1",
    )  # fmt: skip
    assert "90 completed" in said
    site.manage("export_results", "planted", "--out", str(tmp_path / "bundle"))
    site.python("analysis", "report", str(tmp_path / "bundle"), "--out", str(tmp_path / "report"))
    found = differences(tmp_path / "report")

    slower = np.exp(retained_log_time(FACTOR * BOTS.seconds) - retained_log_time(BOTS.seconds))
    for measure, truth in (("agreement", SHIFT), ("time_geometric", slower)):
        back = 1 / truth if measure == "time_geometric" else -truth
        for pair, expected in ((("right", "wrong"), truth), (("wrong", "ground truth"), back)):
            row = found[measure, *pair]
            low, high = float(row["bca_low"]), float(row["bca_high"])
            assert abs((low + high) / 2 - expected) < high - low
            assert float(row["p_holm"]) < 0.05
    unchanged = [("agreement", "right", "ground truth"), ("time_geometric", "right", "ground truth")]
    unchanged += [("certainty", *pair) for pair in combinations(("right", "wrong", "ground truth"), 2)]
    for measure, first, second in unchanged:
        assert float(found[measure, first, second]["p"]) > RARE
