"""Tests of the staff pages: roles, counts, the life cycle, and new links."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.site._large_data import recount_times
from studyapp.actions.drafts import save_draft
from studyapp.link_tokens import find_link
from studyapp.models import EntryLink, Participant, Study, Trial
from studyapp.queries.design.drafts import read_current_draft
from studyapp.queries.running.progress import STATES, build_study_progress
from tests.html import join_lines
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client):
    client.force_login(factories.make_user())
    return client


@pytest.fixture
def study():
    return factories.make_study(conditions=2, items=2)


def test_it_works(staff, study):
    factories.make_participant(study=study, completed=True)
    factories.make_participant(link=factories.make_link(study=study, mode="bot"), items=1)
    listed = staff.get("/staff/").content.decode()
    assert f'href="/staff/studies/{study.slug}/"' in listed
    page = staff.get(f"/staff/studies/{study.slug}/").content.decode()
    assert study.versions.get().hash in page
    assert "1 of 1 completed" in page
    assert "0 of 1 completed" in page  # the bot
    fragment = staff.get(f"/staff/studies/{study.slug}/progress/").content.decode()
    assert fragment.strip() in page
    assert "<html" not in fragment


ADDRESSES = ["/staff/", "/staff/studies/{}/", "/staff/studies/{}/progress/"]
ACTS = ["links", "close", "reopen"]


def test_strangers_are_sent_to_the_login(client, study):
    for address in ADDRESSES:
        response = client.get(address.format(study.slug))
        assert response.url == f"/accounts/login/?next={address.format(study.slug)}"
    for act in ACTS:
        assert client.post(f"/staff/studies/{study.slug}/{act}/").status_code == 302
    assert Study.objects.get().status == "open"


def test_users_without_a_role_find_nothing(client, study):
    client.force_login(factories.make_user(None))
    for address in ADDRESSES[1:]:
        response = client.get(address.format(study.slug))
        assert response.status_code == 404
        assert study.title not in response.content.decode()
    for act in ACTS:
        assert client.post(f"/staff/studies/{study.slug}/{act}/").status_code == 404
    assert Study.objects.get().status == "open"
    assert not EntryLink.objects.exists()


def test_an_unknown_study_is_not_found(staff):
    assert staff.get("/staff/studies/nothing/").status_code == 404


def test_acts_need_a_post(staff, study):
    for act in ACTS:
        assert staff.get(f"/staff/studies/{study.slug}/{act}/").status_code == 405


def acts_offered(staff, study):
    page = staff.get(f"/staff/studies/{study.slug}/").content.decode()
    return set(re.findall(r'action="/staff/studies/[\w-]+/(close|reopen)/"', page))


def test_the_life_cycle_by_its_buttons(staff):
    study = factories.make_study(launched=False)
    assert acts_offered(staff, study) == set()  # the review of the draft launches
    factories.launch(study)
    for status, offered, act in [
        ("open", {"close"}, "close"),
        ("closed", {"reopen"}, "reopen"),
    ]:
        study.refresh_from_db()
        assert study.status == status
        assert acts_offered(staff, study) == offered
        staff.post(f"/staff/studies/{study.slug}/{act}/")
    study.refresh_from_db()
    assert study.status == "open"


def test_an_act_that_is_not_possible_is_refused_with_a_sentence(staff, study):
    page = staff.post(f"/staff/studies/{study.slug}/reopen/", follow=True).content.decode()
    assert "cannot reopen while open" in page


def test_a_launch_that_is_refused_says_why(staff):
    definition = factories.make_definition()
    study = factories.make_study_of(definition, launched=False)
    Study.objects.filter(pk=study.pk).update(definition={})
    page = staff.post(f"/staff/studio/{study.slug}/launch/", follow=True).content.decode()
    assert "has no definition that can be launched" in page
    assert not study.versions.exists()


def test_a_new_link_is_shown_once(staff, study, settings):
    response = staff.post(
        f"/staff/studies/{study.slug}/links/", {"label": "lab", "mode": "pilot", "single_use": "on"}
    )
    shown = re.search(re.escape(settings.SITE_URL) + "/join/([^/]+)/", response.content.decode())
    assert shown is not None
    token = shown[1]
    link = find_link(token)
    assert link is not None
    assert (link.label, link.mode, link.single_use) == ("lab", "pilot", True)
    page = staff.get(f"/staff/studies/{study.slug}/").content.decode()
    assert "lab" in page
    assert token not in page


def test_a_link_of_an_unknown_mode_is_not_made(staff, study):
    response = staff.post(f"/staff/studies/{study.slug}/links/", {"label": "x" * 101, "mode": "other"})
    assert response.status_code == 422
    assert "error-text" in response.content.decode()
    assert not EntryLink.objects.exists()


def test_a_single_use_link_with_a_quota_is_not_made(staff, study):
    sent = {"mode": "live", "single_use": "on", "quota": "2"}
    response = staff.post(f"/staff/studies/{study.slug}/links/", sent)
    assert response.status_code == 422
    assert "a single-use link admits one participant; leave the quota out" in response.content.decode()
    assert not EntryLink.objects.exists()
    page = staff.post(f"/staff/studies/{study.slug}/links/", {"mode": "live", "quota": "1"}).content.decode()
    assert ">1 participant<" in join_lines(page)


def test_attention_items_are_not_counted_as_items(staff):
    reads = {
        "id": "read",
        "kind": "instructed",
        "position": 2,
        "text": "Choose 5.",
        "expected": {"certainty": 5},
    }
    study = factories.make_study(items={"ids": ["q1", "q2"]}, attention=[reads])
    participant = factories.make_participant(study=study, completed=True)
    assert participant.trials.count() == 3
    for address in ("participants/", f"participants/{participant.public_id}/"):
        assert "2 / 2<" in join_lines(staff.get(f"/staff/studies/{study.slug}/{address}").content.decode())


def test_a_launch_speaks_of_links_that_exist(staff):
    study = factories.make_study(launched=False)
    factories.accept_checks(study)
    first = staff.post(f"/staff/studio/{study.slug}/launch/", follow=True).content.decode()
    assert "Launched version 1. Create an entry link to invite participants." in first
    factories.make_link(study=study)
    now = read_current_draft(study)
    draft = {**now.draft, "consent": "You may leave at any time."}
    save_draft(study=study, base=now.number, draft=draft, changed="texts", by=None)
    study.refresh_from_db()
    factories.accept_checks(study)
    second = staff.post(f"/staff/studio/{study.slug}/launch/", follow=True).content.decode()
    assert "Launched version 2. Existing entry links lead to it." in second


def test_progress_counts_every_participant_once(staff, study):
    link = factories.make_link(study=study)
    for _number in range(3):
        factories.make_participant(link=link, completed=True)
    stale, withdrawn, _active = (factories.make_participant(link=link, items=1) for _number in range(3))
    Participant.objects.filter(pk=stale.pk).update(last_seen_at=timezone.now() - timedelta(hours=2))
    Participant.objects.filter(pk=withdrawn.pk).update(status="withdrawn")
    [live] = build_study_progress(study)
    assert live.mode == "live"
    assert (live.assigned, live.completed) == (6, 3)
    totals = [sum(getattr(row, name) for row in live.conditions) for name in ("active", "stale", "withdrawn")]
    assert totals == [1, 1, 1]
    for row in live.conditions:
        assert sum(getattr(row, state) for state in STATES) == row.assigned == 3
    listed = staff.get("/staff/").content.decode()
    assert re.findall(r'<td class="number">(\d+)</td>', listed) == ["6", "3"]


def test_the_time_of_an_item_is_the_median_of_the_server_clock(study):
    participant = factories.make_participant(study=study, completed=True)
    now = timezone.now()
    for trial, seconds in zip(participant.trials.all(), (10, 40), strict=True):
        Trial.objects.filter(pk=trial.pk).update(shown_at=now, submitted_at=now + timedelta(seconds=seconds))
    recount_times(participant.version)
    medians = {row.condition: row.median_seconds for row in build_study_progress(study)[0].conditions}
    assert medians.pop(participant.condition.name) == 25
    assert list(medians.values()) == [None]


def test_a_study_without_versions_has_no_conditions(staff):
    study = factories.make_study(launched=False)
    assert [(mode.mode, mode.conditions) for mode in build_study_progress(study)] == [("live", [])]
    assert "Launch the study" in staff.get(f"/staff/studies/{study.slug}/").content.decode()


def test_the_pages_cost_few_queries(staff, study, django_assert_num_queries, django_assert_max_num_queries):
    for _number in range(4):
        factories.make_participant(study=study, items=1)
        factories.make_study(items=1)
    staff.get(f"/staff/studies/{study.slug}/")
    with django_assert_num_queries(5):  # session, user, studies, and for the frame roles and workspaces
        staff.get("/staff/")
    # Each figure, chart and act asks once or twice, however many participants there are.
    with django_assert_max_num_queries(31):
        staff.get(f"/staff/studies/{study.slug}/progress/")


def test_the_front_door(client):
    assert 'href="/accounts/login/"' in client.get("/").content.decode()
    client.force_login(factories.make_user())
    assert client.get("/").url == "/start/"
