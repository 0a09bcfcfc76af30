"""Import questions as a dataset, or items to annotate as a project."""

import argparse
import gc
import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from accounts.policy_table import Act
from annotation.actions.data import import_project
from annotation.formats import registry
from annotation.formats.images import ImageFolder
from annotation.formats.registry import Source
from annotation.formats.uploads import prepare_source
from annotation.models import Item, Project
from annotation.parsed_items import get_kind, parse_task
from foundation.imports.findings import Findings
from foundation.imports.hub_datasets import HubDataset, fetch_dataset
from foundation.imports.zip_files import is_zip
from jobs.commands.base import (
    BadUsage,
    JobCommand,
    add_workspace,
    parse_count,
    parse_slug,
    read_workspace_option,
)
from jobs.progress_bar import Bar
from predictions.actions.data import import_questions
from predictions.import_repairs import label_of
from predictions.imports import QUESTION_FORMATS as QUESTIONS

ANNOTATION_OPTIONS = ("images", "programs", "nlvr2", "annotators", "purpose", "plain")


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
            "--name", required=True, type=parse_slug, help="dataset or project, created if it is new"
        )
        add_workspace(parser)
        parser.add_argument("--limit", type=parse_count, metavar="N", help="import the first N only")
        parser.add_argument("--dry-run", action="store_true", help="check the file and store nothing")
        parser.add_argument(
            "--hub", action="store_true", help="the path is the name of a dataset of the Hugging Face hub"
        )
        parser.add_argument("--subset", default="", help="of that dataset, if it has several")
        parser.add_argument("--split", default="", help="of that dataset, if it has several")
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
        items.add_argument(
            "--annotators", type=parse_count, metavar="K", help="per item, in a new project (1)"
        )
        items.add_argument(
            "--plain", action="store_true", default=None,
            help="read categories of COCO as labels, not as programs (as projects with labels do)",
        )  # fmt: skip
        items.add_argument("--purpose", choices=Item.Purpose.values, help="what the items are for (ordinary)")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["hub"]:
            self._import(options)
            return
        try:
            parts = {name: options[name] for name in ("subset", "split")}
            wanted = HubDataset(name=str(options["path"]), **parts)
        except ValidationError as error:
            raise BadUsage("--hub takes the name of a dataset, such as owner/name") from error
        with tempfile.TemporaryDirectory() as folder:
            self._import(options | {"path": fetch_dataset(wanted, Path(folder) / options["path"].name)})

    def _import(self, options: dict[str, Any]) -> None:
        if options["format"] in QUESTIONS:
            if options_of_items := [name for name in ANNOTATION_OPTIONS if options[name] is not None]:
                raise BadUsage(f"--{options_of_items[0]} is for items to annotate, not for questions")
            self._import_questions(options)
        else:
            self._import_items(options)

    def _import_questions(self, options: dict[str, Any]) -> None:
        workspace, by = read_workspace_option(options, Act.DATA_MANAGE)
        path, name, dry_run = options["path"], options["name"], options["dry_run"]
        findings = Findings(collect=True)
        with _build_bar(path) as bar:
            records = QUESTIONS[options["format"]](path, on_progress=bar.at, findings=findings)
            report = import_questions(
                records=islice(records, options["limit"]),
                name=name,
                workspace=workspace,
                source_format=options["format"],
                findings=findings,
                by=by,
                dry_run=dry_run,
            )
        findings.check()
        added = f"{report.added} questions would be added" if dry_run else f"{report.added} questions added"
        self.stdout.write(f"{name}: {added}, {report.unchanged} were there already")
        self._print_repairs(findings)

    def _import_items(self, options: dict[str, Any]) -> None:
        workspace, by = read_workspace_option(options, Act.ANNOTATION_MANAGE)
        gc.freeze()  # Django's modules stay: collecting them again takes a fourth of the time
        project = Project.objects.filter(slug=options["name"], workspace=workspace).first()
        with _build_bar(options["path"]) as bar, tempfile.TemporaryDirectory() as folder:
            source = _build_source(options, project, Path(folder) / "unpacked", bar.at)
            records = source.findings.read_until_broken(registry.read(options["format"], source))
            done = import_project(
                slug=options["name"],
                workspace=workspace,
                by=by,
                records=islice(records, options["limit"]),
                annotators=options["annotators"],
                purpose=options["purpose"] or Item.Purpose.ORDINARY,
                image_folder=None if source.images is None else source.images.root,
                dry_run=options["dry_run"],
                source=options["path"].name,
                findings=source.findings,
            )
        source.findings.check()
        would = "would be added" if options["dry_run"] else "added"
        name = options["name"]
        self.stdout.write(f"{name}: {done.added} items {would}, {done.unchanged} were there already")
        self.stdout.write(
            f"{done.with_gold} items with gold, {done.annotations} annotations, {done.images} images"
        )
        self._print_repairs(source.findings)

    def _print_repairs(self, findings: Findings) -> None:
        if findings.repairs:
            self.stdout.write("repaired or left out:")
        for repair in findings.repairs.values():
            self.stdout.write(str(replace(repair, kind=label_of(repair.kind))))


def _build_bar(path: Path) -> Bar:
    return Bar(path.name, path.stat().st_size if path.is_file() else None, counted=False)


def _build_source(
    options: dict[str, Any], project: Project | None, unpacked: Path, report_position: Callable[[int], None]
) -> Source:
    """Return the source of the items; a zip file is unpacked as an upload."""
    path, folder = options["path"], options["images"]
    source = Source(path=path, findings=Findings(collect=True, roots=[unpacked]))
    if path.is_file() and is_zip(path):
        source = prepare_source(options["format"], path, unpacked, findings=source.findings)
    task = parse_task(project) if project is not None else None
    return replace(
        source,
        images=source.images if folder is None else ImageFolder(folder),
        programs=options["programs"] or source.programs,
        examples=options["nlvr2"] or source.examples,
        task=task.text if task else "",
        kind=get_kind(project) if project is not None else source.kind,
        plain=bool(options["plain"]),
        on_progress=report_position,
    )
