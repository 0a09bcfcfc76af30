"""Rename a label of a project, merge it into another one, or delete it."""

import argparse
from typing import Any

from accounts.policy_table import Act
from annotation.actions.labels import remove_label, rename_label
from annotation.queries.bots import find_project
from jobs.commands.base import JobCommand, check_right, parse_slug


class Command(JobCommand):
    help = (
        "Rename a label of a project, also in what is annotated; merge it into another label; or delete it "
        "if it is not used."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=parse_slug, help="the project")
        parser.add_argument("layer", help="the name of the layer")
        parser.add_argument("label", help="the label")
        parser.add_argument("--question", default="", help="of which question about the marks it is a label")
        act = parser.add_mutually_exclusive_group(required=True)
        act.add_argument("--rename", metavar="NAME", help="its new name")
        act.add_argument("--into", metavar="LABEL", help="the label to merge it into")
        act.add_argument("--delete", action="store_true", help="delete it if nothing uses it")

    def handle(self, *args: Any, **options: Any) -> None:
        project = find_project(options["project"])
        by = check_right(options, Act.ANNOTATION_MANAGE, project)
        which = {name: options[name] for name in ("layer", "label", "question")}
        if options["rename"] is not None:
            uses = rename_label(project=project, by=by, new_name=options["rename"], **which)
        else:
            uses = remove_label(project=project, by=by, into=options["into"] or "", **which)
        counts = ", ".join(f"{name} {count}" for name, count in uses._asdict().items())
        self.stdout.write(f"{project.slug}: changed {options['label']!r} ({counts})")
