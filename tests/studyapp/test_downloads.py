"""Jobs that make files: kept reports, responses as CSV, killed workers."""

import csv
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from foundation.errors import RunFailed
from jobs.actions import jobs
from jobs.actions.jobs import cancel_job, create_job, run_job
from jobs.models import Job
from studyapp import downloads
from studyapp.actions.reports import build_report_path, delete_report
from studyapp.exports.report_summary import RankCell, RankRow, Summary, read_summary
from studyapp.models import Report, Study
from studyapp.queries.running.responses import ResponseFilter
from studyapp.queries.running.results import read_data_state
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folders(settings: Any, tmp_path: Path) -> None:
    settings.JOB_FOLDER, settings.REPORT_FOLDER = tmp_path / "jobs", tmp_path / "reports"


@pytest.fixture
def study() -> Study:
    study = factories.make_study()
    for _ in range(6):
        factories.make_participant(study=study, completed=True)
    return study


def make_job(study: Study, kind: str, **options: Any) -> Job:
    options = {"study": study.pk, **options}
    return create_job(
        kind=kind, workspace=study.workspace, by=factories.make_user(), subject=study.slug, options=options
    )


def test_a_report_is_kept_when_the_files_of_jobs_are_deleted(study: Study):
    job = make_job(study, "report", resamples=20)
    run_job(job_id=job.pk)
    report = Report.objects.get()
    assert (report.job, report.mode, report.resamples, report.version.number) == (job, "live", 20, 1)
    summary = Summary.model_validate(report.summary)
    assert summary.measure == "over_estimation"
    assert {row.condition for row in summary.estimates} == {
        condition.name for condition in report.version.conditions.all()
    }
    assert summary.trials == 18
    with zipfile.ZipFile(build_report_path(report)) as archive:
        assert f"{study.slug}-report/report.html" in archive.namelist()
    assert report.data == read_data_state(study, "live")
    factories.make_participant(study=study, items=1)
    assert report.data != read_data_state(study, "live")

    Job.objects.update(finished_at=timezone.now() - timedelta(days=8))
    assert jobs.purge_files() == 1
    assert build_report_path(report).is_file()
    folder = build_report_path(report).parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("studyapp.actions.reports.transaction.on_commit", lambda act: act())
        delete_report(report=report, by=None)
    assert not folder.exists()
    assert Report.objects.count() == 0


class Killed(BaseException):
    """The worker ends here, as after a SIGKILL.

    Nothing of the program goes on.
    """


def write_empty_report(arguments: list[str], *_more: Any) -> None:
    """Write what keeping a report reads.

    The other tests run the analysis, which takes seconds.
    """
    (Path(arguments[arguments.index("--out") + 1]) / "tables").mkdir(parents=True)


@pytest.mark.parametrize("where", ["_run_analysis", "read_summary", "keep_report"])
def test_a_killed_worker_loses_and_doubles_nothing(study: Study, monkeypatch: Any, where: str):
    monkeypatch.setattr(downloads, "_run_analysis", write_empty_report)
    job = make_job(study, "report", resamples=2)

    def kill(*_arguments: Any, **_options: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(downloads, where, kill)
        with pytest.raises(Killed):
            run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, Report.objects.count()) == ("running", 0)
    Job.objects.update(status="pending", lease=None)  # as the sweep does once the worker is gone
    run_job(job_id=job.pk)
    run_job(job_id=job.pk)  # the message came twice
    job.refresh_from_db()
    report = Report.objects.get()
    assert (job.status, job.result) == ("done", {"report": report.pk})
    assert [path.name for path in build_report_path(report).parent.iterdir()] == ["report.zip"]


def test_a_cancelled_report_stores_nothing(study: Study, monkeypatch: Any, settings: Any):
    job = make_job(study, "report", resamples=2)
    write = downloads.write_bundle

    def cancel(*arguments: Any, **options: Any) -> Any:
        cancel_job(job=job, by=job.created_by)
        return write(*arguments, **options)

    monkeypatch.setattr(downloads, "write_bundle", cancel)
    monkeypatch.setattr(jobs, "NOTE_SECONDS", 0)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.file) == ("cancelled", "")
    assert Report.objects.count() == 0


def test_a_job_that_was_cancelled_at_its_end_leaves_no_file(study: Study, monkeypatch: Any, settings: Any):
    job = make_job(study, "export_bundle")
    zipped = downloads._zip_folder

    def cancel(folder: Path) -> Path:
        cancel_job(job=job, by=job.created_by)
        return zipped(folder)

    monkeypatch.setattr(downloads, "_zip_folder", cancel)
    run_job(job_id=job.pk)
    assert list(settings.JOB_FOLDER.iterdir()) == []


def test_responses_that_were_cancelled_midway_leave_no_answers(study: Study, monkeypatch: Any, settings: Any):
    monkeypatch.setattr("studyapp.exports.responses.BATCH", 1)
    monkeypatch.setattr(jobs, "NOTE_SECONDS", 0)
    asks = iter([False, False, True])
    monkeypatch.setattr(jobs, "is_asked_to_cancel", lambda _job: next(asks))
    job = make_job(study, "export_responses", columns=["participant_id", "item_id"])
    run_job(job_id=job.pk)
    cancel_job(job=job, by=job.created_by)
    assert list(settings.JOB_FOLDER.iterdir()) == []


def test_a_report_that_was_cancelled_at_its_end_leaves_no_file(study: Study, monkeypatch: Any, settings: Any):
    monkeypatch.setattr(downloads, "_run_analysis", write_empty_report)
    job = make_job(study, "report", resamples=2)

    def cancel(*_arguments: Any, **_options: Any) -> Any:
        cancel_job(job=job, by=job.created_by)

    monkeypatch.setattr(downloads, "read_summary", cancel)
    run_job(job_id=job.pk)
    assert list(settings.JOB_FOLDER.iterdir()) == []
    assert Report.objects.count() == 0


def test_a_report_without_data_says_so():
    job = make_job(factories.make_study(), "report")
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.error) == ("failed", str(RunFailed(job.error)))
    assert "no item was submitted yet" in job.error


def test_the_words_of_the_analysis_are_those_of_the_job(study: Study, monkeypatch: Any):
    job = make_job(study, "report", resamples=2)
    monkeypatch.setattr(downloads, "write_bundle", lambda _study, out, **_options: out.mkdir())
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == "failed"
    assert job.error.startswith("bundle")
    assert "study_version.json" in job.error


def test_responses_are_exactly_the_filtered_rows(study: Study, settings: Any):
    participant = factories.make_participant(study=study)
    factories.answer_item(participant, certainty=1)
    columns = ["participant_id", "item_id", "certainty", "excluded_by"]
    chosen = ResponseFilter(participant=participant.public_id)
    job = make_job(study, "export_responses", filter=chosen.model_dump(), columns=columns)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    with (settings.JOB_FOLDER / job.file).open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    item = participant.trials.get(answers__isnull=False).item.external_id
    assert rows == [columns, [participant.public_id, item, "1", ""]]
    assert job.result == {"rows": 1}


def test_a_summary_says_which_signs_are_open(tmp_path: Path):
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "rank_table.csv").write_text("measure,f1,loca,em\nfp,+,-,\n", "utf-8")
    (tables / "correlations.csv").write_text(
        "measure,score,sign_share,sign_recurs\nfp,f1,0.8999,false\nfp,loca,0.93,true\nfp,em,,\n", "utf-8"
    )
    (row,) = read_summary(tmp_path).ranks
    assert row.shown == (
        RankCell(sign="+", percent=89, is_open=True),
        RankCell(sign="-", percent=93),
        RankCell(sign=""),
    )
    assert RankRow(measure="fp", signs=("+",)).shown == (RankCell(sign="+"),)


def test_a_summary_of_nothing(tmp_path: Path):
    (tmp_path / "tables").mkdir()
    summary = read_summary(tmp_path)
    assert summary == Summary()
    assert summary.clearest is None
