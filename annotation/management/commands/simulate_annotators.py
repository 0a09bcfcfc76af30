"""Has simulated annotators work on a project of a running site."""

import argparse
import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import CommandError
from django.urls import reverse

from annotation import bots
from annotation.actions.bots import enlist_bots, retire_bots
from annotation.bots import BEHAVIOURS, Bot, Plan
from annotation.formats.jsonl import read_jsonl
from annotation.models import Project
from annotation.queries.bots import current_gold, project_named, stored_operations, submitted_annotations
from annotation.queries.progress import totals
from jobs.base_command import JobCommand, address, count, seconds, slug
from jobs.progress_bar import Bar


class Command(JobCommand):
    help = (
        "Have bots annotate a project over HTTP: log in, take items, draw, save and hand in, until nothing "
        "is left for them. They know the gold and distort it as their behaviour says; where there is no gold "
        "they make something up. The site must run on this database. Behaviours: "
        f"{', '.join(BEHAVIOURS)}."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=slug, help="the project; it must be open")
        parser.add_argument("-n", type=count, required=True, metavar="N", help="how many bots")
        parser.add_argument(
            "--behaviour", type=_mix, default="careful", metavar="MIX",
            help="one behaviour, or shares such as careful=0.7,sloppy=0.2,offline=0.1 (careful)",
        )  # fmt: skip
        parser.add_argument("--seed", type=int, default=1, help="decides what the bots draw (1)")
        parser.add_argument("--items", type=count, metavar="M", help="that each bot hands in at most (all)")
        parser.add_argument(
            "--gold", type=Path, metavar="FILE.jsonl", help="items with gold (the project's own gold)"
        )
        parser.add_argument("--url", type=address, default=settings.SITE_URL, help="the site (SITE_URL)")
        parser.add_argument("--concurrency", type=count, default=4, metavar="C", help="bots at once (4)")
        parser.add_argument(
            "--think", type=seconds, default=0.0, metavar="SECONDS",
            help="wait this long before each save, on average (0)",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        logging.getLogger("httpx").setLevel(logging.WARNING)
        project = project_named(options["project"])
        gold = _gold_of(options["gold"]) if options["gold"] else current_gold(project)
        _ask(options["url"])
        people = enlist_bots(project=project, n=options["n"])
        names = [name for name, _password in people]
        crowd = bots.make_bots(people, options["behaviour"], seed=options["seed"])
        before = set(stored_operations(project, names))
        try:
            took = self._run(crowd, Plan(project.slug, gold, options["items"]), project, options)
        finally:
            retire_bots(names=names)
        self._tell(crowd, took)
        self._compare(project, crowd, before)

    def _run(self, crowd: Sequence[Bot], plan: Plan, project: Project, options: Mapping[str, Any]) -> float:
        begun = time.monotonic()
        far = totals(project)
        with Bar("Items handed in", total=(plan.most or 0) * len(crowd) or far.places - far.submitted) as bar:
            working = bots.run_bots(
                crowd, options["url"], plan,
                concurrency=options["concurrency"], think=options["think"], patience=10.0,
                told=lambda bot: bar.at(sum(len(each.submitted) for each in crowd)),
            )  # fmt: skip
            asyncio.run(working)
        return time.monotonic() - begun

    def _tell(self, crowd: Sequence[Bot], took: float) -> None:
        submitted, saved = sum(len(bot.submitted) for bot in crowd), sum(len(bot.saved) for bot in crowd)
        self.stdout.write(
            f"{len(crowd)} bots: {submitted} items handed in with {saved} operations, "
            f"{sum(bot.released for bot in crowd)} given back, "
            f"{sum(bot.lost for bot in crowd)} lost to others"
        )
        self.stdout.write(
            f"{sum(bot.conflicts for bot in crowd)} times another tab had been first, "
            f"{sum(bot.repeated for bot in crowd)} times everything was sent again"
        )
        seconds = sorted(second for bot in crowd for _act, second in bot.seconds)
        if seconds:
            p50, p95 = (1000 * seconds[int(len(seconds) * share)] for share in (0.5, 0.95))
            self.stdout.write(
                f"{len(seconds)} requests in {took:.1f} s: {len(seconds) / took:.0f} a second, "
                f"half within {p50:.0f} ms, 95 % within {p95:.0f} ms"
            )
        for bot in [bot for bot in crowd if bot.error][:5]:
            self.stderr.write(f"{bot.name} ({bot.kind}): {bot.error}")

    def _compare(self, project: Project, crowd: Sequence[Bot], before: set[tuple[int, str]]) -> None:
        """What the bots were told is stored must be in the database, once, and nothing else of theirs."""
        names = [bot.name for bot in crowd]
        stored = stored_operations(project, names)
        told = {operation for bot in crowd for operation in bot.saved}
        lost = told - stored.keys()
        doubled = sum(times > 1 for times in stored.values())
        unheard = stored.keys() - told - before
        submitted = {annotation for bot in crowd for annotation in bot.submitted} - submitted_annotations(
            project, names
        )
        failed = sum(bool(bot.error) for bot in crowd)
        if lost or doubled or submitted or (unheard and not failed):
            raise CommandError(
                f"the database lacks {len(lost)} operations and {len(submitted)} items that were "
                f"acknowledged, holds {doubled} twice and {len(unheard)} that nobody sent"
            )
        self.stdout.write(f"stored: all {len(told)} operations, each once, and nothing else")
        if failed:
            raise CommandError(f"{failed} of {len(crowd)} bots failed")


def _gold_of(path: Path) -> dict[str, str]:
    records = read_jsonl(path)
    return {one.external_id: one.gold.model_dump_json() for one in records if one.gold is not None}


def _ask(url: str) -> None:
    try:
        httpx.get(url + reverse("accounts:login"), timeout=30, trust_env=False)
    except httpx.HTTPError as error:
        raise CommandError(
            f"no site answers at {url} ({error}); start it, for example with make demo, or give --url"
        ) from error


def _mix(text: str) -> dict[str, float]:
    try:
        return bots.parse_mix(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
