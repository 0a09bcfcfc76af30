"""Jobs: imports, exports and reports that a site works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from .connection import Subject
from .errors import JobFailed
from .rows import JobRow, JobStatus


class Jobs(Subject):
    """The jobs that you started and may see.

    Methods take the ID of a job as `job`.
    """

    _root = "jobs"

    def list(self, *, kind: str | None = None, status: JobStatus | None = None) -> Iterator[JobRow]:
        """Yield your jobs.

        Args:
            kind: The kind of the jobs, such as ``import_dataset``; None for all.
            status: The status of the jobs; None for all.
        """
        return self._pages(kind=kind, status=status)

    def get(self, job: str) -> JobRow:
        """Return a job with its progress."""
        return self._get(job)

    def wait(
        self,
        job: str,
        *,
        progress: Callable[[JobRow], None] | None = None,
        timeout: float | None = None,
        every: float = 1.0,
    ) -> JobRow:
        """Wait until a job is done, and return it.

        Args:
            job: Its ID.
            progress: Is called with each state, which has ``done`` and ``total``.
            timeout: Seconds to wait at most; None waits for ever.
            every: Seconds between two requests.

        Raises:
            JobFailed: The job failed or was cancelled.
            WaitTimeout: It is not finished in time; it goes on.
        """
        row: JobRow = self._connection.wait(
            lambda: self.get(job), progress=progress, timeout=timeout, every=every
        )
        if row["status"] != "done":
            raise JobFailed(row)
        return row

    def cancel(self, job: str) -> JobRow:
        """Cancel a job that is not finished."""
        return self._post(job, "cancel")

    def download(self, job: str, path: str | Path) -> Path:
        """Write the file that a job made, and return its path.

        Args:
            job: The ID of the job.
            path: The file to write.
        """
        return self._download(job, "file", to=path)
