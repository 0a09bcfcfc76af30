"""The random search: draws, kept runs, the best run, and resuming.

A search that was killed goes on.
"""

import json

import pytest
import torch

from modelserver.__main__ import main
from modelserver.inputs.hotpot import parse_gold
from modelserver.registry import load_system
from modelserver.systems.recurrent import Config
from modelserver.training import hyperparameter_search as module
from modelserver.training.hyperparameter_search import Space, find_best_run, search
from modelserver.training.recurrent import Recipe, Work
from modelserver.wire.errors import UnreadableData
from modelserver.world import generate

RECIPE = Recipe(steps=2, batch=2, rare=2, check_every=1, warm_up=1)


@pytest.fixture(scope="module")
def work():
    torch.set_num_threads(1)
    world = parse_gold(generate("train", 12, 2), "world")
    config = Config("qi2019-reg", word_size=6, character_size=4, character_filters=6, hidden=6)
    return Work(config, RECIPE, world, world[:3], None, torch.device("cpu"), False)


def _rows(out):
    return [json.loads(line) for line in (out / "search.jsonl").read_text().splitlines()]


def _unclocked(rows):
    return [
        {k: v for k, v in {**row, **row["scores"]}.items() if k != "scores" and "seconds" not in k}
        for row in rows
    ]


def _search(work, out, runs, **changes):
    return search(work, out, **{"runs": runs, "seed": 1, "space": Space(), "resume": True} | changes)


def test_every_run_is_a_row_and_the_best_is_kept(work, tmp_path):
    reported: list[dict[str, object]] = []
    best_run = _search(work, tmp_path, 3, report=reported.append)
    rows = _rows(tmp_path)
    assert [row["run"] for row in rows] == [0, 1, 2]
    assert reported == rows
    assert best_run == max(rows, key=lambda row: row["scores"]["loca_inside"])
    assert {path.name for path in tmp_path.iterdir()} == {"search.jsonl", "best"}
    assert load_system("qi2019-reg", weights=tmp_path / "best").name == "qi2019-reg"
    last = json.loads((tmp_path / "best" / "log.jsonl").read_text().splitlines()[-1])
    assert last["seconds"] <= best_run["seconds"]


def test_draws_lie_in_their_ranges_and_depend_on_seed_and_number_alone():
    space = Space(costs=(1.0, 2.0), fact_weights=(4.0, 8.0))
    drawn = [space.draw(RECIPE, 1, number) for number in range(200)]
    costs = [c for r in drawn for c in (r.coupling.c1, r.coupling.c2, r.coupling.c3)]
    assert 1.0 <= min(costs) < 1.05 < 1.95 < max(costs) <= 2.0
    weights = sorted(r.fact_weight for r in drawn)
    assert 4.0 <= weights[0] < weights[-1] <= 8.0
    assert weights[100] == pytest.approx(32**0.5, rel=0.1)  # the middle of a logarithmic scale
    assert 60 < sum(r.coupling.form == "sum" for r in drawn) < 140
    assert drawn[7] == space.draw(RECIPE, 1, 7) != space.draw(RECIPE, 2, 7)
    assert {r.steps for r in drawn} == {RECIPE.steps}


def test_the_share_inside_decides_and_none_is_the_least():
    runs = [{"run": n, "scores": {"loca_inside": share}} for n, share in enumerate((None, 0.4, 0.9, 0.9))]
    assert find_best_run(runs)["run"] == 2
    assert find_best_run(runs[:1])["run"] == 0


def test_a_search_that_was_killed_goes_on(work, tmp_path, monkeypatch):
    whole, again = tmp_path / "whole", tmp_path / "again"
    _search(work, whole, 3)

    def die(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("modelserver.training.loop.curves.draw", die)  # in the first run, at its first check
        with pytest.raises(KeyboardInterrupt):
            _search(work, again, 3)
    assert not (again / "search.jsonl").exists()
    assert (again / "run-0" / "training.safetensors").exists()
    with monkeypatch.context() as patched:
        patched.setattr(module, "_keep_best", die)  # after the row of the first run
        with pytest.raises(KeyboardInterrupt):
            _search(work, again, 3)
    with (again / "search.jsonl").open("a") as file:
        file.write('{"run": 1, "sco')  # a row that was being written
    reported: list[dict[str, object]] = []
    best_run = _search(work, again, 3, report=reported.append)
    assert [row["run"] for row in reported] == [1, 2]
    assert _unclocked(_rows(again)) == _unclocked(_rows(whole))
    best_weights = [(folder / "best" / "model.safetensors").read_bytes() for folder in (whole, again)]
    assert best_weights[0] == best_weights[1]
    assert best_run["run"] == find_best_run(_rows(whole))["run"]


def test_a_search_is_replaced_with_overwrite_alone(work, tmp_path):
    first = _search(work, tmp_path, 2)
    rows = _rows(tmp_path)
    with pytest.raises(UnreadableData, match=r"search\.jsonl: exists already; add --resume"):
        search(work, tmp_path, runs=2, seed=2, space=Space())
    assert _rows(tmp_path) == rows
    second = search(work, tmp_path, runs=1, seed=2, space=Space(), overwrite=True)
    assert _rows(tmp_path) == [second] != [first]
    assert {path.name for path in tmp_path.iterdir()} == {"search.jsonl", "best"}


def test_a_search_that_is_done_trains_nothing(work, tmp_path, monkeypatch):
    first = _search(work, tmp_path, 2)
    monkeypatch.setattr(module, "train", None)
    assert _search(work, tmp_path, 2) == first


@pytest.mark.parametrize(
    "changes, message",
    [({"seed": 2}, "seed"), ({"space": Space(costs=(1, 9))}, "coupling")],
)
def test_rows_of_another_search_are_refused(work, tmp_path, changes, message):
    _search(work, tmp_path, 1)
    with pytest.raises(UnreadableData, match=rf"search\.jsonl: line 1: made with .*{message}"):
        _search(work, tmp_path, 2, **changes)


@pytest.mark.parametrize("line", ["{", "3", "{}"])
def test_damaged_rows_are_named(work, tmp_path, line):
    (tmp_path / "search.jsonl").write_text(f"{line}\n")
    with pytest.raises(UnreadableData, match=r"search\.jsonl: line 1: not a run"):
        _search(work, tmp_path, 1)


def test_the_command_prints_the_best_run(tmp_path, capsys):
    arguments = ["search", "select-and-forget-reg", "--runs", "2", "--out", str(tmp_path / "s")]
    sizes = ["--train", "12", "--dev", "4", "--steps", "2", "--batch", "4", "--hidden", "8", "--threads", "1"]
    assert main([*arguments, *sizes, "--costs", "1", "2"]) == 0
    captured = capsys.readouterr()
    best_run = json.loads(captured.out)
    assert best_run in _rows(tmp_path / "s")
    assert 1 <= best_run["coupling"]["c1"] <= 2
    assert "run 0: c1" in captured.err
    command = [*arguments, *sizes, "--costs", "1", "2"]
    assert main(command) == 1
    assert "search.jsonl: exists already; add --resume" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out) == best_run
    assert main([*command, "--world-seed", "2", "--resume"]) == 1
    assert "made with another data, dev" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [["--runs", "0"], ["--costs", "3", "2"], ["--fact-weights", "0", "2"], ["--steps", "0"]]
)
def test_wrong_arguments_are_bad_usage(tmp_path, wrong):
    assert main(["search", "qi2019-reg", "--out", str(tmp_path / "s"), *wrong]) == 2
    assert not (tmp_path / "s").exists()


def test_a_system_without_costs_has_no_search(tmp_path):
    assert main(["search", "qi2019", "--out", str(tmp_path)]) == 2
