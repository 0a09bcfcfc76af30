"""Stop the work on a system's predictions for now."""

import argparse
from typing import Any

from foundation.errors import NotFound
from jobs.commands.base import JobCommand, parse_system_name
from predictions.actions.predictions import cancel_run
from predictions.management.dataset_option import add_dataset, read_dataset_option
from predictions.queries.predictions import count_progress, list_running_runs


class Command(JobCommand):
    help = (
        "Stop a run of predict: workers end with the slice they are at, and stored predictions remain. "
        "Call predict again to go on."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_dataset(parser, "the questions that are being answered")
        parser.add_argument(
            "--system", required=True, type=parse_system_name, help="the system that answers them"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        dataset, by = read_dataset_option(options)
        running = list_running_runs(dataset, options["system"])
        cancelled = [run for run in running if cancel_run(run_id=run.pk, by=by)]
        if not cancelled:
            raise NotFound(f"no run of {options['system']} on {dataset.name} is under way")
        for run in cancelled:
            counts = count_progress(run)
            self.stdout.write(
                f"{run}: cancelled with {counts.predictions} of {counts.questions} questions predicted"
            )
