"""Read runs of systems over a project: their outputs and missing items."""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Item, OutputFailure, OutputRun, Project, SystemOutput

SHOWN = 20  # failures of a run on its page


@dataclass(frozen=True)
class Progress:
    """Counts of items: in the project, with an output, and failed."""

    items: int
    outputs: int
    failures: int

    @property
    def done(self) -> int:
        """Return the number of items with an output or a failure."""
        return self.outputs + self.failures


def progress(run: OutputRun) -> Progress:
    """Count the items and outputs of a run."""
    outputs = SystemOutput.objects.filter(
        item__project=run.project_id, system=run.system, revision=run.revision
    )
    return Progress(
        items=Item.objects.filter(project=run.project_id).count(),
        outputs=outputs.count(),
        failures=run.failures.count(),
    )


def missing(run: OutputRun) -> QuerySet[Item]:
    """Return the items of a run that have neither output nor failure."""
    computed = SystemOutput.objects.filter(item=OuterRef("pk"), system=run.system, revision=run.revision)
    failed = OutputFailure.objects.filter(run=run, item=OuterRef("pk"))
    return Item.objects.filter(~Exists(computed), ~Exists(failed), project=run.project_id)


def runs_with_progress(project: Project) -> list[tuple[OutputRun, Progress, list[OutputFailure]]]:
    """Return a project's runs, newest first, with progress and first failures."""
    return [
        (run, progress(run), list(run.failures.select_related("item")[:SHOWN]))
        for run in project.output_runs.order_by("-pk")
    ]
