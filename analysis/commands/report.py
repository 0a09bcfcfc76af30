"""The command ``report``: a page with tables and figures from a bundle."""

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..io.whole_files import hash_file
from ..participants.bundle import load_bundle, load_scores, require_folder
from ..planning.declared_plan import load_plan
from ..report.build import build_report
from ..report.page import write_page
from ..scores.per_question import read_question_scores
from ..study.analysis import Options, analyse
from .options import Count, Mode


def write_report(
    bundle: Path,
    /,
    *,
    out: Path,
    scores: Path | None = None,
    question_scores: Path | None = None,
    plan: Path | None = None,
    seed: Count = 1,
    resamples: Count = 2000,
    mode: Mode | None = None,
    study_version: Count | None = None,
) -> None:
    """Analyse a study and write its report.

    Args:
        bundle: Folder that export_results wrote.
        out: Folder for the report.
        scores: Model scores (JSON) that replace those of the bundle.
        question_scores: Contribution of each question to the model scores (CSV, Parquet or JSON lines).
        plan: Declared plan (JSON): comparisons and margins; without it the study's own.
        seed: Seed of the bootstrap.
        resamples: Bootstrap replicates; 0 for no confidence intervals.
        mode: Participants to analyse; without it the first of live, pilot and bot that has data.
        study_version: Version to analyse; without it the newest that has data.
    """
    options = Options(seed, resamples, mode, study_version)
    require_folder(bundle)  # before a progress bar is drawn
    with _build_progress_bar() as progress:
        reading = progress.add_task("Reading the bundle", total=None)
        data = load_bundle(bundle)
        replaced_scores = load_scores(scores) if scores else None
        questions = read_question_scores(question_scores) if question_scores else None
        for path in filter(None, (scores, question_scores, plan)):
            data.hashes[path.name] = hash_file(path)
        progress.update(reading, total=1, completed=1)
        resampling = progress.add_task("Resampling", total=2 * resamples)
        study = analyse(
            data, options, replaced_scores, questions, lambda count: progress.advance(resampling, count)
        )
        writing = progress.add_task("Drawing and writing", total=None)
        paths = write_page(build_report(study, load_plan(plan) if plan else None), out)
        progress.update(writing, total=1, completed=1)
    sys.stdout.write(f"{paths[0]}\n")


def _build_progress_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
