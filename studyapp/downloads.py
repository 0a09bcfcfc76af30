"""Jobs that make files of a study: the export bundle and the report."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from django.conf import settings

from foundation.errors import NotFound, RunFailed
from foundation.frozen_model import FrozenModel
from foundation.messages import say
from jobs.actions.jobs import JobResult, Report, new_file
from jobs.models import Job
from studyapp.exports.bundle import write_bundle
from studyapp.exports.writers import Format
from studyapp.models import Study

REPORT_SECONDS = 540  # less than a task may take


class BundleOptions(FrozenModel):
    """The variant and the format of a bundle."""

    study: int
    public: bool = False
    format: Format = "csv"


class ReportOptions(FrozenModel):
    """The options of a report, as `python -m analysis report` has them."""

    study: int
    mode: Literal["live", "pilot", "bot"] | None = None
    seed: int = 1
    resamples: int = 2000


def export_bundle(job: Job, report: Report) -> JobResult:
    """Write the export bundle of a study as a zip file.

    Raises:
        NotFound: The study was never launched.
        AlteredVersion: A frozen version was changed in the database since.
    """
    options = BundleOptions.model_validate(job.options)
    study = _study(job, options.study)
    variant = "-public" if options.public else ""
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / study.slug
        written = write_bundle(study, bundle, public=options.public, file_format=options.format)
        file = _zipped(bundle)
    return JobResult(
        {"rows": dict(written.rows), "missing_scores": dict(written.missing_scores)},
        file,
        f"{study.slug}{variant}.zip",
    )


def report(job: Job, report: Report) -> JobResult:
    """Write the report of a study as a zip file of its pages and tables.

    The analysis runs in a process of its own, because it loads libraries that the site does without.

    Raises:
        NotFound: The study was never launched.
        RunFailed: The analysis refuses the data; the message is its own.
    """
    options = ReportOptions.model_validate(job.options)
    study = _study(job, options.study)
    with tempfile.TemporaryDirectory() as folder:
        bundle, out = Path(folder) / "bundle", Path(folder) / f"{study.slug}-report"
        write_bundle(study, bundle)
        chosen = ["--seed", str(options.seed), "--resamples", str(options.resamples)]
        chosen += [] if options.mode is None else ["--mode", options.mode]
        command = [sys.executable, "-m", "analysis", "report", str(bundle), "--out", str(out), *chosen]
        try:
            done = subprocess.run(
                command, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=REPORT_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            minutes = REPORT_SECONDS // 60
            raise RunFailed(
                f"the report took longer than {minutes} minutes; ask for fewer resamples"
            ) from error
        if done.returncode:
            raise RunFailed(done.stderr.strip().removeprefix("error: ").replace(f"{folder}/", ""))
        file = _zipped(out)
    return JobResult({}, file, f"{study.slug}-report.zip")


def _study(job: Job, pk: int) -> Study:
    study = Study.objects.filter(pk=pk, workspace=job.workspace).first()
    if study is None:
        raise NotFound(say("the study is not in this workspace any more"))
    return study


def _zipped(folder: Path) -> Path:
    path = new_file(f"{folder.name}.zip")
    shutil.make_archive(str(path.with_suffix("")), "zip", folder.parent, folder.name)
    return path
