"""Tests of the pages of simulations: blocks, predictions and clocks.

They cover answers after predictions, and what pages keep back, too.
"""

import re
from collections import Counter
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db.models import F
from django.urls import reverse

from studyapp.actions.pages import show_trial, submit_trial
from studyapp.definition.definition_file import load_definition
from studyapp.definition.schema import StudyDefinition
from studyapp.models import Condition, Participant, Trial
from studyapp.queries.participants.own_answers import compute_bonuses
from studyapp.queries.studies import find_current_page, load_frozen_study
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories
from tests.studyapp.factories import EXAMPLES
from tests.studyapp.views.test_advice_pages import key, send, text

pytestmark = pytest.mark.django_db
SURE = {"certainty": "4"}


def taking_part(client, condition="helper", **changes):
    """Consent to a simulation and return the addresses of its items."""
    study = factories.make_simulation(**changes)
    Condition.objects.exclude(name=condition).update(is_open=False)
    client.get(f"/join/{factories.make_link_and_token(study=study)[1]}/")
    client.post(reverse("studyapp:consent", args=[study.slug]), {"consent": "yes"})
    return [reverse("studyapp:item", args=[study.slug, number]) for number in range(1, 8)]


def offered(client, address):
    html = client.get(address).content.decode()
    return re.findall(r'type="radio"[^>]*name="predicted_choice" value="([^"]+)"', html)


def predict(client, address, **sent):
    choice = offered(client, address)[0]
    send(client, address, predicted_choice=choice, **SURE, **sent)
    return choice


def answer_of(trial):
    content = load_frozen_study(trial.participant.version)
    return content.condition(trial.condition.name).shown[trial.item.external_id].answer


def test_it_works(client):
    addresses = taking_part(client)
    headings = []
    for number, address in enumerate(addresses[:6], start=1):
        page = text(client.get(address))
        headings.append(re.search(r"Part \d of 3: [^<]+", page).group())
        trial = Trial.objects.get(position=number)
        assert "The system's answer" not in page
        assert "fact" not in page
        assert "helps me to predict" not in page
        assert "I cannot tell" not in page
        assert ("step 1 of 2" in page) is (trial.block == "learning")
        predict(client, address)
        if trial.block != "learning":
            continue
        page = text(client.get(address))
        assert "step 2 of 2" in page
        assert f"<dt>The system answered</dt><dd>{answer_of(trial)}</dd>" in page
        assert '<mark class="fact">' in page
        assert "I am confident" not in page
        send(client, address, helpfulness="5")
    assert headings == [
        *["Part 1 of 3: Predict what the system does"] * 2,
        *["Part 2 of 3: Learn what the system does"] * 2,
        *["Part 3 of 3: Predict again"] * 2,
    ]
    trials = Trial.objects.order_by("position")
    assert Counter(trial.block for trial in trials) == {"before": 2, "learning": 2, "after": 2}
    assert [len(trial.earlier) for trial in trials] == [1, 1, 2, 2, 1, 1]
    for trial in trials:
        expected = {"predicted_answer", "certainty"} | (
            {"helpfulness"} if trial.block == "learning" else set()
        )
        assert trial.answers.keys() == expected
        assert not {"predicted_choice", "cannot_tell"} & trial.answers.keys()


def test_nothing_sent_before_the_prediction_differs_by_the_answer(client):
    """The page is the same if the system answers otherwise.

    The candidates are the exception: both answers are among them.
    """
    addresses = taking_part(client)
    trial = Trial.objects.get(position=1)
    content = load_frozen_study(trial.participant.version)
    shown = content.condition("helper").shown[trial.item.external_id]
    html = client.get(addresses[0]).content.decode()
    without_options = re.sub(r"<label.*?</label>", "", html, flags=re.DOTALL)
    articles = [title for title, _sentences in content.item(trial.item.external_id).context]
    assert shown.answer is not None
    if shown.answer not in articles:
        assert shown.answer not in without_options
    tags = re.findall(r'<input\s+type="radio"[^>]*name="predicted_choice"[^>]*>', html)
    assert len({re.sub(r'(id|value|aria-describedby)="[^"]*"', "", tag) for tag in tags}) == 1


def test_the_answer_comes_only_after_the_prediction_is_stored(client):
    addresses = taking_part(client)
    for address in addresses[:2]:
        predict(client, address)
    first_key = key(client.get(addresses[2]))
    choice, other = offered(client, addresses[2])[:2]
    for option in (choice, other):  # the second comes from another tab
        client.post(addresses[2], {"page_key": first_key, "predicted_choice": option, **SURE})
    trial = Trial.objects.get(position=3)
    assert (trial.page, trial.answers) == (2, None)
    assert trial.earlier[0]["answers"]["predicted_answer"] == choice
    assert "The system answered" in text(client.get(addresses[2]))
    assert client.get(addresses[3]).status_code == 302


def test_a_condition_without_explanations_shows_the_answer_alone(client):
    addresses = taking_part(client, "helper (no explanation)")
    for address in addresses[:3]:
        predict(client, address)
    page = text(client.get(addresses[2]))
    assert "The system answered" in page
    assert 'class="fact"' not in page
    assert "helps me to predict" not in page
    send(client, addresses[2])
    assert Trial.objects.get(position=3).answers.keys() == {"predicted_answer", "certainty"}


def test_explanations_are_shown_with_predictions_if_the_study_says_so(client):
    page = text(client.get(taking_part(client, task={"explained_test": True})[0]))
    assert '<mark class="fact">' in page
    assert "The system's answer" not in page
    assert "The system's explanation" in page


def test_correctness_can_be_asked_for(client):
    addresses = taking_part(client, task={"ask": "correct"})
    assert "Will the system’s answer be correct?" in text(client.get(addresses[0]))
    assert offered(client, addresses[0]) == ["yes", "no"]
    for address in addresses[:3]:
        send(client, address, predicted_choice="no", **SURE)
    page = text(client.get(addresses[2]))
    assert "<dd>a wrong answer</dd>" in page
    is_correct = answer_of(Trial.objects.get(position=3)) != "Elsewhere"
    assert ("This answer is correct." in page) is is_correct
    assert ("Your prediction was wrong" in page) is is_correct


def test_a_missing_prediction_is_asked_for_and_another_answer_refused(client):
    address = taking_part(client)[0]
    assert send(client, address, **SURE).status_code == 422
    assert send(client, address, predicted_choice="Atlantis", **SURE).status_code == 422
    assert not Trial.objects.filter(answers__isnull=False).exists()


def test_the_server_ends_each_page(client):
    addresses = taking_part(client, task={"time_limits": {"prediction": 30, "answer": 20}})
    for address in addresses[:2]:
        predict(client, address)
    assert "You have 30 seconds for this page." in text(client.get(addresses[2]))
    Trial.objects.filter(position=3).update(shown_at=F("shown_at") - timedelta(seconds=40))
    predict(client, addresses[2])
    page = text(client.get(addresses[2]))
    assert "You made no prediction" in page
    assert "You have 20 seconds for this page." in page
    Trial.objects.filter(position=3).update(page_shown_at=F("page_shown_at") - timedelta(seconds=30))
    send(client, addresses[2], helpfulness="5")
    trial = Trial.objects.get(position=3)
    assert (trial.timed_out, trial.answers) == ("prediction;answer", {})


def test_practice_shows_no_answer(client):
    addresses = taking_part(client, practice={"count": 1, "seed": 4})
    page = text(client.get(addresses[0]))
    assert "This is a practice question." in page
    assert "Part 1 of 3" not in page
    predict(client, addresses[0])
    assert "Part 1 of 3" in text(client.get(addresses[1]))


def test_each_page_takes_few_queries(client, django_assert_max_num_queries):
    address = taking_part(client)[0]
    client.get(address)
    with django_assert_max_num_queries(4):
        client.get(address)


def test_the_study_is_previewed(client):
    study = factories.make_simulation(task={"time_limits": {"answer": 90}}, practice={"count": 1, "seed": 4})
    client.force_login(factories.make_user())
    address = reverse("studyapp:staff_preview_page", args=[study.slug])
    html = text(client.get(address, {"page": "item", "condition": "helper"}))
    assert "Part 1 of 3" in html
    assert "What will the system answer?" in html
    html = text(client.get(address, {"page": "item.2", "condition": "helper"}))
    for words in (
        "Part 2 of 3",
        "step 2 of 2",
        "The system answered",
        "You have 90 seconds",
        "helps me to predict",
    ):
        assert words in html
    html = text(client.get(address, {"page": "practice", "condition": "helper"}))
    assert "Part 1 of 3" not in html


def test_the_bonus_is_paid_for_right_predictions():
    study = factories.make_simulation(
        conditions=[{"system": "helper"}], task={"bonus": {"per_correct": 0.25, "currency": "GBP"}}
    )
    people = [factories.make_participant(study=study) for _ in range(2)]
    for number, person in enumerate(people):
        while (trial := find_current_page(person).trial) is not None:
            show_trial(trial=trial)
            answers = {"predicted_choice": answer_of(trial) if number else "Atlantis"}
            assert submit_trial(
                trial=trial, answers=answers if trial.page == 1 else {}, changes={}, timing=PageTiming()
            )
        factories.answer_survey(person)
    assert compute_bonuses(study) == {people[1].public_id: Decimal("1.50")}
    assert {person.status for person in Participant.objects.all()} == {"completed"}


def test_the_example_is_a_study_that_can_be_launched():
    dataset = factories.make_dataset(questions=40)
    factories.make_run(dataset=dataset, system="select-and-forget")
    written = load_definition(EXAMPLES / "simulation-study.yaml").model_dump(mode="json")
    study = factories.make_study_of(StudyDefinition.model_validate({**written, "dataset": dataset.name}))
    content = load_frozen_study(study.versions.get())
    assert len(content.items) == content.task.blocks.total
