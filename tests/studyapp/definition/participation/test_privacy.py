"""Tests of withdrawal, deletion and anonymisation, and of retention.

One person is deleted or anonymised at a time.
"""

import csv
import io
from datetime import UTC, date, datetime, timedelta

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.models import Role
from studyapp.actions import privacy
from studyapp.actions.correctness import judge, queue_answers
from studyapp.actions.exclusions import exclude_participant
from studyapp.actions.pages import show_survey, show_trial, submit_survey, submit_trial
from studyapp.exports.bundle import write_bundle
from studyapp.link_tokens import sign_participant
from studyapp.models import (
    Event,
    ExternalIds,
    JudgedAnswer,
    Judgement,
    ManualExclusion,
    Participant,
    ReceivedNotice,
    StageResponse,
    SurveyResponse,
    Trial,
)
from studyapp.queries.participants.own_answers import find_missed_answers_of_people
from studyapp.queries.participants.privacy import find_participant_by_code
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from studyapp.tasks import keep_promises
from tests.studyapp import factories
from tests.studyapp.platform_standin import query
from tests.studyapp.views.participants.test_recruitment import PROLIFIC, came

pytestmark = pytest.mark.django_db
SECRETS = ("5f1external", "sub-external")


def everything() -> str:
    """Every value of every row of every table of the database."""
    return "\n".join(str(row) for model in apps.get_models() for row in model._base_manager.values())


def bundle(study, folder, *, public=False) -> str:
    write_bundle(study, folder, public=public)
    return "\n".join(path.read_text() for path in sorted(folder.iterdir()))


@pytest.fixture
def study():
    return factories.make_study(recruitment=PROLIFIC)


@pytest.fixture
def participant(study, client):
    """A participant from a platform who answered one item.

    Somebody else takes part beside them.
    """
    factories.make_participant(study=study, completed=True)
    participant = came(study, client, SECRETS[0], session=SECRETS[1])
    factories.answer_item(participant)
    return participant


class TestDeleting:
    def test_it_works(self, study, participant, tmp_path):
        user = factories.make_user()
        assert all(secret in everything() for secret in (*SECRETS, participant.public_id))
        privacy.delete_participant(participant=participant, by=user, reason="asked by mail")
        stored = everything()
        assert not any(secret in stored for secret in (*SECRETS, participant.public_id))
        exported = bundle(study, tmp_path / "internal") + bundle(study, tmp_path / "public", public=True)
        assert not any(secret in exported for secret in (*SECRETS, participant.public_id))
        assert Participant.objects.count() == 1
        event = Event.objects.get(kind="participant_deleted")
        assert (event.actor, event.study, event.participant) == (user, study, None)
        assert event.data == {"mode": "live", "reason": "asked by mail"}

    def test_no_table_that_points_to_a_participant_is_forgotten(self, study, participant):
        """Every relation is a PROTECT, or the deletion finds it.

        A row left behind would stop the deletion.
        """
        StageResponse.objects.create(participant=participant, stage="instructions")
        relations = Participant._meta.related_objects
        assert len(relations) >= 5
        filled = [
            relation
            for relation in relations
            if relation.related_model._base_manager.filter(participant=participant)
        ]
        assert len(filled) >= 5
        privacy.delete_participant(participant=participant, by=None, reason="x")
        for relation in relations:
            assert not relation.related_model._base_manager.filter(participant_id=participant.pk).exists()

    def test_the_cookie_of_a_deleted_person_opens_nothing(self, study, participant, client):
        privacy.delete_participant(participant=participant, by=None, reason="x")
        response = client.get(f"/study/{study.slug}/", follow=True)
        assert response.request["PATH_INFO"].endswith("/consent/")


def advised(study, *, initial, final="the sea"):
    """One who typed two answers to the only item of a study of advice."""
    person = factories.make_participant(study=study)
    for answers in ({"initial_answer": initial}, {"final_answer": final}):
        trial = find_current_page(person).trial
        show_trial(trial=trial)
        assert submit_trial(trial=trial, answers=answers, changes={}, timing=PageTiming())
    person.refresh_from_db()
    return person


def queued_for_judges(study) -> set[str]:
    """The answers in the queue, after those that people gave were queued."""
    missed = find_missed_answers_of_people(study)
    queue_answers(answers=missed, by=None, study=study, from_people=True)
    return set(JudgedAnswer.objects.values_list("answer", flat=True))


removals = pytest.mark.parametrize(
    ("promise", "remove"),
    [
        ("exclude", lambda person: privacy.withdraw(participant=person)),
        ("delete", lambda person: privacy.withdraw(participant=person)),
        ("exclude", lambda person: privacy.delete_participant(participant=person, by=None, reason="asked")),
        (
            "exclude",
            lambda person: privacy.anonymise_participant(participant=person, by=None, reason="asked"),
        ),
    ],
    ids=["withdraw", "withdraw and delete", "delete", "anonymise"],
)


class TestAnswersForJudges:
    NAME = "ask Jane Doe"

    @pytest.fixture
    def promise(self):
        return "exclude"

    @pytest.fixture
    def advice_study(self, promise):
        return factories.make_advice(
            conditions=[{"system": "helper"}], items={"ids": ["q2"]}, privacy={"withdrawal": promise}
        )

    @removals
    def test_they_go_with_what_was_said_about_them(self, advice_study, remove):
        person = advised(advice_study, initial=self.NAME)
        advised(advice_study, initial="a lake")
        assert queued_for_judges(advice_study) == {self.NAME, "the sea", "a lake"}
        for answer in JudgedAnswer.objects.all():
            judge(judged=answer, is_correct=False, note="Jane wrote this.", by=factories.make_user())
        remove(person)
        assert queued_for_judges(advice_study) == {"the sea", "a lake"}
        assert Judgement.objects.count() == 2

    @removals
    def test_what_somebody_else_or_a_system_said_stays(self, advice_study, remove):
        person = advised(advice_study, initial=self.NAME, final="no")  # the system says no
        advised(advice_study, initial="yes", final=self.NAME)
        assert queued_for_judges(advice_study) == {self.NAME, "no"}
        remove(person)
        rows = JudgedAnswer.objects.values_list("answer", "from_people")
        is_kept = (
            Trial.objects.filter(participant=person.pk).exclude(participant__status="withdrawn").exists()
        )
        assert set(rows) == {(self.NAME, True), ("no", is_kept)}  # anonymising keeps words of the item

    def test_who_withdrew_is_not_queued_and_keeps_nothing_in_the_queue(self, advice_study):
        first, second = (advised(advice_study, initial=self.NAME) for _ in "12")
        privacy.withdraw(participant=first)
        assert queued_for_judges(advice_study) == {self.NAME, "the sea"}
        privacy.withdraw(participant=second)
        assert queued_for_judges(advice_study) == set()
        assert Trial.objects.filter(answers__initial_answer=self.NAME).count() == 2


class TestAnonymising:
    def test_it_works(self, study, participant, tmp_path):
        before = list(Trial.objects.filter(participant=participant).values("answers", "position"))
        codes = (participant.withdrawal_code, participant.public_id)
        privacy.anonymise_participant(participant=participant, by=None, reason="asked")
        stored = everything()
        assert not any(secret in stored for secret in (*SECRETS, *codes))
        exported = bundle(study, tmp_path / "out")
        assert not any(secret in exported for secret in (*SECRETS, *codes))
        assert list(Trial.objects.filter(participant=participant).values("answers", "position")) == before
        after = Participant.objects.get(pk=participant.pk)
        assert after.anonymised_on == timezone.now().date()
        assert (after.link, after.order_seed, after.withdrawal_code) == (None, None, None)

    def test_times_move_together_to_midnight(self, participant):
        moment = datetime(2026, 5, 4, 13, 30, 15, tzinfo=UTC)
        Participant.objects.filter(pk=participant.pk).update(
            consented_at=moment, started_at=moment + timedelta(minutes=2)
        )
        trial = Trial.objects.filter(participant=participant)[0]
        shown = {"shown_at": moment, "submitted_at": moment + timedelta(seconds=33)}
        Trial.objects.filter(pk=trial.pk).update(**shown)
        privacy.anonymise_participant(participant=participant, by=None, reason="asked")
        participant.refresh_from_db()
        midnight = datetime(2026, 5, 4, tzinfo=UTC)
        assert participant.consented_at == midnight
        assert participant.started_at == midnight + timedelta(minutes=2)
        trial.refresh_from_db()
        assert trial.shown_at is not None
        assert trial.submitted_at == trial.shown_at + timedelta(seconds=33)
        assert Event.objects.filter(participant=participant, at__gte=midnight + timedelta(days=1)).exists()

    def test_twice_changes_nothing(self, participant):
        for _ in "12":
            privacy.anonymise_participant(participant=participant, by=None, reason="asked")
            participant.refresh_from_db()
        assert Event.objects.filter(kind="participant_anonymised").count() == 1

    def test_who_was_deleted_meanwhile(self, participant):
        privacy.delete_participant(participant=participant, by=None, reason="x")
        assert not privacy.anonymise_participant(participant=participant, by=None, reason="x")
        assert not privacy.delete_participant(participant=participant, by=None, reason="x")
        assert Event.objects.filter(kind="participant_deleted").count() == 1

    def test_who_completed_stays_complete(self, study):
        completed = Participant.objects.get(pk=factories.make_participant(study=study, completed=True).pk)
        privacy.anonymise_participant(participant=completed, by=None, reason="asked")
        completed.refresh_from_db()
        assert (completed.status, completed.completion_code) == ("completed", "removed")

    def test_typed_texts_go(self):
        remark = {"key": "remark", "text": "?", "scale": {"kind": "text", "max_length": 99}}
        study = factories.make_study(questionnaire={"template": "xqa-2020", "post_survey": [remark]})
        participant = factories.make_participant(study=study, items=3)
        show_survey(participant=participant)
        answers = {"remark": "I am Ada Brenn"}
        assert submit_survey(participant=participant, answers=answers, changes={}, timing=PageTiming())
        assert "Ada Brenn" in str(participant.survey.__class__.objects.values())
        privacy.anonymise_participant(participant=participant, by=None, reason="asked")
        assert "I am Ada" not in everything()

    def test_what_staff_typed_about_an_exclusion_goes(self, participant):
        exclude_participant(participant=participant, reason="Eve Marsh wrote to us", by=None)
        privacy.anonymise_participant(participant=participant, by=None, reason="asked")
        assert "Eve Marsh" not in everything()
        assert ManualExclusion.objects.get(participant=participant).reason == "removed"

    @pytest.mark.parametrize("typed", ["item", "post_survey"])
    def test_a_choice_of_the_same_name_on_another_page_stays(self, typed):
        text = {"key": "reason", "text": "Why?", "scale": {"kind": "text"}}
        choice = {**text, "scale": {"kind": "single", "choices": {"fact": "F", "guess": "G"}}}
        questionnaire = {
            "item": [
                {"key": "rated_correct", "text": "Correct?", "scale": "yes_no", "role": "correctness_rating"},
                text if typed == "item" else choice,
            ],
            "post_survey": [text if typed == "post_survey" else choice],
        }
        study = factories.make_study(items=1, questionnaire=questionnaire, exclusions=[])
        participant = factories.make_participant(study=study)
        sent = {"changes": {}, "timing": PageTiming()}
        trial = participant.trials.get()
        show_trial(trial=trial)
        assert submit_trial(trial=trial, answers={"rated_correct": True, "reason": "fact"}, **sent)
        show_survey(participant=participant)
        assert submit_survey(participant=participant, answers={"reason": "guess"}, **sent)
        privacy.anonymise_participant(participant=participant, by=None, reason="asked")
        stored = {"item": Trial.objects.get().answers, "post_survey": SurveyResponse.objects.get().answers}
        assert ["reason" in (stored[name] or {}) for name in ("item", "post_survey")] == [
            typed != "item",
            typed != "post_survey",
        ]


class TestWithdrawing:
    def test_excluded(self, study, participant, client, tmp_path):
        code = participant.withdrawal_code
        typed = f" {code[:4].lower()}-{code[4:8].lower()} {code[8:].lower()}"
        page = client.post("/withdraw/", {"code": typed, "sure": "yes"})
        assert page.status_code == 200
        assert "will not be used" in page.content.decode()
        participant.refresh_from_db()
        assert participant.status == "withdrawn"
        assert participant.trials.filter(answers__isnull=False).exists()
        write_bundle(study, tmp_path / "out")
        for path in (tmp_path / "out").glob("*.csv"):
            assert (participant.public_id in path.read_text()) == (path.name == "participants.csv"), path

    def test_deleted_where_the_study_promised_it(self, client):
        study = factories.make_study(privacy={"withdrawal": "delete"})
        participant = factories.make_participant(study=study, completed=True)
        page = client.post("/withdraw/", {"code": participant.withdrawal_code, "sure": "yes"})
        assert "were deleted" in page.content.decode()
        assert not Participant.objects.exists()
        assert (
            client.post("/withdraw/", {"code": participant.withdrawal_code, "sure": "yes"}).status_code == 422
        )

    def test_twice_is_once(self, participant, client):
        for _ in "12":
            page = client.post("/withdraw/", {"code": participant.withdrawal_code, "sure": "yes"})
            assert page.status_code == 200
        assert Event.objects.filter(kind="withdrawn").count() == 1

    def test_two_tabs_that_delete(self):
        """Both found the person before one deleted it."""
        participant = factories.make_participant(study=factories.make_study(privacy={"withdrawal": "delete"}))
        assert [privacy.withdraw(participant=participant) for _ in "12"] == ["delete", "delete"]
        assert Event.objects.filter(kind="participant_deleted").count() == 1

    def test_who_has_withdrawn_cannot_go_on(self, study, participant, client):
        client.post("/withdraw/", {"code": participant.withdrawal_code, "sure": "yes"})
        page = client.get(f"/study/{study.slug}/item/2/", follow=True)
        assert page.request["PATH_INFO"].endswith("/done/")
        assert "You have withdrawn" in page.content.decode()
        assert "CDONE" not in page.content.decode()

    @pytest.mark.parametrize(
        ("promise", "words"), [("delete", "this is deleted"), ("exclude", "marked as withdrawn")]
    )
    def test_nothing_happens_before_it_was_asked_once_more(self, client, promise, words):
        study = factories.make_study(
            items=3, title_for_participants="A study of films", privacy={"withdrawal": promise}
        )
        participant = factories.make_participant(study=study, items=2)
        page = client.post("/withdraw/", {"code": participant.withdrawal_code}).content.decode()
        assert words in page
        assert "A study of films" in page
        assert "You answered 2 items." in page
        participant.refresh_from_db()
        assert participant.status == "active"

    @pytest.mark.parametrize("code", ["", " ", "WRONG", "x" * 5000])
    def test_an_unknown_code(self, participant, client, code):
        page = client.post("/withdraw/", {"code": code})
        assert page.status_code == 422
        assert "This code is not valid" in page.content.decode()
        assert not Event.objects.filter(kind="withdrawn").exists()

    def test_the_code_is_on_the_last_page_and_differs(self, study, client):
        people = [factories.make_participant(study=study, completed=True) for _ in "12"]
        codes = [person.withdrawal_code for person in people]
        assert len(set(codes)) == 2
        assert find_participant_by_code(codes[0]) == people[0]
        client.cookies["participant"] = sign_participant(people[0])
        page = client.get(f"/study/{study.slug}/done/").content.decode()
        assert codes[0] in page
        assert 'href="/withdraw/"' in page


class TestRetention:
    def make(self, **promise):
        study = factories.make_study(privacy={"retain_until": "2027-12-31", **promise})
        return study, factories.make_participant(study=study, completed=True)

    @pytest.mark.parametrize("today", [date(2026, 1, 1), date(2027, 12, 31)])
    def test_before_the_day_after_nothing_happens(self, today):
        self.make()
        assert privacy.apply_retention(today=today) == {}

    def test_the_day_after_people_become_anonymous_once(self):
        study, participant = self.make()
        day_after = date(2028, 1, 1)
        assert privacy.apply_retention(today=day_after) == {study.slug: 1}
        participant.refresh_from_db()
        assert participant.anonymised_on
        assert privacy.apply_retention(today=day_after)[study.slug] == 0

    def test_or_are_deleted(self):
        study, _participant = self.make(at_retention="delete")
        factories.make_participant()  # of a study without a date
        assert privacy.apply_retention(today=date(2028, 1, 1)) == {study.slug: 1}
        assert Participant.objects.count() == 1

    @pytest.mark.parametrize("act", ["anonymise", "delete"])
    def test_somebody_who_withdraws_meanwhile_stops_nobody(self, monkeypatch, act):
        study, _participant = self.make(at_retention=act, withdrawal="delete")
        factories.make_participant(study=study)
        retire = privacy._retire

        def another_tab(version, participants, failures):
            privacy.withdraw(participant=participants[0])
            return retire(version, participants, failures)

        monkeypatch.setattr(privacy, "_retire", another_tab)
        assert privacy.apply_retention(today=date(2028, 1, 1)) == {study.slug: 1}
        assert not Participant.objects.filter(anonymised_on=None).exists()

    def test_one_who_cannot_be_removed_keeps_no_other(self, monkeypatch):
        study, stays = self.make(at_retention="delete")
        goes = factories.make_participant(study=study)
        delete = privacy.delete_participant

        def fails_once(*, participant, **options):
            if participant == stays:
                raise RuntimeError("a disk is full")
            return delete(participant=participant, **options)

        monkeypatch.setattr(privacy, "delete_participant", fails_once)
        with pytest.raises(ExceptionGroup) as failed:
            privacy.apply_retention(today=date(2028, 1, 1))
        assert failed.value.exceptions[0].__notes__ == [f"participant {stays.pk}"]
        assert not Participant.objects.filter(pk=goes.pk).exists()
        assert Participant.objects.filter(pk=stays.pk).exists()

    def test_the_command_and_the_task(self, monkeypatch, capsys):
        study, _participant = self.make()
        monkeypatch.setattr(timezone, "now", lambda: datetime(2028, 1, 1, tzinfo=UTC))
        call_command("apply_retention", "--dry-run")
        assert f"{study.slug}: 1 participants\nNothing was changed." in capsys.readouterr().out
        assert Participant.objects.filter(anonymised_on=None).count() == 1
        keep_promises()
        assert not Participant.objects.filter(anonymised_on=None).exists()
        call_command("apply_retention")
        assert "Done." in capsys.readouterr().out

    def test_old_notices_go(self):
        ReceivedNotice.objects.create(platform="prolific", event_id="old")
        ReceivedNotice.objects.update(received_at=timezone.now() - timedelta(days=31))
        ReceivedNotice.objects.create(platform="prolific", event_id="new")
        privacy.apply_retention(today=date(2026, 1, 1))
        assert ReceivedNotice.objects.get().event_id == "new"

    def test_beat_does_it(self, settings):
        assert settings.CELERY_BEAT_SCHEDULE["apply-retention"]["task"] == keep_promises.name


@pytest.fixture
def user():
    return factories.make_user()


@pytest.fixture
def staff(user):
    client = Client()
    client.force_login(user)
    return client


class TestStaffPage:
    FORM = {"act": "anonymise", "reason": "asked", "sure": "on"}

    def test_it_works(self, study, participant, staff, user):
        address = f"/staff/studies/{study.slug}/privacy/"
        assert "excluded from exports" in staff.get(address).content.decode()
        response = staff.post(address, {**self.FORM, "person": SECRETS[0]}, follow=True)
        assert "Participant anonymised." in response.content.decode()
        assert not ExternalIds.objects.exists()
        assert Event.objects.get(kind="participant_anonymised").actor == user

    def test_deleting(self, study, participant, staff):
        form = {**self.FORM, "act": "delete", "person": participant.public_id}
        staff.post(f"/staff/studies/{study.slug}/privacy/", form)
        assert not Participant.objects.filter(pk=participant.pk).exists()

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"person": "nobody"}, "has no participant"),
            ({"person": ""}, "This field is required."),
            ({"sure": ""}, "This field is required."),
            ({"reason": ""}, "This field is required."),
        ],
    )
    def test_malformed(self, study, participant, staff, changes, sentence):
        form = {**self.FORM, "person": participant.public_id, **changes}
        response = staff.post(f"/staff/studies/{study.slug}/privacy/", form)
        assert response.status_code == 422
        assert sentence in response.content.decode()
        assert Participant.objects.get(pk=participant.pk).anonymised_on is None

    def test_who_may_not(self, study, participant, client):
        address = f"/staff/studies/{study.slug}/privacy/"
        form = {**self.FORM, "person": participant.public_id}
        assert client.post(address, form).status_code == 302
        for role, refused in ((None, 404), (Role.ANALYST, 403), (Role.VIEWER, 403)):
            client.force_login(factories.make_user(role))
            assert client.post(address, form).status_code == refused
        assert Participant.objects.get(pk=participant.pk).anonymised_on is None


class TestCommands:
    def test_remove_participant(self, study, participant, capsys):
        call_command("remove_participant", study.slug, SECRETS[0], "--reason", "asked", "--anonymise")
        assert not ExternalIds.objects.exists()
        participant.refresh_from_db()
        call_command("remove_participant", study.slug, participant.public_id, "--reason", "asked")
        assert Participant.objects.count() == 1
        assert capsys.readouterr().out == "Anonymised one participant.\nDeleted one participant.\n"

    def test_an_id_of_two_people_is_refused(self, study, participant, client):
        token = factories.make_link_and_token(study=study, mode="pilot")[1]
        client.cookies.clear()
        client.get(f"/join/{token}/{query(SECRETS[0])}")
        client.post(f"/study/{study.slug}/consent/", {"consent": "yes"})
        with pytest.raises(CommandError, match="2 participants"):
            call_command("remove_participant", study.slug, SECRETS[0], "--reason", "asked")

    def test_another_study_is_not_touched(self, participant):
        with pytest.raises(CommandError, match="has no participant"):
            call_command("remove_participant", factories.make_study().slug, SECRETS[0], "--reason", "x")

    def test_external_ids(self, study, participant, capsys):
        call_command("external_ids", study.slug)
        (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
        assert row["participant_id"] == participant.public_id
        assert (row["platform"], row["person_id"], row["session_id"]) == ("prolific", *SECRETS)

    def test_no_bundle_holds_external_ids(self, study, participant, tmp_path):
        exported = bundle(study, tmp_path / "internal") + bundle(study, tmp_path / "public", public=True)
        assert not any(secret in exported for secret in SECRETS)
