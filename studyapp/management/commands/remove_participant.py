"""Remove a participant from a study."""

import argparse
from typing import Any

from accounts.policy_table import Act
from jobs.commands.base import JobCommand, check_right, parse_slug
from studyapp.actions.privacy import anonymise_participant, delete_participant
from studyapp.queries.participants.privacy import find_participant
from studyapp.queries.studies import find_study


class Command(JobCommand):
    help = "Delete or anonymise a participant of a study. This cannot be undone; the event log records it."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=parse_slug, help="the study")
        parser.add_argument("person", help="participant id, or external id of the recruitment platform")
        parser.add_argument(
            "--anonymise", action="store_true", help="keep the answers and cut every tie to the person"
        )
        parser.add_argument("--reason", required=True, help="reason for the log, without any name")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        by = check_right(options, Act.STUDY_PERSONAL, study)
        participant = find_participant(study, options["person"])
        act = anonymise_participant if options["anonymise"] else delete_participant
        act(participant=participant, by=by, reason=options["reason"])
        self.stdout.write(
            "Anonymised one participant." if options["anonymise"] else "Deleted one participant."
        )
