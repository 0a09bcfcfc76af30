"""Tests of the pages of advice studies, over HTTP.

An item has two pages, each of which is stored once.
"""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db.models import F
from django.urls import reverse

from studyapp.actions.pages import show_trial, submit_trial
from studyapp.actions.privacy import anonymise_participant
from studyapp.definition.definition_file import load_definition
from studyapp.definition.schema import StudyDefinition
from studyapp.models import Condition, ExternalIds, Item, Participant, Trial
from studyapp.queries.participants.own_answers import compute_bonuses
from studyapp.queries.studies import find_current_page, load_frozen_study
from studyapp.rules.page_timing import PageTiming
from tests.paths import EXAMPLES
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

TYPED = {"initial_answer": "  Kolwen  1 ", "initial_confidence": "3"}


def taking_part(client, condition="helper", **changes):
    """A participant of a study in one condition, on the first item."""
    study = factories.make_advice(items={"ids": ["q1"]}, **changes)
    Condition.objects.exclude(name=condition).update(is_open=False)
    token = factories.make_link_and_token(study=study)[1]
    client.get(f"/join/{token}/")
    client.post(reverse("studyapp:consent", args=[study.slug]), {"consent": "yes"})
    return reverse("studyapp:item", args=[study.slug, 1])


def text(response):
    return re.sub(r"\s+", " ", response.content.decode())


def key(response):
    return re.search(r'name="page_key" value="([^"]+)"', response.content.decode())[1]


def send(client, address, **fields):
    return client.post(address, {"page_key": key(client.get(address)), **fields}, follow=True)


def test_it_works(client):
    address = taking_part(client)
    first = text(client.get(address))
    assert "step 1 of 2" in first
    assert "Ada Brenn was born in Kolwen." in first
    assert "The system's answer" not in first
    assert '<mark class="fact">' not in first
    second = text(send(client, address, **TYPED, client_total_ms="4000"))
    assert "step 2 of 2" in second
    assert "The system's answer" in second
    assert '<mark class="fact">' in second
    trial = Trial.objects.get()
    assert trial.answers is None
    assert trial.earlier[0]["answers"] == {"initial_answer": "Kolwen 1", "initial_confidence": 3}
    answers = {"final_choice": "other", "final_answer": "The sea", "final_confidence": "5"}
    send(client, address, **answers, helpfulness="2", client_total_ms="3000")
    trial.refresh_from_db()
    assert trial.answers == {
        **trial.earlier[0]["answers"],
        "final_answer": "The sea",
        "final_confidence": 5,
        "helpfulness": 2,
    }
    assert trial.client_total_ms == 7000
    assert trial.shown_at
    assert trial.page_shown_at
    assert trial.page_shown_at >= trial.shown_at
    assert Participant.objects.get().items_submitted == 1


@pytest.mark.parametrize(("choice", "answer"), [("mine", "Kolwen 9"), ("system", "Kolwen 1")])
def test_an_answer_is_kept_or_taken_by_a_button(client, choice, answer):
    address = taking_part(client, "helper (no explanation)")
    send(client, address, initial_answer="Kolwen 9", initial_confidence="1")
    send(client, address, final_choice=choice, final_confidence="1")
    assert Trial.objects.get().answers["final_answer"] == answer


def test_the_control_condition_shows_no_answer_on_either_page(client):
    address = taking_part(client, "no advice")
    second = text(send(client, address, **TYPED))
    assert "step 2 of 2" in second
    assert "The system" not in second
    assert send(client, address, final_choice="system", final_confidence="1").status_code == 422
    send(client, address, final_choice="mine", final_confidence="1")
    assert Trial.objects.get().answers["final_answer"] == "Kolwen 1"


def test_the_first_answer_cannot_be_changed_after_the_advice(client):
    address = taking_part(client)
    page_key = key(client.get(address))
    client.post(address, {"page_key": page_key, **TYPED})
    stored = Trial.objects.get().earlier
    again = client.post(address, {"page_key": page_key, **TYPED, "initial_answer": "Kolwen"}, follow=True)
    assert "step 2 of 2" in text(again)
    assert Trial.objects.get().earlier == stored
    other = {"final_choice": "mine", "final_confidence": "1", "initial_answer": "Kolwen", "helpfulness": "1"}
    send(client, address, **other)
    assert Trial.objects.get().answers["initial_answer"] == "Kolwen 1"


def test_two_tabs_store_the_first_page_once(client):
    taking_part(client)
    person = Participant.objects.get()
    tabs = [find_current_page(person).trial for _ in range(2)]
    show_trial(trial=tabs[0])
    stored = [
        submit_trial(trial=tab, answers={"initial_answer": text}, changes={}, timing=PageTiming())
        for tab, text in zip(tabs, ("Kolwen", "Elsewhere"), strict=True)
    ]
    assert stored == [True, False]
    trial = Trial.objects.get()
    assert (trial.page, [page["answers"] for page in trial.earlier]) == (2, [{"initial_answer": "Kolwen"}])
    assert person.events.filter(kind="page_submitted").count() == 1


def test_staff_see_both_answers_of_a_person_and_in_the_table(client):
    address = taking_part(client)
    send(client, address, initial_answer="Here", initial_confidence="4")
    person = Participant.objects.get()
    client.force_login(factories.make_user())
    study = person.version.study.slug
    shown = text(client.get(reverse("studyapp:staff_person", args=[study, person.public_id])))
    assert "What is your answer?</dt><dd>Here" in shown
    assert "Very confident" in shown
    table = text(client.get(reverse("studyapp:staff_responses", args=[study]), {"answered": "no"}))
    assert "initial_answer" in table
    assert "Here" in table


def test_no_answer_is_missing_and_asked_for(client):
    address = taking_part(client)
    shown = send(client, address, initial_answer="  ", initial_confidence="3")
    assert shown.status_code == 422
    assert Trial.objects.get().page == 1


def test_the_summary_says_what_is_wrong_with_an_answer_that_was_given(client):
    address = taking_part(client)
    shown = send(client, address, initial_answer="x" * 201, initial_confidence="3")
    assert "</a> Please enter at most 200 characters.</li>" in shown.content.decode()
    missing = send(client, address, initial_answer="", initial_confidence="3")
    assert "What is your answer?</a></li>" in missing.content.decode()


def test_yes_and_no_are_buttons(client):
    study = factories.make_advice(items={"ids": ["q2"]})
    Condition.objects.exclude(name="helper").update(is_open=False)
    client.get(f"/join/{factories.make_link_and_token(study=study)[1]}/")
    client.post(reverse("studyapp:consent", args=[study.slug]), {"consent": "yes"})
    address = reverse("studyapp:item", args=[study.slug, 1])
    first = client.get(address).content.decode()
    assert re.findall(r'type="radio"[^>]*name="initial_answer" value="(\w+)"', first) == ["yes", "no"]
    assert send(client, address, initial_answer="maybe", initial_confidence="3").status_code == 422
    send(client, address, initial_answer="yes", initial_confidence="3")
    second = client.get(address).content.decode()
    assert re.findall(r'type="radio"[^>]*name="final_answer" value="(\w+)"', second) == ["yes", "no"]
    send(client, address, final_answer="no", final_confidence="3", helpfulness="1")
    assert Trial.objects.get().answers["final_answer"] == "no"


TIMED = {"kind": "advice", "time_limits": {"initial": 30}}


def test_the_server_ends_a_page(client):
    address = taking_part(client, task=TIMED)
    assert "You have 30 seconds for this page." in text(client.get(address))
    Trial.objects.update(shown_at=F("shown_at") - timedelta(seconds=40))
    sent = send(client, address, **TYPED)
    trial = Trial.objects.get()
    assert (trial.page, trial.timed_out, trial.earlier[0]["answers"]) == (2, "initial", {})
    assert "so that answer was not saved" in text(sent)
    assert trial.earlier[0]["server_ms"] >= 40_000
    send(client, address, final_choice="system", final_confidence="1", helpfulness="1")
    assert Trial.objects.get().answers["final_answer"] == "Kolwen 1"
    assert Trial.objects.get().timed_out == "initial"


def test_the_browser_sends_what_is_there_at_the_end_and_not_before(client):
    address = taking_part(client, task=TIMED)
    partial = {"initial_answer": "Kolwen", "time_is_up": "1"}
    assert send(client, address, **partial).status_code == 422
    Trial.objects.update(shown_at=F("shown_at") - timedelta(seconds=31))
    sent = send(client, address, **partial)
    trial = Trial.objects.get()
    assert (trial.page, trial.timed_out) == (2, "initial")
    assert "Your answers up to then were saved." in text(sent)
    assert trial.earlier[0]["answers"] == {"initial_answer": "Kolwen"}


def test_each_page_takes_few_queries(client, django_assert_max_num_queries):
    address = taking_part(client)
    client.get(address)
    with django_assert_max_num_queries(4):
        client.get(address)


def test_an_anonymous_participant_keeps_own_answers_from_the_articles_only(client):
    address = taking_part(client)
    send(client, address, initial_answer="The Lost Harbour", initial_confidence="1")
    answers = {"final_choice": "other", "final_answer": "My name is Ada L.", "final_confidence": "1"}
    send(client, address, **answers, helpfulness="1")
    anonymise_participant(participant=Participant.objects.get(), by=None, reason="asked")
    trial = Trial.objects.get()
    assert trial.answers
    assert trial.answers["initial_answer"] == "The Lost Harbour"
    assert "final_answer" not in trial.answers
    assert "My name" not in str(trial.earlier)


def test_the_study_is_previewed_page_by_page(client):
    study = factories.make_advice(
        practice={"ids": ["q3"]}, task={"kind": "advice", "time_limits": {"final": 90}}
    )
    client.force_login(factories.make_user())
    shown = {
        (page, condition): text(client.get(reverse("studyapp:staff_preview_page", args=[study.slug]),
                                           {"page": page, "condition": condition}))
        for page in ("practice", "practice.2", "item", "item.2")
        for condition in ("no advice", "helper")
    }  # fmt: skip
    for (page, condition), html in shown.items():
        assert ("step 2 of 2" in html) is page.endswith(".2")
        assert ("The system's answer" in html) is (page.endswith(".2") and condition == "helper")
        assert ("You have 90 seconds" in html) is page.endswith(".2")
    draft = client.get(
        reverse("studyapp:studio_preview", args=[study.slug, "task"]), {"preview_page": "item.2"}
    )
    assert "My first answer: “an example”" in text(draft)


def test_the_bonus_is_paid_for_correct_final_answers(client):
    bonus = {"kind": "advice", "bonus": {"per_correct": 0.25, "currency": "GBP"}}
    study = factories.make_advice(conditions=[{"system": "helper"}], practice={"ids": ["q3"]}, task=bonus)
    link = factories.make_link(study=study)
    people = [factories.make_participant(link=link) for _ in range(2)]
    for number, person in enumerate(people):
        ids = {"platform": "prolific", "person_id": f"p{number}", "session_id": f"s{number}"}
        ExternalIds.objects.create(participant=person, study=study, mode="live", study_id_there="st", **ids)
        while (trial := find_current_page(person).trial) is not None:
            show_trial(trial=trial)
            right = (number == 0 and trial.item.kind == "practice") or number == 1
            answer = Item.objects.get(pk=trial.item_id).gold_answer if right else "Elsewhere"
            assert answer
            submit_trial(trial=trial, answers={"final_answer": answer}, changes={}, timing=PageTiming())
        factories.answer_survey(person)
    assert compute_bonuses(study) == {people[1].public_id: Decimal("0.50")}
    client.force_login(factories.make_user())
    sent = {"done": "0", "earned": "on", "format": "prolific"}
    file = client.post(reverse("studyapp:staff_payments_file", args=[study.slug]), sent)
    assert file.content.decode().split() == ["p1,0.50"]
    order = reverse("studyapp:staff_preview_payments", args=[study.slug])
    plan = client.post(order, {"bonus": "correct", "earned": "on", "currency": "GBP"})
    assert plan.status_code == 200
    assert "0.50" in text(plan)
    assert client.post(order, {"bonus": "b", "earned": "on", "currency": "USD"}).status_code == 422


def test_bonuses_of_people_whom_no_platform_pays_stop_no_order(client):
    bonus = {"kind": "advice", "bonus": {"per_correct": 0.25, "currency": "GBP"}}
    study = factories.make_advice(conditions=[{"system": "helper"}], items={"ids": ["q1"]}, task=bonus)
    live = factories.make_link(study=study)
    links = {"paid": live, "anonymous": live, "direct": live,
             "pilot": factories.make_link(study=study, mode="pilot")}  # fmt: skip
    people = {name: factories.make_participant(link=link) for name, link in links.items()}
    for name, person in people.items():
        if name != "direct":
            ids = {"platform": "prolific", "person_id": name, "session_id": f"s-{name}"}
            ExternalIds.objects.create(
                participant=person, study=study, mode=person.mode, study_id_there="st", **ids
            )
        for page in ("initial_answer", "final_answer"):
            trial = find_current_page(person).trial
            show_trial(trial=trial)
            submit_trial(trial=trial, answers={page: "Kolwen 1"}, changes={}, timing=PageTiming())
        person.refresh_from_db()
        factories.answer_survey(person)
    anonymise_participant(participant=people["anonymous"], by=None, reason="asked")
    assert len(compute_bonuses(study)) == 4
    client.force_login(factories.make_user())
    order = reverse("studyapp:staff_preview_payments", args=[study.slug])
    plan = client.post(order, {"bonus": "correct", "earned": "on", "currency": "GBP"})
    assert plan.status_code == 200
    assert [line.ids.person_id for line in plan.context["plan"].due] == ["paid"]


def test_a_study_without_a_bonus_offers_none(client):
    study = factories.make_advice()
    client.force_login(factories.make_user())
    assert 'name="earned"' not in text(client.get(reverse("studyapp:staff_payments", args=[study.slug])))


def test_the_example_is_a_study_that_can_be_launched():
    dataset = factories.make_dataset(questions=30)
    factories.make_run(dataset=dataset, system="select-and-forget")
    written = load_definition(EXAMPLES / "advice-study.yaml").model_dump(mode="json")
    study = factories.make_study_of(StudyDefinition.model_validate({**written, "dataset": dataset.name}))
    content = load_frozen_study(study.versions.get())
    assert [condition.advice for condition in content.conditions] == [False, True, True]
    for condition in content.conditions:
        instructions = content.instructions_for(content.viewer([condition]))
        assert ("the answer of a computer" in instructions) is condition.advice


def test_the_questions_of_the_task_are_asked_in_the_language_of_the_study(client):
    address = taking_part(client, language="de")
    first = text(client.get(address))
    second = text(send(client, address, **TYPED))
    for html, words in (
        (first, "Wie lautet Ihre Antwort?"),
        (second, "„Kolwen 1“ – meine erste Antwort und die des Systems"),
    ):
        assert words in html
        assert "Gar nicht sicher" in html
        assert "confident" not in html
