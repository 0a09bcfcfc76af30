"""List participants with their platform IDs, for paying them."""

import argparse
import csv
from typing import Any

from accounts.actions.audit import record
from accounts.policy import Act
from jobs.base_command import JobCommand, check_right, slug
from studyapp.queries.privacy import external_ids
from studyapp.queries.studies import study_named

COLUMNS = (
    *("participant_id", "mode", "platform", "person_id", "session_id"),
    *("outcome", "completion_code", "completed_at", "returned_at"),
)


class Command(JobCommand):
    help = "Print the external IDs of a study's participants as CSV. Keep them apart: no bundle holds them."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=slug, help="the study")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["slug"])
        by = check_right(options, Act.STUDY_PERSONAL, study)
        record(
            kind="personal_data_read",
            by=by,
            workspace=study.workspace,
            subject=study,
            data={"page": "external_ids"},
        )
        writer = csv.writer(self.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        for ids in external_ids(study).iterator():
            person = ids.participant
            writer.writerow(
                [
                    *(person.public_id, ids.mode, ids.platform, ids.person_id, ids.session_id),
                    *(person.outcome, person.completion_code),
                    *(at.isoformat() if at else "" for at in (person.completed_at, person.returned_at)),
                ]
            )
