"""Tests of the pages of counterfactual studies.

They cover the change, the prediction, its clock, and the bonus.
"""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db.models import F
from django.urls import reverse

from predictions.models import Question
from studyapp.actions.pages import show_trial, submit_trial
from studyapp.definition.definition_file import load_definition
from studyapp.definition.schema import StudyDefinition
from studyapp.models import Condition, Trial
from studyapp.queries.participants.own_answers import compute_bonuses, has_own_answer_task
from studyapp.queries.studies import find_current_page, load_frozen_study
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories
from tests.studyapp.factories import EXAMPLES
from tests.studyapp.views.test_advice_pages import key, send, text

pytestmark = pytest.mark.django_db
RATED = {"certainty": "4", "helpfulness": "2"}


def taking_part(client, condition="helper", **changes):
    """Consent to a counterfactual study; return its first item's address."""
    study = factories.make_counterfactual(**changes)
    Condition.objects.exclude(name=condition).update(is_open=False)
    client.get(f"/join/{factories.make_link_and_token(study=study)[1]}/")
    client.post(reverse("studyapp:consent", args=[study.slug]), {"consent": "yes"})
    return reverse("studyapp:item", args=[study.slug, 1])


def offered(client, address):
    html = client.get(address).content.decode()
    return re.findall(r'type="radio"[^>]*name="predicted_choice" value="([^"]+)"', html)


def test_it_works(client):
    address = taking_part(client)
    page = text(client.get(address))
    assert "The question before the change" in page
    assert '<mark class="fact">' in page
    assert re.search(r"<del>.{0,60}removed: </span>film</del><ins>.{0,60}added: </span>band</ins>", page)
    assert "step 1 of" not in page
    options = offered(client, address)
    assert options[-1] == "cannot_tell"
    assert {"the sea", "Elsewhere"} & {*options}
    send(client, address, predicted_choice=options[0], **RATED, client_total_ms="4000")
    trial = Trial.objects.get(position=1)
    assert trial.answers == {
        "predicted_answer": options[0],
        "cannot_tell": False,
        "certainty": 4,
        "helpfulness": 2,
    }
    assert trial.client_total_ms == 4000
    assert trial.timed_out == ""


def test_no_prediction_is_missing_and_asked_for(client):
    address = taking_part(client)
    assert send(client, address, **RATED).status_code == 422
    assert send(client, address, predicted_choice="Atlantis", **RATED).status_code == 422
    assert Trial.objects.filter(answers__isnull=False).count() == 0


def test_a_prediction_is_stored_once(client):
    address = taking_part(client)
    first, second = offered(client, address)[:2]
    page_key = key(client.get(address))
    for option in (first, second):
        client.post(address, {"page_key": page_key, "predicted_choice": option, **RATED})
    assert Trial.objects.get(position=1).answers["predicted_answer"] == first


def test_that_it_cannot_be_told_is_an_answer(client):
    address = taking_part(client)
    send(client, address, predicted_choice="cannot_tell", **RATED)
    answers = Trial.objects.get(position=1).answers
    assert answers == {"cannot_tell": True, "certainty": 4, "helpfulness": 2}


def test_correctness_can_be_asked_for(client):
    address = taking_part(client, task={"ask": "correct"})
    assert offered(client, address) == ["yes", "no", "cannot_tell"]
    send(client, address, predicted_choice="no", **RATED)
    assert Trial.objects.get(position=1).answers["predicted_correct"] is False


def test_a_changed_context_is_marked_sentence_by_sentence(client):
    study = factories.make_counterfactual(launched=False)
    row = Question.objects.get(dataset__name=frozen_source(study), source_item_id="q1")
    context = [[title, [*sentences]] for title, sentences in row.context[:2]]
    context[1][1][0] = "Ada Brenn was born in Tolm."
    original = Question.objects.get(external_id="q1", source_item_id="")
    Question.objects.filter(pk=row.pk).update(context=context, text=original.text)
    factories.launch(study)
    Condition.objects.exclude(name="helper").update(is_open=False)
    client.get(f"/join/{factories.make_link_and_token(study=study)[1]}/")
    client.post(reverse("studyapp:consent", args=[study.slug]), {"consent": "yes"})
    addresses = [reverse("studyapp:item", args=[study.slug, number]) for number in (1, 2)]
    pages = []
    for address in addresses:
        pages.append(text(client.get(address)))
        send(client, address, predicted_choice="cannot_tell", **RATED)
    (page,) = [page for page in pages if "Changes in the articles" in page]
    assert "The question is the same." in page
    assert "added: </span>Tolm</ins>" in page
    assert "These articles are gone:" in page


def frozen_source(study):
    return study.definition["task"]["source"]


def test_the_server_ends_a_page(client):
    address = taking_part(client, task={"time_limits": {"prediction": 30}})
    assert "You have 30 seconds for this page." in text(client.get(address))
    Trial.objects.update(shown_at=F("shown_at") - timedelta(seconds=40))
    send(client, address, predicted_choice="cannot_tell", **RATED)
    trial = Trial.objects.get(position=1)
    assert (trial.timed_out, trial.answers) == ("prediction", {})


def test_each_page_takes_few_queries(client, django_assert_max_num_queries):
    address = taking_part(client)
    client.get(address)
    with django_assert_max_num_queries(4):
        client.get(address)


def test_the_study_is_previewed(client):
    study = factories.make_counterfactual(practice={"ids": ["q3"]}, task={"time_limits": {"prediction": 90}})
    client.force_login(factories.make_user())
    for page in ("practice", "item"):
        address = reverse("studyapp:staff_preview_page", args=[study.slug])
        html = text(client.get(address, {"page": page, "condition": "helper"}))
        assert "added: </span>band</ins>" in html
        assert "You have 90 seconds" in html
        assert "I cannot tell from this" in html


def test_the_bonus_is_paid_for_right_predictions():
    study = factories.make_counterfactual(
        conditions=[{"system": "helper"}], task={"bonus": {"per_correct": 0.25, "currency": "GBP"}}
    )
    shown = load_frozen_study(study.versions.get()).condition("helper").shown
    people = [factories.make_participant(study=study) for _ in range(2)]
    for number, person in enumerate(people):
        while (trial := find_current_page(person).trial) is not None:
            show_trial(trial=trial)
            answer = shown[trial.item.external_id].changed_answer if number else None
            answers = {"predicted_choice": answer or "cannot_tell"}
            assert submit_trial(trial=trial, answers=answers, changes={}, timing=PageTiming())
        factories.answer_survey(person)
    assert compute_bonuses(study) == {people[1].public_id: Decimal("0.50")}
    assert not has_own_answer_task(study)


def test_the_example_is_a_study_that_can_be_launched():
    dataset = factories.make_dataset(questions=30)
    factories.make_run(dataset=dataset, system="select-and-forget")
    changed = factories.make_changed(dataset)
    factories.make_run(dataset=changed, system="select-and-forget")
    written = load_definition(EXAMPLES / "counterfactual-study.yaml").model_dump(mode="json")
    written["task"]["source"] = changed.name
    study = factories.make_study_of(StudyDefinition.model_validate({**written, "dataset": dataset.name}))
    content = load_frozen_study(study.versions.get())
    for condition in content.conditions:
        assert {shown.changed_answer for shown in condition.shown.values()} == {"Elsewhere", "the sea"}
        assert all(2 <= len(shown.options) <= 4 for shown in condition.shown.values())
