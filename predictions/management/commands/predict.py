"""Compute the predictions of a served system on a dataset."""

import argparse
import sys
from dataclasses import asdict
from functools import partial
from typing import Any, get_args

from accounts.models import User
from foundation.errors import RunFailed
from jobs.commands.base import JobCommand, add_json, parse_count, parse_system_name
from jobs.progress import Job, run_job, wait, wait_for_system
from jobs.progress_bar import Bar
from modelserver.wire.schema import SaliencyMethod, SystemInfo
from predictions.actions.predictions import start_served_run
from predictions.actions.saliency import start_saliency
from predictions.explanations.saliency import build_highlight_options
from predictions.management.dataset_option import add_dataset, read_dataset_option
from predictions.models import Dataset, PredictionRun
from predictions.queries.language_models import Cost, estimate_cost, sum_counted_cost
from predictions.queries.predictions import count_progress
from predictions.queries.saliency import list_without_weights
from predictions.tasks import SLICE, enqueue_missing, enqueue_weights, predict_slice, weigh_slice


class Command(JobCommand):
    help = "Have workers compute a system's predictions on a dataset. Stored ones are not computed again."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_dataset(parser, "the questions to answer")
        parser.add_argument(
            "--system", required=True, type=parse_system_name, help="a system of the model server"
        )
        parser.add_argument("--wait", action="store_true", help="wait until all is done, with a progress bar")
        parser.add_argument(
            "--saliency", choices=get_args(SaliencyMethod), metavar="METHOD",
            help="then compute the saliency of words by METHOD, to highlight them in studies: %(choices)s; "
            "waits for the predictions",
        )  # fmt: skip
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="say where a language model's texts go and what the run costs at most; send nothing",
        )
        parser.add_argument(
            "--slice",
            type=parse_count,
            default=SLICE,
            metavar="N",
            help="questions per task at most (default: %(default)s); long ones are fewer",
        )
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        dataset, by = read_dataset_option(options)
        with Bar(f"{options['system']} on {dataset.name}", dataset.questions.count()) as bar:
            try:
                patient = options["wait"] or options["saliency"] is not None
                served = wait_for_system(options["system"], bar, patient=patient)
                if options["dry_run"]:
                    self._write_cost(dataset, served, as_json=options["json"])
                    return
                run = start_served_run(dataset=dataset, served=served, by=by)
                enqueue = partial(enqueue_missing, run, size=options["slice"])
                enqueued = enqueue()
                if patient:
                    job = run_job(
                        run, predict_slice, count_done=lambda: count_progress(run).done, enqueue=enqueue
                    )
                    wait(job, bar)
            except KeyboardInterrupt:
                bar.write("Stopped waiting. Enqueued work continues; run predict again to wait for it.")
                sys.exit(130)
        is_done, as_json = patient or not enqueued, options["json"]
        if not as_json:
            self.stdout.write(_describe_counts(run) if is_done else f"{run}: {enqueued} slices enqueued")
        if is_done:
            self._warn_of_failures(run)
        weighed = None
        if options["saliency"] is not None:
            weighed = self._compute_saliency(run, options["saliency"], options["slice"], by, as_json=as_json)
        if as_json:
            self.write_json(_describe_run(run, weighed))

    def _compute_saliency(
        self, run: PredictionRun, method: SaliencyMethod, size: int, by: User | None, *, as_json: bool
    ) -> int:
        """Wait for the saliency of all predictions; return how many have some.

        Raises:
            RunFailed: None has any.
        """
        run = start_saliency(run=run, options=build_highlight_options(method), by=by)
        total = run.predictions.count()
        job = Job(
            run_id=run.pk,
            task=weigh_slice,
            count_done=lambda: total - list_without_weights(run).count(),
            is_finished=lambda done: done >= total,
            enqueue=lambda: enqueue_weights(run, size=size),
        )
        with Bar(f"{run.system.name}: {method}", total) as bar:
            try:
                enqueue_weights(run, size=size)
                wait(job, bar)
            except KeyboardInterrupt:
                bar.write("Stopped waiting. Run predict again with the same --saliency to continue.")
                sys.exit(130)
        weighed = run.predictions.filter(explanation_weights__isnull=False).count()
        if not as_json:
            self.stdout.write(f"{run}: {weighed} of {total} predictions have weights by {method}")
        first = run.predictions.exclude(saliency_error="").select_related("question").order_by("pk").first()
        if first is not None:
            message = f"{first.question.external_id}: {first.saliency_error}"
            if not weighed:
                raise RunFailed(f"{run}: no prediction has saliency; the first, {message}")
            self.stderr.write(f"warning: {total - weighed} have none; the first, {message}")
        return weighed

    def _write_cost(self, dataset: Dataset, served: SystemInfo, *, as_json: bool) -> None:
        model = served.language_model
        if model is None:
            if as_json:
                self.write_json({"language_model": None, "recipient": None, "cost": None})
            else:
                self.stdout.write(f"{served.name} asks no language model: its predictions cost nothing")
            return
        cost = estimate_cost(dataset, served.name, served.revision, model)
        if as_json:
            self.write_json(
                {"language_model": model.model, "recipient": model.recipient, "cost": asdict(cost)}
            )
            return
        self.stdout.write(
            f"texts go to: {model.recipient or 'the model server alone'} ({model.model})\n"
            f"requests: {cost.requests}\ninput tokens, about: {cost.input_tokens}\n"
            f"output tokens, at most: {cost.output_tokens}\n"
            f"cost, at most about: {_format_money(cost)}"
        )

    def _warn_of_failures(self, run: PredictionRun) -> None:
        """Warn of failed questions; RunFailed if all failed."""
        counts = count_progress(run)
        first = run.failures.select_related("question").order_by("question_id").first()
        if first is not None:
            self.stderr.write(
                f"warning: {counts.failures} questions failed; the first, {first.question.external_id}: "
                f"{first.message}. Run predict again to retry them."
            )
            if not counts.predictions:
                raise RunFailed(f"{run}: every question failed")


def _describe_run(run: PredictionRun, weighed: int | None) -> dict[str, Any]:
    """Return a run with the keys of the REST API, its dataset by name."""
    run.refresh_from_db()
    cost = None if run.asked is None else sum_counted_cost(run, run.asked)
    return {
        "id": str(run.pk),
        "dataset": run.dataset.name,
        "system": run.system.name,
        "revision": run.revision,
        "status": run.status,
        **asdict(count_progress(run)),
        "with_saliency": weighed,
        "cost": None if cost is None else asdict(cost),
    }


def _describe_counts(run: PredictionRun) -> str:
    counts = count_progress(run)
    text = f"{run}: {counts.predictions} of {counts.questions} questions predicted"
    if run.asked is None:
        return text
    cost = sum_counted_cost(run, run.asked)
    return (
        f"{run}: {cost.input_tokens} tokens sent, {cost.output_tokens} received, "
        f"cost {_format_money(cost)}; {cost.stray} answers cite sentences that do not exist\n{text}"
    )


def _format_money(cost: Cost) -> str:
    return "unknown" if cost.money is None else f"{cost.money:.4f} {cost.currency}"
