"""Labels of the states of runs: a run with failures is not done."""

from typing import NamedTuple

from django.utils.translation import gettext, ngettext

from jobs.models import Job, SlicedRun

Status = SlicedRun.Status
TONES = {
    Status.PENDING: "wait",
    Status.RUNNING: "info",
    Status.PAUSED: "wait",
    Status.DONE: "good",
    Status.FAILED: "bad",
    Status.CANCELLED: "quiet",
}


class RunState(NamedTuple):
    """The label of a state, and its tone: good, wait, bad, info or quiet."""

    label: str
    tone: str


def run_state(run: SlicedRun, failures: int) -> RunState:
    """Return the state of a run of which ``failures`` items have no result."""
    return _compute_state(SlicedRun.Status(run.status), failures)


def compute_job_state(job: Job) -> RunState:
    """Return the state of a job, whose result may count failures.

    The state of a file with mistakes is "refused", although the job that read it is done.
    """
    result = job.result or {}
    if result.get("refused_count"):
        return RunState(gettext("Refused"), "bad")
    return _compute_state(Status(job.status), result.get("failures", 0))


def _compute_state(status: SlicedRun.Status, failures: int) -> RunState:
    if status == Status.DONE and failures:
        words = ngettext("Done with %(number)d failure", "Done with %(number)d failures", failures)
        return RunState(words % {"number": failures}, "wait")
    return RunState(str(status.label), TONES[status])
