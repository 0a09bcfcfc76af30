"""Runs of served systems over a project: their slices, and what every module of an item put out."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from pydantic import ValidationError

from accounts.models import User
from analysis.programs import ProgramError
from annotation import states
from annotation.actions import audit
from annotation.actions.outputs import columns_of
from annotation.errors import Conflict
from annotation.formats.checks import program_of_text
from annotation.models import ImageFile, Item, OutputFailure, OutputRun, Project, SystemOutput
from annotation.parsed_items import kind_of
from annotation.queries.runs import is_complete, missing
from annotation.schemas import SystemRecord
from foundation.errors import RunFailed
from foundation.image_files import image_folder
from foundation.import_fields import first_error
from jobs.model_gateway import execute_items
from modelserver.wire.errors import ModelServerError, Unavailable
from modelserver.wire.schema import Execution, ItemError, ModuleImage, ModuleItem

Status = OutputRun.Status


@transaction.atomic
def start_run(*, project: Project, system: str, revision: str, by: User | None = None) -> OutputRun:
    """Return the run of this revision, made or taken up; what it lacks is then to be enqueued.

    A run that is complete stays as it is. Otherwise items that failed before are tried again.
    """
    now = timezone.now()
    fresh = {"progressed_at": now, "created_by": by}
    run, made = OutputRun.objects.get_or_create(
        project=project, system=system, revision=revision, defaults=fresh
    )
    run = OutputRun.objects.select_for_update(no_key=True).select_related("project").get(pk=run.pk)
    if made:
        audit.record(project=project, kind="outputs_started", by=by, data=_named(run))
        return run
    if run.status == Status.RUNNING:
        return run
    retried, _ = run.failures.all().delete()
    if run.status == Status.DONE and is_complete(run):
        return run
    run.status = states.next_status(states.RUN, "start", run.status)
    run.error, run.finished_at, run.progressed_at, run.sweeps = "", None, now, 0
    run.save(update_fields=["status", "error", "finished_at", "progressed_at", "sweeps"])
    audit.record(project=project, kind="outputs_started", by=by, data=_named(run) | {"retried": retried})
    return run


def compute_slice(*, run_id: int, first: int, last: int) -> int:
    """Have executed what the run still lacks among the items ``first`` to ``last``; return how many.

    Doing it twice, or twice at once, stores nothing twice. Raises Unavailable when the server cannot
    answer now; an error that no retry can heal ends the run instead.
    """
    run = OutputRun.objects.select_related("project").get(pk=run_id)
    if run.status != Status.RUNNING:
        return 0
    items = list(missing(run).filter(pk__range=(first, last)).order_by("pk"))
    if items:
        wires, refused = _wires(run.project, items)
        asked = [item for item in items if item.pk in wires]
        try:
            outcomes = _answers(run, [wires[item.pk] for item in asked])
        except Unavailable:
            raise
        except (ModelServerError, RunFailed) as error:
            fail_run(run_id=run_id, error=str(error))
            return 0
        _store(run, [*zip(asked, outcomes, strict=True), *refused])
    finish_run(run_id=run_id)
    return len(items)


def _answers(run: OutputRun, items: Sequence[ModuleItem]) -> list[Execution | ItemError]:
    return execute_items(system=run.system, revision=run.revision, items=items) if items else []


def _wires(
    project: Project, items: Sequence[Item]
) -> tuple[dict[int, ModuleItem], list[tuple[Item, ItemError]]]:
    """What is sent of each item by its key, and why the others cannot be sent."""
    names = {name for item in items for name in item.images}
    files = {one.name: one for one in ImageFile.objects.filter(project=project, name__in=names)}
    wires, refused = {}, []
    for item in items:
        try:
            wires[item.pk] = _wire(item, files)
        except ValidationError as error:
            refused.append((item, _refusal(item, first_error(error))))
        except ValueError as error:
            refused.append((item, _refusal(item, str(error))))
    return wires, refused


def _refusal(item: Item, message: str) -> ItemError:
    return ItemError(id=item.external_id, error="invalid_item", message=message)


def _wire(item: Item, files: Mapping[str, ImageFile]) -> ModuleItem:
    """An item as the model server takes it. Raises ValueError, which says what it lacks."""
    if not item.program:
        raise ValueError("program: the item has none")
    return ModuleItem(
        id=item.external_id,
        text=item.text,
        program=item.program,
        passage=item.passage,
        tokens=item.tokens,
        images=[_image(name, files.get(name)) for name in item.images],
    )


def _image(name: str, file: ImageFile | None) -> ModuleImage:
    """The bytes of an image, or its name alone where the site has none: a system may have its features."""
    if file is None or not file.path:
        return ModuleImage(name=name)
    try:
        content = (image_folder() / file.path).read_bytes()
    except OSError as error:
        raise ValueError(f"images: {name}: {error.strerror or error}") from error
    return ModuleImage(name=name, data=base64.b64encode(content))


@transaction.atomic
def _store(run: OutputRun, pairs: Sequence[tuple[Item, Execution | ItemError]]) -> None:
    """Store a slice. Rows go in by ascending key, so that two workers at once cannot deadlock."""
    outputs, failures = [], []
    for item, outcome in sorted(pairs, key=lambda pair: pair[0].pk):
        if isinstance(outcome, Execution):
            try:
                found = _columns(outcome, item, run.project)
            except (Conflict, ValidationError) as error:
                failures.append(_failure(run, item, "invalid_output", _reason(error)))
                continue
            outputs.append(SystemOutput(item=item, system=run.system, revision=run.revision, **found))
        else:
            failures.append(_failure(run, item, outcome.error, outcome.message))
    SystemOutput.objects.bulk_create(outputs, ignore_conflicts=True)
    OutputFailure.objects.bulk_create(failures, ignore_conflicts=True)
    OutputRun.objects.filter(pk=run.pk).update(progressed_at=timezone.now(), sweeps=0)


def _failure(run: OutputRun, item: Item, kind: str, message: str) -> OutputFailure:
    return OutputFailure(run=run, item=item, kind=kind, message=message)


def _reason(error: Conflict | ValidationError) -> str:
    return first_error(error) if isinstance(error, ValidationError) else str(error)


def _columns(outcome: Execution, item: Item, project: Project) -> dict[str, Any]:
    """The columns of an execution. Raises Conflict where it does not fit the item, ValidationError."""
    try:
        executed = str(program_of_text(outcome.program, kind_of(project)))
    except ProgramError as error:
        raise Conflict(f"{item.external_id}: program: {error.message}") from error
    if executed != item.program:
        raise Conflict(f"{item.external_id}: it executed another program, {executed}")
    # Through JSON: the two sides declare the same fields with types of their own.
    content = outcome.model_dump(mode="json", exclude={"program"})
    return columns_of(SystemRecord.model_validate(content), item, kind_of(project))


def finish_run(*, run_id: int) -> bool:
    """Mark a running run as done when nothing is missing; return whether this call did it.

    Called after the slice is stored, not within: two workers that store the last two slices at once would
    each miss the other's rows.
    """
    run = OutputRun.objects.get(pk=run_id)
    if run.status != Status.RUNNING or not is_complete(run):
        return False
    return _end(run_id, "finish", finished_at=timezone.now())


def fail_run(*, run_id: int, error: str) -> bool:
    """End a running run with a reason; ``start_run`` takes it up again. Return whether this call did it."""
    return _end(run_id, "fail", error=error)


def cancel_run(*, run_id: int, by: User | None = None) -> bool:
    """End a running run for now. What is stored stays, and so does a slice that is under way."""
    return _end(run_id, "cancel", by=by)


@transaction.atomic
def _end(run_id: int, act: str, *, by: User | None = None, **columns: Any) -> bool:
    status = states.next_status(states.RUN, act, Status.RUNNING)
    claimed = OutputRun.objects.filter(pk=run_id, status=Status.RUNNING).update(status=status, **columns)
    if claimed:
        run = OutputRun.objects.select_related("project").get(pk=run_id)
        told = {"error": columns["error"]} if "error" in columns else {}
        kind = {"finish": "outputs_finished", "fail": "outputs_failed", "cancel": "outputs_cancelled"}[act]
        audit.record(project=run.project, kind=kind, by=by, data=_named(run) | told)
    return bool(claimed)


def record_sweep(*, run: OutputRun) -> None:
    """Note that lost slices of a run were enqueued again."""
    OutputRun.objects.filter(pk=run.pk).update(sweeps=run.sweeps + 1, progressed_at=timezone.now())


def _named(run: OutputRun) -> dict[str, str]:
    return {"system": run.system, "revision": run.revision}
