"""Pages of a launched study: participants, responses, results, settings."""

import re
from datetime import timedelta

import pytest

from accounts.models import AuditEntry, Role
from analysis.report.page import SORTING_HASH
from jobs.models import Job
from studyapp.actions.exclusions import exclude_participant
from studyapp.exports.report_summary import Difference, Estimated, RankCell, RankRow, Summary
from studyapp.models import Event, ExternalIds, ManualExclusion, Participant, Report
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.make_study(conditions=2, items=2)


@pytest.fixture
def participant(study):
    return factories.make_participant(study=study, completed=True)


def logged_in(client, role=Role.RESEARCHER):
    client.force_login(factories.make_user(role))
    return client


@pytest.fixture
def staff(client):
    return logged_in(client)


@pytest.fixture
def at(study):
    return lambda path="": f"/staff/studies/{study.slug}/{path}"


def text(response):
    return response.content.decode()


def reads(page):
    return AuditEntry.objects.filter(kind="personal_data_read", data={"page": page}).count()


def test_the_table_of_participants(staff, study, participant, at):
    pilot = factories.make_participant(link=factories.make_link(study=study, mode="pilot", label="lab"))
    page = text(staff.get(at("participants/")))
    assert "2 participants" in page
    assert page.index(pilot.public_id) < page.index(participant.public_id)
    assert pilot.public_id not in text(staff.get(at("participants/?state=completed")))
    assert participant.public_id not in text(staff.get(at("participants/?mode=pilot")))
    assert "No participant fits" in text(staff.get(at("participants/?flag=honeypot")))
    assert "2 participants" in text(staff.get(at("participants/?state=nonsense&link=x")))
    exclude_participant(participant=participant, reason="took part twice", by=None)
    page = text(staff.get(at("participants/?excluded=yes")))
    assert participant.public_id in page
    assert pilot.public_id not in page
    assert reads("participants") == 6


def test_flags_and_links_of_bots_are_german_words(staff, study, at):
    link = factories.make_link(study=study, mode="bot", label="bots of job 5")
    participant = factories.make_participant(link=link)
    Participant.objects.filter(pk=participant.pk).update(is_trapped=True)
    for path in ("participants/", f"participants/{participant.public_id}/", "settings/"):
        page = text(staff.get(at(path), headers={"accept-language": "de"}))
        assert "Bots des Auftrags 5" in page
        assert "bots of job" not in page
        assert ("Verstecktes Feld ausgefüllt</span>" in page) is ("participants" in path)


def test_answers_of_yes_and_no_are_german(staff, participant, at):
    page = text(staff.get(at(f"participants/{participant.public_id}/"), headers={"accept-language": "de"}))
    assert "<dd>Ja</dd>" in page
    assert "<dd>Yes</dd>" not in page


@pytest.mark.parametrize("order", ["", "?sort=condition", "?sort=-items"])
def test_the_table_has_pages(staff, study, at, django_assert_max_num_queries, monkeypatch, order):
    monkeypatch.setattr("studyapp.queries.participants.table.PAGE", 2)
    participant_ids = [factories.make_participant(study=study).public_id for _ in range(5)]
    address, listed = at(f"participants/{order}"), []
    while address:
        with django_assert_max_num_queries(25):
            page = text(staff.get(address))
        listed += sorted((name for name in participant_ids if name in page), key=page.index)
        following = re.search(r'href="([^"]+)" rel="next"', page)
        address = at("participants/") + following.group(1).replace("&amp;", "&") if following else ""
    assert sorted(listed) == sorted(participant_ids)


def test_the_table_sorts_and_filters_keep_the_order(staff, study, participant, at):
    fast = factories.make_participant(study=study, completed=True)
    ends = {participant: timedelta(minutes=9), fast: timedelta(minutes=2)}
    for row, took in ends.items():
        Participant.objects.filter(pk=row.pk).update(completed_at=row.consented_at + took)
    stale = factories.make_participant(study=study)
    page = text(staff.get(at("participants/?sort=-minutes&mode=live")))
    order = sorted((participant, fast, stale), key=lambda row: page.index(row.public_id))
    assert order == [participant, fast, stale]  # without an end: last
    page = text(staff.get(at("participants/?sort=minutes&mode=live")))
    assert page.index(fast.public_id) < page.index(participant.public_id) < page.index(stale.public_id)
    assert 'aria-sort="ascending"' in page
    assert 'href="?sort=-minutes&amp;mode=live"' in page
    assert '<input type="hidden" name="sort" value="minutes">' in page


@pytest.mark.parametrize("query", ["before=" + "9" * 5000, "before=" + "9" * 30, "page=" + "9" * 5000])
def test_a_place_beyond_all_numbers_is_no_error(staff, participant, at, query):
    assert staff.get(at(f"participants/?sort=items&{query}")).status_code == 200
    assert staff.get(at(f"participants/?{query}")).status_code == 200


@pytest.mark.parametrize("key", ["9" * 20 + ".1", "1." + "9" * 20, "9" * 5000 + "." + "9" * 5000])
def test_a_response_beyond_all_numbers_is_no_error(staff, participant, at, key):
    assert staff.get(at(f"responses/?after={key}")).status_code == 200


def test_the_way_of_a_participant(staff, study, participant, at):
    page = text(staff.get(at(f"participants/{participant.public_id}/")))
    for words in ("Consented", "Assigned to a condition", "Final survey", "Completed", "Strongly agree"):
        assert words in page
    assert page.count("way-item") == 2
    assert staff.get(at("participants/nobody/")).status_code == 404
    other = factories.make_study()
    assert staff.get(f"/staff/studies/{other.slug}/participants/{participant.public_id}/").status_code == 404
    assert reads("participant") == 3


def test_external_ids_are_shown_to_those_who_may(client, study, participant, at):
    ExternalIds.objects.create(
        participant=participant, study=study, mode="live", platform="prolific", person_id="5f00"
    )
    address = at(f"participants/{participant.public_id}/")
    assert "5f00" in text(logged_in(client).get(address))
    assert "5f00" not in text(logged_in(client, Role.ANALYST).get(address))


def send(client, at, participant, act, **changes):
    fields = {f"{act}-reason": "by mail of 3 May", f"{act}-sure": "on", **changes}
    return client.post(at(f"participants/{participant.public_id}/{act}/"), fields)


def test_exclude_and_include_again(staff, participant, at):
    failed = send(staff, at, participant, "exclude", **{"exclude-reason": ""})
    assert failed.status_code == 422
    assert "This field is required" in text(failed)
    assert send(staff, at, participant, "exclude", **{"exclude-sure": ""}).status_code == 422
    assert send(staff, at, participant, "exclude", **{"exclude-reason": "\u200b"}).status_code == 422
    assert ManualExclusion.objects.count() == 0
    page = staff.get(send(staff, at, participant, "exclude").url)
    assert "by mail of 3 May" in text(page)
    assert "Include participant" in text(page)
    send(staff, at, participant, "include")
    assert ManualExclusion.objects.count() == 0


def test_withdraw_keeps_the_promise_and_says_who(staff, participant, at):
    send(staff, at, participant, "withdraw")
    participant.refresh_from_db()
    assert participant.status == "withdrawn"
    event = Event.objects.get(kind="withdrawn")
    assert (event.actor is not None, event.data) == (True, {"reason": "by mail of 3 May"})
    page = text(staff.get(at(f"participants/{participant.public_id}/")))
    assert "This participant withdrew" in page
    assert "Strongly agree" not in page


@pytest.mark.parametrize("act", ["anonymise", "delete"])
def test_remove_a_participant(staff, participant, at, act):
    response = send(staff, at, participant, act)
    assert response.url == at("participants/")
    assert not Participant.objects.filter(public_id=participant.public_id).exists()
    assert Participant.objects.count() == (act == "anonymise")


@pytest.mark.parametrize("act", ["withdraw", "anonymise", "delete", "exclude", "include"])
def test_analysts_read_and_change_nothing(client, participant, at, act):
    logged_in(client, Role.ANALYST)
    page = text(client.get(at(f"participants/{participant.public_id}/")))
    assert "Your role reads participants and changes nothing." in page
    refused = send(client, at, participant, act)
    assert refused.status_code == 403
    assert "With the role Analyst you may not" in text(refused)


def test_responses_with_filters_and_columns(staff, study, participant, at):
    page = text(staff.get(at("responses/")))
    assert "2 responses" in page
    assert "client_total_ms</code></abbr>" not in page
    page = text(staff.get(at("responses/?column=item_id&column=client_total_ms&condition=nonsense")))
    assert "client_total_ms</code></abbr>" in page
    assert "certainty</code></abbr>" not in page
    assert "No response fits" in text(staff.get(at("responses/?item=none")))
    assert reads("responses") == 3


def test_the_filtered_rows_become_a_job(staff, participant, at):
    response = staff.post(at(f"responses/csv/?participant={participant.public_id}&column=item_id"))
    job = Job.objects.get()
    assert response.url == f"/jobs/{job.pk}/"
    assert job.kind == "export_responses"
    assert job.options["columns"] == ["item_id"]
    assert job.options["filter"]["participant"] == participant.public_id
    assert AuditEntry.objects.filter(kind="export_downloaded", data={"kind": "export_responses"}).exists()


def test_results_before_and_after_the_launch(staff, study, at):
    draft = factories.make_study(launched=False)
    assert "No results yet" in text(staff.get(f"/staff/studies/{draft.slug}/results/"))
    assert "No report yet" in text(staff.get(at("results/")))


def summary(study, low=0.02):
    first, second = (condition.name for condition in study.versions.get().conditions.all())
    estimates = [
        Estimated(condition=name, value=0.1, low=0.0, high=0.2, participants=5) for name in (first, second)
    ]
    gap = Difference(first=first, second=second, value=-0.1, low=-0.2, high=-low, p=0.01)
    return Summary(
        measure="over_estimation",
        estimates=estimates,
        differences=[gap],
        scores=["answer_f1"],
        ranks=[
            RankRow(measure="fp", signs=("-",), cells=(RankCell(sign="-", percent=44, is_open=True),)),
        ],
        trials=20,
        excluded=3,
    )


def test_the_first_screen_of_the_newest_report(staff, study, participant, at):
    first, second = (condition.name for condition in study.versions.get().conditions.all())
    factories.make_report(study=study, summary=summary(study, low=-0.02))
    factories.make_report(study=study, summary=summary(study))
    page = " ".join(text(staff.get(at("results/"))).split())
    assert f"Over-estimation is <b>10.0 points higher with {first}</b> than with {second}" in page
    assert "(95 % CI 2.0 to 20.0)" in page
    assert "answer_f1" in page
    assert "−&nbsp;44&nbsp;%" in page
    assert "Newer data" not in page
    Report.objects.first().delete()
    assert "No difference in Over-estimation is clear." in text(staff.get(at("results/")))
    factories.make_participant(study=study, items=1)
    assert "Newer data" in text(staff.get(at("results/")))


def test_reports_are_jobs_with_options(staff, at):
    assert staff.post(at("results/report/"), {"resamples": "many", "seed": "1"}).status_code == 422
    options = {"resamples": "50", "seed": "7", "mode": "pilot", "version": "1", "variant": "public"}
    assert staff.post(at("results/report/"), options).status_code == 302
    job = Job.objects.get()
    assert job.options | {"study": 0} == {
        "study": 0, "public": True, "version": 1, "mode": "pilot", "seed": 7, "resamples": 50
    }  # fmt: skip


def test_a_report_opens_in_a_sandbox(staff, study, at):
    report = factories.make_report(study=study)
    response = staff.get(at(f"results/reports/{report.pk}/files/report.html"))
    assert text(response) == "<h1>Report</h1>"
    policy = response["Content-Security-Policy"]
    assert "sandbox allow-downloads" in policy
    assert "default-src 'none'" in policy
    assert f"script-src '{SORTING_HASH}'" in policy
    assert "allow-same-origin" not in policy
    table = staff.get(at(f"results/reports/{report.pk}/files/tables/measures.csv"))
    assert table["Content-Disposition"] == 'attachment; filename="measures.csv"'
    for name in ("nothing.csv", "../report.html", "tables/../report.html"):
        assert staff.get(at(f"results/reports/{report.pk}/files/{name}")).status_code == 404
    other = factories.make_study()
    assert staff.get(f"/staff/studies/{other.slug}/results/reports/{report.pk}/zip/").status_code == 405
    assert staff.post(f"/staff/studies/{other.slug}/results/reports/{report.pk}/zip/").status_code == 404
    zipped = staff.post(at(f"results/reports/{report.pk}/zip/"))
    assert zipped.content.startswith(b"PK")


def test_only_researchers_delete_reports(client, study, at):
    report = factories.make_report(study=study)
    assert logged_in(client, Role.ANALYST).post(at(f"results/reports/{report.pk}/delete/")).status_code == 403
    logged_in(client).post(at(f"results/reports/{report.pk}/delete/"))
    assert Report.objects.count() == 0


@pytest.mark.parametrize(("path", "words"), [("codebook", "## trials"), ("preregistration", "# Pre-reg")])
def test_documents(client, study, at, path, words):
    response = logged_in(client, Role.ANALYST).post(at(f"results/{path}/"))
    assert words in text(response)
    assert response["Content-Disposition"] == f'attachment; filename="{study.slug}-{path}.md"'
    assert AuditEntry.objects.filter(kind="export_downloaded", data={"kind": path}).exists()


def test_the_bundle_is_a_job(staff, at):
    assert staff.post(at("results/bundle/"), {"variant": "secret", "format": "csv"}).status_code == 422
    staff.post(at("results/bundle/"), {"variant": "public", "format": "parquet"})
    assert Job.objects.get().options["public"] is True
    assert Job.objects.get().options["format"] == "parquet"
    staff.post(at("results/bundle/"), {"variant": "full", "format": "psych-ds"})
    assert Job.objects.latest("pk").options["format"] == "psych-ds"
    assert AuditEntry.objects.filter(kind="export_downloaded", data={"kind": "export_bundle"}).count() == 2


RECRUITMENT = {
    "platform": "prolific",
    "outcomes": {"done": {"code": "C1DONE"}, "screened_out": {"code": "C2OUT"}},
}


def test_settings_gather_what_is_not_results(client, study, participant, at):
    page = text(logged_in(client).get(at("settings/")))
    for words in ("Entry links", "Duplicate", "Members", "Privacy", "Log"):
        assert words in page
    page = text(logged_in(client, Role.VIEWER).get(at("settings/")))
    assert "Your role does not change the settings" in page
    assert "Participants</a>" not in page
    response = logged_in(client).post(at("links/"), {"label": "class", "mode": "live"})
    assert "New entry link" in text(response)


def test_a_condition_has_one_look_on_every_page(staff, study, participant, at):
    factories.make_report(study=study, summary=summary(study))
    name = participant.condition.name
    look = "truth" if participant.condition.is_ground_truth else "1"
    for path in ("", "participants/", f"participants/{participant.public_id}/", "responses/", "results/"):
        page = text(staff.get(at(path)))
        assert re.search(rf"condition-{look}\"[^<]*>(<[^<]*>|\s|</span>)*{re.escape(name)}", page), path
