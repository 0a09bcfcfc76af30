"""Import questions as a dataset, or items to annotate as a project."""

import argparse
import gc
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.policy import Act
from annotation.actions.data import import_project
from annotation.formats import registry
from annotation.formats.images import ImageFolder
from annotation.formats.registry import Source
from annotation.formats.report import Report
from annotation.models import Item
from jobs.base_command import JobCommand, add_workspace, count, slug, workspace_of
from jobs.progress_bar import Bar
from predictions.actions.data import ImportReport, import_questions, preview_questions
from predictions.formats.findings import Findings
from predictions.imports import QUESTION_FORMATS as QUESTIONS

ANNOTATION_OPTIONS = ("images", "programs", "nlvr2", "annotators", "purpose")


class Command(JobCommand):
    help = (
        "Import a file: all of it or, after an error, nothing. Questions "
        f"({', '.join(QUESTIONS)}) become a dataset for studies; other formats become items of an "
        "annotation project."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        formats = sorted([*QUESTIONS, *registry.READERS])
        parser.add_argument("format", choices=formats, help="the format of the file")
        parser.add_argument("path", type=Path, help="the file, in UTF-8")
        parser.add_argument(
            "--name", required=True, type=slug, help="dataset or project, created if it is new"
        )
        add_workspace(parser)
        parser.add_argument("--limit", type=count, metavar="N", help="import the first N only")
        parser.add_argument("--dry-run", action="store_true", help="check the file and store nothing")
        items = parser.add_argument_group("items to annotate")
        items.add_argument(
            "--images", type=Path, metavar="FOLDER", help="the folder of the images, which are copied"
        )
        items.add_argument(
            "--programs", type=Path, metavar="TSV",
            help="programs by identifier or sentence, or the faithful-nmn table",
        )  # fmt: skip
        items.add_argument(
            "--nlvr2", type=Path, action="append", metavar="JSON",
            help="NLVR2 file with the sentences of faithful-nmn; may be given several times",
        )  # fmt: skip
        items.add_argument("--annotators", type=count, metavar="K", help="per item, in a new project (1)")
        items.add_argument("--purpose", choices=Item.Purpose.values, help="what the items are for (ordinary)")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["format"] in QUESTIONS:
            if options_of_items := [name for name in ANNOTATION_OPTIONS if options[name] is not None]:
                raise CommandError(
                    f"--{options_of_items[0]} is for items to annotate, not for questions", returncode=2
                )
            self._import_questions(options)
        else:
            self._import_items(options)

    def _import_questions(self, options: dict[str, Any]) -> None:
        workspace, by = workspace_of(options, Act.DATA_MANAGE)
        path, name = options["path"], options["name"]
        with _bar(path) as bar:
            records = islice(QUESTIONS[options["format"]](path, on_progress=bar.at), options["limit"])
            if options["dry_run"]:
                report = preview_questions(
                    records=records, name=name, workspace=workspace, findings=Findings(path)
                )
            else:
                report = import_questions(
                    records=records, name=name, workspace=workspace, source_format=options["format"], by=by
                )
        self._tell_questions(report, options["name"], options["dry_run"])

    def _tell_questions(self, report: ImportReport, name: str, dry_run: bool) -> None:
        added = f"{report.added} questions would be added" if dry_run else f"{report.added} questions added"
        self.stdout.write(f"{name}: {added}, {report.unchanged} were there already")
        if report.without_facts:
            self.stdout.write(f"{report.without_facts} questions have no gold facts")
        if report.stray_facts:
            self.stderr.write(
                f"warning: {report.stray_facts} gold facts name no sentence of their question's articles; "
                f"they are kept. The first: {report.first_stray}"
            )

    def _import_items(self, options: dict[str, Any]) -> None:
        workspace, by = workspace_of(options, Act.ANNOTATION_MANAGE)
        gc.freeze()  # Django's modules stay: collecting them again takes a fourth of the time
        with _bar(options["path"]) as bar:
            source = _source(options, bar.at)
            done = import_project(
                slug=options["name"],
                workspace=workspace,
                by=by,
                records=islice(registry.read(options["format"], source), options["limit"]),
                annotators=options["annotators"],
                purpose=options["purpose"] or Item.Purpose.ORDINARY,
                image_folder=options["images"],
                dry_run=options["dry_run"],
                source=options["path"].name,
            )
        would = "would be added" if options["dry_run"] else "added"
        name = options["name"]
        self.stdout.write(f"{name}: {done.added} items {would}, {done.unchanged} were there already")
        self.stdout.write(
            f"{done.with_gold} items with gold, {done.annotations} annotations, {done.images} images"
        )
        self._tell_repairs(source.report)

    def _tell_repairs(self, report: Report) -> None:
        if report.repairs:
            self.stdout.write(f"mended or left out:\n{report}")


def _bar(path: Path) -> Bar:
    return Bar(path.name, path.stat().st_size if path.is_file() else None, counted=False)


def _source(options: dict[str, Any], report_position: Callable[[int], None]) -> Source:
    folder = options["images"]
    return Source(
        path=options["path"],
        images=None if folder is None else ImageFolder(folder),
        programs=options["programs"],
        examples=options["nlvr2"] or (),
        on_progress=report_position,
    )
