"""Delete or anonymise participants whose retention has ended."""

import argparse
from typing import Any

from django.utils import timezone

from jobs.commands.base import BadUsage, JobCommand, read_actor_option
from studyapp.actions.privacy import apply_retention
from studyapp.queries.participants.privacy import find_overdue_versions


class Command(JobCommand):
    help = (
        "Delete or anonymise participants whose retention has ended. The worker with --beat runs this daily."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count only; change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if read_actor_option(options) is not None:
            raise BadUsage("--as: retention ends in every study of the site; run this without --as")
        today = timezone.now().date()
        if options["dry_run"]:
            counts: dict[str, int] = {}
            for version, participants in find_overdue_versions(today):
                slug = version.study.slug
                counts[slug] = counts.get(slug, 0) + participants.count()
        else:
            counts = apply_retention(today=today)
        for slug, n in sorted(counts.items()):
            self.stdout.write(f"{slug}: {n} participants")
        self.stdout.write("Nothing was changed." if options["dry_run"] else "Done.")
