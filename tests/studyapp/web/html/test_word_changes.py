"""Tests of the marks of changes: what is removed and added.

The marks go word by word and article by article.
"""

import pytest

from studyapp.web.html.word_changes import compare_articles, compare_words

BEFORE = [("A", ["One.", " Two.", " Three."]), ("B", ["Four."])]


def marked(pieces):
    signs = {"same": "{}", "removed": "[-{}]", "added": "[+{}]"}
    return "".join(signs[piece.kind].format(piece.text) for piece in pieces)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("Who is older?", "Who is younger?", "Who is [-older][+younger]?"),
        ("Who is old?", "Who is so old?", "Who is [+so ]old?"),
        ("Was it so?", "Was it?", "Was it[- so]?"),
        ("", "Neu", "[+Neu]"),
        ("same", "same", "same"),
    ],
)
def test_words(before, after, shown):
    assert marked(compare_words(before, after)) == shown


def test_articles_that_stayed_are_left_out():
    change = compare_articles(BEFORE, [("A", ["One.", "Two!", "Three."]), ("B", ["Four."])])
    ((title, sentences),) = change.articles
    assert title == "A"
    assert [row and marked(row) for row in sentences] == [None, "Two[-.][+!]", None]
    assert change.gone == []


def test_sentences_and_articles_come_and_go():
    change = compare_articles(BEFORE, [("A", ["One.", "Two.", "Three.", "New."]), ("C", ["Five."])])
    assert [(title, [row and marked(row) for row in rows]) for title, rows in change.articles] == [
        ("A", [None, "[+New.]"]),
        ("C", ["[+Five.]"]),
    ]
    assert change.gone == ["B"]


def test_white_space_alone_is_no_change():
    assert compare_articles(BEFORE, [("A", ["One. ", "Two.", "Three."]), ("B", [" Four."])]) == ([], [])


def test_two_articles_of_one_title_are_paired_in_order():
    twice = [("A", ["One."]), ("A", ["Two."])]
    assert compare_articles(twice, twice) == ([], [])
    assert compare_articles(twice, twice[:1]).gone == ["A"]
