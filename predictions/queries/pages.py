"""Reads of the pages of data and systems."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from accounts.models import User, Workspace
from analysis.scores import hotpotqa
from jobs.actions.jobs import OPEN
from jobs.models import Job
from jobs.run_states import RunState, run_state
from predictions.explanations.highlights import Highlights, build_highlights
from predictions.explanations.saliency import has_sign
from predictions.models import Dataset, Prediction, PredictionRun, Question
from predictions.queries.predictions import RunProgress, count_progress
from predictions.queries.rest import annotate_counts

SYSTEMS_AT_ONCE = 12  # on the page of a question

IMPORTS = ("import_dataset", "import_predictions")  # kinds of jobs


def list_datasets(workspaces: Sequence[Workspace]) -> QuerySet[Dataset]:
    """Return the datasets of workspaces, newest first, with counts of runs."""
    rows = Dataset.objects.filter(workspace__in=list(workspaces)).select_related("workspace")
    return rows.annotate(
        run_count=Count("runs", distinct=True),
        scored_count=Count("runs", filter=Q(runs__score__isnull=False), distinct=True),
    ).order_by("-pk")


def list_imports(user: User, workspaces: Sequence[Workspace]) -> list[Job]:
    """Return the imports of a user that run or wait to be applied."""
    jobs = Job.objects.filter(created_by=user, kind__in=IMPORTS, workspace__in=list(workspaces))
    recent = jobs.order_by("-pk")[:50]
    applied = {job.options.get("preview") for job in recent}
    return [
        job
        for job in recent
        if job.status in OPEN
        or (
            job.status == Job.Status.DONE
            and job.options.get("dry_run")
            and job.pk not in applied
            and job.upload
            and not (job.result or {}).get("refused_count")
        )
    ]


@dataclass(frozen=True)
class SystemAnswer:
    """The answer of a run to a question, held against the gold.

    Attributes:
        colour: The number, from 1, of the colour of the system on the page.
        pieces: Highlighted tokens.
        has_sign: True if their weights tell support from opposition.
    """

    prediction: Prediction
    colour: int
    exact: bool
    answer_f1: float
    facts: frozenset[tuple[str, int]]
    pieces: Highlights
    has_sign: bool


def list_system_answers(question: Question) -> list[SystemAnswer]:
    """Return the answers of systems to a question, by system and newest first."""
    rows = Prediction.objects.filter(question=question).select_related("run__system")
    rows = rows.order_by("run__system__name", "-run__created_at")[:SYSTEMS_AT_ONCE]
    answers = []
    for number, prediction in enumerate(rows):
        gold = question.supporting_facts or []
        scores = hotpotqa.score_question(question.answer, gold, prediction.answer, prediction.facts)
        answers.append(
            SystemAnswer(
                prediction=prediction,
                colour=number % 6 + 1,
                exact=bool(scores["em"]),
                answer_f1=scores["f1"],
                facts=frozenset((title, index) for title, index in prediction.facts),
                pieces=build_highlights(
                    map(tuple, prediction.explanation_weights or []),
                    map(tuple, prediction.question_weights or []),
                ),
                has_sign=has_sign(prediction.run.saliency_method),
            )
        )
    return answers


@dataclass(frozen=True)
class RunRow:
    """A run with its counts and the label of its state."""

    run: PredictionRun
    counts: RunProgress
    state: RunState


def run_row(run: PredictionRun) -> RunRow:
    """Return a run with its counts."""
    counts = count_progress(run)
    return _build_run_row(run, counts.questions, counts.predictions, counts.failures)


def list_runs(
    workspaces: Iterable[Workspace], *, dataset: Dataset | None = None, most: int = 20
) -> list[RunRow]:
    """Return the newest runs on datasets of workspaces."""
    rows = PredictionRun.objects.filter(dataset__workspace__in=list(workspaces))
    if dataset is not None:
        rows = rows.filter(dataset=dataset)
    rows = annotate_counts(rows.select_related("dataset", "system", "score")).order_by("-pk")[:most]
    return [_build_run_row(run, run.size, run.answered, run.failed) for run in rows]  # type: ignore[attr-defined]


def _build_run_row(run: PredictionRun, size: int, answered: int, failed: int) -> RunRow:
    return RunRow(run, RunProgress(size, answered, failed), run_state(run, failed))
