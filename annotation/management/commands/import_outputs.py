"""Import model outputs for the items of a project."""

import argparse
from pathlib import Path
from typing import Any

from accounts.policy_table import Act
from annotation.actions.outputs import import_outputs
from annotation.formats.outputs import read_outputs
from annotation.queries.bots import find_project
from foundation.imports.findings import Findings
from jobs.commands.base import JobCommand, check_right, parse_slug, parse_system_name
from jobs.progress_bar import Bar


class Command(JobCommand):
    help = (
        "Bring in a system's module outputs, one item a line: all of the file or, if anything is wrong, "
        "nothing. The same file again changes nothing."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=parse_slug, help="the project")
        parser.add_argument("path", type=Path, help="the file, JSON lines")
        parser.add_argument("--system", type=parse_system_name, required=True, help="whose outputs they are")
        parser.add_argument(
            "--revision", type=parse_system_name, required=True, help="of which version of it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project, path = find_project(options["project"]), options["path"]
        by = check_right(options, Act.ANNOTATION_MANAGE, project)
        findings = Findings(collect=True)
        with Bar(path.name, path.stat().st_size if path.is_file() else None, counted=False) as bar:
            added = import_outputs(
                by=by,
                records=read_outputs(path, findings=findings, on_progress=bar.at),
                findings=findings,
                project=project,
                system=options["system"],
                revision=options["revision"],
            )
        name = f"{options['system']}@{options['revision']}"
        self.stdout.write(f"{project.slug}: outputs of {name} for {added} items added")
