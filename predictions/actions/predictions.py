"""Predictions of a system on a dataset: runs, their slices, and predictions that come from a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from foundation.errors import BadFile, RunFailed
from jobs.model_gateway import predict_items
from modelserver.wire.errors import ModelServerError, Unavailable
from modelserver.wire.schema import SCHEMA_VERSION, ItemError, QAPrediction
from predictions import states
from predictions.actions import events
from predictions.formats.predictions import PredictionsFile
from predictions.formats.records import stray_facts
from predictions.models import Dataset, Prediction, PredictionFailure, PredictionRun, Question, System
from predictions.queries.predictions import is_complete, missing

BATCH = 500
Status = PredictionRun.Status


@transaction.atomic
def start_run(*, dataset: Dataset, system: str, revision: str, by: User | None = None) -> PredictionRun:
    """Return the run of this revision, made or resumed; what it lacks is then to be enqueued.

    A run that is complete stays as it is. Otherwise questions that failed before are tried again.
    """
    run, _ = PredictionRun.objects.get_or_create(
        dataset=dataset,
        system=System.objects.get_or_create(name=system)[0],
        revision=revision,
        defaults={"schema_version": SCHEMA_VERSION, "source": PredictionRun.Source.SERVER},
    )
    run = PredictionRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    if run.status == Status.RUNNING:
        return run
    retried, _ = run.failures.all().delete()
    if run.status == Status.DONE and is_complete(run):
        return run
    run.status = states.next_status(states.RUN, "start", run.status)
    run.error, run.finished_at, run.progressed_at = "", None, timezone.now()
    run.save(update_fields=["status", "error", "finished_at", "progressed_at"])
    events.record(kind="run_started", by=by, data=_named(run) | {"retried": retried})
    return run


def compute_slice(*, run_id: int, first: int, last: int) -> int:
    """Predict what the run still lacks among the questions ``first`` to ``last``; return how many that were.

    Doing it twice, or twice at once, stores nothing twice. Raises Unavailable when the server cannot
    answer now; an error that no retry can heal ends the run instead.
    """
    run = PredictionRun.objects.select_related("system").get(pk=run_id)
    if run.status != Status.RUNNING:
        return 0
    questions = list(missing(run).filter(pk__range=(first, last)).order_by("pk"))
    if questions:
        items = [question.wire() for question in questions]
        try:
            outcomes = predict_items(system=run.system.name, revision=run.revision, items=items)
        except Unavailable:
            raise
        except (ModelServerError, RunFailed) as error:
            fail_run(run_id=run_id, error=str(error))
            return 0
        _store(run, questions, outcomes)
    finish_run(run_id=run_id)
    return len(questions)


@transaction.atomic
def _store(
    run: PredictionRun, questions: Sequence[Question], outcomes: Sequence[QAPrediction | ItemError]
) -> None:
    """Store a slice; where two workers had it and one failed on a question, the prediction counts.

    The run is locked first, so that neither misses what the other stores.
    """
    PredictionRun.objects.select_for_update(no_key=True).only("pk").get(pk=run.pk)
    pairs = list(zip(questions, outcomes, strict=True))
    Prediction.objects.bulk_create(
        [
            Prediction(run=run, question=question, **Prediction.columns(outcome))
            for question, outcome in pairs
            if isinstance(outcome, QAPrediction)
        ],
        ignore_conflicts=True,
    )
    predicted = set(run.predictions.filter(question__in=questions).values_list("question_id", flat=True))
    run.failures.filter(question__in=predicted).delete()
    PredictionFailure.objects.bulk_create(
        [
            PredictionFailure(run=run, question=question, kind=outcome.error, message=outcome.message)
            for question, outcome in pairs
            if isinstance(outcome, ItemError) and question.pk not in predicted
        ],
        ignore_conflicts=True,
    )
    PredictionRun.objects.filter(pk=run.pk).update(progressed_at=timezone.now())


def finish_run(*, run_id: int) -> bool:
    """Mark a running run as done when nothing is missing; return whether this call did it.

    Called after the slice is stored, not within: two workers that store the last two slices at once would
    each miss the other's rows. What a running run has it never loses, so the look needs no transaction.
    """
    run = PredictionRun.objects.get(pk=run_id)
    if run.status != Status.RUNNING or not is_complete(run):
        return False
    return _end(run_id, "finish", finished_at=timezone.now())


def fail_run(*, run_id: int, error: str) -> bool:
    """End a running run with a reason; ``start_run`` takes it up again. Return whether this call did it."""
    return _end(run_id, "fail", error=error)


def cancel_run(*, run_id: int, by: User | None = None) -> bool:
    """End a running run for now; ``start_run`` takes it up again. Return whether this call did it.

    What is stored stays, and so does a slice that is under way; slices that wait do nothing any more.
    """
    return _end(run_id, "cancel", by=by)


@transaction.atomic
def _end(run_id: int, act: str, *, by: User | None = None, **columns: Any) -> bool:
    status = states.next_status(states.RUN, act, Status.RUNNING)
    running = PredictionRun.objects.filter(pk=run_id, status=Status.RUNNING)
    claimed = running.update(status=status, **columns)
    if claimed:
        run = PredictionRun.objects.select_related("dataset", "system").get(pk=run_id)
        told = {key: value for key, value in columns.items() if key == "error"}
        kind = {"finish": "run_finished", "fail": "run_failed", "cancel": "run_cancelled"}[act]
        events.record(kind=kind, by=by, data=_named(run) | told)
    return bool(claimed)


def record_sweep(*, run: PredictionRun, slices: int) -> None:
    """Note that lost slices of a run were enqueued again."""
    events.record(kind="run_swept", data=_named(run) | {"run": run.pk, "slices": slices})


@dataclass(frozen=True)
class FileReport:
    """What the import of a predictions file did; all but ``run`` are counts.

    ``unknown``: ids of the file that the dataset lacks. ``without_prediction``: questions of the dataset
    that the file lacks. ``without_answer``, ``without_facts``: stored with an empty answer, no facts.
    ``stray_facts``: predicted facts that name no sentence of the question's articles, stored all the same.
    """

    run: PredictionRun
    added: int = 0
    unchanged: int = 0
    unknown: int = 0
    without_prediction: int = 0
    without_answer: int = 0
    without_facts: int = 0
    stray_facts: int = 0


@transaction.atomic
def import_predictions(
    *, file: PredictionsFile, dataset: Dataset, system: str, by: User | None = None
) -> FileReport:
    """Store the predictions of a file as a finished run, all or none; the same file again adds nothing.

    Raises BadFile when no id of the file is in the dataset, or an answer lies outside of the articles.
    """
    run, _ = PredictionRun.objects.get_or_create(
        dataset=dataset,
        system=System.objects.get_or_create(name=system)[0],
        revision=file.revision,
        defaults={
            "schema_version": SCHEMA_VERSION,
            "source": PredictionRun.Source.FILE,
            "status": Status.DONE,
            "finished_at": timezone.now(),
        },
    )
    report = FileReport(run=run)
    for batch in _question_batches(dataset):
        report = _import_batch(file, run, batch, report)
    found = report.added + report.unchanged
    if not found:
        raise BadFile(
            file.path, f"none of its {len(file.ids)} ids is a question of the dataset {dataset.name!r}"
        )
    if report.added:
        events.record(kind="predictions_imported", by=by, data=_named(run) | {"added": report.added})
    return replace(report, unknown=len(file.ids) - found)


def _question_batches(dataset: Dataset) -> Iterator[list[Question]]:
    stream = dataset.questions.only("pk", "external_id", "context").iterator(chunk_size=BATCH)
    while batch := list(islice(stream, BATCH)):
        yield batch


def _import_batch(
    file: PredictionsFile, run: PredictionRun, batch: list[Question], report: FileReport
) -> FileReport:
    stored = set(
        run.predictions.filter(question__in=[question.pk for question in batch]).values_list(
            "question_id", flat=True
        )
    )
    told = [question for question in batch if question.external_id in file.ids]
    made = {question: file.prediction(question.external_id, question.context) for question in told}
    new = [
        Prediction(run=run, question=question, **Prediction.columns(prediction))
        for question, prediction in made.items()
        if question.pk not in stored
    ]
    Prediction.objects.bulk_create(new)
    ids = {question.external_id for question in told}
    return replace(
        report,
        added=report.added + len(new),
        unchanged=report.unchanged + len(told) - len(new),
        without_prediction=report.without_prediction + len(batch) - len(told),
        without_answer=report.without_answer + len(ids - file.content.answer.keys()),
        without_facts=report.without_facts + len(ids - file.content.sp.keys()),
        stray_facts=report.stray_facts
        + sum(len(stray_facts(question.context, one.facts)) for question, one in made.items()),
    )


def _named(run: PredictionRun) -> dict[str, str | int]:
    return {"dataset": run.dataset.name, "system": run.system.name, "revision": run.revision}
