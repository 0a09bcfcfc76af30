"""Tests of texts in other languages, and of a study in one of them.

They cover known and missing texts.
"""

import pytest

from studyapp.definition.definition_file import load_definition, read_definition
from studyapp.definition.languages.builtin_translations import WORDINGS
from studyapp.definition.languages.translations import (
    Translation,
    fill_translation,
    find_missing_fields,
    find_unknown_texts,
    list_labels,
    translate,
)
from studyapp.definition.questions.question import Question
from studyapp.definition.questions.questionnaires import TEMPLATES
from studyapp.definition.questions.scales import SCALES, expand
from studyapp.definition.schema import StudyDefinition
from tests.studyapp.factories import EVERYTHING

XQA = {"item": TEMPLATES["xqa-2020"].item, "post_survey": TEMPLATES["xqa-2020"].post_survey}
DONE = {"title": "Titel", "consent": "Ja."}


def own_language(more: str, language: str = "de") -> StudyDefinition:
    """Return a small study in a language, with further fields as YAML."""
    text = (
        f"study: s\ntitle: T\nlanguage: {language}\ndataset: d\nconsent: Ja.\n"
        "conditions: [{system: s, explanation: facts}, {system: s, explanation: none}]\n"
    )
    return read_definition(text + more, "study.yaml")


def test_it_works():
    words = fill_translation(Translation(**DONE), "de", XQA)
    assert words.item["rated_correct"] == "Halten Sie die Antwort des Systems für richtig?"
    assert words.labels["Agree"] == "Stimme zu"
    assert find_missing_fields(words, XQA, instructions=[]) == []
    assert find_missing_fields(words, XQA, instructions=["Read."]) == ["instructions"]


def test_what_is_given_goes_before_what_is_known():
    words = fill_translation(
        Translation(**DONE, item={"certainty": "Sicher?"}, labels={"Agree": "Ja"}), "de", XQA
    )
    assert words.item["certainty"] == "Sicher?"
    assert words.labels["Agree"] == "Ja"
    assert "Disagree" in words.labels


def test_what_is_missing_is_named():
    words = fill_translation(Translation(), "fr", XQA)
    lacking = find_missing_fields(words, XQA, instructions=["Read."], attention=["check"])
    assert lacking[:4] == ["title", "consent", "instructions", "item.rated_correct"]
    assert "post_survey.trust" in lacking
    assert "attention.check" in lacking
    assert "labels.Strongly agree" in lacking
    assert lacking[-1] == "labels.I am satisfied with the question answering system."


def test_what_belongs_to_nothing_is_found():
    words = Translation(item={"mood": "?"}, attention={"x": "?"}, labels={"Agreee": "?"})
    assert find_unknown_texts(words, XQA, []) == [("item", "mood"), ("attention", "x"), ("labels", "Agreee")]


@pytest.mark.parametrize("name", [name for name, scale in SCALES.items() if scale.items])
def test_scales_of_ours_are_known_in_german(name):
    wordings = WORDINGS["de"]
    for entry in expand([{"template": name}]):
        question = Question.model_validate(entry)
        assert question.text in wordings
        assert {label for label in list_labels(question) if label not in wordings} == set()


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


@pytest.mark.parametrize("task", ["verification", "advice", "simulation"])
def test_templates_ask_in_the_language_of_the_study(task):
    german = own_language(f"task: {task}\n")
    questions = german.questionnaire.all
    assert questions
    assert {question.text for question in questions} <= set(WORDINGS["de"].values())
    assert {label for question in questions for label in list_labels(question)} <= set(
        WORDINGS["de"].values()
    )
    assert questions[-1].values == TEMPLATES["xqa-2020"].post_survey[-1].values


def test_own_texts_stay_in_a_german_study():
    more = (
        "questionnaire:\n  item: [{key: mood, text: Awake, scale: {points: 5}}]\n"
        "  post_survey: [{template: demographics}]\n"
    )
    german = own_language(more)
    (mood,) = german.questionnaire.item
    assert mood.text == "Awake"
    assert mood.choices[4] == ("5", "Stimme voll und ganz zu")
    assert german.questionnaire.post_survey[0].text == "Wie alt sind Sie?"
    assert own_language(more, language="en").questionnaire.post_survey[0].text == "How old are you?"


def test_a_german_study_is_known_in_english():
    german = own_language("translations: {en: {title: Study, consent: I agree.}}\n")
    assert german.find_missing_texts() == {"en": []}
    words = german.fill_translations()["en"]
    assert words.item["certainty"] == "I am confident that my choice is correct."
    assert words.labels["Stimme zu"] == "Agree"


def test_the_example_is_complete_in_german():
    definition = load_definition(EVERYTHING)
    assert definition.find_missing_texts() == {"de": []}
    without = definition.model_copy(
        update={"translations": {"de": definition.translations["de"].model_copy(update={"title": None})}}
    )
    assert without.find_missing_texts() == {"de": ["title"]}
