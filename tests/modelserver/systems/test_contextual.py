"""The readers on a Hugging Face encoder.

The tests check alignment, isolation, independence of batches, and folders.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from modelserver.inputs.encoders import extract_encoder, open_model, open_tokenizer
from modelserver.inputs.features import Vocabulary, featurise, tokenise
from modelserver.inputs.packing import WINDOW_LIMITS
from modelserver.registry import load_system
from modelserver.serving.loading import estimate_bytes
from modelserver.systems.base import WARM_UP, count_weight_bytes
from modelserver.systems.batches import collate
from modelserver.systems.contextual import NO_PIECE, Contextual, Encoder, find_first_pieces
from modelserver.systems.reader import RecurrentSystem, save
from modelserver.systems.recurrent import Config, Embedder, build
from modelserver.wire.errors import InvalidRequest, UnreadableWeights
from modelserver.wire.schema import QAItem

CPU = torch.device("cpu")
NAMES = ["qi2019", "select-and-forget"]
ALL = [*NAMES, "qi2019-reg", "select-and-forget-reg"]
WINDOW = 96
NOTHING = Vocabulary(())


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def items(gold):
    """Four questions, each with five articles."""
    return [example.item.model_copy(update={"context": example.item.context[:5]}) for example in gold[:4]]


def encoder_of(folder):
    return Encoder(extract_encoder(open_model(folder, CPU, trained=False), folder), open_tokenizer(folder))


def _system(name, folder, *, window=WINDOW, seed=5):
    encoder = encoder_of(folder)
    torch.manual_seed(seed)
    config = Config(name, hidden=8, window=window)
    model = build(config, len(NOTHING), Contextual(encoder.model, encoder.tokenizer, config))
    return RecurrentSystem(
        model, config, NOTHING, name=name, description="small", revision="0" * 12, device=CPU
    )


@pytest.fixture(params=NAMES)
def system(request, encoder_folder):
    return _system(request.param, encoder_folder)


def _logits(system, items, gold=None):
    with torch.inference_mode():
        return system.model(collate([system.features(item) for item in items], CPU), gold)


def _close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=2e-5)


def test_it_works(system, items):
    for item, p in zip(items, system.predict(items), strict=True):
        listed = [(title, i) for title, sentences in item.context for i in range(len(sentences))]
        assert [fact.fact for fact in p.fact_probabilities] == listed
        assert p.id == item.id


# --- words and pieces


def test_the_first_piece_that_touches_a_word_is_its():
    pieces = [(0, -1, 0, 3), (0, -1, 3, 5), (0, 0, 0, 2), (0, 0, 4, 9), (0, 0, 9, 9), (1, 0, 0, 4)]
    words = [
        (0, -1, 0, 5),
        (0, 0, 0, 1),
        (0, 0, 2, 3),
        (0, 0, 4, 6),
        (0, 0, 7, 9),
        (1, -1, 0, 4),
        (1, 0, 3, 9),
    ]
    first_pieces = find_first_pieces(np.array(words), np.array(pieces))
    assert first_pieces.tolist() == [0, 2, NO_PIECE, 3, 3, NO_PIECE, 5]


@pytest.mark.parametrize("words, pieces, expected", [(0, 2, []), (2, 0, [NO_PIECE] * 2)])
def test_no_word_or_no_piece_is_no_fault(words, pieces, expected):
    rows = np.array([(0, 0, 0, 1), (0, 0, 1, 2)])
    assert find_first_pieces(rows[:words], rows[:pieces]).tolist() == expected


def test_pieces_of_words_spell_them(encoder_folder):
    system = _system("qi2019", encoder_folder)
    question = "Where  was Ωmega 😀 born, in 1,234?"
    item = QAItem(
        id="q", question=question, context=[("𝔸da", ["  She was\u00a0born", "in Elsk-2."]), ("B", [""])]
    )
    features = system.features(item)
    texts = {(0, -1): "𝔸da", (0, 0): "  She was\u00a0born", (0, 1): "in Elsk-2.", (1, -1): "B"}
    for word, piece in zip(features.places.tolist(), features.first.tolist(), strict=True):
        article, sentence, start, end = features.encoded.places[piece].tolist()
        assert (article, sentence) == tuple(word[:2])
        assert start <= word[2] < end <= len(texts[article, sentence])
    for word, piece in zip(tokenise(question), features.question_first.tolist(), strict=True):
        start, end = features.encoded.asked[piece].tolist()
        assert start <= word.start < end


def test_a_word_without_a_piece_has_the_vector_zero(encoder_folder, items):
    system = _system("qi2019", encoder_folder)
    features = system.features(items[0])
    features.first[3] = features.question_first[0] = NO_PIECE
    with torch.inference_mode():
        question, rows = system.model.embed(collate([features, system.features(items[1])], CPU))
    assert not rows[3, :32].any()
    assert not question[0, 0, :32].any()
    assert rows[2, :32].any()
    assert rows[4, :32].any()


def test_marks_are_those_of_every_embedder(encoder_folder, items):
    embed = _system("qi2019", encoder_folder).model.embed
    batch = collate([_system("qi2019", encoder_folder).features(item) for item in items], CPU)
    for embedded, marks in zip(embed(batch), Embedder()(batch), strict=True):
        assert torch.equal(embedded[..., 32:], marks)


def test_vectors_are_those_of_the_encoder_itself(bert_folder):
    """An article that fits a window gets the vectors of the library.

    They are those that the library's model gives for question and text.
    """
    system = _system("qi2019", bert_folder)
    encoder = encoder_of(bert_folder)
    item = QAItem(id="q", question="Who was born?", context=[("Ada", ["She was born."]), ("B", ["It is."])])
    with torch.inference_mode():
        question, rows = system.model.embed(collate([system.features(item)], CPU))
        for text, start in (("Ada She was born .", 0), ("B It is .", 5)):
            inputs = encoder.tokenizer(item.question, text, return_tensors="pt", return_offsets_mapping=True)
            offsets = inputs.pop("offset_mapping")[0].tolist()
            states = encoder.model(**inputs).last_hidden_state[0]
            places = [i for i, side in enumerate(inputs.sequence_ids(0)) if side == 1]
            begins = [token.start for token in tokenise(text)]
            firsts = [next(i for i in places if offsets[i][0] == begin) for begin in begins]
            _close(rows[start : start + len(firsts), :32], states[firsts])
    assert question.shape == (1, 4, 37)


# --- what reaches what


def test_padding_batch_mates_and_order_change_nothing(system, items):
    gold = None
    together = _logits(system, items, gold)
    features = [system.features(item) for item in items]
    tokens = np.cumsum([0] + [len(f.word) for f in features])
    facts = np.cumsum([0] + [len(f.facts) for f in features])
    long = QAItem(id="l", question="Why " * 10, context=[("T", ["word " * 150]), ("U", ["is"])])
    for number, item in enumerate(items):
        rows, judged = slice(*tokens[number : number + 2]), slice(*facts[number : number + 2])
        for mates in ([item], [item, long], [item, *items[::-1]]):
            alone = _logits(system, mates, gold)
            _close(alone.type[0], together.type[number])
            _close(alone.facts[: len(features[number].facts)], together.facts[judged])
            for name in ("start", "end"):
                _close(getattr(alone, name)[: len(features[number].word)], getattr(together, name)[rows])


def test_a_bound_on_tokens_that_run_together_changes_nothing(system, items, monkeypatch):
    whole = _logits(system, items)
    monkeypatch.setattr("modelserver.systems.contextual.WINDOW_LIMITS", replace(WINDOW_LIMITS, tokens=100))
    for unbounded, bounded in zip(vars(whole).values(), vars(_logits(system, items)).values(), strict=True):
        _close(unbounded.float(), bounded.float())


def test_articles_do_not_see_each_other(encoder_folder, items):
    system = _system("qi2019", encoder_folder)
    item = items[0]
    other = item.model_copy(update={"context": [*item.context[:-1], ("Zorb", ["It is far."])]})
    with torch.inference_mode():
        (question, words), (other_question, other_words) = (
            system.model.embed(collate([system.features(i)], CPU)) for i in (item, other)
        )
    shared = (system.features(item).article < len(item.context) - 1).sum()
    _close(words[:shared], other_words[:shared])
    _close(question, other_question)


def test_a_long_article_is_read_in_windows_each_piece_once(encoder_folder):
    system = _system("qi2019", encoder_folder, window=48)
    embed = system.model.embed
    text = " ".join(f"word{n}" for n in range(60))
    item = QAItem(id="q", question="Which?", context=[("A", [text]), ("B", ["short"])])
    encoded = embed.reader.encode(item)
    taken = embed._articles(encoded, np.ones(len(encoded), dtype=bool))
    assert len(taken) > 3
    read = [
        reading.window.encoded.ids[reading.window.start :][reading.start : reading.end].tolist()
        for reading in taken
    ]
    assert list(itertools.chain(*read)) == encoded.ids.tolist()
    assert all(embed.reader.length(reading.window) <= 48 for reading in taken)
    overlap = embed.reader.reading.overlap
    assert all(reading.start >= overlap // 2 for reading in taken[1:-1])  # each has some text before it
    assert system.predict([item])[0].id == "q"


def _selected(item):
    return {(item.context[1][0], 0), (item.context[4][0], 1)}


def _forced(system, item, selected):
    """Return the answer logits when exactly the given facts are selected.

    The fact head has no say.
    """
    system.model.threshold = 1.0
    features = system.features(item)
    return _logits(system, [item], torch.tensor([fact in selected for fact in features.facts]))


CHANGES = {
    "other words": lambda text: " ".join("Zorb" for _ in text.split()),
    "more words": lambda text: text + " Born in Elsk." * 9,
    "fewer words": lambda text: text.split()[0],
    "no word": lambda text: "",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("titles", [False, True])
def test_select_and_forget_answers_from_the_selected_facts_alone(encoder_folder, items, change, titles):
    system = _system("select-and-forget", encoder_folder)
    item, selected = items[0], _selected(items[0])
    context = [
        (
            "Zorb" + title if titles else title,
            [s if (title, i) in selected else CHANGES[change](s) for i, s in enumerate(sentences)],
        )
        for title, sentences in item.context
    ]
    other = item.model_copy(update={"context": context})
    renamed = {("Zorb" + title, i) for title, i in selected} if titles else selected
    _answers_alike(_forced(system, item, selected), _forced(system, other, renamed))


def test_an_unselected_fact_that_is_gone_changes_no_answer(encoder_folder, items):
    """Sentences and articles without selected facts are removed.

    They are whole sentences after the selected ones, and whole articles before, between and after.
    """
    system = _system("select-and-forget", encoder_folder)
    item, selected = items[0], _selected(items[0])
    context = [
        (title, sentences[: 1 + max(i for t, i in selected if t == title)])
        for title, sentences in item.context
        if any(t == title for t, _ in selected)
    ]
    other = item.model_copy(update={"context": context})
    _answers_alike(_forced(system, item, selected), _forced(system, other, selected))


def _answers_alike(actual, expected):
    assert actual.seen.sum() == expected.seen.sum() > 0
    torch.testing.assert_close(actual.type, expected.type, rtol=0, atol=2e-6)
    for name in ("start", "end"):
        a, b = getattr(actual, name)[actual.seen], getattr(expected, name)[expected.seen]
        torch.testing.assert_close(a, b, rtol=0, atol=2e-6)
        assert (getattr(actual, name)[~actual.seen] < -1e29).all()


def test_a_selected_fact_does_change_the_answer(encoder_folder, items):
    system = _system("select-and-forget", encoder_folder)
    item, selected = items[0], _selected(items[0])
    context = [
        (title, [CHANGES["other words"](s) if (title, i) in selected else s for i, s in enumerate(sentences)])
        for title, sentences in item.context
    ]
    original, altered = (
        _forced(system, i, selected) for i in (item, item.model_copy(update={"context": context}))
    )
    assert not torch.allclose(original.type, altered.type, atol=1e-4)


def test_nothing_but_selected_pieces_is_given_to_the_encoder_for_the_answer(encoder_folder, items):
    system = _system("select-and-forget", encoder_folder)
    calls: list[torch.Tensor] = []
    hook = system.model.embed.encoder.register_forward_pre_hook(
        lambda module, args, kwargs: calls.append(kwargs["input_ids"]), with_kwargs=True
    )
    _forced(system, items[0], _selected(items[0]))
    hook.remove()
    encoded = system.features(items[0]).encoded
    facts = [encoded.facts.index(fact) for fact in _selected(items[0])]
    allowed = {*encoded.question.tolist(), *encoded.ids[np.isin(encoded.fact, facts)].tolist()}
    specials = set(system.model.embed.tokenizer.all_special_ids)
    assert set(calls[-1].flatten().tolist()) <= allowed | specials
    assert not set(calls[-2].flatten().tolist()) <= allowed | specials  # the first reading saw more


def test_without_a_selected_fact_there_is_no_span(encoder_folder, items):
    system = _system("select-and-forget", encoder_folder)
    system.model.judge.out.bias.data = torch.tensor([100.0, -100.0])
    system.model.answer.type_out.bias.data = torch.tensor([50.0, 0.0, 0.0])
    p = system.predict(items[:1])[0]
    assert (p.answer, p.type, p.location, p.facts) == ("", "span", None, [])


@pytest.mark.parametrize(
    "context", [[("", [])], [("Ada", ["", "\u200b"]), ("B", [])], [("A", ["Ada."]), ("A", ["", " Old."])]]
)
def test_poor_contexts_are_answered(system, context):
    prediction = system.predict([QAItem(id="q", question="Where?", context=context)])[0]
    listed = [(title, i) for title, sentences in context for i in range(len(sentences))]
    assert list(dict.fromkeys(listed)) == [fact.fact for fact in prediction.fact_probabilities]


@pytest.mark.parametrize(
    "question, context, field",
    [
        ("Who?", [], "context"),
        ("  ", [("A", ["b"])], "question"),
        ("Who " * 90, [("A", ["b"])], "question"),
        ("Who?", [("A", ["word " * 7000])], "context"),
    ],
)
def test_what_cannot_be_read_names_the_field(bert_folder, question, context, field):
    system = _system("qi2019", bert_folder)
    item = QAItem(id="q", question=question, context=context)
    for call in (system.check, lambda item: system.predict([item])):
        with pytest.raises(InvalidRequest) as caught:
            call(item)
        assert caught.value.field == field


def test_cost_counts_what_the_encoder_reads(encoder_folder, items):
    system = _system("qi2019", encoder_folder)
    item = QAItem(id="q", question="Who was born?", context=[("Ada", ["She was."]), ("B", []), ("", [""])])
    encoded = system.model.embed.reader.encode(item)
    specials = len(system.model.embed.tokenizer("a", "b").input_ids) - 2
    readings = 3  # the question alone, and two articles that have some text
    read = len(encoded) + readings * (len(encoded.question) + specials)
    assert system.cost(item) == len(system.features(item)) + read
    assert system.cost(items[0]) > system.cost(item)


# --- folders


@pytest.fixture
def folder(tmp_path, bert_folder):
    system = _system("select-and-forget", bert_folder)
    save(tmp_path / "w", system.model, system.config, system.vocabulary)
    return tmp_path / "w"


def test_a_folder_is_all_that_another_process_needs(folder, items, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    names = {str(path.relative_to(moved)) for path in moved.rglob("*") if path.is_file()}
    assert names >= {"config.json", "vocab.json", "model.safetensors", "encoder/config.json"}
    assert "encoder/tokenizer.json" in names
    assert not [name for name in names if name.startswith("encoder/") and "safetensors" in name]
    (tmp_path / "items.json").write_text(json.dumps([item.model_dump() for item in items]))
    code = (
        "import json, sys; from pathlib import Path; from modelserver.registry import load_system;"
        "from modelserver.wire.schema import QAItem;"
        "system = load_system('select-and-forget', weights=Path(sys.argv[1]));"
        "items = [QAItem.model_validate(i) for i in json.loads(Path(sys.argv[2]).read_text())];"
        "print(json.dumps([system.revision, *[p.model_dump(mode='json') for p in system.predict(items)]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(moved), str(tmp_path / "items.json")],
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    system = load_system("select-and-forget", weights=moved)
    here = [system.revision, *[p.model_dump(mode="json") for p in system.predict(items)]]
    assert json.loads(done.stdout) == json.loads(json.dumps(here))


def test_saved_weights_answer_as_before(folder, bert_folder, items):
    before = _logits(_system("select-and-forget", bert_folder), items)
    after = _logits(load_system("select-and-forget", weights=folder), items)
    torch.testing.assert_close(after.facts, before.facts, rtol=0, atol=2e-2)  # stored in 16 bits


@pytest.mark.parametrize(
    "name", ["config.json", "encoder/config.json", "encoder/tokenizer.json", "model.safetensors"]
)
def test_the_revision_follows_every_file(folder, name):
    before = load_system("select-and-forget", weights=folder).revision
    path = folder / name
    if name == "model.safetensors":
        weights = load_file(path)
        weights["embed.encoder.embeddings.word_embeddings.weight"] += 0.5
        save_file(weights, path)
    else:
        path.write_text(json.dumps(json.loads(path.read_text()), indent=7))
    assert load_system("select-and-forget", weights=folder).revision != before


def _write(name, text):
    return lambda folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda f: shutil.rmtree(f / "encoder"), r"encoder.config\.json"),
        (lambda f: (f / "encoder/tokenizer.json").unlink(), "encoder"),
        (_write("encoder/config.json", "{"), r"encoder.config\.json"),
        (_write("encoder/config.json", '{"model_type": "none"}'), r"encoder.config\.json"),
        (
            _write(
                "encoder/config.json",
                '{"model_type": "t5", "d_model": 8, "num_layers": 1, "d_ff": 8, "vocab_size": 8}',
            ),
            "not an encoder alone",
        ),
        (_write("encoder/tokenizer.json", "{"), r"tokenizer\.json"),
        (_write("model.safetensors", "nothing"), r"model\.safetensors"),
    ],
)
def test_damaged_folders_are_named(folder, damage, message):
    damage(folder)
    with pytest.raises(UnreadableWeights, match=message):
        load_system("select-and-forget", weights=folder)


def test_a_window_that_means_nothing_is_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    for window in (3, "wide", 513):
        (folder / "config.json").write_text(json.dumps({**config, "window": window}))
        with pytest.raises(UnreadableWeights, match="w/"):
            load_system("select-and-forget", weights=folder)


def test_the_memory_of_an_encoder_is_counted(folder):
    system: Any = load_system("select-and-forget", weights=folder)
    encoder = sum(4 * p.numel() for p in system.model.embed.encoder.parameters())
    assert count_weight_bytes(system) > encoder
    assert estimate_bytes(folder) == pytest.approx(count_weight_bytes(system), rel=0.05)


def test_half_precision_answers_alike(folder, items):
    system = load_system("select-and-forget", weights=folder)
    full = _logits(system, items)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = _logits(system, items)
        assert system.predict([WARM_UP])[0].id == "warm-up"
    torch.testing.assert_close(half.facts.float(), full.facts, rtol=0, atol=0.1)


def test_features_without_pieces_are_a_fault_of_the_program(bert_folder, items):
    system = _system("qi2019", bert_folder)
    with pytest.raises(AssertionError, match="prepare"):
        system.model(collate([featurise(items[0], NOTHING)], CPU))
