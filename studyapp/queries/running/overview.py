"""The overview of a study: arrivals, times, and what to do next."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.policy_table import Act
from foundation.database.days import EpochSeconds
from studyapp.models import Condition, EntryLink, JudgedAnswer, Mode, Participant, Report, Study
from studyapp.queries.design.correctness import find_later_decisions, find_waiting_answers
from studyapp.queries.participants.flags import match_any_flag
from studyapp.queries.running.progress import ConditionProgress, ModeProgress, compute_weighted_median
from studyapp.queries.running.results import read_data_state
from studyapp.queries.studies import find_latest_version

HOURS = 48  # arrivals within so many are shown by hour, others by day
DAYS = 30  # most bars by day
BINS = 10  # of the histogram of times
QUARTER = 900  # seconds


@dataclass(frozen=True)
class Bar:
    """A bar of a chart: where it begins, and its height."""

    start: datetime | float
    end: datetime | float
    count: int


@dataclass(frozen=True)
class Arrivals:
    """The consents of live participants over time; ``by`` is "hour" or "day"."""

    by: str
    bars: list[Bar]


@dataclass(frozen=True)
class Times:
    """Minutes from consent to completion of live participants."""

    median: float | None
    bars: list[Bar]


@dataclass(frozen=True)
class NextAct:
    """A thing to do next: its kind, the act that it needs, a number."""

    kind: str
    act: Act
    count: int = 0


def count_arrivals(study: Study) -> Arrivals:
    """Return when live participants consented. One query."""
    # Every time zone begins its hours at a quarter of an hour. The database counts by quarter, because to
    # read each consent would take most of the time of the page.
    rows = (
        _select_live_participants(study)
        .filter(consented_at__isnull=False)
        .annotate(quarter=EpochSeconds("consented_at") / QUARTER)
        .values_list("quarter")
        .annotate(number=Count("pk"))
    )
    moments = {
        timezone.localtime(datetime.fromtimestamp(quarter * QUARTER, tz=UTC)): number
        for quarter, number in rows
    }
    if not moments:
        return Arrivals("day", [])
    first, last = min(moments), max(moments)
    by_hour = last - first < timedelta(hours=HOURS)
    start, step = _round_down(first, by_hour=by_hour), timedelta(hours=1) if by_hour else timedelta(days=1)
    counts: Counter[datetime] = Counter()
    for at, number in moments.items():
        counts[_round_down(at, by_hour=by_hour)] += number
    bars = []
    while start <= last:
        bars.append(Bar(start, start + step, counts[start]))
        start += step
    return Arrivals("hour" if by_hour else "day", bars if by_hour else bars[-DAYS:])


def _round_down(at: datetime, *, by_hour: bool) -> datetime:
    return at.replace(hour=at.hour if by_hour else 0, minute=0, second=0, microsecond=0)


def summarise_times(study: Study) -> Times:
    """Return the minutes from consent to completion of live participants.

    One query.
    """
    rows = (
        _select_live_participants(study)
        .filter(consented_at__isnull=False, completed_at__isnull=False)
        .filter(completed_at__gte=F("consented_at"))
        .annotate(seconds=EpochSeconds("completed_at") - EpochSeconds("consented_at"))
        .values_list("seconds")
        .annotate(number=Count("pk"))
        .order_by("seconds")
    )
    taken = [(seconds / 60, number) for seconds, number in rows]
    if not taken:
        return Times(None, [])
    width = _choose_width(taken[-1][0])
    counts: Counter[int] = Counter()
    for minutes, number in taken:
        counts[int(minutes / width)] += number
    bars = [Bar(index * width, (index + 1) * width, counts[index]) for index in range(max(counts) + 1)]
    return Times(compute_weighted_median(taken), bars)


def _choose_width(most: float) -> float:
    """Return a round width of bins, so that there are at most about `BINS`."""
    widths = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 360, 720, 1440)
    return next((width for width in widths if most / width <= BINS), most / BINS)


def _select_live_participants(study: Study) -> QuerySet[Participant]:
    return Participant.objects.filter(version__study=study, mode=Mode.LIVE)


def select_newest_conditions(live: ModeProgress) -> list[ConditionProgress]:
    """Return the conditions of the newest version."""
    version = max((row.version for row in live.conditions), default=0)
    return [row for row in live.conditions if row.version == version]


def sum_quotas(live: ModeProgress) -> int | None:
    """Return the quota of the newest version; None if a condition has none."""
    quotas = [row.quota for row in select_newest_conditions(live)]
    return sum(filter(None, quotas)) if quotas and None not in quotas else None


def is_full(row: ConditionProgress) -> bool:
    """Return True if as many participants completed as the quota asks for."""
    return row.quota is not None and row.completed >= row.quota


def list_next_acts(study: Study, live: ModeProgress, *, flagged: int, user: User) -> list[NextAct]:
    """Return what to do next, the most urgent first.

    Everything that the page offers is decided here; the page has the words. ``flagged`` is
    `count_flagged_participants`; answers that ``user`` judged do not wait for this user.
    """
    if study.status == Study.Status.DRAFT:
        return [NextAct("launch", Act.STUDY_EDIT)]
    acts = [*_list_judging_acts(study, user), *_list_recruiting_acts(study, live)]
    if flagged:
        acts.append(NextAct("flagged", Act.STUDY_RESULTS, flagged))
    return [*acts, *_list_reporting_acts(study, live)]


def _list_judging_acts(study: Study, judge: User) -> list[NextAct]:
    version = find_latest_version(study)
    if version is None:
        return []
    runs = Condition.objects.filter(version=version, run__isnull=False).values("run")
    waiting = (
        JudgedAnswer.objects.filter(
            pk__in=find_waiting_answers(judge).values("pk"),
            question__item__version=version,
            question__predictions__run__in=runs,
            question__predictions__answer=F("answer"),
        )
        .distinct()
        .count()
    )
    decided = len(find_later_decisions(version))
    acts = [NextAct("judge", Act.JUDGE, waiting)] if waiting else []
    return [*acts, NextAct("apply", Act.STUDY_EDIT, decided)] if decided else acts


def _list_recruiting_acts(study: Study, live: ModeProgress) -> list[NextAct]:
    if study.status == Study.Status.PAUSED:
        return [NextAct("resume", Act.STUDY_EDIT)]
    if study.status != Study.Status.OPEN:
        return []
    open_rows = [row for row in select_newest_conditions(live) if row.is_open]
    if open_rows and all(map(is_full, open_rows)):
        return [NextAct("close", Act.STUDY_EDIT, sum(row.completed for row in open_rows))]
    acts = []
    if not (live.assigned or live.unassigned) and not _has_rehearsal(study):
        acts.append(NextAct("pilot", Act.STUDY_EDIT))
    if not has_live_link(study):
        acts.append(NextAct("link", Act.STUDY_EDIT))
    if full := sum(map(is_full, open_rows)):
        acts.append(NextAct("full", Act.STUDY_EDIT, full))
    if not open_rows:
        acts.append(NextAct("no_condition", Act.STUDY_EDIT))
    return acts


def has_live_link(study: Study) -> bool:
    """Return True if a study has a link for live participants."""
    return EntryLink.objects.filter(study=study, mode=Mode.LIVE).exists()


def _has_rehearsal(study: Study) -> bool:
    rehearsal = Participant.objects.filter(
        Q(version__study=study) | Q(version__study__rehearsal_of=study), mode__in=[Mode.PILOT, Mode.BOT]
    )
    return rehearsal.filter(status=Participant.Status.COMPLETED).exists()


def _list_reporting_acts(study: Study, live: ModeProgress) -> list[NextAct]:
    if not live.completed:
        return []
    report = Report.objects.filter(study=study, mode=Mode.LIVE).first()
    if report is None:
        return [NextAct("report", Act.STUDY_RESULTS, live.completed)]
    is_old = report.data != read_data_state(study, Mode.LIVE)
    return [NextAct("report_again", Act.STUDY_RESULTS)] if is_old else []


def count_flagged_participants(study: Study) -> int:
    """Return the number of live participants with a flag."""
    return _select_live_participants(study).filter(match_any_flag()).count()
