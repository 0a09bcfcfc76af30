"""Bring predictions in that were made elsewhere."""

import argparse
from pathlib import Path
from typing import Any

from foundation.imports.findings import Findings
from jobs.commands.base import JobCommand, add_json, parse_system_name
from predictions.actions.predictions import import_predictions
from predictions.formats.predictions import read_predictions
from predictions.import_repairs import label_of
from predictions.management.dataset_option import add_dataset, read_dataset_option


class Command(JobCommand):
    help = "Bring in a system's predictions from a file in the official HotpotQA form."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="the file, JSON in UTF-8")
        add_dataset(parser, "the questions that are answered")
        parser.add_argument(
            "--system", required=True, type=parse_system_name, help="the system that answered them"
        )
        parser.add_argument(
            "--strict",
            action="store_true",
            help="refuse a fact that is not [title, index], instead of warning",
        )
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        dataset, by = read_dataset_option(options)
        findings = Findings(collect=True)
        file = read_predictions(options["path"], findings, strict=options["strict"])
        run, report = import_predictions(
            file=file, dataset=dataset, system=options["system"], findings=findings, by=by
        )
        assert run is not None  # it is not a preview
        if options["json"]:
            row = {
                "id": str(run.pk),
                "dataset": dataset.name,
                "system": run.system.name,
                "revision": run.revision,
            }
            self.write_json({**row, "added": report.added, "unchanged": report.unchanged})
        else:
            self.stdout.write(
                f"{run}: {report.added} predictions added, {report.unchanged} were there already"
            )
        for repair in findings.repairs.values():
            self.stderr.write(f"warning: {repair.count} {label_of(repair.kind)}")
            if repair.kind == "malformed_facts":
                self.stderr.write("".join(f"  {example}\n" for example in repair.examples), ending="")
