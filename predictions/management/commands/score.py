"""Score systems on a dataset."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accounts.models import User
from analysis.io.whole_files import replace_file
from foundation.errors import NotFound, RunFailed
from foundation.imports.whole_files import require_folder
from jobs.commands.base import JobCommand, add_json, parse_count, parse_system_name
from jobs.progress import Job, wait
from jobs.progress_bar import Bar
from jobs.queue import Slice
from predictions.actions.scores import (
    find_farm_obstacle,
    find_server_obstacle,
    retry_failed_reductions,
    score_run,
)
from predictions.management.dataset_option import add_dataset, read_dataset_option
from predictions.models import Dataset, PredictionRun, Score
from predictions.queries.predictions import find_latest_run, list_latest_runs
from predictions.queries.reductions import PendingReductions, count_answered_inputs, find_pending_reductions
from predictions.scores import scoring
from predictions.scores.score_document import build_scores_document
from predictions.tasks import SLICE, SLICE_TOKENS, enqueue_reductions, reduce_slice


class Command(JobCommand):
    help = (
        "Score the latest predictions of systems: the standard HotpotQA scores, FaRM and LocA. FaRM asks the "
        "model server for answers on reduced contexts, through the workers; each distinct one is asked once."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_dataset(parser, "the questions that were answered")
        parser.add_argument(
            "--system", nargs="+", action="extend", type=parse_system_name, metavar="NAME", default=[],
            help="the systems (default: all with finished predictions)",
        )  # fmt: skip
        parser.add_argument(
            "--slice", type=parse_count, default=SLICE, metavar="N",
            help="predictions per task at most (default: %(default)s); long ones are fewer",
        )  # fmt: skip
        parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the scores as JSON too")
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        out: Path | None = options["out"]
        require_folder(out)
        dataset, by = read_dataset_option(options)
        runs = _find_runs(dataset, list(dict.fromkeys(options["system"])))
        try:
            scores = [_compute_scores(run, options["slice"], by) for run in runs]
        except KeyboardInterrupt:
            self.stderr.write("Stopped. Stored answers remain; run score again to go on.")
            sys.exit(130)
        document = build_scores_document(score.run for score in scores)
        if options["json"]:
            self.write_json(document)
        else:
            self.stdout.write(_format_table(scores))
        for score in scores:
            for line in _format_reasons(score):
                self.stderr.write(line)
        if out is not None:
            replace_file(out, json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def _find_runs(dataset: Dataset, names: Sequence[str]) -> list[PredictionRun]:
    """Return the runs to score.

    Raises:
        NotFound: A system has no finished predictions.
    """
    runs = (
        [run for name in names if (run := find_latest_run(dataset, name))]
        if names
        else list_latest_runs(dataset)
    )
    without = sorted(set(names) - {run.system.name for run in runs})
    if without or not runs:
        who = ", ".join(without) or "any system"
        raise NotFound(
            f"there are no finished predictions of {who} on {dataset.name}; make them with predict, or bring "
            "them in with import_predictions"
        )
    return runs


def _compute_scores(run: PredictionRun, size: int, by: User | None) -> Score:
    """Compute what FaRM needs, then all scores, and return them."""
    obstacle = find_farm_obstacle(run)
    if obstacle is None:
        retry_failed_reductions(run=run)
        try:
            _answer_reductions(run, size)
        except RunFailed as error:
            obstacle = str(error)
    return score_run(run=run, farm_reason=obstacle, by=by)


def _answer_reductions(run: PredictionRun, size: int) -> None:
    """Wait until every reduced input is answered.

    Raises:
        RunFailed: The server cannot answer them.
    """
    pending = _find_pending(run, size)
    if not pending.slices:
        return

    def enqueue(parts: Sequence[Slice]) -> int:
        obstacle = find_server_obstacle(run)
        if obstacle:
            raise RunFailed(obstacle)
        return enqueue_reductions(run, parts)

    job = Job(
        run_id=run.pk,
        task=reduce_slice,
        count_done=lambda: count_answered_inputs(run),
        is_finished=lambda done: done >= pending.total,
        enqueue=lambda: enqueue(_find_pending(run, size).slices),
    )
    with Bar(f"{run.system.name}: reduced contexts", pending.total) as bar:
        enqueue(pending.slices)
        wait(job, bar)


def _find_pending(run: PredictionRun, size: int) -> PendingReductions:
    return find_pending_reductions(run, tokens=SLICE_TOKENS, most=size)


def _format_table(scores: Sequence[Score]) -> str:
    """Return a line per score and a column per system, in per cent."""
    names = [score.run.system.name for score in scores]
    widths = [max(len(name), 7) for name in names]
    first = max(map(len, scoring.KEYS))
    lines = [
        " ".join([" " * first, *(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))])
    ]
    for key in scoring.KEYS:
        cells = [
            f"{'–' if score.values[key] is None else format(100 * score.values[key], '.2f'):>{width}}"
            for score, width in zip(scores, widths, strict=True)
        ]
        lines.append(" ".join([f"{key:{first}}", *cells]))
    return "\n".join(lines)


def _format_reasons(score: Score) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for key, reason in score.reasons.items():
        by_reason.setdefault(reason, []).append(key)
    return [f"{score.run.system.name}: no {', '.join(keys)}: {reason}" for reason, keys in by_reason.items()]
