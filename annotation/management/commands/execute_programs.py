"""Execute the programs of a project's items on the model server."""

import argparse
import sys
from functools import partial
from typing import Any

from accounts.models import User
from accounts.policy_table import Act
from annotation.actions.runs import start_backend_run, start_run
from annotation.models import OutputRun, Project
from annotation.parsed_items import parse_task
from annotation.queries.bots import find_project
from annotation.queries.runs import count_progress
from annotation.suggestions import choose_default_fit
from annotation.tasks import SLICE, enqueue_missing, execute_slice
from foundation.errors import RunFailed
from jobs.commands.base import JobCommand, check_right, parse_count, parse_slug, parse_system_name
from jobs.progress import run_job, wait, wait_for_system
from jobs.progress_bar import Bar
from modelserver.wire.schema import SystemKind


class Command(JobCommand):
    help = (
        "Have workers send a project's items to a modular network of the model server and store the output "
        "of each module. Stored outputs are not computed again."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=parse_slug, help="the project")
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--system", type=parse_system_name, help="a system of the model server")
        which.add_argument(
            "--ml-backend", action="store_true", help="the Label Studio ML backend of the project"
        )
        parser.add_argument(
            "--reader", action="store_true", help="ask a reader or language model for suggestions instead"
        )
        parser.add_argument("--wait", action="store_true", help="wait until all is done, with a progress bar")
        parser.add_argument(
            "--slice",
            type=parse_count,
            default=SLICE,
            metavar="N",
            help="items per task (default: %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = find_project(options["project"])
        by = check_right(options, Act.ANNOTATION_MANAGE, project)
        name = options["system"] or "ML backend"
        with Bar(f"{name} on {project.slug}", project.items.count()) as bar:
            try:
                run = self._start(project, options, bar, by)
                enqueue = partial(enqueue_missing, run, size=options["slice"])
                enqueued = enqueue()
                if options["wait"]:
                    job = run_job(
                        run, execute_slice, count_done=lambda: count_progress(run).done, enqueue=enqueue
                    )
                    wait(job, bar)
            except KeyboardInterrupt:
                bar.write(
                    "Stopped waiting. Enqueued work continues; run execute_programs again to wait for it."
                )
                sys.exit(130)
        if enqueued and not options["wait"]:
            self.stdout.write(f"{run}: {enqueued} slices enqueued")
        else:
            self._write_result(run)

    def _start(self, project: Project, options: dict[str, Any], bar: Bar, by: User | None) -> OutputRun:
        if options["ml_backend"]:
            return start_backend_run(project=project, by=by)
        kind: SystemKind = "reader" if options["reader"] else "modular"
        fit = choose_default_fit(parse_task(project)) if options["reader"] else None
        served = wait_for_system(options["system"], bar, kind=kind, patient=options["wait"])
        return start_run(project=project, system=served.name, revision=served.revision, fit=fit, by=by)

    def _write_result(self, run: OutputRun) -> None:
        counts = count_progress(run)
        self.stdout.write(f"{run}: outputs for {counts.outputs} of {counts.items} items")
        first = run.failures.select_related("item").first()
        if first is not None:
            self.stderr.write(
                f"warning: {counts.failures} items failed; the first, {first.item.external_id}: "
                f"{first.message}. Run execute_programs again to retry them."
            )
            if not counts.outputs:
                raise RunFailed(f"{run}: every item failed")
