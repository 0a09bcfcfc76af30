"""The table of answer types: predictors over seeds, rare types' weights."""

import json

import pytest

from modelserver.__main__ import main
from modelserver.inputs import encoders
from modelserver.inputs.mentions import TYPES
from modelserver.training.heuristic import Labelled, Trainer, compute_type_weights, read_labelled
from modelserver.world import write_split

SMALL = ["--train", "60", "--test", "24", "--word-epochs", "2", "--encoder-epochs", "1", "--batch-size", "16"]
SMALL_HEURISTIC = ["--train", "60", "--dev", "24", "--word-epochs", "1", "--encoder-epochs", "1"]


def test_each_predictor_has_its_row_with_mean_and_spread(tmp_path, capsys):
    assert main(["types-table", "--out", str(tmp_path), "--seeds", "2", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "encoder",
        "convolution over words",
        "… rare types weighted",
    ]
    table = json.loads((tmp_path / "table.json").read_text())
    assert table.keys() == {"encoder", "words", "words-weighted"}
    for row in table.values():
        accuracies = [row["seeds"][seed]["accuracy"] for seed in ("1", "2")]
        assert row["accuracy"] == pytest.approx(sum(accuracies) / 2)
        assert 0 < row["macro_f1"] <= 1
        assert "sd" in row
    assert all("±" in line for line in lines[2:])


def test_a_table_is_resumed_or_replaced_but_never_silently(tmp_path, capsys, monkeypatch):
    command = ["types-table", "--out", str(tmp_path), *SMALL]
    step, steps = Trainer.step, list[Trainer]()

    def count(trainer):
        steps.append(trainer)
        return step(trainer)

    def die(trainer):
        if len(steps) == 6:  # in the second row, after its first check
            raise KeyboardInterrupt
        return count(trainer)

    monkeypatch.setattr(Trainer, "step", die)
    assert main(command) == 130
    assert json.loads((tmp_path / "table.json").read_text()).keys() == {"encoder"}
    monkeypatch.setattr(Trainer, "step", count)
    assert main(command) == 1
    assert "table.json: exists already; add --resume" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    trained = len(steps)
    table = (tmp_path / "table.json").read_bytes()
    capsys.readouterr()
    assert main([*command, "--resume"]) == 0
    assert capsys.readouterr().out == (tmp_path / "table.md").read_text()
    assert (tmp_path / "table.json").read_bytes() == table
    assert len(steps) == trained
    for name, setting in (("batch", "8"), ("world_seed", "2")):
        assert main([*command, f"--{name.replace('_', '-')}", setting, "--resume"]) == 1
        differing = "batch" if name == "batch" else "data, dev"
        assert f"begun with another {differing};" in capsys.readouterr().err
    assert (tmp_path / "table.json").read_bytes() == table
    assert main([*command, "--overwrite"]) == 0
    assert len(steps) == 2 * trained
    assert main(["types-table", "--out", str(tmp_path / "whole"), *SMALL]) == 0
    assert (tmp_path / "whole/table.json").read_bytes() == table


def test_the_same_seed_gives_the_same_table(tmp_path, capsys):
    for name in ("a", "b"):
        assert main(["types-table", "--out", str(tmp_path / name), *SMALL]) == 0
    assert (tmp_path / "a/table.json").read_bytes() == (tmp_path / "b/table.json").read_bytes()


def test_rare_types_weigh_more_and_examples_one_on_average():
    first, second = TYPES[:2]
    examples = [Labelled("?", first)] * 3 + [Labelled("?", second)]
    weights = compute_type_weights(examples)
    assert weights[:2].tolist() == pytest.approx([4 / 2 / 3, 4 / 2 / 1])
    assert weights[2:].sum() == 0
    assert sum(weights[TYPES.index(example.type)].item() for example in examples) == pytest.approx(4)


def test_a_file_without_types_is_refused(tmp_path, capsys):
    entry = {"_id": "1", "question": "Is it?", "answer": "yes", "supporting_facts": [["A", 0]],
             "context": [["A", ["it is."]]]}  # fmt: skip
    path = tmp_path / "test.json"
    path.write_text(json.dumps([entry]))
    assert main(["types-table", "--out", str(tmp_path), "--train", "60", "--test-file", str(path)]) == 1
    assert "test.json: no answer is a name" in capsys.readouterr().err


def test_an_encoder_that_is_not_there_is_refused_before_the_word_model(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Trainer, "step", lambda _: pytest.fail("the word model was trained first"))
    for command in (["types-table"], ["train", "heuristic"]):
        assert main([*command, "--out", str(tmp_path / "out"), "--encoder", str(tmp_path / "none")]) == 1
        message = "none: there is no such folder; a model of the hub is fetched only with --allow-hub"
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", [["types-table", *SMALL], ["train", "heuristic", *SMALL_HEURISTIC]])
def test_the_encoder_may_be_a_model_of_the_hub_if_that_is_allowed(
    command, bert_folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.delenv(encoders.ALLOW_HUB, raising=False)
    downloads = []

    def download(name, **_):
        downloads.append(name)
        return str(bert_folder)

    monkeypatch.setattr(encoders, "snapshot_download", download)
    arguments = [*command, "--encoder", "someone/model", "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert "someone/model: there is no such folder" in capsys.readouterr().err
    assert downloads == []
    assert main([*arguments, "--allow-hub"]) == 0
    assert downloads == ["someone/model"]
    settings = [json.loads(path.read_text()) for path in tmp_path.glob("out/**/settings.json")]
    assert {run_settings["encoder"] for run_settings in settings} == {encoders.hash_files(bert_folder)}


def test_the_heuristic_holds_out_every_20th_question_of_its_file(tmp_path, capsys):
    path = tmp_path / "train.json"
    write_split(path, "train", 80, 5)
    command = ["train", "heuristic", "--train-file", str(path), "--word-epochs", "1", "--encoder-epochs", "1"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    counts = json.loads(capsys.readouterr().out)
    questions = len(read_labelled(path))
    assert (counts["train"], counts["dev"]) == (questions - -(-questions // 20), -(-questions // 20))
    write_split(path, "train", 8, 5)
    assert main([*command, "--out", str(tmp_path / "few")]) == 1
    assert "without --dev-file at least 20 are needed" in capsys.readouterr().err
