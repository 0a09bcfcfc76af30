"""Write the export bundle of a study."""

import argparse
from pathlib import Path
from typing import Any

from accounts.actions.audit import record_export
from accounts.policy_table import Act
from jobs.commands.base import BadUsage, JobCommand, check_right, parse_slug
from studyapp.exports.bundle import write_bundle
from studyapp.exports.writers import FORMATS
from studyapp.models import Mode
from studyapp.queries.studies import find_study


class Command(JobCommand):
    help = "Export the results of a study as a bundle: a folder of tables and JSON with a codebook."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=parse_slug, help="the study")
        parser.add_argument(
            "--out", required=True, type=Path, metavar="DIR", help="folder; an earlier bundle is replaced"
        )
        parser.add_argument(
            "--public",
            action="store_true",
            help="for publication: other pseudonyms, dates without time, no link labels, no event details",
        )
        parser.add_argument("--format", choices=FORMATS, default="csv", help="of the tables; default csv")
        parser.add_argument(
            "--psych-ds",
            action="store_true",
            help="also copy the CSV tables to the folder data, under the names that Psych-DS wants",
        )
        parser.add_argument(
            "--mode",
            action="append",
            choices=(*Mode.values, "all"),
            help="participants to export; repeat for several; default all: people (live), pilots and bots, "
            "told apart by the column mode",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["psych_ds"] and options["format"] != "csv":
            raise BadUsage("--psych-ds needs tables in CSV: leave --format out")
        study = find_study(options["slug"])
        by = check_right(options, Act.STUDY_RESULTS, study)
        kind = "public" if options["public"] else "internal"
        record_export(by=by, subject=study, kind=kind)
        chosen = options["mode"] or ["all"]
        written = write_bundle(
            study,
            options["out"],
            public=options["public"],
            file_format=options["format"],
            modes=Mode.values if "all" in chosen else chosen,
            as_psych_ds=options["psych_ds"],
        )
        for system, reason in written.missing_scores.items():
            self.stderr.write(f"No scores of {system}: {reason}")
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in written.rows.items())
        self.stdout.write(f"Wrote {options['out']}: {counts}.")
