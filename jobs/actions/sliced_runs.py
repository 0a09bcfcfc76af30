"""The life cycle of runs that are computed in slices: one for all apps.

An app declares a `RunKind` for its model, and gets the actions that start,
compute, finish, fail, cancel and sweep its runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from celery import Task
from django.conf import settings
from django.db import models, transaction
from django.db.models import F
from django.utils import timezone

from accounts.models import User
from foundation.errors import RunFailed
from foundation.state_machine import Transition, find_next_status
from jobs.models import SlicedRun, SliceLease
from jobs.queue import LOST_LIMIT, Slice, has_pending_slices, list_workers, publish
from modelserver.wire.errors import BudgetSpent, ModelServerError, Unavailable

Run = TypeVar("Run", bound=SlicedRun)
Unit = TypeVar("Unit", bound=models.Model)
Status = SlicedRun.Status

TRANSITIONS = (
    Transition("start", ("pending", "paused", "done", "failed", "cancelled"), "running"),
    Transition("finish", ("running",), "done"),
    Transition("fail", ("running",), "failed"),
    Transition("pause", ("running",), "paused"),
    Transition("cancel", ("running",), "cancelled"),
)


@dataclass(frozen=True)
class RunKind(Generic[Run, Unit]):
    """The differences between kinds of runs, and the actions they share.

    Attributes:
        model: The model of the runs.
        missing: Selects what a run lacks: units without a result or a failure.
        answer: Asks the model server about some units and stores the results.
        log: Records an act ("start", "finish", "fail", "pause", "cancel" or "sweep") on a run with
            its details.
        failures: The related name of a run's failures.
    """

    model: type[Run]
    missing: Callable[[Run], models.QuerySet[Unit]]
    answer: Callable[[Run, list[Unit]], None]
    log: Callable[[str, Run, User | None, dict[str, Any]], None]
    failures: str = "failures"

    @transaction.atomic
    def start(self, run: Run, *, by: User | None = None) -> Run:
        """Start or resume a run; enqueue what it lacks afterwards.

        A running run and a complete one stay as they are. Otherwise units that failed are tried again.
        """
        run = self.model._default_manager.select_for_update(no_key=True).get(pk=run.pk)
        if run.status == Status.RUNNING:
            return run
        retried, _ = getattr(run, self.failures).all().delete()
        if run.status == Status.DONE and self.is_complete(run):
            return run
        run.status = find_next_status(TRANSITIONS, "start", run.status)
        run.error, run.finished_at, run.progressed_at, run.sweeps = "", None, timezone.now(), 0
        run.save(update_fields=["status", "error", "finished_at", "progressed_at", "sweeps"])
        self.log("start", run, by, {"retried": retried})
        return run

    def compute_slice(self, *, run_id: int, first: int, last: int) -> int:
        """Compute what a run lacks among the keys ``first`` to ``last``.

        Calling it twice, or twice at once, stores nothing twice. An error that no retry can heal ends the
        run.

        Returns:
            The number of units computed.

        Raises:
            Unavailable: The model server cannot answer now.
        """
        run = self.model._default_manager.get(pk=run_id)
        if run.status != Status.RUNNING:
            return 0
        units = list(self.missing(run).filter(pk__range=(first, last)).order_by("pk"))
        if units:
            try:
                self.answer(run, units)
            except Unavailable:
                raise
            except BudgetSpent as error:
                self._end(run_id, "pause", error=str(error))
                return 0
            except (ModelServerError, RunFailed) as error:
                self.fail_run(run_id=run_id, error=str(error))
                return 0
        self.finish_run(run_id=run_id)
        return len(units)

    def enqueue(self, task: Task[Any, Any], run: Run, slices: Sequence[Slice]) -> int:
        """Enqueue slices of what a run lacks; finish a run that lacks nothing.

        It also brings back lost slices.

        Returns:
            The number of slices.

        Raises:
            NoBroker: The queue cannot be reached.
        """
        publish(task, [(run.pk, *part) for part in slices])
        if not slices:
            self.finish_run(run_id=run.pk)
        return len(slices)

    def is_complete(self, run: Run) -> bool:
        """Return whether a run lacks nothing."""
        # Slices are computed in ascending order, so a missing unit is found soonest from the end.
        return self.missing(run).order_by("-pk").values_list("pk").first() is None

    def finish_run(self, *, run_id: int) -> bool:
        """Mark a running run as done if complete; return whether this call did.

        Call it after a slice is stored and outside its transaction: two workers that store the last two
        slices at once would each miss the other's rows. A running run never loses results, so no lock is
        needed.
        """
        run = self.model._default_manager.get(pk=run_id)
        if run.status != Status.RUNNING or not self.is_complete(run):
            return False
        return self._end(run_id, "finish", finished_at=timezone.now())

    def fail_run(self, *, run_id: int, error: str) -> bool:
        """End a running run with a reason; return whether this call did."""
        return self._end(run_id, "fail", error=error)

    def cancel_run(self, *, run_id: int, by: User | None = None) -> bool:
        """Stop a run until it is started again; return whether this call did.

        Stored results stay, and a slice in progress is still stored. Waiting slices do nothing.
        """
        return self._end(run_id, "cancel", by=by)

    @transaction.atomic
    def _end(self, run_id: int, act: str, *, by: User | None = None, **columns: Any) -> bool:
        status = find_next_status(TRANSITIONS, act, Status.RUNNING)
        running = self.model._default_manager.filter(pk=run_id, status=Status.RUNNING)
        ended = running.update(status=status, **columns)
        if ended:
            details = {name: value for name, value in columns.items() if name == "error"}
            self.log(act, self.model._default_manager.get(pk=run_id), by, details)
        return bool(ended)

    def note_progress(self, run: Run) -> None:
        """Record that a run stored results now."""
        self.model._default_manager.filter(pk=run.pk).update(progressed_at=timezone.now(), sweeps=0)

    def sweep(self, task: Task[Any, Any], enqueue: Callable[[Run], int]) -> None:
        """Enqueue lost slices again, and fail a run that loses them repeatedly.

        Slices get lost together with the broker. A run of which a slice waits or is being computed is left
        alone; the slices of a dead worker come back when their leases expire.

        Args:
            task: The task that computes a slice.
            enqueue: Enqueues what a run lacks and returns the number of slices.
        """
        now = timezone.now()
        # A run that progressed in the future did so before the clock was set back.
        recent = (now - timedelta(seconds=settings.RUN_SWEEP_SECONDS), now)
        running = self.model._default_manager.filter(status=Status.RUNNING).exclude(
            progressed_at__range=recent
        )
        for run in running.order_by("pk"):
            if _has_lease(task, run) or has_pending_slices(task, run.pk, list_workers()):
                continue
            if run.sweeps >= LOST_LIMIT:
                self.fail_run(
                    run_id=run.pk, error=f"slices were enqueued again {LOST_LIMIT} times and never came back"
                )
            elif slices := enqueue(run):
                self._record_sweep(run, slices)

    @transaction.atomic
    def _record_sweep(self, run: Run, slices: int) -> None:
        self.model._default_manager.filter(pk=run.pk).update(sweeps=F("sweeps") + 1)
        self.log("sweep", run, None, {"run": run.pk, "slices": slices})


def _has_lease(task: Task[Any, Any], run: SlicedRun) -> bool:
    return SliceLease.objects.filter(task=task.name, arguments__0=run.pk).exists()
