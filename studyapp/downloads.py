"""Jobs that make files of a study: bundle, responses and report."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from django.conf import settings

from foundation.errors import NotFound, RunFailed
from foundation.frozen_model import FrozenModel
from foundation.messages import say
from foundation.pages.spreadsheet import write_csv
from jobs.actions.jobs import JobResult, Report, allocate_file
from jobs.models import Job
from studyapp.actions.reports import keep_report
from studyapp.exports.bundle import write_bundle
from studyapp.exports.report_summary import read_summary
from studyapp.exports.responses import format_cells, list_response_columns, load_response_data, read_responses
from studyapp.exports.writers import Format
from studyapp.models import Mode, Study, StudyVersion
from studyapp.queries.running.progress import ModeName
from studyapp.queries.running.responses import ResponseFilter, filter_trials
from studyapp.queries.running.results import find_answered_version, read_data_state

REPORT_SECONDS = 540  # less than a task may take
REPORT_STEPS = 3  # the bundle, the analysis, and keeping it
POLL_SECONDS = 0.2


class BundleOptions(FrozenModel):
    """The variant and the format of a bundle.

    ``psych-ds`` is CSV with copies for Psych-DS.
    """

    study: int
    public: bool = False
    format: Format | Literal["psych-ds"] = "csv"


class ResponsesOptions(FrozenModel):
    """The rows and the columns of a CSV file of responses."""

    study: int
    filter: ResponseFilter = ResponseFilter()
    columns: tuple[str, ...]


class ReportOptions(FrozenModel):
    """The options of a report, as `python -m analysis report` has them.

    ``version`` is the newest one with data if it is None, ``mode`` the first of live, pilot and bot.
    ``public`` makes it from the public bundle, for a report that readers can rebuild.
    """

    study: int
    public: bool = False
    version: int | None = None
    mode: ModeName | None = None
    seed: int = 1
    resamples: int = 2000


def export_bundle(job: Job, report: Report) -> JobResult:
    """Write the export bundle of a study as a zip file.

    Raises:
        NotFound: The study was never launched.
        AlteredVersion: A frozen version was changed in the database since.
    """
    options = BundleOptions.model_validate(job.options)
    study = _find_study(job, options.study)
    variant = "-public" if options.public else ""
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / study.slug
        written = write_bundle(
            study,
            bundle,
            public=options.public,
            file_format="csv" if options.format == "psych-ds" else options.format,
            as_psych_ds=options.format == "psych-ds",
            report=report,
        )
        file = _zip_folder(bundle)
    return JobResult(
        {"rows": dict(written.rows), "missing_scores": dict(written.missing_scores)},
        file,
        f"{study.slug}{variant}.zip",
    )


def export_responses(job: Job, report: Report) -> JobResult:
    """Write the filtered rows of the table of responses as CSV.

    Raises:
        NotFound: The study was never launched.
        AlteredVersion: A frozen version was changed in the database since.
    """
    options = ResponsesOptions.model_validate(job.options)
    study = _find_study(job, options.study)
    data = load_response_data(study, for_file=True)
    columns = [column for column in list_response_columns(data) if column.name in options.columns]
    total, done = filter_trials(study, options.filter).count(), 0

    def rows() -> Iterator[list[Any]]:
        nonlocal done
        for batch in read_responses(data, options.filter):
            report(done, total)
            yield from (format_cells(columns, row) for row in batch)
            done += len(batch)

    path = allocate_file("responses.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        number = write_csv(file, [column.name for column in columns], rows())
    return JobResult({"rows": number}, path, f"{study.slug}-responses.csv")


def write_report(job: Job, report: Report) -> JobResult:
    """Write the report of a study as a zip file, and keep it.

    The analysis runs in a process of its own, because it loads libraries that the site does without.

    Raises:
        NotFound: The study was never launched.
        RunFailed: The analysis refuses the data; the message is its own.
    """
    options = ReportOptions.model_validate(job.options)
    study = _find_study(job, options.study)
    version, mode = _choose_data(study, options)
    chosen = ["--seed", str(options.seed), "--resamples", str(options.resamples)]
    chosen += ["--mode", mode, "--study-version", str(version.number)]
    with tempfile.TemporaryDirectory() as folder:
        bundle, out = Path(folder) / "bundle", Path(folder) / f"{study.slug}-report"
        # Before the data are read: what comes in between makes the report one of older data, not of newer.
        state = read_data_state(study, mode)
        write_bundle(study, bundle, public=options.public)
        report(1, REPORT_STEPS)
        _run_analysis(["report", str(bundle), "--out", str(out), *chosen], folder, report)
        file, summary = _zip_folder(out), read_summary(out)
    report(REPORT_STEPS, REPORT_STEPS)
    kept = keep_report(
        job=job,
        version=version,
        mode=mode,
        seed=options.seed,
        resamples=options.resamples,
        data=state,
        summary=summary.model_dump(mode="json"),
        file=file,
    )
    return JobResult({"report": kept.pk}, file, f"{study.slug}-report.zip")


def _choose_data(study: Study, options: ReportOptions) -> tuple[StudyVersion, str]:
    """Return the version and the mode of a report.

    The defaults are the newest version and the first mode that have data.
    """
    for mode in [options.mode] if options.mode else Mode.values:
        version = find_answered_version(study, mode, options.version)
        if version is not None:
            return version, mode
    raise RunFailed(say("no item was submitted yet, so there is nothing to report"))


def _run_analysis(arguments: Sequence[str], folder: str, report: Report) -> None:
    """Run a command of the analysis until it ends or is cancelled."""
    command = [sys.executable, "-m", "analysis", *arguments]
    late = time.monotonic() + REPORT_SECONDS
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=settings.BASE_DIR, stdout=subprocess.DEVNULL, stderr=output)
        try:
            while process.poll() is None:
                # Notes the progress again, which ends the job here if somebody cancelled it.
                report(1, REPORT_STEPS)
                if time.monotonic() > late:
                    minutes = REPORT_SECONDS // 60
                    raise RunFailed(
                        say(
                            "the report took longer than %(minutes)s minutes; ask for fewer resamples",
                            minutes=minutes,
                        )
                    )
                time.sleep(POLL_SECONDS)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            output.seek(0)
            last = output.read().strip().rpartition("error: ")[2]
            raise RunFailed(last.replace(f"{folder}/", ""))


def _find_study(job: Job, pk: int) -> Study:
    study = Study.objects.filter(pk=pk, workspace=job.workspace).first()
    if study is None:
        raise NotFound(say("the study is not in this workspace any more"))
    return study


def _zip_folder(folder: Path) -> Path:
    path = allocate_file(f"{folder.name}.zip")
    shutil.make_archive(str(path.with_suffix("")), "zip", folder.parent, folder.name)
    return path
