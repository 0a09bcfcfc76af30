"""The request id of all work that began with one web request.

Log lines, tasks and requests to the model server carry it.

A task carries the id in the header of its message, so it passes through any number of workers and tries. Work
that no page began, such as a management command, makes an id of its own when it first hands a task over.
"""

import logging
import re
import uuid
from contextvars import ContextVar
from typing import Any

from celery import Task
from celery.signals import before_task_publish, task_postrun, task_prerun

HEADER = "touchstone_request_id"
# Short enough to leave room for the name of a slice in what the model server takes, which is 128 characters.
WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")

_request: ContextVar[str] = ContextVar("request", default="")
_part: ContextVar[str] = ContextVar("part", default="")


def begin(given: str = "") -> str:
    """Start work under a given id if it is valid, else a new one; return it."""
    chosen = given if WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
    _request.set(chosen)
    _part.set("")
    return chosen


def end() -> None:
    """Forget the id: the thread goes on to other work."""
    _request.set("")
    _part.set("")


def format_label() -> str:
    """Return the id with the present slice, as in ``ab12.7-1-32``.

    The label is empty outside of any work.
    """
    return ".".join(filter(None, (_request.get(), _part.get())))


class RequestIdFilter(logging.Filter):
    """A filter that sets ``request_id`` of log records, ``-`` without any."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the label of the present work to a record."""
        record.request_id = format_label() or "-"
        return True


@before_task_publish.connect
def _send(headers: dict[str, Any], **_: object) -> None:
    headers[HEADER] = _request.get() or begin()


@task_prerun.connect
def _take_up(task: Task[Any, Any], args: tuple[object, ...], **_: object) -> None:
    """Work under the id of the message, with the task's numbers as slice.

    A task that runs where it is enqueued has no message; it stays within the work that enqueued it.
    """
    begin((task.request.headers or {}).get(HEADER, _request.get()))
    _part.set("-".join(str(number) for number in args if isinstance(number, int)))


@task_postrun.connect
def _put_down(task: Task[Any, Any], **_: object) -> None:
    if task.request.is_eager:
        _part.set("")
    else:
        end()
