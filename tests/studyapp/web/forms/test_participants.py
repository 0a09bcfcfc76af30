"""Tests of the forms: fieldsets of questions, keys of rendered pages."""

import re

from studyapp.definition.questions.answer_scales import LikertScale
from studyapp.definition.questions.question import Question
from studyapp.definition.questions.questionnaires import TEMPLATES
from studyapp.web.forms.participants import (
    build_rows,
    make_consent_key,
    make_page_key,
    read_consent_key,
    render_questions,
)
from tests.html import join_lines

QUESTIONS = TEMPLATES["xqa-2020"].item


def test_it_works():
    html = render_questions(build_rows(QUESTIONS, {}, {}))
    assert re.findall(r"<legend>([^<]+)</legend>", html) == [
        question.text.replace("'", "&#x27;") for question in QUESTIONS
    ]
    assert html.count("<fieldset") == html.count("</fieldset>") == 4
    radios = re.findall(r'type="radio"\s+id="([^"]+)"\s+name="([^"]+)"\s+value="([^"]+)"', html)
    assert len(radios) == 2 + 2 + 5 + 5
    assert len({identifier for identifier, _name, _value in radios}) == len(radios)
    for identifier, _name, _value in radios:
        assert f'<label class="option" for="{identifier}">' in html
    assert "checked" not in html


def test_every_question_counts_its_changes():
    html = render_questions(build_rows(QUESTIONS, {}, {}))
    assert re.findall(r'type="hidden"\s+name="changes_(\w+)"\s+value=""', html) == [q.key for q in QUESTIONS]


def test_an_error_belongs_to_its_question():
    html = render_questions(
        build_rows(QUESTIONS, {"certainty": "2"}, {"known_before": "Please answer this question."})
    )
    assert '<fieldset class="question wrong" aria-describedby="known_before-error">' in join_lines(html)
    assert html.count('id="known_before-error"') == html.count("wrong") == 1
    assert re.findall(r'id="([\w-]+)"[^>]*checked', html) == ["certainty-2"]


def test_a_question_may_be_optional():
    question = Question(
        key="why", text="Why?", scale=LikertScale(points=2, labels=["No", "Yes"]), required=False
    )
    assert "(optional)" in render_questions(build_rows([question], {}, {}))


def test_a_page_key_names_one_page():
    keys = {make_page_key("item", 1), make_page_key("item", 2), make_page_key("survey", 1)}
    assert len(keys) == 3
    assert make_page_key("item", 1) in keys


def test_a_consent_key_gives_a_public_id_of_its_own():
    first, second = make_consent_key(3), make_consent_key(3)
    page = read_consent_key(first)
    assert page is not None
    assert page.version == 3
    assert page != read_consent_key(second)
    assert page == read_consent_key(first)
    for other in ("", "consent-abc", first[:-1], make_page_key("item", 1)):
        assert read_consent_key(other) is None
