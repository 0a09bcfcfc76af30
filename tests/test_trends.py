"""The benchmark of the papers' trends runs on tiny cells.

Its store goes on after a torn line, and verdicts follow their intervals.
"""

import json
import signal
import statistics
import sys
from itertools import product
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from benchmarks.models import trends
from benchmarks.models.trends import TRENDS, Trend, format_table, judge_trend, list_cells, read_store
from modelserver.training.text_nmn.table import TABLE
from modelserver.training.visual_nmn.splits import SPLITS
from modelserver.training.visual_nmn.table import VARIANTS
from modelserver.wire.errors import UnreadableWeights
from scripts.sites.processes import ROOT

TREND = Trend("X", "a is higher", ("k/a", "f1"), ("k/b", "f1"))


def stored(*pairs):
    """A store in which seed n has the nth pair of scores."""
    store = {}
    for seed, (higher, lower) in enumerate(pairs, start=1):
        store["k/a", seed], store["k/b", seed] = {"f1": higher}, {"f1": lower}
    return store


def test_a_verdict_follows_the_interval_over_seeds():
    result = judge_trend(TREND, stored((0.5, 0.4), (0.6, 0.4), (0.7, 0.4)))
    assert result.difference == pytest.approx(0.2)
    assert result.interval == pytest.approx((0.2 - 4.302653 * 0.1 / 3**0.5, 0.2 + 4.302653 * 0.1 / 3**0.5))
    assert result.verdict == "open"
    assert judge_trend(TREND, stored((0.5, 0.4), (0.51, 0.4))).verdict == "holds"
    assert judge_trend(TREND, stored((0.4, 0.5), (0.4, 0.51))).verdict == "opposite"
    assert judge_trend(TREND, stored((0.9, 0.1))).verdict == "open"
    assert judge_trend(TREND, {}).verdict == "not run"


def test_only_seeds_that_both_cells_have_count():
    store = stored((0.5, 0.4), (0.6, 0.4))
    store["k/a", 3], store["k/b", 2] = {"f1": 9.0}, {"loca": 1.0}
    assert judge_trend(TREND, store).seeds == 1


def test_a_seed_under_which_sizes_were_chosen_does_not_count(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trends, "CHOSEN_UNDER", {"k": 1})
    result = judge_trend(TREND, stored((9.0, 0.4), (0.6, 0.4), (0.7, 0.4)))
    assert result.difference == pytest.approx(0.25)
    assert result.seeds == 2


def test_the_cells_are_systems_that_exist():
    names = list_cells(TRENDS)
    assert len(set(names)) == len(names)
    of = {
        kind: {name.partition("/")[2] for name in names if name.startswith(f"{kind}/")}
        for kind in trends.KINDS
    }
    assert all(of.values())
    assert of["visual"] | of["labels"] | of["longer"] <= set(VARIANTS)
    assert of["visual-split"] <= {f"{split}/{variant}" for split, variant in product(SPLITS, VARIANTS)}
    assert of["text"] | of["text-split"] <= set(TABLE)
    assert list_cells(TRENDS, ["visual/graph", "text"]) == [
        name for name in names if name == "visual/graph" or name.startswith("text/")
    ]


def test_the_docs_show_the_table_of_what_has_run() -> None:
    store = read_store(ROOT / "benchmarks/models/trends.jsonl")
    assert {name for name, _seed in store} <= set(list_cells(TRENDS))
    assert format_table(TRENDS, store) in (ROOT / "docs/how-to/reproduce.md").read_text(encoding="utf-8")


def test_three_seeds_take_about_fifteen_hours_of_one_core() -> None:
    """By the median seconds of each cell that has run, as the docs say."""
    lines = map(json.loads, (ROOT / "benchmarks/models/trends.jsonl").read_text().splitlines())
    seconds: dict[str, list[float]] = {}
    for line in lines:
        seconds.setdefault(line["cell"], []).append(line["seconds"])
    hours = sum(
        statistics.median(seconds[name]) / 3600
        for name in set(list_cells(TRENDS)) & set(seconds)
        for seed in (1, 2, 3)
        if trends.CHOSEN_UNDER.get(name.partition("/")[0]) != seed
    )
    assert 14 < hours < 16


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["trends", *map(str, words)])
    return trends.main()


TINY_CELLS = {
    "heuristics/overlap": {"f1"},
    "visual-split/length/layer-decont": {"accuracy seen", "accuracy unseen"},
    "text-split/programs": {"f1", "loss"},
    "visual/graph": {"accuracy", "faithfulness"},
    "reasons/small": {"f1", "f1_in", "f1_out", "alignment occlusion", "alignment occlusion out"},
}


@pytest.mark.parametrize(
    "cell",
    [pytest.param(cell, marks=[pytest.mark.soak] if "visual-split" in cell else []) for cell in TINY_CELLS],
)
def test_a_tiny_cell_is_trained_once(
    cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    store = tmp_path / "trends.jsonl"
    seed = 2 if cell.partition("/")[0] in trends.CHOSEN_UNDER else 1  # a seed of a choice does not run
    command = ["--tiny", "--seeds", seed, "--only", cell, "--store", store, "--work", tmp_path / "work"]
    assert run(monkeypatch, *command) == 0
    row = json.loads(store.read_text())
    assert (row["cell"], row["seed"], row["tiny"]) == (cell, seed, True)
    assert set(row["scores"]) >= TINY_CELLS[cell]
    assert f"| {cell} | 1 |" in capsys.readouterr().out
    monkeypatch.setattr(trends, "run_cell", lambda *_: pytest.fail("it was trained again"))
    assert run(monkeypatch, *command) == 0
    assert read_store(store) == {}  # tiny cells are no results


@pytest.mark.parametrize("kind", sorted(trends.KINDS.keys() - {"heuristics"}))
def test_every_command_of_a_cell_gets_the_device(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls: list[list[str]] = []
    monkeypatch.setattr("benchmarks.models._trend_cells.modelserver", calls.append)  # it leaves no results
    monkeypatch.setattr(trends, "CHOSEN_UNDER", {})
    options = ["--tiny", "--seeds", 1, "--only", kind, "--store", tmp_path / "trends.jsonl"]
    with pytest.raises((FileNotFoundError, UnreadableWeights)):
        run(monkeypatch, *options, "--work", tmp_path / "work", "--device", "cuda:1")
    commands = {"readers": ["train", "evaluate"], "reasons": ["train", "train"]}
    assert [words[0] for words in calls] == commands.get(kind, [calls[0][0]])
    assert all(words[words.index("--device") + 1] == "cuda:1" for words in calls)


def test_a_network_without_attention_is_trained_on_further_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = tmp_path / "trends.jsonl"
    command = ["--tiny", "--seeds", 2, "--only", "labels/sum-decont", "--store", store]
    assert run(monkeypatch, *command, "--work", tmp_path / "work") == 0
    assert {"accuracy", "faithfulness"} <= set(json.loads(store.read_text())["scores"])
    assert (tmp_path / "work/tiny/scenes/train.further-1-12x1.jsonl").exists()


def test_a_store_goes_on_after_a_torn_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    store = tmp_path / "trends.jsonl"
    row = {"cell": "text/answers", "seed": 1, "tiny": False, "seconds": 1, "scores": {"f1": 0.5, "loss": 2.0}}
    store.write_text(json.dumps(row) + '\n{"cell": "text/ans')
    cells: list[tuple[str, int]] = []

    def scored(name: str, seed: int, *_rest: object) -> trends.Scores:
        cells.append((name, seed))
        return {"f1": 0.25}

    monkeypatch.setattr(trends, "run_cell", scored)
    command = ["--only", "text/answers", "text/answers-without-extract", "--seeds", 2, "--store", store]
    assert run(monkeypatch, *command) == 0
    assert cells == [
        ("text/answers-without-extract", 1), ("text/answers", 2), ("text/answers-without-extract", 2)
    ]  # fmt: skip
    assert len(read_store(store)) == 4
    assert "| N20 | without extract-answer: lower F1 | +0.125 (" in capsys.readouterr().out
    assert run(monkeypatch, *command, "--seeds", 3, "--minutes", 0) == 0
    assert len(cells) == 3
    with pytest.raises(SystemExit):
        run(monkeypatch, "--only", "nothing", "--store", store)


def test_cells_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store, cells = tmp_path / "trends.jsonl", ["heuristics/overlap", "heuristics/lcs"]
    command = ["--tiny", "--seeds", 1, "--only", *cells, "--store", store, "--work", tmp_path / "work"]
    assert run(monkeypatch, *command, "--processes", 2, "--minutes", 0) == 0
    assert not read_store(store, tiny=True)
    assert run(monkeypatch, *command, "--processes", 2) == 0
    rows = [json.loads(line) for line in store.read_text().splitlines()]
    assert {row["cell"] for row in rows} == set(cells)
    monkeypatch.setattr(trends, "run_cell", lambda *_: pytest.fail("it ran again"))
    assert run(monkeypatch, *command) == 0
    with pytest.raises(SystemExit):
        run(monkeypatch, *command, "--processes", 0)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_what_ends_the_command_ends_its_processes(stop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    processes: list[BaseProcess] = []

    def interrupt(running: list[BaseProcess]) -> None:
        processes.extend(running)
        raise stop

    monkeypatch.setattr(trends, "_wait_for_one", interrupt)
    command = ["--tiny", "--processes", 2, "--only", "heuristics", "--store", tmp_path / "trends.jsonl"]
    with pytest.raises(stop):
        run(monkeypatch, *command, "--work", tmp_path / "work")
    assert len(processes) == 2
    for process in processes:
        process.join(timeout=30)
        assert process.exitcode == -signal.SIGTERM


def test_the_table_names_what_was_not_run():
    assert format_table([TREND], {}).splitlines()[-1] == "| X | a is higher | – | 0 | not run |"
