"""Life cycles of projects, annotations and runs. No Django.

``actions`` writes what `find_next_status` allows.
"""

from foundation.state_machine import ForbiddenTransition, Transition, find_next_status

__all__ = ["ANNOTATION", "PROJECT", "ForbiddenTransition", "find_next_status"]

PROJECT = (
    Transition("close", ("open",), "closed"),
    Transition("reopen", ("closed",), "open"),
)

ANNOTATION = (
    Transition("submit", ("reserved", "returned"), "submitted"),
    Transition("take back", ("submitted",), "reserved"),
    Transition("review", ("submitted",), "in review"),
    Transition("return", ("submitted", "in review"), "returned"),
    Transition("accept", ("submitted", "in review"), "accepted"),
    Transition("settle", ("returned",), "accepted"),
    Transition("reopen", ("accepted",), "returned"),
    Transition("expire", ("reserved",), "expired"),
    Transition("release", ("reserved", "returned"), "released"),
    Transition("resume", ("expired", "released"), "reserved"),
)
