"""Import the results of a study that was run and released elsewhere."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.policy_table import Act
from analysis.io.errors import InputError
from analysis.io.schuff2020_release import read_release
from jobs.commands.base import JobCommand, add_workspace, parse_slug, read_workspace_option
from studyapp.actions.released import import_released_study

FORMATS = ("f1-is-not-enough",)


class Command(JobCommand):
    help = "Import the released results of a study. The same file again changes nothing."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "format", choices=FORMATS, help="f1-is-not-enough: the data.jsonl of Schuff et al. 2020"
        )
        parser.add_argument("path", type=Path, metavar="PATH", help="the released file")
        parser.add_argument(
            "--name",
            type=parse_slug,
            default="f1-is-not-enough",
            metavar="SLUG",
            help="name of the study here",
        )
        add_workspace(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            released = read_release(options["path"])
        except InputError as error:
            raise CommandError(str(error)) from error
        workspace, by = read_workspace_option(options, Act.STUDY_EDIT)
        study, is_new = import_released_study(
            released=released, slug=options["name"], workspace=workspace, by=by
        )
        participants, items = len(released.participants), len(released.item_ids)
        if not is_new:
            self.stdout.write(f"{study} holds this file already; nothing was changed.")
            return
        self.stdout.write(
            f"Imported {study}: {participants} participants, {items} items, "
            f"{participants * items} responses. The file has no question texts, no shown answers and no "
            "correctness of the systems; these are empty."
        )
        self.stdout.write(f"next: .venv/bin/python manage.py export_results {study} --out DIR")
