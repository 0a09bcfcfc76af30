"""Compare faithfulness of 536 examples with a plain loop.

Run ``python -m benchmarks.models.faithfulness``.

Generated examples of two images with 36 proposals each, five scored
nodes and, on average, one and a half gold boxes a node and image, as in the data of Subramanian et al.
(2020). The loop goes the steps of the definition over lists: an overlap for every gold and proposed box of a
node, and for the upper bound first the ideal outputs, then their scores. Both give the four averagings and
the upper bound, overall and for every module. Each starts from gold beside outputs, node by node, in the form
it works on: lists, or flat arrays. The time to make the arrays from examples is printed too; reading files is
not measured. The two take turns, in processor time, and the figure is the median of the ratios.

Then 100,000 trials of the paired permutation test between two systems, in seconds of the clock.

Bars: at least 50 times as fast, equal to 1e-12; the test within 2 s.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from analysis.faithfulness.boxes import AVERAGINGS, score_boxes, score_cells
from analysis.faithfulness.compare import permutation_test
from analysis.faithfulness.examples import (
    Cells,
    GoldExample,
    GoldModule,
    OutputExample,
    OutputModule,
    arrange,
)

EXAMPLES = 536
PROPOSALS = 36
NODES = ("find", "filter", "with-relation", "find", "project")
FASTER = 50.0
EQUAL = 1e-12
MOST_SECONDS = 2.0
TRIALS = 100_000

Box = list[float]
Plain = list[tuple[list[list[Box]], list[tuple[str, list[list[Box]], list[list[float]]]]]]
Prf = tuple[float, float, float]
Found = list[dict[str, dict[str, Prf]]]  # the scores, and the upper bound


def generate_examples(count: int, seed: int) -> tuple[list[GoldExample], list[OutputExample]]:
    """Generate examples with gold, and a system that finds half of it."""
    rng = np.random.default_rng(seed)
    gold, outputs = [], []
    for number in range(count):
        proposals = (_generate_boxes(rng, PROPOSALS), _generate_boxes(rng, PROPOSALS))
        nodes, other = [], []
        for index, module in enumerate(NODES):
            chosen = [rng.random(PROPOSALS) < rng.choice([0.0, 0.03, 0.06]) for _ in proposals]
            boxes = tuple(
                np.concatenate(
                    [
                        image[kept] + rng.normal(0, 0.01, (kept.sum(), 4)),
                        _generate_boxes(rng, int(rng.integers(2))),
                    ]
                )
                for image, kept in zip(proposals, chosen, strict=True)
            )
            right = np.concatenate(chosen) * (rng.random(2 * PROPOSALS) < 0.5)
            nodes.append(GoldModule(index, module, boxes))
            other.append(
                OutputModule(index, module, np.clip(rng.beta(1, 6, 2 * PROPOSALS) + 0.5 * right, 0, 1))
            )
        gold.append(GoldExample(f"e{number}", tuple(nodes)))
        outputs.append(OutputExample(f"e{number}", proposals, tuple(other)))
    return gold, outputs


def _generate_boxes(rng: np.random.Generator, count: int) -> np.ndarray:
    corner = rng.random((count, 2)) * 0.7
    return np.concatenate([corner, np.minimum(corner + 0.05 + rng.random((count, 2)) * 0.6, 1)], axis=1)


def as_lists(gold: Sequence[GoldExample], outputs: Sequence[OutputExample]) -> Plain:
    """Return the same as lists of proposals, gold and probabilities."""
    return [
        (
            [image.tolist() for image in output.proposals],
            [
                (
                    node.module,
                    [image.tolist() for image in node.boxes or ()],
                    other.probabilities.reshape(len(output.proposals), -1).tolist(),
                )
                for node, other in zip(left.modules, output.modules, strict=True)
            ],
        )
        for left, output in zip(gold, outputs, strict=True)
    ]


def overlap(first: Box, second: Box) -> float:
    """Return the intersection over union of two boxes."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    area = (first[2] - first[0]) * (first[3] - first[1])
    area_ = (second[2] - second[0]) * (second[3] - second[1])
    return shared / (area + area_ - shared)


def compute_prf(good: int, bad: int, hit: int, missed: int) -> Prf:
    """Return precision, recall and F1."""
    precision = good / (good + bad) if good + bad else 1.0
    recall = hit / (hit + missed) if hit + missed else 1.0
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0


def count_boxes(proposals: list[Box], gold: list[Box], probabilities: list[float]) -> list[int]:
    """Count good, bad, bad when apart, hit and missed boxes of a node."""
    counts = [0] * 5
    overlaps = [[overlap(box, wanted) for wanted in gold] for box in proposals]
    for row, probability in zip(overlaps, probabilities, strict=True):
        if probability > 0.5:
            best = max(row, default=0.0)
            counts[0 if best > 0.5 else 1] += 1
            if best < 1e-8:
                counts[2] += 1
    for column in range(len(gold)):
        reached = False
        for row, probability in zip(overlaps, probabilities, strict=True):
            if row[column] > 0.5 and probability > 0.5:
                reached = True
        counts[3 if reached else 4] += 1
    return counts


def build_upper_bound(examples: Plain) -> Plain:
    """Return the same examples with the outputs of the upper bound."""
    return [
        (proposals, [(module, gold, [
            [float(any(overlap(box, wanted) > 0.5 for wanted in gold[image])) for box in proposals[image]]
            for image in range(len(proposals))
        ]) for module, gold, _ in nodes])
        for proposals, nodes in examples
    ]  # fmt: skip


def score_plainly(examples: Plain) -> dict[str, dict[str, Prf]]:
    """Compute all scores of a system by a loop over nodes and boxes."""
    listed: dict[tuple[str, str], list[Prf]] = defaultdict(list)
    pooled: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    for proposals, nodes in examples:
        summed: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
        for module, gold, probabilities in nodes:
            for image in range(len(proposals)):
                counts = count_boxes(proposals[image], gold[image], probabilities[image])
                good, bad, _, hit, missed = counts
                for name in ("overall", module):
                    listed["per_occurrence", name].append(compute_prf(good, bad, hit, missed))
                    for total in (summed[name], pooled[name]):
                        for index in range(5):
                            total[index] += counts[index]
        for name, (good, bad, apart, hit, missed) in summed.items():
            listed["per_example", name].append(compute_prf(good, bad, hit, missed))
            listed["negative_iou", name].append(compute_prf(good, apart, hit, missed))
    for name, (good, bad, _, hit, missed) in pooled.items():
        listed["cumulative", name].append(compute_prf(good, bad, hit, missed))
    scores: dict[str, dict[str, Prf]] = defaultdict(dict)
    for (averaging, name), values in listed.items():
        precision, recall, f1 = (sum(column) / len(values) for column in zip(*values, strict=True))
        scores[averaging][name] = (precision, recall, f1)
    return scores


def score_both_plainly(examples: Plain) -> Found:
    """Compute the scores and the upper bound, one after the other."""
    return [score_plainly(examples), score_plainly(build_upper_bound(examples))]


def score_vectorised(cells: Cells) -> Found:
    """Compute the same by `analysis.faithfulness`."""
    scores = score_cells(cells)
    return [
        {
            averaging: {
                name: (s.precision, s.recall, s.f1)
                for name, s in scores.table(averaging, upper=upper).items()
            }
            for averaging in AVERAGINGS
        }
        for upper in (False, True)
    ]


def find_largest_difference(left: Found, other: Found) -> float:
    """Return the largest difference over all scores and averagings.

    Raises SystemExit if modules differ.
    """
    scores = []
    for mine, yours in zip(left, other, strict=True):
        for averaging in AVERAGINGS:
            if set(mine[averaging]) != set(yours[averaging]):
                raise SystemExit("the loop and the package score different modules")
            for name, values in mine[averaging].items():
                scores += [abs(a - b) for a, b in zip(values, yours[averaging][name], strict=True)]
    return max(scores)


def measure_turn(
    gold: list[GoldExample], outputs: Mapping[str, OutputExample], lists: Plain, repeats: int = 5
) -> tuple[float, float, float]:
    """Return the processor seconds of loop, package and arrangement."""
    started = time.process_time()
    score_both_plainly(lists)
    looped = time.process_time()
    for _ in range(repeats):
        cells = arrange(gold, outputs)
    arranged = time.process_time()
    for _ in range(repeats):
        score_vectorised(cells)
    ended = time.process_time()
    return looped - started, (ended - arranged) / repeats, (arranged - looped) / repeats


def test_seconds(gold: list[GoldExample], outputs: list[OutputExample], seed: int) -> tuple[float, float]:
    """Return the seconds and the p of a test between two systems."""
    _, other = generate_examples(len(gold), seed)
    others = [OutputExample(o.id, o.proposals, t.modules) for o, t in zip(outputs, other, strict=True)]
    first, second = (
        score_boxes(gold, system_outputs).tallies("per_example")["overall"]
        for system_outputs in (outputs, others)
    )
    started = time.perf_counter()
    result = permutation_test(first, second, trials=TRIALS, rng=np.random.default_rng(seed))
    return time.perf_counter() - started, result.p


def main() -> int:
    """Print how the ways compare and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.models.faithfulness", description=main.__doc__
    )
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="(default: %(default)s)")
    parser.add_argument("--turns", type=int, default=7, help="of each way (default: %(default)s)")
    options = parser.parse_args()
    gold, outputs = generate_examples(options.examples, seed=1)
    named, lists = {left.id: left for left in outputs}, as_lists(gold, outputs)
    apart = find_largest_difference(score_both_plainly(lists), score_vectorised(arrange(gold, named)))
    turns = [measure_turn(gold, named, lists) for _ in range(options.turns)]
    loop, ours, before = (1000 * statistics.median(column) for column in zip(*turns, strict=True))
    faster = statistics.median(loop / ours for loop, ours, _ in turns)
    whole = statistics.median(loop / (ours + before) for loop, ours, before in turns)
    print(f"{len(gold)} examples, median of {options.turns}: loop {loop:.0f} ms, package {ours:.1f} ms")
    print(f"the arrays take the package {before:.1f} ms before: {whole:.0f} times as fast with them, no bar")
    taken, p = test_seconds(gold, outputs, seed=2)
    met = {
        f"{faster:.0f} times as fast, bar {FASTER:g}": faster >= FASTER,
        f"largest difference {apart:.1e}, bar {EQUAL:g}": apart <= EQUAL,
        f"{TRIALS} trials in {taken:.2f} s (p {p:.2g}), bar {MOST_SECONDS:g} s": taken <= MOST_SECONDS,
    }
    for sentence, reached in met.items():
        print(f"{sentence}: {'met' if reached else 'missed'}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
