"""Command line of the analysis: `python -m analysis COMMAND`.

Exit status: 0 done, 1 the job failed (the reason is one line on standard error), 2 bad usage.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from analysis.bundle import MODES, load_bundle, load_scores
from analysis.errors import AnalysisError, InputError
from analysis.page import write_page
from analysis.plain import relate_tables
from analysis.ranks import Direction
from analysis.reading import read_json, sha256
from analysis.report import build_correlation_report, build_report
from analysis.study import Options, analyse
from analysis.xqa import score


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except AnalysisError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _report(options: argparse.Namespace) -> None:
    """Analyses a bundle and writes the report."""
    settings = Options(options.seed, options.resamples, options.mode, options.study_version)
    with _progress() as progress:
        reading = progress.add_task("Reading the bundle", total=None)
        bundle = load_bundle(options.bundle)
        scores = load_scores(options.scores) if options.scores else None
        if options.scores:
            bundle.hashes[options.scores.name] = sha256(options.scores)
        progress.update(reading, total=1, completed=1)
        resampling = progress.add_task("Resampling", total=2 * settings.resamples)
        study = analyse(bundle, settings, scores, lambda count: progress.advance(resampling, count))
        writing = progress.add_task("Drawing and writing", total=None)
        paths = write_page(build_report(study), options.out)
        progress.update(writing, total=1, completed=1)
    print(paths[0])


def _xqa_scores(options: argparse.Namespace) -> None:
    """Prints the official scores as JSON."""
    gold, predictions = read_json(options.gold), read_json(options.predictions)
    if not isinstance(gold, list):
        raise InputError(options.gold, "must be a JSON list of questions")
    try:
        scores = score(gold, predictions)
    except ValueError as error:
        raise AnalysisError(f"{options.gold} with {options.predictions}: {error}") from None
    for part, what in (("answer", "answer"), ("sp", "fact list")):
        given = predictions.get(part, {})
        missing = sum(question["_id"] not in given for question in gold)
        if missing:
            print(f"note: {missing} of {len(gold)} questions have no {what}; they count 0", file=sys.stderr)
    print(json.dumps(scores, indent=2))


def _correlate(options: argparse.Namespace) -> None:
    """Relates two plain tables and writes rank table and correlations."""
    wanted = dict(options.wanted or [])
    rng = np.random.default_rng(options.seed)
    relations = relate_tables(options.human, options.model, wanted, rng=rng)
    sources = {str(path.name): sha256(path) for path in (options.human, options.model)}
    print(write_page(build_correlation_report(relations, sources), options.out)[0])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analysis", description="Statistics on plain files.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    report = commands.add_parser("report", help="the report on a study, from its export bundle")
    report.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder that export_results wrote")
    report.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the report")
    report.add_argument("--scores", type=Path, metavar="FILE.json", help="model scores, not the bundle's own")
    report.add_argument("--seed", type=_natural, default=1, help="seed of the bootstrap (default 1)")
    report.add_argument(
        "--resamples",
        type=_natural,
        default=2000,
        help="bootstrap replicates (default 2000); 0: no intervals",
    )
    report.add_argument("--mode", choices=MODES, help="default: the first of live, pilot, bot that has data")
    report.add_argument(
        "--study-version", type=_natural, metavar="N", help="default: the newest version that has data"
    )
    report.set_defaults(command=_report)

    scores = commands.add_parser("xqa-scores", help="HotpotQA's official scores, as JSON")
    scores.add_argument("--gold", type=Path, required=True, metavar="GOLD.json")
    scores.add_argument("--predictions", type=Path, required=True, metavar="PRED.json")
    scores.set_defaults(command=_xqa_scores)

    correlate = commands.add_parser("correlate", help="rank table and correlations of two plain tables")
    correlate.add_argument(
        "--human", type=Path, required=True, metavar="HUMAN.csv", help="measures by system"
    )
    correlate.add_argument("--model", type=Path, required=True, metavar="MODEL.csv", help="scores by system")
    correlate.add_argument("--out", type=Path, required=True, metavar="DIR")
    correlate.add_argument(
        "--wanted",
        type=_direction,
        action="append",
        metavar="COLUMN=higher|lower",
        help="which way is better for a column that is not known by name; may be given again",
    )
    correlate.add_argument(
        "--seed", type=_natural, default=1, help="seed of sampled permutations (default 1)"
    )
    correlate.set_defaults(command=_correlate)
    return parser


def _natural(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return value


def _direction(text: str) -> tuple[str, Direction]:
    column, _, direction = text.rpartition("=")
    if column and direction == "higher":
        return column, "higher"
    if column and direction == "lower":
        return column, "lower"
    raise argparse.ArgumentTypeError(f"{text!r} is not COLUMN=higher or COLUMN=lower")


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )


if __name__ == "__main__":
    sys.exit(main())
