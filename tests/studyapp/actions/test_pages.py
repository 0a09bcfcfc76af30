"""Tests of the participant's pages: the way through and the ways out."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from studyapp.actions.studies import close_study
from studyapp.link_tokens import resume_token
from studyapp.models import Event, Participant, SurveyResponse, Trial
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

ITEM = {"rated_correct": "yes", "known_before": "no", "certainty": "4", "helpfulness": "3"}
SURVEY = {
    "trust": "4",
    "relevant_information": "5",
    "irrelevant_information": "2",
    "satisfaction": "4",
}
CLOCKS = {
    "client_total_ms": "21000",
    "client_visible_ms": "20000",
    "client_hidden_ms": "1000",
    "hidden_count": "1",
    "first_interaction_ms": "5000",
}
STALE = "?answered-before"


@pytest.fixture
def study():
    return factories.make_study(items=2)


@pytest.fixture
def link(study):
    return "/join/" + factories.make_link_and_token(study=study)[1] + "/"


@pytest.fixture
def page(client, link):
    """A client that has consented, on the first item."""
    client.get(link)
    client.post(address_of(client, "consent"), {"consent": "yes"})
    return client


def address_of(client, name, *arguments):
    path = next(morsel["path"] for morsel in client.cookies.values() if morsel["path"] != "/")
    return reverse(f"studyapp:{name}", args=[path.split("/")[2], *arguments])


def key_of(response):
    return matched(r'name="page_key" value="([^"]+)"', response)


def matched(pattern, response):
    """The first group of a pattern in a page."""
    match = re.search(pattern, response.content.decode())
    assert match is not None, pattern
    return match[1]


def send(client, address, **fields):
    """Get a page and send its form."""
    return client.post(address, {"page_key": key_of(client.get(address)), **fields})


def walk_items(client):
    for position in (1, 2):
        response = send(client, address_of(client, "item", position), **ITEM)
    return response


def test_it_works(client, link):
    consent = client.get(link, follow=True)
    assert consent.redirect_chain[-1][0] == address_of(client, "consent")
    assert "You may stop at any time." in consent.content.decode()
    response = client.post(
        address_of(client, "consent"), {"consent": "yes", "page_key": key_of(consent)}, follow=True
    )
    assert response.redirect_chain[-1][0] == address_of(client, "item", 1)
    assert "Question 1 of 2" in response.content.decode()
    assert walk_items(client).url == address_of(client, "survey")
    assert send(client, address_of(client, "survey"), **SURVEY, **CLOCKS).url == address_of(client, "done")
    done = client.get(address_of(client, "done")).content.decode()
    participant = Participant.objects.get()
    assert participant.status == "completed"
    assert participant.completion_code in done
    assert participant.survey.answers == factories.SURVEY_ANSWERS
    assert participant.survey.client_visible_ms == 20_000
    assert client.get(address_of(client, "done")).content.decode() == done


def test_answers_and_clocks_are_stored(page):
    send(page, address_of(page, "item", 1), **ITEM, **CLOCKS, changes_certainty="2")
    trial = Trial.objects.get(position=1)
    assert trial.answers == {
        "rated_correct": True,
        "known_before": False,
        "certainty": 4,
        "helpfulness": 3,
    }
    assert trial.changes == {"certainty": 2}
    assert (trial.client_total_ms, trial.client_visible_ms, trial.client_hidden_ms) == (21_000, 20_000, 1000)
    assert (trial.hidden_count, trial.first_interaction_ms) == (1, 5000)


def test_empty_clocks_are_missing_not_zero(page):
    send(page, address_of(page, "item", 1), **ITEM, **dict.fromkeys(CLOCKS, ""), changes_certainty="")
    trial = Trial.objects.get(position=1)
    assert [getattr(trial, name) for name in CLOCKS] == [None] * 5
    assert trial.changes == {}


def test_looking_at_a_link_creates_nobody(link):
    for _time in range(3):
        stranger = Client()
        assert stranger.get(link, follow=True).status_code == 200
        assert stranger.head(link, follow=True).status_code == 200
        stranger.cookies.clear()
        assert stranger.get(link).status_code == 302
    assert not Participant.objects.exists()
    assert not Event.objects.filter(participant__isnull=False).exists()


def test_the_query_string_of_a_link_is_dropped(client, link):
    assert "?" not in client.get(link + "?who=me").url


def test_an_unknown_link_is_not_found(client):
    response = client.get("/join/nothing/")
    assert response.status_code == 404
    assert "check that you copied the whole link" in response.content.decode()


def test_a_closed_study_admits_nobody_and_says_so(client, study, link):
    client.get(link)
    close_study(study=study, by=None)
    for response in (
        client.get(link, follow=True),
        client.post(address_of(client, "consent"), {"consent": "yes"}),
    ):
        assert response.status_code == 410
        assert "closed" in response.content.decode()
    assert not Participant.objects.exists()


def test_who_is_in_a_closed_study_goes_on(page, study, link):
    close_study(study=study, by=None)
    assert page.get(link, follow=True).redirect_chain[-1][0] == address_of(page, "item", 1)


def test_a_study_not_open_yet_says_so(client):
    study = factories.make_study(launched=False)
    token = factories.make_link_and_token(study=study)[1]
    response = client.get(f"/join/{token}/", follow=True)
    assert response.status_code == 403
    assert "not open yet" in response.content.decode()


def test_a_used_link_admits_only_who_used_it(study):
    token = factories.make_link_and_token(study=study, single_use=True)[1]
    first, second = Client(), Client()
    for client in (first, second):
        client.get(f"/join/{token}/")
    first.post(address_of(first, "consent"), {"consent": "yes"})
    response = second.post(address_of(second, "consent"), {"consent": "yes"})
    assert response.status_code == 410
    assert "has been used" in response.content.decode()
    assert second.get(f"/join/{token}/", follow=True).status_code == 410
    assert first.get(f"/join/{token}/", follow=True).redirect_chain[-1][0] == address_of(first, "item", 1)
    assert Participant.objects.count() == 1


def test_without_the_link_cookie_the_consent_page_says_what_to_do(client, study):
    response = client.get(reverse("studyapp:consent", args=[study.slug]))
    assert response.status_code == 403
    assert "open that link again" in response.content.decode()
    assert "cookies" in response.content.decode()
    assert client.post(reverse("studyapp:consent", args=[study.slug]), {"consent": "yes"}).status_code == 403
    assert not Participant.objects.exists()


def test_a_cookie_of_another_study_is_no_cookie(page):
    other = factories.make_study()
    for name in ("participant", "entry"):
        page.cookies[name]["path"] = "/"
    assert page.get(reverse("studyapp:item", args=[other.slug, 1])).url == reverse(
        "studyapp:consent", args=[other.slug]
    )
    assert page.get(reverse("studyapp:consent", args=[other.slug])).status_code == 403


def test_a_forged_cookie_is_no_cookie(page, study):
    page.cookies["participant"] = Participant.objects.get().public_id + ".forged"
    assert page.get(f"/study/{study.slug}/").url == f"/study/{study.slug}/consent/"


def test_declining_stores_nothing(client, link):
    client.get(link)
    response = client.post(address_of(client, "consent"), {"consent": "no"}, follow=True)
    assert "You are not taking part" in response.content.decode()
    assert not Participant.objects.exists()


def test_consent_needs_a_choice(client, link):
    client.get(link)
    response = client.post(address_of(client, "consent"))
    assert response.status_code == 422
    assert "Please choose whether you want to take part." in response.content.decode()
    assert not Participant.objects.exists()


def test_a_consent_page_sent_twice_makes_one_participant(study):
    token = factories.make_link_and_token(study=study, single_use=True)[1]
    client = Client()
    key = key_of(client.get(f"/join/{token}/", follow=True))
    for _time in range(2):
        client.cookies.pop("participant", None)  # the first answer never arrived
        response = client.post(address_of(client, "consent"), {"consent": "yes", "page_key": key})
        assert response.status_code == 302
    assert Participant.objects.count() == 1


def test_who_has_consented_cannot_consent_again(page, link):
    assert page.get(link, follow=True).redirect_chain[-1][0] == address_of(page, "item", 1)
    assert page.post(address_of(page, "consent"), {"consent": "yes"}).url == address_of(page, "item", 1)
    assert Participant.objects.count() == 1


def test_every_other_page_leads_to_the_current_one(page):
    send(page, address_of(page, "item", 1), **ITEM)
    current = address_of(page, "item", 2)
    others = [("item", 1), ("item", 99), ("survey",), ("done",), ("study",), ("consent",)]
    for name, *arguments in others:
        assert page.get(address_of(page, name, *arguments)).url == current
    for name, *arguments in [("item", 1), ("item", 99), ("survey",)]:
        assert page.post(address_of(page, name, *arguments), ITEM).url == current + STALE
    walk_back = send(page, current, **ITEM)
    assert walk_back.url == address_of(page, "survey")
    assert page.get(current).url == address_of(page, "survey")


def test_an_item_sent_twice_is_stored_once(page):
    address = address_of(page, "item", 1)
    form = {"page_key": key_of(page.get(address))}
    assert page.post(address, form | ITEM).url == address_of(page, "item", 2)
    assert page.post(address, form | ITEM | {"certainty": "1"}).url == address_of(page, "item", 2) + STALE
    trial = Trial.objects.get(position=1)
    assert trial.answers == factories.ITEM_ANSWERS
    assert Participant.objects.get().items_submitted == 1


def test_a_form_of_an_old_tab_leads_on_and_says_so(page):
    first, second = address_of(page, "item", 1), address_of(page, "item", 2)
    old_tab = {"page_key": key_of(page.get(first)), **ITEM}
    shown = page.get(send(page, first, **ITEM).url)
    assert "had been answered before" not in shown.content.decode()
    shown = page.post(first, old_tab, follow=True)
    assert shown.redirect_chain == [(second + STALE, 302)]
    assert "had been answered before" in shown.content.decode()
    send(page, second, **ITEM)
    send(page, address_of(page, "survey"), **SURVEY)
    shown = page.post(first, old_tab, follow=True)
    assert shown.redirect_chain == [(address_of(page, "done") + STALE, 302)]
    assert "had been answered before" in shown.content.decode()
    assert Trial.objects.filter(answers__isnull=False).count() == 2


def test_a_form_that_another_tab_overtakes_is_not_lost_silently(page, monkeypatch):
    """The other tab stores between this one's look at the page and its write."""
    monkeypatch.setattr("studyapp.views.participants.pages.actions.submit_trial", lambda **_sent: False)
    address = address_of(page, "item", 1)
    shown = page.post(address, {"page_key": key_of(page.get(address)), **ITEM}, follow=True)
    assert shown.redirect_chain[-1][0] == address + STALE
    assert "had been answered before" in shown.content.decode()


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ('[["others", 1200, 3400], ["others", 9000, 10]]', [["others", 1200, 3400], ["others", 9000, 10]]),
        ("[]", []),
        ("", None),
        ('{"others": 1}', None),
    ],
)
def test_openings_of_articles_are_stored(page, sent, stored):
    send(page, address_of(page, "item", 1), **ITEM, articles=sent)
    assert Trial.objects.get(position=1).articles == stored
    assert Trial.objects.filter(position=1, articles__isnull=stored is None).exists()


@pytest.mark.parametrize("key", ["", "item-1", "forged"])
def test_a_page_without_its_key_is_not_stored(page, key):
    address = address_of(page, "item", 1)
    page.get(address)
    assert page.post(address, {"page_key": key, **ITEM}).url == address + STALE
    assert not Trial.objects.filter(answers__isnull=False).exists()


def test_the_key_of_another_participant_is_not_taken(page, link):
    other = Client()
    other.get(link)
    other.post(address_of(other, "consent"), {"consent": "yes"})
    key = key_of(other.get(address_of(other, "item", 1)))
    page.get(address_of(page, "item", 1))
    page.post(address_of(page, "item", 1), {"page_key": key, **ITEM})
    assert not Trial.objects.filter(answers__isnull=False).exists()


def test_missing_answers_are_asked_for_and_the_others_kept(page):
    response = send(page, address_of(page, "item", 1), certainty="4", helpfulness="9")
    body = response.content.decode()
    assert response.status_code == 422
    assert body.count("Please answer this question.") == 2
    assert body.count("Please choose one of the given answers.") == 2, "in the summary and at the question"
    assert "3 questions need an answer" in body
    assert re.search(r'role="alert" tabindex="-1" autofocus', body)
    assert re.findall(r'<a href="#(\w+)-1">', body) == ["rated_correct", "known_before", "helpfulness"]
    assert re.findall(r'id="([\w-]+)" name="\w+" value="\d"\s+checked', body) == ["certainty-4"]
    assert not Trial.objects.filter(answers__isnull=False).exists()
    # Nothing of one participant's form is left in what is rendered once for all.
    assert "checked" not in page.get(address_of(page, "item", 1)).content.decode()


def test_the_survey_asks_for_what_is_missing(page):
    walk_items(page)
    response = send(page, address_of(page, "survey"), trust="3")
    assert response.status_code == 422
    assert SurveyResponse.objects.get().answers is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Sec-Purpose": "prefetch"}, 503), ({"Sec-Purpose": "prefetch;prerender"}, 503), ({}, 200)],
)
def test_only_a_person_who_looks_starts_the_clock(page, headers, status):
    address = address_of(page, "item", 1)
    assert page.head(address).status_code == 200
    assert Trial.objects.get(position=1).shown_at is None
    assert page.get(address, headers=headers).status_code == status
    assert (Trial.objects.get(position=1).shown_at is None) == bool(headers)


def test_a_reload_does_not_restart_the_clock(page):
    address = address_of(page, "item", 1)
    page.get(address)
    shown_at = Trial.objects.get(position=1).shown_at
    page.get(address)
    assert Trial.objects.get(position=1).shown_at == shown_at


def test_a_personal_link_goes_on_on_another_device(page):
    send(page, address_of(page, "item", 1), **ITEM)
    path = matched(r"http://[^/]+(/resume/[^<\s]+)", page.get(address_of(page, "item", 2)))
    device = Client()
    assert device.get(path, follow=True).redirect_chain[-1][0] == address_of(page, "item", 2)
    assert Client().get(path[:-2] + "x/").status_code == 404


def test_the_end_offers_the_way_back_with_the_code():
    study = factories.make_study(completion={"redirect_url": "https://panel.example/done?cc={code}"})
    participant = factories.make_participant(study=study, completed=True)
    body = Client().get(f"/resume/{resume_token(participant)}/", follow=True).content.decode()
    assert f'href="https://panel.example/done?cc={participant.completion_code}"' in body


def test_a_page_costs_few_queries(page, django_assert_num_queries):
    page.get(address_of(page, "item", 1))
    with django_assert_num_queries(1):
        page.get(address_of(page, "item", 1))
    walk_items(page)
    page.get(address_of(page, "survey"))
    with django_assert_num_queries(3):
        page.get(address_of(page, "survey"))


def test_the_condition_is_not_told(page):
    participant = Participant.objects.get()
    body = page.get(address_of(page, "item", 1)).content.decode()
    names = {condition.name for condition in participant.version.conditions.all()}
    assert len(names) == 2
    assert not any(name in body for name in names)
