"""Quotas of screening answers: admissions, definitions, staff pages."""

import pytest
from django.urls import reverse

from studyapp.actions.pages import show_stage, submit_stage
from studyapp.actions.participants import consent
from studyapp.actions.privacy import withdraw
from studyapp.definition.checks import ScreeningQuestion
from studyapp.models import EntryLink, Participant
from studyapp.queries.answer_quotas import list_answer_quotas
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from tests.html import join_lines
from tests.studyapp import factories
from tests.studyapp.actions.test_participants_at_once import at_once

pytestmark = pytest.mark.django_db

GENDER = {
    "key": "gender",
    "text": "What is your gender?",
    "scale": {"kind": "single", "choices": {"woman": "Woman", "man": "Man", "other": "Another"}},
    "quotas": {"woman": 2, "man": 1},
}


def answer(link, gender):
    """A participant who consented and answered the screening."""
    participant = consent(link=EntryLink.objects.select_related("study").get(pk=link.pk))
    page = find_current_page(participant).stage
    show_stage(page=page)
    assert submit_stage(page=page, answers={"gender": gender}, changes={}, timing=PageTiming())
    participant.refresh_from_db()
    return participant


@pytest.fixture
def link():
    return factories.make_link(study=factories.make_study(screening=[GENDER]))


def test_it_works(link):
    people = [answer(link, gender) for gender in ("woman", "man", "man", "woman", "woman", "other", "other")]
    assert [person.outcome for person in people] == ["", "", "full", "", "full", "", ""]
    assert [bool(person.group) for person in people] == [person.outcome == "" for person in people]
    rows = list_answer_quotas(link.study)
    assert [(row.answer, row.held, row.quota) for row in rows] == [("Woman", 2, 2), ("Man", 1, 1)]


def test_a_place_that_becomes_free_is_given_again(link):
    withdraw(participant=answer(link, "man"))
    assert answer(link, "man").outcome == ""
    assert answer(link, "man").outcome == "full"


def test_pilots_and_bots_have_no_quotas(link):
    pilot = factories.make_link(study=link.study, mode="pilot")
    assert [answer(pilot, "man").outcome for _ in range(3)] == ["", "", ""]
    assert answer(link, "man").outcome == ""


def test_one_who_is_not_admitted_sees_the_page_of_a_full_study(client, link):
    answer(link, "man")
    token = factories.make_link_and_token(study=link.study)[1]
    client.get(f"/join/{token}/")
    slug = link.study.slug
    page = client.post(reverse("studyapp:consent", args=[slug]), {"consent": "yes"}, follow=True)
    key = page.content.decode().partition('name="page_key" value="')[2].partition('"')[0]
    end = client.post(page.request["PATH_INFO"], {"page_key": key, "gender": "man"}, follow=True)
    assert Participant.objects.get(outcome="full").status == "ended"
    assert "reached its number of participants" in end.content.decode()


def test_staff_see_how_full_the_quotas_are(client, link):
    answer(link, "man")
    client.force_login(factories.make_user())
    page = client.get(reverse("studyapp:staff_study", args=[link.study.slug]))
    page = join_lines(page.content.decode())
    assert "Quotas of answers" in page
    assert '<th scope="row">Man</th><td class="number">1<span class="pill">full</span></td>' in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quotas": {"child": 3}}, "there is no answer 'child'"),
        ({"quotas": {"woman": 0}}, "greater than or equal to 1"),
        ({"quotas": {"woman": 10**12}}, "less than or equal to"),
        ({"accept": ["man"]}, "the answer 'woman' is not accepted"),
        ({"scale": {"kind": "text"}, "quotas": {"a": 1}}, "questions with one of several answers"),
    ],
)
def test_wrong_quotas(changes, message):
    with pytest.raises(ValueError, match=message):
        ScreeningQuestion.model_validate({**GENDER, **changes})


def test_quotas_of_truth_values_and_points():
    yes = {"key": "fluent", "text": "Do you read English?", "scale": "yes_no", "quotas": {"yes": 3}}
    assert ScreeningQuestion.model_validate(yes).quota_of(True) == 3
    assert ScreeningQuestion.model_validate(yes).quota_of(False) is None
    rated = {"key": "level", "text": "How well?", "scale": {"points": 5}, "quotas": {"4": 2, "5": 1}}
    assert ScreeningQuestion.model_validate(rated).quota_of(5) == 1
    assert ScreeningQuestion.model_validate(rated).quota_of(True) is None


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_many_at_once_fill_a_quota_exactly(link):
    people = at_once(12, lambda _: answer(link, "woman"))
    assert sorted(person.outcome for person in people) == [""] * 2 + ["full"] * 10
