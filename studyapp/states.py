"""The life cycles of the study app. Pure: no Django; ``actions`` writes what `next_status` allows."""

from accounts.lifecycle import ForbiddenTransition, Transition, next_status

__all__ = ["PARTICIPANT", "RUN", "STUDY", "ForbiddenTransition", "next_status"]

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

RUN = (
    Transition("start", ("pending", "failed", "cancelled", "done"), "running"),
    Transition("finish", ("running",), "done"),
    Transition("fail", ("pending", "running"), "failed"),
    Transition("cancel", ("running",), "cancelled"),
)
