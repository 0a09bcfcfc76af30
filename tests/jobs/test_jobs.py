"""Tests of jobs: an import, its preview, refusal, cancelling and end.

Its owner alone sees it.
"""

import json
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.models import Membership, Role, User
from annotation.actions.projects import set_member
from annotation.models import Role as ProjectRole
from foundation.errors import Conflict
from jobs.actions import jobs
from jobs.actions.jobs import cancel_job, create_job, purge_files, run_job
from jobs.job_progress import ask_to_cancel
from jobs.models import Job
from jobs.views.pages import MENU_ADDRESSES
from predictions.models import Dataset, Question
from studyapp.actions.shares import share_study
from studyapp.models import Study
from tests import workspaces
from tests.annotation.factories import make_project
from tests.studyapp import factories

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.JOB_FOLDER = tmp_path / "jobs"


@pytest.fixture
def user() -> User:
    return workspaces.give(User.objects.create(username="ada", password="!"), Role.RESEARCHER)


def questions(number: int = 3) -> bytes:
    rows = [
        {
            "_id": f"q{index}", "question": "Who?", "answer": "Ada", "supporting_facts": [["A", 0]],
            "context": [["A", ["Ada."]]],
        }
        for index in range(number)
    ]  # fmt: skip
    return json.dumps(rows).encode()


def importing(user: User, content: bytes, **options: Any) -> Job:
    return create_job(
        kind="import_dataset",
        workspace=workspaces.main(),
        by=user,
        options={"name": "hotpot", "format": "hotpot", **options},
        upload=[content],
        upload_name="dev.json",
    )


def test_an_upload_becomes_a_dataset(user: User) -> None:
    job = importing(user, questions())
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.result["added"]) == (Job.Status.DONE, 3)
    assert Dataset.objects.get().workspace == workspaces.main()
    run_job(job_id=job.pk)  # delivered twice
    assert Question.objects.count() == 3


def test_a_dry_run_is_a_preview(user: User) -> None:
    job = importing(user, questions(), dry_run=True)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.result["added"] == 3
    assert not Dataset.objects.exists()


def test_a_bad_file_is_named_as_the_person_named_it(user: User) -> None:
    job = importing(user, b'[{"_id": "q0"}]')
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == Job.Status.FAILED
    assert job.error.startswith("dev.json:")
    assert "question" in job.error
    assert not Dataset.objects.exists()


def test_a_bug_fails_the_job_and_reaches_the_log(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_job: Job, _report: jobs.Report) -> jobs.JobResult:
        raise ZeroDivisionError

    job = importing(user, questions())
    monkeypatch.setattr(jobs, "load_job_function", lambda _kind: broken)
    with pytest.raises(ZeroDivisionError):
        run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.error == jobs.UNEXPECTED


def test_a_cancelled_job_stores_nothing(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelled_meanwhile(job: Job, report: jobs.Report) -> jobs.JobResult:
        cancel_job(job=job, by=user)
        report(1, 1)
        raise AssertionError("the work went on")

    job = importing(user, questions())
    monkeypatch.setattr(jobs, "load_job_function", lambda _kind: cancelled_meanwhile)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == Job.Status.CANCELLED
    with pytest.raises(Conflict):
        cancel_job(job=job, by=user)


@pytest.mark.django_db(transaction=True)
def test_a_job_that_holds_the_write_lock_is_cancelled(
    user: User, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    begun, cancelled = threading.Event(), threading.Event()

    def work(job: Job, report: jobs.Report) -> jobs.JobResult:
        with transaction.atomic():
            Dataset.objects.create(name="half", workspace=job.workspace)
            begun.set()
            assert cancelled.wait(20)
            report(1, 1)
        raise AssertionError("the work went on")

    def run(job_id: int) -> None:
        try:
            run_job(job_id=job_id)
        finally:
            connection.close()

    def ask(job_id: int) -> None:
        ask_to_cancel(job_id)
        cancelled.set()

    job = importing(user, questions())
    monkeypatch.setattr(jobs, "load_job_function", lambda _kind: work)
    monkeypatch.setattr(jobs, "ask_to_cancel", ask)
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(run, job.pk)
        assert begun.wait(20)
        cancel_job(job=job, by=user)
        done.result()
    job.refresh_from_db()
    assert job.status == Job.Status.CANCELLED
    assert not Dataset.objects.exists()


def test_files_of_old_jobs_are_deleted(user: User) -> None:
    job = importing(user, questions())
    run_job(job_id=job.pk)
    assert purge_files() == 0
    Job.objects.update(finished_at=timezone.now() - 2 * jobs.FILE_RETENTION)
    path = jobs.upload_of(job)
    assert path.is_file()
    assert purge_files() == 1
    assert not path.parent.exists()
    assert purge_files() == 0


@pytest.mark.parametrize("end", ["cancelled", "failed", "broken", "turn"])
def test_a_job_that_is_not_done_leaves_only_its_upload(
    user: User, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    others: list[Path] = []

    def work(job: Job, report: jobs.Report) -> jobs.JobResult:
        jobs.allocate_file("answers.csv").write_text("half of them")
        if end == "cancelled":
            cancel_job(job=job, by=user)
            report(1, 1)
        raise {"failed": Conflict("no"), "turn": jobs.JobContinues()}.get(end, ZeroDivisionError())

    job = importing(user, questions())
    others.append(jobs.allocate_file("of-another-job.csv"))
    others[0].write_text("all of them")
    monkeypatch.setattr(jobs, "load_job_function", lambda _kind: work)
    if end == "broken":
        with pytest.raises(ZeroDivisionError):
            run_job(job_id=job.pk)
    else:
        run_job(job_id=job.pk)
    assert set(jobs.get_job_folder().iterdir()) == {jobs.upload_of(job).parent, others[0].parent}
    assert others[0].is_file()
    assert jobs.upload_of(job).is_file()


def test_a_worker_that_lost_its_job_leaves_the_files_of_the_other(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = importing(user, questions())
    paths: list[Path] = []

    def work(job: Job, report: jobs.Report) -> jobs.JobResult:
        paths.append(jobs.allocate_file("answers.csv"))
        paths[-1].write_text("all of them")
        if len(paths) == 1:
            Job.objects.update(status=Job.Status.PENDING, lease=None)  # as if this worker were gone
            run_job(job_id=job.pk)
            report(1, 1)
        return jobs.JobResult(file=paths[-1])

    monkeypatch.setattr(jobs, "load_job_function", lambda _kind: work)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, jobs.get_job_folder() / job.file) == (Job.Status.DONE, paths[1])
    assert [path.exists() for path in paths] == [False, True]


def test_old_files_that_no_job_names_are_deleted(user: User) -> None:
    waiting, lost, written = (
        importing(user, questions()),
        jobs.allocate_file("a.csv"),
        jobs.allocate_file("b.csv"),
    )
    stray = jobs.get_job_folder() / "stray.csv"
    for path in (lost, written, stray):
        path.write_text("answers")
    old = timezone.now().timestamp() - 2 * jobs.FILE_RETENTION.total_seconds()
    upload = jobs.upload_of(waiting)
    for path in (upload, upload.parent, lost, lost.parent, written.parent, stray):
        os.utime(path, (old, old))
    assert purge_files() == 2
    assert set(jobs.get_job_folder().iterdir()) == {upload.parent, written.parent}
    assert purge_files() == 0


@pytest.mark.parametrize("columns", [{"status": "done"}, {"status": "failed", "finished_at": timezone.now()}])
def test_constraints(user: User, columns: dict[str, Any]) -> None:
    importing(user, questions())
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.update(**columns)


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


class TestApi:
    ADDRESS = "/api/v1/imports/?kind=dataset&workspace=main&name=hotpot&format=hotpot&file_name=dev.json"

    def test_it_works(self, user: User) -> None:
        client = client_of(user)
        response = client.post(self.ADDRESS, questions(), content_type="application/octet-stream")
        assert response.status_code == 202, response.content
        address = f"/api/v1/jobs/{response.json()['id']}/"
        assert client.get(address).json()["status"] == "pending"
        run_job(job_id=int(response.json()["id"]))
        assert client.get(address).json()["result"]["added"] == 3
        assert [row["kind"] for row in client.get("/api/v1/jobs/").json()["results"]] == ["import_dataset"]
        assert client.get(f"{address}file/").status_code == 404
        assert client.post(f"{address}cancel/").status_code == 409

    def test_jobs_of_others_are_not_there(self, user: User) -> None:
        job = importing(user, questions())
        other = client_of(workspaces.give(User.objects.create(username="bob"), Role.OWNER))
        assert other.get("/api/v1/jobs/").json()["results"] == []
        assert other.get(f"/api/v1/jobs/{job.pk}/").status_code == 404
        assert other.post(f"/api/v1/jobs/{job.pk}/cancel/").status_code == 404

    @pytest.mark.parametrize(("role", "status"), [(None, 404), (Role.ANALYST, 403)])
    def test_rights(self, role: Role | None, status: int) -> None:
        user = User.objects.create(username="bob")
        if role is not None:
            workspaces.give(user, role)
        response = client_of(user).post(self.ADDRESS, questions(), content_type="application/octet-stream")
        assert response.status_code == status
        assert not Job.objects.exists()

    def test_a_missing_wish_is_named(self, user: User) -> None:
        address = self.ADDRESS.replace("&name=hotpot", "")
        response = client_of(user).post(address, questions(), content_type="application/octet-stream")
        assert response.status_code == 422
        assert response.json()["errors"][0]["field"] == "name"

    def test_a_made_file_is_served_to_its_owner(self, user: User) -> None:
        job = importing(user, questions())
        path = jobs.allocate_file("report.txt")
        path.write_text("Done.")
        Job.objects.filter(pk=job.pk).update(
            status=Job.Status.DONE, finished_at=timezone.now(), file_name="report.txt",
            file=str(path.relative_to(jobs.get_job_folder())),
        )  # fmt: skip
        response = client_of(user).get(f"/api/v1/jobs/{job.pk}/file/")
        assert b"".join(response.streaming_content) == b"Done."  # type: ignore[attr-defined]
        assert 'filename="report.txt"' in response["Content-Disposition"]


def test_a_job_in_turns_keeps_its_attempts(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    job = importing(user, questions())
    turns = [True, True, False]

    def work(_job: Job, _report: Any) -> jobs.JobResult:
        if turns.pop(0):
            raise jobs.JobContinues
        return jobs.JobResult({"done": True})

    monkeypatch.setattr(jobs, "load_job_function", lambda _kind: work)
    assert [run_job(job_id=job.pk) for _ in range(3)] == [True, True, False]
    job.refresh_from_db()
    assert (job.status, job.attempts, job.result) == (Job.Status.DONE, 1, {"done": True})


def test_a_cancelled_job_has_no_further_turn(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    job = importing(user, questions())

    def work(job: Job, _report: Any) -> jobs.JobResult:
        cancel_job(job=job, by=user)
        raise jobs.JobContinues

    monkeypatch.setattr(jobs, "load_job_function", lambda _kind: work)
    assert not run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == Job.Status.CANCELLED


def test_a_job_is_out_of_reach_once_the_role_has_ended(user: User, client: Client) -> None:
    study = factories.make_study()
    data, bundle = importing(user, questions()), exporting(user, study)
    client.force_login(user)
    addresses = [
        *(f"/jobs/{job.pk}/{page}" for job in (data, bundle) for page in ("", "progress/")),
        *(f"/api/v1/jobs/{job.pk}/" for job in (data, bundle)),
    ]
    assert {client.get(address).status_code for address in addresses} == {200}
    Membership.objects.filter(user=user).delete()
    assert {client.get(address).status_code for address in addresses} == {404}
    share_study(study=study, user=user, role=Role.ANALYST, by=None)
    assert client.get(f"/jobs/{bundle.pk}/").status_code == 200
    assert client.get(f"/jobs/{data.pk}/").status_code == 404


def shown_jobs(client: Client) -> list[set[int]]:
    """Return the keys of the jobs that each page shows.

    The pages are those of the API, its lines, the page of jobs and the start page.
    """
    lines = client.get("/api/v1/jobs/", headers={"accept": "application/x-ndjson"})
    pages = [client.get(address).content.decode() for address in ("/jobs/", "/start/")]
    return [
        {int(row["id"]) for row in client.get("/api/v1/jobs/").json()["results"]},
        {int(json.loads(row)["id"]) for row in lines.getvalue().splitlines()},  # type: ignore[attr-defined]
        *({int(key) for key in re.findall(r'href="/jobs/(\d+)/"', page)} for page in pages),
    ]


def test_lists_have_the_jobs_that_can_be_opened(user: User, client: Client) -> None:
    project = make_project()
    study = factories.make_study(workspace=project.workspace)
    data, bundle = importing(user, questions()), exporting(user, study)
    items = create_job(
        kind="export_annotations", workspace=project.workspace, by=user, options={"project": project.pk}
    )
    gone = exporting(user, study)
    Job.objects.filter(pk=gone.pk).update(options={"study": study.pk + 1})
    client.force_login(user)

    def check(*expected: Job) -> None:
        opened = {job.pk for job in Job.objects.all() if client.get(f"/jobs/{job.pk}/").status_code == 200}
        assert opened == {job.pk for job in expected}
        assert shown_jobs(client) == [opened] * 4

    check(data, bundle)  # researchers manage only projects that are shared with them
    set_member(project=project, user=user, role=ProjectRole.MANAGER, by=None)
    check(data, bundle, items)
    Membership.objects.filter(user=user).delete()
    check(items)
    share_study(study=study, user=user, role=Role.VIEWER, by=None)
    check(items)
    share_study(study=study, user=user, role=Role.ANALYST, by=None)
    check(items, bundle)
    set_member(project=project, user=user, role=ProjectRole.MANAGER, active=False, by=None)
    check(bundle)


def test_the_list_of_jobs_about_many_objects_reads_no_more(
    user: User, client: Client, django_assert_max_num_queries: Any
) -> None:
    for _ in range(6):
        exporting(user, factories.make_study())
    client.force_login(user)
    with django_assert_max_num_queries(14):
        assert len(client.get("/api/v1/jobs/").json()["results"]) == 6


def test_the_page_of_a_job_marks_its_part_of_the_menu(user: User, client: Client) -> None:
    client.force_login(user)
    for job, part in (
        (importing(user, questions()), "data"),
        (exporting(user, factories.make_study()), "staff"),
    ):
        page = client.get(f"/jobs/{job.pk}/").content.decode()
        assert re.findall(r'<li>\s*<a href="/(\w+)/" aria-current="page"', page) == [part]


def test_every_kind_of_job_has_a_part_of_the_menu(settings: Any) -> None:
    assert MENU_ADDRESSES.keys() == settings.JOBS.keys()


def exporting(user: User, study: Study) -> Job:
    return create_job(kind="export_bundle", workspace=study.workspace, by=user, options={"study": study.pk})
