"""The main job from data to report on a running site.

The commands of the README alone do it.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.sites.processes import ROOT
from tests.site import EmptySite, Site

DATA = Path(os.environ.get("TOUCHSTONE_DATA") or ROOT / "../shared/data") / "hotpot"

OFFICIAL = {"em", "f1", "prec", "recall", "sp_em", "sp_f1", "sp_prec", "sp_recall"}
OFFICIAL |= {"joint_em", "joint_f1", "joint_prec", "joint_recall"}

REAL_STUDY = """
study: real-data
title: Do the explanations help?
dataset: hotpot-dev
conditions:
  - system: srlgrn
  - system: hp_model_9
  - ground_truth: true
items: {count: 10, seed: 2020}
consent: I take part of my own will.
instructions: Judge whether the answer is correct.
exclusions:
  - {name: too-fast, kind: min_time, clock: client_total, seconds: 15}
  - {name: too-slow, kind: max_time, clock: client_total, seconds: 300}
  - {name: known-before, kind: answered, question: known_before, value: true}
order_seed: 7
"""


def rows(bundle: Path, table: str) -> list[dict[str, str]]:
    with (bundle / table).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def document(bundle: Path, name: str) -> dict[str, Any]:
    return json.loads((bundle / name).read_text(encoding="utf-8"))


def study_to_report(site: Site, tmp_path: Path, definition: Path, slug: str) -> tuple[Path, Path]:
    """Run a study to its report; return the bundle and the report.

    Its steps are create, launch, link, simulate, export and report.
    """
    bundle, report = tmp_path / "bundle", tmp_path / "report"
    site.manage("create_study", str(definition))
    rehearsed = site.manage("simulate_participants", slug, "-n", "2", "--rehearse")
    assert "rehearsed the draft with the hash" in rehearsed
    site.manage("launch_study", slug, "--accept", "judging=the answers are made up")
    assert "/join/" in site.manage("study_link", slug, "--label", "test")
    output = site.manage("simulate_participants", slug, "-n", "15", "--seed", "3")
    assert "15 completed" in output
    site.manage("export_results", slug, "--out", str(bundle))
    site.python("analysis", "report", str(bundle), "--out", str(report), "--resamples", "200")
    return bundle, report


def check_bundle(bundle: Path, slug: str, conditions: set[str], items: int, people: int = 40) -> None:
    """Check that all participants are there, and evenly spread.

    Each has every item once and all questions answered.
    """
    participants = rows(bundle, "participants.csv")
    assert {row["status"] for row in participants} == {"completed"}
    sizes = Counter(row["condition"] for row in participants)
    assert set(sizes) == conditions
    assert sum(sizes.values()) == people
    assert max(sizes.values()) - min(sizes.values()) <= 1
    trials = rows(bundle, "trials.csv")
    assert len(trials) == people * items
    assert len({(row["participant_id"], row["item_id"]) for row in trials}) == people * items
    assert {row["rated_correct"] for row in trials} == {"true", "false"}
    assert {row["certainty"] for row in trials} <= set("12345")
    orders: dict[str, list[str]] = {row["participant_id"]: [] for row in participants}
    for row in sorted(trials, key=lambda row: int(row["position"])):
        orders[row["participant_id"]].append(row["item_id"])
    assert len({tuple(order) for order in orders.values()}) > 0.75 * people  # each has an order of their own
    assert len(rows(bundle, "post_survey.csv")) == people
    assert len(rows(bundle, "items.csv")) == items * len(conditions)
    version = document(bundle, "study_version.json")
    assert version["study"] == slug
    assert len(version["versions"][0]["hash"]) == 64
    codebook = {(entry["table"], entry["column"]) for entry in columns_of(document(bundle, "codebook.json"))}
    for table in ("trials", "participants", "post_survey", "items", "events"):
        for column in rows_header(bundle / f"{table}.csv"):
            assert (table, column) in codebook


def columns_of(codebook: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {"table": table.removesuffix(".csv"), "column": column["name"]}
        for table, columns in codebook["tables"].items()
        for column in (columns["columns"] if isinstance(columns, dict) else columns)
    ]


def rows_header(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()[0].split(",")


def check_report(report: Path, systems: set[str]) -> str:
    """One self-contained page with tables and figures beside it."""
    [page] = report.glob("*.html")
    text = page.read_text(encoding="utf-8")
    for outside in ('src="http', "src='http", 'href="http', "url(http", "@import"):
        assert outside not in text
    assert "<svg" in text
    for name in systems:
        assert name in text
    assert list(report.rglob("*.csv"))
    assert list(report.rglob("*.svg"))
    return text


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    """A site with the shipped systems, shared by all tests.

    They share it because it takes longest to start.
    """
    with empty_site(fake=()) as running:
        yield running


@pytest.mark.skipif(not DATA.is_dir(), reason="The real HotpotQA data are not here (TOUCHSTONE_DATA).")
def test_real_questions_and_predictions(site: Site, tmp_path: Path):
    output = site.manage("import_dataset", "hotpot", str(DATA / "hotpot_sample.json"), "--name", "hotpot-dev")
    assert "586 questions added" in output
    ids = {entry["_id"] for entry in json.loads((DATA / "hotpot_sample.json").read_text(encoding="utf-8"))}
    for system in ("srlgrn", "hp_model_9"):
        path = DATA / "predictions" / f"{system}.json"
        output = site.manage("import_predictions", str(path), "--dataset", "hotpot-dev", "--system", system)
        answered = json.loads(path.read_text(encoding="utf-8"))["answer"].keys() & ids
        assert f"{len(answered)} predictions added" in output
    site.manage("score", "--dataset", "hotpot-dev", "--out", str(tmp_path / "scores.json"))
    definition = tmp_path / "study.yaml"
    definition.write_text(REAL_STUDY, encoding="utf-8")
    bundle, report = study_to_report(site, tmp_path, definition, "real-data")

    check_bundle(bundle, "real-data", {"srlgrn", "hp_model_9", "ground truth"}, 10, people=15)
    scores = document(bundle, "scores.json")["systems"]
    assert scores == document(tmp_path, "scores.json")["systems"]
    gold = DATA / "hotpot_sample.json"
    for system in ("srlgrn", "hp_model_9"):
        path = DATA / "predictions" / f"{system}.json"
        alone = json.loads(
            site.python("analysis", "xqa-scores", "--gold", str(gold), "--predictions", str(path))
        )
        values = scores[system]["scores"]
        assert {key: values[key] for key in OFFICIAL} == pytest.approx({key: alone[key] for key in OFFICIAL})
        # The files say nothing of fact probabilities: these scores are missing, with a reason, and not 0.
        assert values["farm_4"] is None
        assert scores[system]["reasons"]["farm_4"]
    truth = [row for row in rows(bundle, "items.csv") if row["condition"] == "ground truth"]
    assert {row["system_correct"] for row in truth} == {"true"}
    check_report(report, {"srlgrn", "hp_model_9"})


def readme_commands(folder: Path) -> list[list[str]]:
    """Return the commands of the README's whole way.

    Their files are in a folder of the test.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _demo, _test, block = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for line in block.splitlines() if line and not line.startswith("#")]
    return [
        shlex.split(line.replace(".venv/bin/python", sys.executable).replace("build/", f"{folder}/"))
        for line in lines
    ]


def typed(site: Site, command: list[str]) -> str:
    """Return the output of a command.

    Commands of the site run in a fork, which need not import everything.
    """
    return site.manage(*command[2:]) if command[1] == "manage.py" else site.run(*command).stdout


def test_the_commands_of_the_readme(site: Site, tmp_path: Path):
    outputs = [typed(site, command) for command in readme_commands(tmp_path)]
    assert "100 questions added" in outputs[1]
    assert "100 of 100 questions predicted" in outputs[2]
    assert "/join/" in outputs[8]
    assert "40 completed" in outputs[9]
    bundle, report = tmp_path / "bundle", tmp_path / "report"
    check_bundle(bundle, "world-facts", {"qi2019", "select-and-forget", "ground truth"}, 25)
    scores = document(bundle, "scores.json")["systems"]
    for system in ("qi2019", "select-and-forget"):
        values = scores[system]["scores"]
        # Predictions without any gold fact are few: perhaps none, and then their EM has a reason instead.
        missing = {key for key, value in values.items() if value is None}
        assert missing <= {"em_no_facts"}
        assert missing <= scores[system]["reasons"].keys()
        assert 0.3 < values["em"] < 1.0
        assert 0.0 < values["farm_4"] <= 1.0
    # Select-and-forget sees only what it selected when it answers.
    assert scores["select-and-forget"]["scores"]["loca"] > scores["qi2019"]["scores"]["loca"]
    text = check_report(report, {"qi2019", "select-and-forget"})
    assert "FaRM" in text


def refused(site: Site, *command: str) -> str:
    """Run a command that fails, and return what it says."""
    done = site.commands.run(*command)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_what_is_wrong_is_said_and_leaves_nothing_behind(site: Site, tmp_path: Path):
    error = refused(site, "predict", "--dataset", "nothing", "--system", "fake")
    assert "nothing" in error
    broken = tmp_path / "broken.json"
    broken.write_text('[{"_id": "1", "question": "Who?"}]', encoding="utf-8")
    error = refused(site, "import_dataset", "hotpot", str(broken), "--name", "broken")
    assert str(broken) in error
    assert "answer" in error
    definition = tmp_path / "study.yaml"
    definition.write_text(REAL_STUDY.replace("hotpot-dev", "broken"), encoding="utf-8")
    error = refused(site, "create_study", str(definition))
    assert f"{definition}:4: dataset" in error
    error = refused(site, "launch_study", "no-such-study")
    assert "no-such-study" in error
