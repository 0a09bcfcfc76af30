"""Print the pre-registration of a study."""

import argparse
from typing import Any

from accounts.policy_table import Act
from analysis.planning.registration_forms import FORMS
from jobs.commands.base import JobCommand, check_right, parse_slug
from studyapp.exports.registration import build_draft_preregistration, build_preregistration
from studyapp.queries.studies import find_study


class Command(JobCommand):
    help = (
        "Print the pre-registration of a study as Markdown: of its draft, with the hash of the content, or "
        "of its newest version."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=parse_slug, help="the study")
        parser.add_argument("--form", choices=FORMS, default="touchstone", help="whose headings it has")
        parser.add_argument("--launched", action="store_true", help="of the newest version, not of the draft")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        check_right(options, Act.STUDY_EDIT, study)
        text = build_preregistration if options["launched"] else build_draft_preregistration
        self.stdout.write(text(study, options["form"]), ending="")
