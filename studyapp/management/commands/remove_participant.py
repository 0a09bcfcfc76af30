"""Remove a participant from a study."""

import argparse
from typing import Any

from accounts.policy import Act
from jobs.base_command import JobCommand, check_right, slug
from studyapp.actions.privacy import anonymise_participant, delete_participant
from studyapp.queries.privacy import participant_named
from studyapp.queries.studies import study_named


class Command(JobCommand):
    help = "Delete or anonymise a participant of a study. This cannot be undone; the event log records it."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=slug, help="the study")
        parser.add_argument("person", help="participant id, or external id of the recruitment platform")
        parser.add_argument(
            "--anonymise", action="store_true", help="keep the answers and cut every tie to the person"
        )
        parser.add_argument("--reason", required=True, help="reason for the log, without any name")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["slug"])
        by = check_right(options, Act.STUDY_PERSONAL, study)
        participant = participant_named(study, options["person"])
        act = anonymise_participant if options["anonymise"] else delete_participant
        act(participant=participant, by=by, reason=options["reason"])
        self.stdout.write(
            "Anonymised one participant." if options["anonymise"] else "Deleted one participant."
        )
