"""Training of the readers on a Hugging Face encoder.

The tests check rates, resuming, the command, and what it refuses.
"""

import json
from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from modelserver.__main__ import main
from modelserver.evaluation.scores import predict_gold
from modelserver.inputs import encoders
from modelserver.inputs.hotpot import GoldExample
from modelserver.registry import load_system
from modelserver.systems.base import WARM_UP
from modelserver.systems.recurrent import Config
from modelserver.training.coupling_loss import Coupling
from modelserver.training.loop import train
from modelserver.training.recurrent import Recipe, Trainer
from modelserver.wire.errors import UnreadableData
from modelserver.world import write_split
from tests.analysis.data import real_data
from tests.modelserver.systems.test_contextual import ALL, encoder_of


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def few(gold):
    """Four questions with labels.

    Each has the articles of its facts and one more.
    """
    return [
        example.model_copy(
            update={"context": [article for article in example.context if article[0] in titles][:4]}
        )
        for example in gold[:4]
        for titles in [{title for title, _ in example.supporting_facts} | {example.context[0][0]}]
    ]


TINY = Recipe(steps=4, batch=2, check_every=2, warm_up=2, encoder_rate=5e-4)


def _trainer(name, folder, gold, recipe=TINY, **changes):
    coupling = Coupling() if name.endswith("-reg") else None
    return Trainer(
        Config(name, hidden=8, **changes),
        replace(recipe, coupling=coupling),
        gold,
        encoder=encoder_of(folder),
    )


@pytest.mark.parametrize("name", ALL)
def test_a_small_run_learns_its_examples(name, bert_folder, few, tmp_path):
    recipe = replace(TINY, steps=20, batch=4, warm_up=2, check_every=10, rate=1e-2)
    trainer = _trainer(name, bert_folder, few, recipe, dropout=0.0)
    before = trainer.step()
    train(trainer, few[:2], tmp_path)
    row = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])
    assert row["loss"] < 0.75 * before
    system = load_system(name, weights=tmp_path)
    assert [p.id for p in predict_gold(system, few[:2])] == [example.item.id for example in few[:2]]


def test_every_weight_of_the_encoder_learns_at_its_own_rate(bert_folder, few):
    trainer = _trainer("qi2019", bert_folder, few)
    start = deepcopy(dict(trainer.model.named_parameters()))
    trainer.step()
    moved = {name: (p - start[name]).abs().max().item() for name, p in trainer.model.named_parameters()}
    ours = {name: by for name, by in moved.items() if name.startswith("embed.encoder.")}
    assert TINY.encoder_rate is not None
    share = 1 / TINY.warm_up  # Adam's first step is as long as the learning rate
    assert (
        min(by for name, by in ours.items() if "key.bias" not in name) > 0
    )  # that of keys cancels in softmax
    assert max(ours.values()) == pytest.approx(TINY.encoder_rate * share, rel=0.05)
    assert max(by for name, by in moved.items() if name not in ours) == pytest.approx(
        TINY.rate * share, rel=0.05
    )


def test_the_encoder_given_stays_as_it_is(bert_folder, few):
    encoder = encoder_of(bert_folder)
    before = encoder.digest()
    for _ in range(2):
        trainer = Trainer(Config("qi2019", hidden=8), TINY, few, encoder=encoder)
        trainer.step()
    encoder.tokenizer("one two three", truncation=True, max_length=4, padding="max_length")
    assert encoder.digest() == before


def test_training_goes_on_after_a_kill(bert_folder, few, tmp_path, monkeypatch):
    name, whole, again = "select-and-forget-reg", tmp_path / "whole", tmp_path / "again"
    train(_trainer(name, bert_folder, few), few[:2], whole)

    def die(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("modelserver.training.loop.curves.draw", die)
        with pytest.raises(KeyboardInterrupt):
            train(_trainer(name, bert_folder, few), few[:2], again)
    other = encoder_of(bert_folder)
    next(other.model.parameters()).data[0] += 1
    coupled = replace(TINY, coupling=Coupling())
    trainer = Trainer(Config(name, hidden=8), coupled, few, encoder=other)
    with pytest.raises(UnreadableData, match="another encoder;"):
        train(trainer, few[:2], again, resume=True)
    advances: list[int] = []
    train(_trainer(name, bert_folder, few), few[:2], again, resume=True, advance=advances.append)
    assert advances == [2, 1, 1]
    assert (again / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_a_question_that_the_encoder_cannot_read_is_named(bert_folder, few):
    entry = few[0].model_copy(update={"question": "Who " * 300})
    with pytest.raises(UnreadableData, match=rf"{entry.item.id}: question: "):
        _trainer("qi2019", bert_folder, [entry])


SIZES = ["--train", "12", "--dev", "2", "--steps", "1", "--batch", "2", "--hidden", "8", "--threads", "1"]


def test_the_command_trains_a_new_encoder(tmp_path, capsys):
    out = tmp_path / "w"
    arguments = ["train", "qi2019", "--encoder", "new:32x1", "--vocabulary-size", "500", "--out", str(out)]
    assert main([*arguments, *SIZES]) == 0
    config = json.loads((out / "config.json").read_text())
    assert config["window"] == 384
    write_split(tmp_path / "d.json", "dev", 3, 2)
    capsys.readouterr()
    assert main(["evaluate", "qi2019", str(tmp_path / "d.json"), "--weights", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["questions"] == 3
    written = ["predict", "qi2019", str(tmp_path / "d.json"), "--out", str(tmp_path / "p.json")]
    assert main([*written, "--weights", str(out)]) == 0
    assert len(json.loads((tmp_path / "p.json").read_text())["answer"]) == 3


def test_the_command_trains_an_encoder_of_a_folder_on_real_questions(roberta_folder, tmp_path, capsys):
    entries = json.loads(real_data("hotpot/hotpot_train_sample.json").read_text(encoding="utf-8"))
    short = [entry for entry in entries if len(entry["question"]) < 80][:20]
    (tmp_path / "data.json").write_text(json.dumps(short), encoding="utf-8")
    arguments = ["train", "select-and-forget", "--encoder", str(roberta_folder), "--out", str(tmp_path / "w")]
    assert main([*arguments, *SIZES[4:], "--train-file", str(tmp_path / "data.json")]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["loss"] < 100
    item = GoldExample.model_validate(short[0]).item
    assert load_system("select-and-forget", weights=tmp_path / "w").predict([item])[0].id == item.id


def test_a_search_starts_every_run_from_the_same_encoder(bert_folder, tmp_path, capsys):
    arguments = ["search", "qi2019-reg", "--runs", "2", "--out", str(tmp_path / "s")]
    assert main([*arguments, *SIZES, "--encoder", str(bert_folder)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "s" / "search.jsonl").read_text().splitlines()]
    assert rows[0]["encoder"] == rows[1]["encoder"] == encoder_of(bert_folder).digest()
    assert load_system("qi2019-reg", weights=tmp_path / "s" / "best").predict([WARM_UP])
    assert main([*arguments, *SIZES, "--encoder", "new:32x1", "--resume"]) == 1
    assert "made with another encoder" in capsys.readouterr().err


def test_a_model_of_the_hub_is_not_asked_for(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv(encoders.ALLOW_HUB, raising=False)
    monkeypatch.setattr(encoders, "snapshot_download", None)
    arguments = ["train", "qi2019", "--encoder", "someone/model", "--out", str(tmp_path / "w"), *SIZES]
    assert main(arguments) == 1
    assert "MODELSERVER_ALLOW_HUB" in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ["--encoder", "new:64"],
        ["--encoder", "new:64x2", "--word-vectors", "v.txt"],
        ["--encoder", "new:64x2", "--encoder-rate", "0"],
    ],
)
def test_wrong_arguments_are_bad_usage(tmp_path, wrong):
    assert main(["train", "qi2019", "--out", str(tmp_path / "w"), *wrong]) == 2
