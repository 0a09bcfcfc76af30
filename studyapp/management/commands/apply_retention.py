"""Deletes or anonymises participants whose study promised it for a day that has passed."""

import argparse
from typing import Any

from django.utils import timezone

from jobs.base_command import JobCommand
from studyapp.actions.privacy import apply_retention
from studyapp.queries.privacy import overdue_versions


class Command(JobCommand):
    help = "Do what studies promised for the end of their retention. The worker with --beat does it daily."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count only; change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        today = timezone.now().date()
        if options["dry_run"]:
            found: dict[str, int] = {}
            for version, participants in overdue_versions(today):
                slug = version.study.slug
                found[slug] = found.get(slug, 0) + participants.count()
        else:
            found = apply_retention(today=today)
        for slug, n in sorted(found.items()):
            self.stdout.write(f"{slug}: {n} participants")
        self.stdout.write("Nothing was changed." if options["dry_run"] else "Done.")
