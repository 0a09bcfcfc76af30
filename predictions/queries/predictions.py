"""Reading prediction runs: what they hold, what they lack, and which one counts."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet, TextField
from django.db.models.functions import Cast, Length

from predictions.models import Dataset, Prediction, PredictionFailure, PredictionRun, Question

CHARACTERS_PER_TOKEN = 4  # of English, about; the brackets and quotes of the stored context count too


@dataclass(frozen=True)
class RunProgress:
    """Counts of questions: of the dataset, with a prediction, and given up."""

    questions: int
    predictions: int
    failures: int

    @property
    def done(self) -> int:
        return self.predictions + self.failures


def progress(run: PredictionRun) -> RunProgress:
    """Count what a run holds."""
    return RunProgress(
        questions=Question.objects.filter(dataset=run.dataset_id).count(),
        predictions=run.predictions.count(),
        failures=run.failures.count(),
    )


def missing(run: PredictionRun) -> QuerySet[Question]:
    """The questions of a run's dataset with neither a prediction nor a failure: its pending work."""
    predicted = Prediction.objects.filter(run=run, question=OuterRef("pk"))
    failed = PredictionFailure.objects.filter(run=run, question=OuterRef("pk"))
    return Question.objects.filter(~Exists(predicted), ~Exists(failed), dataset=run.dataset_id)


def missing_sizes(run: PredictionRun) -> Iterator[tuple[int, int]]:
    """Key and estimated tokens of each question that a run lacks, in the order of the keys.

    The estimate is the characters of the question and of its stored context over four, counted by the
    database: no context leaves it.
    """
    characters = Length("text") + Length(Cast("context", TextField()))
    rows = missing(run).order_by("pk").values_list("pk", characters).iterator()
    return ((key, count // CHARACTERS_PER_TOKEN) for key, count in rows)


def running_runs(dataset: Dataset, system_name: str) -> QuerySet[PredictionRun]:
    """The running runs of a system on a dataset, one for each revision."""
    running = PredictionRun.objects.filter(status=PredictionRun.Status.RUNNING, dataset=dataset)
    return running.filter(system__name=system_name).select_related("dataset", "system").order_by("pk")


def latest_run(dataset: Dataset, system_name: str) -> PredictionRun | None:
    """The finished run of a system on a dataset that was begun last; None where there is none."""
    return _finished(dataset).filter(system__name=system_name).last()


def latest_runs(dataset: Dataset) -> list[PredictionRun]:
    """The latest finished run of every system that has one on the dataset, by name of the system."""
    by_system = {run.system.name: run for run in _finished(dataset)}
    return [by_system[name] for name in sorted(by_system)]


def finished_runs() -> QuerySet[PredictionRun]:
    """All finished runs, by dataset and system, the latest first."""
    runs = PredictionRun.objects.filter(status=PredictionRun.Status.DONE).select_related("system", "dataset")
    return runs.order_by("dataset__name", "system__name", "-created_at", "-pk")


def _finished(dataset: Dataset) -> QuerySet[PredictionRun]:
    runs = PredictionRun.objects.filter(dataset=dataset, status=PredictionRun.Status.DONE)
    return runs.select_related("system", "dataset").order_by("created_at", "pk")
