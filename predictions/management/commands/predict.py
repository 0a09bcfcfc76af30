"""Have a system of the model server answer a dataset."""

import argparse
import sys
from typing import Any, get_args

from foundation.errors import RunFailed
from jobs.base_command import JobCommand, count, system_name
from jobs.progress import Job, wait, wait_for_system
from jobs.progress_bar import Bar
from modelserver.wire.schema import SaliencyMethod
from predictions.actions.predictions import start_run
from predictions.actions.saliency import start_saliency
from predictions.models import PredictionRun
from predictions.queries.data import dataset_named
from predictions.queries.predictions import progress
from predictions.queries.saliency import without_weights
from predictions.saliency import highlighting
from predictions.tasks import SLICE, enqueue_missing, enqueue_weights, predict_slice, weigh_slice


class Command(JobCommand):
    help = "Have workers compute a system's predictions on a dataset; what exists already is not done again."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--dataset", required=True, help="the questions to answer")
        parser.add_argument("--system", required=True, type=system_name, help="a system of the model server")
        parser.add_argument("--wait", action="store_true", help="stay until all is done, with a progress bar")
        parser.add_argument(
            "--saliency", choices=get_args(SaliencyMethod), metavar="METHOD",
            help="then have the system say by METHOD which words counted, to be highlighted in studies: "
            "%(choices)s; waits for the predictions",
        )  # fmt: skip
        parser.add_argument(
            "--slice",
            type=count,
            default=SLICE,
            metavar="N",
            help="questions per task at most (default: %(default)s); long ones are fewer",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        dataset = dataset_named(options["dataset"])
        with Bar(f"{options['system']} on {dataset.name}", dataset.questions.count()) as bar:
            try:
                patient = options["wait"] or options["saliency"] is not None
                served = wait_for_system(options["system"], bar, patient=patient)
                run = start_run(dataset=dataset, system=served.name, revision=served.revision)
                enqueued = enqueue_missing(run, size=options["slice"])
                if patient:
                    wait(_job(run, options["slice"]), bar)
            except KeyboardInterrupt:
                bar.say("Stopped waiting. What is enqueued goes on; run predict again to take it up.")
                sys.exit(130)
        if enqueued and not patient:
            self.stdout.write(f"{run}: {enqueued} slices enqueued")
            return
        self._tell(run)
        if options["saliency"] is not None:
            self._weigh(run, options["saliency"], options["slice"])

    def _weigh(self, run: PredictionRun, method: SaliencyMethod, size: int) -> None:
        """Have the predictions' words weighed and wait until they are. Raises RunFailed where none is."""
        run = start_saliency(run=run, options=highlighting(method))
        total = run.predictions.count()
        job = Job(
            run_id=run.pk,
            task=weigh_slice,
            done=lambda: total - without_weights(run).count(),
            finished=lambda done: done >= total,
            enqueue=lambda: enqueue_weights(run, size=size),
        )
        with Bar(f"{run.system.name}: {method}", total) as bar:
            try:
                enqueue_weights(run, size=size)
                wait(job, bar)
            except KeyboardInterrupt:
                bar.say("Stopped waiting. Run predict again with the same --saliency to go on.")
                sys.exit(130)
        weighed = run.predictions.filter(explanation_weights__isnull=False).count()
        self.stdout.write(f"{run}: {weighed} of {total} predictions have weights by {method}")
        first = run.predictions.exclude(saliency_error="").select_related("question").order_by("pk").first()
        if first is not None:
            said = f"{first.question.external_id}: {first.saliency_error}"
            if not weighed:
                raise RunFailed(f"{run}: no prediction has saliency; the first, {said}")
            self.stderr.write(f"warning: {total - weighed} have none; the first, {said}")

    def _tell(self, run: PredictionRun) -> None:
        counts = progress(run)
        self.stdout.write(f"{run}: {counts.predictions} of {counts.questions} questions predicted")
        first = run.failures.select_related("question").order_by("question_id").first()
        if first is not None:
            self.stderr.write(
                f"warning: {counts.failures} questions failed; the first, {first.question.external_id}: "
                f"{first.message}. Run predict again to try them once more."
            )
            if not counts.predictions:
                raise RunFailed(f"{run}: every question failed")


def _job(run: PredictionRun, size: int) -> Job:
    def finished(done: int) -> bool:
        run.refresh_from_db(fields=["status", "error"])
        if run.status == PredictionRun.Status.FAILED:
            raise RunFailed(f"{run}: {run.error}")
        if run.status == PredictionRun.Status.CANCELLED:
            raise RunFailed(f"{run}: cancelled")
        return run.status == PredictionRun.Status.DONE

    return Job(
        run_id=run.pk,
        task=predict_slice,
        done=lambda: progress(run).done,
        finished=finished,
        enqueue=lambda: enqueue_missing(run, size=size),
    )
