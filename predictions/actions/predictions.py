"""Actions on prediction runs, and predictions imported from files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from foundation.batches import cut_batches
from foundation.errors import BadFile, Conflict
from foundation.imports.findings import Findings
from jobs.actions.sliced_runs import RunKind
from jobs.model_servers.gateway import predict_items
from modelserver.wire.schema import (
    SCHEMA_VERSION,
    ItemError,
    LanguageModel,
    ProgramKind,
    QAPrediction,
    SystemInfo,
    SystemKind,
)
from predictions.actions import events
from predictions.actions.executions import Outcome, execute_questions
from predictions.formats.predictions import PredictionsFile
from predictions.formats.records import find_stray_facts
from predictions.models import Dataset, Prediction, PredictionFailure, PredictionRun, Question, System
from predictions.queries.predictions import list_missing_questions

# The kind of system that does each kind of run.
SYSTEM_KINDS: dict[str, SystemKind] = {
    PredictionRun.Kind.PREDICT: "reader",
    PredictionRun.Kind.EXECUTE: "modular",
}
BATCH = 500
FIRST_ROWS = 10  # of a preview


@transaction.atomic
def start_run(
    *,
    dataset: Dataset,
    system: str,
    revision: str,
    kind: PredictionRun.Kind = PredictionRun.Kind.PREDICT,
    language_model: LanguageModel | None = None,
    programs: ProgramKind | None = None,
    spans_only: bool = False,
    by: User | None = None,
) -> PredictionRun:
    """Return the started or resumed run of this revision; see `RunKind.start`.

    ``language_model`` is what the server says of the system, so that the run tells later where texts went;
    ``programs`` is the kind of programs that it executes, and ``spans_only`` says that it chooses no labels.

    Raises:
        Conflict: The system does not fit the questions; see `require_programs` and
            `require_free_answers`.
    """
    if kind == PredictionRun.Kind.EXECUTE:
        require_programs(dataset, programs)
    elif spans_only:
        require_free_answers(dataset)
    run, _ = PredictionRun.objects.get_or_create(
        dataset=dataset,
        system=System.objects.get_or_create(name=system)[0],
        revision=revision,
        defaults={"schema_version": SCHEMA_VERSION, "source": PredictionRun.Source.SERVER, "kind": kind},
    )
    if language_model is not None:
        run.language_model = language_model.model_dump(mode="json")
        run.save(update_fields=["language_model"])
    return RUNS.start(run, by=by)


def start_served_run(
    *,
    dataset: Dataset,
    served: SystemInfo,
    kind: PredictionRun.Kind = PredictionRun.Kind.PREDICT,
    by: User | None,
) -> PredictionRun:
    """Start or resume the run of a system as it is served; see `start_run`."""
    return start_run(
        dataset=dataset,
        system=served.name,
        revision=served.revision,
        kind=kind,
        language_model=served.language_model,
        programs=served.programs,
        spans_only=served.spans_only,
        by=by,
    )


def require_programs(dataset: Dataset, programs: ProgramKind | None) -> None:
    """Check that programs of a kind (None: either) fit a dataset.

    Raises:
        Conflict: Its questions have neither images nor a single article, or not what such programs look at,
            so that every question would fail.
    """
    if not dataset.can_take_programs():
        raise Conflict(
            gettext(
                "Programs are executed on images or on one article, and the questions of this dataset have "
                "neither."
            )
        )
    first = dataset.questions.only("images").first()
    if first is None:
        return
    if programs == "boxes" and not first.images:
        raise Conflict(
            gettext("This system executes programs over images, and the questions of this dataset have none.")
        )
    if programs == "spans" and first.images:
        raise Conflict(
            gettext("This system executes programs over passages, and this dataset asks about images.")
        )


def require_free_answers(dataset: Dataset) -> None:
    """Check that a dataset asks for no labels.

    Raises:
        Conflict: It does, so that every question would fail.
    """
    first = dataset.questions.only("labels").first()
    if first is not None and first.labels:
        raise Conflict(
            gettext(
                "The answers of this dataset are labels (%(labels)s), and this system answers only with "
                "words of the articles, yes or no. Choose a language model, or a system of your own."
            )
            % {"labels": ", ".join(first.labels[:5])}
        )


def _answer_questions(run: PredictionRun, questions: list[Question]) -> None:
    outcomes: Sequence[Outcome]
    if run.kind == PredictionRun.Kind.EXECUTE:
        outcomes = execute_questions(system=run.system.name, revision=run.revision, questions=questions)
    else:
        items = [question.wire() for question in questions]
        answers = predict_items(system=run.system.name, revision=run.revision, items=items)
        outcomes = [
            answer if isinstance(answer, ItemError) else Prediction.columns(answer) for answer in answers
        ]
    _store(run, questions, outcomes)


@transaction.atomic
def _store(run: PredictionRun, questions: Sequence[Question], outcomes: Sequence[Outcome]) -> None:
    """Store a slice. Of two workers' results, a prediction wins.

    The run is locked first, so that neither worker misses what the other stores.
    """
    PredictionRun.objects.select_for_update(no_key=True).only("pk").get(pk=run.pk)
    pairs = list(zip(questions, outcomes, strict=True))
    Prediction.objects.bulk_create(
        [
            Prediction(run=run, question=question, **outcome)
            for question, outcome in pairs
            if not isinstance(outcome, ItemError)
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
    "pause": "run_paused",
    "cancel": "run_cancelled",
    "sweep": "run_swept",
}


def _log_act(act: str, run: PredictionRun, by: User | None, details: dict[str, Any]) -> None:
    events.record(kind=_EVENT_KINDS[act], by=by, data=events.describe_run(run) | details)


RUNS = RunKind(model=PredictionRun, missing=list_missing_questions, answer=_answer_questions, log=_log_act)
compute_slice, finish_run = RUNS.compute_slice, RUNS.finish_run
fail_run, cancel_run = RUNS.fail_run, RUNS.cancel_run


@dataclass
class FileReport:
    """Counts of an import of a predictions file, or of its preview.

    Attributes:
        added: Predictions stored now.
        unchanged: Predictions stored before.
        first: The first rows, for people.
    """

    added: int = 0
    unchanged: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)


@transaction.atomic
def import_predictions(
    *,
    file: PredictionsFile,
    dataset: Dataset,
    system: str,
    findings: Findings | None = None,
    by: User | None = None,
    dry_run: bool = False,
) -> tuple[PredictionRun | None, FileReport]:
    """Store the predictions of a file as a finished run, all or none.

    Importing the same file again adds nothing. A dry run stores nothing and has no new run.

    Raises:
        BadFile, Refused: No id of the file is in the dataset, or an answer lies outside of the articles.
    """
    findings = findings or Findings()
    key = {"dataset": dataset, "revision": file.revision}
    run = PredictionRun.objects.filter(**key, system__name=system).first()
    if run is None and not dry_run:
        run, _ = PredictionRun.objects.get_or_create(
            **key,
            system=System.objects.get_or_create(name=system)[0],
            defaults={
                "schema_version": SCHEMA_VERSION,
                "source": PredictionRun.Source.FILE,
                "status": PredictionRun.Status.DONE,
                "finished_at": timezone.now(),
            },
        )
    report = FileReport()
    for batch in _read_question_batches(dataset):
        read = _read_batch(file, batch, findings)
        stored = set() if run is None else _find_predicted_keys(run, batch)
        new = [(question, prediction) for question, prediction in read if question.pk not in stored]
        if not dry_run and not findings.refused_count:
            Prediction.objects.bulk_create(
                [
                    Prediction(run=run, question=question, **Prediction.columns(prediction))
                    for question, prediction in new
                ]
            )
        _note_repairs(findings, file, batch, read)
        report.added, report.unchanged = report.added + len(new), report.unchanged + len(read) - len(new)
        report.first += [
            {
                "external_id": question.external_id,
                "text": question.text,
                "answer": prediction.answer,
                "facts": prediction.facts,
            }
            for question, prediction in read[: FIRST_ROWS - len(report.first)]
        ]
    _check_ids(report, file, dataset, findings)
    if run is not None and not dry_run:
        findings.check()
        if report.added:
            events.record(
                kind="predictions_imported", by=by, data=events.describe_run(run) | {"added": report.added}
            )
    return run, report


Read = list[tuple[Question, QAPrediction]]


def _read_question_batches(dataset: Dataset) -> Iterator[list[Question]]:
    rows = dataset.questions.only("pk", "external_id", "text", "context", "labels")
    return cut_batches(rows.iterator(chunk_size=BATCH), BATCH)


def _read_batch(file: PredictionsFile, batch: Sequence[Question], findings: Findings) -> Read:
    """Return the predictions for questions that the file has."""
    read: Read = []
    for question in batch:
        if question.external_id in file.ids:
            try:
                read.append(
                    (question, file.prediction(question.external_id, question.context, question.text))
                )
            except BadFile as error:
                findings.refuse(error, file.path)
    return read


def _find_predicted_keys(run: PredictionRun, batch: Sequence[Question]) -> set[int]:
    keys = [question.pk for question in batch]
    return set(run.predictions.filter(question__in=keys).values_list("question_id", flat=True))


def _note_repairs(findings: Findings, file: PredictionsFile, batch: Sequence[Question], read: Read) -> None:
    """Add the repairs of a batch, with examples."""
    for question in batch:
        if question.external_id not in file.ids:
            findings.note_repair("without_prediction", question.external_id)
    for question, prediction in read:
        if question.external_id not in file.content.answer:
            findings.note_repair("without_answer", question.external_id)
        if question.external_id not in file.content.sp:
            findings.note_repair("without_fact_list", question.external_id)
        wellformed = [fact for fact in prediction.facts if fact not in file.malformed]
        if stray := find_stray_facts(question.context, wellformed):
            findings.note_repair("stray_predicted_facts", f"{question.external_id}: {stray[0]}", len(stray))


def _check_ids(report: FileReport, file: PredictionsFile, dataset: Dataset, findings: Findings) -> None:
    """Count ids of the file that are no questions; refuse if all are.

    Raises:
        BadFile: As `Findings.refuse`.
    """
    matched = report.added + report.unchanged + findings.refused_count
    unknown = max(0, len(file.ids) - matched)
    if unknown and matched:
        findings.note_repair("unknown_ids", _find_unknown_id(file, dataset), unknown)
    elif not matched:
        reason = f"none of its {len(file.ids)} ids is a question of the dataset {dataset.name!r}"
        findings.refuse(
            BadFile(file.path, f"{reason}; choose the dataset of these predictions", line=1), file.path
        )


def _find_unknown_id(file: PredictionsFile, dataset: Dataset) -> str:
    return min(file.ids - set(dataset.questions.values_list("external_id", flat=True)), default="")
