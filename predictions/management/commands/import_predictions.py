"""Bring predictions in that were made elsewhere."""

import argparse
from pathlib import Path
from typing import Any

from jobs.base_command import JobCommand, system_name
from predictions.actions.predictions import FileReport, import_predictions
from predictions.formats.predictions import read_predictions
from predictions.management.dataset_option import add_dataset, dataset_of


class Command(JobCommand):
    help = "Bring in a system's predictions from a file in the official HotpotQA form."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="the file, JSON in UTF-8")
        add_dataset(parser, "the questions that are answered")
        parser.add_argument("--system", required=True, type=system_name, help="the system that answered them")

    def handle(self, *args: Any, **options: Any) -> None:
        dataset, by = dataset_of(options)
        file = read_predictions(options["path"])
        run, report = import_predictions(file=file, dataset=dataset, system=options["system"], by=by)
        self.stdout.write(f"{run}: {report.added} predictions added, {report.unchanged} were there already")
        for number, what in _remarks(report):
            if number:
                self.stderr.write(f"warning: {number} {what}")


def _remarks(report: FileReport) -> list[tuple[int, str]]:
    return [
        (report.without_prediction, "questions of the dataset have no prediction in the file"),
        (report.unknown, "ids of the file are no questions of the dataset"),
        (report.without_answer, "predictions have no answer and are stored with an empty one"),
        (report.without_facts, "predictions have no fact list and are stored without facts"),
        (
            report.stray_facts,
            "predicted facts name no sentence of their question's articles; kept as wrong facts",
        ),
    ]
