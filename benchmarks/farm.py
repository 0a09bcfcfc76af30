"""FaRM(1..4) of a system against nine full prediction passes: ``python -m benchmarks.farm``.

The nine passes are what the released code of Schuff et al. 2020 amounts to: all questions on their full
contexts, and for each k = 1..4 all of them again without the relevant and without the irrelevant facts, in
the order of the data, 64 questions a batch (the default of the reader that it builds on, Qi et al. 2019).
Beside them runs ``modelserver.evaluation.farm_scores`` on the predictions that the full pass gave. Both
have all cores; they take turns, and the figure is the median of the ratios.

Bars: at least five times as fast, and the very same scores.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from analysis.coupling import REMOVALS, farm, reduce_context, removal_order
from modelserver.evaluation import Scores, farm_scores
from modelserver.gold import parse_gold
from modelserver.schema import QAItem, QAPrediction
from modelserver.systems import load_system
from modelserver.systems.base import System
from modelserver.world import generate

T = TypeVar("T")

FASTER = 5.0
BATCH = 64


def one_pass(system: System, items: Sequence[QAItem]) -> list[QAPrediction]:
    """Answer all items in their order."""
    return [
        one for start in range(0, len(items), BATCH) for one in system.predict(items[start : start + BATCH])
    ]


def nine_passes(system: System, items: Sequence[QAItem]) -> tuple[Scores, list[QAPrediction]]:
    """Return FaRM(k), c_rel(k) and c_irr(k), and the predictions on the full contexts."""
    full = one_pass(system, items)
    sides: dict[str, dict[int, dict[str, str]]] = {"relevant": {}, "irrelevant": {}}
    for side, answers in sides.items():
        for k in REMOVALS:
            reduced = [_reduced(item, one, side, k) for item, one in zip(items, full, strict=True)]
            answers[k] = {one.id: one.answer for one in one_pass(system, reduced)}
    result = farm({one.id: one.answer for one in full}, sides["relevant"], sides["irrelevant"])
    named = (("farm", result.farm), ("c_rel", result.c_rel), ("c_irr", result.c_irr))
    return {f"{name}_{k}": values[k] for k in REMOVALS for name, values in named}, full


def _reduced(item: QAItem, prediction: QAPrediction, side: str, k: int) -> QAItem:
    listed = [(one.title, one.index, one.probability) for one in prediction.fact_probabilities or ()]
    order = removal_order(listed, prediction.facts)
    context = reduce_context(item.context, order.relevant if side == "relevant" else order.irrelevant, k)
    return QAItem(id=item.id, question=item.question, context=[(title, rest) for title, rest in context])


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return how many seconds the work took, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def compare(system: System, items: Sequence[QAItem], turns: int) -> tuple[list[tuple[float, float]], bool]:
    """Return the seconds of both ways for each turn, and whether their scores are always the same."""
    farm_scores(system, items[:16], one_pass(system, items[:16]))  # to warm up
    times, same = [], True
    for _ in range(turns):
        slow, (expected, full) = timed(lambda: nine_passes(system, items))
        fast, found = timed(lambda full=full: farm_scores(system, items, full))  # type: ignore[misc]
        times.append((slow, fast))
        same = same and found == expected
    return times, same


def main() -> int:
    """Print how the ways compare for each system and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.farm", description=main.__doc__)
    parser.add_argument("--systems", nargs="+", default=["qi2019", "select-and-forget"], metavar="NAME")
    parser.add_argument("--questions", type=int, default=256, help="(default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="of each way (default: %(default)s)")
    options = parser.parse_args()
    items = [
        example.item for example in parse_gold(list(generate("test", options.questions, 1)), "generated")
    ]
    print(f"{options.questions} questions, median of {options.turns}")
    missed = False
    for name in options.systems:
        times, same = compare(load_system(name), items, options.turns)
        slow, fast = (statistics.median(column) for column in zip(*times, strict=True))
        faster = statistics.median(slow / fast for slow, fast in times)
        missed = missed or faster < FASTER or not same
        reached = "met" if faster >= FASTER else "missed"
        print(
            f"{name}: nine passes {slow:.1f} s, farm_scores {fast:.1f} s, {faster:.2f} times as fast, "
            f"bar {FASTER:g}: {reached}; scores {'equal' if same else 'DIFFER'}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
