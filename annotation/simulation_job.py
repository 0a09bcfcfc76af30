"""Simulated annotators on a running site: for the command and for a job."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from django.conf import settings
from pydantic import Field

from accounts.models import User
from annotation import bots
from annotation.actions.bots import enlist_bots, retire_bots
from annotation.bots import BEHAVIOURS, Bot, Plan
from annotation.importing.items import find_project
from annotation.models import Project
from annotation.queries.bots import count_stored_operations, find_submitted_annotations, read_current_gold
from annotation.queries.progress import count_totals
from foundation.errors import RunFailed
from foundation.frozen_model import FrozenModel
from foundation.imports.import_fields import Text
from foundation.messages import say
from foundation.simulated_people import run_watched
from jobs.actions.jobs import JobResult, Report
from jobs.models import Job

MOST_BOTS = 20
CONCURRENCY = 4
PATIENCE_SECONDS = 10.0
SHOWN_ERRORS = 5


class SimulationOptions(FrozenModel):
    """The project, and how many bots of which behaviour annotate it."""

    project: int
    n: Annotated[int, Field(ge=1, le=MOST_BOTS)]
    behaviour: Annotated[Text, Field(json_schema_extra={"enum": list(BEHAVIOURS)})] = "careful"
    items: Annotated[int, Field(ge=1)] | None = None
    seed: int = 1


@dataclass(frozen=True)
class Simulation:
    """The bots of a simulation after it, its seconds, and what is amiss.

    ``difference`` says how the database differs from what the site acknowledged; empty if it does not.
    """

    crowd: list[Bot]
    seconds: float
    difference: str

    @property
    def errors(self) -> list[str]:
        """Return the error of each bot that failed."""
        return [f"{bot.name} ({bot.kind}): {bot.error}" for bot in self.crowd if bot.error]


def simulate(
    project: Project,
    *,
    n: int,
    behaviour: str | Mapping[str, float],
    seed: int,
    url: str,
    gold: Mapping[str, str] | None = None,
    items: int | None = None,
    concurrency: int = CONCURRENCY,
    think: float = 0.0,
    by: User | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Simulation:
    """Have bots annotate a project, and compare the database with it.

    Args:
        project: The project.
        n: The number of bots.
        behaviour: A behaviour, or shares of several.
        seed: Decides what the bots draw.
        url: The site, which runs on this database.
        gold: Documents as JSON by external ID (the project's own).
        items: The most items of each bot (all).
        concurrency: The number of bots at a time.
        think: The mean pause in seconds before each save.
        by: The person who started it.
        on_progress: Called with the submitted items, and an estimate of all.
    """
    people = enlist_bots(project=project, n=n, by=by)
    names = [name for name, _password in people]
    mix = {behaviour: 1.0} if isinstance(behaviour, str) else dict(behaviour)
    crowd = bots.make_bots(people, mix, seed=seed)
    before = set(count_stored_operations(project, names))
    totals = count_totals(project)
    total = min((items or totals.assignments) * n, max(totals.assignments - totals.submitted, 0))
    begun = time.monotonic()
    working = bots.run_bots(
        crowd,
        url,
        Plan(project.slug, gold if gold is not None else read_current_gold(project), items),
        concurrency=concurrency,
        think=think,
        patience=PATIENCE_SECONDS,
    )
    try:
        run_watched(working, lambda: on_progress(sum(len(bot.submitted) for bot in crowd), total))
    finally:
        retire_bots(names=names)
    return Simulation(list(crowd), time.monotonic() - begun, _describe_difference(project, crowd, before))


def _describe_difference(project: Project, crowd: list[Bot], before: set[tuple[int, str]]) -> str:
    """Return how the database differs from the answers of the site, or "".

    It must hold each acknowledged operation once, and nothing else of the bots.
    """
    names = [bot.name for bot in crowd]
    stored = count_stored_operations(project, names)
    acknowledged = {operation for bot in crowd for operation in bot.saved}
    lost = acknowledged - stored.keys()
    doubled = sum(times > 1 for times in stored.values())
    unheard = stored.keys() - acknowledged - before
    submitted = {annotation for bot in crowd for annotation in bot.submitted}
    submitted -= find_submitted_annotations(project, names)
    failed = any(bot.error for bot in crowd)
    if lost or doubled or submitted or (unheard and not failed):
        return (
            f"the database lacks {len(lost)} operations and {len(submitted)} items that were "
            f"acknowledged, holds {doubled} twice and {len(unheard)} that nobody sent"
        )
    return ""


def simulate_annotators(job: Job, report: Report) -> JobResult:
    """Have bots annotate a project on this site.

    Raises:
        RunFailed: No bot could work, or the database lacks something that was acknowledged.
    """
    options = SimulationOptions.model_validate(job.options)
    done = simulate(
        find_project(job, options.project),
        n=options.n,
        behaviour=options.behaviour,
        seed=options.seed,
        url=settings.SITE_URL,
        items=options.items,
        by=job.created_by,
        on_progress=report,
    )
    if done.difference:
        raise RunFailed(done.difference)
    if len(done.errors) == len(done.crowd):
        raise RunFailed(
            say(
                "no bot could work at %(site)s: %(problem)s",
                site=settings.SITE_URL,
                problem=done.errors[0],
            )
        )
    return JobResult(
        {
            "bots": len(done.crowd),
            "items": sum(len(bot.submitted) for bot in done.crowd),
            "operations": sum(len(bot.saved) for bot in done.crowd),
            "errors": done.errors[:SHOWN_ERRORS],
        }
    )
