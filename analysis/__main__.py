"""Command line of the analysis: `python -m analysis COMMAND`.

Exit status: 0 done, 1 the job failed (the reason is one line on standard error), 2 bad usage.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias, get_args

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .commands import alignment
from .commands import counterfactuals as reasons
from .commands import faithfulness as faithfulness
from .commands import visual_bias as visual_bias
from .commands.correlate import relate_tables
from .commands.planning import TRAITS, build_power_page, from_pilot, looks_text
from .io.errors import AnalysisError, InputError
from .io.tabular_files import read_json, sha256
from .participants.bundle import MODES, load_bundle, load_scores
from .planning.declared_plan import load_plan
from .planning.preregistration import Plan, load_frozen, preregistration
from .planning.sample_size import assumed, design_sentence, plan_size
from .report.build import build_correlation_report, build_report
from .report.page import write_page, write_text
from .report.tables import csv_text
from .scores.hotpotqa import score, score_each
from .scores.per_question import read_question_scores
from .stats.rank_agreement import Direction
from .stats.sequential import Spending, boundaries
from .study.analysis import Options, analyse

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


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
        questions = read_question_scores(options.question_scores) if options.question_scores else None
        for path in filter(None, (options.scores, options.question_scores, options.plan)):
            bundle.hashes[path.name] = sha256(path)
        progress.update(reading, total=1, completed=1)
        resampling = progress.add_task("Resampling", total=2 * settings.resamples)
        study = analyse(
            bundle, settings, scores, questions, lambda count: progress.advance(resampling, count)
        )
        writing = progress.add_task("Drawing and writing", total=None)
        plan = load_plan(options.plan) if options.plan else None
        paths = write_page(build_report(study, plan), options.out)
        progress.update(writing, total=1, completed=1)
    print(paths[0])


def _xqa_scores(options: argparse.Namespace) -> None:
    """Prints the official scores as JSON; writes those of each question where asked."""
    gold, predictions = read_json(options.gold), read_json(options.predictions)
    if not isinstance(gold, list):
        raise InputError(options.gold, "must be a JSON list of questions")
    try:
        scores = score(gold, predictions)
    except ValueError as error:
        raise AnalysisError(f"{options.gold} with {options.predictions}: {error}") from None
    if options.questions:
        rows = [(options.system, name, *own.values()) for name, own in score_each(gold, predictions)]
        write_text(options.questions, csv_text(("system", "question_id", *scores), rows))
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
    relations = relate_tables(options.human, options.model, wanted, rng=rng, resamples=options.resamples)
    sources = {str(path.name): sha256(path) for path in (options.human, options.model)}
    print(write_page(build_correlation_report(relations, sources), options.out)[0])


def _print_result(options: argparse.Namespace) -> None:
    """Prints what the command's function found as JSON, and its notes."""
    found, notes = options.result(options)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    print(json.dumps(found, indent=2, ensure_ascii=False))


def _visual_bias(options: argparse.Namespace) -> None:
    """Prints tables on image pairs and their labels, and the same as JSON below them."""
    tables, found, notes = visual_bias.result(options)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if not options.json:
        print(tables, end="\n\n")
    print(json.dumps(found, indent=2, ensure_ascii=False))


def _power(options: argparse.Namespace) -> None:
    """Finds the sample size by simulation; prints a sentence, or writes a page."""
    if options.pilot is not None:
        chosen = Options(options.seed, 0, options.mode, options.study_version)
        bundle = load_bundle(options.pilot)
        population, items, source = from_pilot(bundle, options.measure, chosen, normal=options.normal)
    else:
        population, source = assumed(
            options.participant_sd, options.item_sd, options.residual_sd, options.mean_share
        )
        items = 25
    design = plan_size(
        population,
        effects=options.effect if len(options.effect) > 1 else [0.0, *options.effect],
        items=options.items or items,
        target=options.target,
        alpha=options.alpha,
        simulations=options.simulations,
        seed=options.seed,
        source=source,
        unit=TRAITS[options.measure].unit,
        participants=options.participants or (),
    )
    print(design_sentence(design))
    if options.out is not None:
        print(write_page(build_power_page(design), options.out)[0])


def _looks(options: argparse.Namespace) -> None:
    """Prints boundaries for looks at a running study, what they cost, and the decision."""
    try:
        bounds = boundaries(options.fractions, spending=options.spending, alpha=options.alpha)
        print(looks_text(bounds, options.observed or (), options.power))
    except ValueError as error:
        raise AnalysisError(str(error)) from None


def _preregister(options: argparse.Namespace) -> None:
    """Prints the pre-registration of a frozen study."""
    plan = load_plan(options.plan) if options.plan else Plan()
    print(preregistration(load_frozen(options.bundle, options.study_version), plan), end="")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analysis", description="Statistics on plain files.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _report_command(commands)
    _scores_command(commands)
    _correlate_command(commands)
    faithfulness.add_commands(commands, _print_result)
    visual_bias.add_command(commands, _visual_bias)
    alignment.add_command(commands, _print_result, _natural)
    reasons.add_command(commands, _print_result)
    _design_commands(commands)
    return parser


def _report_command(commands: _Commands) -> None:
    report = commands.add_parser("report", help="the report on a study, from its export bundle")
    report.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder that export_results wrote")
    report.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the report")
    report.add_argument("--scores", type=Path, metavar="FILE.json", help="model scores, not the bundle's own")
    report.add_argument(
        "--question-scores",
        type=Path,
        metavar="FILE",
        help="table of what each question adds to the model scores (CSV, Parquet or JSON lines)",
    )
    report.add_argument("--plan", type=Path, metavar="PLAN.json", help="what was declared beforehand")
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


def _scores_command(commands: _Commands) -> None:
    scores = commands.add_parser("xqa-scores", help="HotpotQA's official scores, as JSON")
    scores.add_argument("--gold", type=Path, required=True, metavar="GOLD.json")
    scores.add_argument("--predictions", type=Path, required=True, metavar="PRED.json")
    scores.add_argument(
        "--questions", type=Path, metavar="OUT.csv", help="also write what each question adds, for the report"
    )
    scores.add_argument("--system", default="system", help="name of the system in that table")
    scores.set_defaults(command=_xqa_scores)


def _correlate_command(commands: _Commands) -> None:
    correlate = commands.add_parser("correlate", help="rank table and correlations of two plain tables")
    correlate.add_argument(
        "--human",
        type=Path,
        required=True,
        metavar="HUMAN.csv",
        help="measures by system, or by system and participant",
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
        "--seed", type=_natural, default=1, help="seed of permutations and of the bootstrap (default 1)"
    )
    correlate.add_argument(
        "--resamples", type=_natural, default=2000, help="bootstrap replicates of participants (default 2000)"
    )
    correlate.set_defaults(command=_correlate)


def _design_commands(commands: _Commands) -> None:
    power = commands.add_parser("power", help="sample size by simulation, from a pilot or from assumptions")
    add = power.add_argument
    add("--pilot", type=Path, metavar="BUNDLE", help="bundle of a pilot to take people and trials from")
    add("--normal", action="store_true", help="normal people with the pilot's spreads, for small pilots")
    add("--measure", choices=TRAITS, default="agreement", help="what is measured (default: %(default)s)")
    add(
        "--effect", type=_numbers, required=True, metavar="E[,E…]",
        help="shift to find, or one shift per condition; 0.1 is ten points of a share",
    )  # fmt: skip
    add("--items", type=_positive, help="items per participant (default: the pilot's, or 25)")
    add(
        "--participants",
        type=_sizes,
        metavar="N[,N…]",
        help="sizes of the curve (default: around the result)",
    )
    add("--target", type=float, default=0.8, help="power to reach (default: %(default)s)")
    add("--alpha", type=float, default=0.05, help="two-sided, Holm over the contrasts (default: %(default)s)")
    add("--simulations", type=_positive, default=2000, help="simulated studies (default: %(default)s)")
    add("--participant-sd", type=float, help="without a pilot: spread of people's own levels")
    add("--residual-sd", type=float, help="spread of single trials; not for a yes-or-no measure")
    add("--mean-share", type=float, help="mean of a yes-or-no measure")
    add("--item-sd", type=float, default=0.0, help="spread of items (default: %(default)s)")
    add("--mode", choices=MODES, help="of the pilot")
    add("--study-version", type=_natural, metavar="N", help="of the pilot")
    add("--seed", type=_natural, default=1)
    add("--out", type=Path, metavar="DIR", help="folder for a page with the curve")
    power.set_defaults(command=_power)

    looks = commands.add_parser("looks", help="boundaries for looks at a running study, by alpha spending")
    add = looks.add_argument
    add("--fractions", type=_numbers, required=True, metavar="F,…", help="shares of the planned sample, to 1")
    add("--spending", choices=get_args(Spending), default="obrien_fleming", help="(default: %(default)s)")
    add("--alpha", type=float, default=0.05, help="two-sided (default: %(default)s)")
    add("--power", type=float, default=0.8, help="for what looks cost (default: %(default)s)")
    add("--observed", type=_numbers, metavar="Z,…", help="z of the looks so far: prints the decision")
    looks.set_defaults(command=_looks)

    preregister = commands.add_parser("preregister", help="a pre-registration text from the frozen study")
    preregister.add_argument("bundle", type=Path, metavar="BUNDLE", help="folder with study_version.json")
    preregister.add_argument("--plan", type=Path, metavar="PLAN.json", help="family, margins, size, looks")
    preregister.add_argument("--study-version", type=_natural, metavar="N", help="default: the newest")
    preregister.set_defaults(command=_preregister)


def _natural(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return value


def _positive(text: str) -> int:
    if not _natural(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not at least 1")
    return int(text)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 0.5,1") from None


def _sizes(text: str) -> list[int]:
    return [_positive(part) for part in text.split(",")]


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
