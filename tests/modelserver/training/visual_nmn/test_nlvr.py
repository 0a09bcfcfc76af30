"""NLVR, the splits and the scores as commands.

Sentences give programs and gold, on drawn and real pictures.
"""

import json

import pytest
import torch
from PIL import Image, ImageDraw

from modelserver.__main__ import main
from modelserver.modular.visual import folder
from modelserver.modular.visual.counting import compute_overlaps
from modelserver.modular.visual.plans import plan_program
from modelserver.modular.visual.scoring import compute_outputs
from modelserver.training.visual_nmn.command import Scenes
from modelserver.training.visual_nmn.nlvr import build_program, find_colour_and_noun, read, split_examples
from modelserver.training.visual_nmn.splits import SPLITS, split_scenes
from modelserver.wire.errors import UnreadableData
from tests.analysis.data import real_data

DRAWN = {"Yellow": (255, 255, 0), "Black": (0, 0, 0), "#0099ff": (0, 153, 255)}


def test_the_first_kind_of_thing_that_a_sentence_names():
    assert find_colour_and_noun("There is a box with 2 Yellow squares not touching the wall.") == (
        "yellow",
        "squares",
    )
    assert find_colour_and_noun("one of the towers has exactly seven objects") == (None, "objects")
    assert find_colour_and_noun("There is a tower.") == (None, "object")


def test_programs_of_sentences():
    assert build_program("There is a black item.") == (
        "exist(filter[There is a black item](filter[black](find[item])))"
    )
    assert build_program("there are no circles [here]") == (
        "equal(count(filter[there are no circles \\[here\\]](find[circles])), 0)"
    )
    for sentence in ("Is [it] a, b or (c)?", "There is no\\one."):
        assert plan_program(build_program(sentence)).program.type == "truth"


def example(identifier, sentence, panels, label="true"):
    structured = [
        [{"x_loc": x, "y_loc": y, "size": 20, "type": "square", "color": colour} for x, y, colour in panel]
        for panel in panels
    ]
    return {
        "identifier": identifier, "sentence": sentence, "label": label, "directory": "0",
        "structured_rep": structured,
    }  # fmt: skip


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Six examples and their pictures, drawn from what they say."""
    folder = tmp_path_factory.mktemp("nlvr")
    (folder / "0").mkdir()
    rows = []
    for number in range(6):
        panels = [[(10, 10, "Yellow")], [(40, 30, "Black"), (70, 70, "#0099ff")], []]
        sentence = f"There are {number} yellow squares."
        rows.append(example(f"{number}-0", sentence, panels, "true" if number == 1 else "false"))
        picture = Image.new("RGBA", (400, 100), (128, 128, 128, 255))
        for slot, panel in enumerate(rows[-1]["structured_rep"]):
            ImageDraw.Draw(picture).rectangle((150 * slot, 0, 150 * slot + 99, 99), fill=(211, 211, 211))
            for thing in panel:
                x, y = 150 * slot + thing["x_loc"], thing["y_loc"]
                ImageDraw.Draw(picture).rectangle((x, y, x + 19, y + 19), fill=DRAWN[thing["color"]])
        picture.save(folder / "0" / f"dev-{number}-0-0.png")
    (folder / "dev.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_gold_is_what_was_drawn(drawn):
    first = read(drawn / "dev.json", drawn)[1]
    assert first.label is True
    nodes = first.question.plan.program.nodes
    assert [nodes[node].argument for node in sorted(first.gold)] == ["yellow", "squares"]
    filtered, squares = (first.gold[node][0] for node in sorted(first.gold))
    assert filtered.tolist() == [pytest.approx([10 / 400, 0.1, 30 / 400, 0.3])]
    assert len(squares) == 3
    assert squares[1].tolist() == pytest.approx([190 / 400, 0.3, 210 / 400, 0.5])


def test_all_pictures_of_a_sentence_are_in_one_part(drawn):
    learn, test = split_examples([*read(drawn / "dev.json", drawn)] * 2)
    assert len(learn) == 8
    assert len(test) == 4
    assert not {example.sentence for example in learn} & {example.sentence for example in test}


def test_a_file_without_its_pictures_is_refused(drawn, tmp_path):
    with pytest.raises(UnreadableData, match="not one picture"):
        read(drawn / "dev.json", tmp_path)
    (tmp_path / "bad.json").write_text('{"identifier": "1-0"}\n')
    with pytest.raises(UnreadableData, match=r"bad\.json, line 1"):
        read(tmp_path / "bad.json", drawn)


def test_the_command_trains_and_scores(drawn, tmp_path, capsys):
    arguments = ["--train-file", str(drawn / "dev.json"), "--images", str(drawn), "--out", str(tmp_path)]
    assert main(["visual-nlvr", *arguments, "--picture-prefix", "train"]) == 1
    assert "not one picture" in capsys.readouterr().err
    assert main(["visual-nlvr", *arguments, "--pretraining-steps", "2", "--steps", "1"]) == 0
    table = json.loads((tmp_path / "table.json").read_text())
    assert (table["train"], table["test"]) == (4, 2)
    assert set(table["trained"]["faithfulness"]) == {"overall", "find", "filter"}
    assert table["trained"]["upper_bound"]["overall"]["f1"] == 1
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "table.md").read_text()
    assert [line.split("|")[1].strip() for line in printed.splitlines()[2:]] == [
        "majority",
        "weights",
        "trained",
    ]


def test_every_network_is_on_the_device(drawn, tmp_path, monkeypatch):
    load, devices = folder.load, []

    def spied(weights, device, *systems):
        devices.append(device)
        return load(weights, torch.device("cpu"), *systems)

    monkeypatch.setattr(folder, "load", spied)
    arguments = ["--train-file", str(drawn / "dev.json"), "--images", str(drawn), "--out", str(tmp_path)]
    sizes = ["--pretraining-steps", "1", "--steps", "1", "--device", "meta"]
    assert main(["visual-nlvr", *arguments, *sizes]) == 0
    assert devices == [torch.device("meta")] * 3  # the weights before, in training, and trained


def test_means_over_seeds(drawn, tmp_path, capsys):
    arguments = ["--train-file", str(drawn / "dev.json"), "--images", str(drawn), "--out", str(tmp_path)]
    command = ["visual-nlvr", *arguments, "--pretraining-steps", "2", "--steps", "1", "--seed", "5"]
    assert main([*command, "--seeds", "2"]) == 0
    after = json.loads((tmp_path / "table.json").read_text())["trained"]
    assert list(after["seeds"]) == ["5", "6"]
    recalls = [run["faithfulness"]["find"]["recall"] for run in after["seeds"].values()]
    assert after["faithfulness"]["find"]["recall"] == pytest.approx(sum(recalls) / 2)
    assert after["sd"]["faithfulness"]["find"]["recall"] == pytest.approx(
        abs(recalls[0] - recalls[1]) / 2**0.5
    )
    assert (tmp_path / "trained" / "seed-6" / "config.json").exists()
    assert main([*command, "--seeds", "2"]) == 1, "finished weights are never trained over"
    assert main([*command, "--seeds", "2", "--steps", "2", "--resume"]) == 1
    assert "begun with another steps;" in capsys.readouterr().err
    assert main([*command, "--seeds", "2", "--resume"]) == 0
    assert " ± " in capsys.readouterr().out


def test_the_proposer_finds_all_things_of_real_pictures(tmp_path, visual_network):
    sample = real_data("nlvr")
    lines = (sample / "dev_sample.json").read_text().splitlines()[:6]
    (tmp_path / "six.json").write_text("\n".join(lines))
    examples = read(tmp_path / "six.json", sample / "images")
    assert len(examples) == 6
    for example in examples:
        for (boxes,) in example.gold.values():
            if len(boxes):
                best = compute_overlaps(
                    torch.from_numpy(boxes), torch.from_numpy(example.regions[0].boxes)
                ).amax(dim=-1)
                assert (best > 0.5).all()
    truths, executions = compute_outputs(visual_network(), examples)
    assert len(truths) == 6
    assert all(len(execution.proposals) == 1 for execution in executions)


def test_splits_keep_what_is_tested_out_of_training(statements):
    scenes = Scenes(statements, statements, statements, statements)
    for name, (is_for_training, is_for_testing) in SPLITS.items():
        part = split_scenes(scenes, name, 5)
        for example in (*part.train, *part.dev, *part.pretraining):
            assert is_for_training(example.modules)
            assert not is_for_testing(example.modules)
        assert all(is_for_testing(example.modules) for example in part.test)
        assert 1 <= len(part.test) <= 5


def test_an_empty_part_of_a_split_is_refused(statements):
    short = [statement for statement in statements if len(statement.modules) <= 7]
    with pytest.raises(UnreadableData, match="length"):
        split_scenes(Scenes(short, short, short, short), "length", 5)


def test_the_commands_of_splits_and_scores(tmp_path, capsys):
    scenes_path = tmp_path / "scenes"
    sizes = "--train 16 --dev 16 --test 4 --pretraining-scenes 16 --steps 1 --pretraining-steps 1 --hidden 16"
    arguments = [*sizes.split(), "--scenes", str(scenes_path), "--out", str(tmp_path / "out")]
    assert main(["visual-splits", *arguments, "--splits", "filters", "--variants", "sum"]) == 0
    assert "| filters | NMN with Sum-count |" in capsys.readouterr().out
    splits = json.loads((tmp_path / "out" / "splits.json").read_text())
    assert splits["filters"]["sum"]["unseen"]["n"] == 4
    assert (
        main(["visual-evaluate", "--scenes", str(scenes_path), "--outputs", str(tmp_path / "out.jsonl")]) == 0
    )
    scored = json.loads(capsys.readouterr().out)
    assert scored["n"] == 4
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(rows) == 4
    assert all(len(node["probabilities"]) == 72 for row in rows for node in row["modules"])
