"""Questions by condition, by earlier answers and on several pages.

The tests go over HTTP, down to the tables.
"""

import csv
import re

import pytest
from django.test import Client
from django.urls import reverse

from studyapp.actions.pages import submit_survey
from studyapp.actions.privacy import anonymise_participant
from studyapp.exports.bundle import write_bundle
from studyapp.models import Event, Participant, SurveyResponse
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

SCALE = {"points": 5}
SURVEY = [
    {"heading": "You and the system", "text": "Some questions about today."},
    {"key": "used", "text": "Did you use it?", "scale": "yes_no"},
    {"key": "often", "text": "How often?", "scale": SCALE, "show_if": {"question": "used", "is": True}},
    {"page_break": True},
    {
        "key": "why",
        "text": "Why?",
        "scale": {"kind": "text"},
        "show_if": {"question": "often", "at_least": 4},
    },
    {
        "key": "age",
        "text": "Your age?",
        "scale": {"kind": "number", "min": 18, "max": 99},
        "prefer_not_to_say": True,
    },
    {"page_break": True},
    {"key": "last", "text": "The last one?", "scale": "yes_no", "required": False},
]


@pytest.fixture
def study():
    questionnaire = {"template": "xqa-2020", "post_survey": SURVEY}
    return factories.make_study(items=1, conditions=1, questionnaire=questionnaire)


@pytest.fixture
def page(client, study):
    """A client that has submitted its item."""
    return walk_to_survey(client, study)


def walk_to_survey(client, study):
    token = factories.make_link_and_token(study=study)[1]
    client.get(f"/join/{token}/")
    client.post(address(study, "consent"), {"consent": "yes"})
    item = {"rated_correct": "yes", "known_before": "no", "certainty": "4", "helpfulness": "3"}
    send(client, address(study, "item", 1), **item)
    return client


def address(study, name, *arguments):
    return reverse(f"studyapp:{name}", args=[study.slug, *arguments])


def key_of(response):
    return re.search(r'name="page_key" value="([^"]+)"', response.content.decode())[1]


def send(client, url, **answers):
    return client.post(url, {"page_key": key_of(client.get(url)), **answers}, follow=True)


def fields(response):
    """The questions that a page asks."""
    names = re.findall(r'name="(\w+)"', response.content.decode())
    return {name for name in names if f"changes_{name}" in names}


def table(study, tmp_path, name="post_survey"):
    folder = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
    write_bundle(study, folder)
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_it_works(page, study, tmp_path):
    url = address(study, "survey")
    first = page.get(url)
    assert fields(first) == {"used", "often"}
    assert "<h2>You and the system</h2>" in first.content.decode()
    second = send(page, url, used="yes", often="5", client_total_ms="4000", hidden_count="1")
    assert fields(second) == {"why", "age"}
    third = send(page, url, why="Why not", age="44", client_total_ms="3000", hidden_count="0")
    assert fields(third) == {"last"}
    done = send(page, url, last="no", client_total_ms="1000", hidden_count="0")
    assert "completion code" in done.content.decode()
    survey = SurveyResponse.objects.get()
    assert survey.answers == {"used": True, "often": 5, "why": "Why not", "age": 44, "last": False}
    assert (survey.client_total_ms, survey.hidden_count) == (8000, 1)
    [row] = table(study, tmp_path)
    assert (row["often"], row["age"], row["age_declined"], row["client_total_ms"]) == (
        "5",
        "44",
        "false",
        "8000",
    )


def test_what_is_hidden_is_neither_missed_nor_stored(page, study, tmp_path):
    url = address(study, "survey")
    second = send(page, url, used="no", often="5")
    assert fields(second) == {"age"}, "a question that depends on what was not asked is not asked"
    send(page, url, age="prefer-not-to-say", why="Slipped in")
    send(page, url)
    assert SurveyResponse.objects.get().answers == {"used": False, "age_declined": True}
    [row] = table(study, tmp_path)
    assert (row["often"], row["why"], row["age"], row["age_declined"]) == ("", "", "", "true")


def test_a_question_that_appears_must_be_answered(page, study):
    answer = send(page, address(study, "survey"), used="yes")
    assert answer.status_code == 422
    assert "One question needs an answer" in answer.content.decode()
    assert not SurveyResponse.objects.get().earlier


def test_a_condition_stands_beside_its_question_without_a_script(page, study):
    html = page.get(address(study, "survey")).content.decode()
    assert "If you answered “Yes” to “Did you use it?”:" in html
    assert 'data-depends-on="used"' in html


def test_back_reload_and_a_second_tab_come_to_one_row(page, study):
    """No stored answer is lost or doubled, and an old page stores nothing."""
    url = address(study, "survey")
    old = page.get(url)
    send(page, url, used="yes", often="5")
    again = page.post(url, {"page_key": key_of(old), "used": "no"}, follow=True)
    assert fields(again) == fields(page.get(url)) == {"why", "age"}
    assert SurveyResponse.objects.get().page == 2
    assert SurveyResponse.objects.get().earlier[0]["answers"] == {"used": True, "often": 5}
    assert Event.objects.filter(kind="page_submitted").count() == 1
    tab = Client()
    tab.cookies = page.cookies
    assert fields(tab.get(url)) == {"why", "age"}


def test_a_page_is_stored_once_though_two_tabs_send_it(page, study):
    participant = Participant.objects.get()
    page.get(address(study, "survey"))
    sent = {"changes": {}, "timing": PageTiming(), "number": 1}
    assert submit_survey(participant=participant, answers={"used": False}, **sent)
    assert not submit_survey(participant=participant, answers={"used": True, "often": 1}, **sent)
    assert [record["answers"] for record in SurveyResponse.objects.get().earlier] == [{"used": False}]


def test_answers_of_a_part_that_was_left_are_exported(page, study, tmp_path):
    send(page, address(study, "survey"), used="yes", often="2", client_total_ms="700")
    [row] = table(study, tmp_path)
    assert (row["used"], row["often"], row["submitted_at"], row["client_total_ms"]) == (
        "true",
        "2",
        "",
        "700",
    )


def test_typed_text_of_an_earlier_page_goes_with_the_name(page, study):
    url = address(study, "survey")
    send(page, url, used="yes", often="5")
    send(page, url, why="I am Ada", age="30")
    anonymise_participant(participant=Participant.objects.get(), by=None, reason="test")
    assert "Ada" not in str(SurveyResponse.objects.values_list("earlier", "answers"))


class TestConditions:
    QUESTIONNAIRE = {
        "template": "xqa-2020",
        "pre_survey": [{"key": "marks", "text": "Marks?", "scale": "yes_no", "only": "explained"}],
        "random_order": ["item"],
    }

    def make(self, explanation):
        dataset = factories.make_dataset()
        run = factories.make_run(dataset=dataset)
        return factories.make_study(
            dataset=dataset.name,
            items=2,
            conditions=[{"system": run.system.name, "explanation": explanation}, {"ground_truth": True}],
            questionnaire=self.QUESTIONNAIRE,
            instructions=[{"text": "Judge."}, {"text": "Mind the marks.", "only": "explained"}],
        )

    def enter(self, study, explained):
        """A participant of one condition; the other is closed."""
        first, last = study.versions.get().conditions.order_by("position")
        (first if explained else last).is_open = False
        (first if explained else last).save()
        client = Client()
        client.get("/join/" + factories.make_link_and_token(study=study)[1] + "/")
        client.post(address(study, "consent"), {"consent": "yes"})
        return client

    def test_each_condition_has_its_questions_and_instructions(self, tmp_path):
        study = self.make("none")
        plain = self.enter(study, explained=False)
        assert "Mind the marks" not in plain.get(address(study, "stage", "instructions")).content.decode()
        item = send(plain, address(study, "stage", "instructions"))
        assert fields(item) == {"rated_correct", "known_before", "certainty"}, "its survey before is empty"
        for position in (1, 2):
            answers = {"rated_correct": "yes", "known_before": "no", "certainty": "4", "helpfulness": "5"}
            survey = send(plain, address(study, "item", position), **answers)
        assert fields(survey) == {"trust", "satisfaction"}
        assert "and its explanations" not in survey.content.decode()
        send(plain, address(study, "survey"), trust="4", satisfaction="2", relevant_information="1")
        row = table(study, tmp_path, "trials")[0]
        assert row["helpfulness"] == ""
        assert sorted(row["question_order"].split(";")) == ["certainty", "known_before", "rated_correct"]
        [row] = table(study, tmp_path)
        assert (row["satisfaction"], row["relevant_information"]) == ("2", "")

    def test_the_other_condition_is_asked_all(self):
        study = self.make("none")
        explained = self.enter(study, explained=True)
        assert "Mind the marks" in explained.get(address(study, "stage", "instructions")).content.decode()
        before = send(explained, address(study, "stage", "instructions"))
        assert fields(before) == {"marks"}
        item = send(explained, address(study, "stage", "pre_survey"), marks="yes")
        assert "helpfulness" in fields(item)

    def test_the_consent_page_has_no_instructions_of_a_condition(self, client):
        study = self.make("none")
        client.get("/join/" + factories.make_link_and_token(study=study)[1] + "/")
        assert "Mind the marks" not in client.get(address(study, "consent")).content.decode()


LOAD = {"kind": "matrix", "rows": {"mind": "Mind", "body": "Body"}, "points": 5}
ORDER = {"kind": "ranking", "choices": {"a": "Apples", "b": "Pears"}}
COMPOSITE = [
    {"key": "load", "text": "How much of each?", "scale": LOAD, "prefer_not_to_say": True},
    {
        "key": "best",
        "text": "Which is best?",
        "scale": ORDER,
        "prefer_not_to_say": True,
        "show_if": {"question": "load_mind", "at_least": 4},
    },
    {
        "key": "more",
        "text": "And then?",
        "scale": LOAD,
        "show_if": {"question": "best_a", "at_most": 1},
    },
]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"load": "prefer-not-to-say"}, {"load_declined": True}),
        ({"load": "prefer-not-to-say", "load_mind": "3"}, {"load_declined": True}),
        ({"load_mind": "3", "load_body": "1", "best_a": "1"}, {"load_mind": 3, "load_body": 1}),
        (
            {"load_mind": "4", "load_body": "1", "best": "prefer-not-to-say", "more_mind": "2"},
            {"load_mind": 4, "load_body": 1, "best_declined": True},
        ),
        (
            {"load_mind": "4", "load_body": "1", "best_a": "2", "best_b": "1", "more_mind": "2"},
            {"load_mind": 4, "load_body": 1, "best_a": 2, "best_b": 1},
        ),
        (
            {"load_mind": "5", "load_body": "1", "best_a": "1", "best_b": "2"}
            | {"more_mind": "2", "more_body": "3"},
            {"load_mind": 5, "load_body": 1, "best_a": 1, "best_b": 2, "more_mind": 2, "more_body": 3},
        ),
    ],
)  # fmt: skip
def test_matrix_and_ranking_are_declined_and_depend_on_a_row(client, sent, stored, tmp_path):
    study = factories.make_study(
        items=1, conditions=1, questionnaire={"template": "xqa-2020", "post_survey": COMPOSITE}
    )
    page = walk_to_survey(client, study)
    html = page.get(address(study, "survey")).content.decode()
    assert 'data-depends-on="load_mind"' in html
    assert "If you answered 4 or more to “How much of each? – Mind”:" in html
    send(page, address(study, "survey"), **sent)
    assert SurveyResponse.objects.get().answers == stored
    [row] = table(study, tmp_path)
    assert row["load_declined"] == ("true" if "load_declined" in stored else "false")
    assert row["load_mind"] == str(stored.get("load_mind", ""))


def test_an_open_matrix_names_its_missing_row(client):
    study = factories.make_study(
        items=1, conditions=1, questionnaire={"template": "xqa-2020", "post_survey": COMPOSITE}
    )
    page = walk_to_survey(client, study)
    again = send(page, address(study, "survey"), load_mind="4", best="prefer-not-to-say")
    assert again.status_code == 422
    assert 'href="#load_body-1"' in again.content.decode()
    assert not SurveyResponse.objects.get().answers
