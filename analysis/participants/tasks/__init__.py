"""Tasks of studies: what their trials hold, and what is measured of them."""

from ..measures import Measure
from .advice import ADVICE
from .counterfactual import COUNTERFACTUAL
from .preference import PREFERENCE, find_win_rate
from .simulation import SIMULATION
from .task import Task
from .verification import VERIFICATION

TASKS: dict[str, Task] = {
    task.kind: task for task in (VERIFICATION, ADVICE, SIMULATION, COUNTERFACTUAL, PREFERENCE)
}
"""The five tasks of studies, by the name that definitions use."""

__all__ = ["TASKS", "Task", "find_measure"]


def find_measure(name: str) -> Measure | None:
    """Find a measure of any task by its key or label.

    Args:
        name: Key or label, in any case; also the key of a win rate.

    Returns:
        None if no measure has the name.
    """
    wanted = name.strip().lower()
    every = (measure for task in TASKS.values() for measure in task.measures)
    measure = next((m for m in every if wanted in (m.key, m.label.lower())), None)
    return measure or find_win_rate(wanted)
