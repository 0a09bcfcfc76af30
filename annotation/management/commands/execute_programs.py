"""Have a modular network of the model server execute the programs of a project's items."""

import argparse
import sys
from typing import Any

from annotation.actions.runs import start_run
from annotation.models import OutputRun
from annotation.queries.bots import project_named
from annotation.queries.runs import progress
from annotation.tasks import SLICE, enqueue_missing, execute_slice
from foundation.errors import RunFailed
from jobs.base_command import JobCommand, count, slug, system_name
from jobs.progress import Job, wait, wait_for_system
from jobs.progress_bar import Bar

Status = OutputRun.Status


class Command(JobCommand):
    help = (
        "Have workers send a project's items to a modular network of the model server, and store what each "
        "module put out; what is there already is not done again."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=slug, help="the project")
        parser.add_argument("--system", required=True, type=system_name, help="a system of the model server")
        parser.add_argument("--wait", action="store_true", help="stay until all is done, with a progress bar")
        parser.add_argument(
            "--slice", type=count, default=SLICE, metavar="N", help="items per task (default: %(default)s)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        with Bar(f"{options['system']} on {project.slug}", project.items.count()) as bar:
            try:
                served = wait_for_system(options["system"], bar, kind="modular", patient=options["wait"])
                run = start_run(project=project, system=served.name, revision=served.revision)
                enqueued = enqueue_missing(run, size=options["slice"])
                if options["wait"]:
                    wait(_job(run, options["slice"]), bar)
            except KeyboardInterrupt:
                bar.say(
                    "Stopped waiting. What is enqueued goes on; run execute_programs again to take it up."
                )
                sys.exit(130)
        if enqueued and not options["wait"]:
            self.stdout.write(f"{run}: {enqueued} slices enqueued")
        else:
            self._tell(run)

    def _tell(self, run: OutputRun) -> None:
        counts = progress(run)
        self.stdout.write(f"{run}: outputs for {counts.outputs} of {counts.items} items")
        first = run.failures.select_related("item").first()
        if first is not None:
            self.stderr.write(
                f"warning: {counts.failures} items failed; the first, {first.item.external_id}: "
                f"{first.message}. Run execute_programs again to try them once more."
            )
            if not counts.outputs:
                raise RunFailed(f"{run}: every item failed")


def _job(run: OutputRun, size: int) -> Job:
    def finished(done: int) -> bool:
        run.refresh_from_db(fields=["status", "error"])
        if run.status == Status.FAILED:
            raise RunFailed(f"{run}: {run.error}")
        if run.status == Status.CANCELLED:
            raise RunFailed(f"{run}: cancelled")
        return run.status == Status.DONE

    return Job(
        run_id=run.pk,
        task=execute_slice,
        done=lambda: progress(run).done,
        finished=finished,
        enqueue=lambda: enqueue_missing(run, size=size),
    )
