"""Training of visual-nmn and lxmert: pretraining, resuming, commands and the table."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from modelserver.__main__ import main
from modelserver.modular.visual import folder
from modelserver.modular.visual.network import Config, Question
from modelserver.modular.visual.plans import plan
from modelserver.modular.visual.region_files import read_regions
from modelserver.modular.visual.scene_data import read_items
from modelserver.modular.visual.utterances import attend
from modelserver.registry import load_modular_system
from modelserver.training.loop import STATE, train
from modelserver.training.visual_nmn.trainer import Recipe, Trainer
from modelserver.wire.errors import UnreadableData

CPU = torch.device("cpu")
CLOCKS = ("seconds", "processor_seconds")


def unclocked(row):
    return {name: value for name, value in row.items() if name not in CLOCKS}


class Killed(Exception):
    pass


def test_a_killed_training_goes_on_as_if_nothing_had_happened(visual_network, statements, tmp_path):
    recipe = Recipe(pretraining=1, steps=2, batch=4, check_every=1)

    def trainer():
        network = visual_network().train()
        return Trainer(network, Config("visual-nmn"), recipe, statements, statements)

    def kill(row):
        if row["step"] == 2:
            raise Killed

    whole = train(trainer(), statements[:3], tmp_path / "whole")
    with pytest.raises(Killed):
        train(trainer(), statements[:3], tmp_path / "killed", report=kill)
    assert (tmp_path / "killed" / STATE).exists()
    with pytest.raises(UnreadableData, match="--resume"):
        train(trainer(), statements[:3], tmp_path / "killed")
    assert unclocked(train(trainer(), statements[:3], tmp_path / "killed", resume=True)) == unclocked(whole)
    logs = [
        [unclocked(json.loads(line)) for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]
        for name in ("whole", "killed")
    ]
    assert logs[0] == logs[1]
    assert not (tmp_path / "killed" / STATE).exists()
    assert [row["step"] for row in logs[0]] == [1, 2, 3]
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "killed")]
    assert weights[0] == weights[1]


def test_equal_subtrees_count_once_in_the_loss_of_boxes(visual_network, statements):
    laid_out = plan("greater(count(find[star]), count(find[star]))")
    example = statements[0]
    gold = next(iter(each for each in example.gold.values()))
    asked = Question(laid_out, attend(laid_out, "There are more stars than stars."))
    losses = []
    for number, nodes in enumerate([(2,), (2, 4), (4,)]):
        given = replace(example, id=str(number), question=asked, gold=dict.fromkeys(nodes, gold))
        trainer = Trainer(visual_network(), Config("visual-nmn"), Recipe(), [given], [given])
        losses.append(trainer._loss([given], supervised=True).item())
    assert losses[0] == losses[1] == losses[2] > 0


def test_killed_before_the_best_weights_were_written_it_writes_them_when_it_goes_on(
    visual_network, statements, tmp_path, monkeypatch
):
    recipe = Recipe(pretraining=1, steps=1, batch=4, check_every=1)

    def trainer():
        return Trainer(visual_network().train(), Config("visual-nmn"), recipe, statements, statements)

    def dies(*_):
        raise Killed

    whole = train(trainer(), statements[:3], tmp_path / "whole")
    with monkeypatch.context() as patched:
        patched.setattr(folder, "save", dies)
        with pytest.raises(Killed):
            train(trainer(), statements[:3], tmp_path / "killed")
    assert unclocked(train(trainer(), statements[:3], tmp_path / "killed", resume=True)) == unclocked(whole)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "killed")]
    assert weights[0] == weights[1]


def test_pretraining_teaches_find_its_gold_boxes(visual_network, statements, tmp_path):
    network = visual_network().train()
    trainer = Trainer(
        network, Config("visual-nmn"), Recipe(pretraining=10, steps=1, batch=4, warm_up=1), (), statements
    )
    losses = [trainer.step() for _ in range(10)]
    assert min(losses[5:]) < 0.8 * losses[0]
    modules = {module for each in trainer.supervised for module in each.modules}
    assert "with-relation" not in modules
    assert "in-each-image" not in modules


def test_the_commands_train_and_make_a_table(tmp_path, capsys):
    sizes = [
        "--train",
        "12",
        "--dev",
        "4",
        "--test",
        "4",
        "--pretraining-scenes",
        "8",
        "--steps",
        "2",
        "--pretraining-steps",
        "1",
        "--batch",
        "4",
    ]
    common = [*sizes, "--check-every", "1", "--hidden", "16", "--scenes", str(tmp_path / "scenes")]
    assert main(["train", "lxmert", "--out", str(tmp_path / "lxmert"), *common]) == 0
    assert load_modular_system("lxmert", weights=tmp_path / "lxmert").name == "lxmert"
    table = [
        "visual-table",
        "--out",
        str(tmp_path / "table"),
        "--variants",
        "layer",
        "graph-decont-pretraining",
    ]
    assert main([*table, *common]) == 0
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(rows) == 5
    assert "upper bound" in rows[2]
    found = json.loads((tmp_path / "table" / "table.json").read_text())
    assert set(found) == {"layer", "graph-decont-pretraining"}
    assert found["layer"]["n"] == 4
    before = (tmp_path / "table" / "layer" / "log.jsonl").stat().st_mtime_ns
    assert main([*table, *common]) == 0  # what has ended is not trained again
    assert (tmp_path / "table" / "layer" / "log.jsonl").stat().st_mtime_ns == before


def test_items_with_regions_of_a_detector_are_trained_on_from_a_pretrained_encoder(tmp_path):
    """A folder of transformers, regions by the images' names, and items without gold."""
    encoder, tokenizer = folder.new_encoder(["Two dogs are black."], hidden=16, features=24)
    encoder.save_pretrained(tmp_path / "lxmert")
    tokenizer.save_pretrained(tmp_path / "lxmert")
    rng = np.random.default_rng(1)
    (tmp_path / "regions").mkdir()
    rows = []
    for number in range(4):
        for side in "ab":
            np.savez(
                tmp_path / "regions" / f"{number}{side}.npz",
                boxes=[[0.1, 0.1, 0.5, 0.5], [0.4, 0.2, 0.9, 1.0]],
                features=rng.random((2, 24), np.float32),
            )
        images = [{"name": f"images/{number}{side}.png"} for side in "ab"]
        program = "equal(count(filter[black](find[dogs])), 2)"
        rows.append(
            {"external_id": str(number), "text": "Two dogs are black.", "program": program,
             "images": images, "answer": number % 2 == 0}
        )  # fmt: skip
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "out"
    given = [
        "train",
        "visual-nmn",
        "--out",
        str(out),
        "--train-file",
        str(items),
        "--steps",
        "2",
        "--batch",
        "2",
    ]
    assert main(given) == 1  # without regions
    given += ["--regions", str(tmp_path / "regions"), "--encoder", str(tmp_path / "lxmert")]
    assert main(given) == 0
    network, config, _ = folder.load(out, CPU)
    assert network.encoder.config.visual_feat_dim == 24
    assert config.decontextualised
    rows[1]["answer"] = "maybe"
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UnreadableData, match=r"items\.jsonl, line 2: answer"):
        read_items(items, read_regions(tmp_path / "regions"))
    with pytest.raises(UnreadableData, match="no region features"):
        read_items(items, {})
