"""Tests of the pages between consent and items, over HTTP.

They cover each outcome, each kind of question, and languages.
"""

import re

import pytest
from django.test import Client
from django.urls import reverse

from studyapp.actions.privacy import delete_participant
from studyapp.models import Condition, Event, Participant, StageResponse
from studyapp.views.participants import pages as participant_pages
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

ADMITTED = {"adult": "yes", "years": "20"}
COMPREHENDED = {"look_up": "no", "judged": "answer"}
NOT_COMPREHENDED = {"look_up": "yes", "judged": "answer"}
BEFORE = {"age": "44", "english": "fluent", "tools": ["search", "chatbot"]}


@pytest.fixture
def study():
    return factories.make_everything()


@pytest.fixture
def link(study):
    return "/join/" + factories.make_link_and_token(study=study)[1] + "/"


@pytest.fixture
def page(client, study, link):
    """A client that has consented, on the first stage."""
    client.get(link)
    client.post(at(study, "consent"), {"consent": "yes"})
    return client


def at(study, name, *arguments):
    return reverse(f"studyapp:{name}", args=[study.slug, *arguments])


def send(client, address, **fields):
    """Get a page and send its form; returns the answer after redirects."""
    shown = client.get(address)
    key = re.search(r'name="page_key" value="([^"]+)"', shown.content.decode())
    assert key is not None, shown
    return client.post(address, {"page_key": key[1], **fields}, follow=True)


def read_page_name(response):
    return response.redirect_chain[-1][0].rstrip("/").rpartition("/")[2]


def text(response):
    return re.sub(r"\s+", " ", response.content.decode())


def test_it_works(page, study):
    assert read_page_name(page.get(at(study, "study"), follow=True)) == "screening"
    shown = send(page, at(study, "stage", "screening"), **ADMITTED)
    assert read_page_name(shown) == "instructions"
    assert "Please do not look anything up." in text(shown)
    assert read_page_name(send(page, at(study, "stage", "instructions"))) == "comprehension"
    assert not Participant.objects.get().group, "a place is given after the checks"
    assert read_page_name(send(page, at(study, "stage", "comprehension"), **COMPREHENDED)) == "pre_survey"
    assert Participant.objects.get().group
    shown = send(page, at(study, "stage", "pre_survey"), **BEFORE, client_total_ms="9000")
    assert read_page_name(shown) == "1"
    assert "Practice 1 of 2" in text(shown)
    survey = StageResponse.objects.get(stage="pre_survey")
    assert survey.answers == {"age": 44, "english": "fluent", "tools": ["chatbot", "search"]}
    assert survey.client_total_ms == 9000
    assert survey.shown_at
    assert survey.submitted_at
    assert survey.shown_at <= survey.submitted_at


def test_practice_and_attention_are_counted_as_people_see_them(page, study):
    factories.go_through_stages(Participant.objects.get())
    answers = {"rated_correct": "no", "known_before": "no", "certainty": "4", "helpfulness": "3"}
    places, stimuli = [], []
    for position in range(1, 16):
        shown = text(page.get(at(study, "item", position)))
        places.append(re.search(r"<strong>([^<]+)</strong>", shown)[1])
        stimuli.append(shown)
        send(page, at(study, "item", position), **answers)
    assert places[:3] == ["Practice 1 of 2", "Practice 2 of 2", "Question 1 of 13"]
    assert places[-1] == "Question 13 of 13"
    assert "It does not count" in stimuli[0]
    assert "It does not count" not in stimuli[2]
    check = stimuli[2 + 4]
    assert "This page shows that you read." in check
    assert "The system&#x27;s answer" not in check
    assert Participant.objects.get().trials.get(item__kind="attention").passed is True


@pytest.mark.parametrize("answers", [{"adult": "no", "years": "20"}, {"adult": "yes", "years": "1"}])
def test_screened_out(page, study, answers):
    shown = send(page, at(study, "stage", "screening"), **answers)
    assert read_page_name(shown) == "done"
    assert "do not belong to the group" in text(shown)
    person = Participant.objects.get()
    assert (person.status, person.outcome, person.group) == ("ended", "screened_out", "")
    assert person.ended_at is not None
    assert person.stages.get().passed is False
    assert not person.trials.exists()
    assert Event.objects.filter(participant=person, kind="ended").count() == 1
    assert read_page_name(page.get(at(study, "stage", "instructions"), follow=True)) == "done"


def test_a_second_try_of_the_comprehension_check(page, study):
    send(page, at(study, "stage", "screening"), **ADMITTED)
    send(page, at(study, "stage", "instructions"))
    shown = send(page, at(study, "stage", "comprehension"), **NOT_COMPREHENDED)
    assert read_page_name(shown) == "comprehension"
    assert "You have one more attempt." in text(shown)
    assert "Please do not look anything up." in text(shown)
    assert "checked" not in text(shown), "the page must not say which answer was wrong"
    assert read_page_name(send(page, at(study, "stage", "comprehension"), **COMPREHENDED)) == "pre_survey"
    tries = StageResponse.objects.filter(stage="comprehension").values_list("attempt", "passed")
    assert list(tries) == [(1, False), (2, True)]


def test_failed_comprehension(page, study):
    send(page, at(study, "stage", "screening"), **ADMITTED)
    send(page, at(study, "stage", "instructions"))
    send(page, at(study, "stage", "comprehension"), **NOT_COMPREHENDED)
    shown = send(page, at(study, "stage", "comprehension"), **NOT_COMPREHENDED)
    assert read_page_name(shown) == "done"
    assert Participant.objects.get().outcome == "failed_comprehension"


def test_full(page, study):
    Condition.objects.filter(version__study=study).update(is_open=False)
    send(page, at(study, "stage", "screening"), **ADMITTED)
    send(page, at(study, "stage", "instructions"))
    shown = send(page, at(study, "stage", "comprehension"), **COMPREHENDED)
    assert "The study has reached its number of participants" in text(shown)
    assert Participant.objects.get().outcome == "full"


def test_the_server_owns_the_position(page, study):
    for name in ("instructions", "comprehension", "pre_survey", "nonsense"):
        assert read_page_name(page.get(at(study, "stage", name), follow=True)) == "screening"
    for name, arguments in (("item", [1]), ("survey", []), ("done", [])):
        assert read_page_name(page.get(at(study, name, *arguments), follow=True)) == "screening"


def test_a_page_sent_twice_is_stored_once(page, study):
    address = at(study, "stage", "screening")
    key = re.search(r'name="page_key" value="([^"]+)"', page.get(address).content.decode())[1]
    for _time in range(2):
        page.post(address, {"page_key": key, **ADMITTED})
    assert StageResponse.objects.filter(stage="screening").count() == 1
    assert StageResponse.objects.filter(stage="instructions").count() == 1


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("other", ["sends", "deletes"])
def test_another_tab_is_quicker(page, study, monkeypatch, method, other):
    """The other tab acts before the page of this one is looked for.

    The participant of this tab is identified by then.
    """
    address = at(study, "stage", "screening")
    key = re.search(r'name="page_key" value="([^"]+)"', page.get(address).content.decode())[1]
    form = {"page_key": key, **ADMITTED}
    acts, find = [True], participant_pages.find_current_page

    def current_page(participant):
        if acts:
            acts.clear()
            if other == "sends":
                page.post(address, form)
            else:
                delete_participant(participant=participant, by=None, reason="asked")
        return find(participant)

    monkeypatch.setattr(participant_pages, "find_current_page", current_page)
    response = getattr(page, method)(address, form)
    next_page = at(study, "stage", "instructions") if other == "sends" else at(study, "study")
    query = "?answered-before" if method == "post" else ""
    assert (response.status_code, response.headers["Location"]) == (302, next_page + query)
    assert page.get(next_page, follow=True).status_code == 200


def test_looking_stores_nothing_but_the_first_time(page, study):
    for _time in range(3):
        page.get(at(study, "stage", "screening"))
    assert StageResponse.objects.count() == 1
    assert Event.objects.filter(kind="stage_shown").count() == 1


def test_errors_stand_at_their_fields_and_keep_what_was_sent(page, study):
    shown = send(page, at(study, "stage", "screening"), adult="yes", years="many")
    assert shown.status_code == 422
    page_text = text(shown)
    assert 'href="#years"' in page_text
    assert 'value="many" aria-invalid="true" aria-describedby="years-error"' in page_text
    assert "Please enter a number from 0 to 100, in steps of 1." in page_text
    assert 'value="yes" checked' in page_text
    assert StageResponse.objects.get().answers is None


def test_several_choices_stay_ticked_after_an_error(page, study):
    send(page, at(study, "stage", "screening"), **ADMITTED)
    send(page, at(study, "stage", "instructions"))
    send(page, at(study, "stage", "comprehension"), **COMPREHENDED)
    shown = send(page, at(study, "stage", "pre_survey"), age="x", tools=["search", "none"])
    assert len(re.findall(r'type="checkbox"[^>]*checked', shown.content.decode())) == 2


class TestLanguages:
    def test_the_choice_is_kept(self, client, study, link):
        shown = text(client.get(link, follow=True))
        assert '<a href="?language=de" lang="de" hreflang="de">Deutsch</a>' in shown
        german = client.get(at(study, "consent"), {"language": "de"})
        assert "Sie nehmen an einer Studie" in text(german)
        assert '<html lang="de">' in text(german)
        client.post(at(study, "consent"), {"consent": "yes", "language": "de"})
        assert Participant.objects.get().language == "de"
        screening = text(client.get(at(study, "stage", "screening")))
        assert "Sind Sie 18 oder älter?" in screening
        assert "Zuerst ein paar Fragen" in screening
        assert "<span>Ja</span>" in screening
        factories.go_through_stages(Participant.objects.get())
        item = text(client.get(at(study, "item", 1)))
        assert "Halten Sie die Antwort des Systems für richtig?" in item
        assert "Stimme voll und ganz zu" in item
        assert "Where was the director" in item, "items stay in the language of their dataset"

    def test_the_browser_is_asked_where_nothing_was_chosen(self, client, study, link):
        client.get(link)
        shown = client.get(at(study, "consent"), headers={"Accept-Language": "de-AT,de;q=0.9"})
        assert '<html lang="de">' in text(shown)

    @pytest.mark.parametrize("language", ["fr", "", "../", "de-x"])
    def test_a_language_that_is_not_offered_is_that_of_the_study(self, client, study, link, language):
        client.get(link)
        client.post(at(study, "consent"), {"consent": "yes", "language": language})
        assert Participant.objects.get().language == "en"

    def test_who_is_no_participant_is_answered_in_the_language_of_the_browser(self, client, study):
        shown = client.get(at(study, "declined"), headers={"Accept-Language": "de"})
        assert "Sie nehmen nicht teil" in text(shown)
        assert "Bitte öffnen Sie Ihren Link" in text(
            client.get(at(study, "consent"), headers={"Accept-Language": "de"})
        )

    def test_one_language_is_no_choice(self):
        study = factories.make_study()
        client = Client()
        client.get("/join/" + factories.make_link_and_token(study=study)[1] + "/")
        assert "?language=" not in client.get(at(study, "consent")).content.decode()


def test_a_language_that_the_site_does_not_speak_is_not_offered(client, study, link, settings):
    settings.LANGUAGES = [("en", "English")]
    assert "Deutsch" not in text(client.get(link, follow=True))
