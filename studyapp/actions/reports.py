"""Keep finished reports, and delete them.

A report lies in a folder that is named by its job, so that a job that a killed worker left behind writes to
the same place when it runs again.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.models import User
from jobs.models import Job
from studyapp.actions import events
from studyapp.models import Report, StudyVersion

FILE = "report.zip"


def build_report_path(report: Report) -> Path:
    """Return the path of a kept report, a zip of its pages and tables."""
    return _build_folder_path(report.job_id) / FILE


def keep_report(
    *,
    job: Job,
    version: StudyVersion,
    mode: str,
    seed: int,
    resamples: int,
    data: Mapping[str, Any],
    summary: Mapping[str, Any],
    file: Path,
) -> Report:
    """Keep the report that a job made; doing it twice keeps one.

    The file is in place before the row that points to it.
    """
    folder = _build_folder_path(job.pk)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, written = tempfile.mkstemp(dir=folder)
    os.close(handle)
    shutil.copyfile(file, written)
    Path(written).replace(folder / FILE)
    columns = {"mode": mode, "seed": seed, "resamples": resamples, "data": data, "summary": summary}
    with transaction.atomic():
        report, _is_new = Report.objects.update_or_create(
            job=job, defaults={"study": version.study, "version": version, **columns}
        )
    return report


@transaction.atomic
def delete_report(*, report: Report, by: User | None) -> None:
    """Delete a report with its file."""
    folder = _build_folder_path(report.job_id)
    events.record(kind="report_deleted", study=report.study, by=by, data={"version": report.version.number})
    report.delete()
    transaction.on_commit(lambda: shutil.rmtree(folder, ignore_errors=True))


def _build_folder_path(job_id: int) -> Path:
    return Path(settings.REPORT_FOLDER) / str(job_id)
