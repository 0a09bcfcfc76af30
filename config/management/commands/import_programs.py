"""Import items, gold and model outputs of a project into a dataset."""

import argparse
from typing import Any

from django.db import transaction
from django.db.models import Max

from accounts.policy_table import Act
from annotation.errors import NotFound
from annotation.models import Project, SystemOutput
from annotation.queries.bots import find_project
from config.programs import build_executions, build_questions
from jobs.commands.base import JobCommand, check_right, parse_slug, parse_system_name
from predictions.actions.data import import_questions
from predictions.actions.programs import import_executions
from predictions.queries.data import find_dataset


class Command(JobCommand):
    help = (
        "Import the items of an annotation project as questions, and its model outputs as predictions, "
        "so that a study can show the steps of programs. A second run changes nothing."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=parse_slug, help="the annotation project")
        parser.add_argument(
            "--name", required=True, type=parse_slug, help="the dataset, created if it is new"
        )
        parser.add_argument(
            "--system",
            action="append",
            type=parse_system_name,
            metavar="NAME",
            help="the system, in its newest revision (default: all systems; may be repeated)",
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        project, name = find_project(options["project"]), options["name"]
        by = check_right(options, Act.DATA_MANAGE, project.workspace)
        check_right(options, Act.PROJECT_SEE, project)
        chosen = _select_revisions(project, options["system"])
        records, lacking = build_questions(project)
        if not records:
            raise NotFound(f"{project.slug!r} has no item with an answer and all of its images")
        report = import_questions(
            records=records, name=name, workspace=project.workspace, source_format="programs", by=by
        )
        self.stdout.write(f"{name}: {report.added} questions added, {report.unchanged} were there already")
        for ids, what in ((lacking.answer, "answer"), (lacking.images, "image")):
            if ids:
                self.stderr.write(f"warning: left out {len(ids)} items that lack an {what}; first {ids[0]}")
        dataset, ids = find_dataset(name, project.workspace), [record.external_id for record in records]
        for system, revision in chosen.items():
            outputs = build_executions(project, system, revision, ids)
            added = import_executions(records=outputs, dataset=dataset, system=system, revision=revision)
            counts = f"{len(outputs)} answers with their steps, {added} of them new"
            self.stdout.write(f"{system}@{revision}: {counts}")


def _select_revisions(project: Project, names: list[str] | None) -> dict[str, str]:
    """Return the newest revision by system.

    Raises:
        NotFound: A name has no outputs.
    """
    rows = SystemOutput.objects.filter(item__project=project).values_list("system", "revision")
    newest = dict(rows.annotate(newest=Max("pk")).order_by("newest").values_list("system", "revision"))
    for name in names or ():
        if name not in newest:
            others = (
                f"; it has those of {', '.join(sorted(newest))}" if newest else ", nor of any other system"
            )
            raise NotFound(f"{project.slug!r} has no outputs of {name!r}{others}")
    return {name: newest[name] for name in sorted(newest) if names is None or name in names}
