"""Events of studies: queued with the act, once, without personal data."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction

from studyapp.actions import webhooks
from studyapp.actions.pages import note_honeypot, show_stage, submit_stage
from studyapp.actions.participants import consent
from studyapp.actions.privacy import anonymise_participant, delete_participant
from studyapp.actions.running import set_condition
from studyapp.models import Condition, Event, Participant, Study, StudyDelivery, StudyWebhook
from studyapp.queries.bots import build_study_plan
from studyapp.queries.participants.flags import list_participant_flags
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories
from tests.studyapp.actions.test_answer_quotas import GENDER, answer

pytestmark = [pytest.mark.django_db, pytest.mark.database]

# Nobody answers the items of a test within the three seconds that are too short for a person.
SPEED = "impossible_speed"


def listen(study: Study, *kinds: str) -> StudyWebhook:
    return webhooks.add_webhook(
        study=study, url="https://hooks.example/a", kinds=kinds, by=factories.make_user()
    )


def list_bodies(hook: StudyWebhook) -> list[dict[str, Any]]:
    return [delivery.body for delivery in hook.deliveries.order_by("pk")]


def flags_told(hook: StudyWebhook, participant: Participant) -> list[list[str]]:
    return [
        body["data"]["flags"]
        for body in list_bodies(hook)
        if body["data"].get("participant") == participant.public_id
    ]


def test_it_works() -> None:
    study = factories.make_study()
    hook = listen(study, "participant_completed")
    person = factories.make_participant(study=study, completed=True)
    [event] = list_bodies(hook)
    assert event["kind"] == "participant_completed"
    assert (event["study"], len(event["id"])) == (study.slug, 32)
    assert event["data"] == {
        "participant": person.public_id, "mode": "live", "condition": person.group,
    }  # fmt: skip
    assert hook.deliveries.get().next_at is not None
    assert Event.objects.get(study=study, kind="webhook_added").data["url"] == hook.url


def test_an_event_has_one_id_at_all_addresses_and_only_those_that_asked_get_it() -> None:
    study, other = factories.make_study(), factories.make_study()
    first, second = listen(study), listen(study, "participant_completed")
    third, elsewhere = listen(study, "quota_reached"), listen(other)
    factories.make_participant(study=study, completed=True)
    ids = [
        [body["id"] for body in list_bodies(hook) if body["kind"] == "participant_completed"]
        for hook in (first, second, third, elsewhere)
    ]
    assert ids[0] == ids[1] != []
    assert ids[2:] == [[], []]


def test_an_event_is_stored_with_its_act_or_not_at_all() -> None:
    study = factories.make_study()
    hook = listen(study)
    with transaction.atomic():
        factories.make_participant(study=study, completed=True)
        assert list_bodies(hook)
        transaction.set_rollback(True)
    assert not StudyDelivery.objects.exists()
    assert not Participant.objects.exists()


def test_without_a_webhook_nothing_is_computed(django_assert_num_queries: Any) -> None:
    study = factories.make_study()
    person = factories.make_participant(study=study, items=3)
    assert person.version.study  # is there on a page
    with django_assert_num_queries(1):
        webhooks.announce_flag(person, "honeypot")
    with django_assert_num_queries(1):
        webhooks.announce_completed(person)


def test_an_ended_webhook_gets_nothing_more() -> None:
    study, user = factories.make_study(), factories.make_user()
    hook = listen(study)
    factories.make_participant(study=study, completed=True)
    for _twice in range(2):
        webhooks.end_webhook(webhook=hook, by=user)
    number = hook.deliveries.count()
    assert not hook.deliveries.filter(next_at__isnull=False).exists()
    factories.make_participant(study=study, completed=True)
    assert hook.deliveries.count() == number
    assert Event.objects.filter(study=study, kind="webhook_ended").count() == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://10.1.2.3/", "ftp://hooks.example/", "hello"])
def test_addresses_that_are_not_public_are_refused(url: str) -> None:
    study = factories.make_study()
    with pytest.raises(ValidationError) as refused:
        webhooks.add_webhook(study=study, url=url, kinds=[], by=factories.make_user())
    assert list(refused.value.message_dict) == ["url"]
    assert not StudyWebhook.objects.exists()


class TestFlags:
    def test_flags_of_all_items_come_with_the_completion(self) -> None:
        study = factories.make_study(items=6)
        hook = listen(study, "participant_flagged")
        person = factories.make_participant(study=study, completed=True)
        assert flags_told(hook, person) == [list_participant_flags(Participant.objects.all())[person.pk]]
        assert flags_told(hook, person) == [[SPEED, "straight_lining"]]

    def test_the_second_of_two_with_the_same_answers_is_flagged(self) -> None:
        study = factories.make_study(items=6, conditions=1)
        hook = listen(study, "participant_flagged")
        first, second = (factories.make_participant(study=study, completed=True) for _ in range(2))
        factories.make_participant(study=factories.make_study(items=6), completed=True)
        assert flags_told(hook, first) == [[SPEED, "straight_lining"]]
        assert flags_told(hook, second) == [[SPEED, "straight_lining", "identical_pattern"]]
        assert set(flags_told(hook, second)[0]) == set(
            list_participant_flags(Participant.objects.all())[second.pk]
        )

    def test_other_answers_are_no_identical_pattern(self) -> None:
        study = factories.make_study(items=6, conditions=1)
        factories.make_participant(study=study, completed=True)
        hook = listen(study, "participant_flagged")
        person = factories.make_participant(study=study, items=5)
        factories.answer_item(person, certainty=1)
        factories.answer_survey(person)
        assert flags_told(hook, person) == [[SPEED]]

    def test_each_flag_is_announced_once(self) -> None:
        study = factories.make_study(items=6)
        hook = listen(study, "participant_flagged")
        person = factories.make_participant(study=study, items=2)
        for page in ("item", "survey"):
            note_honeypot(participant=person, page=page)
        assert flags_told(hook, person) == [["honeypot"]]

    def test_failed_checks_are_flags(self) -> None:
        study = factories.make_everything()
        hook = listen(study, "participant_flagged")
        person = factories.make_participant(study=study)
        while (page := find_current_page(person).stage) is not None and page.stage != "comprehension":
            pass_stage(person, page)
        assert page is not None
        show_stage(page=page)
        assert submit_stage(page=page, answers={}, changes={}, timing=PageTiming(9_000))
        assert flags_told(hook, person) == [["failed_comprehension"]]
        factories.go_through_stages(person)
        trial = person.trials.filter(item__kind="attention").earliest("position")
        while find_current_page(person).trial != trial:
            factories.answer_item(person)
        factories.answer_item(person, certainty=1, rated_correct=False, helpfulness=1)
        trial.refresh_from_db()
        assert trial.passed is False
        assert flags_told(hook, person)[1:] == [["failed_attention"]]


def pass_stage(person: Participant, page: Any) -> None:
    """Pass one page before the items."""
    show_stage(page=page)
    answers = dict(build_study_plan(person.version.study).heeded.get(page.stage, {}))
    assert submit_stage(page=page, answers=answers, changes={}, timing=PageTiming(9_000))
    person.refresh_from_db()


class TestQuotas:
    @staticmethod
    def limited(*quotas: int | None) -> Study:
        study = factories.make_study(conditions=len(quotas))
        for condition, quota in zip(Condition.objects.filter(version__study=study), quotas, strict=True):
            set_condition(condition=condition, is_open=True, quota=quota, by=None)
        return study

    def test_conditions_and_then_the_study(self) -> None:
        study = self.limited(1, 1)
        hook = listen(study, "quota_reached")
        people = [factories.make_participant(study=study) for _ in range(2)]
        payloads = [body["data"] for body in list_bodies(hook)]
        assert payloads == [
            {"scope": "condition", "name": people[0].group, "quota": 1},
            {"scope": "condition", "name": people[1].group, "quota": 1},
            {"scope": "study", "name": study.slug, "quota": 2},
        ]

    def test_a_study_with_an_unlimited_condition_is_never_full(self) -> None:
        study = self.limited(1, None)
        hook = listen(study, "quota_reached")
        for _ in range(4):
            factories.make_participant(study=study)
        assert [body["data"]["scope"] for body in list_bodies(hook)] == ["condition"]

    def test_pilots_fill_no_quota_of_a_condition(self) -> None:
        study = self.limited(1, 1)
        hook = listen(study, "quota_reached")
        link = factories.make_link(study=study, mode="pilot")
        for _ in range(3):
            factories.make_participant(link=link)
        assert list_bodies(hook) == []

    def test_a_link(self) -> None:
        study = factories.make_study()
        hook = listen(study, "quota_reached")
        link = factories.make_link(study=study, label="class", quota=2)
        consent(link=link)
        assert list_bodies(hook) == []
        consent(link=link)
        assert [body["data"] for body in list_bodies(hook)] == [
            {"scope": "link", "name": "class", "quota": 2}
        ]

    def test_a_screening_answer(self) -> None:
        study = factories.make_study(screening=[GENDER])
        hook = listen(study, "quota_reached")
        link = factories.make_link(study=study)
        for gender in ("other", "woman", "man", "man"):
            answer(link, gender)
        assert [body["data"] for body in list_bodies(hook)] == [
            {"scope": "answer", "name": "gender=man", "quota": 1}
        ]
        answer(factories.make_link(study=study, mode="pilot"), "woman")
        assert len(list_bodies(hook)) == 1


@pytest.mark.parametrize("act", [delete_participant, anonymise_participant])
def test_events_of_a_person_go_with_the_person(act: Any) -> None:
    study = factories.make_study()
    hook = listen(study)
    person, other = (factories.make_participant(study=study, completed=True) for _ in range(2))
    public_id = person.public_id
    assert public_id in str(list_bodies(hook))
    act(participant=person, by=None, reason="asked for it")
    left = str(list_bodies(hook))
    assert public_id not in left
    assert other.public_id in left
