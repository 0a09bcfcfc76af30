"""The life cycles of the study app.

Pure: no Django; ``actions`` writes what `find_next_status` allows.
"""

from foundation.state_machine import ForbiddenTransition, Transition, find_next_status

__all__ = ["PARTICIPANT", "STUDY", "ForbiddenTransition", "find_next_status"]

STUDY = (
    Transition("launch", ("draft", "open", "paused", "closed"), "open"),
    Transition("pause", ("open",), "paused"),
    Transition("resume", ("paused",), "open"),
    Transition("close", ("open", "paused"), "closed"),
    Transition("reopen", ("closed",), "open"),
)

PARTICIPANT = (
    Transition("complete", ("active",), "completed"),
    Transition("end", ("active",), "ended"),
    Transition("withdraw", ("active", "completed", "ended"), "withdrawn"),
)
