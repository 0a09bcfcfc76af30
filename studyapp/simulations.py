"""The job that has bots take part in a study on this site."""

import time
from typing import Annotated

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from pydantic import Field

from foundation.errors import NotFound, RunFailed
from foundation.frozen_model import FrozenModel
from foundation.import_fields import Text
from foundation.messages import say
from foundation.simulated_people import run_watched
from jobs.actions.jobs import JobResult, Report
from jobs.models import Job
from studyapp.actions.links import create_link
from studyapp.link_tokens import resume_token
from studyapp.models import EntryLink, Mode, Participant, Study
from studyapp.policies import check_admission
from studyapp.queries.bots import condition_of, plan_of
from studyapp.simulation import walk
from studyapp.simulation.walk import BEHAVIOURS, Bot, Planted

MOST_BOTS = 200
CONCURRENCY = 4
SHOWN_ERRORS = 5


class SimulationOptions(FrozenModel):
    """The study, and how many bots of which behaviour take part in it.

    ``rehearsal`` is the rehearsal of the study that they walk, None for the study itself.
    """

    study: int
    rehearsal: int | None = None
    n: Annotated[int, Field(ge=1, le=MOST_BOTS)]
    behaviour: Annotated[Text, Field(json_schema_extra={"enum": list(BEHAVIOURS)})] = "honest"
    seed: int = 1


def simulate_participants(job: Job, report: Report) -> JobResult:
    """Have bots take part in a study, by a link of their own.

    A job that begins again lets the bots that it interrupted finish, and sends those that are missing.

    Raises:
        NotFound: The study was never launched.
        NotAdmitted: The study is not open.
        RunFailed: No bot could take part, or the database lacks what the site acknowledged.
    """
    options = SimulationOptions.model_validate(job.options)
    named = {"pk": options.study} if options.rehearsal is None else {
        "pk": options.rehearsal, "rehearsal_of": options.study,
    }  # fmt: skip
    study = Study.every.filter(workspace=job.workspace, **named).first()
    if study is None:
        raise NotFound(say("the study is not in this workspace any more"))
    plan = plan_of(study)
    label = f"bots of job {job.pk}"
    came = Participant.objects.filter(version__study=study, mode=Mode.BOT, link__label=label)
    crowd = _crowd(options, came)
    check_admission(EntryLink(study=study))
    _link, token = create_link(study=study, by=job.created_by, label=label, mode=Mode.BOT)
    address = settings.SITE_URL + reverse("studyapp:join", args=[token])
    planted = Planted({}, sync_to_async(condition_of)) if plan.blocks else None
    ended = options.n - len(crowd)
    finished: list[Bot] = []
    begun = time.monotonic()
    run_watched(
        walk.run_bots(
            crowd, address, plan, concurrency=CONCURRENCY, on_finish=finished.append, planted=planted
        ),
        lambda: report(ended + len(finished), options.n),
    )
    errors = [f"{bot.kind}: {bot.error}" for bot in crowd if bot.error]
    if crowd and len(errors) == len(crowd):
        raise RunFailed(
            say(
                "no bot could take part at %(site)s: %(problem)s",
                site=settings.SITE_URL,
                problem=errors[0],
            )
        )
    completed = came.filter(status=Participant.Status.COMPLETED).count()
    seen = sum(bool(bot.code) for bot in crowd)
    if completed < seen:
        raise RunFailed(
            say(
                "the database holds %(completed)s completed bots, but %(seen)s saw their code",
                completed=completed,
                seen=seen,
            )
        )
    return JobResult(
        {
            "study": job.subject,
            "bots": came.count(),
            "completed": completed,
            "seconds": round(time.monotonic() - begun, 1),
            "errors": errors[:SHOWN_ERRORS],
        }
    )


def _crowd(options: SimulationOptions, came: QuerySet[Participant]) -> list[Bot]:
    """Return the bots that have not finished: the interrupted ones first.

    Bots that leave on purpose look like interrupted ones, and are not called back.
    """
    crowd = walk.make_bots(options.n, {options.behaviour: 1.0}, seed=options.seed)[came.count() :]
    if BEHAVIOURS[options.behaviour].leaves:
        return crowd
    interrupted = came.filter(status=Participant.Status.ACTIVE)
    back = walk.make_bots(interrupted.count(), {options.behaviour: 1.0}, seed=options.seed + 1)
    for bot, participant in zip(back, interrupted, strict=True):
        bot.entry = settings.SITE_URL + reverse("studyapp:resume", args=[resume_token(participant)])
    return [*back, *crowd]
