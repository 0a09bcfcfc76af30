"""Have simulated annotators annotate a project on a running site."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.urls import reverse

from accounts.policy_table import Act
from annotation.bots import BEHAVIOURS
from annotation.formats.jsonl import read_jsonl
from annotation.formats.source import Source
from annotation.queries.bots import find_project
from annotation.simulation_job import Simulation, simulate
from jobs.commands.base import check_right, parse_count, parse_slug
from jobs.commands.simulation import SimulationCommand, get_status
from jobs.progress_bar import Bar


class Command(SimulationCommand):
    help = (
        "Have bots annotate a project over HTTP: log in, take items, draw, save and hand in, until nothing "
        "is left for them. They know the gold and distort it as their behaviour says; where there is no gold "
        "they make something up. The site must run on this database. Behaviours: "
        f"{', '.join(BEHAVIOURS)}."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=parse_slug, help="the project; it must be open")
        self.add_bot_arguments(
            parser,
            behaviours=BEHAVIOURS,
            default="careful",
            example="careful=0.7,sloppy=0.2,offline=0.1",
            seed="decides what the bots draw",
            think="wait this long before each save",
        )
        parser.add_argument(
            "--items", type=parse_count, metavar="M", help="that each bot hands in at most (all)"
        )
        parser.add_argument(
            "--gold", type=Path, metavar="FILE.jsonl", help="items with gold (the project's own gold)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = find_project(options["project"])
        by = check_right(options, Act.ANNOTATION_MANAGE, project)
        get_status(options["url"] + reverse("accounts:login"), options["url"])
        with Bar("Items handed in") as bar:
            done = simulate(
                project,
                n=options["n"],
                behaviour=options["behaviour"],
                seed=options["seed"],
                url=options["url"],
                gold=_read_gold(options["gold"]) if options["gold"] else None,
                items=options["items"],
                concurrency=options["concurrency"],
                think=options["think"],
                by=by,
                on_progress=lambda submitted, total: bar.at(submitted, total=total),
            )
        self._write_result(done)
        if done.difference:
            raise CommandError(done.difference)
        operations = {operation for bot in done.crowd for operation in bot.saved}
        self.stdout.write(f"stored: all {len(operations)} operations, each once, and nothing else")
        self.require_success(len(done.errors), len(done.crowd))

    def _write_result(self, done: Simulation) -> None:
        crowd = done.crowd
        submitted, saved = sum(len(bot.submitted) for bot in crowd), sum(len(bot.saved) for bot in crowd)
        bots = "1 bot" if len(crowd) == 1 else f"{len(crowd)} bots"
        self.stdout.write(
            f"{bots}: {submitted} items handed in with {saved} operations, "
            f"{sum(bot.released for bot in crowd)} given back, "
            f"{sum(bot.lost for bot in crowd)} lost to others"
        )
        self.stdout.write(
            f"{sum(bot.conflicts for bot in crowd)} times another tab had been first, "
            f"{sum(bot.repeated for bot in crowd)} times everything was sent again"
        )
        seconds = [second for bot in crowd for _act, second in bot.seconds]
        self.write_summary(seconds, done.seconds, done.errors)


def _read_gold(path: Path) -> dict[str, str]:
    records = read_jsonl(Source(path))
    return {
        record.external_id: record.gold.model_dump_json() for record in records if record.gold is not None
    }
