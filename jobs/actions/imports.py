"""Import uploaded files: what the jobs of all apps share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from foundation.errors import NotFound
from foundation.imports.findings import Findings
from foundation.imports.zip_files import delete_before_and_after
from foundation.messages import say
from jobs.actions.jobs import JobResult, upload_of
from jobs.models import Job

Record = TypeVar("Record")
# Takes the upload, a folder for unpacked files, which does not exist yet, and the findings.
Work = Callable[[Path, Path, Findings], Mapping[str, Any]]


def import_upload(job: Job, work: Work) -> JobResult:
    """Do the work of an import on the upload of a job.

    Raises:
        Refused: As `Findings.result_of`.
        NotFound: The upload was deleted.
    """
    upload = upload_of(job)
    if not upload.is_file():
        raise NotFound(say("The uploaded file is not there any more. Upload it again."))
    folder = upload.parent / "unpacked"
    findings = Findings(collect=True, roots=[upload.parent, folder])
    dry_run = bool(job.options.get("dry_run"))
    with delete_before_and_after(folder):
        return JobResult(findings.result_of(partial(work, upload, folder, findings), dry_run=dry_run))


class FirstRows(Generic[Record]):
    """Records that are counted as they pass, with ``rows`` of the first."""

    def __init__(
        self, records: Iterable[Record], shown: Callable[[Record], dict[str, Any]], most: int = 5
    ) -> None:
        self._records, self._shown, self._most = records, shown, most
        self.rows, self.number = list[dict[str, Any]](), 0

    def __iter__(self) -> Iterator[Record]:
        for record in self._records:
            self.number += 1
            if self.number <= self._most:
                self.rows.append(self._shown(record))
            yield record
