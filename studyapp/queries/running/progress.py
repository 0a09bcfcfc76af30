"""Progress of a study: participants by mode, version and condition."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Literal, get_args

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from accounts.models import User, Workspace
from studyapp.models import Condition, ItemTime, Mode, Participant, Study, StudyVersion
from studyapp.queries.access import list_studies
from studyapp.queries.studies import load_frozen_study

ModeName = Literal["live", "pilot", "bot"]
Key = tuple[str, int, str]  # mode, key of the version, group
STATES = ("completed", "active", "stale", "returned", "ended", "withdrawn")


@dataclass(frozen=True)
class ConditionProgress:
    """Participant counts of one condition, or of a group of conditions.

    ``active`` were seen within the stale window, ``stale`` were not; ``returned`` returned their submission
    on the recruitment platform; ``ended`` were sent away after their assignment. ``quota`` is the smallest
    of the group. ``median_seconds`` is the median server time of a submitted item, null before the first.
    """

    version: int
    condition: str
    label: str
    is_open: bool
    quota: int | None
    assigned: int
    completed: int
    active: int
    stale: int
    returned: int
    ended: int
    withdrawn: int
    median_seconds: float | None


@dataclass(frozen=True)
class ModeProgress:
    """The participants who came in one mode.

    ``unassigned`` counts those who consented and have no condition, by outcome ("" is in progress).
    """

    mode: ModeName
    conditions: list[ConditionProgress]
    unassigned: dict[str, int]

    @property
    def assigned(self) -> int:
        """Participants of this mode, all conditions together."""
        return sum(row.assigned for row in self.conditions)

    @property
    def completed(self) -> int:
        """Of these, who completed."""
        return sum(row.completed for row in self.conditions)


def list_studies_with_counts(user: User, workspace: Workspace | None = None) -> QuerySet[Study]:
    """Return the studies that a user sees, newest first, without the archive.

    With a workspace only its own. Their live participants are counted as ``assigned`` and ``completed``.
    """
    live = Q(versions__participants__mode=Mode.LIVE)
    completed = live & Q(versions__participants__status=Participant.Status.COMPLETED)
    of_workspace = Q() if workspace is None else Q(workspace=workspace)
    return (
        list_studies(user)
        .filter(of_workspace, archived_at__isnull=True)
        .defer("definition")
        .annotate(
            assigned=Count("versions__participants", filter=live),
            completed=Count("versions__participants", filter=completed),
        )
        .order_by("-created_at", "-pk")
    )


def build_study_progress(study: Study) -> list[ModeProgress]:
    """Return the progress of live participants, then of pilots and bots.

    Pilots and bots are left out if there are none.
    """
    versions = {version.pk: version for version in study.versions.defer("frozen")}
    groups = _group_conditions(versions)
    counts = _count_participants(versions.values(), timezone.now())
    seconds = _compute_median_seconds(versions.values())
    return [
        ModeProgress(
            mode,
            [
                _build_condition_progress(
                    conditions, versions[version].number, name, counts, seconds, (mode, version, name)
                )
                for (version, name), conditions in groups.items()
            ],
            _count_unassigned(counts, mode),
        )
        for mode in get_args(ModeName)
        if mode == Mode.LIVE or any(key[0] == mode for key in counts)
    ]


def _group_conditions(versions: Mapping[int, StudyVersion]) -> dict[tuple[int, str], list[Condition]]:
    """Return the conditions of each group, by version and group name."""
    groups: dict[tuple[int, str], list[Condition]] = {}
    for condition in Condition.objects.filter(version__in=versions).order_by("version_id", "position"):
        group = (
            load_frozen_study(versions[condition.version_id]).condition(condition.name).group
            or condition.name
        )
        groups.setdefault((condition.version_id, group), []).append(condition)
    return groups


def _count_unassigned(counts: Mapping[Key, Mapping[str, int]], mode: str) -> dict[str, int]:
    """Return those of a mode without a group, by outcome."""
    by_outcome: dict[str, int] = defaultdict(int)
    for (of_mode, _version, group), numbers in counts.items():
        if of_mode == mode and not group:
            for outcome, n in numbers.items():
                by_outcome[outcome] += n
    return {outcome: n for outcome, n in sorted(by_outcome.items()) if n}


def _build_condition_progress(
    conditions: Sequence[Condition],
    version: int,
    group: str,
    counts: dict[Key, dict[str, int]],
    seconds: dict[Key, float],
    key: Key,
) -> ConditionProgress:
    own = counts.get(key, {})
    numbers = {name: own.get(name, 0) for name in STATES}
    quotas = [condition.quota for condition in conditions if condition.quota is not None]
    return ConditionProgress(
        version=version,
        condition=group,
        label=conditions[0].label
        if len(conditions) == 1
        else " + ".join(condition.label or condition.name for condition in conditions),
        is_open=all(condition.is_open for condition in conditions),
        quota=min(quotas, default=None),
        assigned=sum(numbers.values()),
        median_seconds=seconds.get(key),
        **numbers,
    )


def _count_participants(versions: Iterable[StudyVersion], now: datetime) -> dict[Key, dict[str, int]]:
    """Count participants with a group by state, those without by outcome."""
    counts: dict[Key, dict[str, int]] = {}
    for version in versions:
        minutes = load_frozen_study(version).stale_after_minutes
        fresh = Q() if minutes is None else Q(last_seen_at__gte=now - timedelta(minutes=minutes))
        rows = (
            Participant.objects.filter(version=version)
            .values_list("mode", "group", "status", "outcome")
            .annotate(
                n=Count("pk"),
                fresh=Count("pk", filter=fresh & Q(returned_at__isnull=True)),
                returned=Count("pk", filter=Q(returned_at__isnull=False)),
            )
        )
        for mode, group, status, outcome, n, fresh_ones, returned in rows:
            own = counts.setdefault((mode, version.pk, group), defaultdict(int))
            if not group:
                own[outcome] += n
            elif status == Participant.Status.ACTIVE:
                own["active"] += fresh_ones
                own["returned"] += returned
                own["stale"] += n - fresh_ones - returned
            else:
                own[status] += n
    return counts


def _compute_median_seconds(versions: Iterable[StudyVersion]) -> dict[Key, float]:
    """Return the median server time of an item in seconds."""
    counts: dict[Key, list[tuple[int, int]]] = defaultdict(list)
    rows = ItemTime.objects.filter(version__in=list(versions), number__gt=0).order_by("tenths")
    for mode, version, group, tenths, n in rows.values_list("mode", "version", "group", "tenths", "number"):
        counts[mode, version, group].append((tenths, n))
    return {key: compute_weighted_median(own) / 10 for key, own in counts.items()}


def compute_weighted_median(counts: Sequence[tuple[float, int]]) -> float:
    """Return the median of sorted values that come with their numbers."""
    reached = list(accumulate(n for _value, n in counts))
    low, high = (bisect_left(reached, rank) for rank in ((reached[-1] + 1) // 2, reached[-1] // 2 + 1))
    return (counts[low][0] + counts[high][0]) / 2


@dataclass(frozen=True)
class DropOut:
    """Live participants of a version who stopped after ``items`` items."""

    version: int
    items: int
    groups: dict[str, int]

    @property
    def total(self) -> int:
        """Number of participants of all groups."""
        return sum(self.groups.values())


def drop_outs(study: Study) -> list[DropOut]:
    """Return where live participants stopped.

    They are assigned participants who are stale, returned, were sent away, or withdrew.
    """
    by_step: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    now = timezone.now()
    for version in study.versions.defer("frozen").order_by("number"):
        minutes = load_frozen_study(version).stale_after_minutes
        gone = ~Q(status__in=["active", "completed"])
        if minutes is not None:
            gone |= Q(status="active", last_seen_at__lt=now - timedelta(minutes=minutes))
        gone |= Q(status="active", returned_at__isnull=False)
        rows = (
            Participant.objects.filter(gone, version=version, mode=Mode.LIVE)
            .exclude(group="")
            .values_list("items_submitted", "group")
            .annotate(n=Count("pk"))
        )
        for items, group, n in rows:
            by_step[version.number, items][group] = n
    return [DropOut(version, items, groups) for (version, items), groups in sorted(by_step.items())]


def list_archived_studies(user: User) -> QuerySet[Study]:
    """Return the archived studies that a user sees, the latest first."""
    return (
        list_studies(user)
        .filter(archived_at__isnull=False)
        .defer("definition")
        .order_by("-archived_at", "-pk")
    )
