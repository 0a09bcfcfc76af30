"""Writes the export bundle of a study."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studyapp.errors import StudyappError
from studyapp.exports.bundle import write_bundle
from studyapp.exports.writers import FORMATS
from studyapp.queries.results import find_study


class Command(BaseCommand):
    """``export_results SLUG --out DIR [--public] [--format csv|parquet|jsonl]``."""

    help = "Write everything the analysis needs of a study to a folder of plain files with a codebook."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the study")
        parser.add_argument(
            "--out", required=True, type=Path, metavar="DIR", help="folder; an earlier bundle is replaced"
        )
        parser.add_argument(
            "--public",
            action="store_true",
            help="for publication: other pseudonyms, dates without time, no link labels, no event details",
        )
        parser.add_argument("--format", choices=FORMATS, default="csv", help="of the tables; default csv")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            study = find_study(options["slug"])
            written = write_bundle(
                study, options["out"], public=options["public"], file_format=options["format"]
            )
        except StudyappError as error:
            raise CommandError(str(error)) from error
        for system, reason in written.missing_scores.items():
            self.stderr.write(f"No scores of {system}: {reason}")
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in written.rows.items())
        self.stdout.write(f"Wrote {options['out']}: {counts}.")
