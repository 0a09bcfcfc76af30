"""Tests of pages that are rendered once.

They are what the template gives, for each participant.
"""

import re

import pytest
from django.http import HttpRequest
from django.shortcuts import render
from django.test import Client, RequestFactory
from django.utils import translation

from studyapp.models import Participant
from studyapp.views.participants.pages import page_of
from studyapp.web.shared_pages import render_shared
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

GERMAN = {
    "title": "Helfen die Erklärungen?",
    "consent": "Sie nehmen an einer Studie teil.",
    "instructions": "Beurteilen Sie jede Antwort.",
}
TOKEN = re.compile(r'(name="csrfmiddlewaretoken" value=")\w{64}"')


def request_for(page, **cookies: str) -> HttpRequest:
    request = RequestFactory().get(page.url)
    request.COOKIES.update(cookies)
    return request


def both(participant: Participant, *, notice: str = "", **cookies: str) -> tuple[str, str]:
    """Return the current page of a participant in two forms, without tokens.

    One is the shared page, the other is rendered by itself.
    """
    page = page_of(participant)
    assert page.is_shared
    with translation.override(participant.language or "en"):
        context = page.context() | {"notice": notice}
        responses = [
            draw(request_for(page, **cookies), page.template, context) for draw in (render_shared, render)
        ]
    first, second = (TOKEN.sub(r'\1"', response.content.decode()) for response in responses)
    return first, second


def shown(participant: Participant, **options: str) -> str:
    """The current page, which is the same however it is rendered."""
    page, by_itself = both(participant, **options)
    assert page == by_itself
    return page


def test_it_works():
    study = factories.make_study(conditions=1, items=2)
    first, second = (factories.make_participant(study=study) for _ in range(2))
    for notice in ("", "time-over"):
        for participant in (first, second, first):
            assert page_of(participant).key in shown(participant, notice=notice)
    factories.answer_item(first)
    assert "Question 2 of 2" in shown(first)
    assert '<progress max="2" value="1"' in shown(first)
    assert '<progress max="2" value="0"' in shown(second)
    factories.answer_item(first)
    assert "Final questions" in shown(first)


def test_every_stage_is_what_the_template_gives():
    participant = factories.make_participant(study=factories.make_everything())
    names = set()
    while participant.stage != "items":
        page = page_of(participant)
        names.add(page.name)
        if page.is_shared:
            shown(participant)
        factories.pass_stage(participant)
    assert {"screening", "instructions", "comprehension"} <= names


def test_conditions_do_not_mix():
    study = factories.make_study(conditions=2, items=1)
    people = [factories.make_participant(study=study) for _ in range(4)]
    by_condition = {person.group: person for person in people}
    right, wrong = sorted(by_condition)
    assert shown(by_condition[right]) != shown(by_condition[wrong])


def test_languages_do_not_mix():
    study = factories.make_study(conditions=1, items=1, translations={"de": GERMAN})
    english, german = (factories.make_participant(study=study) for _ in range(2))
    Participant.objects.filter(pk=german.pk).update(language="de")
    german.refresh_from_db()
    for _turn in range(2):
        assert 'lang="en"' in shown(english)
        assert "Beurteilen" in shown(german)
        assert 'lang="de"' in shown(german)


def test_a_new_version_shows_its_texts_and_leaves_the_old_alone():
    definition = factories.make_definition(conditions=1, items=1)
    study = factories.make_study_of(definition)
    old = factories.make_participant(study=study)
    assert "Judge each answer." in shown(old)
    factories.make_study_of(definition.model_copy(update={"instructions": "Look twice."}))
    new = factories.make_participant(study=study)
    assert "Look twice." in shown(new)
    assert "Judge each answer." in shown(old)


def test_texts_are_escaped():
    study = factories.make_study(conditions=1, items=1, title="<b>R&D</b>")
    page = shown(factories.make_participant(study=study))
    assert "&lt;b&gt;R&amp;D&lt;/b&gt;" in page
    assert "<b>" not in page


def test_own_values_are_escaped():
    request = RequestFactory().get("/study/x/")
    context = {"page_key": "<i>", "resume_token": "<i>", "position": "<i>", "step": "<i>", "title": "A"}
    html = render_shared(request, "studyapp/participant/page.html", context).content.decode()
    assert html.count("&lt;i&gt;") == 6
    assert "<i>" not in html


@pytest.mark.parametrize(("theme", "scheme"), [("dark", "dark"), ("light", "light"), ("<b>", "light dark")])
def test_the_theme_is_the_chosen_one(theme, scheme):
    participant = factories.make_participant(study=factories.make_study(conditions=1, items=1))
    assert f'content="{scheme}"' in shown(participant, theme=theme)


def test_each_browser_gets_a_token_of_its_own():
    """The shared page holds no token.

    Each browser's is valid, and only with its own cookie.
    """
    study = factories.make_study(conditions=1, items=1)
    token = factories.make_link_and_token(study=study)[1]
    clients = [Client(enforce_csrf_checks=True) for _ in range(2)]
    forms = []
    for client in clients:
        client.get(f"/join/{token}/")
        send(client, f"/study/{study.slug}/consent/", consent="yes")
        url = f"/study/{study.slug}/item/1/"
        forms.append(fields(client.get(url)))
    first, second = forms
    assert first["csrfmiddlewaretoken"] != second["csrfmiddlewaretoken"]
    assert first["page_key"] != second["page_key"]
    assert clients[0].cookies["csrftoken"].value != clients[1].cookies["csrftoken"].value
    answers = {"rated_correct": "yes", "known_before": "no", "certainty": "4", "helpfulness": "3"}
    stolen = {**first, "csrfmiddlewaretoken": second["csrfmiddlewaretoken"], **answers}
    assert clients[0].post(url, stolen).status_code == 403
    assert clients[0].post(url, {**first, **answers}).status_code == 302


def fields(response) -> dict[str, str]:
    pairs = re.findall(r'name="(csrfmiddlewaretoken|page_key)" value="([^"]+)"', response.content.decode())
    return dict(pairs)


def send(client, url, **answers):
    return client.post(url, {**fields(client.get(url)), **answers})
