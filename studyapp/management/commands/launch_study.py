"""Freeze a study and open it."""

import argparse
from typing import Any

from accounts.policy import Act
from jobs.base_command import JobCommand, check_right, slug
from studyapp.actions.studies import launch_study
from studyapp.queries.studies import study_named


class Command(JobCommand):
    help = "Freeze the draft of a study into a version, and open the study to participants."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=slug, help="the study")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["slug"])
        version = launch_study(study=study, by=check_right(options, Act.STUDY_EDIT, study))
        self.stdout.write(f"{version.study} is open: version {version.number}, hash {version.hash}")
        self.stdout.write(f"{version.conditions.count()} conditions, {version.items.count()} items")
        self.stdout.write(f"next: python manage.py study_link {version.study}")
