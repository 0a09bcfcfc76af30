"""The queue where its broker is away."""

import time
from typing import Any

import pytest

from config.celery import app
from foundation.errors import NoBroker
from jobs.queue import publish
from jobs.tasks import sweep_jobs


def test_a_broker_that_is_away_is_told_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Kombu alone would try for six seconds."""
    with app.connection_for_write(url=f"redis+socket://{tmp_path}/nobody.sock") as connection:
        begun = time.monotonic()
        with pytest.raises(NoBroker):
            publish(sweep_jobs, [()], connection=connection)
    assert time.monotonic() - begun < 3
