"""Tests of the pages of preference studies.

They cover two conditions side by side, their balance, and the answers.
"""

import re
from collections import Counter
from datetime import timedelta
from itertools import permutations

import pytest
from django.db.models import F
from django.urls import reverse

from predictions.models import Prediction
from studyapp.actions.pages import show_trial, submit_trial
from studyapp.definition.schema import StudyDefinition
from studyapp.errors import StudyRefused
from studyapp.models import Participant, Trial
from studyapp.queries.participants.table import find_person, list_steps
from studyapp.queries.studies import find_current_page, load_translated_study
from studyapp.rules.page_timing import PageTiming
from studyapp.web.html import comparison as comparison_html
from tests.studyapp import factories
from tests.studyapp.views.test_advice_pages import key, send, text

pytestmark = pytest.mark.django_db


def taking_part(client, **changes):
    """Consent to a preference study and return the address of its first item."""
    study = factories.make_preference(**changes)
    client.get(f"/join/{factories.make_link_and_token(study=study)[1]}/")
    client.post(reverse("studyapp:consent", args=[study.slug]), {"consent": "yes"})
    return reverse("studyapp:item", args=[study.slug, 1])


def offered(page, name="preferred_overall"):
    return re.findall(rf'type="radio"[^>]*name="{name}" value="([^"]+)"', page)


def test_it_works(client):
    address = taking_part(client)
    page = text(client.get(address))
    assert "Which explanation is better?" in page
    assert offered(page) == ["left", "tie", "right"]
    assert "Both are alike" in page
    assert page.index('<h2 id="side-1">Explanation A') < page.index('<h2 id="side-2">Explanation B')
    trial = Trial.objects.select_related("condition", "other_condition").get(position=1)
    for side, condition in ((1, trial.condition), (2, trial.other_condition)):
        part = page.split(f'id="side-{side}"')[1].split("</section>")[0]
        fact = re.search(r"Highlighted: </span>(.*?)</mark>", part)[1].strip()
        ((title, number),) = Prediction.objects.filter(run__system=condition.system).first().facts
        assert fact == dict(factories.CONTEXT)[title][number]
    send(client, address, preferred_overall="left", client_total_ms="4000")
    trial.refresh_from_db()
    assert (trial.answers, trial.client_total_ms, trial.timed_out) == (
        {"preferred_overall": "left"},
        4000,
        "",
    )


def test_no_condition_is_named(client):
    page = text(client.get(taking_part(client)))
    assert not re.search(r"\bs[123]\b", page)


def test_every_criterion_needs_an_answer_that_is_offered(client):
    criteria = [{"key": "clear", "text": "Which is clearer?"}, {"key": "useful", "text": "Which helps more?"}]
    address = taking_part(client, task={"of": "answer", "ties": False, "criteria": criteria}, systems=2)
    page = text(client.get(address))
    assert page.index("Which is clearer?") < page.index("Which helps more?")
    assert "Answer A" in page
    assert offered(page, "preferred_useful") == ["left", "right"]
    assert send(client, address, preferred_clear="left").status_code == 422
    assert send(client, address, preferred_clear="left", preferred_useful="tie").status_code == 422
    assert not Trial.objects.filter(answers__isnull=False).exists()
    send(client, address, preferred_clear="left", preferred_useful="right")
    assert Trial.objects.get(position=1).answers == {"preferred_clear": "left", "preferred_useful": "right"}


def test_a_comparison_is_stored_once(client):
    address = taking_part(client)
    page_key = key(client.get(address))
    for side in ("left", "right"):
        client.post(address, {"page_key": page_key, "preferred_overall": side})
    assert Trial.objects.get(position=1).answers == {"preferred_overall": "left"}


def test_the_server_ends_a_page(client):
    address = taking_part(client, task={"time_limits": {"comparison": 30}})
    assert "You have 30 seconds for this page." in text(client.get(address))
    Trial.objects.update(shown_at=F("shown_at") - timedelta(seconds=40))
    send(client, address, preferred_overall="left")
    trial = Trial.objects.get(position=1)
    assert (trial.timed_out, trial.answers) == ("comparison", {})


def test_each_page_takes_few_queries(client, django_assert_max_num_queries):
    address = taking_part(client)
    client.get(address)
    with django_assert_max_num_queries(4):
        client.get(address)


@pytest.mark.parametrize(("systems", "items"), [(2, 3), (3, 4)])
def test_every_item_shows_every_pair_in_both_orders_once(systems, items):
    study = factories.make_preference(systems=systems, items=items, practice={"ids": [f"q{items + 1}"]})
    link = factories.make_link(study=study)
    for _person in range(systems * (systems - 1)):
        factories.make_participant(link=link)
    rows = Trial.objects.values_list("item__external_id", "condition__name", "other_condition__name")
    names = [f"s{number + 1}" for number in range(systems)]
    ids = [f"q{number + 1}" for number in range(items + 1)]
    assert Counter(rows) == {(item, *pair): 1 for item in ids for pair in permutations(names, 2)}
    people = Participant.objects.all()
    assert {(person.condition, person.group) for person in people} == {(None, "all conditions")}


def test_a_short_text_is_open_unless_a_side_shows_it(client, monkeypatch):
    closed = re.compile(
        r'<details class="others" data-article="others">\s*<summary>\s*Show the 3 articles\s*</summary>'
    )
    assert closed.search(text(client.get(taking_part(client))))
    answers = [{"system": name, "explanation": "none"} for name in ("s1", "s2")]
    changes = {"task": {"of": "answer"}, "conditions": answers}
    page = text(client.get(taking_part(client, **changes)))
    assert not closed.search(page)
    assert page.index("Kolwen is a town by the sea.") < page.index("Answer A")
    monkeypatch.setattr(comparison_html, "SHORT", 50)
    assert closed.search(text(client.get(taking_part(client, **changes))))


def test_the_study_is_previewed_in_any_pair(client):
    study = factories.make_preference(practice={"ids": ["q7"]}, task={"time_limits": {"comparison": 90}})
    client.force_login(factories.make_user())
    address = reverse("studyapp:staff_preview_page", args=[study.slug])
    shown = {}
    for first, second in (("s1", "s2"), ("s2", "s1"), ("s3", "s3")):
        for page in ("practice", "item"):
            html = text(client.get(address, {"page": page, "condition": first, "other": second}))
            assert "You have 90 seconds" in html
            assert offered(html) == ["left", "tie", "right"]
            shown[first, page] = re.findall(r'<mark class="fact">.*?</mark> <', html)
    assert shown["s1", "item"] == shown["s2", "item"][::-1]
    assert len({*shown["s3", "item"]}) == 2
    page = text(client.get(reverse("studyapp:staff_preview", args=[study.slug])))
    assert "Compared with" in page


def test_participants_read_german(client):
    study = factories.make_preference(
        translations={
            "de": {"title": "Vergleich", "consent": "Sie nehmen teil.", "instructions": "Wählen Sie."}
        }
    )
    client.get(f"/join/{factories.make_link_and_token(study=study)[1]}/")
    client.post(reverse("studyapp:consent", args=[study.slug]), {"consent": "yes", "language": "de"})
    page = text(client.get(reverse("studyapp:item", args=[study.slug, 1])))
    for words in ("Welche Erklärung ist besser?", "Erklärung A", "Erklärung B", "Beide sind gleich"):
        assert words in page
    assert (
        load_translated_study(study.versions.get(), "").task.criteria[0].text
        == "Which explanation is better?"
    )


def test_a_criterion_of_ones_own_has_to_be_translated():
    criteria = [{"key": "clear", "text": "Which is clearer?"}]
    words = {"title": "Vergleich", "consent": "Sie nehmen teil.", "instructions": "Wählen Sie."}
    changes = {"task": {"kind": "preference", "criteria": criteria}, "launched": False}
    study = factories.make_preference(**changes, translations={"de": words})
    written = StudyDefinition.model_validate(study.definition)
    assert written.find_missing_texts() == {"de": ["item.preferred_clear"]}
    translated = {
        **study.definition,
        "translations": {"de": {**words, "item": {"preferred_clear": "Klarer?"}}},
    }
    version = factories.launch(
        factories.make_study_of(StudyDefinition.model_validate(translated), launched=False)
    )
    assert load_translated_study(version, "de").task.criteria[0].text == "Klarer?"


def test_an_attention_item_asks_on_the_same_criteria(client):
    reads = {"id": "reads", "kind": "instructed", "position": 1, "text": "Choose B.",
             "expected": {"preferred_overall": "right"}}  # fmt: skip
    address = taking_part(client, attention=[reads])
    page = text(client.get(address))
    assert "Choose B." in page
    assert offered(page) == ["left", "tie", "right"]
    send(client, address, preferred_overall="left")
    trial = Trial.objects.get(position=1)
    assert (trial.passed, trial.condition, trial.other_condition) == (False, None, None)


def test_without_ties_the_two_have_to_differ():
    study = factories.make_preference(launched=False, systems=2, task={"ties": False})
    Prediction.objects.update(facts=[["Kolwen", 0]])
    Prediction.objects.exclude(question__external_id="q2").filter(run__system__name="s1").update(facts=[])
    with pytest.raises(StudyRefused, match="'s1' and 's2' show the same for 'q2', so neither is better"):
        factories.launch(study)


def test_staff_see_what_somebody_preferred():
    study = factories.make_preference()
    person = factories.make_participant(study=study)
    trial = find_current_page(person).trial
    show_trial(trial=trial)
    assert submit_trial(trial=trial, answers={"preferred_overall": "tie"}, changes={}, timing=PageTiming())
    (step,) = [step for step in list_steps(find_person(study, person.public_id)) if step.kind == "item"]
    assert step.answers == [("Which explanation is better?", "Both are alike")]
