"""Create, run, finish and cancel jobs."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.text import get_valid_filename

from accounts.models import User, Workspace
from foundation.errors import Conflict, TouchstoneError
from foundation.messages import dump_message, extract_message, map_message, say
from jobs import leases
from jobs.job_progress import ask_to_cancel, is_asked_to_cancel, note_progress
from jobs.models import Job

ATTEMPTS = 3  # a job that ends its worker again and again must not do so for ever
NOTE_SECONDS = 0.5  # between two notes of progress
FILE_RETENTION = timedelta(days=7)  # the files of finished jobs
UNEXPECTED = say("An error of this site stopped the job. Its log has the details.")
OPEN = (Job.Status.PENDING, Job.Status.RUNNING)


class JobCancelled(TouchstoneError):
    """Somebody cancelled the job, or another worker has it now.

    This worker stores nothing of it.
    """


class JobContinues(TouchstoneError):
    """A turn of a long job is over; its results are stored for the next."""


@dataclass(frozen=True)
class JobResult:
    """The outcome of a job.

    Attributes:
        summary: Counts and remarks, as JSON, for the page of the job.
        file: The file to download, inside the folder of the job.
        file_name: Its name for people.
    """

    summary: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    file_name: str = ""


Report = Callable[[int, int | None], None]
Work = Callable[[Job, Report], JobResult]

# The folders of the files that the job of this thread has made in this attempt.
_own_folders: ContextVar[set[Path] | None] = ContextVar("own_folders", default=None)


@transaction.atomic
def create_job(
    *,
    kind: str,
    workspace: Workspace,
    by: User,
    subject: str = "",
    options: Mapping[str, Any] | None = None,
    upload: Iterable[bytes] | Path | None = None,
    upload_name: str = "upload",
) -> Job:
    """Store a job with its uploaded file; the caller enqueues it.

    Args:
        kind: A key of `settings.JOBS`.
        workspace: The workspace whose objects it reads or writes.
        by: The person who asked for it.
        subject: The object, as the list of jobs names it.
        options: The wishes, in the form that the kind declares.
        upload: The uploaded file, block by block, or the upload of another job, which has it, too.
        upload_name: The name of a new file, which messages about it show.

    Raises:
        KeyError: There is no such kind.
    """
    load_job_function(kind)
    stored = ""
    if isinstance(upload, Path):
        path = allocate_file(upload.name)
        path.hardlink_to(upload)  # so that each job deletes its own, and nothing is copied
        stored = str(path.relative_to(get_job_folder()))
    elif upload is not None:
        path = allocate_file(get_valid_filename(upload_name) or "upload")
        with path.open("wb") as file:
            file.writelines(upload)
        stored = str(path.relative_to(get_job_folder()))
    return Job.objects.create(
        kind=kind,
        workspace=workspace,
        created_by=by,
        subject=subject,
        options=dict(options or {}),
        upload=stored,
    )


def run_job(*, job_id: int) -> bool:
    """Do the work of a job that is not finished, and store its outcome.

    It runs outside a transaction, so that its progress is visible. An error of ours fails the job with its
    sentence; any other one fails it, too, and is raised for the worker's log. A job that another worker does
    is left alone: `release_lost` decides that a worker is gone. Files that this attempt made are deleted
    unless the finished job names them; those of another attempt are left alone.

    Returns:
        True if the job has another turn, for which it is to be enqueued again.
    """
    job = _begin(job_id)
    if job is None:
        return False
    with _track_new_folders() as own_folders:
        return _attempt(job, own_folders)


def _attempt(job: Job, own_folders: set[Path]) -> bool:
    """Do the work of a running job, and store its outcome.

    Args:
        job: The job, whose lease was just taken.
        own_folders: The folders of the files that it makes; that of its result is taken out.
    """
    assert job.lease is not None
    try:
        with leases.hold_lease(job.lease):
            result = load_job_function(job.kind)(job, _build_reporter(job))
    except JobCancelled:
        return False
    except JobContinues:
        # A turn that ends by itself is no failed attempt.
        return bool(
            _select_leased_row(job).update(status=Job.Status.PENDING, lease=None, attempts=F("attempts") - 1)
        )
    except TouchstoneError as error:
        # The sentence names the file as the person does, without the folder on this machine.
        folder_name = f"{upload_of(job).parent}/"
        message = map_message(extract_message(error), lambda text: text.replace(folder_name, ""))
        _fail(_select_leased_row(job), message or type(error).__name__, result=error.result or None)
    except Exception:
        _fail(_select_leased_row(job), UNEXPECTED)
        raise
    else:
        relative = "" if result.file is None else str(result.file.relative_to(get_job_folder()))
        ended = _end(
            _select_leased_row(job),
            Job.Status.DONE,
            result=dict(result.summary),
            file=relative,
            file_name=result.file_name,
        )
        if ended and result.file is not None:
            own_folders.discard(result.file.parent)
    return False


def cancel_job(*, job: Job, by: User) -> None:
    """Cancel a job that is not finished.

    The worker is asked first: it may hold the only write lock of SQLite, for which the row would wait.

    Raises:
        Conflict: It is finished.
    """
    ask_to_cancel(job.pk)
    rows = Job.objects.filter(pk=job.pk, status__in=OPEN)
    if not _end(rows, Job.Status.CANCELLED, error=f"cancelled by {by.username}"):
        raise Conflict(say("The job is finished already."))


def release_lost(*, is_active: Callable[[int], bool] = lambda _job_id: False) -> list[int]:
    """Take jobs from workers that are gone; return those to enqueue again.

    A job that lost its worker too often fails instead.

    Args:
        is_active: Tells of a job without a lease if a worker says that it does it all the same: a step may
            leave no time to the thread that renews the lease.
    """
    lost = []
    recent = leases.compute_recent_range(timezone.now())
    for job in Job.objects.filter(status=Job.Status.RUNNING).exclude(started_at__range=recent):
        if leases.read_age(job.lease) is not None or is_active(job.pk):
            continue
        if job.attempts >= ATTEMPTS:
            _fail(
                _select_leased_row(job), say("given up: its worker ended %(number)s times", number=ATTEMPTS)
            )
        elif _select_leased_row(job).update(status=Job.Status.PENDING, lease=None):
            lost.append(job.pk)
    return lost


@transaction.atomic
def purge_files() -> int:
    """Delete files that nobody needs any more; return their number.

    They are those of jobs that finished a while ago, and old ones that no job names: a worker that was killed
    left them.
    """
    old = Job.objects.filter(finished_at__lt=timezone.now() - FILE_RETENTION).exclude(upload="", file="")
    number = 0
    for job in old.select_for_update():
        for path in {Path(job.upload), Path(job.file)} - {Path()}:
            shutil.rmtree((get_job_folder() / path).parent, ignore_errors=True)
        job.upload = job.file = ""
        job.save(update_fields=["upload", "file"])
        number += 1
    return number + _purge_unnamed()


def _purge_unnamed() -> int:
    """Delete old files and folders that no job names; return their number."""
    oldest = time.time() - FILE_RETENTION.total_seconds()
    # A file that a worker or an upload writes now is young. It is listed before the jobs are read, which name
    # it sooner than it gets old.
    entries = get_job_folder().iterdir() if get_job_folder().is_dir() else ()
    old = [entry for entry in entries if _find_last_change(entry) < oldest]
    rows = Job.objects.exclude(upload="", file="").values_list("upload", "file")
    named = {Path(name).parts[0] for row in rows for name in row if name}
    unnamed = [entry for entry in old if entry.name not in named]
    for entry in unnamed:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
    return len(unnamed)


def _find_last_change(entry: Path) -> float:
    """Return when a file, or anything in a folder, was changed last.

    It is now if something disappears meanwhile, because somebody is at work there.
    """
    try:
        return max(path.lstat().st_mtime for path in (entry, *entry.rglob("*")))
    except FileNotFoundError:
        return time.time()


def get_job_folder() -> Path:
    """Return the folder of the files of all jobs."""
    return Path(settings.JOB_FOLDER)


@contextmanager
def store_upload(blocks: Iterable[bytes], name: str) -> Iterator[Path]:
    """Store an uploaded file block by block, and yield its path for a while.

    `create_job` keeps it. It is stored outside a transaction, which could hold up everybody else for as long
    as the upload takes.
    """
    path = allocate_file(get_valid_filename(name) or "upload")
    try:
        with path.open("wb") as file:
            file.writelines(blocks)
        yield path
    finally:
        shutil.rmtree(path.parent, ignore_errors=True)


def upload_of(job: Job) -> Path:
    """Return the path of the uploaded file of a job."""
    return get_job_folder() / job.upload


def allocate_file(name: str) -> Path:
    """Return the path of a new file, in a folder of its own.

    If a job makes it, it is deleted at the end of the attempt unless it is the file of the result.
    """
    path = get_job_folder() / uuid4().hex / name
    path.parent.mkdir(parents=True, mode=0o700)
    if (own_folders := _own_folders.get()) is not None:
        own_folders.add(path.parent)
    return path


def load_job_function(kind: str) -> Work:
    """Return the function that does the work of a kind."""
    module, _dot, name = settings.JOBS[kind].rpartition(".")
    return getattr(import_module(module), name)


@contextmanager
def _track_new_folders() -> Iterator[set[Path]]:
    """Note the folders of new files, and delete those left in the set."""
    own_folders: set[Path] = set()
    token = _own_folders.set(own_folders)
    try:
        yield own_folders
    finally:
        _own_folders.reset(token)
        for path in own_folders:
            shutil.rmtree(path, ignore_errors=True)


def _begin(job_id: int) -> Job | None:
    """Mark a pending job as running; None if it is not pending."""
    lease = uuid4()
    leases.take(lease)
    began = Job.objects.filter(pk=job_id, status=Job.Status.PENDING).update(
        status=Job.Status.RUNNING, attempts=F("attempts") + 1, lease=lease, started_at=timezone.now()
    )
    return Job.objects.select_related("workspace", "created_by").get(pk=job_id) if began else None


def _select_leased_row(job: Job) -> QuerySet[Job]:
    """Return the row of a job that runs under the lease of ``job``."""
    return Job.objects.filter(pk=job.pk, status=Job.Status.RUNNING, lease=job.lease)


def _build_reporter(job: Job) -> Report:
    noted = 0.0

    def report(done: int, total: int | None) -> None:
        nonlocal noted
        now = time.monotonic()
        if now - noted < NOTE_SECONDS and done != total:
            return
        noted = now
        note_progress(job.pk, done, total)
        if is_asked_to_cancel(job.pk) or not _select_leased_row(job).exists():
            raise JobCancelled(say("The job was cancelled, or another worker has it."))

    return report


def _fail(rows: QuerySet[Job], error: str, **columns: Any) -> None:
    _end(rows, Job.Status.FAILED, error=error, error_message=dump_message(error), **columns)


def _end(rows: QuerySet[Job], status: Job.Status, **columns: Any) -> bool:
    return bool(rows.update(status=status, finished_at=timezone.now(), lease=None, **columns))
