"""Items become tokens and windows of an encoder.

The tests check places in the text, what a window holds, and what the model gets.
"""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoTokenizer

from modelserver.inputs.features import IN_TITLE, NO_FACT, extract_text
from modelserver.inputs.windows import MAX_TOKENS, Window, WindowReader, WindowSettings
from modelserver.systems.extractive import make_window_reader
from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import QAItem

CPU = torch.device("cpu")
WORDS = ["<pad>", "<unk>", "[", "]", *"abcdefghij"]
SMALL = WindowSettings(window=16, overlap=5, longest=3)


def word_tokenizer(template="[ $A ] $B ]"):
    """Return a tokenizer for which a, b, ... are words."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[ $A ]", pair=template, special_tokens=[("[", 2), ("]", 3)]
    )
    return tokenizer


def word_reader(reading=SMALL, **settings):
    names = ("input_ids", "token_type_ids", "attention_mask")
    return WindowReader(word_tokenizer(**settings), reading, pad=0, names=names)


def item(*context, question="a b"):
    return QAItem(id="1", question=question, context=list(context))


@pytest.fixture
def tokenizer(encoder_folder):
    return AutoTokenizer.from_pretrained(encoder_folder)


@pytest.fixture
def reader(tokenizer):
    return make_window_reader(tokenizer, WindowSettings.of_at_most(96))


def test_it_works():
    reader = word_reader()
    encoded = reader.encode(item(("c", ["d e", "f"]), ("g", ["h"])))
    assert [WORDS[i] for i in encoded.question] == ["a", "b"]
    assert [WORDS[i] for i in encoded.ids] == ["c", "d", "e", "f", "g", "h"]
    assert encoded.facts == (("c", 0), ("c", 1), ("g", 0))
    assert encoded.fact.tolist() == [NO_FACT, 0, 0, 1, NO_FACT, 2]
    assert encoded.article.tolist() == [0, 0, 0, 0, 1, 1]
    assert encoded.place(0) == (0, IN_TITLE, 0, 1)
    assert encoded.place(2) == (0, 0, 2, 3)
    assert reader.windows(encoded) == [Window(encoded, 0, 6)]


class TestWindowSettings:
    @pytest.mark.parametrize(
        "values",
        [
            {"longest": 0},
            {"longest": 128},
            {"overlap": 192},
            {"window": 256},
            {"threshold": 1.0},
            {"threshold": -0.1},
            {"threshold": float("nan")},
        ],
    )
    def test_contradictions_are_refused(self, values):
        with pytest.raises(ValueError, match="must"):
            WindowSettings(**values)

    def test_the_default_fits_the_encoder(self):
        assert WindowSettings.of_at_most(512) == WindowSettings.of_at_most(10**6) == WindowSettings()
        assert WindowSettings.of_at_most(96) == WindowSettings(96, 32, 30)
        assert WindowSettings.of_at_most(512, 48) == WindowSettings(48, 16, 15)
        assert WindowSettings.of_at_most(10).window == 10


class TestPlaces:
    """Tokens lead back to the text as it was given, whatever the tokenizer."""

    CONTEXT = (
        ("The 😀 Title", ["  Ünïcode  words, \u2003here\t", "", " 𝒳𝒴 is 𝒳 & e\u0301! ", "😀😀x"]),
        ("\n", [" ", "[SEP] [CLS] </s> <mask>", "ﬁn 李白 end"]),
    )

    def test_all_text_is_covered_and_no_white_space(self, reader):
        question = item(*self.CONTEXT)
        encoded = reader.encode(question)
        covered: dict[tuple[int, int], set[int]] = {}
        for token in range(len(encoded)):
            article, sentence, start, end = encoded.place(token)
            title, sentences = question.context[article]
            text = title if sentence == IN_TITLE else sentences[sentence]
            assert 0 <= start <= end <= len(text)
            assert text[start:end] == text[start:end].strip()
            assert bool(encoded.solid[token]) == (start < end)
            covered.setdefault((article, sentence), set()).update(range(start, end))
        for article, (title, sentences) in enumerate(question.context):
            for sentence, text in enumerate((title, *sentences), start=IN_TITLE):
                visible = {i for i, sign in enumerate(text) if not sign.isspace()}
                # A combining mark may go with the letter before it.
                missing = visible - covered.get((article, sentence), set())
                assert {text[i] for i in missing} <= {"\u0301"}

    def test_a_word_after_signs_beyond_16_bits_is_found(self, reader):
        text = "😀😀 𝒳 words 😀 end"
        question = item(("T", [text]))
        encoded = reader.encode(question)
        positions = [encoded.place(token) for token in range(len(encoded)) if encoded.fact[token] == 0]
        first = next(position for position in positions if position.start == text.index("words"))
        last = next(position for position in positions if position.end == text.index(" 😀 end"))
        assert extract_text(question, first, last) == "words"

    def test_a_special_token_in_a_text_is_text(self, reader, tokenizer):
        encoded = reader.encode(item(("T", ["".join(tokenizer.all_special_tokens)]), question="[SEP] </s>?"))
        specials = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        assert not specials & {*encoded.ids.tolist(), *encoded.question.tolist()}

    def test_two_articles_with_one_title_share_their_facts_and_no_span(self):
        encoded = word_reader().encode(item(("c", ["d"]), ("c", ["e"])))
        assert encoded.facts == (("c", 0),)
        assert encoded.fact.tolist() == [NO_FACT, 0, NO_FACT, 0]
        assert encoded.article.tolist() == [0, 0, 1, 1]


class TestWindows:
    @given(st.integers(0, 80), st.integers(1, 5), st.sampled_from([SMALL, WindowSettings(21, 7, 2)]))
    def test_every_span_lies_whole_in_one(self, tokens, question_words, reading):
        reader = word_reader(reading)
        encoded = reader.encode(item(("", ["a"] * tokens), question="b " * question_words))
        windows = reader.windows(encoded)
        held = {(a, b) for _, start, end in windows for a in range(start, end) for b in range(a, end)}
        assert {(a, b) for a in range(tokens) for b in range(a, min(tokens, a + reading.longest + 1))} <= held
        assert all(0 < reader.length(window) <= reading.window for window in windows)
        assert all(window.end - following.start == reading.overlap for window, following in pairwise(windows))
        assert [window.end for window in windows][-1:] == ([tokens] if tokens else [])

    def test_a_context_without_words_has_none(self):
        reader = word_reader()
        encoded = reader.encode(item(("", ["", " "])))
        assert len(encoded) == 0
        assert reader.windows(encoded) == []


class TestInputs:
    def test_they_are_what_the_tokenizer_itself_makes_of_two_texts(self, reader, tokenizer):
        question, text = "Who lived in the town?", "The town was founded by a painter."
        encoded = reader.encode(item(("", [text]), question=question))
        inputs = reader.inputs(reader.windows(encoded), CPU)
        expected = tokenizer(question, f" {text}", return_tensors="pt")
        assert inputs.tensors.keys() == expected.keys()
        for name, tensor in inputs.tensors.items():
            assert torch.equal(tensor, expected[name]), name
        offset = inputs.offset[0]
        assert torch.equal(
            inputs.tensors["input_ids"][0, offset : offset + len(encoded)], torch.tensor(encoded.ids)
        )

    def test_padding_comes_last_and_is_masked(self):
        reader = word_reader()
        windows = [
            window
            for question, text in (("a", "c"), ("a b", "c d e"))
            for window in reader.windows(reader.encode(item(("", [text]), question=question)))
        ]
        inputs = reader.inputs(windows, CPU)
        assert inputs.offset == [3, 4]
        assert inputs.tensors["input_ids"].tolist() == [[2, 4, 3, 6, 3, 0, 0, 0], [2, 4, 5, 3, 6, 7, 8, 3]]
        assert inputs.tensors["attention_mask"].tolist() == [[1] * 5 + [0] * 3, [1] * 8]

    def test_a_model_is_given_only_what_it_takes(self):
        reader = WindowReader(word_tokenizer(), SMALL, pad=0, names=["input_ids"])
        windows = reader.windows(reader.encode(item(("", ["c"]))))
        assert list(reader.inputs(windows, CPU).tensors) == ["input_ids"]


class TestRefused:
    @pytest.mark.parametrize(
        "question, field, message",
        [
            (item(), "context", "at least one article"),
            (item(("c", ["d"]), question=" \t"), "question", "no words"),
            (item(("c", ["d"]), question="a " * 6), "question", "6 tokens; at most 5"),
            (item(("", ["a " * MAX_TOKENS, "b"])), "context", f"at most {MAX_TOKENS}"),
        ],
    )
    def test_an_item(self, question, field, message):
        with pytest.raises(InvalidRequest, match=message) as caught:
            word_reader().encode(question)
        assert caught.value.field == field

    def test_the_longest_context_is_read(self):
        encoded = word_reader().encode(item(("", ["a " * MAX_TOKENS])))
        assert len(encoded) == MAX_TOKENS

    def test_a_tokenizer_that_puts_the_context_first(self):
        with pytest.raises(ValueError, match="the context before the question"):
            word_reader(template="[ $B ] $A ]")


def test_another_s_settings_of_the_tokenizer_change_nothing():
    tokenizer = word_tokenizer()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=50)
    reader = WindowReader(tokenizer, SMALL, pad=0, names=["input_ids"])
    tokenizer.enable_truncation(1)
    assert np.array_equal(reader.encode(item(("c", ["d e"]))).ids, [6, 7, 8])
