"""Bots in a study: the job, and what it shares with its command."""

import time
from collections.abc import Sequence
from typing import Annotated

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from pydantic import Field

from foundation.errors import NotFound, RunFailed
from foundation.frozen_model import FrozenModel
from foundation.imports.import_fields import Text
from foundation.messages import say
from foundation.simulated_people import run_watched
from jobs.actions.jobs import JobResult, Report
from jobs.models import Job
from modelserver.systems.language.paid_requests import CHARACTERS_PER_TOKEN
from modelserver.wire.schema import Usage
from studyapp.actions.links import create_link
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.questions.question import Question, list_question_parts
from studyapp.definition.task_designs.task_questions import list_task_pages
from studyapp.definition.tasks import Simulation
from studyapp.link_tokens import resume_token
from studyapp.models import EntryLink, Mode, Participant, Study
from studyapp.policies import check_admission
from studyapp.queries.bots import build_study_plan, list_shown_conditions
from studyapp.simulation.behaviours import BEHAVIOURS
from studyapp.simulation.bots import Bot, make_bots
from studyapp.simulation.language_model import Respondent
from studyapp.simulation.page_text import read_text
from studyapp.simulation.planted_effects import Planted
from studyapp.simulation.walk import run_bots
from studyapp.web.html.stimulus import render_stimulus

MOST_BOTS = 200
CONCURRENCY = 4
SHOWN_ERRORS = 5
ESTIMATED_ITEMS = 50  # of each condition, for an estimate of tokens


BehaviourName = Annotated[
    Text, Field(json_schema_extra={"enum": [*BEHAVIOURS]}, pattern=f"^({'|'.join(BEHAVIOURS)})$")
]


class SimulationOptions(FrozenModel):
    """The study, and how many bots of which behaviour take part in it.

    ``rehearsal`` is the rehearsal of the study that they walk, None for the study itself.
    """

    study: int
    rehearsal: int | None = None
    n: Annotated[int, Field(ge=1, le=MOST_BOTS)]
    behaviour: BehaviourName = "honest"
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
    plan = build_study_plan(study)
    label = f"bots of job {job.pk}"
    came = Participant.objects.filter(version__study=study, mode=Mode.BOT, link__label=label)
    crowd = make_crowd(options.n, options.behaviour, seed=options.seed, came=came, url=settings.SITE_URL)
    check_admission(EntryLink(study=study))
    _link, token = create_link(
        study=study, by=job.created_by, label=label, mode=Mode.BOT, behaviour=options.behaviour
    )
    address = settings.SITE_URL + reverse("studyapp:join", args=[token])
    planted = Planted({}, sync_to_async(list_shown_conditions)) if plan.blocks else None
    ended = options.n - len(crowd)
    finished: list[Bot] = []
    begun = time.monotonic()
    run_watched(
        run_bots(crowd, address, plan, concurrency=CONCURRENCY, on_finish=finished.append, planted=planted),
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


def make_crowd(n: int, behaviour: str, *, seed: int, came: QuerySet[Participant], url: str) -> list[Bot]:
    """Return the bots that have not finished: the interrupted ones first.

    Bots that leave on purpose look like interrupted ones, and are not called back.

    Args:
        n: The number of bots in all.
        behaviour: That of all of them.
        seed: The seed of their generators.
        came: The bots that have entered before.
        url: The address of the site.
    """
    crowd = make_bots(n, {behaviour: 1.0}, seed=seed)[came.count() :]
    if behaviour in BEHAVIOURS and BEHAVIOURS[behaviour].leaves:
        return crowd
    interrupted = came.filter(status=Participant.Status.ACTIVE)
    back = make_bots(interrupted.count(), {behaviour: 1.0}, seed=seed + 1)
    for bot, participant in zip(back, interrupted, strict=True):
        bot.entry = url + reverse("studyapp:resume", args=[resume_token(participant)])
    return [*back, *crowd]


def estimate_usage(content: FrozenStudy, n: int, model: Respondent) -> tuple[int, Usage]:
    """Estimate the requests and tokens of participants that a model simulates.

    Tokens are a fourth of the characters; those of items are the mean over conditions and items. A page that
    the site refuses, or an answer that is not valid, comes on top.

    Args:
        content: The frozen study.
        n: The number of participants.
        model: The language model.
    """
    surveys: list[Sequence[Question]] = [
        content.screening,
        content.comprehension_questions,
        content.pre_survey,
        content.post_survey,
    ]
    asked = [_count_characters(questions) for questions in surveys if questions]
    shown = [
        len(read_text(render_stimulus(content, condition.name, item.id)).text)
        for condition in content.conditions
        for item in content.items[:ESTIMATED_ITEMS]
    ]
    items = (len(content.practice) + content.pages) * max(1, len(list_task_pages(content.task)))
    if isinstance(content.task, Simulation):
        items += content.task.blocks.learning  # their second pages
    instructions = content.instructions_for(content.viewer(content.conditions))
    page = sum(shown) / len(shown) + len(instructions) + _count_characters(content.item_questionnaire)
    requests = n * (len(asked) + items)
    asks = model.language_model
    characters = n * (sum(asked) + items * page * (1 + model.remember)) + requests * asks.prompt_characters
    return requests, Usage(
        input_tokens=round(characters / CHARACTERS_PER_TOKEN),
        output_tokens=requests * asks.most_output_tokens,
    )


def _count_characters(questions: Sequence[Question]) -> int:
    return sum(
        len(part.text) + sum(len(value) + len(label) for value, label in part.choices)
        for part in list_question_parts(questions)
    )
