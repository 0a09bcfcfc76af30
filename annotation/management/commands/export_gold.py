"""Export a project's items with gold, annotations, times and revisions."""

import argparse
import gc
from pathlib import Path
from typing import Any

from accounts.policy_table import Act
from annotation.formats import registry
from annotation.queries.bots import find_project
from annotation.queries.export import write_items
from jobs.commands.base import JobCommand, check_right, parse_slug
from jobs.progress_bar import Bar


class Command(JobCommand):
    help = (
        "Write the items of an annotation project with their gold and everybody's annotations. An existing "
        f"file is replaced once the new one is complete. Folders: {', '.join(sorted(registry.FOLDERS))}."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=parse_slug, help="the project")
        parser.add_argument("--out", type=Path, required=True, metavar="PATH", help="file or folder to write")
        parser.add_argument("--format", required=True, choices=registry.WRITER_NAMES, help="its form")
        parser.add_argument("--gold-only", action="store_true", help="leave out items without gold")

    def handle(self, *args: Any, **options: Any) -> None:
        gc.freeze()  # collecting what Django has loaded would take a quarter of the time
        project, gold_only = find_project(options["project"]), options["gold_only"]
        check_right(options, Act.ANNOTATION_MANAGE, project)
        with Bar(options["out"].name) as bar:
            counts = write_items(
                project,
                options["format"],
                options["out"],
                gold_only=gold_only,
                on_progress=lambda done, total: bar.at(done, total=total),
            )
        self.stdout.write(f"{options['out']}: {counts.items} items, {counts.gold} with gold")
        if counts.findings.repairs:
            self.stdout.write(f"the format cannot hold:\n{counts.findings}")
