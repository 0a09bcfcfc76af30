"""Life cycles as transition tables. Nothing else decides which status may follow which.

Pure: no Django. ``actions`` calls ``next_status`` and writes the result.
"""

from typing import NamedTuple


class Transition(NamedTuple):
    """From one of ``sources``, ``act`` leads to ``target``."""

    act: str
    sources: tuple[str, ...]
    target: str


STUDY = (
    Transition("launch", ("draft", "open", "closed"), "open"),
    Transition("close", ("open",), "closed"),
    Transition("reopen", ("closed",), "open"),
)

PARTICIPANT = (
    Transition("complete", ("active",), "completed"),
    Transition("withdraw", ("active", "completed"), "withdrawn"),
)

RUN = (
    Transition("start", ("pending", "failed", "cancelled", "done"), "running"),
    Transition("finish", ("running",), "done"),
    Transition("fail", ("pending", "running"), "failed"),
    Transition("cancel", ("running",), "cancelled"),
)


class ForbiddenTransition(Exception):
    """The act is not possible in the present status; the message says so for a person."""


def next_status(table: tuple[Transition, ...], act: str, status: str) -> str:
    """Return the status that ``act`` leads to.

    Raises:
        ForbiddenTransition: ``act`` is not possible from ``status``.
        KeyError: the table knows no such act.
    """
    for transition in table:
        if transition.act == act:
            if status in transition.sources:
                return transition.target
            raise ForbiddenTransition(
                f"cannot {act} while {status}; possible only while {' or '.join(transition.sources)}"
            )
    raise KeyError(act)
