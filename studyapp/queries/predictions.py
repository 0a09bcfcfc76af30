"""Reading prediction runs: what they hold, what they lack, and which one counts."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from studyapp.models import Dataset, Prediction, PredictionFailure, PredictionRun, Question

Slice = tuple[int, int]


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


def slices(keys: Iterable[int], size: int) -> list[Slice]:
    """Cut ascending primary keys into ranges (first, last), ends included, of at most ``size`` keys each."""
    ordered = list(keys)
    parts = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return [(part[0], part[-1]) for part in parts]


def latest_run(dataset: Dataset, system_name: str) -> PredictionRun | None:
    """The finished run of a system on a dataset that was begun last; None where there is none."""
    return _finished(dataset).filter(system__name=system_name).last()


def latest_runs(dataset: Dataset) -> list[PredictionRun]:
    """The latest finished run of every system that has one on the dataset, by name of the system."""
    by_system = {run.system.name: run for run in _finished(dataset)}
    return [by_system[name] for name in sorted(by_system)]


def _finished(dataset: Dataset) -> QuerySet[PredictionRun]:
    runs = PredictionRun.objects.filter(dataset=dataset, status=PredictionRun.Status.DONE)
    return runs.select_related("system", "dataset").order_by("created_at", "pk")
