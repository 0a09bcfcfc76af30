"""Life cycles as tables of permitted transitions. Pure: no Django."""

from functools import reduce
from typing import NamedTuple

from foundation.messages import Message, say


class Transition(NamedTuple):
    """An act that leads from any of ``sources`` to ``target``."""

    act: str
    sources: tuple[str, ...]
    target: str


class ForbiddenTransition(Exception):
    """The act is not possible in the present status."""


def find_next_status(table: tuple[Transition, ...], act: str, status: str) -> str:
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
                say(
                    "cannot %(act)s while %(status)s; possible only while %(sources)s",
                    act=say(act),
                    status=say(status),
                    sources=reduce(_join_with_or, map(say, transition.sources)),
                )
            )
    raise KeyError(act)


def _join_with_or(first: Message, second: Message) -> Message:
    return say("%(first)s or %(second)s", first=first, second=second)
