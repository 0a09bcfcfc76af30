"""The rules of the training loop that hold for every trainer."""

import json
import math
import re

import pytest
import torch

from modelserver.__main__ import main
from modelserver.training.loop import LOG, SETTINGS, STATE, compute_schedule_pace, make_room
from modelserver.wire.errors import UnreadableData
from modelserver.world import write_split

TINY = {
    "qi2019": "--train 12 --dev 2 --steps 1 --check-every 1 --batch 2 --hidden 8 --threads 1",
    "extractive-qa": "--encoder new:16x1 --format hotpotqa --steps 1 --batch 2 --vocabulary-size 300",
    "masked-lm": "--encoder new:16x1 --format hotpotqa --steps 1 --batch 2 --vocabulary-size 300",
    "heuristic": "--train 40 --dev 20 --word-epochs 1 --encoder-epochs 1",
    "visual-nmn": "--train 6 --dev 2 --test 2 --pretraining-scenes 4 --steps 1 --pretraining-steps 1",
    "text-nmn": "--train 4 --dev 1 --encoder new:32x1 --steps 1 --batch 2 --width 16 --check-every 1",
}


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_split(folder / "train.json", "train", 24, 5)
    return folder


def weights(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("system", TINY)
def test_a_finished_folder_is_replaced_with_overwrite_alone(system, data_folder, tmp_path, capsys):
    torch.set_num_threads(1)
    out = tmp_path / "out"
    arguments = ["train", system, "--out", str(out), *TINY[system].split()]
    if system in ("extractive-qa", "masked-lm"):
        arguments += ["--train-file", str(data_folder / "train.json")]
    if system == "visual-nmn":
        arguments += ["--scenes", str(data_folder / "scenes")]
    assert main([*arguments, "--seed", "1"]) == 0
    first = weights(out)
    assert {"config.json", LOG, SETTINGS, "curves.svg"} <= set(first)
    assert STATE not in first
    capsys.readouterr()
    assert main([*arguments, "--seed", "2"]) == 1
    message = f"error: {out}: holds a model already; name another folder, or add --overwrite to replace it\n"
    assert capsys.readouterr() == ("", message)
    assert main([*arguments, "--seed", "2", "--resume"]) == 1
    assert re.search(
        rf"{SETTINGS}: .* begun with another .*\bseed\b.*; use the same", capsys.readouterr().err
    )
    assert main([*arguments, "--seed", "1", "--resume"]) == 0
    assert weights(out) == first
    assert main([*arguments, "--seed", "2", "--overwrite"]) == 0
    second = weights(out)
    assert set(second) == set(first)
    changed = {name for name in first if name.endswith("safetensors") and first[name] != second[name]}
    assert changed


@pytest.mark.parametrize(
    "schedule, falls",
    [
        ("linear", [0.82, 0.64, 0.46, 0.28]),  # towards a tenth after the last step
        ("linear-to-zero", [1, 0.75, 0.5, 0.25]),
        ("cosine", [1, 0.02 + 0.98 * (2 + 2**0.5) / 4, 0.51, 0.02 + 0.98 * (2 - 2**0.5) / 4]),
        ("constant", [1, 1, 1, 1]),
    ],
)
def test_a_rate_rises_in_the_warm_up_and_falls_by_its_schedule(schedule, falls):
    paces = [compute_schedule_pace(step, schedule, 1, 5) for step in range(1, 5)]
    assert paces == pytest.approx(falls)
    assert compute_schedule_pace(0, schedule, 1, 5) == 1
    assert compute_schedule_pace(0, schedule, 0, 5) == 1  # without a warm-up
    rising = [compute_schedule_pace(step, schedule, 4, 1000) for step in range(4)]
    assert rising == pytest.approx([0.25, 0.5, 0.75, 1], rel=3e-3)


def test_resume_and_overwrite_exclude_each_other(tmp_path, capsys):
    assert main(["train", "qi2019", "--out", str(tmp_path), "--resume", "--overwrite"]) == 2
    assert "--resume, --overwrite" in capsys.readouterr().err


def test_overwrite_starts_an_interrupted_run_again_and_keeps_other_files(tmp_path):
    for name in (STATE, LOG, "config.json", "notes.txt"):
        (tmp_path / name).write_text("x")
    with pytest.raises(UnreadableData, match="add --resume, or --overwrite"):
        make_room(tmp_path)
    make_room(tmp_path, overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "notes.txt"}


def test_a_folder_of_weights_without_a_log_is_not_resumed(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({}))
    with pytest.raises(UnreadableData, match="holds a model already"):
        make_room(tmp_path, resume=True)


def test_a_loss_that_is_no_number_ends_the_training(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("modelserver.training.text_nmn.trainer.Trainer.step", lambda trainer: math.nan)
    assert main(["train", "text-nmn", "--out", str(tmp_path / "out"), *TINY["text-nmn"].split()]) == 1
    assert capsys.readouterr().err.endswith("the loss is nan; train with a lower learning rate\n")


@pytest.mark.parametrize("name", [SETTINGS, LOG])
@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_damaged_files_of_a_finished_training_are_one_sentence(name, text, data_folder, tmp_path, capsys):
    arguments = ["train", "extractive-qa", "--out", str(tmp_path), *TINY["extractive-qa"].split()]
    arguments += ["--train-file", str(data_folder / "train.json")]
    assert main(arguments) == 0
    (tmp_path / name).write_text(text)
    capsys.readouterr()
    assert main([*arguments, "--resume"]) == 1
    *before, message = capsys.readouterr().err.splitlines()
    assert message.startswith(f"error: {tmp_path}")
    assert "Traceback (most recent call last):" not in before
