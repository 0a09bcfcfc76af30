"""Read runs: their progress, their missing questions, the latest ones."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet, TextField
from django.db.models.functions import Cast, Length

from accounts.models import Workspace
from predictions.models import Dataset, Prediction, PredictionFailure, PredictionRun, Question, System

CHARACTERS_PER_TOKEN = 4  # of English, about; the brackets and quotes of the stored context count too


@dataclass(frozen=True)
class RunProgress:
    """Counts of questions: in the dataset, with a prediction, and failed."""

    questions: int
    predictions: int
    failures: int

    @property
    def done(self) -> int:
        """Return the number of questions with a prediction or a failure."""
        return self.predictions + self.failures


def count_progress(run: PredictionRun) -> RunProgress:
    """Count the questions and predictions of a run."""
    return RunProgress(
        questions=Question.objects.filter(dataset=run.dataset_id).count(),
        predictions=run.predictions.count(),
        failures=run.failures.count(),
    )


def list_missing_questions(run: PredictionRun) -> QuerySet[Question]:
    """Return the questions that have neither prediction nor failure."""
    predicted = Prediction.objects.filter(run=run, question=OuterRef("pk"))
    failed = PredictionFailure.objects.filter(run=run, question=OuterRef("pk"))
    return Question.objects.filter(~Exists(predicted), ~Exists(failed), dataset=run.dataset_id)


def estimate_missing_sizes(run: PredictionRun) -> Iterator[tuple[int, int]]:
    """Return the key and the estimated tokens of each missing question.

    The estimate is a fourth of the characters of the question and its stored context. The database counts
    them, so that no context leaves it.
    """
    characters = Length("text") + Length(Cast("context", TextField()))
    rows = list_missing_questions(run).order_by("pk").values_list("pk", characters).iterator()
    return ((key, count // CHARACTERS_PER_TOKEN) for key, count in rows)


def list_running_runs(dataset: Dataset, system_name: str) -> QuerySet[PredictionRun]:
    """Return a system's running runs on a dataset, one for each revision."""
    running = PredictionRun.objects.filter(status=PredictionRun.Status.RUNNING, dataset=dataset)
    return running.filter(system__name=system_name).select_related("dataset", "system").order_by("pk")


def find_latest_run(dataset: Dataset, system_name: str) -> PredictionRun | None:
    """Return a system's latest finished run on a dataset, or None."""
    return _list_finished_runs(dataset).filter(system__name=system_name).last()


def list_latest_runs(dataset: Dataset) -> list[PredictionRun]:
    """Return each system's latest finished run on a dataset, by name."""
    by_system = {run.system.name: run for run in _list_finished_runs(dataset)}
    return [by_system[name] for name in sorted(by_system)]


def add_other_runs(runs: Collection[PredictionRun], dataset: Dataset) -> list[PredictionRun]:
    """Return runs, then the latest runs of other systems on a dataset."""
    names = {run.system.name for run in runs}
    return [*runs, *(run for run in list_latest_runs(dataset) if run.system.name not in names)]


def map_answers(runs: Iterable[PredictionRun]) -> dict[str, dict[str, str]]:
    """Return the answers of runs by system and ID of the question."""
    return {
        run.system.name: dict(run.predictions.values_list("question__external_id", "answer")) for run in runs
    }


def list_systems(workspace: Workspace) -> QuerySet[System]:
    """Return the systems that have a run on a dataset of a workspace, by name."""
    runs = PredictionRun.objects.filter(dataset__workspace=workspace)
    return System.objects.filter(pk__in=runs.values("system")).order_by("name")


def list_finished_runs(workspaces: Iterable[Workspace]) -> QuerySet[PredictionRun]:
    """Return finished runs by dataset and system, the latest first."""
    done = PredictionRun.objects.filter(
        status=PredictionRun.Status.DONE, dataset__workspace__in=list(workspaces)
    )
    runs = done.select_related("system", "dataset")
    return runs.order_by("dataset__name", "system__name", "-created_at", "-pk")


def _list_finished_runs(dataset: Dataset) -> QuerySet[PredictionRun]:
    runs = PredictionRun.objects.filter(dataset=dataset, status=PredictionRun.Status.DONE)
    return runs.select_related("system", "dataset").order_by("created_at", "pk")
