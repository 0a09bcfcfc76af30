"""Life cycles as tables of permitted transitions. Pure: no Django."""

from typing import NamedTuple


class Transition(NamedTuple):
    """An act that leads from any of ``sources`` to ``target``."""

    act: str
    sources: tuple[str, ...]
    target: str


class ForbiddenTransition(Exception):
    """The act is not possible in the present status."""


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
