"""The log of datasets and runs: one row per act."""

from typing import Any

from accounts.models import User
from predictions.event_labels import EVENT_LABELS
from predictions.models import Event, PredictionRun


def record(*, kind: str, by: User | None = None, data: dict[str, Any] | None = None) -> Event:
    """Append one event row. Called by actions, inside their transaction.

    Raises KeyError for a kind without a label, so that no page has to show an identifier.
    """
    EVENT_LABELS.check(kind)
    return Event.objects.create(kind=kind, actor=by, data=data or {})


def describe_run(run: PredictionRun) -> dict[str, str | int]:
    """Return what the data of an event say of a run."""
    return {"dataset": run.dataset.name, "system": run.system.name, "revision": run.revision}
