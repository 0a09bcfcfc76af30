"""Freeze a study and open it."""

import argparse
from typing import Any

from django.core.management.base import CommandError

from accounts.policy_table import Act
from jobs.commands.base import JobCommand, add_json, check_right, parse_slug
from studyapp.actions.studies import launch_study
from studyapp.queries.design.launches import CHECK, NeedsDecision
from studyapp.queries.studies import find_study


class Command(JobCommand):
    help = "Freeze the draft of a study into a version, and open the study to participants."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=parse_slug, help="the study")
        parser.add_argument(
            "--accept", type=_parse_decision, action="append", default=[], metavar="CHECK=REASON",
            help="launch although this check is open, and record why; checks that take a decision: "
            + ", ".join(CHECK.values),
        )  # fmt: skip
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        by = check_right(options, Act.STUDY_EDIT, study)
        try:
            version = launch_study(study=study, by=by, accept=dict(options["accept"]))
        except NeedsDecision as error:
            checks = " ".join(f'--accept {check.name}="REASON"' for check in error.checks)
            raise CommandError(f"{error} Correct it, or launch with {checks}") from error
        conditions, items = version.conditions.count(), version.items.count()
        if options["json"]:
            row = {"slug": version.study.slug, "number": version.number, "hash": version.hash}
            self.write_json({**row, "conditions": conditions, "items": items})
            return
        self.stdout.write(f"{version.study} is open: version {version.number}, hash {version.hash}")
        self.stdout.write(f"{conditions} conditions, {items} items")
        self.stdout.write(f"next: .venv/bin/python manage.py study_link {version.study}")


def _parse_decision(text: str) -> tuple[str, str]:
    check, equals, reason = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not CHECK=REASON")
    return check.strip(), reason
