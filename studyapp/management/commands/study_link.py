"""Make links by which participants enter a study."""

import argparse
from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from accounts.commands import JobCommand, count, slug
from studyapp.actions.links import create_link
from studyapp.models import Mode
from studyapp.queries.studies import study_named


class Command(JobCommand):
    help = "Make links into a study and print them. A link is kept as a hash only: it is printed this once."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=slug, help="the study")
        parser.add_argument("--label", type=_label, default="", help="where it is shared; it is exported")
        parser.add_argument("--single-use", action="store_true", help="admits one person only")
        parser.add_argument(
            "--mode", choices=Mode.values, default=Mode.LIVE, help="pilot and bot are kept apart from live"
        )
        parser.add_argument("--count", type=count, default=1, metavar="N", help="how many links (1)")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["slug"])
        with transaction.atomic():
            tokens = [
                create_link(
                    study=study,
                    by=None,
                    label=options["label"],
                    mode=options["mode"],
                    single_use=options["single_use"],
                )[1]
                for _number in range(options["count"])
            ]
        for token in tokens:
            self.stdout.write(settings.SITE_URL + reverse("studyapp:join", args=[token]))
        if study.status != study.Status.OPEN:
            self.stderr.write(f"{study} is {study.status}: the link admits people once it is open")


def _label(text: str) -> str:
    if len(text) > 100:
        raise argparse.ArgumentTypeError("a label has at most 100 characters")
    return text
