"""Bring a file of questions in."""

import argparse
from itertools import islice
from pathlib import Path
from typing import Any

from accounts.commands import JobCommand, count, slug
from accounts.terminal import Bar
from studyapp.actions.data import ImportReport, import_questions
from studyapp.formats.hotpot import read_hotpot

READERS = {"hotpot": read_hotpot}


class Command(JobCommand):
    help = "Bring the questions of a file in as a dataset: all of them or, if anything is wrong, none."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("format", choices=sorted(READERS), help="the form of the file")
        parser.add_argument("path", type=Path, help="the file, in UTF-8")
        parser.add_argument("--name", required=True, type=slug, help="the dataset, made where it is new")
        parser.add_argument("--limit", type=count, metavar="N", help="take the first N questions only")
        parser.add_argument("--dry-run", action="store_true", help="check everything and store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        with Bar(f"{path.name}", _size(path), counted=False) as bar:
            records = READERS[options["format"]](path, told=bar.at)
            report = import_questions(
                records=islice(records, options["limit"]),
                name=options["name"],
                source_format=options["format"],
                dry_run=options["dry_run"],
            )
        self._tell(report, options["name"], options["dry_run"])

    def _tell(self, report: ImportReport, name: str, dry_run: bool) -> None:
        added = f"{report.added} questions would be added" if dry_run else f"{report.added} questions added"
        self.stdout.write(f"{name}: {added}, {report.unchanged} were there already")
        if report.without_facts:
            self.stdout.write(f"{report.without_facts} questions have no gold facts")
        if report.stray_facts:
            self.stderr.write(
                f"warning: {report.stray_facts} gold facts name no sentence of their question's articles; "
                f"they are kept. The first: {report.first_stray}"
            )


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
