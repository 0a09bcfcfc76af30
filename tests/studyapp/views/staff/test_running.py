"""Tests of running a study: pauses, conditions, quotas, notes, log.

They cover the archive, copies and estimates, too.
"""

import csv
import io
import re
from datetime import date, timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone, translation

from accounts.models import AuditEntry
from analysis.participants.bundle import load_bundle
from analysis.study.analysis import Options, analyse
from studyapp.actions.pages import show_stage, submit_stage
from studyapp.actions.participants import consent
from studyapp.actions.running import CannotRun, archive_study, duplicate_study, set_condition
from studyapp.actions.studies import pause_study
from studyapp.exports.estimates import compute_running_estimates
from studyapp.models import Condition, Event, Participant, Stimulus, Study, Trial
from studyapp.policies import NotAdmitted
from studyapp.queries.log import LogFilter, list_events
from studyapp.queries.running.progress import build_study_progress, drop_outs
from studyapp.rules.page_timing import PageTiming
from studyapp.rules.states import ForbiddenTransition
from tests.html import join_lines
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return factories.make_user()


@pytest.fixture
def staff(client, user):
    client.force_login(user)
    return client


@pytest.fixture
def study():
    return factories.make_study(conditions=2, items=2)


def page(staff, study, name=""):
    return staff.get(f"/staff/studies/{study.slug}/{name}").content.decode()


ADDRESSES = ["running/", "estimates/", "log/", "duplicate/", "compare/"]
ACTS = ["pause/", "resume/", "notes/", "archive/", "restore/", "conditions/1/", "duplicate/"]


def test_it_works(staff, study):
    factories.make_participant(study=study, completed=True)
    for address in ADDRESSES:
        assert staff.get(f"/staff/studies/{study.slug}/{address}").status_code == 200
    assert staff.get("/staff/archive/").status_code == 200


def test_the_log_as_a_safe_file(staff, user, study):
    staff.post(f"/staff/studies/{study.slug}/notes/", {"text": "a note"})
    Event.objects.filter(kind="note").update(kind="=note")  # a kind that a spreadsheet would run
    response = staff.get(f"/staff/studies/{study.slug}/log.csv", {"who": user.username})
    header, *rows = csv.reader(io.StringIO(b"".join(response.streaming_content).decode()))
    assert header == ["at", "actor", "participant", "kind", "data"]
    assert [row[3] for row in rows][:1] == ["'=note"]
    assert {row[1] for row in rows} == {user.username}
    assert AuditEntry.objects.filter(kind="export_downloaded", data={"kind": "log"}).count() == 1
    assert staff.head(f"/staff/studies/{study.slug}/log.csv").status_code == 200
    assert AuditEntry.objects.filter(kind="export_downloaded").count() == 1  # HEAD exports nothing


def test_the_log_sorts_by_time(staff, study):
    newest, oldest = (page(staff, study, f"log/?sort={order}") for order in ("-when", "when"))
    assert 'aria-sort="descending"' in newest
    assert 'aria-sort="ascending"' in oldest


def test_only_users_with_a_role_may(client, study):
    for act in ACTS:
        assert "/accounts/login/" in client.post(f"/staff/studies/{study.slug}/{act}").url
    client.force_login(factories.make_user(None))
    for address in ADDRESSES:
        assert client.get(f"/staff/studies/{study.slug}/{address}").status_code == 404
    for act in ACTS:
        assert client.post(f"/staff/studies/{study.slug}/{act}").status_code == 404
    study.refresh_from_db()
    assert study.status == "open"


# Pausing


def test_a_paused_study_admits_nobody_and_lets_finish(staff, study):
    link = factories.make_link(study=study)
    begun = consent(link=link)
    staff.post(f"/staff/studies/{study.slug}/pause/")
    with pytest.raises(NotAdmitted, match="is paused"):
        consent(link=link)
    factories.answer_item(begun)
    assert "Resume" in page(staff, study)
    staff.post(f"/staff/studies/{study.slug}/resume/")
    assert consent(link=link).status == "active"
    assert Event.objects.filter(study=study, kind="study_paused").count() == 1


def test_only_an_open_study_is_paused(study, user):
    pause_study(study=study, by=user)
    with pytest.raises(ForbiddenTransition):
        pause_study(study=study, by=user)


# Conditions and quotas


def arms(study):
    return list(Condition.objects.filter(version__study=study).order_by("position"))


def test_a_closed_condition_gets_nobody(study, user):
    closed, other = arms(study)
    set_condition(condition=closed, is_open=False, quota=None, by=user)
    link = factories.make_link(study=study)
    assert {consent(link=link).condition for _number in range(4)} == {other}


def test_a_quota_is_kept_and_raised(study, user):
    first, second = arms(study)
    for arm in (first, second):
        set_condition(condition=arm, is_open=True, quota=2, by=user)
    link = factories.make_link(study=study)
    for _number in range(4):
        consent(link=link)
    with pytest.raises(NotAdmitted, match="no more participants"):
        consent(link=link)
    set_condition(condition=second, is_open=True, quota=3, by=user)
    assert consent(link=link).condition == second
    with pytest.raises(NotAdmitted):
        consent(link=link)


def test_a_place_that_was_lost_is_free_again(study, user):
    for arm in arms(study):
        set_condition(condition=arm, is_open=True, quota=1, by=user)
    link = factories.make_link(study=study)
    lost, _active = consent(link=link), consent(link=link)
    Participant.objects.filter(pk=lost.pk).update(last_seen_at=timezone.now() - timedelta(hours=2))
    assert consent(link=link).condition == lost.condition


def test_a_quota_is_of_live_participants(study, user):
    for arm in arms(study):
        set_condition(condition=arm, is_open=True, quota=0, by=user)
    assert consent(link=factories.make_link(study=study, mode="pilot")).condition is not None
    with pytest.raises(NotAdmitted):
        consent(link=factories.make_link(study=study))


def test_who_comes_through_the_checks_when_all_is_full_is_sent_away(user):
    study = factories.make_study(conditions=2, items=2, instructions_page=True)
    link = factories.make_link(study=study)
    waiting = consent(link=link)
    for arm in arms(study):
        set_condition(condition=arm, is_open=True, quota=0, by=user)
    from_page = waiting.stages.get()
    show_stage(page=from_page)
    submit_stage(page=from_page, answers={}, changes={}, timing=PageTiming())
    waiting.refresh_from_db()
    assert (waiting.status, waiting.outcome) == ("ended", "full")
    assert build_study_progress(study)[0].unassigned == {"full": 1}


def test_a_condition_is_set_on_the_page(staff, study):
    arm = arms(study)[0]
    address = f"/staff/studies/{study.slug}/conditions/{arm.pk}/"
    staff.post(address, {"quota": "7"})
    arm.refresh_from_db()
    assert (arm.is_open, arm.quota) == (False, 7)
    assert "quota 7" in page(staff, study)
    assert staff.post(address, {"quota": "-1"}).status_code == 422
    staff.post(address, {"quota": "", "is_open": "on"})
    arm.refresh_from_db()
    assert (arm.is_open, arm.quota) == (True, None)
    details = Event.objects.filter(kind="condition_set").latest("pk").data
    assert details["before"] == {"is_open": False, "quota": 7}
    other = arms(factories.make_study())[0]
    assert staff.post(f"/staff/studies/{study.slug}/conditions/{other.pk}/", {}).status_code == 404


def test_setting_the_same_leaves_no_trace(study, user):
    set_condition(condition=arms(study)[0], is_open=True, quota=None, by=user)
    assert not Event.objects.filter(kind="condition_set").exists()


# Drop-outs, notes, log


def test_where_people_stopped(study):
    link = factories.make_link(study=study)
    stale = factories.make_participant(link=link, items=1)
    Participant.objects.filter(pk=stale.pk).update(last_seen_at=timezone.now() - timedelta(hours=2))
    factories.make_participant(link=link, items=1)
    factories.make_participant(link=link, completed=True)
    [row] = drop_outs(study)
    assert (row.version, row.items, row.groups) == (1, 1, {stale.group: 1})


def test_a_group_of_all_conditions_has_a_german_name(staff):
    study = factories.make_study(conditions=2, items=2, design="within")
    stale = factories.make_participant(study=study, items=1)
    Participant.objects.filter(pk=stale.pk).update(last_seen_at=timezone.now() - timedelta(hours=2))
    with translation.override("de"):
        german = translation.gettext("all conditions")
    assert german != "all conditions"
    for address in ("participants/", f"participants/{stale.public_id}/", "running/"):
        page = staff.get(f"/staff/studies/{study.slug}/{address}", headers={"accept-language": "de"})
        assert german in page.content.decode(), address


def test_who_gave_the_place_back_is_returned_and_not_active(study):
    participant = factories.make_participant(study=study, items=1)
    Participant.objects.filter(pk=participant.pk).update(returned_at=timezone.now())
    [row] = [row for row in build_study_progress(study)[0].conditions if row.assigned]
    assert (row.returned, row.active, row.stale) == (1, 0, 0)
    assert [drop_out.total for drop_out in drop_outs(study)] == [1]


def test_progress_of_a_design_with_several_conditions_each():
    study = factories.make_study(conditions=2, items=2, design="within")
    factories.make_participant(study=study, items=1)
    [live] = build_study_progress(study)
    [row] = live.conditions
    assert (row.assigned, row.active, row.condition) == (1, 1, "all conditions")
    assert row.median_seconds is not None


def test_notes_are_kept_in_the_log(staff, study, user):
    assert staff.post(f"/staff/studies/{study.slug}/notes/", {"text": "  "}).status_code == 422
    staff.post(f"/staff/studies/{study.slug}/notes/", {"text": "The server was slow at noon."})
    assert "The server was slow at noon." in page(staff, study, "running/")
    assert "The server was slow at noon." in page(staff, study, "log/?kind=note")
    assert "The server was slow at noon." not in page(staff, study, "log/?kind=study_launched")


@pytest.mark.parametrize("query", ["kind=gone", "who=gone"])
def test_an_old_address_of_the_log_finds_nothing(staff, study, query):
    assert "No events match." in page(staff, study, f"log/?{query}")


def test_the_log_is_filtered(staff, study, user):
    factories.make_participant(study=study, items=1)
    pause_study(study=study, by=user)
    every = list_events(study, LogFilter())
    assert {row.kind for row in list_events(study, LogFilter(who=user.username))} == {"study_paused"}
    assert all(row.participant_id for row in list_events(study, LogFilter(who="participants")))
    today = timezone.now().date()
    assert list_events(study, LogFilter(since=today, until=today)).count() == every.count()
    assert list_events(study, LogFilter(until=date.max)).count() == every.count()
    assert not list_events(study, LogFilter(until=today - timedelta(days=1))).exists()
    shown = page(staff, study, f"log/?who={user.username}")
    assert "1 event<" in join_lines(shown)
    assert '<th scope="row">Study paused</th>' in shown
    assert '<option value="study_paused">Study paused</option>' in shown
    assert page(staff, study, "log/?since=nonsense").count("error-text") == 1


# Archive, copies, comparison


def test_an_open_study_is_not_archived(study, user):
    with pytest.raises(CannotRun, match="Close the study"):
        archive_study(study=study, by=user)


def test_an_archived_study_is_out_of_the_list_until_it_is_restored(staff, study):
    for act in ("close/", "archive/"):
        staff.post(f"/staff/studies/{study.slug}/{act}")
    assert study.slug not in staff.get("/staff/").content.decode()
    assert study.slug in staff.get("/staff/archive/").content.decode()
    staff.post(f"/staff/studies/{study.slug}/restore/")
    assert study.slug in staff.get("/staff/").content.decode()


@pytest.mark.parametrize("act", ["studies/{}/reopen/", "studio/{}/launch/"])
def test_a_study_that_admits_people_again_leaves_the_archive(staff, study, user, act):
    for done in ("close/", "archive/"):
        staff.post(f"/staff/studies/{study.slug}/{done}")
    staff.post(f"/staff/{act.format(study.slug)}")
    study.refresh_from_db()
    assert (study.status, study.archived_at) == ("open", None)
    assert study.slug in staff.get("/staff/").content.decode()
    assert study.slug not in staff.get("/staff/archive/").content.decode()
    assert study.events.get(kind="study_restored").actor == user


def test_a_preregistration_of_an_unknown_form_is_not_there(staff, study):
    assert staff.get(f"/staff/studio/{study.slug}/preregistration/unknown.md").status_code == 404


def test_a_copy_is_a_draft_of_its_own(staff, study, user):
    factories.make_participant(study=study, completed=True)
    address = f"/staff/studies/{study.slug}/duplicate/"
    response = staff.post(address, {"slug": "second-try", "title": "Second try"})
    assert response.url == "/staff/studies/second-try/"
    copy = Study.objects.get(slug="second-try")
    assert (copy.status, copy.title, copy.versions.count()) == ("draft", "Second try", 0)
    assert copy.definition == study.definition | {"study": "second-try", "title": "Second try"}
    assert copy.pseudonym_key != study.pseudonym_key
    with pytest.raises(CannotRun, match="this name already exists"):
        duplicate_study(study=study, slug="second-try", title="Third", workspace=study.workspace, by=user)
    assert staff.post(address, {"slug": "second-try", "title": "Third"}).status_code == 422
    assert staff.post(address, {"slug": "Not A Slug", "title": "Third"}).status_code == 422


def test_the_title_of_a_copy_is_that_for_staff(staff, study):
    shown = page(staff, study, "duplicate/")
    assert "Title (shown to participants)" not in shown
    assert "Staff see it, in lists, exports and reports." in shown


def test_versions_are_compared_field_by_field(staff):
    definition = factories.make_definition(consent="Old words.")
    study = factories.make_study_of(definition)
    assert "No difference" in page(staff, study, "compare/")
    factories.make_study_of(definition.model_copy(update={"consent": "New words."}))
    shown = page(staff, study, "compare/?before=1&after=2")
    assert "1 difference<" in join_lines(shown)
    assert re.search(r"consent</th>.*Old words.*New words", shown, re.DOTALL)
    assert "No difference" in page(staff, study, "compare/?before=2&after=draft")


def test_a_draft_alone_has_nothing_to_compare_with(staff):
    study = factories.make_study(launched=False)
    assert "nothing to compare yet" in page(staff, study, "compare/")


# Estimates


def test_estimates_are_those_of_the_answers(staff, study):
    assert compute_running_estimates(study) is None
    assert "No live participant" in page(staff, study, "estimates/")
    Stimulus.objects.filter(condition__version__study=study, condition__run__isnull=False).update(
        system_correct=False
    )
    link = factories.make_link(study=study)
    for _number in range(4):
        factories.make_participant(link=link, completed=True)
    estimates = compute_running_estimates(study)
    assert estimates is not None
    assert (estimates.version, estimates.trials, estimates.excluded) == (1, 8, 0)
    by_key = {measure.key: {cell.condition: cell for cell in cells} for measure, cells in estimates.table}
    system, truth = (arm.name for arm in arms(study))
    # Everybody says that every answer is correct.
    assert by_key["fp"][system].value == 1
    assert by_key["tp"][truth].value == 1
    assert by_key["tp"][truth].interval == (1, 1)
    assert by_key["fp"][truth].participants == 2
    shown = page(staff, study, "estimates/")
    assert "False positives" in shown
    german = staff.get(f"/staff/studies/{study.slug}/estimates/", headers={"accept-language": "de"})
    for text in ("Falsch Positive, von allen Antworten", "FP / n: als richtig bewertet, ist falsch"):
        assert text in german.content.decode()
    assert "planned and registered" in shown


def test_estimates_are_those_of_the_report(study, tmp_path):
    """Values and confidence intervals are equal, not only alike.

    The code, seed and rows are the same.
    """
    link = factories.make_link(study=study)
    for number in range(5):
        person = factories.make_participant(link=link, completed=True)
        correct, certainty = bool(number % 2), 1 + number
        for trial in Trial.objects.filter(participant=person):
            trial.answers = (trial.answers or {}) | {"rated_correct": correct, "certainty": certainty}
            trial.save()
    call_command("export_results", study.slug, "--out", str(tmp_path / "bundle"), stdout=io.StringIO())
    report = analyse(load_bundle(tmp_path / "bundle"), Options(seed=1, resamples=500)).retained.estimates
    for measure, shown in compute_running_estimates(study).table:
        assert shown == [report.get(measure.key, name) for name in report.conditions]


def test_who_withdrew_is_not_estimated(study):
    participant = factories.make_participant(study=study, completed=True)
    assert compute_running_estimates(study).trials == 2
    Participant.objects.filter(pk=participant.pk).update(status="withdrawn")
    assert compute_running_estimates(study) is None
