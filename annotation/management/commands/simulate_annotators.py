"""Have simulated annotators annotate a project on a running site."""

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.urls import reverse

from accounts.policy import Act
from annotation import bots
from annotation.actions.bots import enlist_bots, retire_bots
from annotation.bots import BEHAVIOURS, Bot, Plan
from annotation.formats.jsonl import read_jsonl
from annotation.models import Project
from annotation.queries.bots import current_gold, project_named, stored_operations, submitted_annotations
from annotation.queries.progress import totals
from jobs.base_command import check_right, count, slug
from jobs.progress_bar import Bar
from jobs.simulation_command import SimulationCommand, get_status


class Command(SimulationCommand):
    help = (
        "Have bots annotate a project over HTTP: log in, take items, draw, save and hand in, until nothing "
        "is left for them. They know the gold and distort it as their behaviour says; where there is no gold "
        "they make something up. The site must run on this database. Behaviours: "
        f"{', '.join(BEHAVIOURS)}."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=slug, help="the project; it must be open")
        self.add_bot_arguments(
            parser,
            behaviours=BEHAVIOURS,
            default="careful",
            example="careful=0.7,sloppy=0.2,offline=0.1",
            seed="decides what the bots draw",
            think="wait this long before each save",
        )
        parser.add_argument("--items", type=count, metavar="M", help="that each bot hands in at most (all)")
        parser.add_argument(
            "--gold", type=Path, metavar="FILE.jsonl", help="items with gold (the project's own gold)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        by = check_right(options, Act.ANNOTATION_MANAGE, project)
        gold = _gold_of(options["gold"]) if options["gold"] else current_gold(project)
        get_status(options["url"] + reverse("accounts:login"), options["url"])
        people = enlist_bots(project=project, n=options["n"], by=by)
        names = [name for name, _password in people]
        crowd = bots.make_bots(people, options["behaviour"], seed=options["seed"])
        before = set(stored_operations(project, names))
        try:
            took = self._run(crowd, Plan(project.slug, gold, options["items"]), project, options)
        finally:
            retire_bots(names=names)
        self._write_result(crowd, took)
        self._compare(project, crowd, before)

    def _run(self, crowd: Sequence[Bot], plan: Plan, project: Project, options: Mapping[str, Any]) -> float:
        begun = time.monotonic()
        far = totals(project)
        with Bar("Items handed in", total=(plan.most or 0) * len(crowd) or far.places - far.submitted) as bar:
            working = bots.run_bots(
                crowd, options["url"], plan,
                concurrency=options["concurrency"], think=options["think"], patience=10.0,
                on_answer=lambda bot: bar.at(sum(len(each.submitted) for each in crowd)),
            )  # fmt: skip
            asyncio.run(working)
        return time.monotonic() - begun

    def _write_result(self, crowd: Sequence[Bot], took: float) -> None:
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
        self.write_summary(
            [second for bot in crowd for _act, second in bot.seconds],
            took,
            [f"{bot.name} ({bot.kind}): {bot.error}" for bot in crowd if bot.error],
        )

    def _compare(self, project: Project, crowd: Sequence[Bot], before: set[tuple[int, str]]) -> None:
        """Require that the database holds each acknowledged operation once.

        It must hold nothing else of the bots.
        """
        names = [bot.name for bot in crowd]
        stored = stored_operations(project, names)
        acknowledged = {operation for bot in crowd for operation in bot.saved}
        lost = acknowledged - stored.keys()
        doubled = sum(times > 1 for times in stored.values())
        unheard = stored.keys() - acknowledged - before
        submitted = {annotation for bot in crowd for annotation in bot.submitted} - submitted_annotations(
            project, names
        )
        failed = sum(bool(bot.error) for bot in crowd)
        if lost or doubled or submitted or (unheard and not failed):
            raise CommandError(
                f"the database lacks {len(lost)} operations and {len(submitted)} items that were "
                f"acknowledged, holds {doubled} twice and {len(unheard)} that nobody sent"
            )
        self.stdout.write(f"stored: all {len(acknowledged)} operations, each once, and nothing else")
        self.require_success(failed, len(crowd))


def _gold_of(path: Path) -> dict[str, str]:
    records = read_jsonl(path)
    return {one.external_id: one.gold.model_dump_json() for one in records if one.gold is not None}
