"""Training: labels, batches and schedule.

A small run learns, repeats exactly, and refuses bad data.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from modelserver.__main__ import main
from modelserver.inputs.features import NO_FACT, Vocabulary, featurise
from modelserver.inputs.hotpot import GoldExample, parse_gold, read_gold
from modelserver.registry import load_system
from modelserver.systems.batches import collate
from modelserver.systems.recurrent import Config, build
from modelserver.training.coupling_loss import Coupling
from modelserver.training.loop import STATE, train
from modelserver.training.recurrent import Recipe, Trainer, compute_pace
from modelserver.training.recurrent_loss import IGNORED, compute_loss, draw_batches, label
from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import QAItem
from modelserver.world import generate, write_split
from tests.analysis.data import real_data

SMALL = Config("qi2019", word_size=12, character_size=4, character_filters=8, hidden=12, dropout=0.0)
ENTRY = {
    "_id": "q",
    "question": "Where was Ada born?",
    "answer": "Elsk",
    "supporting_facts": [["Ada", 1]],
    "context": [["Ada", ["Elsk is far.", " Ada was born in Elsk."]]],
}


def _gold(**changes):
    return GoldExample.model_validate({**ENTRY, **changes})


def _label(gold):
    return label(gold, featurise(gold.item, Vocabulary(())))


@pytest.fixture(scope="module")
def world():
    return parse_gold(generate("train", 24, 2), "world")


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def test_a_small_run_learns_its_examples(world, tmp_path):
    recipe = Recipe(steps=60, batch=8, warm_up=5, rare=2, check_every=30, rate=1e-2)
    trainer = Trainer(SMALL, recipe, world)
    before = np.mean([trainer.step() for _ in range(3)])
    best = train(trainer, world[:8], tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert rows[-1]["loss"] < 0.7 * before
    assert {"step", "loss", "seconds", "processor_seconds", "em", "sp_f1", "joint_f1", "loca"} <= set(rows[0])
    assert best["joint_f1"] == max(row["joint_f1"] for row in rows)


def test_a_run_repeats_exactly(world):
    def losses():
        trainer = Trainer(Config("select-and-forget", hidden=8), Recipe(batch=4, rare=2, warm_up=2), world)
        return [trainer.step() for _ in range(4)]

    assert losses() == losses()


def test_training_ends_when_dev_stops_improving(world, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "modelserver.training.recurrent.compute_scores", lambda gold, predictions: {"joint_f1": 0.5}
    )
    recipe = Recipe(steps=50, batch=2, rare=2, check_every=2, patience=2)
    steps: list[int] = []
    train(Trainer(SMALL, recipe, world), world[:2], tmp_path, advance=steps.append)
    assert sum(steps) == 6  # the best at the first check, then two without a better one


def test_a_step_in_mixed_precision_learns_the_same_thing(world):
    def losses(mixed):
        trainer = Trainer(SMALL, Recipe(batch=4, rare=2, warm_up=2), world, mixed=mixed)
        values = [trainer.step() for _ in range(4)]
        assert all(p.dtype == torch.float32 for p in trainer.model.parameters())
        return values

    full, mixed = losses(False), losses(True)
    assert full != mixed
    assert mixed == pytest.approx(full, rel=0.02)


def test_the_curves_are_drawn_at_each_check(world, tmp_path):
    drawn = []
    trainer = Trainer(SMALL, Recipe(steps=4, batch=2, rare=2, check_every=2), world)
    train(
        trainer,
        world[:2],
        tmp_path,
        report=lambda row: drawn.append((tmp_path / "curves.svg").read_text(encoding="utf-8")),
    )
    assert len(set(drawn)) == 2
    assert ElementTree.fromstring(drawn[-1]).tag.endswith("svg")  # noqa: S314 - our own file
    assert not list(tmp_path.glob("*.part"))


# --- taking up again


TINY = Recipe(steps=6, batch=2, rare=2, check_every=2, warm_up=2)


class Killed(Exception):
    pass


def _killed(trainer, world, out, monkeypatch, *, at):
    """Train until the call of ``at`` raises what stands for a kill."""

    def die(*arguments, **keywords):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(at, die)
        with pytest.raises(Killed):
            train(trainer, world[:4], out)


def _files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".svg"} | {
        "log.jsonl": [
            {k: v for k, v in json.loads(line).items() if "seconds" not in k}
            for line in (folder / "log.jsonl").read_text().splitlines()
        ]
    }


@pytest.mark.parametrize(
    "at", ["modelserver.training.loop.curves.draw", "modelserver.training.recurrent.reader.save"]
)
def test_a_training_goes_on_from_any_part_of_a_check(world, tmp_path, monkeypatch, at):
    config = Config("select-and-forget-reg", hidden=8)
    train(Trainer(config, TINY, world), world[:4], tmp_path / "whole")
    _killed(Trainer(config, TINY, world), world, tmp_path / "again", monkeypatch, at=at)
    assert (tmp_path / "again" / STATE).exists()
    done: list[int] = []
    train(Trainer(config, TINY, world), world[:4], tmp_path / "again", resume=True, advance=done.append)
    assert done == [2, 1, 1, 1, 1]
    assert _files(tmp_path / "again") == _files(tmp_path / "whole")


def test_an_unfinished_training_is_not_overwritten(world, tmp_path, monkeypatch):
    _killed(
        Trainer(SMALL, TINY, world),
        world,
        tmp_path,
        monkeypatch,
        at="modelserver.training.loop.curves.draw",
    )
    with pytest.raises(UnreadableData, match="unfinished training; add --resume"):
        train(Trainer(SMALL, TINY, world), world[:4], tmp_path)


def test_a_training_does_not_go_on_under_other_settings(world, tmp_path, monkeypatch):
    _killed(
        Trainer(SMALL, TINY, world),
        world,
        tmp_path,
        monkeypatch,
        at="modelserver.training.loop.curves.draw",
    )
    other = Recipe(**{**vars(TINY), "batch": 4})
    with pytest.raises(UnreadableData, match=r"begun with another batch;"):
        train(Trainer(SMALL, other, world), world[:4], tmp_path, resume=True)
    with pytest.raises(UnreadableData, match=r"begun with another data;"):
        train(Trainer(SMALL, TINY, world[:-1]), world[:4], tmp_path, resume=True)


def test_a_damaged_state_is_named(world, tmp_path):
    (tmp_path / STATE).write_bytes(b"no state")
    with pytest.raises(UnreadableData, match=rf"{STATE}: not the state of a training"):
        train(Trainer(SMALL, TINY, world), world[:4], tmp_path, resume=True)


def test_a_finished_training_is_left_alone(world, tmp_path):
    best = train(Trainer(SMALL, TINY, world), world[:4], tmp_path)
    before = _files(tmp_path)
    assert train(Trainer(SMALL, TINY, world), world[:4], tmp_path, resume=True) == best
    assert _files(tmp_path) == before


def test_a_killed_process_is_taken_up_and_ends_with_the_same_weights(tmp_path, capsys):
    arguments = ["train", "qi2019-reg", "--train", "40", "--dev", "4", "--hidden", "8", "--batch", "2"]
    arguments += ["--steps", "60", "--check-every", "20", "--patience", "99", "--threads", "1", "--out"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(
        [sys.executable, "-m", "modelserver", *arguments, str(killed)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 120
    while not (killed / "curves.svg").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert (killed / STATE).exists()
    assert main([*arguments, str(killed), "--resume"]) == 0
    went_on = capsys.readouterr().out.splitlines()
    assert main([*arguments, str(whole)]) == 0
    assert 0 < len(went_on) < len(capsys.readouterr().out.splitlines()) == 3
    assert _files(killed) == _files(whole)


def test_the_best_checkpoint_is_kept(world, tmp_path, monkeypatch):
    scored = itertools.count()
    values = [0.2, 0.6, 0.1]
    monkeypatch.setattr(
        "modelserver.training.recurrent.compute_scores",
        lambda gold, predictions: {"joint_f1": values[next(scored)]},
    )
    trainer = Trainer(SMALL, Recipe(steps=6, batch=2, rare=2, check_every=2), world)
    saved: list[Path] = []
    monkeypatch.setattr(trainer, "save", saved.append)
    assert train(trainer, world[:2], tmp_path)["step"] == 4
    assert saved == [tmp_path, tmp_path]


def test_labels_point_to_the_gold_fact():
    example = _label(_gold())
    assert example.features.fact[example.start] == 1
    assert example.start == example.end
    assert example.type == 0
    assert example.facts.tolist() == [False, True]


@pytest.mark.parametrize("system", ["select-and-forget", "select-and-forget-reg"])
def test_an_answer_in_a_title_alone_teaches_facts_alone(system):
    gold = _gold(context=[["Elsk", ["Far."]], ["Ada", ["It is.", " She was born."]]])
    examples = [_label(gold)]
    assert examples[0].features.fact[examples[0].start] == NO_FACT
    batch = collate([examples[0].features], torch.device("cpu"))
    outputs = build(Config(system, hidden=8, dropout=0.0), 2)(batch, torch.from_numpy(examples[0].facts))
    coupling = Coupling() if system.endswith("-reg") else None
    loss = compute_loss(outputs, examples, batch, 1.0, coupling)
    loss.backward()
    assert 0 < loss.item() < 100


@pytest.mark.parametrize("answer, kind", [("yes", 1), ("no", 2)])
def test_yes_and_no_have_no_span(answer, kind):
    example = _label(_gold(answer=answer))
    assert (example.start, example.end, example.type) == (IGNORED, IGNORED, kind)


def test_an_answer_that_is_not_in_the_context_is_left_out():
    assert _label(_gold(answer="Mars")) is None


def test_a_batch_without_spans_has_a_finite_loss():
    examples = [_label(_gold(answer=answer)) for answer in ("yes", "no")]
    batch = collate([example.features for example in examples], torch.device("cpu"))
    loss = compute_loss(build(SMALL, 2)(batch), examples, batch, 1.0)
    assert torch.isfinite(loss)


def test_every_example_comes_once_a_pass():
    short = featurise(QAItem(id="q", question="Who?", context=[("A", ["b"])]), Vocabulary(()))
    examples = [_label(_gold(question=f"Where was Ada {'x ' * i}born?")) for i in range(23)]
    assert len(short) > 0
    first_pass = list(itertools.islice(draw_batches(examples, 4, np.random.default_rng(1)), 6))
    assert sorted(id(e) for batch in first_pass for e in batch) == sorted(map(id, examples))
    spreads = [
        max(map(len, (e.features for e in b))) - min(map(len, (e.features for e in b))) for b in first_pass
    ]
    assert max(spreads) <= 4  # like lengths together


def test_the_rate_rises_then_falls():
    recipe = Recipe(steps=100, warm_up=10)
    rates = [compute_pace(step, recipe) for step in range(101)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == pytest.approx(1.0)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(0.02)


def test_by_default_the_rate_rises_for_60_steps_and_falls_along_a_cosine():
    trainer = Trainer(SMALL, Recipe(steps=62, batch=1, rare=1), [_gold()])
    rates = []
    for _ in range(62):
        trainer.step()
        rates += [group["lr"] for group in trainer.optimiser.param_groups]
    shares = [*(step / 60 for step in range(1, 61)), 1, 0.51]
    assert rates == pytest.approx([3e-3 * share for share in shares])


def test_data_without_a_single_answer_is_refused():
    with pytest.raises(UnreadableData, match="not one answer"):
        Trainer(SMALL, Recipe(rare=1), [_gold(answer="Mars")])


# --- the command and its data


def test_the_command_trains_on_a_world(tmp_path, capsys):
    arguments = ["train", "select-and-forget", "--out", str(tmp_path / "w"), "--train", "12", "--dev", "4"]
    assert main([*arguments, "--steps", "4", "--check-every", "2", "--batch", "4", "--hidden", "8"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["step"] for row in printed] == [2, 4]
    files = {path.name for path in (tmp_path / "w").iterdir()}
    results = {"settings.json", "log.jsonl", "curves.svg"}
    assert files == {"model.safetensors", "config.json", "vocab.json"} | results
    system = load_system("select-and-forget", weights=tmp_path / "w")
    assert system.predict([parse_gold(generate("dev", 1, 1), "w")[0].item])[0].threshold == 0.33


def test_rate_warm_up_and_schedule_are_options(tmp_path):
    arguments = ["train", "qi2019", "--out", str(tmp_path), "--train", "12", "--dev", "4", "--hidden", "8"]
    learning = ["--learning-rate", "1e-3", "--warm-up", "2", "--schedule", "linear-to-zero"]
    assert main([*arguments, *learning, "--steps", "1", "--batch", "4"]) == 0
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert [settings[name] for name in ("rate", "warm_up", "schedule")] == [1e-3, 2, "linear-to-zero"]


def test_the_command_trains_on_a_file(tmp_path, capsys):
    write_split(tmp_path / "data.json", "train", 40, 2)
    arguments = ["train", "qi2019", "--out", str(tmp_path / "w"), "--train-file", str(tmp_path / "data.json")]
    assert main([*arguments, "--steps", "2", "--check-every", "2", "--batch", "4", "--hidden", "8"]) == 0
    assert "38 of 38 examples" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["qi2019", "select-and-forget", "qi2019-reg", "select-and-forget-reg"])
def test_the_command_trains_on_real_questions(name, tmp_path, capsys):
    entries = json.loads(real_data("hotpot/hotpot_train_sample.json").read_text(encoding="utf-8"))
    (tmp_path / "data.json").write_text(json.dumps(entries[:24]), encoding="utf-8")
    arguments = ["train", name, "--out", str(tmp_path / "w"), "--train-file", str(tmp_path / "data.json")]
    sizes = ["--steps", "3", "--check-every", "3", "--batch", "2", "--hidden", "8", "--threads", "1"]
    assert main([*arguments, *sizes]) == 0
    row = json.loads(capsys.readouterr().out)
    assert 0 < row["loss"] < 100  # also where an answer stands in a title, which is never selected
    system = load_system(name, weights=tmp_path / "w")
    item = parse_gold(entries[30:31], "sample")[0].item
    prediction = system.predict([item])[0]
    assert len(prediction.fact_probabilities) == sum(len(sentences) for _, sentences in item.context)


def test_too_little_data_is_refused(tmp_path, capsys):
    write_split(tmp_path / "data.json", "train", 3, 2)
    assert main(["train", "qi2019", "--out", str(tmp_path), "--train-file", str(tmp_path / "data.json")]) == 1
    assert "at least 20" in capsys.readouterr().err


def test_the_costs_of_the_coupling_are_arguments(tmp_path):
    arguments = ["train", "qi2019-reg", "--out", str(tmp_path / "w"), "--train", "12", "--dev", "4"]
    sizes = ["--steps", "1", "--batch", "4", "--hidden", "8", "--threads", "1"]

    def trained(*costs):
        assert main([*arguments, *sizes, *costs, "--overwrite"]) == 0
        return json.loads((tmp_path / "w" / "log.jsonl").read_text().splitlines()[-1])["loss"]

    losses = [trained(), trained("--c1", "9"), trained("--c3", "9"), trained("--fact-weight", "0")]
    assert len({*losses, trained("--c2", "9", "--explanation", "product")}) == 5


def test_costs_of_a_system_that_has_none_are_bad_usage(tmp_path):
    assert main(["train", "qi2019", "--out", str(tmp_path), "--c1", "9"]) == 2


@pytest.mark.parametrize("device", ["tpu9", "cuda"])
def test_a_device_that_is_not_here_is_bad_usage(tmp_path, capsys, device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["train", "qi2019", "--out", str(tmp_path), "--device", device]) == 2
    assert "--device" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--steps", "--train", "--threads"])
def test_sizes_below_one_are_bad_usage(tmp_path, capsys, flag):
    assert main(["train", "qi2019", "--out", str(tmp_path / "w"), flag, "0"]) == 2
    assert flag in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    "content, message",
    [
        ("[", "not JSON"),
        ("{}", "expected a list"),
        ("[]", "at least one entry"),
        (json.dumps([ENTRY, {**ENTRY, "answer": 3}]), "entry 2: answer"),
        (json.dumps([{k: v for k, v in ENTRY.items() if k != "_id"}]), "entry 1: _id"),
        (json.dumps([{**ENTRY, "supporting_facts": [["Ada", -1]]}]), r"entry 1: supporting_facts\.0\.1"),
        (json.dumps([{**ENTRY, "context": [["Ada", "text"]]}]), r"entry 1: context\.0\.1"),
        (json.dumps([3]), "entry 1: entry"),
    ],
)
def test_malformed_data_names_file_entry_and_field(tmp_path, content, message):
    path = tmp_path / "data.json"
    path.write_text(content)
    with pytest.raises(UnreadableData, match=message) as caught:
        read_gold(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path, capsys):
    assert main(["train", "qi2019", "--out", str(tmp_path), "--train-file", str(tmp_path / "none.json")]) == 1
    assert "none.json" in capsys.readouterr().err
