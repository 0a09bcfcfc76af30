"""The work queue of all apps: cut work into slices, enqueue, look for it."""

from collections.abc import Iterable
from typing import Any

from celery import Task, current_app
from kombu.exceptions import ChannelError
from kombu.exceptions import OperationalError as BrokerError

from foundation.errors import NoBroker

LOST_LIMIT = 3  # a slice that never comes back kills its worker; enqueueing it for ever would hide that

Slice = tuple[int, int]  # the first and the last key


def cut_slices(sizes: Iterable[tuple[int, int]], *, most: int, most_tokens: int | None = None) -> list[Slice]:
    """Cut pending work into slices.

    Args:
        sizes: Key and estimated tokens of each unit, in ascending order of the keys.
        most: The largest number of units in a slice.
        most_tokens: The most tokens in a slice, unless a single unit has more.

    Returns:
        The first and the last key of each slice.
    """
    slices: list[Slice] = []
    count = total = 0
    for key, size in sizes:
        fits = most_tokens is None or total + size <= most_tokens
        if slices and count < most and fits:
            slices[-1] = (slices[-1][0], key)
            count, total = count + 1, total + size
        else:
            slices.append((key, key))
            count, total = 1, size
    return slices


def count_queued(queue: str | None = None) -> int:
    """Count the messages that wait in a queue, by default the main one."""
    name = queue or current_app.conf.task_default_queue
    with current_app.connection_for_read() as connection:
        channel: Any = connection.default_channel
        try:
            return int(channel.queue_declare(name, passive=True).message_count)
        except ChannelError:
            return 0  # an empty queue does not exist


def publish(task: Task[Any, Any], calls: Iterable[tuple[int, ...]], **options: Any) -> None:
    """Enqueue a task once for each tuple of arguments. Raises NoBroker.

    Args:
        task: The task.
        calls: Its arguments.
        options: Options of Celery's ``apply_async``.
    """
    try:
        for arguments in calls:
            # Without a retry, so that a missing broker is an error at once instead of a silent wait.
            task.apply_async(arguments, retry=False, ignore_result=True, **options)
    except BrokerError as error:
        raise _build_broker_error(error) from error


def list_workers() -> list[str]:
    """Return the workers that answer within a second. Raises NoBroker."""
    try:
        return [name for reply in current_app.control.ping(timeout=1.0) or [] for name in reply]
    except BrokerError as error:
        raise _build_broker_error(error) from error


def list_active_calls() -> set[tuple[Any, ...]]:
    """Return what workers do now: the name of each task, then its arguments.

    The main process of a worker answers, also while a task leaves no time to its threads. Raises NoBroker.
    """
    try:
        replies = current_app.control.inspect(timeout=1.0).active() or {}
    except BrokerError as error:
        raise _build_broker_error(error) from error
    return {(call["name"], *call["args"]) for calls in replies.values() for call in calls}


def has_pending_slices(task: Task[Any, Any], run_id: int, names: list[str]) -> bool:
    """Return whether slices of a run wait in the queue or at a worker.

    Queued work of other runs counts too, because slices behind it are not lost.

    Args:
        task: The task that computes a slice.
        run_id: The key of the run.
        names: The workers to ask.

    Raises:
        NoBroker: The queue cannot be reached.
    """
    try:
        if count_queued():
            return True
        inspect = current_app.control.inspect(names, timeout=5.0)
        held = [inspect.active(), inspect.reserved(), inspect.scheduled()]
    except BrokerError as error:
        raise _build_broker_error(error) from error
    entries: list[Any] = [entry for replies in held for reply in (replies or {}).values() for entry in reply]
    requests = [entry.get("request", entry) for entry in entries]
    return any(request["name"] == task.name and list(request["args"])[:1] == [run_id] for request in requests)


def _build_broker_error(error: Exception) -> NoBroker:
    uri = current_app.connection_for_write().as_uri()  # without its password
    return NoBroker(f"the work queue at {uri} cannot be reached ({error}); start the broker")
