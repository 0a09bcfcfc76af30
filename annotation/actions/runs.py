"""Runs of served systems over a project, which store module outputs."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from pydantic import ValidationError

from accounts.models import User
from analysis.io.errors import describe_os_error
from analysis.programs import ProgramError
from annotation.actions import audit
from annotation.actions.backend_runs import predict_items as ask_backend
from annotation.actions.backend_runs import prepare_backend
from annotation.actions.outputs import build_output_columns
from annotation.content.labels import ANSWERED
from annotation.content.schemas import Kind, SystemRecord
from annotation.errors import Conflict
from annotation.formats.checks import parse_program_text
from annotation.models import ImageFile, Item, OutputFailure, OutputRun, Project, SystemOutput
from annotation.parsed_items import build_subject, get_kind, parse_item_program, parse_task
from annotation.queries.runs import list_missing_items
from annotation.suggestions import Fit, build_marks, build_questions
from foundation.images.image_files import read_image
from foundation.imports.import_fields import format_first_error
from foundation.messages import say
from jobs.actions.sliced_runs import RunKind
from jobs.model_servers.gateway import execute_items, predict_items
from modelserver.wire.schema import Execution, ItemError, ModuleImage, ModuleItem, QAPrediction

Outcome = Execution | SystemRecord | ItemError


@transaction.atomic
def start_run(
    *,
    project: Project,
    system: str,
    revision: str,
    fit: Fit | None = None,
    backend: str = "",
    by: User | None = None,
) -> OutputRun:
    """Return the started or resumed run of this revision; see `RunKind.start`.

    With a ``fit`` the system answers questions about the items, with a ``backend`` it is the model of that
    address, else it executes their programs. A run that is there keeps its own fit, so that all its
    suggestions have the same meaning; a backend may have moved.
    """
    stored = fit.model_dump(mode="json") if fit is not None else {}
    run, is_new = OutputRun.objects.get_or_create(
        project=project,
        system=system,
        revision=revision,
        defaults={"created_by": by, "fit": stored, "backend": backend},
    )
    if not is_new and bool(run.backend) != bool(backend):
        raise Conflict(
            say("Another system of this name has a run with the revision %(revision)s.", revision=revision)
        )
    if run.backend != backend:
        run.backend = backend
        run.save(update_fields=["backend"])
    return RUNS.start(run, by=by)


def start_backend_run(*, project: Project, by: User | None) -> OutputRun:
    """Start or resume a run of the model of the project's ML backend.

    Raises as `annotation.actions.backend_runs.prepare_backend`.
    """
    backend = prepare_backend(project)
    return start_run(
        project=project, system=backend.name, revision=backend.version, backend=project.ml_backend, by=by
    )


def check_fit(project: Project, fit: Fit) -> None:
    """Check that the answers of a reader can become suggestions in a project.

    Raises:
        Conflict: The items have no text to read, or the fit names no spans of the task.
    """
    task = parse_task(project)
    if project.kind != "spans":
        raise Conflict(say("Readers and language models need a text; this project shows images."))
    if task is None or (not fit.marks and any(layer.type in ANSWERED for layer in task.layers)):
        return
    layers = dict(enumerate(task.layers, start=1))
    layer = layers.get(fit.layer or 0)
    if layer is None or layer.type != "spans" or fit.label not in layer.names:
        raise Conflict(say("fit: choose a layer of spans of this project, and one of its labels"))


def _answer_items(run: OutputRun, items: list[Item]) -> None:
    outcomes: Sequence[tuple[Item, Outcome]]
    if run.backend:
        outcomes = ask_backend(run, items)
    else:
        outcomes = _read(run, items) if run.fit else _execute(run, items)
    _store(run, outcomes)


def _read(run: OutputRun, items: Sequence[Item]) -> list[tuple[Item, Outcome]]:
    """Ask a reader or language model about items."""
    fit, kind = Fit.model_validate(run.fit), get_kind(run.project)
    asked = {
        (item.pk, node): question
        for item in items
        for node, question in build_questions(
            item.external_id, item.text, parse_item_program(item, kind), item.passage, fit
        ).items()
    }
    predicted = predict_items(system=run.system, revision=run.revision, items=list(asked.values()))
    answers = dict(zip(asked, predicted, strict=True))
    return [(item, _build_suggestion(item, answers, fit, kind)) for item in items]


def _build_suggestion(
    item: Item, answers: Mapping[tuple[int, int], QAPrediction | ItemError], fit: Fit, kind: Kind
) -> SystemRecord | ItemError:
    """Return what the answers about an item suggest, or why there is nothing."""
    own = {node: answer for (key, node), answer in answers.items() if key == item.pk}
    if not own:
        return _build_refusal(item, "program: there is nothing here that the system could answer")
    for answer in own.values():
        if isinstance(answer, ItemError):
            return answer.model_copy(update={"id": item.external_id})
    predictions = {node: answer for node, answer in own.items() if isinstance(answer, QAPrediction)}
    marks, score = build_marks(predictions, parse_item_program(item, kind), build_subject(item, kind), fit)
    return SystemRecord(id=item.external_id, marks=marks, score=score)


def _execute(run: OutputRun, items: list[Item]) -> list[tuple[Item, Outcome]]:
    """Execute the programs of items."""
    requests, refused = _build_requests(run.project, items)
    sent = [item for item in items if item.pk in requests]
    outcomes: list[Execution | ItemError] = []
    if sent:
        outcomes = execute_items(
            system=run.system, revision=run.revision, items=[requests[item.pk] for item in sent]
        )
    return [*zip(sent, outcomes, strict=True), *refused]


def _build_requests(
    project: Project, items: Sequence[Item]
) -> tuple[dict[int, ModuleItem], list[tuple[Item, ItemError]]]:
    """Return the request for each item by its key, and why others have none."""
    names = {name for item in items for name in item.images}
    files = {file.name: file for file in ImageFile.objects.filter(project=project, name__in=names)}
    requests, refused = {}, []
    for item in items:
        try:
            requests[item.pk] = _build_request(item, files)
        except ValidationError as error:
            refused.append((item, _build_refusal(item, format_first_error(error))))
        except ValueError as error:
            refused.append((item, _build_refusal(item, str(error))))
    return requests, refused


def _build_refusal(item: Item, message: str) -> ItemError:
    return ItemError(id=item.external_id, error="invalid_item", message=message)


def _build_request(item: Item, files: Mapping[str, ImageFile]) -> ModuleItem:
    """Return an item for the model server. Raise ValueError if impossible."""
    if not item.program:
        raise ValueError("program: the item has none")
    return ModuleItem(
        id=item.external_id,
        text=item.text,
        program=item.program,
        passage=item.passage,
        tokens=item.tokens,
        images=[_build_image(name, files.get(name)) for name in item.images],
    )


def _build_image(name: str, file: ImageFile | None) -> ModuleImage:
    """Return an image, without content if the site has no file of it."""
    # A name is enough for a system that has the features of the image.
    if file is None or not file.path:
        return ModuleImage(name=name)
    try:
        content = read_image(file.path)
    except OSError as error:
        raise ValueError(f"images: {name}: {describe_os_error(error)}") from error
    return ModuleImage(name=name, data=base64.b64encode(content))


@transaction.atomic
def _store(run: OutputRun, pairs: Sequence[tuple[Item, Outcome]]) -> None:
    """Store a slice, by ascending key so that two workers cannot deadlock."""
    outputs, failures = [], []
    for item, outcome in sorted(pairs, key=lambda pair: pair[0].pk):
        if not isinstance(outcome, ItemError):
            try:
                columns = _build_columns(outcome, item, run.project)
            except (Conflict, ValidationError) as error:
                failures.append(_build_failure(run, item, "invalid_output", _format_reason(error)))
                continue
            outputs.append(SystemOutput(item=item, system=run.system, revision=run.revision, **columns))
        else:
            failures.append(_build_failure(run, item, outcome.error, outcome.message))
    SystemOutput.objects.bulk_create(outputs, ignore_conflicts=True)
    OutputFailure.objects.bulk_create(failures, ignore_conflicts=True)
    RUNS.note_progress(run)


def _build_failure(run: OutputRun, item: Item, kind: str, message: str) -> OutputFailure:
    return OutputFailure(run=run, item=item, kind=kind, message=message)


def _format_reason(error: Conflict | ValidationError) -> str:
    return format_first_error(error) if isinstance(error, ValidationError) else str(error)


def _build_columns(outcome: Execution | SystemRecord, item: Item, project: Project) -> dict[str, Any]:
    """Return the columns of an output.

    Raises:
        Conflict: The output does not fit the item.
        ValidationError: It is malformed.
    """
    if isinstance(outcome, SystemRecord):
        return build_output_columns(outcome, item, get_kind(project))
    try:
        executed = str(parse_program_text(outcome.program, get_kind(project)))
    except ProgramError as error:
        raise Conflict(f"{item.external_id}: program: {error.message}") from error
    if executed != item.program:
        raise Conflict(f"{item.external_id}: it executed another program, {executed}")
    # Through JSON: the two sides declare the same fields with types of their own.
    content = outcome.model_dump(mode="json", exclude={"program"})
    return build_output_columns(SystemRecord.model_validate(content), item, get_kind(project))


_EVENT_KINDS = {
    "start": "outputs_started",
    "finish": "outputs_finished",
    "fail": "outputs_failed",
    "cancel": "outputs_cancelled",
}


def _log_act(act: str, run: OutputRun, by: User | None, details: dict[str, Any]) -> None:
    if act in _EVENT_KINDS:
        data = {"system": run.system, "revision": run.revision} | details
        audit.record(project=run.project, kind=_EVENT_KINDS[act], by=by, data=data)


RUNS = RunKind(model=OutputRun, missing=list_missing_items, answer=_answer_items, log=_log_act)
compute_slice, finish_run = RUNS.compute_slice, RUNS.finish_run
fail_run, cancel_run = RUNS.fail_run, RUNS.cancel_run
