"""The commands `faithfulness boxes`, `faithfulness spans` and `compare-faithfulness`: files in, JSON out."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..faithfulness.boxes import AVERAGINGS, Averaging, BoxScores, score_boxes
from ..faithfulness.compare import permutation_test
from ..faithfulness.examples import GoldExample, MatchError
from ..faithfulness.faithful_nmn import read_faithful_nmn
from ..faithfulness.files import (
    line_of,
    read_box_gold,
    read_box_outputs,
    read_span_gold,
    read_span_outputs,
)
from ..faithfulness.reference import change
from ..faithfulness.spans import score_spans
from ..faithfulness.stored import box_examples, load_scores, same_examples, span_examples
from ..io.errors import AnalysisError, InputError
from ..stats.bootstrap_sums import Quantity

Json = dict[str, Any]
Found = tuple[Json, list[str]]  # what is printed, and notes for people


def add_commands(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    command: Callable[[argparse.Namespace], None],
) -> None:
    """Adds the commands. command: runs one; it finds a function from the options to `Found` as `result`."""
    parser = commands.add_parser("faithfulness", help="module-wise faithfulness of a system's outputs")
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    boxes = kinds.add_parser("boxes", help="boxes in images: precision, recall and F1")
    gold = "GOLD.jsonl, or a faithful-nmn CSV with --programs"
    _add_scoring(boxes, gold)
    boxes.add_argument("--programs", type=Path, metavar="TSV", help="programs of a faithful-nmn CSV")
    boxes.add_argument(
        "--reference", action="store_true", help="as the released code of Subramanian et al. (2020) counts"
    )
    boxes.set_defaults(command=command, result=boxes_result)
    spans = kinds.add_parser("spans", help="spans of a text: cross-entropy of attentions, lower is better")
    _add_scoring(spans, "GOLD.jsonl, or the released DROP module outputs (.json)")
    spans.set_defaults(command=command, result=spans_result)

    compare = commands.add_parser("compare-faithfulness", help="paired permutation test of two systems")
    compare.add_argument("first", type=Path, metavar="A.json", help="what `faithfulness` printed on one")
    compare.add_argument("second", type=Path, metavar="B.json", help="and on the other")
    compare.add_argument("--trials", type=_count, default=100_000, help="(default: %(default)s)")
    compare.add_argument("--seed", type=_count, default=1, help="(default: %(default)s)")
    compare.add_argument("--module", default="overall", help="(default: %(default)s)")
    compare.add_argument(
        "--averaging", choices=AVERAGINGS, default="per_example", help="of boxes (default: %(default)s)"
    )
    compare.set_defaults(command=command, result=comparison_result)


def _add_scoring(parser: argparse.ArgumentParser, gold: str) -> None:
    parser.add_argument("--gold", type=Path, required=True, metavar="GOLD", help=gold)
    parser.add_argument("--outputs", type=Path, required=True, metavar="OUT.jsonl")
    parser.add_argument("--partial", action="store_true", help="leave out gold examples without output")
    parser.add_argument("--worst", type=_count, default=10, help="examples listed (default: %(default)s)")
    parser.add_argument(
        "--resamples", type=_count, default=2000, help="of the bootstrap, 0: none (default: %(default)s)"
    )
    parser.add_argument("--seed", type=_count, default=1, help="of the bootstrap (default: %(default)s)")


def boxes_result(options: argparse.Namespace) -> Found:
    """Scores a system's boxes."""
    gold, notes = _box_gold(options)
    outputs = read_box_outputs(options.outputs)
    try:
        scores = score_boxes(gold, outputs, reference=options.reference, partial=options.partial)
    except MatchError as error:
        raise _misfit(options, error) from None
    notes += _coverage(len(gold), scores.examples, outputs)
    intervals: Json = {way: {} for way in AVERAGINGS}
    for (way, name), one in scores.intervals(rng=_rng(options), resamples=options.resamples).items():
        intervals[way][name] = _interval(one)
    found: Json = {
        "kind": "boxes",
        "reference": options.reference,
        **{way: _box_table(scores, way) for way in AVERAGINGS},
        "upper_bound": {way: _box_table(scores, way, upper=True) for way in AVERAGINGS},
        "f1_intervals": intervals,
        "worst": [asdict(one) for one in scores.worst(options.worst)],
        "examples": box_examples(scores),
    }
    return found, notes


def spans_result(options: argparse.Namespace) -> Found:
    """Scores a system's attentions over tokens."""
    gold, outputs = read_span_gold(options.gold), read_span_outputs(options.outputs)
    try:
        scores = score_spans(gold, outputs, partial=options.partial)
    except MatchError as error:
        raise _misfit(options, error) from None
    table = scores.table()
    intervals = scores.intervals(rng=_rng(options), resamples=options.resamples)
    found: Json = {
        "kind": "spans",
        **{name: one.loss for name, one in table.items()},
        "n": {name: one.n for name, one in table.items()},
        "intervals": {name: _interval(intervals[name]) for name in table},
        "worst": [asdict(one) for one in scores.worst(options.worst)],
        "examples": span_examples(scores),
    }
    return found, _coverage(len(gold), scores.examples, outputs)


def comparison_result(options: argparse.Namespace) -> Found:
    """Tests whether two systems' scores differ."""
    paths = options.first, options.second
    first, second = map(load_scores, paths)
    ids = same_examples(first, second, paths)
    tallies = [one.tally(ids, options.module, options.averaging) for one in (first, second)]
    try:
        found = permutation_test(tallies[0], tallies[1], trials=options.trials, rng=_rng(options))
    except ValueError as error:
        raise AnalysisError(str(error)) from None
    what = {"kind": first.kind, "module": options.module}
    if first.kind == "boxes":
        what["averaging"] = options.averaging
    return {**what, **asdict(found), "seed": options.seed}, []


def _box_gold(options: argparse.Namespace) -> tuple[Sequence[GoldExample], list[str]]:
    """Gold from JSON lines or a faithful-nmn CSV, changed where the reference changes it; and notes."""
    if options.programs is not None:
        reading = read_faithful_nmn(options.gold, options.programs, as_released=options.reference)
        gold: Sequence[GoldExample] = reading.examples
        notes = [f"{what}: {count}" for what, count in reading.notes.items()]
    elif options.gold.suffix == ".csv":
        raise InputError(options.gold, "a faithful-nmn CSV needs its programs (--programs TSV)")
    else:
        gold, notes = read_box_gold(options.gold), []
    return (change(gold) if options.reference else gold), notes


def _misfit(options: argparse.Namespace, error: MatchError) -> InputError:
    """The error with the line of the outputs, or of the gold where there is no output."""
    line = line_of(options.outputs, error.id)
    if line is None:
        problem = f"{error.problem} for the example {error.id!r} (--partial scores what is there)"
        return InputError(options.outputs, problem)
    return InputError(options.outputs, error.problem, where=f"line {line} ({error.id})", field=error.field)


def _coverage(gold: int, scored: Sequence[str], outputs: Mapping[str, object]) -> list[str]:
    """Notes on gold without output and output without gold."""
    notes = []
    if gold > len(scored):
        notes.append(f"gold examples without output, left out: {gold - len(scored)}")
    if len(outputs) > len(scored):
        notes.append(f"outputs without gold, left out: {len(outputs) - len(scored)}")
    return notes


def _box_table(scores: BoxScores, averaging: Averaging, *, upper: bool = False) -> Json:
    return {name: asdict(one) for name, one in scores.table(averaging, upper=upper).items()}


def _interval(one: Quantity) -> list[float] | None:
    """Low and high; None where there is no interval."""
    return list(one.interval.bounds) if one.interval else None


def _rng(options: argparse.Namespace) -> np.random.Generator:
    return np.random.default_rng(options.seed)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)
