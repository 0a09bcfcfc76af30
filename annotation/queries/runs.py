"""Reading runs of systems over a project: what they hold, what they lack, which stand still."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Item, OutputFailure, OutputRun, Project, SystemOutput

Slice = tuple[int, int]

SHOWN = 20  # failures of a run on its page


@dataclass(frozen=True)
class Progress:
    """Counts of items: of the project, with an output, and given up."""

    items: int
    outputs: int
    failures: int

    @property
    def done(self) -> int:
        return self.outputs + self.failures


def progress(run: OutputRun) -> Progress:
    """Count what a run holds."""
    outputs = SystemOutput.objects.filter(
        item__project=run.project_id, system=run.system, revision=run.revision
    )
    return Progress(
        items=Item.objects.filter(project=run.project_id).count(),
        outputs=outputs.count(),
        failures=run.failures.count(),
    )


def missing(run: OutputRun) -> QuerySet[Item]:
    """The items of a run's project with neither an output of its system nor a failure."""
    there = SystemOutput.objects.filter(item=OuterRef("pk"), system=run.system, revision=run.revision)
    failed = OutputFailure.objects.filter(run=run, item=OuterRef("pk"))
    return Item.objects.filter(~Exists(there), ~Exists(failed), project=run.project_id)


def is_complete(run: OutputRun) -> bool:
    """Whether a run lacks nothing. Looks from the last item on, where what is missing is found first."""
    return missing(run).order_by("-pk").values_list("pk").first() is None


def slices(keys: Iterable[int], size: int) -> list[Slice]:
    """Cut ascending keys into ranges of ``size`` keys: (first, last), ends included."""
    parts: list[Slice] = []
    count = 0
    for key in keys:
        if parts and count < size:
            parts[-1] = (parts[-1][0], key)
            count += 1
        else:
            parts.append((key, key))
            count = 1
    return parts


def stalled_runs(before: datetime) -> QuerySet[OutputRun]:
    """Running runs that have not come forward since a time, nor been started."""
    running = OutputRun.objects.filter(status=OutputRun.Status.RUNNING, progressed_at__lt=before)
    return running.select_related("project")


def runs_with_progress(project: Project) -> list[tuple[OutputRun, Progress, list[OutputFailure]]]:
    """The runs of a project, the newest first, each with what it holds and its first failures."""
    return [
        (run, progress(run), list(run.failures.select_related("item")[:SHOWN]))
        for run in project.output_runs.order_by("-pk")
    ]
