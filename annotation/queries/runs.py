"""Read runs of systems over a project: their outputs and missing items."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Item, OutputFailure, OutputRun, Project, SystemOutput

SHOWN = 5  # items of each reason on the page of a run
MOST_FAILURES = 5_000  # that are grouped by reason while a page opens
_NAME_OR_NUMBER = re.compile(r"'[^']*'|\d+")


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

    @property
    def is_complete(self) -> bool:
        """Return True if every item has an output: nothing is to resume."""
        return self.outputs >= self.items

    @property
    def grouped(self) -> int:
        """The number of failures that `reasons` groups."""
        return min(self.failures, MOST_FAILURES)


def count_progress(run: OutputRun) -> Progress:
    """Count the items and outputs of a run."""
    outputs = SystemOutput.objects.filter(
        item__project=run.project_id, system=run.system, revision=run.revision
    )
    return Progress(
        items=Item.objects.filter(project=run.project_id).count(),
        outputs=outputs.count(),
        failures=run.failures.count(),
    )


def list_missing_items(run: OutputRun) -> QuerySet[Item]:
    """Return the items of a run that have neither output nor failure."""
    computed = SystemOutput.objects.filter(item=OuterRef("pk"), system=run.system, revision=run.revision)
    failed = OutputFailure.objects.filter(run=run, item=OuterRef("pk"))
    return Item.objects.filter(~Exists(computed), ~Exists(failed), project=run.project_id)


class Reason(NamedTuple):
    """A reason of failures of a run: message, number and first items."""

    message: str
    number: int
    items: list[str]


def list_runs_with_progress(project: Project) -> list[tuple[OutputRun, Progress, list[Reason]]]:
    """Return a project's runs, newest first, with progress and failures."""
    return [
        (run, count_progress(run), list_failure_reasons(run)) for run in project.output_runs.order_by("-pk")
    ]


def list_failure_reasons(run: OutputRun) -> list[Reason]:
    """Return the failures of a run by reason, the most frequent first.

    Messages that differ in names and numbers alone count as one reason. Of a run with more failures, the
    first MOST_FAILURES count.
    """
    rows = run.failures.order_by("item_id").values_list("message", "item__external_id")[:MOST_FAILURES]
    groups: dict[str, tuple[str, list[str]]] = {}
    for message, item in rows.iterator():
        key = _NAME_OR_NUMBER.sub("…", message.replace(item, "…"))
        groups.setdefault(key, (message, []))[1].append(item)
    grouped = [Reason(message, len(items), items[:SHOWN]) for message, items in groups.values()]
    return sorted(grouped, key=lambda reason: -reason.number)
