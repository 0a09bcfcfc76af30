"""The beat goes on when the clock was a day ahead for a while."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from celery import schedules
from django.conf import settings

from config import steady_schedule


def test_a_clock_set_back_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = steady_schedule.every(30)
    before, moment = schedule.now(), time.monotonic()
    assert abs(before - datetime.now(tz=UTC)) < timedelta(days=1)
    monkeypatch.setattr(time, "monotonic", lambda: moment + 31)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert schedule.is_due(before).is_due
    assert not schedule.is_due(schedule.now()).is_due


def test_every_task_of_the_beat_has_one() -> None:
    tasks = settings.CELERY_BEAT_SCHEDULE.values()
    assert all(task["schedule"].nowfun is steady_schedule.every(1).nowfun for task in tasks)
    assert all(isinstance(task["schedule"], schedules.schedule) for task in tasks)
