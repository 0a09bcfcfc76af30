"""The commands ``faithfulness`` and ``compare-faithfulness``."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..faithfulness import breakdown
from ..faithfulness.boxes import AVERAGINGS, Averaging, BoxScores, score_boxes
from ..faithfulness.compare import permutation_test
from ..faithfulness.examples import GoldExample, MatchError
from ..faithfulness.faithful_nmn import read_faithful_nmn
from ..faithfulness.files import (
    SpanOutputs,
    find_line,
    load_span_outputs,
    read_box_gold,
    read_box_outputs,
    read_span_gold,
)
from ..faithfulness.matching import PAPER, Thresholds
from ..faithfulness.reference import change
from ..faithfulness.spans import GoldSpans, score_spans
from ..faithfulness.stored import check_same_examples, export_box_examples, export_span_examples, load_scores
from ..io.command_line import BadUsage, always_json
from ..io.errors import AnalysisError, InputError
from .options import Count, Positive, Share, print_json

Json = dict[str, Any]


@always_json
def print_box_scores(
    *,
    gold: Path,
    outputs: Path,
    programs: Path | None = None,
    reference: bool = False,
    partial: bool = False,
    threshold: Share = PAPER.output,
    iou: Share = PAPER.aligned,
    negative_iou: Share = PAPER.apart,
    wrong_iou: Share | None = PAPER.wrong,
    by_argument: bool = False,
    worst: Count = 10,
    resamples: Count = 2000,
    seed: Count = 1,
) -> None:
    """Score boxes in images: precision, recall and F1 of every module.

    Args:
        gold: Gold boxes as JSON lines, or a faithful-nmn CSV together with its programs.
        outputs: Proposals and probabilities of a system, as JSON lines.
        programs: Programs (TSV) of a faithful-nmn CSV.
        reference: Count as the released code of Subramanian et al. (2020) does.
        partial: Leave out gold examples without output.
        threshold: A module outputs boxes whose probability exceeds it.
        iou: Boxes are aligned if their overlap exceeds it.
        negative_iou: Overlap below which an output box is wrong in the averaging negative_iou.
        wrong_iou: The same in every averaging; by default a box that is not aligned is wrong.
        by_argument: Add the scores of modules by their words, and by the size of their gold boxes.
        worst: Number of worst examples to list.
        resamples: Bootstrap replicates; 0 for no confidence intervals.
        seed: Seed of the bootstrap.
    """
    try:
        thresholds = Thresholds(threshold, iou, negative_iou, wrong_iou)
    except ValueError as error:
        raise BadUsage(str(error)) from None
    examples, notes = _read_box_gold(gold, programs, reference=reference)
    predicted = read_box_outputs(outputs)
    try:
        scores = score_boxes(examples, predicted, reference=reference, partial=partial, thresholds=thresholds)
    except MatchError as error:
        raise _match_error(outputs, error) from None
    intervals: Json = {averaging: {} for averaging in AVERAGINGS}
    estimates = scores.intervals(rng=np.random.default_rng(seed), resamples=resamples)
    for (averaging, module), estimate in estimates.items():
        intervals[averaging][module] = estimate.bounds
    result: Json = {
        "kind": "boxes",
        "reference": reference,
        "thresholds": asdict(thresholds),
        **{averaging: _build_box_table(scores, averaging) for averaging in AVERAGINGS},
        "upper_bound": {
            averaging: _build_box_table(scores, averaging, upper=True) for averaging in AVERAGINGS
        },
        "f1_intervals": intervals,
        "worst": [asdict(example) for example in scores.list_worst(worst)],
        "examples": export_box_examples(scores),
    }
    if by_argument:
        result["by_argument"] = [asdict(part) for part in breakdown.score_by_argument(examples, scores)]
        result["by_module"] = [asdict(part) for part in breakdown.score_by_module(scores)]
        result["by_size"] = [asdict(part) for part in breakdown.score_by_size(scores)]
    print_json(result, [*notes, *_describe_coverage(len(examples), scores.examples, predicted)])


@always_json
def print_span_scores(
    *,
    gold: Path,
    outputs: Path,
    partial: bool = False,
    worst: Count = 10,
    resamples: Count = 2000,
    seed: Count = 1,
) -> None:
    """Score spans of text: cross-entropy of attentions, lower is better.

    Args:
        gold: Gold spans as JSON lines, or the released DROP module outputs (.json).
        outputs: Attentions of a system, as JSON lines: the form of this project, or nmn-drop's as they are.
        partial: Leave out gold examples without output; always so for nmn-drop's outputs.
        worst: Number of worst examples to list.
        resamples: Bootstrap replicates; 0 for no confidence intervals.
        seed: Seed of the bootstrap.
    """
    examples, loaded = read_span_gold(gold), load_span_outputs(outputs)
    predicted, others = loaded.by_id, loaded.other_program
    try:
        scores = score_spans(examples, predicted, partial=partial or others is not None)
    except MatchError as error:
        raise _match_error(outputs, error) from None
    table = scores.table()
    estimates = scores.intervals(rng=np.random.default_rng(seed), resamples=resamples)
    left_out = _count_left_out_spans(examples, loaded)
    result: Json = {
        "kind": "spans",
        **{module: row.loss for module, row in table.items()},
        "n": {module: row.n for module, row in table.items()},
        "intervals": {module: estimates[module].bounds for module in table},
        "left_out": left_out,
        "worst": [asdict(example) for example in scores.list_worst(worst)],
        "examples": export_span_examples(scores),
    }
    print_json(result, [f"{what}, left out: {number}" for what, number in left_out.items() if number])


def _count_left_out_spans(gold: Sequence[GoldSpans], loaded: SpanOutputs) -> dict[str, int]:
    """Count what a score of spans leaves out, by what it is."""
    ids, others = {example.id for example in gold}, set(loaded.other_program or ())
    shown = [(example, loaded.by_id[example.id]) for example in gold if example.id in loaded.by_id]
    return {
        "gold examples without output": len(ids - loaded.by_id.keys() - others),
        "outputs without gold": len((loaded.by_id.keys() | others) - ids),
        "questions whose predicted program is not of their type": len(ids & others),
        "outputs after those with gold": sum(
            len(output.modules) - len(output.cut_to(example).modules) for example, output in shown
        ),
    }


@always_json
def print_comparison(
    first: Path,
    second: Path,
    /,
    *,
    trials: Positive = 100_000,
    seed: Count = 1,
    module: str = "overall",
    averaging: Averaging = "per_example",
) -> None:
    """Compare two systems with a paired permutation test.

    Args:
        first: JSON that the faithfulness command printed for one system.
        second: The same for the other system.
        trials: Number of permutations.
        seed: Seed of the permutations.
        module: Module to compare.
        averaging: Averaging of boxes to compare.
    """
    scores = [load_scores(path) for path in (first, second)]
    ids = check_same_examples(scores[0], scores[1], (first, second))
    tallies = [system.tally(ids, module, averaging) for system in scores]
    rng = np.random.default_rng(seed)
    try:
        result = permutation_test(tallies[0], tallies[1], trials=trials, rng=rng)
    except ValueError as error:
        raise AnalysisError(str(error)) from None
    compared = {"kind": scores[0].kind, "module": module}
    if scores[0].kind == "boxes":
        compared["averaging"] = averaging
    print_json({**compared, **asdict(result), "seed": seed})


def _read_box_gold(
    path: Path, programs: Path | None, *, reference: bool
) -> tuple[Sequence[GoldExample], list[str]]:
    """Read gold boxes, and notes on entries that do not count."""
    notes: list[str] = []
    if programs is not None:
        reading = read_faithful_nmn(path, programs, as_released=reference)
        gold: Sequence[GoldExample] = reading.examples
        notes = [f"{what}: {count}" for what, count in reading.notes.items()]
    elif path.suffix == ".csv":
        raise BadUsage(f"{path}: a faithful-nmn CSV needs its programs (--programs TSV)")
    else:
        gold = read_box_gold(path)
    return (change(gold) if reference else gold), notes


def _match_error(outputs: Path, error: MatchError) -> InputError:
    """Name the line of outputs that does not match, or the missing example."""
    line = find_line(outputs, error.id)
    if line is None:
        problem = f"{error.problem} for the example {error.id!r} (--partial scores what is there)"
        return InputError(outputs, problem)
    return InputError(outputs, error.problem, where=f"line {line} ({error.id})", field=error.field)


def _describe_coverage(gold: int, scored: Sequence[str], outputs: Mapping[str, object]) -> list[str]:
    """Describe gold without output and output without gold."""
    notes = []
    if gold > len(scored):
        notes.append(f"gold examples without output, left out: {gold - len(scored)}")
    if len(outputs) > len(scored):
        notes.append(f"outputs without gold, left out: {len(outputs) - len(scored)}")
    return notes


def _build_box_table(scores: BoxScores, averaging: Averaging, *, upper: bool = False) -> Json:
    return {module: asdict(row) for module, row in scores.table(averaging, upper=upper).items()}
