"""The beat goes on when the clock was a day ahead for a while."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from config import steady_schedule


def test_a_clock_set_back_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = steady_schedule.schedule_every(30)
    before, moment = schedule.now(), time.monotonic()
    assert abs(before - datetime.now(tz=UTC)) < timedelta(days=1)
    monkeypatch.setattr(time, "monotonic", lambda: moment + 31)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert schedule.is_due(before).is_due
    assert not schedule.is_due(schedule.now()).is_due


def test_every_task_of_the_beat_has_one() -> None:
    steady: Any = steady_schedule.schedule_every(1)
    tasks: dict[str, Any] = settings.CELERY_BEAT_SCHEDULE
    assert {task["schedule"].nowfun for task in tasks.values()} == {steady.nowfun}
