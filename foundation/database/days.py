"""Days and seconds, computed where the database finds or counts them fast."""

from datetime import date, datetime, time
from typing import Any

from django.db.models import Func, IntegerField
from django.utils import timezone


def compute_day_start(day: date) -> datetime:
    """Return the first moment of a day in the site's time zone."""
    return timezone.make_aware(datetime.combine(day, time.min))


def compute_day_end(day: date) -> datetime:
    """Return the last moment of a day in the site's time zone."""
    return timezone.make_aware(datetime.combine(day, time.max))


def measure_seconds(start: datetime | None, end: datetime | None) -> float | None:
    """Return the seconds from a time to another; None if unknown.

    A clock that was set back in between does not tell them.
    """
    if start is None or end is None or end < start:
        return None
    return (end - start).total_seconds()


class EpochSeconds(Func):
    """The whole seconds from 1970 to a time."""

    output_field = IntegerField()
    template = "CAST(FLOOR(EXTRACT(EPOCH FROM %(expressions)s)) AS BIGINT)"

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of SQLite."""
        return self.as_sql(
            compiler, connection, template="CAST(STRFTIME('%%%%s', %(expressions)s) AS INTEGER)", **context
        )
