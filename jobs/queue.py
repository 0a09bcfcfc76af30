"""The work queue as both apps use it: handing tasks over, and looking whether any got lost."""

from collections.abc import Iterable
from typing import Any

from celery import Task, current_app
from kombu.exceptions import ChannelError
from kombu.exceptions import OperationalError as BrokerError

from foundation.errors import NoBroker
from modelserver.wire.errors import DeadlineExceeded

WAITS = (2, 5, 10, 20, 30)  # seconds between tries; the last repeats
TRIES = 120  # about an hour of a model server that is away
SLOW_TRIES = 3  # of a slice that took longer than its deadline
SLOW = "slow_tries"


def may_try_again(task: Task[Any, Any], error: Exception) -> bool:
    """Whether a task that could not be done now is to be tried once more.

    Slow tries are counted in a header, which goes with the task to its next try.
    """
    if isinstance(error, DeadlineExceeded):
        headers = task.request.headers or {}
        slow = int(headers.get(SLOW, 0)) + 1
        if slow > SLOW_TRIES:
            return False
        task.request.headers = headers | {SLOW: slow}
    return task.request.retries < TRIES


def pause(task: Task[Any, Any]) -> int:
    """Seconds until it is."""
    return WAITS[min(task.request.retries, len(WAITS) - 1)]


def publish(task: Task[Any, Any], calls: Iterable[tuple[int, ...]]) -> None:
    """Hand a task over, once for each tuple of arguments. Raises NoBroker."""
    try:
        for arguments in calls:
            # Without a retry: a broker that is away is told at once instead of after a silent wait.
            task.apply_async(arguments, retry=False, ignore_result=True)
    except BrokerError as error:
        raise _no_broker(error) from error


def workers() -> list[str]:
    """The names of the workers that answer within a second. Raises NoBroker."""
    try:
        return [name for reply in current_app.control.ping(timeout=1.0) or [] for name in reply]
    except BrokerError as error:
        raise _no_broker(error) from error


def under_way(task: Task[Any, Any], run_id: int, names: list[str]) -> bool:
    """Whether slices of a run wait in the queue or are held by one of these workers. Raises NoBroker.

    Work of another run in the queue counts too: slices behind it are not lost.
    """
    try:
        if _queued():
            return True
        inspect = current_app.control.inspect(names, timeout=5.0)
        held = [inspect.active(), inspect.reserved(), inspect.scheduled()]
    except BrokerError as error:
        raise _no_broker(error) from error
    entries: list[Any] = [entry for replies in held for each in (replies or {}).values() for entry in each]
    requests = [entry.get("request", entry) for entry in entries]
    return any(one["name"] == task.name and list(one["args"])[:1] == [run_id] for one in requests)


def _queued() -> int:
    with current_app.connection_for_read() as connection:
        channel: Any = connection.default_channel
        try:
            return int(channel.queue_declare(current_app.conf.task_default_queue, passive=True).message_count)
        except ChannelError:
            return 0  # an empty queue does not exist


def _no_broker(error: Exception) -> NoBroker:
    where = current_app.connection_for_write().as_uri()  # without its password
    return NoBroker(f"the work queue at {where} cannot be reached ({error}); start the broker")
