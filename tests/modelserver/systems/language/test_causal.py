"""A tiny untrained ``causal-lm`` always writes the JSON asked for."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

from modelserver.systems.language.causal import CausalSystem, load
from modelserver.systems.predict_each import predict_each
from modelserver.wire.errors import InvalidRequest, UnreadableWeights, UnusableSystem
from modelserver.wire.schema import LEAST_LOGPROB, QAItem, QAPrediction

TEXTS = [
    "Ada was born in Bonn. She likes rain.",
    '{"rationale": "", "facts": [1, 2], "type": "span"}',
    "yes no",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Llama of one small layer and a byte-level tokenizer."""
    folder = tmp_path_factory.mktemp("lm")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<pad>", "<end>"], initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>")
    fast.save_pretrained(folder)
    set_seed(3)
    config = LlamaConfig(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=1_200, initializer_range=0.3,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def opened(source: Path) -> CausalSystem:
    return load(source, torch.device("cpu"), name="tiny", description="")


def configured(folder: Path, **fields: object) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.yaml"
    path.write_text(json.dumps({"longest_answer": 8, "longest_rationale": 12} | fields))  # JSON is YAML
    return path


def item(number: int, **fields: str) -> QAItem:
    context = [("Ada", [f"Ada was born in Bonn{number}."] * (1 + number % 3)), ("Bo", ["Bo is tall."])]
    return QAItem(id=str(number), question="Where was Ada born?", context=context, **fields)


@pytest.mark.parametrize("order", ["explain-first", "answer-first"])
def test_whatever_the_model_writes_is_an_answer(order: str, folder: Path) -> None:
    system = opened(configured(folder, order=order))
    predictions = system.predict([item(number) for number in range(8)])
    for prediction in predictions:
        assert isinstance(prediction, QAPrediction)
        assert prediction.type in ("span", "yes", "no")
        assert prediction.rationale is not None
        assert prediction.answer_logprob is not None
        assert prediction.usage is not None
        if prediction.type != "span" and order == "explain-first":
            assert prediction.answer == prediction.type


def test_an_answer_does_not_depend_on_the_items_beside_it(folder: Path) -> None:
    system = opened(configured(folder))
    items = [item(number) for number in range(4)]
    together = system.predict(items)
    for question, beside in zip(items, together, strict=True):
        (alone,) = system.predict([question])
        assert (alone.answer, alone.rationale, alone.facts) == (beside.answer, beside.rationale, beside.facts)
        assert alone.answer_logprob == pytest.approx(beside.answer_logprob, abs=1e-3)


def test_logits_that_are_not_finite_are_an_error_of_the_item(folder: Path) -> None:
    system = opened(configured(folder))
    with torch.no_grad():
        system.model.get_parameter("model.norm.weight")[0] = torch.nan
    outcomes = predict_each(system, [item(1), item(2)])
    assert [outcome.error for outcome in outcomes] == ["prediction_failed"] * 2
    assert "logits are not finite numbers" in outcomes[0].message


def test_a_target_is_scored_where_the_answer_stands(folder: Path) -> None:
    system = opened(configured(folder, order="answer-first"))
    (prediction,) = system.predict([item(1)])
    (same,) = system.predict([item(1, target=prediction.answer)])
    assert same.target_logprob == same.answer_logprob
    (other,) = system.predict([item(1, target="Bonn1")])
    assert other.target_logprob is not None
    assert other.target_logprob < 0


@pytest.mark.parametrize("order", ["explain-first", "answer-first"])
def test_targets_do_not_depend_on_the_items_beside_them(order: str, folder: Path) -> None:
    system = opened(configured(folder, order=order))
    items = [item(number, target=target) for number, target in enumerate(["Bonn1 or Rome", "yes", "Bo"])]
    for question, beside in zip(items, system.predict(items), strict=True):
        (alone,) = system.predict([question])
        assert alone.target_logprob == pytest.approx(beside.target_logprob, abs=1e-3)
        assert alone.target_logprob is not None
        assert alone.target_logprob < 0


def test_targets_of_types_share_the_probability(folder: Path) -> None:
    system = opened(configured(folder))
    chances = [system.predict([item(1, target=kind)])[0].target_logprob for kind in ("yes", "no")]
    assert all(chance is not None and chance < 0 for chance in chances)


def test_leave_one_out_gives_the_share_lost_without_each_sentence(folder: Path) -> None:
    system = opened(configured(folder, relevance="leave-one-out"))
    cited = opened(configured(folder))
    question = item(2)
    (whole,), (plain,) = system.predict([question]), cited.predict([question])
    assert (whole.answer, whole.rationale) == (plain.answer, plain.rationale)
    assert whole.answer_logprob is not None
    # Two articles with three and one sentences; the three are equal.
    without = [
        item(1).model_copy(update={"context": [("Ada", ["Ada was born in Bonn2."] * 2), question.context[1]]})
    ] * 3
    without.append(question.model_copy(update={"context": [question.context[0], ("Bo", [])]}))
    expected = []
    for reduced in without:
        (left,) = cited.predict([reduced.model_copy(update={"target": whole.answer})])
        assert left.target_logprob is not None
        expected.append(max(0.0, 1 - math.exp(left.target_logprob - whole.answer_logprob)))
    chances = [fact.probability for fact in whole.fact_probabilities or []]
    assert chances == pytest.approx(expected, abs=1e-3)
    assert max(chances) > 0
    assert whole.usage is not None
    assert plain.usage is not None
    assert whole.usage.input_tokens > 4 * plain.usage.input_tokens


def test_a_target_is_answered_without_leave_one_out(folder: Path) -> None:
    system = opened(configured(folder, relevance="leave-one-out"))
    cited = opened(configured(folder))
    question = item(2, target="Bonn2")
    assert system.predict([question])[0].usage == cited.predict([question])[0].usage
    assert (system.language_model.relevance, cited.language_model.relevance) == ("leave-one-out", "citation")
    assert system.revision != cited.revision


def test_the_order_changes_the_revision_and_the_folder_alone_has_one(folder: Path) -> None:
    revisions = {
        opened(configured(folder, order=order)).revision for order in ("explain-first", "answer-first")
    }
    assert len(revisions | {opened(folder).revision}) == 3


def test_an_item_that_is_too_long_is_refused(folder: Path) -> None:
    system = opened(folder)
    with pytest.raises(InvalidRequest, match="reads 1200"):
        system.check(QAItem(id="1", question="?", context=[("A", ["word " * 2_000])]))


def test_a_wrong_file_names_the_field(folder: Path) -> None:
    with pytest.raises(UnusableSystem, match="order: "):
        opened(configured(folder, order="both"))
    with pytest.raises(UnreadableWeights, match="no weights are shipped"):
        load(None, torch.device("cpu"), name="causal-lm", description="")


LABELS = ("SUPPORTS", "SUPPORTED", 'say "no"')


@pytest.mark.parametrize("order", ["explain-first", "answer-first"])
def test_an_item_with_labels_gets_one_of_them(order: str, folder: Path) -> None:
    system = opened(configured(folder, order=order))
    items = [item(number).model_copy(update={"labels": LABELS}) for number in range(3)]
    for question, prediction in zip(items, system.predict(items), strict=True):
        assert (prediction.type, prediction.answer in LABELS) == ("label", True)
        # The labels share the whole probability, and the chosen one has its part of it.
        targets = [system.predict([question.model_copy(update={"target": label})])[0] for label in LABELS]
        chances = {label: scored.target_logprob for label, scored in zip(LABELS, targets, strict=True)}
        assert sum(math.exp(chance) for chance in chances.values() if chance is not None) == pytest.approx(1)
        assert prediction.answer_logprob == pytest.approx(chances[prediction.answer], abs=1e-3)


def test_an_answer_that_is_no_label_has_no_probability(folder: Path) -> None:
    question = item(1, target="Bonn").model_copy(update={"labels": LABELS})
    assert opened(folder).predict([question])[0].target_logprob == LEAST_LOGPROB
