"""Figures of a project's charts; the pages draw them as SVG with a table."""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.content.comparison import build_steps
from annotation.models import Annotation, Project
from annotation.parsed_items import get_kind, parse_item_program
from annotation.queries.comparison import read_visible_documents
from annotation.queries.progress import Person, Totals
from foundation.database.counting import build_count_column
from foundation.database.days import compute_day_start
from foundation.pages import charts

DAYS = 30
MOST_PEOPLE = 12
MOST_COMPARED = 300  # items of the chart of agreement, the newest


def count_items_by_state(counts: Totals) -> list[charts.Part]:
    """Return the ordinary items by state, as parts of one bar."""
    started = counts.items - counts.complete - counts.idle
    started_with_gold = counts.gold - counts.complete_with_gold - counts.idle_with_gold
    return charts.build_bar_parts(
        [
            ("completed", _("With gold"), counts.gold),
            ("active", _("Complete"), counts.complete - counts.complete_with_gold),
            ("stale", _("In progress"), started - started_with_gold),
            ("ended", _("Open"), counts.idle - counts.idle_with_gold),
        ]
    )


def count_submissions_by_day(project: Project) -> charts.Columns | None:
    """Return the submitted annotations of the last days. One query."""
    today = timezone.localdate()
    since = today - timedelta(days=DAYS - 1)
    days = [since + timedelta(days=number) for number in range(DAYS)]
    # The days are ranges of the index; to compute the day of each annotation would take seconds.
    rows = Annotation.objects.filter(project=OuterRef("pk"), task=Annotation.Task.ANNOTATION)
    counts = {
        f"day{number}": build_count_column(
            rows.filter(submitted_at__gte=compute_day_start(day), submitted_at__lt=compute_day_start(after))
        )
        for number, day in enumerate(days)
        for after in [day + timedelta(days=1)]
    }
    numbers = Project.objects.filter(pk=project.pk).values_list(*counts.values())[0]
    by_day = [(day.isoformat(), number) for day, number in zip(days, numbers, strict=True)]
    return charts.build_columns(by_day) if any(numbers) else None


def build_progress_bars(people: Sequence[Person]) -> list[tuple[Person, list[charts.Part]]]:
    """Return the work of the busiest annotators, as bars of one scale."""
    busy = [person for person in people if person.finished or person.under_way or person.returned]
    most = max((person.finished + person.under_way + person.returned for person in busy), default=0)
    bars = []
    for person in busy[:MOST_PEOPLE]:
        rows = [
            ("completed", _("Finished"), person.finished),
            ("stale", _("In progress"), person.under_way),
            ("returned", _("Returned"), person.returned),
        ]
        bars.append((person, charts.build_bar_parts(rows, length=most)))
    return bars


def compute_agreement_by_week(project: Project) -> charts.Columns | None:
    """Return the share of steps with full agreement, by week of submission.

    It covers the newest items that two or more people finished.
    """
    rows = (
        project.annotations.filter(
            task=Annotation.Task.ANNOTATION, status__in=Annotation.FINISHED, item__submitted__gte=2
        )
        .select_related("item")
        .order_by("-item__position", "pk")
    )
    by_item: dict[int, list[Annotation]] = {}
    for annotation in rows.iterator(chunk_size=200):
        if annotation.item_id not in by_item and len(by_item) >= MOST_COMPARED:
            break
        by_item.setdefault(annotation.item_id, []).append(annotation)
    weeks: dict[str, list[bool]] = {}
    for annotations in by_item.values():
        times = [annotation.submitted_at for annotation in annotations if annotation.submitted_at]
        if len(annotations) < 2 or not times:
            continue
        year, week, _day = max(times).isocalendar()
        item = annotations[0].item
        compared = build_steps(
            parse_item_program(item, get_kind(project)), read_visible_documents(annotations), item.tokens
        )
        weeks.setdefault(f"{year}-W{week:02}", []).extend(step.unanimous for step in compared)
    shares = [(week, sum(same) / len(same)) for week, same in sorted(weeks.items()) if same]
    return charts.build_columns(shares, most=1.0)
