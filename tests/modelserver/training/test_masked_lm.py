"""Pretraining on masked words.

The tests check what is hidden, and trainings that end and resume, or that the trainer refuses.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from modelserver.__main__ import main
from modelserver.inputs.encoders import create_encoder, create_tokenizer, open_encoder
from modelserver.inputs.selection import Selection
from modelserver.inputs.span_qa import read_hotpotqa
from modelserver.inputs.windows import WindowSettings
from modelserver.systems.extractive import make_window_reader
from modelserver.training.extractive import Recipe
from modelserver.training.masked_lm import MASKED, PREDICTED, REPLACED, MaskedTrainer, hide
from modelserver.world import write_split
from tests.modelserver.inputs.test_span_qa import squad

CPU = torch.device("cpu")
TINY = ("--encoder", "new:16x1-rotary", "--format", "hotpotqa", "--context", "facts", "--batch", "4",
        "--vocabulary-size", "300", "--check-every", "2", "--learning-rate", "3e-3")  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "train.json"
    write_split(path, "train", 60, 5)
    return path


def pretrain(world: Path, out: Path, *more: str, steps: int = 4) -> int:
    return main(["train", "masked-lm", "--train-file", str(world), "--out", str(out), "--steps", str(steps),
                 *TINY, *more])  # fmt: skip


class TestHide:
    tokenizer = create_tokenizer(["the tower of the town is older than the bridge"], 60)

    def words(self, *shape: int) -> np.ndarray:
        ordinary = np.setdiff1d(np.arange(len(self.tokenizer)), self.tokenizer.all_special_ids)
        words = np.random.default_rng(1).choice(ordinary, shape)
        words[:, 0], words[:, -1] = self.tokenizer.cls_token_id, self.tokenizer.pad_token_id
        return words

    def test_shares_are_those_of_the_source(self):
        words = self.words(200, 402)
        shown, predicted = hide(words, self.tokenizer, np.random.default_rng(2))
        masked = shown == self.tokenizer.mask_token_id
        assert predicted.mean() * 402 / 400 == pytest.approx(PREDICTED, abs=0.005)
        assert (masked.sum() / predicted.sum()) == pytest.approx(MASKED, abs=0.02)
        changed = (shown != words) & ~masked
        assert changed.sum() / predicted.sum() == pytest.approx(REPLACED, abs=0.02)
        assert not ((shown != words) & ~predicted).any()

    def test_special_tokens_are_neither_predicted_nor_put_in(self):
        words = self.words(200, 42)
        shown, predicted = hide(words, self.tokenizer, np.random.default_rng(2))
        assert not predicted[:, [0, -1]].any()
        put_in = shown[(shown != words) & (shown != self.tokenizer.mask_token_id)]
        assert not np.isin(put_in, self.tokenizer.all_special_ids).any()

    def test_a_text_of_unknown_words_alone(self):
        words = self.words(1, 6)
        words[:, 1:-1] = self.tokenizer.unk_token_id
        _shown, predicted = hide(words, self.tokenizer, np.random.default_rng(1))
        assert predicted.any()
        assert not predicted[:, [0, -1]].any()

    def test_one_word_at_least_is_predicted(self):
        for seed in range(20):
            _shown, predicted = hide(self.words(1, 4), self.tokenizer, np.random.default_rng(seed))
            assert predicted.any()


def test_it_learns_two_questions(world: Path):
    examples = read_hotpotqa(world, Selection("facts", None)).examples[:2]
    texts = [text for e in examples for title, s in e.item.context for text in (e.item.question, title, *s)]
    torch.manual_seed(1)
    described, tokenizer = create_encoder(texts, CPU, hidden=32, layers=1, heads=1, pieces=200, rotary=True)
    model = transformers.AutoModelForMaskedLM.from_config(described.config)
    reader = make_window_reader(tokenizer, WindowSettings(96, 24, 8))
    recipe = Recipe(steps=150, batch=2, windows=2, rate=1e-2, check_every=50, seed=1)
    trainer = MaskedTrainer(model, tokenizer, reader, recipe, examples)
    losses = [trainer.step() for _step in range(150)]
    assert np.mean(losses[:5]) == pytest.approx(math.log(len(tokenizer)), rel=0.1)  # it knows nothing
    assert np.mean(losses[-20:]) < 0.8 * np.mean(losses[:5])


def test_a_span_head_goes_on_from_it(world: Path, tmp_path: Path):
    assert pretrain(world, tmp_path / "masked") == 0
    pretrained, _tokenizer = open_encoder(
        tmp_path / "masked", CPU, trained=False, kind=transformers.AutoModelForMaskedLM
    )
    options = ("--encoder", str(tmp_path / "masked"), "--out", str(tmp_path / "spans"), "--steps", "1",
               "--check-every", "1", "--learning-rate", "1e-9", "--format", "hotpotqa")  # fmt: skip
    assert main(["train", "extractive-qa", "--train-file", str(world), *options]) == 0
    tuned, _tokenizer = open_encoder(tmp_path / "spans", CPU)
    for (name, before), after in zip(
        pretrained.base_model.named_parameters(), tuned.base_model.parameters(), strict=True
    ):
        assert torch.allclose(before, after, atol=1e-6), name


def test_pretraining_goes_on_from_a_folder(world: Path, tmp_path: Path):
    assert pretrain(world, tmp_path / "first") == 0
    assert pretrain(world, tmp_path / "second", "--encoder", str(tmp_path / "first"), "--rate", "1e-9") == 0
    first, second = (
        open_encoder(tmp_path / name, CPU, kind=transformers.AutoModelForMaskedLM)[0]
        for name in ("first", "second")
    )
    for before, after in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.allclose(before, after, atol=1e-6)


def test_a_killed_training_resumes_with_the_same_weights(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert pretrain(world, tmp_path / "whole") == 0
    step = MaskedTrainer.step

    def killed(self: MaskedTrainer) -> float:
        if self.steps == 3:
            raise RuntimeError("killed")
        return step(self)

    monkeypatch.setattr(MaskedTrainer, "step", killed)
    with pytest.raises(RuntimeError, match="killed"):
        pretrain(world, tmp_path / "half")
    monkeypatch.undo()
    assert pretrain(world, tmp_path / "half", "--resume") == 0
    whole, half = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "half"))
    assert whole == half


def test_only_what_it_cannot_read_is_noted(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert pretrain(world, tmp_path / "world") == 0
    assert "answer" not in capsys.readouterr().err
    (tmp_path / "squad.json").write_text(json.dumps(squad([], *[[("Nobody", 0)]] * 25)))
    assert pretrain(tmp_path / "squad.json", tmp_path / "out", "--format", "squad", "--context", "whole") == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "answer" in line]
    assert notes == [f"{tmp_path}/squad.json: 1 unanswerable questions are left out"]


def test_what_cannot_learn_so_is_one_sentence(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    tokenizer = create_tokenizer(["a tower"], 60)
    tokenizer.mask_token = None
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=16,
    )  # fmt: skip
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path / "bare")
    tokenizer.save_pretrained(tmp_path / "bare")
    assert pretrain(world, tmp_path / "out", "--encoder", str(tmp_path / "bare")) == 1
    assert "bare: its tokenizer has no mask" in capsys.readouterr().err
