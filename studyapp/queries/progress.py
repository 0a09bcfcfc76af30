"""How far a study is: participants per mode, version and condition, and the time that items take."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import NamedTuple

from django.db.models import Count, DurationField, ExpressionWrapper, F, Q, QuerySet
from django.utils import timezone

from studyapp.models import Condition, Mode, Participant, Study, StudyVersion, Trial
from studyapp.queries.studies import frozen

Key = tuple[str, int]  # mode, pk of the condition
STATES = ("completed", "active", "stale", "withdrawn")


class BarPart(NamedTuple):
    """A part of a bar, in participants: it begins at ``start`` and is ``length`` long."""

    name: str
    start: int
    length: int


@dataclass(frozen=True)
class ConditionProgress:
    """Counts of participants. ``active`` were seen within the stale window, ``stale`` were not.

    ``median_seconds`` is the median server time of a submitted item, None before the first.
    """

    version: int
    condition: str
    label: str
    is_open: bool
    assigned: int
    completed: int
    active: int
    stale: int
    withdrawn: int
    median_seconds: float | None

    @property
    def bar(self) -> list[BarPart]:
        """The counts as parts of one bar, left to right."""
        parts: list[BarPart] = []
        start = 0
        for name in STATES:
            parts.append(BarPart(name, start, getattr(self, name)))
            start += parts[-1].length
        return parts


@dataclass(frozen=True)
class ModeProgress:
    """All conditions for the participants who came in one mode."""

    mode: str
    conditions: list[ConditionProgress]

    @property
    def assigned(self) -> int:
        """Participants of this mode, all conditions together."""
        return sum(row.assigned for row in self.conditions)

    @property
    def completed(self) -> int:
        """Of these, who completed."""
        return sum(row.completed for row in self.conditions)

    @property
    def largest(self) -> int:
        """The largest number assigned to one condition: the full length of a bar."""
        return max((row.assigned for row in self.conditions), default=0)


def studies_with_counts() -> QuerySet[Study]:
    """All studies, newest first, with the live participants counted as ``assigned`` and ``completed``."""
    live = Q(versions__participants__mode=Mode.LIVE)
    completed = live & Q(versions__participants__status=Participant.Status.COMPLETED)
    return (
        Study.objects.defer("definition")
        .annotate(
            assigned=Count("versions__participants", filter=live),
            completed=Count("versions__participants", filter=completed),
        )
        .order_by("-created_at", "-pk")
    )


def study_progress(study: Study, *, now: datetime | None = None) -> list[ModeProgress]:
    """The live participants of every condition, then the pilots and bots where there are any."""
    versions = {version.pk: version for version in study.versions.defer("frozen")}
    conditions = list(Condition.objects.filter(version__in=versions).order_by("version_id", "position"))
    counts = _counts(versions.values(), now or timezone.now())
    seconds = _median_seconds(study)
    return [
        ModeProgress(
            mode,
            [
                _condition_progress(condition, versions[condition.version_id].number, mode, counts, seconds)
                for condition in conditions
            ],
        )
        for mode in Mode.values
        if mode == Mode.LIVE or any(key[0] == mode for key in counts)
    ]


def _condition_progress(
    condition: Condition,
    version: int,
    mode: str,
    counts: dict[Key, dict[str, int]],
    seconds: dict[Key, float],
) -> ConditionProgress:
    found = counts.get((mode, condition.pk), {})
    numbers = {name: found.get(name, 0) for name in STATES}
    return ConditionProgress(
        version=version,
        condition=condition.name,
        label=condition.label,
        is_open=condition.is_open,
        assigned=sum(numbers.values()),
        median_seconds=seconds.get((mode, condition.pk)),
        **numbers,
    )


def _counts(versions: Iterable[StudyVersion], now: datetime) -> dict[Key, dict[str, int]]:
    counts: dict[Key, dict[str, int]] = {}
    for version in versions:
        minutes = frozen(version).stale_after_minutes
        fresh = Q() if minutes is None else Q(last_seen_at__gte=now - timedelta(minutes=minutes))
        active = Q(status=Participant.Status.ACTIVE)
        found = (
            Participant.objects.filter(version=version)
            .values_list("mode", "condition")
            .annotate(
                completed=Count("pk", filter=Q(status=Participant.Status.COMPLETED)),
                withdrawn=Count("pk", filter=Q(status=Participant.Status.WITHDRAWN)),
                all_active=Count("pk", filter=active),
                fresh=Count("pk", filter=active & fresh),
            )
        )
        for mode, condition, completed, withdrawn, all_active, fresh_ones in found:
            counts[mode, condition] = {
                "completed": completed,
                "withdrawn": withdrawn,
                "active": fresh_ones,
                "stale": all_active - fresh_ones,
            }
    return counts


def _median_seconds(study: Study) -> dict[Key, float]:
    """In Python, for the databases share no median; one narrow row per submitted item."""
    times: dict[Key, list[float]] = defaultdict(list)
    duration = ExpressionWrapper(F("submitted_at") - F("shown_at"), DurationField())
    submitted = (
        Trial.objects.filter(participant__version__study=study, submitted_at__isnull=False)
        .exclude(shown_at=None)
        .values_list("participant__mode", "participant__condition", duration)
    )
    for mode, condition, lasted in submitted.iterator(chunk_size=5000):
        times[mode, condition].append(lasted.total_seconds())
    return {key: median(values) for key, values in times.items()}
