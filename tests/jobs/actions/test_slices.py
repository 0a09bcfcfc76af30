"""A slice has a lease while it is computed.

When its worker dies, another one takes it over, a limited number of times.
"""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.utils import timezone

from foundation.errors import NoBroker
from jobs import leases
from jobs.actions import slices
from jobs.actions.slices import TAKEOVERS, attempt, take_over_lost
from jobs.models import SliceLease
from jobs.queue import LOST_LIMIT
from modelserver.wire.errors import Unavailable
from predictions import tasks

pytestmark = [pytest.mark.django_db, pytest.mark.database]

SLICE = (7, 1, 20)


class Killed(BaseException):
    """An end of a worker, which no code of a slice catches."""


@pytest.fixture(autouse=True)
def _cache(settings: Any) -> Any:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    yield
    cache.clear()


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect the calls with their options instead of enqueueing them."""
    calls: list[Any] = []
    monkeypatch.setattr(
        slices, "publish", lambda task, parts, **options: calls.append((task, parts, options))
    )
    return calls


@pytest.fixture(autouse=True)
def active(monkeypatch: pytest.MonkeyPatch) -> set[tuple[Any, ...]]:
    """Give the calls that workers report as active."""
    calls: set[tuple[Any, ...]] = set()
    monkeypatch.setattr(slices, "list_active_calls", lambda: calls)
    return calls


def running(takeovers: int = 0) -> Any:
    request = SimpleNamespace(args=SLICE, headers={TAKEOVERS: takeovers} if takeovers else None, retries=0)
    return SimpleNamespace(name=tasks.predict_slice.name, request=request)


def lose(*, takeovers: int = 0) -> SliceLease:
    """Store the row that a killed worker leaves, a minute after its begin."""
    row = SliceLease.objects.create(
        task=tasks.predict_slice.name, arguments=list(SLICE), lease=uuid4(), takeovers=takeovers
    )
    SliceLease.objects.update(begun_at=timezone.now() - timedelta(minutes=1))
    return row


def test_a_slice_has_a_lease_until_it_ends() -> None:
    held: list[SliceLease] = []
    attempt(running(takeovers=2), lambda: held.extend(SliceLease.objects.all()))
    assert [(row.task, tuple(row.arguments), row.takeovers) for row in held] == [
        (tasks.predict_slice.name, SLICE, 2)
    ]
    assert not SliceLease.objects.exists()
    assert leases.read_age(held[0].lease) is None


def test_a_failed_slice_has_no_lease() -> None:
    def away() -> None:
        raise Unavailable("restarting")

    task = running()
    task.request.retries = slices.TRIES
    with pytest.raises(Unavailable):
        attempt(task, away)
    assert not SliceLease.objects.exists()


def test_the_slice_of_a_killed_worker_is_enqueued_once(published: list[Any]) -> None:
    lose()
    assert [take_over_lost(), take_over_lost()] == [1, 0]
    assert published == [(tasks.predict_slice, [SLICE], {"headers": {TAKEOVERS: 1}, "queue": "upkeep"})]


def test_a_slice_with_a_lease_stays_with_its_worker(published: list[Any]) -> None:
    leases.take(lose().lease)
    assert take_over_lost() == 0
    assert published == []


def test_a_slice_that_has_just_begun_stays_with_its_worker(published: list[Any]) -> None:
    lose()
    SliceLease.objects.update(begun_at=timezone.now())
    assert take_over_lost() == 0


def test_a_slice_from_before_the_clock_was_set_back_is_taken_over(published: list[Any]) -> None:
    lose()
    SliceLease.objects.update(begun_at=timezone.now() + timedelta(days=1))
    assert take_over_lost() == 1


def test_a_worker_that_answers_keeps_a_slice_whose_lease_expired(
    published: list[Any], active: set[tuple[Any, ...]]
) -> None:
    lose()
    active.add((tasks.predict_slice.name, *SLICE))
    assert take_over_lost() == 0
    active.clear()
    assert take_over_lost() == 1


def test_without_a_broker_the_next_sweep_takes_it_over(
    monkeypatch: pytest.MonkeyPatch, published: list[Any]
) -> None:
    def away(*_args: Any, **_options: Any) -> None:
        raise NoBroker("away")

    lose()
    with monkeypatch.context() as broken:
        broken.setattr(slices, "publish", away)
        with pytest.raises(NoBroker):
            take_over_lost()
    assert take_over_lost() == 1


def test_a_slice_that_ends_its_workers_is_given_up(published: list[Any]) -> None:
    lose(takeovers=LOST_LIMIT)
    take_over_lost()
    reasons: list[str] = []

    def compute() -> None:
        raise AssertionError("the slice was computed once more")

    attempt(running(published[0][2]["headers"][TAKEOVERS]), compute, give_up=reasons.append)
    assert reasons == ["given up: a slice ended its worker 4 times"]
