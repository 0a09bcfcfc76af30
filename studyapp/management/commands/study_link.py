"""Create links by which participants enter a study."""

import argparse
from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from pydantic import ValidationError

from accounts.policy_table import Act
from jobs.commands.base import BadUsage, JobCommand, add_json, check_right, parse_count, parse_slug
from studyapp.actions.links import create_link
from studyapp.definition.participation.recruitment import OUTCOMES, PLATFORMS, Recruitment
from studyapp.models import EntryLink, Mode
from studyapp.queries.studies import find_study


class Command(JobCommand):
    help = "Create entry links of a study and print them once: only their hashes are stored."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=parse_slug, help="the study")
        parser.add_argument(
            "--label", type=_parse_label, default="", help="label of the link, which is exported"
        )
        parser.add_argument("--single-use", action="store_true", help="admit one participant only")
        parser.add_argument(
            "--mode",
            choices=Mode.values,
            default=Mode.LIVE,
            help="pilot participants and bots do not count as live participants",
        )
        parser.add_argument("--quota", type=parse_count, metavar="N", help="maximum number of participants")
        parser.add_argument(
            "--platform",
            choices=PLATFORMS,
            help="recruitment platform, if it is not the study's",
        )
        parser.add_argument(
            "--code",
            type=_parse_pair,
            action="append",
            default=[],
            metavar="OUTCOME=CODE",
            help=f"with --platform: the code for one of {', '.join(OUTCOMES)}",
        )
        parser.add_argument(
            "--back",
            type=_parse_pair,
            action="append",
            default=[],
            metavar="OUTCOME=URL",
            help="with --platform: return address, with {code} and {participant} in it",
        )
        parser.add_argument("--signed-urls", action="store_true", help="with --platform prolific")
        parser.add_argument("--count", type=parse_count, default=1, metavar="N", help="number of links (1)")
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        by = check_right(options, Act.STUDY_EDIT, study)
        recruitment = _build_recruitment(options)
        with transaction.atomic():
            links = [
                create_link(
                    study=study,
                    by=by,
                    label=options["label"],
                    mode=options["mode"],
                    single_use=options["single_use"],
                    quota=options["quota"],
                    recruitment=recruitment,
                )
                for _number in range(options["count"])
            ]
        addresses = [settings.SITE_URL + reverse("studyapp:join", args=[token]) for _link, token in links]
        if options["json"]:
            pairs = zip(links, addresses, strict=True)
            self.write_json([_describe_link(link, address) for (link, _token), address in pairs])
        else:
            self.stdout.write("\n".join(addresses))
        if study.status != study.Status.OPEN:
            self.stderr.write(f"{study} is {study.status}: the link admits participants once it is open")


def _describe_link(link: EntryLink, address: str) -> dict[str, Any]:
    return {
        "id": str(link.pk),
        "address": address,
        "label": link.label,
        "mode": link.mode,
        "single_use": link.single_use,
        "quota": link.quota,
    }


def _build_recruitment(options: dict[str, Any]) -> Recruitment | None:
    """Return the platform of the link; None if it is the study's."""
    if options["platform"] is None:
        if options["code"] or options["back"] or options["signed_urls"]:
            raise BadUsage("--code, --back and --signed-urls need --platform")
        return None
    outcomes: dict[str, dict[str, str]] = {}
    for field, pairs in (("code", options["code"]), ("url", options["back"])):
        for outcome, value in pairs:
            outcomes.setdefault(outcome, {})[field] = value
    written = {"platform": options["platform"], "signed_urls": options["signed_urls"], "outcomes": outcomes}
    try:
        return Recruitment.model_validate(written)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = " ".join(str(part) for part in problem["loc"])
        raise BadUsage(f"{field}: {problem['msg']}".removeprefix(": ")) from error


def _parse_pair(text: str) -> tuple[str, str]:
    outcome, equals, value = text.partition("=")
    if outcome not in OUTCOMES or not equals or not value:
        raise argparse.ArgumentTypeError(f"must be OUTCOME=…, with one of {', '.join(OUTCOMES)}")
    return outcome, value


def _parse_label(text: str) -> str:
    if len(text) > 100:
        raise argparse.ArgumentTypeError("a label has at most 100 characters")
    return text
