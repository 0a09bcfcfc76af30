"""The trainer of ``world-lm``: texts, curriculum, interruptions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from modelserver.inputs.hotpot import GoldExample, parse_gold
from modelserver.systems.language.causal import load
from modelserver.systems.language.questions import Order, number_sentences, parse_answer
from modelserver.training import causal
from modelserver.training.causal import (
    ALL_DISTRACTORS,
    CUT,
    END,
    STAGES,
    Batches,
    Recipe,
    create_trainer,
    cut,
    encode,
    write_example,
)
from modelserver.training.loop import STATE, train
from modelserver.training.muon import Muon, orthogonalise
from modelserver.world import generate

CPU = torch.device("cpu")
RECIPE = Recipe(steps=4, tokens=1_500, check_every=2, pieces=600)


@pytest.fixture(scope="module")
def examples() -> list[GoldExample]:
    return parse_gold(generate("train", 24, 3), "world")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal, "HIDDEN", 16)
    monkeypatch.setattr(causal, "LAYERS", 2)
    monkeypatch.setattr(causal, "HEADS", 2)


@pytest.mark.parametrize("order", ["explain-first", "answer-first"])
def test_the_text_to_learn_is_the_gold_answer_in_the_form(order: Order, examples: list[GoldExample]):
    for gold in examples:
        prompt, pieces = write_example(gold, order)
        answer = parse_answer("".join(piece.text for piece in pieces).removesuffix(END))
        facts = number_sentences(gold.context).facts
        assert answer.answer == gold.answer
        assert [facts[number - 1] for number in answer.facts] == gold.supporting_facts
        for number in answer.facts:  # the rationale quotes each fact as the prompt has it
            title, index = facts[number - 1]
            sentence = dict(gold.context)[title][index].strip()
            assert f"{sentence} [{number}]" in answer.rationale
            assert f"\n{sentence} [{number}]\n" in prompt
        assert prompt.startswith(f"Question: {gold.question}\n")


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_keeps_what_the_answer_needs(stage: int, examples: list[GoldExample]):
    for number, gold in enumerate(examples):
        short = cut(gold, stage, np.random.default_rng(number))
        needed = {title for title, _ in gold.supporting_facts}
        others = len(gold.context) - len(needed)
        assert len(short.context) == len(needed) + (others if stage == ALL_DISTRACTORS else max(0, stage))
        before, after = dict(gold.context), dict(short.context)
        quoted = [after[title][index] for title, index in short.supporting_facts]
        assert quoted == [before[title][index] for title, index in gold.supporting_facts]
        if stage == CUT:
            assert sum(map(len, after.values())) <= len(quoted) + len(needed)


def test_a_batch_follows_from_seed_step_and_stage_and_keeps_its_bound(examples: list[GoldExample]):
    trainer = create_trainer(examples, RECIPE, CPU)
    batches = Batches(trainer.tokenizer, examples, RECIPE, 1, range(3, 9))
    for index in range(len(batches)):
        batch, again = batches[index], batches[index]
        assert torch.equal(batch.tokens, again.tokens)
        assert batch.tokens.numel() <= RECIPE.tokens or len(batch.tokens) == 1
        assert not batch.weights[batch.mask == 0].any()
    assert not torch.equal(batches[0].tokens, batches[1].tokens)


def test_only_what_the_model_writes_counts(examples: list[GoldExample]):
    tokenizer = create_trainer(examples, RECIPE, CPU).tokenizer
    prompt, _ = write_example(examples[0], "explain-first")
    tokens, weights = encode(tokenizer, examples[0], "explain-first")
    length = len(tokenizer.encode(prompt, add_special_tokens=False))
    assert tokenizer.decode(tokens[:length]) == prompt
    assert not any(weights[:length])
    assert all(weights[length:])
    assert tokens[-1] == tokenizer.eos_token_id


def test_an_interrupted_training_ends_with_the_same_weights(
    examples: list[GoldExample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(causal, "LEARNED_LOSS", 100.0)  # so that each check goes to the next stage
    whole, halted = tmp_path / "whole", tmp_path / "halted"
    row = train(create_trainer(examples, RECIPE, CPU), examples[:4], whole)
    assert row["stage"] is not None

    class Halt(Exception):
        pass

    trainer = create_trainer(examples, RECIPE, CPU)

    def halt(row: object) -> None:
        raise Halt

    with pytest.raises(Halt):
        train(trainer, examples[:4], halted, report=halt)
    assert (halted / STATE).exists()
    resumed = create_trainer(examples, RECIPE, CPU)
    train(resumed, examples[:4], halted, resume=True)
    assert resumed.stage == 2
    for name in ("model.safetensors", "tokenizer.json", "system.yaml"):
        assert (halted / name).read_bytes() == (whole / name).read_bytes(), name


def test_what_it_saves_can_be_served(examples: list[GoldExample], tmp_path: Path):
    create_trainer(examples, RECIPE, CPU).save(tmp_path)
    system = load(tmp_path, CPU, name="tiny", description="")
    (prediction,) = system.predict([examples[0].item])
    assert prediction.rationale is not None
    shutil.rmtree(tmp_path)


def test_muon_makes_updates_orthogonal_and_finds_a_minimum():
    torch.manual_seed(1)
    for shape in ((3, 8, 4), (2, 4, 8)):
        values = torch.linalg.svdvals(orthogonalise(torch.randn(shape)))
        assert values.min() > 0.3
        assert values.max() < 1.3
    target = torch.randn(6, 4)
    matrix, vector = torch.zeros(6, 4, requires_grad=True), torch.zeros(3, requires_grad=True)
    optimiser = Muon([matrix], [vector], matrix_rate=0.05, rate=0.05)
    for group in optimiser.param_groups:
        group["lr"] = group["full"]
    for _ in range(300):
        optimiser.zero_grad()
        ((matrix - target).square().sum() + (vector - 2).square().sum()).backward()
        optimiser.step()
    assert (matrix - target).abs().max() < 0.1
    assert (vector - 2).abs().max() < 0.1


def test_settings_name_data_and_recipe(examples: list[GoldExample]):
    first = create_trainer(examples, RECIPE, CPU).settings()
    other = create_trainer(examples[1:], RECIPE, CPU).settings()
    assert json.loads(json.dumps(first))["data"] != other["data"]
    assert first["tokens"] == RECIPE.tokens
