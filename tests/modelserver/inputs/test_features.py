"""Tokens, offsets, vocabulary, features, and finding an answer in them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelserver.inputs.features import (
    FORM_LENGTH,
    IN_TITLE,
    NO_FACT,
    Vocabulary,
    compute_number_features,
    count_tokens,
    extract_text,
    featurise,
    find_answer,
    tokenise,
)
from modelserver.wire.schema import QAItem

CONTEXT = [
    ("Ada Vorn", ["Ada Vorn was born in Elsk.", " She lives in Vorn."]),
    ("Elsk", ["Elsk has 12,345 people.", "", " It is old."]),
]


def _item(context=CONTEXT, question="Where was Ada Vorn born?"):
    return QAItem(id="q", question=question, context=context)


def test_it_works():
    assert [token.text for token in tokenise("Elsk's 12,345 people (3.5 %).")] == [
        "Elsk", "'", "s", "12,345", "people", "(", "3.5", "%", ")", ".",
    ]  # fmt: skip


@given(st.text())
def test_tokens_are_counted_as_they_are_split(text):
    assert count_tokens(text) == len(tokenise(text))


@given(st.text())
def test_offsets_are_code_points_of_the_text(text):
    tokens = tokenise(text)
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert all(token.end <= following.start for token, following in pairwise(tokens))
    assert not any(token.text.isspace() for token in tokens)


def test_offsets_count_signs_outside_the_basic_plane_once():
    assert [(t.text, t.start) for t in tokenise("🎬 Élan 𝒜")] == [("🎬", 0), ("Élan", 2), ("𝒜", 7)]


def test_the_vocabulary_keeps_frequent_words_in_a_fixed_order(tmp_path):
    vocabulary = Vocabulary.build(["b a a B", "c a"], at_least=2)
    assert vocabulary.words == ("a", "b")
    assert [vocabulary.id(word) for word in ("a", "b", "c")] == [2, 3, 1]
    vocabulary.save(tmp_path / "vocab.json")
    assert Vocabulary.load(tmp_path / "vocab.json") == vocabulary


def test_a_damaged_vocabulary_is_named(tmp_path):
    (tmp_path / "vocab.json").write_text('{"a": 1}')
    with pytest.raises(ValueError, match=r"vocab\.json: a list of words"):
        Vocabulary.load(tmp_path / "vocab.json")


def test_features_point_back_to_the_context():
    item = _item()
    features = featurise(item, Vocabulary(("born",)))
    assert features.facts == (("Ada Vorn", 0), ("Ada Vorn", 1), ("Elsk", 0), ("Elsk", 1), ("Elsk", 2))
    assert features.place(0) == (0, IN_TITLE, 0, 3)
    assert features.fact[0] == NO_FACT
    assert features.fact.max() == 4
    assert 3 not in features.fact  # the empty sentence has no token
    assert features.forms.shape[1] == FORM_LENGTH
    assert (features.article[1:] >= features.article[:-1]).all()
    assert extract_text(item, features.place(0), features.place(1)) == "Ada Vorn"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Elsk", (0, 0, 0, 0)),
        ("999,999", (1, 1, 0, 0)),
        ("2000", (1, pytest.approx(0.55, abs=0.01), 1, 1)),
        ("1100", (1, pytest.approx(0.507, abs=0.01), -0.8, -2)),
        ("7.5", (1, pytest.approx(0.155, abs=0.01), 0, 0)),
        ("1.2.3", (1, 0, 0, 0)),
        ("9" + ",999" * 200, (1, pytest.approx(2.5), 0, 0)),
    ],
)
def test_numbers_are_told_apart_by_size(text, expected):
    assert compute_number_features(text) == expected


def test_equal_words_have_equal_keys_whatever_their_case():
    features = featurise(_item(context=[("ELSK", ["elsk Elsk other"])]), Vocabulary(()))
    assert len(set(features.key[:3].tolist())) == 1
    assert features.key[3] != features.key[0]


def test_two_articles_with_one_title_share_their_facts():
    features = featurise(_item(context=[("A", ["one"]), ("A", ["two", " more"])]), Vocabulary(()))
    assert features.facts == (("A", 0), ("A", 1))
    assert features.fact.tolist() == [NO_FACT, 0, NO_FACT, 0, 1]


@pytest.mark.parametrize("context", [[("", [])], [("", [""]), ("", [])]])
def test_a_context_without_words_gives_no_tokens(context):
    features = featurise(_item(context=context), Vocabulary(()))
    assert len(features.word) == 0
    assert features.places.shape == (0, 4)


def test_an_answer_is_looked_for_in_the_gold_facts_first():
    item = _item()
    features = featurise(item, Vocabulary(()))

    def locate_answer(facts):
        start, _ = find_answer(features, "vorn", facts)
        position = features.place(start)
        return position.article, position.sentence

    assert locate_answer({("Ada Vorn", 1)}) == (0, 1)
    assert locate_answer({("Elsk", 0)}) == (0, 0)
    assert find_answer(features, "Ada Elsk", set()) is None
    assert find_answer(features, "?!", set()) is None


def test_an_answer_is_whole_tokens():
    features = featurise(_item(context=[("T", ["Valdorian towns in Valdoria"])]), Vocabulary(()))
    start, end = find_answer(features, "Valdoria", set())
    assert start == end == 4


def test_text_across_sentences_is_joined_as_the_article_is():
    item = _item()
    features = featurise(item, Vocabulary(()))
    tokens = [i for i in range(len(features.word)) if features.article[i] == 1 and features.fact[i] >= 0]
    assert extract_text(item, features.place(tokens[-6]), features.place(tokens[-1])) == "people. It is old."
