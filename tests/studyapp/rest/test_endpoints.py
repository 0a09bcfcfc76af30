"""A study over the REST API: from its draft to its report."""

import base64
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, Role, User
from jobs.actions.jobs import run_job
from studyapp.models import EntryLink, Participant, Study
from tests import workspaces
from tests.studyapp import factories

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/studies/"


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.JOB_FOLDER = tmp_path / "jobs"


def client_of(*roles: Role, workspace: Any = None) -> Client:
    user = User.objects.create(username=f"user{User.objects.count()}", password="!")
    workspaces.give(user, *roles, workspace=workspace)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def researcher() -> Client:
    return client_of(Role.RESEARCHER)


def send(client: Client, address: str, body: Any = None, *, method: str = "post", **headers: str) -> Any:
    return getattr(client, method)(
        f"{ROOT}{address}", {} if body is None else body, content_type="application/json", headers=headers
    )


def definition(**changes: Any) -> dict[str, Any]:
    return factories.make_definition(**changes).model_dump(mode="json")


def test_from_the_draft_to_the_first_participant(researcher: Client) -> None:
    written = definition(study="mine")
    created = send(researcher, "", {"workspace": "main", "definition": written})
    assert created.status_code == 201, created.content
    assert (created.json()["slug"], created.json()["status"]) == ("mine", "draft")
    draft = researcher.get(f"{ROOT}mine/draft/")
    assert draft.json()["problems"] == []
    changed = {"definition": {**written, "title": "Another title"}}
    saved = send(researcher, "mine/draft/", changed, method="put", **{"If-Match": draft["ETag"]})
    assert saved.status_code == 200, saved.content
    assert saved.json()["definition"]["title"] == "Another title"
    refused = send(researcher, "mine/launch/")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "accept.rehearsal")
    order = {"accept": {"rehearsal": "nobody had the time"}}
    assert send(researcher, "mine/launch/", order).json()["status"] == "open"
    link = send(researcher, "mine/links/", {"label": "class", "mode": "pilot", "quota": 20})
    assert link.status_code == 201, link.content
    assert client_of().get(link.json()["address"]).status_code == 302
    both = send(researcher, "mine/links/", {"single_use": True, "quota": 2})
    assert both.status_code == 422
    assert both.json()["detail"].startswith("a single-use link admits one participant")
    [version] = researcher.get(f"{ROOT}mine/versions/").json()["results"]
    assert version["number"] == 1
    for act, status in (("pause", "paused"), ("resume", "open"), ("close", "closed"), ("reopen", "open")):
        assert send(researcher, f"mine/{act}/").json()["status"] == status
    assert send(researcher, "mine/resume/").status_code == 409


def test_an_edit_of_an_older_state_is_refused(researcher: Client) -> None:
    study = factories.make_study(launched=False)
    body = {"definition": {**study.definition, "title": "New"}}
    address = f"{study.slug}/draft/"
    assert send(researcher, address, body, method="put").status_code == 428
    assert send(researcher, address, body, method="put", **{"If-Match": '"draft-7"'}).status_code == 412
    etag = researcher.get(f"{ROOT}{address}")["ETag"]
    assert send(researcher, address, body, method="put", **{"If-Match": etag}).status_code == 200
    assert send(researcher, address, body, method="put", **{"If-Match": etag}).status_code == 412


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"definition": {}}, "workspace"),
        ({"workspace": "main", "definition": {}}, None),
        ({"workspace": "main", "definition": {"study": "a", "colour": "red"}}, None),
        ({"workspace": "main", "definition": {"study": "Not a name"}}, None),
    ],
)
def test_malformed_definitions_are_refused(researcher: Client, body: Any, field: str | None) -> None:
    response = send(researcher, "", body)
    assert response.status_code == 422, response.content
    assert field is None or response.json()["errors"][0]["field"] == field
    assert not Study.objects.exists()


def test_a_launch_that_lacks_something_names_the_field(researcher: Client) -> None:
    written = definition(study="mine") | {"dataset": "missing"}
    send(researcher, "", {"workspace": "main", "definition": written})
    response = send(researcher, "mine/launch/")
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "dataset"


def test_rows_of_participants_by_page_and_as_lines() -> None:
    study = factories.make_study()
    for _ in range(3):
        factories.make_participant(study=study, completed=True)
    analyst = client_of(Role.ANALYST)
    address, rows = f"{ROOT}{study.slug}/trials/?limit=4", []
    while address is not None:
        page = analyst.get(address).json()
        rows += page["results"]
        address = page["next"]
    assert len({(row["participant_id"], row["item_id"]) for row in rows}) == 9
    assert rows[0]["certainty"] == 4
    lines = analyst.get(f"{ROOT}{study.slug}/participants/", headers={"Accept": "application/x-ndjson"})
    assert len(b"".join(lines.streaming_content).splitlines()) == 3  # type: ignore[attr-defined]
    assert AuditEntry.objects.filter(kind="personal_data_read", subject=study.slug).count() == 4


@pytest.mark.parametrize("key", [-5, 2**63 - 1, 2**63 - 50])
def test_malformed_cursors_of_rows_are_refused(key: int) -> None:
    study = factories.make_study()
    cursor = base64.urlsafe_b64encode(str(key).encode()).decode().rstrip("=")
    response = client_of(Role.ANALYST).get(f"{ROOT}{study.slug}/trials/?cursor={cursor}")
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "cursor")


def test_lines_of_a_study_that_was_never_launched_are_the_problem_of_the_pages() -> None:
    study = factories.make_study(launched=False)
    analyst = client_of(Role.ANALYST)
    page = analyst.get(f"{ROOT}{study.slug}/trials/")
    lines = analyst.get(f"{ROOT}{study.slug}/trials/", headers={"Accept": "application/x-ndjson"})
    assert (page.status_code, lines.status_code) == (404, 404)
    assert lines.json()["detail"] == page.json()["detail"]


def test_an_unknown_table_has_no_lines_and_no_pages() -> None:
    study = factories.make_study()
    analyst = client_of(Role.ANALYST)
    for headers in ({}, {"Accept": "application/x-ndjson"}):
        assert analyst.get(f"{ROOT}{study.slug}/nothing/", headers=headers).status_code == 404


def test_reopening_and_launching_restore_an_archived_study(researcher: Client) -> None:
    study = factories.make_study()
    for act, body in (("reopen", None), ("launch", {})):
        Study.objects.update(status="closed", archived_at="2026-01-01T00:00Z")
        row = send(researcher, f"{study.slug}/{act}/", body).json()
        assert (row["status"], row["archived"]) == ("open", False)
    assert study.events.filter(kind="study_restored").count() == 2


def test_flow_and_interim_estimates() -> None:
    study = factories.make_study(items=4)
    viewer, analyst = client_of(Role.VIEWER), client_of(Role.ANALYST)
    before = analyst.get(f"{ROOT}{study.slug}/estimates/").json()
    assert before == {"version": None, "trials": 0, "excluded": 0, "results": []}
    for _ in range(6):
        factories.make_participant(study=study, completed=True)
    flow = viewer.get(f"{ROOT}{study.slug}/flow/").json()["modes"]["live"]
    assert flow["consented"] == 6
    assert sum(row["completed"] for row in flow["conditions"].values()) == 6
    assert viewer.get(f"{ROOT}{study.slug}/estimates/").status_code == 403
    so_far = analyst.get(f"{ROOT}{study.slug}/estimates/").json()
    assert (so_far["version"], so_far["trials"]) == (1, 24)
    certainty = [row for row in so_far["results"] if row["measure"] == "certainty"]
    assert [row["value"] for row in certainty] == [4, 4]
    assert {row["condition"] for row in certainty} == {row["condition"] for row in so_far["results"]}
    assert analyst.get(f"{ROOT}{study.slug}/estimates/?mode=pilot").json()["results"] == []
    assert analyst.get(f"{ROOT}{study.slug}/estimates/?mode=all").status_code == 422


def test_roles() -> None:
    study = factories.make_study()
    viewer, analyst = client_of(Role.VIEWER), client_of(Role.ANALYST)
    assert viewer.get(f"{ROOT}{study.slug}/progress/").status_code == 200
    assert viewer.get(f"{ROOT}{study.slug}/trials/").status_code == 403
    assert analyst.get(f"{ROOT}{study.slug}/trials/").status_code == 200
    assert send(analyst, f"{study.slug}/pause/").status_code == 403
    assert send(analyst, f"{study.slug}/links/").status_code == 403
    with workspaces.using("elsewhere") as other:
        stranger = client_of(Role.OWNER, workspace=other)
    for address in ("", "draft/", "versions/", "links/", "progress/", "trials/"):
        assert stranger.get(f"{ROOT}{study.slug}/{address}").status_code == 404, address
    assert stranger.get(ROOT).json()["results"] == []
    assert not EntryLink.objects.exists()


def download(client: Client, job: dict[str, Any]) -> list[str]:
    run_job(job_id=int(job["id"]))
    row = client.get(f"/api/v1/jobs/{job['id']}/").json()
    assert row["status"] == "done", row
    content = b"".join(client.get(row["file"]).streaming_content)  # type: ignore[attr-defined]
    return zipfile.ZipFile(BytesIO(content)).namelist()


def test_an_export_and_a_report_in_jobs(researcher: Client, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    study = factories.make_study(items=4)
    for _ in range(6):
        factories.make_participant(study=study, completed=True)
    exported = send(researcher, f"{study.slug}/exports/", {"public": True, "format": "jsonl"})
    assert exported.status_code == 202, exported.content
    assert f"{study.slug}/trials.jsonl" in download(researcher, exported.json())
    exported = send(researcher, f"{study.slug}/exports/", {"format": "psych-ds"})
    names = download(researcher, exported.json())
    assert {f"{study.slug}/trials.csv", f"{study.slug}/dataset_description.json"} <= {*names}
    assert any(name.endswith("_description-trials_data.csv") for name in names), names
    report = send(researcher, f"{study.slug}/reports/", {"resamples": 50})
    assert f"{study.slug}-report/report.html" in download(researcher, report.json())


def test_a_report_of_nothing_fails_with_its_reason(researcher: Client) -> None:
    study = factories.make_study()
    job = send(researcher, f"{study.slug}/reports/").json()
    run_job(job_id=int(job["id"]))
    row = researcher.get(f"/api/v1/jobs/{job['id']}/").json()
    assert row["status"] == "failed"
    assert row["error"]
    assert "/tmp" not in row["error"]


def test_the_data_of_one_person_and_their_end(researcher: Client) -> None:
    study = factories.make_study()
    first, second = (factories.make_participant(study=study, completed=True) for _ in range(2))
    file = researcher.get(f"{ROOT}{study.slug}/participants/{first.public_id}/export/")
    assert (file.status_code, file["Content-Type"]) == (200, "application/json")
    assert file.json()["tables"]["consent"][0]["text"].startswith("You take part")
    assert AuditEntry.objects.filter(kind="personal_data_read", data__page="participant_file").exists()
    address = f"{study.slug}/participants/{first.public_id}/"
    assert send(researcher, f"{address}withdraw/", {}).status_code == 422
    for act, reason in (("withdraw", "a\0b"), ("revoke", "a\0b"), ("withdraw", " "), ("revoke", "\u200b")):
        [error] = send(researcher, f"{address}{act}/", {"reason": reason}).json()["errors"]
        assert error["field"] == "reason"
        assert ("NUL" if "\0" in reason else "must not be empty") in error["detail"]
    assert send(researcher, f"{address}withdraw/", {"reason": "asked for it"}).status_code == 204
    first.refresh_from_db()
    assert first.status == "withdrawn"
    assert researcher.get(f"{ROOT}{address}export/").status_code == 404
    address = f"{ROOT}{study.slug}/participants/{second.public_id}/"
    assert researcher.delete(address).status_code == 422
    assert researcher.delete(f"{address}?reason=asked+for+it").status_code == 204
    assert not Participant.objects.filter(pk=second.pk).exists()
    assert client_of(Role.ANALYST).get(f"{ROOT}{study.slug}/participants/x/export/").status_code == 403
