"""The pace of annotators: how much they submit, how long an item takes.

Seconds are those between edits, without pauses (`Annotation.active_seconds`).
"""

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from statistics import median
from typing import NamedTuple

from django.utils import timezone

from annotation.models import Annotation, Project
from foundation.database.days import compute_day_start

LONGEST_DAYS = 366
# The upper ends of the classes of seconds per item, roughly doubling; the last class has none.
ENDS = (5, 10, 20, 40, 60, 120, 300, 600)


class PaceRow(NamedTuple):
    """The submissions of a person on a day, and their median seconds."""

    annotator: str
    day: date
    submitted: int
    median_seconds: float


class PersonPace(NamedTuple):
    """One person's submissions of each day, and their seconds per item.

    by_day: As many numbers as days. quartiles: The three of the seconds.
    """

    annotator: str
    submitted: int
    by_day: list[int]
    quartiles: tuple[float, float, float]


class Pace(NamedTuple):
    """The pace of a project, over some days up to today.

    classes: Submissions by their seconds, one more class than `ENDS`.
    """

    days: list[date]
    rows: list[PaceRow]
    people: list[PersonPace]
    classes: list[int]


def compute_pace(project: Project, number: int) -> Pace:
    """Return the pace of the last days. One query.

    A submission counts on the day of its last one, so that no annotation counts twice.
    """
    today = timezone.localdate()
    days = [today - timedelta(days=back) for back in reversed(range(number))]
    submitted = Annotation.objects.filter(
        project=project,
        task=Annotation.Task.ANNOTATION,
        status__in=Annotation.HANDED_IN,
        submitted_at__gte=compute_day_start(days[0]),
    )
    by_person: dict[str, dict[date, list[float]]] = defaultdict(lambda: defaultdict(list))
    rows = submitted.values_list("annotator__username", "submitted_at", "active_seconds")
    for name, moment, seconds in rows.iterator(chunk_size=5_000):
        by_person[name][timezone.localtime(moment).date()].append(seconds)
    return Pace(
        days=days,
        rows=[
            PaceRow(name, day, len(seconds), median(seconds))
            for name, by_day in sorted(by_person.items())
            for day, seconds in sorted(by_day.items())
        ],
        people=sorted(
            (_build_person_pace(name, by_day, days) for name, by_day in by_person.items()),
            key=lambda person: (-person.submitted, person.annotator),
        ),
        classes=_count_classes(
            [value for by_day in by_person.values() for part in by_day.values() for value in part]
        ),
    )


def _build_person_pace(name: str, by_day: dict[date, list[float]], days: Sequence[date]) -> PersonPace:
    seconds = sorted(value for part in by_day.values() for value in part)
    lower, upper = seconds[: (len(seconds) + 1) // 2], seconds[len(seconds) // 2 :]
    return PersonPace(
        annotator=name,
        submitted=len(seconds),
        by_day=[len(by_day.get(day, ())) for day in days],
        quartiles=(median(lower), median(seconds), median(upper)),
    )


def _count_classes(seconds: Sequence[float]) -> list[int]:
    """Count the values of each class; one at an end belongs to the next."""
    counts = Counter(bisect(ENDS, value) for value in seconds)
    return [counts[index] for index in range(len(ENDS) + 1)]
