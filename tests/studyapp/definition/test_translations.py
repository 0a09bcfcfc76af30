"""Tests of texts in other languages: what is known, what is missing, and a study in another language."""

import pytest

from studyapp.definition.builtin_translations import WORDINGS
from studyapp.definition.questionnaires import TEMPLATES, Question
from studyapp.definition.scales import SCALES, expand
from studyapp.definition.schema import load_definition
from studyapp.definition.translations import Translation, filled, labels_of, missing, translate, unknown
from tests.studyapp.factories import EVERYTHING

XQA = {"item": TEMPLATES["xqa-2020"].item, "post_survey": TEMPLATES["xqa-2020"].post_survey}
DONE = {"title": "Titel", "consent": "Ja."}


def test_it_works():
    words = filled(Translation(**DONE), "de", XQA)
    assert words.item["rated_correct"] == "Halten Sie die Antwort des Systems für richtig?"
    assert words.labels["Agree"] == "Stimme zu"
    assert missing(words, XQA, instructions=[]) == []
    assert missing(words, XQA, instructions=["Read."]) == ["instructions"]


def test_what_is_given_goes_before_what_is_known():
    words = filled(Translation(**DONE, item={"certainty": "Sicher?"}, labels={"Agree": "Ja"}), "de", XQA)
    assert words.item["certainty"] == "Sicher?"
    assert words.labels["Agree"] == "Ja"
    assert "Disagree" in words.labels


def test_what_is_missing_is_named():
    words = filled(Translation(), "fr", XQA)
    lacking = missing(words, XQA, instructions=["Read."], attention=["check"])
    assert lacking[:4] == ["title", "consent", "instructions", "item.rated_correct"]
    assert "post_survey.trust" in lacking
    assert "attention.check" in lacking
    assert "labels.Strongly agree" in lacking
    assert lacking[-1] == "labels.I am satisfied with the question answering system."


def test_what_belongs_to_nothing_is_found():
    words = Translation(item={"mood": "?"}, attention={"x": "?"}, labels={"Agreee": "?"})
    assert unknown(words, XQA, []) == [("item", "mood"), ("attention", "x"), ("labels", "Agreee")]


@pytest.mark.parametrize("name", [name for name, scale in SCALES.items() if scale.items])
def test_scales_of_ours_are_known_in_german(name):
    known = WORDINGS["de"]
    for entry in expand([{"template": name}]):
        question = Question.model_validate(entry)
        assert question.text in known
        assert {label for label in labels_of(question) if label not in known} == set()


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_of_ours_are_known_in_german(name):
    questionnaire = TEMPLATES[name]
    for question in questionnaire.all:
        assert {question.text, question.unexplained_text or question.text} <= WORDINGS["de"].keys()


def test_a_translated_question_keeps_what_is_stored():
    for question in TEMPLATES["xqa-2020"].item:
        german = translate(question, "Frage?", WORDINGS["de"])
        assert german.text == "Frage?"
        assert german.values == question.values
        assert german.key == question.key
    assert german.choices[4] == ("5", "Stimme voll und ganz zu")


def test_the_example_is_complete_in_german():
    definition = load_definition(EVERYTHING)
    assert definition.missing_texts() == {"de": []}
    without = definition.model_copy(
        update={"translations": {"de": definition.translations["de"].model_copy(update={"title": None})}}
    )
    assert without.missing_texts() == {"de": ["title"]}
