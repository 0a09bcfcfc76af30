"""Reads of the log of a study: what was done, by whom, when."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from django.db.models import QuerySet

from foundation.database.days import compute_day_end, compute_day_start
from studyapp.models import Event, Study


@dataclass(frozen=True)
class LogFilter:
    """Filter of the log.

    ``who`` is a user name, "participants", or "" for everybody.

    The days are those of UTC, ends included.
    """

    kind: str = ""
    who: str = ""
    since: date | None = None
    until: date | None = None


def list_events(study: Study, wanted: LogFilter) -> QuerySet[Event]:
    """Return the events of a study that match a filter, newest first."""
    rows = Event.objects.filter(study=study).select_related("actor", "participant").order_by("-pk")
    if wanted.kind:
        rows = rows.filter(kind=wanted.kind)
    if wanted.who == "participants":
        rows = rows.filter(participant__isnull=False)
    elif wanted.who:
        rows = rows.filter(actor__username=wanted.who)
    if wanted.since:
        rows = rows.filter(at__gte=compute_day_start(wanted.since))
    if wanted.until:
        rows = rows.filter(at__lte=compute_day_end(wanted.until))
    return rows


LOG_COLUMNS = ("at", "actor", "participant", "kind", "data")


def log_rows(rows: QuerySet[Event]) -> Iterator[tuple[str, ...]]:
    """Yield events as the rows of a file."""
    for event in rows.iterator(chunk_size=1000):
        actor = event.actor.username if event.actor else ""
        participant = event.participant.public_id if event.participant else ""
        data = json.dumps(event.data, ensure_ascii=False) if event.data else ""
        yield event.at.isoformat(), actor, participant, event.kind, data


def list_event_kinds(study: Study) -> list[str]:
    """Return the kinds of events that a study has."""
    return list(Event.objects.filter(study=study).order_by("kind").values_list("kind", flat=True).distinct())


def list_actors(study: Study) -> list[str]:
    """Return user names of the staff who did something with a study."""
    rows = Event.objects.filter(study=study, actor__isnull=False).order_by("actor__username")
    return list(rows.values_list("actor__username", flat=True).distinct())


def list_notes(study: Study) -> QuerySet[Event]:
    """Return the notes of a study, newest first."""
    return list_events(study, LogFilter(kind="note"))
