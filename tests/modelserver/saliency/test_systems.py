"""Saliency of every system.

The tests check definitions on the real models, batches, words, and that models stay as they were.
"""

import pytest
import torch

from modelserver.inputs.encoders import extract_encoder, open_model, open_tokenizer
from modelserver.inputs.features import Vocabulary, tokenise
from modelserver.saliency import attribution
from modelserver.systems import extractive
from modelserver.systems.contextual import Contextual
from modelserver.systems.extractive_saliency import ExtractiveSaliency
from modelserver.systems.reader import RecurrentSystem
from modelserver.systems.recurrent import Config, build
from modelserver.systems.recurrent_saliency import RecurrentSaliency
from modelserver.wire.errors import InvalidRequest, PredictionFailed
from modelserver.wire.schema import QAItem, SaliencyOptions

CPU = torch.device("cpu")
KINDS = ["qi2019", "select-and-forget", "contextual", "contextual-select", "vectors", "bert", "roberta"]
METHODS = ["integrated-gradients", "occlusion", "gradient-x-input"]


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def items(gold):
    """Two short questions, and one of several windows."""
    short = [
        g.item.model_copy(update={"context": g.item.context[:n]}) for g, n in zip(gold, (1, 2), strict=False)
    ]
    return [*short, gold[2].item.model_copy(update={"context": gold[2].item.context[:4]})]


def recurrent(structure, items, folder=None, **sizes):
    torch.manual_seed(5)
    config = Config(structure, word_size=10, character_size=4, character_filters=6, hidden=8, **sizes)
    texts = [
        s for item in items for title, sentences in item.context for s in (item.question, title, *sentences)
    ]
    vocabulary = Vocabulary.build(texts, at_least=2)
    embed = None
    if folder is not None:
        encoder = extract_encoder(open_model(folder, CPU, trained=False), folder)
        embed = Contextual(encoder, open_tokenizer(folder), config)
    model = build(config, len(vocabulary), embed)
    if structure == "select-and-forget":
        with torch.no_grad():  # untrained, it would select nothing or everything
            model.judge.out.weight.mul_(6)
    if config.vector_size:
        torch.nn.init.normal_(model.embed.vectors)
    return RecurrentSystem(
        model, config, vocabulary, name=structure, description="", revision="0" * 12, device=CPU
    )


@pytest.fixture(params=KINDS)
def system(request, items):
    match request.param:
        case "bert" | "roberta":
            folder = request.getfixturevalue(f"{request.param}_folder")
            return extractive.load(folder, CPU, name="extractive-qa", description="")
        case "contextual" | "contextual-select":
            structure = "qi2019" if request.param == "contextual" else "select-and-forget"
            return recurrent(structure, items, request.getfixturevalue("bert_folder"), window=96)
        case "vectors":
            return recurrent("qi2019", items, vector_size=5, learned_words=3)
        case structure:
            return recurrent(structure, items)


def surface(system):
    return RecurrentSaliency(system) if isinstance(system, RecurrentSystem) else ExtractiveSaliency(system)


def text_of(item, score):
    if score.title is None:
        return item.question[score.start : score.end]
    title, sentences = item.context[score.article]
    assert title == score.title
    return (title if score.index is None else sentences[score.index])[score.start : score.end]


@pytest.mark.parametrize("target", ["start", "span"])
def test_it_explains_the_answer_and_is_complete(system, items, target):
    options = SaliencyOptions(target=target, summary="dot", steps=100)
    for item, answer, explanation in zip(
        items, system.predict(items), system.explain(items, options), strict=True
    ):
        assert (explanation.id, explanation.revision) == (item.id, system.revision)
        assert explanation.delta == pytest.approx(
            sum(s.score for s in explanation.scores) - (explanation.value - explanation.baseline_value),
            abs=1e-4,
        )
        assert abs(explanation.delta) < 0.05 * max(1.0, abs(explanation.value - explanation.baseline_value))
        first, last = explanation.scores[explanation.first], explanation.scores[explanation.last]
        if target == "span" and answer.type == "span":
            assert answer.answer.startswith(text_of(item, first))
            assert answer.answer.endswith(text_of(item, last))
            if answer.location.start is not None:
                assert (first.start, last.end) == (answer.location.start, answer.location.end)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", ["token", "word"])
def test_a_batch_gives_what_single_items_give(system, items, method, level):
    options = SaliencyOptions(method=method, level=level, target="span", steps=3)
    few = [item.model_copy(update={"context": item.context[:1]}) for item in items]
    together = system.explain(few, options)
    for item, batched in zip(few, together, strict=True):
        (alone,) = system.explain([item], options)
        assert [s.model_copy(update={"score": 0}) for s in batched.scores] == [
            s.model_copy(update={"score": 0}) for s in alone.scores
        ]
        assert [s.score for s in batched.scores] == pytest.approx([s.score for s in alone.scores], abs=2e-4)
        assert batched.value == pytest.approx(alone.value, abs=1e-4)
    assert system.explain(few, options) == together


def test_words_are_those_of_the_text(system, items):
    for item, explanation in zip(
        items, system.explain(items, SaliencyOptions(level="word", steps=1)), strict=True
    ):
        question_words = [text_of(item, score) for score in explanation.scores if score.title is None]
        assert question_words == [token.text for token in tokenise(item.question)]
        sentences = {(s.article, s.index) for s in explanation.scores if s.title is not None}
        whole = 0
        for article, index in sentences:
            words = [
                s
                for s in explanation.scores
                if (s.article, s.index) == (article, index) and s.title is not None
            ]
            title, texts = item.context[article]
            text = title if index is None else texts[index]
            whole += [text[s.start : s.end] for s in words] == [token.text for token in tokenise(text)]
        assert whole >= len(sentences) - 2  # a window may begin and end within one


def test_masking_everything_gives_the_baseline(system, items):
    options = SaliencyOptions(steps=1)
    (explanation,) = system.explain(items[:1], options)
    view = surface(system)
    (subject,) = view.explainable(items[:1], options)
    with torch.no_grad():
        (baseline_score,) = view.scores([subject], [subject.baseline], [None]).tolist()
        (score,) = view.scores([subject], [subject.rows], [None]).tolist()
    assert (explanation.value, explanation.baseline_value) == pytest.approx((score, baseline_score), abs=1e-5)


def test_it_leaves_the_model_as_it_was_also_after_a_failure(system, items, monkeypatch):
    model = system.model
    model.train(False)
    next(model.children()).train(True)  # an odd state, to be left alone
    modes = [module.training for module in model.modules()]
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    requires_grad = [parameter.requires_grad for parameter in model.parameters()]
    calls = []

    def failing(*args, original=attribution.summarise_by_unit):
        calls.append(args)
        raise RuntimeError("broken")

    system.explain(items[:1], SaliencyOptions(steps=2))
    monkeypatch.setattr(attribution, "summarise_by_unit", failing)
    with pytest.raises(RuntimeError, match="broken"):
        system.explain(items[:1], SaliencyOptions(steps=2))
    assert calls
    assert [module.training for module in model.modules()] == modes
    assert [parameter.requires_grad for parameter in model.parameters()] == requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks or m._backward_hooks for m in model.modules())
    assert all(torch.equal(state[name], tensor) for name, tensor in model.state_dict().items())
    assert torch.is_grad_enabled()


def test_the_occluded_text_of_an_encoder_is_the_text_with_mask_tokens(bert_folder, items):
    system = extractive.load(bert_folder, CPU, name="extractive-qa", description="")
    options = SaliencyOptions(method="occlusion")
    (explanation,) = system.explain(items[:1], options)
    (subject,) = ExtractiveSaliency(system).explainable(items[:1], options)
    inputs = system.reader.inputs([subject.inner.window], CPU)
    question_length = len(subject.inner.window.encoded.question)
    position = inputs.offset[0] - question_length + subject.first
    for row in (0, question_length, len(explanation.scores) - 1):
        ids = inputs.tensors["input_ids"].clone()
        masked_position = (
            inputs.asked + row if row < question_length else inputs.offset[0] - question_length + row
        )
        ids[0, masked_position] = int(system.reader.mask or 0)
        with torch.no_grad():
            outputs = system.model(**inputs.tensors | {"input_ids": ids})
        expected = explanation.value - float(outputs.start_logits[0, position])
        assert explanation.scores[row].score == pytest.approx(expected, abs=1e-4)


def test_a_hidden_word_of_a_recurrent_reader_matches_no_other():
    item = QAItem(id="a", question="Who sang?", context=[("Band", ["Mira sang.", "All sang."])])
    system = recurrent("qi2019", [item])
    view = RecurrentSaliency(system)
    (subject,) = view.explainable([item], SaliencyOptions())
    unknown = QAItem(id="a", question="Who zzz?", context=item.context)
    (other,) = view.explainable([unknown], SaliencyOptions())
    # Another word in the same place: the model is left with what an unknown and unmatched word leaves it.
    rows = other.rows.clone()
    rows[1] = subject.baseline[1]
    masked = subject.rows.clone()
    masked[1] = subject.baseline[1]
    with torch.no_grad():
        (hidden,) = view.scores([subject], [masked], [torch.tensor([1]).numpy()]).tolist()
        (shown,) = view.scores([subject], [masked], [None]).tolist()
        replaced = type(other)(**vars(other) | {"first": subject.first, "last": subject.last})
        (expected,) = view.scores([replaced], [rows], [None]).tolist()
    assert hidden == pytest.approx(expected, abs=1e-6)
    assert abs(shown - hidden) > 1e-4


def test_nothing_selected_is_nothing_to_explain(items):
    system = recurrent("select-and-forget", items)
    with torch.no_grad():
        system.model.judge.out.bias.copy_(torch.tensor([100.0, -100.0]))
    with pytest.raises(PredictionFailed, match="saw no words"):
        system.explain(items[:1], SaliencyOptions())


def test_a_context_without_text(bert_folder):
    system = extractive.load(bert_folder, CPU, name="extractive-qa", description="")
    empty = QAItem(id="a", question="Who sang?", context=[("", [""])])
    with pytest.raises(PredictionFailed, match="no token"):
        system.explain([empty], SaliencyOptions())


def test_an_encoder_without_a_mask_token(bert_folder, items):
    system = extractive.load(bert_folder, CPU, name="extractive-qa", description="")
    system.reader.mask = None
    with pytest.raises(InvalidRequest, match="no mask token"):
        system.explain(items[:1], SaliencyOptions())
    assert system.explain(items[:1], SaliencyOptions(baseline="zero", steps=1))
