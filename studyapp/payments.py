"""The job that approves and pays participants on their platform."""

import time
from datetime import timedelta

from django.conf import settings

from foundation.errors import NotFound
from foundation.frozen_model import FrozenModel
from foundation.messages import say
from jobs.actions.jobs import JobCancelled, JobContinues, JobResult, Report
from jobs.models import Job
from studyapp.actions.payments import Payer
from studyapp.models import Payment, Study
from studyapp.queries.participants.payments import count_payment_states
from studyapp.web.prolific.api import Stopped, connect_to_prolific

TURN_SECONDS = 300  # of a task, which may take 600
STEP_SECONDS = 0.5  # between two looks at whether the job was cancelled
POLL_SECONDS = 5.0
APPROVAL_ROUNDS = 3  # of approvals whose answers were lost


class PayOptions(FrozenModel):
    """The study whose planned payments are carried out."""

    study: int


def pay_participants(job: Job, report: Report) -> JobResult:
    """Carry out the planned payments of a study.

    A job that begins again asks first what became of those that were under way.

    Raises:
        NotFound: The study is gone.
        NotSent: There is no key, or Prolific cannot be reached; what is planned stays planned.
    """
    options = PayOptions.model_validate(job.options)
    study = Study.objects.filter(pk=options.study, workspace=job.workspace).first()
    if study is None:
        raise NotFound(say("the study is not in this workspace any more"))
    try:
        settle_payments(study, report)
    except Stopped as error:
        raise JobContinues from error
    counts = count_payment_states(study)
    failures = counts.get(Payment.State.FAILED, 0) + counts.get(Payment.State.UNKNOWN, 0)
    return JobResult({"study": study.slug, "failures": failures, "states": counts})


def settle_payments(study: Study, report: Report, *, turn: float = TURN_SECONDS) -> None:
    """Send what is planned, and wait until nothing is in doubt.

    Args:
        study: The study.
        report: Called with the settled payments; raises if the job was cancelled.
        turn: The seconds after which the work stops at the next safe point.

    Raises:
        NotSent: See `pay_participants`; `Stopped` if the turn is over.
    """
    end = time.monotonic() + turn
    total = Payment.objects.filter(study=study, state__in=("planned", "sent")).count()
    settled = 0

    def progress(number: int) -> None:
        nonlocal settled
        settled = number
        report(min(number, total), total)
        if time.monotonic() > end:
            raise Stopped(say("the turn is over"))

    def pause(seconds: float) -> None:
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            if now > end:
                raise Stopped(say("the turn is over"))
            time.sleep(min(STEP_SECONDS, until - now))
            try:
                report(min(settled, total), total)
            except JobCancelled as error:
                raise Stopped(str(error)) from error

    settle = timedelta(seconds=settings.PROLIFIC_SETTLE_SECONDS)
    with connect_to_prolific(
        url=settings.PROLIFIC_API_URL, key=settings.PROLIFIC_API_TOKEN, pause=pause
    ) as api:
        payer = Payer(study=study, api=api, settle=settle, progress=progress)
        for _round in range(APPROVAL_ROUNDS):
            payer.run()
            while payer.look_again():
                pause(min(POLL_SECONDS, settle.total_seconds()))
            if not Payment.objects.filter(study=study, state=Payment.State.PLANNED).exists():
                return
