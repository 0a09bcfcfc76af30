"""Training of visual-nmn and lxmert.

The tests check pretraining, resuming, commands and the table.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from modelserver.__main__ import main
from modelserver.modular.visual import folder
from modelserver.modular.visual.counting import VARIANCE
from modelserver.modular.visual.network import Config, Question
from modelserver.modular.visual.plans import plan_program
from modelserver.modular.visual.region_files import read_regions
from modelserver.modular.visual.regions import Regions
from modelserver.modular.visual.scene_data import Example, read_items
from modelserver.modular.visual.utterances import attend
from modelserver.registry import load_modular_system
from modelserver.training.loop import STATE, train
from modelserver.training.visual_nmn.trainer import Recipe, Trainer, count_word_modules
from modelserver.wire.errors import UnreadableData, UnreadableWeights

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
    laid_out = plan_program("greater(count(find[star]), count(find[star]))")
    example = statements[0]
    gold = next(iter(boxes for boxes in example.gold.values()))
    question = Question(laid_out, attend(laid_out, "There are more stars than stars."))
    losses = []
    for number, nodes in enumerate([(2,), (2, 4), (4,)]):
        variant = replace(example, id=str(number), question=question, gold=dict.fromkeys(nodes, gold))
        trainer = Trainer(visual_network(), Config("visual-nmn"), Recipe(), [variant], [variant])
        losses.append(trainer._loss([variant], supervised=True).item())
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
    modules = {module for statement in trainer.supervised for module in statement.modules}
    assert "with-relation" not in modules
    assert "in-each-image" not in modules


def coloured(number):
    """Return a statement about one colour, and two images.

    Each image has two regions whose features are their colours.
    """
    rng = np.random.default_rng(number)
    colours, colour = rng.integers(4, size=(2, 2)), int(rng.integers(4))
    boxes = np.array([[0.1, 0.1, 0.3, 0.3], [0.6, 0.6, 0.9, 0.9]], np.float32)
    word = ("red", "blue", "green", "black")[colour]
    text = f"There is something {word}."
    return Example(
        id=str(number),
        sentence=text,
        question=Question(laid_out := plan_program(f"exist(find[{word}])"), attend(laid_out, text)),
        label=bool((colours == colour).any()),
        gold={},
        regions=[Regions(boxes, np.eye(4, dtype=np.float32)[image]) for image in colours],
    )


def test_find_is_learned_from_labels_alone():
    torch.manual_seed(1)
    learned = [coloured(number) for number in range(200)]
    encoder, tokenizer = folder.create_bilinear_encoder(
        [statement.sentence for statement in learned], hidden=16, features=4
    )
    config = Config(count="graph")
    recipe = Recipe(pretraining=0, steps=80, rate=1e-2, warm_up=5, curriculum=0.5, deviation=1.0)
    trainer = Trainer(folder.build(config, encoder, tokenizer), config, recipe, learned)
    for _ in range(80):
        trainer.step()
    accuracy = trainer.evaluate([coloured(number) for number in range(1000, 1100)])["accuracy"]
    assert accuracy is not None
    assert accuracy > 0.9


def test_a_curriculum_begins_with_programs_of_few_words(visual_network, statements):
    recipe = Recipe(pretraining=0, steps=12, batch=4, curriculum=0.5)
    trainer = Trainer(visual_network(), Config(), recipe, statements)
    most = []
    for trainer.steps in range(12):
        allowed = trainer._list_allowed(pretraining=False)
        chosen = statements if allowed is None else [statements[i] for i in allowed]
        most.append(max(count_word_modules(statement) for statement in chosen))
    assert all(1 <= level <= 3 for level in most[:6])
    assert most[:6] == sorted(most[:6])
    assert most[6:] == [math.inf] * 6


def test_counts_grow_sure_in_training_and_are_sure_where_they_are_scored(visual_network, statements):
    recipe = Recipe(pretraining=0, steps=4, batch=2, deviation=1.25)
    network = visual_network()
    trainer = Trainer(network, Config(), recipe, statements)
    deviations = []
    for _ in range(4):
        trainer.step()
        deviations.append(network.counter.variance**0.5)
    assert deviations == pytest.approx([1.25, 1.0, 0.75, 0.5])
    trainer.evaluate(statements[:2])
    assert network.counter.variance == VARIANCE


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
        "--partner",
        "any",
    ]
    assert main([*table, *common]) == 0
    trained = tmp_path / "table" / "graph-decont-pretraining" / "seed-1" / "config.json"
    assert json.loads(trained.read_text())["partner"] == "any"
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(rows) == 5
    assert "upper bound" in rows[2]
    scores = json.loads((tmp_path / "table" / "table.json").read_text())
    assert set(scores) == {"layer", "graph-decont-pretraining"}
    assert scores["layer"]["n"] == 4
    learning = ["--statements", "3", "--new-encoder", "bilinear", "--curriculum", "0.5"]
    learning += ["--pair-places", "--count-deviation", "1", "--no-pretraining", *common]
    assert main(["train", "visual-nmn", "--out", str(tmp_path / "bilinear"), *learning]) == 0
    assert load_modular_system("visual-nmn", weights=tmp_path / "bilinear").name == "visual-nmn"
    assert len((tmp_path / "scenes/train.further-1-12x2.jsonl").read_text().splitlines()) > 12
    refused = ["train", "lxmert", "--out", str(tmp_path / "none"), "--new-encoder", "bilinear", *common]
    assert main(refused) == 2
    assert "--new-encoder lxmert" in capsys.readouterr().err
    before = (tmp_path / "table" / "layer" / "seed-1" / "log.jsonl").stat().st_mtime_ns
    assert main([*table, *common]) == 1
    assert "table.json: exists already; add --resume" in capsys.readouterr().err
    assert main([*table, *common, "--resume", "--hidden", "8"]) == 1
    assert "begun with another encoder;" in capsys.readouterr().err
    assert main([*table, *common, "--seeds", "2", "--resume"]) == 0  # what has ended is not trained again
    assert "± " in capsys.readouterr().out
    seed_scores = json.loads((tmp_path / "table" / "table.json").read_text())["layer"]
    accuracies = [seed_scores["seeds"][seed]["accuracy"] for seed in ("1", "2")]
    assert seed_scores["accuracy"] == pytest.approx(sum(accuracies) / 2)
    assert seed_scores["sd"]["accuracy"] == pytest.approx(abs(accuracies[0] - accuracies[1]) / 2**0.5)
    assert (tmp_path / "table" / "layer" / "seed-1" / "log.jsonl").stat().st_mtime_ns == before


def test_a_table_refuses_an_lxmert_without_one_before_it_generates_scenes(tmp_path, capsys, monkeypatch):
    generated = "modelserver.training.visual_nmn.command.write_split"
    monkeypatch.setattr(generated, lambda *_, **__: pytest.fail("scenes were generated"))
    command = ["visual-table", "--variants", "layer", "lxmert", "--new-encoder", "bilinear"]
    assert main([*command, "--out", str(tmp_path / "out"), "--scenes", str(tmp_path / "scenes")]) == 2
    message = "error: lxmert answers from the output of an LXMERT: --new-encoder lxmert\n"
    assert capsys.readouterr() == ("", message)
    assert not list(tmp_path.iterdir())


def test_scenes_of_another_seed_or_too_few_are_refused(scenes_folder, tmp_path, capsys):
    command = ["train", "visual-nmn", "--out", str(tmp_path / "out"), "--scenes", str(scenes_folder)]
    for seed, n in ((5, 17), (4, 16)):
        assert main([*command, "--world-seed", str(seed), "--train", str(n)]) == 1
        assert f"train.jsonl does not hold {n} scenes of seed {seed}; name another" in capsys.readouterr().err
    assert main([*command, "--dev-file", "items.jsonl"]) == 2
    assert "--dev-file needs --train-file: add it, or leave --dev-file out" in capsys.readouterr().err


@pytest.fixture
def detector(tmp_path):
    """Items without gold, their region features, and a pretrained encoder.

    The features are found by the images' names.
    """
    encoder, tokenizer = folder.create_encoder(["Two dogs are black."], hidden=16, features=24)
    encoder.save_pretrained(tmp_path / "lxmert")
    tokenizer.save_pretrained(tmp_path / "lxmert")
    rng = np.random.default_rng(1)
    (tmp_path / "regions").mkdir()
    rows = []
    for number in range(20):
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
    write_rows(tmp_path / "items.jsonl", rows)
    return tmp_path, rows


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_items_with_regions_of_a_detector_are_trained_on_from_a_pretrained_encoder(detector):
    tmp_path, rows = detector
    items, out = tmp_path / "items.jsonl", tmp_path / "out"
    command = [
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
    assert main(command) == 2  # without regions
    command += ["--regions", str(tmp_path / "regions"), "--encoder", str(tmp_path / "lxmert")]
    assert main(command) == 0
    network, config, _ = folder.load(out, CPU)
    assert network.encoder.config.visual_feat_dim == 24
    assert config.decontextualised
    rows[1]["answer"] = "maybe"
    write_rows(items, rows)
    with pytest.raises(UnreadableData, match=r"items\.jsonl, line 2: item '1': answer"):
        read_items(items, read_regions(tmp_path / "regions"))
    with pytest.raises(UnreadableData, match="no region features"):
        read_items(items, {})


def test_an_encoder_whose_weights_would_stay_untrained_is_refused(detector):
    encoder = detector[0] / "lxmert"
    config = json.loads((encoder / "config.json").read_text())
    (encoder / "config.json").write_text(json.dumps({**config, "model_type": "bert"}))
    with pytest.raises(UnreadableWeights, match=r"config\.json: its model_type is bert"):
        folder.open_encoder(encoder)
    (encoder / "config.json").write_text(json.dumps(config))
    weights = load_file(encoder / "model.safetensors")
    del weights["pooler.dense.bias"]
    save_file(weights, encoder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UnreadableWeights, match=r"weights are missing, pooler\.dense\.bias for one"):
        folder.open_encoder(encoder)


def with_gold(row, node=3):
    """Return an item with a gold box of `find` and a value of `count`.

    The box is in the left image.
    """
    objects = [{"id": "1", "image": 0, "box": [0.1, 0.1, 0.5, 0.5]}]
    layers = {"1": {"state": "done", "value": 2}, str(node): {"objects": objects}}
    return {**row, "gold": {"layers": layers}}


def test_the_table_and_the_scores_take_items_of_a_detector(detector, capsys):
    root, rows = detector
    write_rows(root / "gold.jsonl", [with_gold(row) for row in rows])
    assert main(["visual-table", "--out", str(root / "none"), "--test-file", str(root / "gold.jsonl")]) == 2
    assert "--test-file needs --train-file" in capsys.readouterr().err
    arguments = ["--data", str(root / "items.jsonl"), "--regions", str(root / "regions")]
    sizes = ["--steps", "1", "--pretraining-steps", "1", "--batch", "2", "--graph-regions", "all"]
    table = ["visual-table", "--out", str(root / "table"), "--variants", "graph-decont-pretraining", *sizes]
    assert main([*table, *arguments]) == 2
    assert "--test-file" in capsys.readouterr().err
    arguments += ["--test-file", str(root / "gold.jsonl"), "--pretraining-data", str(root / "gold.jsonl")]
    network = ["--impossible", "alike", "--positions", "shifted"]
    assert main([*table, *arguments, "--encoder", str(root / "lxmert"), *network]) == 0
    trained = root / "table" / "graph-decont-pretraining" / "seed-1"
    log = (trained / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in log] == [1, 2]  # one of pretraining, and one of training
    config = folder.load(trained, CPU)[1]
    assert (config.most, config.impossible, config.positions) == (None, "alike", "shifted")
    command = ["visual-evaluate", "--weights", str(trained), "--outputs", str(root / "out.jsonl")]
    capsys.readouterr()
    assert main([*command, "--data", str(root / "items.jsonl")]) == 2
    assert "--regions" in capsys.readouterr().err
    assert main([*command, "--test-file", str(root / "gold.jsonl"), "--regions", str(root / "regions")]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["n"] == 20
    assert set(scored["faithfulness"]) == {"overall", "find"}
    modules = json.loads((root / "out.jsonl").read_text().splitlines()[0])["modules"]
    assert [node["module"] for node in modules] == [
        "filter",
        "find",
    ]  # of all modules, not of those with gold
    assert main([*command[:1], "--data", str(root / "items.jsonl"), "--regions", str(root / "regions")]) == 1
    assert "24 features" in capsys.readouterr().err  # the shipped weights read others


@pytest.mark.parametrize(
    "given, message",
    [
        ("--pretraining-data gqa.jsonl", "--pretraining-data needs --train-file"),
        ("--most-modules 13", "--most-modules needs --train-file"),
        ("--data a.jsonl --pretraining-regions w", "--pretraining-regions needs --pretraining-data"),
        ("--data a.jsonl --statements 12", "--statements has no effect with --data"),
        ("--train-file a.jsonl --world-seed 2", "--world-seed has no effect with --train-file"),
        ("--data a.jsonl --scenes b", "--scenes has no effect with --data"),
        ("--encoder lxmert --new-encoder bilinear", "--new-encoder has no effect with --encoder"),
        ("--encoder lxmert --hidden 32", "--hidden has no effect with --encoder"),
    ],
)
@pytest.mark.parametrize("command", ["visual-table", "visual-splits", "train lxmert", "train visual-nmn"])
def test_an_option_without_effect_is_refused(tmp_path, capsys, command, given, message):
    assert main([*command.split(), "--out", str(tmp_path / "out"), *given.split()]) == 2
    assert f"error: {message}: " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_pretraining_data_must_fit(detector, capsys):
    root, _ = detector
    arguments = ["--train-file", str(root / "items.jsonl"), "--regions", str(root / "regions")]
    command = ["train", "visual-nmn", "--out", str(root / "out"), *arguments]
    assert main([*command, "--pretraining-data", str(root / "items.jsonl")]) == 1
    assert "no item has gold boxes" in capsys.readouterr().err
    assert main([*command, "--most-modules", "2"]) == 1
    assert "no item to train on has at most 2 modules" in capsys.readouterr().err


def test_pretraining_data_has_no_effect_without_pretraining(capsys):
    given = ["--data", "a.jsonl", "--pretraining-data", "b.jsonl", "--no-pretraining"]
    assert main(["train", "visual-nmn", "--out", "out", *given]) == 2
    assert "--pretraining-data has no effect with --no-pretraining" in capsys.readouterr().err


def test_a_file_that_is_too_small_to_hold_items_out_is_refused(detector, capsys):
    root, rows = detector
    write_rows(root / "items.jsonl", rows[:19])
    arguments = ["--train-file", str(root / "items.jsonl"), "--regions", str(root / "regions")]
    assert main(["train", "visual-nmn", "--out", str(root / "out"), *arguments]) == 1
    assert "19 examples; without --dev-file at least 20 are needed" in capsys.readouterr().err


@pytest.mark.parametrize("schedule", ["linear", "linear-to-zero", "cosine", "constant"])
def test_encoder_and_heads_have_rates_of_their_own(visual_network, statements, schedule):
    recipe = Recipe(
        pretraining=2,
        steps=3,
        batch=2,
        warm_up=1,
        rate=1e-2,
        fine_rate=1e-3,
        encoder_rate=1e-4,
        schedule=schedule,
    )
    trainer = Trainer(visual_network(), Config("visual-nmn"), recipe, statements, statements)
    rates = []
    for _ in range(5):
        trainer.step()
        rates.append([group["lr"] for group in trainer.optimiser.param_groups])
    assert rates[0] == pytest.approx([1e-2, 1e-4])
    assert rates[2] == pytest.approx([1e-3, 1e-4])  # after pretraining the warm-up begins again
    falls = {"linear": 0.4, "linear-to-zero": 0.5, "cosine": 0.02 + 0.98 * 0.5, "constant": 1.0}
    assert rates[4] == pytest.approx([1e-3 * falls[schedule], 1e-4 * falls[schedule]])


@pytest.mark.parametrize("command", ["visual-table", "visual-splits"])
def test_a_pretrained_row_without_gold_boxes_is_refused_before_anything_is_trained(detector, capsys, command):
    root, rows = detector
    longer = "and(exist(find[dogs]), and(exist(find[dogs]), exist(find[dogs])))"  # other than in training
    write_rows(root / "test.jsonl", [{**row, "program": longer} for row in rows])
    out, data_options = root / "out", ["--regions", str(root / "regions")]
    for name in ("train", "dev", "test"):
        rows_of = "test.jsonl" if name == "test" else "items.jsonl"
        data_options += [f"--{name}-file", str(root / rows_of)]
    splits = ["--splits", "length"] if command == "visual-splits" else []
    arguments = [
        command,
        "--out",
        str(out),
        *splits,
        *data_options,
        "--variants",
        "layer",
        "graph-decont-pretraining",
    ]
    assert main(arguments) == 1
    assert "no item to pretrain on has gold boxes" in capsys.readouterr().err
    assert not out.exists()
    assert main([*arguments[:-1], "--steps", "1", "--batch", "2", "--hidden", "16"]) == 0
