"""The log of studies: one row per act."""

from typing import Any

from accounts.models import User
from foundation.database.prepared_queries import insert
from studyapp.models import Event, Participant, Study
from studyapp.web.event_labels import EVENT_LABELS


def record(
    *,
    kind: str,
    study: Study | None = None,
    participant: Participant | None = None,
    by: User | None = None,
    data: dict[str, Any] | None = None,
) -> Event:
    """Append one event row inside the transaction of an action.

    The study of a participant need not be named.

    Raises:
        KeyError: a kind without words, so that no page has to show an identifier.
    """
    EVENT_LABELS.check(kind)
    if study is None and participant is not None:
        study = participant.version.study
    event = Event(kind=kind, study=study, participant=participant, actor=by, data=data or {})
    insert(event)
    return event
