"""Tests of the number of participants and the last day of a definition."""

from datetime import date, timedelta

import pytest
from django.utils import timezone

from studyapp.actions.participants import consent, end
from studyapp.models import Outcome, Participant
from studyapp.policies import Full
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


def test_it_admits_so_many_live_participants():
    study = factories.make_study(participants=2)
    link = factories.make_link(study=study)
    first, _second = consent(link=link), consent(link=link)
    with pytest.raises(Full, match="takes no more participants"):
        consent(link=link)
    for mode in ("pilot", "bot"):
        consent(link=factories.make_link(study=study, mode=mode))
    end(participant=first, outcome=Outcome.SCREENED_OUT)
    consent(link=link)
    assert Participant.objects.filter(mode="live").count() == 3


def test_a_place_that_timed_out_is_free_and_its_holder_may_finish():
    study = factories.make_study(participants=1)
    link = factories.make_link(study=study)
    late = consent(link=link)
    Participant.objects.filter(pk=late.pk).update(last_seen_at=timezone.now() - timedelta(hours=3))
    factories.make_participant(link=link, completed=True)
    for _ in range(late.trials.count()):
        factories.answer_item(late)
    factories.answer_survey(late)
    assert Participant.objects.filter(status="completed").count() == 2
    with pytest.raises(Full):
        consent(link=link)


def test_a_full_study_sends_people_back_with_the_code_for_it(client):
    done, full = {"code": "DONE"}, {"url": "https://panel.example/full?cc={code}", "code": "FULL"}
    recruitment = {"platform": "generic", "outcomes": {"done": done, "full": full}}
    study = factories.make_study(participants=1, recruitment=recruitment)
    consent(link=factories.make_link(study=study))
    _link, token = factories.make_link_and_token(study=study)
    page = client.get(f"/join/{token}", follow=True)
    answer = client.post(page.request["PATH_INFO"], {"consent": "yes"}, follow=True)  # from an older page
    for shown in (page, answer):
        assert "https://panel.example/full?cc=FULL" in shown.content.decode()


def test_nobody_is_admitted_after_the_last_day(monkeypatch):
    closes = timezone.localdate() + timedelta(days=3)
    study = factories.make_study(closes=str(closes))
    link = factories.make_link(study=study)
    early = consent(link=link)

    def on(day: date) -> None:
        monkeypatch.setattr("studyapp.policies.timezone.localdate", lambda: day)

    on(closes)
    consent(link=link)
    on(closes + timedelta(days=1))
    with pytest.raises(Full, match="closed"):
        consent(link=link)
    factories.answer_item(early)


def test_a_quota_of_the_definition_is_that_of_the_condition():
    definition = factories.make_definition()
    conditions = [condition.model_dump() for condition in definition.conditions]
    conditions[1]["quota"] = 1
    changed = definition.model_validate({**definition.model_dump(mode="json"), "conditions": conditions})
    study = factories.make_study_of(changed)
    assert [row.quota for row in study.versions.get().conditions.all()] == [None, 1]
    link = factories.make_link(study=study)
    groups = [consent(link=link).group for _number in range(4)]
    assert groups.count(conditions[1]["name"]) == 1


def test_what_names_neither_keeps_its_hash():
    definition = factories.make_definition()
    study = factories.make_study_of(definition)
    frozen = study.versions.get().frozen
    assert not {"participants", "closes"} & frozen.keys()
    assert not any("quota" in condition for condition in frozen["conditions"])
