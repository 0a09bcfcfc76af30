"""The id that a web request gives to everything done for it: log lines, tasks, questions to the model server.

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
    """Start work under the given id if it is well formed, else under a new one; return the id."""
    chosen = given if WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
    _request.set(chosen)
    _part.set("")
    return chosen


def end() -> None:
    """Forget the id: the thread goes on to other work."""
    _request.set("")
    _part.set("")


def label() -> str:
    """The id with the slice that is being worked on, as in ``ab12.7-1-32``; empty outside of any work."""
    return ".".join(filter(None, (_request.get(), _part.get())))


class RequestIdFilter(logging.Filter):
    """Gives every log record ``request_id``: the label of the work it belongs to, or ``-``."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = label() or "-"
        return True


@before_task_publish.connect
def _send(headers: dict[str, Any], **_: object) -> None:
    headers[HEADER] = _request.get() or begin()


@task_prerun.connect
def _take_up(task: Task[Any, Any], args: tuple[object, ...], **_: object) -> None:
    """Work under the id of the message, and name the slice by the numbers that the task was given.

    A task that runs where it is enqueued has no message; it stays within the work that enqueued it.
    """
    begin((task.request.headers or {}).get(HEADER, _request.get()))
    _part.set("-".join(str(one) for one in args if isinstance(one, int)))


@task_postrun.connect
def _put_down(task: Task[Any, Any], **_: object) -> None:
    if task.request.is_eager:
        _part.set("")
    else:
        end()
