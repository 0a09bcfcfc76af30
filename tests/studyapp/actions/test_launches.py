"""Tests of what a launch refuses, and of its decisions and rehearsals."""

import json
from datetime import date, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import AuditEntry
from jobs.models import Job
from predictions.models import Prediction
from studyapp.actions.correctness import judge, queue_answers
from studyapp.actions.drafts import save_draft
from studyapp.actions.links import create_link
from studyapp.actions.rehearsals import start_rehearsal
from studyapp.actions.studies import accept_check, launch_study
from studyapp.errors import StudyRefused
from studyapp.exports.bundle import write_bundle
from studyapp.exports.registration import build_draft_preregistration, build_preregistration
from studyapp.models import Event, LaunchDecision, Participant, Stimulus, Study
from studyapp.policies import NotAdmitted
from studyapp.queries.access import list_studies
from studyapp.queries.design.correctness import find_missed_answers, queue
from studyapp.queries.design.drafts import read_current_draft
from studyapp.queries.design.launches import NeedsDecision, build_checklist
from studyapp.queries.running.results import read_data_state
from tests.studyapp import factories

pytestmark = pytest.mark.django_db
TODAY = date.today()


@pytest.fixture
def draft() -> Study:
    """A draft with a system that answers "in Kolwen 2", not "Kolwen 2".

    "Kolwen 2" is right.
    """
    dataset, items = factories.make_dataset(), {"ids": ["q1", "q2", "q3", "q4"]}
    boss = factories.make_user()
    study = factories.make_study(dataset=dataset.name, items=items, launched=False, by=boss)
    Prediction.objects.filter(question__external_id="q2").update(answer="in Kolwen 2")
    return study


def states(study: Study) -> dict[str, str]:
    return {check.name: check.state for check in build_checklist(study)}


def changed(study: Study, **changes: object) -> None:
    now = read_current_draft(study)
    save_draft(study=study, base=now.number, draft={**now.draft, **changes}, changed="texts", by=None)
    study.refresh_from_db()


class TestDecisions:
    def test_a_launch_asks_for_those_that_are_missing(self, draft):
        with pytest.raises(NeedsDecision, match="1 of 4 shown answers resemble") as refusal:
            launch_study(study=draft, by=None)
        assert [check.name for check in refusal.value.checks] == ["judging", "rehearsal"]
        assert not LaunchDecision.objects.exists()
        version = factories.launch(draft)
        assert sorted(version.decisions.values_list("check_name", flat=True)) == ["judging", "rehearsal"]
        launched = Event.objects.get(kind="study_launched")
        assert launched.data["decisions"] == factories.ACCEPTED

    @pytest.mark.parametrize(
        ("check", "reason", "complaint"),
        [
            (
                "colour",
                "a good reason",
                "unknown check 'colour'; checks that take a decision: judging, rehearsal",
            ),
            ("judging", "  ", "must not be empty"),
            ("judging", "\u200b" * 6, "must not be empty"),
            ("rehearsal", "ok", "the reason for rehearsal needs 5 to 2000 characters"),
        ],
    )
    def test_one_without_a_check_or_a_reason_is_refused(self, draft, check, reason, complaint):
        with pytest.raises(StudyRefused, match=complaint):
            launch_study(study=draft, by=None, accept={**factories.ACCEPTED, check: reason})
        assert not LaunchDecision.objects.exists()
        assert not draft.versions.exists()

    def test_it_holds_for_the_draft_that_it_was_made_for(self, draft):
        factories.accept_checks(draft, by=draft.created_by)
        assert {states(draft)[name] for name in ("judging", "rehearsal")} == {"decided"}
        changed(draft, title="Another title")
        assert (states(draft)["judging"], states(draft)["rehearsal"]) == ("decided", "undecided")
        with pytest.raises(NeedsDecision, match="on rehearsal: Nobody rehearsed"):
            launch_study(study=draft, by=None)

    def test_one_on_answers_covers_no_other_answers(self, draft):
        factories.accept_checks(draft)
        Prediction.objects.filter(question__external_id="q4").update(answer="Kolwen 4 by the sea")
        assert states(draft)["judging"] == "undecided"

    def test_one_that_nothing_needs_is_not_stored(self, draft):
        Prediction.objects.filter(question__external_id="q2").update(answer="Kolwen 2")
        accept_check(study=draft, check="judging", reason="a good reason", by=None)
        assert not LaunchDecision.objects.exists()
        assert states(draft)["judging"] == "done"

    def test_it_stands_in_bundle_and_preregistration(self, draft, tmp_path):
        factories.launch(draft, by=draft.created_by)
        for public, username in ((False, draft.created_by.username), (True, None)):
            write_bundle(draft, tmp_path / str(public), public=public)
            document = json.loads((tmp_path / str(public) / "study_version.json").read_text())
            [version] = document["versions"]
            assert {row["check"]: row["reason"] for row in version["decisions"]} == factories.ACCEPTED
            assert {row["by"] for row in version["decisions"]} == {username}
            assert [row["near_misses"] for row in version["correctness"]] == [1]
            assert version["correctness"][0]["sources"] == {"exact match": 4}
        assert "The check `judging` was open" in build_preregistration(draft)


class TestJudging:
    @pytest.mark.parametrize(
        ("gold", "answer"), [("yes", "no"), ("Kolwen", "Oslo"), ("Kolwen", "the kolwen!")]
    )
    def test_yes_no_and_other_words_are_no_near_misses(self, draft, gold, answer):
        prediction = Prediction.objects.get(question__external_id="q2")
        type(prediction.question).objects.filter(pk=prediction.question_id).update(answer=gold)
        Prediction.objects.filter(pk=prediction.pk).update(answer=answer)
        assert states(draft)["judging"] == "done"

    def test_the_verdict_of_one_judge_counts_and_is_said(self, draft):
        judged, judges = self.queued(draft)
        judge(judged=judged, is_correct=True, by=judges[0])
        [check] = [check for check in build_checklist(draft) if check.name == "judging"]
        assert (check.state, check.message) == (
            "done",
            "Judged: 1 of 4 shown answers, 1 of them by one judge alone.",
        )
        text = build_draft_preregistration(draft)
        assert "3 of 4 answers are correct (2 by exact match)" in text
        assert "1 by one judge" in text
        version = factories.launch(draft)
        stimulus = Stimulus.objects.get(condition__version=version, shown_answer=judged.answer)
        assert (stimulus.system_correct, stimulus.judged_by) == (True, "one judge")

    def test_an_open_disagreement_needs_a_decision(self, draft):
        judged, judges = self.queued(draft)
        judge(judged=judged, is_correct=True, by=judges[0])
        judge(judged=judged, is_correct=False, by=judges[1])
        assert states(draft)["judging"] == "undecided"

    def queued(self, draft):
        prediction = Prediction.objects.get(answer="in Kolwen 2")
        judges = [factories.make_user(), factories.make_user()]
        queue_answers(answers=find_missed_answers(prediction.run), by=judges[0])
        return queue(prediction.run).get(answer=prediction.answer), judges


def walk(rehearsal: Study, mode: str, **how: object) -> None:
    factories.make_participant(link=create_link(study=rehearsal, by=None, mode=mode)[0], **how)


class TestRehearsal:
    def test_it_is_apart_from_the_study(self, draft):
        rehearsal = start_rehearsal(study=draft, by=draft.created_by)
        factories.make_participant(
            link=create_link(study=rehearsal, by=None, mode="pilot")[0], completed=True
        )
        assert states(draft)["rehearsal"] == "done"
        draft.refresh_from_db()
        assert (draft.status, draft.versions.count()) == ("draft", 0)
        assert list(list_studies(draft.created_by)) == [draft]
        version = launch_study(study=draft, by=None, accept={"judging": "a good reason"})
        assert version.hash == Participant.objects.get().version.hash
        assert read_data_state(draft, "pilot")["participants"] == 0
        rehearsal.refresh_from_db()
        with pytest.raises(NotAdmitted):
            walk(rehearsal, "bot")

    def test_a_change_needs_another_one(self, draft):
        first = start_rehearsal(study=draft, by=None)
        walk(first, "bot", completed=True)
        changed(draft, title="Another title")
        assert states(draft)["rehearsal"] == "undecided"
        assert start_rehearsal(study=draft, by=None) != first
        first.refresh_from_db()
        assert first.status == "closed"
        changed(draft, title="Do the explanations help?")
        assert states(draft)["rehearsal"] == "done"
        assert start_rehearsal(study=draft, by=None) == first

    def test_whoever_leaves_has_not_rehearsed(self, draft):
        rehearsal = start_rehearsal(study=draft, by=None)
        walk(rehearsal, "bot", items=1)
        assert states(draft)["rehearsal"] == "undecided"

    def test_nobody_in_it_is_live_or_comes_from_a_platform(self, draft):
        changed(draft, recruitment={"platform": "prolific", "outcomes": {"done": {"code": "C0DE"}}})
        rehearsal = start_rehearsal(study=draft, by=None)
        with pytest.raises(ValueError, match="nobody in a rehearsal is a live participant"):
            create_link(study=rehearsal, by=None)
        link, _token = create_link(study=rehearsal, by=None, mode="pilot")
        assert link.recruitment["platform"] == "generic"


NEXT_MONTH, YESTERDAY = str(TODAY + timedelta(days=30)), str(TODAY - timedelta(days=1))
REFUSED = {
    "placeholder": ({"consent": "Ask [whom]."}, "consent", "still holds the placeholder"),
    "empty part": ({"consent": "I agree.\n\nContact:"}, "consent", "says nothing after"),
    "retention in the past": (
        {"privacy": {"retain_until": YESTERDAY}}, "privacy.retain_until", "not in the future",
    ),
    "retention before the end": (
        {"closes": NEXT_MONTH, "privacy": {"retain_until": str(TODAY + timedelta(days=29))}},
        "privacy.retain_until", "while participants still come",
    ),
    "closing in the past": ({"closes": YESTERDAY}, "closes", "nobody would be admitted"),
    "no code": (
        {"completion": {"redirect_url": "https://a.org/"}}, "completion.redirect_url", "lacks {code}",
    ),
    "no code of a platform": (
        {"recruitment": {"platform": "generic", "outcomes": {"done": {"url": "https://a.org/done"}}}},
        "recruitment.outcomes.done.url", "lacks {code}",
    ),
    "not https": (
        {"completion": {"redirect_url": "http://a.org/{code}"}}, "completion.redirect_url", "https",
    ),
    "no participants": ({"participants": 0}, "participants", "at least 1"),
}  # fmt: skip


def places(study: Study) -> str:
    return next(check.message for check in build_checklist(study) if check.name == "places")


def test_the_number_of_participants_is_that_of_all_limits(draft):
    first = read_current_draft(draft).draft["conditions"][0]
    assert "without a limit" in places(draft)
    system = {**first, "name": "a"}
    changed(draft, conditions=[{**system, "quota": 10}, {**system, "name": "b"}])
    assert "without a limit" in places(draft)
    changed(draft, conditions=[{**system, "quota": 10}, {**system, "name": "b", "quota": 5}])
    assert places(draft) == "At most 15 participants are admitted."
    changed(draft, participants=12)
    assert places(draft) == "At most 12 participants are admitted."
    changed(draft, participants=None, design="within")
    assert places(draft) == "At most 5 participants are admitted."


def test_what_cannot_be_checked_yet_is_said(draft):
    changed(draft, participants=0, consent="Ask [whom].")
    assert states(draft) == {
        **dict.fromkeys(("definition", "consent", "retention", "completion"), "waiting"),
        "places": "refused",
        **dict.fromkeys(("judging", "rehearsal"), "waiting"),
    }
    changed(draft, participants=20)
    assert states(draft) == {
        "consent": "refused",
        **dict.fromkeys(("definition", "retention", "completion", "places"), "done"),
        **dict.fromkeys(("judging", "rehearsal"), "waiting"),
    }


@pytest.mark.parametrize(("changes", "field", "complaint"), REFUSED.values(), ids=REFUSED.keys())
class TestRefusals:
    @pytest.fixture
    def study(self, draft, changes) -> Study:
        changed(draft, **changes)
        return draft

    def test_in_the_studio(self, client, study, field, complaint):
        client.force_login(study.created_by)
        page = client.get(f"/staff/studio/{study.slug}/review/").content.decode()
        assert complaint in page
        assert f"?at={field}#f-" in page
        assert f"/staff/studio/{study.slug}/launch/" not in page
        client.post(f"/staff/studio/{study.slug}/launch/")
        assert not study.versions.exists()

    def test_on_the_command(self, study, field, complaint):
        with pytest.raises(CommandError, match="has no definition that can be launched|" + complaint):
            call_command("launch_study", study.slug, *factories.ACCEPT)
        assert not study.versions.exists()

    def test_by_rest(self, study, field, complaint):
        client = Client()
        client.force_login(study.created_by)
        draft = client.get(f"/api/v1/studies/{study.slug}/draft/").json()
        assert [(row["field"], complaint in row["detail"]) for row in draft["problems"]] == [(field, True)]
        assert "refused" in {check["state"] for check in draft["checks"]}
        response = client.post(
            f"/api/v1/studies/{study.slug}/launch/",
            {"accept": factories.ACCEPTED},
            content_type="application/json",
        )
        assert response.status_code == 422
        assert not study.versions.exists()


class TestReview:
    @pytest.fixture
    def staff(self, client, draft) -> Client:
        client.force_login(draft.created_by)
        return client

    def test_a_decision_is_typed_at_its_check(self, staff, draft):
        address = f"/staff/studio/{draft.slug}/accept/rehearsal/"
        refused = staff.post(address, {"reason": "ok"})
        assert refused.status_code == 422
        assert "needs 5 to 2000 characters" in refused.content.decode()
        page = staff.post(address, {"reason": "nobody had the time"}, follow=True).content.decode()
        assert f"Decided by {draft.created_by.username}" in page
        assert "nobody had the time" in page

    def test_judging_is_one_click_away(self, staff, draft):
        page = staff.get(f"/staff/studio/{draft.slug}/review/").content.decode()
        assert f'action="/staff/studies/{draft.slug}/correctness/queue/"' in page
        judge(judged=TestJudging().queued(draft)[0], is_correct=True, by=factories.make_user())
        page = staff.get(f"/staff/studio/{draft.slug}/review/").content.decode()
        assert f'action="/staff/studies/{draft.slug}/correctness/queue/"' in page  # for the second judge
        page = staff.post(f"/staff/studies/{draft.slug}/correctness/queue/", follow=True)
        assert page.request["PATH_INFO"].endswith("/judge/")
        assert "Is the answer correct?" in page.content.decode()

    def test_bots_rehearse_in_a_job(self, staff, draft):
        page = staff.post(f"/staff/studio/{draft.slug}/rehearsal/bots/", follow=True)
        assert page.status_code == 200
        job = Job.objects.get(kind="simulate_participants")
        assert job.options["rehearsal"] == Study.every.get(rehearsal_of=draft).pk
        assert (job.options["study"], job.subject) == (draft.pk, draft.slug)
        assert not AuditEntry.objects.filter(kind="export_downloaded").exists()

    def test_the_link_for_the_team_is_shown_once_and_admits(self, staff, draft, client):
        page = staff.post(f"/staff/studio/{draft.slug}/rehearsal/link/").content.decode()
        address = page.split('id="once" value="')[1].split('"')[0]
        assert "do the explanations help" in Client().get(address, follow=True).content.decode().lower()
        assert address not in staff.get(f"/staff/studio/{draft.slug}/review/").content.decode()

    @pytest.mark.parametrize(
        ("form", "heading"),
        [
            ("touchstone", "## Measures"),
            ("aspredicted", "## 6. Outliers and exclusions"),
            ("osf", "## Blinding"),
        ],
    )
    def test_the_draft_is_preregistered_with_its_hash(self, staff, draft, form, heading):
        text = staff.get(f"/staff/studio/{draft.slug}/preregistration/{form}.md").content.decode()
        assert heading in text
        assert "a draft that was not launched yet" in text
        assert factories.launch(draft).hash in text
        assert "1 unjudged near-misses count as wrong" in text
