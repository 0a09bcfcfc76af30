"""Tests of what a condition shows: marked facts, and their cache.

The facts are marked within their articles.
"""

import re

import pytest

from predictions.explanations.articles import highlight_articles
from studyapp.models import Condition
from studyapp.web.html.stimulus import render_stimulus_once
from tests.html import join_lines
from tests.studyapp import factories

CONTEXT = [
    ("Kolwen", ["Kolwen is a town.", " It lies by the sea. ", ""]),
    ("Ada Brenn", ["Ada Brenn was born in Kolwen.", "She made four films."]),
    ("Vessel", ["A vessel floats."]),
]


def test_it_works():
    explained, others = highlight_articles(CONTEXT, [("Kolwen", 1), ("Ada Brenn", 0)])
    assert [(s.text, s.is_fact) for s in explained[0].sentences] == [
        ("Kolwen is a town.", False),
        ("It lies by the sea.", True),
    ]
    assert [article.title for article in explained] == ["Kolwen", "Ada Brenn"]
    assert [article.title for article in others] == ["Vessel"]


def test_an_empty_explanation_marks_nothing():
    explained, others = highlight_articles(CONTEXT, [])
    assert explained == []
    assert len(others) == 3


@pytest.mark.parametrize("fact", [("Kolwen", 7), ("Nowhere", 0), ("Kolwen", 2)])
def test_a_fact_that_names_no_sentence_marks_nothing(fact):
    assert highlight_articles(CONTEXT, [fact])[0] == []


def shown(study):
    """The first item, and what the first condition shows for it."""
    version = study.versions.get()
    condition = Condition.objects.get(version=version, position=1)
    item = version.items.order_by("position")[0]
    return item, render_stimulus_once(version, condition=condition.name, item_id=item.external_id)


@pytest.mark.django_db
def test_an_item_shows_question_answer_and_marked_facts():
    item, html = shown(factories.make_study())
    assert item.text in html
    marked = re.findall(
        r'<mark\s+class="fact"><span class="visually-hidden">Highlighted: </span>([^<]+)', html
    )
    assert marked == ["It was directed by Ada Brenn."]
    before_details, details = html.split("<details")
    assert "<h3>The Lost Harbour</h3>" in before_details
    assert "Show the 2 other articles" in details
    assert "<h3>Ada Brenn</h3>" in details


@pytest.mark.django_db
def test_an_empty_explanation_is_said():
    dataset = factories.make_dataset()
    run = factories.make_run(dataset=dataset)
    run.predictions.update(facts=[])
    conditions = [{"system": run.system.name}, {"ground_truth": True}]
    study = factories.make_study(conditions=conditions, dataset=dataset.name, items=2)
    _item, html = shown(study)
    assert "The system gave no explanation for this answer." in html
    assert "Show the 3 articles" in html
    assert "<mark" not in html


@pytest.mark.django_db
def test_text_of_a_dataset_is_no_markup():
    dataset = factories.make_dataset()
    run = factories.make_run(dataset=dataset)
    run.predictions.update(answer="<script>alert(1)</script>")
    conditions = [{"system": run.system.name}, {"ground_truth": True}]
    study = factories.make_study(conditions=conditions, dataset=dataset.name, items=2)
    assert "&lt;script&gt;alert(1)" in shown(study)[1]


@pytest.mark.django_db
@pytest.mark.parametrize("style", ["tokens", "both"])
def test_weights_of_the_question_alone_are_an_explanation(style):
    dataset = factories.make_dataset()
    run = factories.make_run(dataset=dataset)
    run.predictions.update(facts=[], explanation_weights=[], question_weights=[[0, 3, 1.0]])
    conditions = [{"system": run.system.name, "explanation": style}]
    study = factories.make_study(conditions=conditions, dataset=dataset.name, items=1)
    item, html = shown(study)
    assert f"strong: </span>{item.text[:3]}</mark>{item.text[3:]}</h1>" in join_lines(html)
    assert "Words of the question are underlined as well." in html
    assert "how strongly each part supported the answer" in html
    assert "gave no explanation" not in html


@pytest.mark.django_db
def test_a_stimulus_is_rendered_once(django_assert_num_queries):
    study = factories.make_study()
    _item, first = shown(study)
    version = study.versions.get()
    with django_assert_num_queries(2):  # of this test: the condition and the item
        condition = Condition.objects.get(version=version, position=1)
        item = version.items.order_by("position")[0]
        again = render_stimulus_once(version, condition=condition.name, item_id=item.external_id)
    assert again is first


class TestTokens:
    CONTEXT = [("A", [" One two  three. ", "Four."]), ("B", ["Five."])]

    def pieces(self, tokens, facts=()):
        explained, others = highlight_articles(self.CONTEXT, facts, tokens)
        shown = {article.title: [s.pieces for s in article.sentences] for article in [*explained, *others]}
        return [tuple(piece) for piece in shown["A"][0]], [article.title for article in explained]

    def test_a_sentence_is_cut_at_its_tokens_without_the_blanks_around(self):
        pieces, explained = self.pieces([("A", 0, 1, 4, 3), ("A", 0, 10, 15, 1)])
        assert pieces == [("One", 3), (" two  ", 0), ("three", 1), (".", 0)]
        assert explained == ["A"]

    def test_neighbours_of_one_level_are_one_piece(self):
        pieces, _ = self.pieces([("A", 0, 1, 4, 2), ("A", 0, 5, 8, 2), ("A", 0, 10, 15, 3)])
        assert pieces == [("One two", 2), ("  ", 0), ("three", 3), (".", 0)]

    def test_a_token_over_blanks_at_the_edge_keeps_its_text(self):
        pieces, _ = self.pieces([("A", 0, 0, 17, 1)])
        assert pieces == [("One two  three.", 1)]

    def test_text_is_the_same_whatever_is_highlighted(self):
        plain, _ = self.pieces([], facts=[("A", 1)])
        marked, _ = self.pieces([("A", 0, 3, 9, 1), ("A", 0, 12, 40, 2)])
        assert "".join(text for text, _ in plain) == "".join(text for text, _ in marked)

    @pytest.mark.django_db
    def test_pages_of_every_style(self):
        dataset = factories.make_dataset()
        run = factories.make_run(dataset=dataset)
        run.predictions.update(
            explanation_weights=[["The Lost Harbour", 1, 0, 2, 0.2], ["Kolwen", 0, 0, 6, 1]],
            rationale="Kolwen <b>is</b> a town.",
        )
        styles = ("facts", "tokens", "both", "none", "rationale", "facts+rationale")
        conditions = [
            {"system": run.system.name, "explanation": style, "represents": style == styles[0]}
            for style in styles
        ]
        version = factories.make_study(conditions=conditions, dataset=dataset.name, items=1).versions.get()
        item = version.items.get()
        html = {
            style: render_stimulus_once(version, condition=arm.name, item_id=item.external_id)
            for style, arm in zip(styles, version.conditions.order_by("position"), strict=True)
        }
        assert '<mark class="token' not in html["facts"]
        assert '<mark class="fact">' not in html["tokens"]
        strong = '<mark class="weight strong"><span class="visually-hidden">strong: </span>Kolwen</mark>'
        weak = '<mark class="weight weak"><span class="visually-hidden">weak: </span>It</mark>'
        for style in ("tokens", "both"):
            assert strong in html[style]
            assert weak in html[style]
            assert '<ul class="legend">' in html[style], "never colour alone, but a legend too"
        assert '<mark class="fact">' in html["both"]
        assert "explanation" not in html["none"]
        assert "<mark" not in html["none"]
        assert "Show the 3 articles" in html["none"]
        written = "Kolwen &lt;b&gt;is&lt;/b&gt; a town.</blockquote>"
        assert [style for style in styles if written in html[style]] == ["rationale", "facts+rationale"]
        assert '<mark class="fact">' in html["facts+rationale"]
        assert "<mark" not in html["rationale"]
        assert "Show the 3 articles" in html["rationale"]
        assert "gave no explanation" not in html["rationale"] + html["facts+rationale"]
