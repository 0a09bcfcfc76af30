"""List participants with their platform IDs, for paying them."""

import argparse
from typing import Any

from accounts.actions.audit import record_reading
from accounts.policy_table import Act
from foundation.pages.spreadsheet import write_csv
from jobs.commands.base import JobCommand, check_right, parse_slug
from studyapp.exports.payments import ID_COLUMNS, build_external_id_rows
from studyapp.queries.studies import find_study


class Command(JobCommand):
    help = "Print the external IDs of a study's participants as CSV. Keep them apart: no bundle holds them."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=parse_slug, help="the study")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        by = check_right(options, Act.STUDY_PERSONAL, study)
        record_reading(by=by, subject=study, page="external_ids")
        write_csv(self.stdout, ID_COLUMNS, build_external_id_rows(study))
