"""The `heuristic` system.

The tests check mentions, sentence selectors, predictors of types, training and weights.
"""

import json
import math
import shutil
from typing import Any

import numpy as np
import pytest
import torch

from modelserver.__main__ import main
from modelserver.inputs.hotpot import parse_gold
from modelserver.inputs.mentions import find_mention_type, find_mentions
from modelserver.registry import WEIGHTS, load_system
from modelserver.systems import heuristic
from modelserver.systems.base import complete_prediction
from modelserver.systems.heuristic import PREDICTORS, SELECTORS, Choice, measure_common_subsequence
from modelserver.systems.predict_each import predict_each
from modelserver.training.heuristic import Labelled, Recipe, Trainer, compute_accuracy, label_questions
from modelserver.wire.errors import InvalidRequest, UnreadableWeights
from modelserver.wire.schema import QAItem
from modelserver.world import generate

CPU = torch.device("cpu")
ITEM = QAItem(
    id="1",
    question="Who founded the mill in Brenholt?",
    context=[
        ("Brenholt", ["Brenholt is a town.", "It has 4,500 people."]),
        ("The mill", ["The mill in Brenholt was founded by Ira Sund in 1920."]),
    ],
)


@pytest.fixture(scope="module")
def questions():
    return parse_gold(generate("train", 150, 5), "world")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, bert_folder):
    """Both predictors, trained for one epoch from a tiny encoder."""
    root = tmp_path_factory.mktemp("heuristic")
    path = root / "data.json"
    path.write_text(json.dumps(list(generate("train", 60, 5))), encoding="utf-8")
    arguments = [
        "train",
        "heuristic",
        "--out",
        str(root / "weights"),
        "--train-file",
        str(path),
        "--dev-file",
        str(path),
    ]
    arguments += ["--encoder", str(bert_folder), "--word-epochs", "1", "--encoder-epochs", "1"]
    assert main(arguments) == 0
    return root / "weights"


def load(folder, choice=None):
    return heuristic.load(folder, CPU, name="heuristic", description="", choice=choice)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Ann Lee was born in Oslo.", [("Ann Lee", "person"), ("Oslo", "place")]),
        ("In 1954, at the University of Rem.", [("1954", "date"), ("University of Rem", "organisation")]),
        ("On 3 May 1950 two hens died.", [("3 May 1950", "date"), ("two", "number")]),
        ("The film lasts 104 minutes.", [("104", "number")]),
        ("It has 4,500 people.", [("4,500", "number")]),
        ("the of and", []),
        ("", []),
    ],
)  # fmt: skip
def test_mentions(text, expected):
    assert [(text[mention.start : mention.end], mention.type) for mention in find_mentions(text)] == expected


def test_type_of_an_answer():
    assert find_mention_type("Ann Lee was born in Oslo.", "Oslo") == "place"
    assert find_mention_type("Ann Lee was born in Oslo.", "was") is None
    assert find_mention_type("Ann Lee was born in Oslo.", "Rome") is None


def test_common_subsequence_against_its_definition():
    rng = np.random.default_rng(1)
    for _ in range(30):
        first, second = (rng.integers(0, 3, size).tolist() for size in (6, 7))
        best = 0
        for mask in range(1 << len(first)):
            picked = [word for index, word in enumerate(first) if mask >> index & 1]
            rest = iter(second)
            if all(word in rest for word in picked):
                best = max(best, len(picked))
        assert measure_common_subsequence(first, second) == best


@pytest.mark.parametrize("selector, fact", [("overlap", 2), ("lcs", 2), ("position", 0)])
def test_selectors(folder, selector, fact):
    system = load(folder, Choice(selector, "words"))
    sentences = [text for _, texts in ITEM.context for text in texts]
    assert system.choose_sentence(ITEM.question, sentences) == fact


def test_the_encoder_finds_the_question_itself(folder):
    system = load(folder, Choice("encoder", "words"))
    assert system.choose_sentence(ITEM.question, ["A mill.", ITEM.question, "It has 4,500 people."]) == 1


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_every_choice_answers_alone_as_beside_others(folder, selector, predictor, questions):
    system = load(folder, Choice(selector, predictor))
    items = [ITEM, *(gold.item for gold in questions[:12])]
    together = system.predict(items)
    for item, prediction in zip(items, together, strict=True):
        (alone,) = system.predict([item])
        assert prediction.answer_logprob == pytest.approx(alone.answer_logprob, abs=1e-5)
        assert prediction == alone.model_copy(update={"answer_logprob": prediction.answer_logprob})
        assert complete_prediction(item, prediction) == prediction  # facts and places are there
        if prediction.location:
            texts = {(t, n): text for t, sentences in item.context for n, text in enumerate(sentences)}
            text = texts[prediction.location.first]
            assert text[prediction.location.start : prediction.location.end] == prediction.answer


def test_the_probability_of_an_answer_is_that_of_the_types_that_give_it(folder):
    system = load(folder, Choice("position", "words"))
    texts = {"a": "Ann Lee left Oslo in 1954.", "b": "Ann Lee was born."}
    items = {
        key: QAItem(id=key, question="Who left?", context=[("A", [text])]) for key, text in texts.items()
    }

    def chance(key: str, target: str) -> float:
        (prediction,) = system.predict([items[key].model_copy(update={"target": target})])
        return math.exp(prediction.target_logprob)

    targets = ["Ann Lee", "Oslo", "1954", ""]  # no number and no organisation is mentioned
    assert sum(chance("a", target) for target in targets) == pytest.approx(1)
    assert chance("b", "") == pytest.approx(1 - chance("b", "Ann Lee"))
    assert chance("a", "Rome") < 1e-300
    for key in items:
        (prediction,) = system.predict([items[key]])
        assert prediction.target_logprob is None
        assert math.exp(prediction.answer_logprob) == pytest.approx(chance(key, prediction.answer))


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_logits_that_are_not_finite_are_an_error_of_the_item(folder, predictor):
    system = load(folder, Choice("position", predictor))
    with torch.no_grad():
        (system.words if predictor == "words" else system.encoder).out.bias[0] = torch.nan
    (outcome,) = predict_each(system, [ITEM])
    assert outcome.error == "prediction_failed"
    assert "logits are not finite numbers" in outcome.message


def test_the_convolution_learns_what_is_in_the_words():
    torch.manual_seed(1)
    examples = [Labelled(f"{word} is it {n} times?", kind) for n in range(20) for word, kind in
                (("where", "place"), ("who", "person"), ("when", "date"))]  # fmt: skip
    trainer = Trainer(Choice(), Recipe(word_epochs=15, word_rate=5e-3), examples)
    before = compute_accuracy(trainer.words.eval(), examples)["accuracy"]
    for _ in range(trainer.word_steps):
        trainer.step()
    assert before < 0.9
    assert compute_accuracy(trainer.words.eval(), examples) == {"accuracy": 1, "macro_f1": 1}


def test_labels_come_from_supporting_facts(questions):
    labelled = list(label_questions(questions))
    assert 0.5 * len(questions) < len(labelled) < len(questions)  # yes and no are no mentions
    assert {example.type for example in labelled} == {"person", "place", "organisation", "date", "number"}


def test_what_cannot_be_answered(folder):
    system = load(folder)
    empty = QAItem(id="1", question="Who?", context=[("A", [])])
    with pytest.raises(InvalidRequest):
        system.check(empty)
    assert system.predict([]) == []


@pytest.mark.parametrize("file", ["config.json", "words.safetensors", "head.safetensors", "vocab.json"])
def test_damaged_folders_are_named(folder, tmp_path, file):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / file).write_bytes(b"{")
    with pytest.raises(UnreadableWeights, match=file):
        load(copy)
    (copy / file).unlink()
    with pytest.raises(UnreadableWeights, match=file):
        load(copy)


def test_revisions_tell_choices_apart(folder):
    revisions = {load(folder, Choice(s, p)).revision for s in SELECTORS for p in PREDICTORS}
    assert len(revisions) == 8
    with pytest.raises(UnreadableWeights, match="selector"):
        load(folder, Choice("nearest", "words"))


def test_the_shipped_weights_are_usable_and_no_reader():
    system: Any = load_system("heuristic")
    gold = parse_gold(generate("test", 200, 1), "world")
    dev = list(label_questions(gold))
    assert compute_accuracy(system.words, dev)["accuracy"] > 0.9
    assert compute_accuracy(system.encoder, dev)["accuracy"] > 0.9
    right = sum(
        p.answer == g.answer for p, g in zip(system.predict([g.item for g in gold]), gold, strict=True)
    )
    assert 0.02 < right / len(gold) < 0.6
    assert (WEIGHTS / "heuristic" / "README.md").is_file()
