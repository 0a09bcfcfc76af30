"""Print all that is stored about one participant."""

import argparse
from typing import Any

from accounts.actions.audit import record_reading
from accounts.policy_table import Act
from jobs.commands.base import JobCommand, add_json, check_right, parse_slug
from studyapp.queries.participants.privacy import find_participant, read_stored_data
from studyapp.queries.studies import find_study


class Command(JobCommand):
    help = "Print all that is stored about a participant as JSON, for a person who asks what is."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=parse_slug, help="the study")
        parser.add_argument("person", help="participant id, or external id of the recruitment platform")
        add_json(parser, always=True)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        by = check_right(options, Act.STUDY_PERSONAL, study)
        participant = find_participant(study, options["person"])
        record_reading(by=by, subject=study, page="participant_file")
        self.write_json(read_stored_data(participant))
