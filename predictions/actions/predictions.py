"""Actions on prediction runs, and predictions imported from files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from foundation.errors import BadFile
from jobs.model_gateway import predict_items
from jobs.sliced_runs import RunKind
from modelserver.wire.schema import SCHEMA_VERSION, ItemError, QAPrediction
from predictions.actions import events
from predictions.formats.predictions import PredictionsFile
from predictions.formats.records import stray_facts
from predictions.models import Dataset, Prediction, PredictionFailure, PredictionRun, Question, System
from predictions.queries.predictions import missing

BATCH = 500


@transaction.atomic
def start_run(*, dataset: Dataset, system: str, revision: str, by: User | None = None) -> PredictionRun:
    """Return the started or resumed run of this revision; see `RunKind.start`."""
    run, _ = PredictionRun.objects.get_or_create(
        dataset=dataset,
        system=System.objects.get_or_create(name=system)[0],
        revision=revision,
        defaults={"schema_version": SCHEMA_VERSION, "source": PredictionRun.Source.SERVER},
    )
    return RUNS.start(run, by=by)


def _answer(run: PredictionRun, questions: list[Question]) -> None:
    items = [question.wire() for question in questions]
    _store(run, questions, predict_items(system=run.system.name, revision=run.revision, items=items))


@transaction.atomic
def _store(
    run: PredictionRun, questions: Sequence[Question], outcomes: Sequence[QAPrediction | ItemError]
) -> None:
    """Store a slice. Of two workers' results, a prediction wins.

    The run is locked first, so that neither worker misses what the other stores.
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
    RUNS.note_progress(run)


_EVENT_KINDS = {
    "start": "run_started",
    "finish": "run_finished",
    "fail": "run_failed",
    "cancel": "run_cancelled",
    "sweep": "run_swept",
}


def _log(act: str, run: PredictionRun, by: User | None, details: dict[str, Any]) -> None:
    events.record(kind=_EVENT_KINDS[act], by=by, data=_named(run) | details)


RUNS = RunKind(model=PredictionRun, missing=missing, answer=_answer, log=_log)
compute_slice, finish_run = RUNS.compute_slice, RUNS.finish_run
fail_run, cancel_run = RUNS.fail_run, RUNS.cancel_run


@dataclass(frozen=True)
class FileReport:
    """Counts of an import of a predictions file.

    Attributes:
        run: The run that holds the predictions.
        added: Predictions stored now.
        unchanged: Predictions stored before.
        unknown: Ids in the file that the dataset lacks.
        without_prediction: Questions of the dataset that the file lacks.
        without_answer: Predictions stored with an empty answer.
        without_facts: Predictions stored without facts.
        stray_facts: Predicted facts that name no sentence of the question's articles; they are stored too.
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
    """Store the predictions of a file as a finished run, all or none.

    Importing the same file again adds nothing.

    Raises:
        BadFile: No id of the file is in the dataset, or an answer lies outside of the articles.
    """
    run, _ = PredictionRun.objects.get_or_create(
        dataset=dataset,
        system=System.objects.get_or_create(name=system)[0],
        revision=file.revision,
        defaults={
            "schema_version": SCHEMA_VERSION,
            "source": PredictionRun.Source.FILE,
            "status": PredictionRun.Status.DONE,
            "finished_at": timezone.now(),
        },
    )
    report = FileReport(run=run)
    for batch in _question_batches(dataset):
        report = _import_batch(file, run, batch, report)
    matched = report.added + report.unchanged
    if not matched:
        raise BadFile(
            file.path, f"none of its {len(file.ids)} ids is a question of the dataset {dataset.name!r}"
        )
    if report.added:
        events.record(kind="predictions_imported", by=by, data=_named(run) | {"added": report.added})
    return replace(report, unknown=len(file.ids) - matched)


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
    listed = [question for question in batch if question.external_id in file.ids]
    read = {question: file.prediction(question.external_id, question.context) for question in listed}
    new = [
        Prediction(run=run, question=question, **Prediction.columns(prediction))
        for question, prediction in read.items()
        if question.pk not in stored
    ]
    Prediction.objects.bulk_create(new)
    ids = {question.external_id for question in listed}
    return replace(
        report,
        added=report.added + len(new),
        unchanged=report.unchanged + len(listed) - len(new),
        without_prediction=report.without_prediction + len(batch) - len(listed),
        without_answer=report.without_answer + len(ids - file.content.answer.keys()),
        without_facts=report.without_facts + len(ids - file.content.sp.keys()),
        stray_facts=report.stray_facts
        + sum(len(stray_facts(question.context, one.facts)) for question, one in read.items()),
    )


def _named(run: PredictionRun) -> dict[str, str | int]:
    return {"dataset": run.dataset.name, "system": run.system.name, "revision": run.revision}
