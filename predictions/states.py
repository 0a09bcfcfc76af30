"""The life cycle of a run. Pure: no Django; ``actions`` writes what `next_status` allows."""

from foundation.state_machine import ForbiddenTransition, Transition, next_status

__all__ = ["RUN", "ForbiddenTransition", "next_status"]

RUN = (
    Transition("start", ("pending", "failed", "cancelled", "done"), "running"),
    Transition("finish", ("running",), "done"),
    Transition("fail", ("pending", "running"), "failed"),
    Transition("cancel", ("running",), "cancelled"),
)
