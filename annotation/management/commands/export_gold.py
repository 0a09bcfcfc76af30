"""Export a project's items with gold, annotations, times and revisions."""

import argparse
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from accounts.policy import Act
from annotation.formats import registry
from annotation.queries.bots import project_named
from annotation.queries.export import export_size, item_records
from annotation.schemas import ItemRecord
from jobs.base_command import JobCommand, check_right, slug
from jobs.progress_bar import Bar


class Command(JobCommand):
    """Export a project to a file."""

    help = (
        "Write the items of an annotation project with their gold and everybody's annotations. An existing "
        f"file is replaced once the new one is complete. Folders: {', '.join(sorted(registry.FOLDERS))}."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("project", type=slug, help="the project")
        parser.add_argument("--out", type=Path, required=True, metavar="PATH", help="file or folder to write")
        parser.add_argument("--format", required=True, choices=list(registry.WRITERS), help="its form")
        parser.add_argument("--gold-only", action="store_true", help="leave out items without gold")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file."""
        gc.freeze()  # collecting what Django has loaded would take a quarter of the time
        project, gold_only = project_named(options["project"]), options["gold_only"]
        check_right(options, Act.ANNOTATION_MANAGE, project)
        written = _Counted(item_records(project, gold_only=gold_only))
        with Bar(options["out"].name, export_size(project, gold_only=gold_only)) as bar:
            written.bar = bar
            registry.write(options["format"], written, options["out"])
        self.stdout.write(f"{options['out']}: {written.items} items, {written.gold} with gold")


class _Counted:
    """Counts the records on their way to a file."""

    def __init__(self, records: Iterator[ItemRecord]) -> None:
        self.items = self.gold = 0
        self.bar: Bar | None = None
        self._records = records

    def __iter__(self) -> Iterator[ItemRecord]:
        for record in self._records:
            self.items += 1
            self.gold += record.gold is not None
            if self.bar is not None and self.items % 256 == 0:
                self.bar.at(self.items)
            yield record
