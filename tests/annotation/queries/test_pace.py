"""Tests of the pace of annotators: submissions by day, seconds per item."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from annotation.actions import assignments
from annotation.models import Annotation
from annotation.queries.pace import ENDS, compute_pace
from tests.annotation.factories import finished, make_items, make_member, make_project

pytestmark = pytest.mark.django_db


def set_time(annotation: Annotation, moment: datetime, seconds: float) -> None:
    Annotation.objects.filter(pk=annotation.pk).update(submitted_at=moment, active_seconds=seconds)


def test_it_works() -> None:
    project = make_project(annotators_per_item=2)
    ada, bo = make_member(project), make_member(project)
    make_items(project, 4)
    now = timezone.now()
    for member, times in ((ada, [(0, 4), (0, 5), (1, 30), (40, 9)]), (bo, [(1, 700)])):
        for back, seconds in times:
            done = finished(assignments.assign_next_annotation(member=member))
            set_time(done, now - timedelta(days=back), seconds)
    measured = compute_pace(project, 30)
    today = timezone.localdate()
    assert [(row.annotator, row.day, row.submitted, row.median_seconds) for row in measured.rows] == sorted(
        [
            (ada.user.username, today - timedelta(days=1), 1, 30),
            (ada.user.username, today, 2, 4.5),
            (bo.user.username, today - timedelta(days=1), 1, 700),
        ]
    )
    first, second = measured.people
    assert (first.annotator, first.submitted, first.by_day[-3:]) == (ada.user.username, 3, [0, 1, 2])
    assert first.quartiles == (4.5, 5, 17.5)
    assert second.quartiles == (700, 700, 700)
    assert sum(second.by_day) == 1
    # 4 is below the first end, 5 is at it, 30 is between 20 and 40, 700 is beyond the last.
    assert dict(zip([*ENDS, None], measured.classes, strict=True)) == {
        5: 1, 10: 1, 20: 0, 40: 1, 60: 0, 120: 0, 300: 0, 600: 0, None: 1,
    }  # fmt: skip


def test_work_that_is_not_submitted_does_not_count() -> None:
    member = make_member()
    make_items(member.project, 2)
    assignments.assign_next_annotation(member=member)
    measured = compute_pace(member.project, 7)
    assert (measured.rows, measured.people, set(measured.classes)) == ([], [], {0})
    assert len(measured.days) == 7
