"""Score all eight `heuristic` systems.

Run ``python -m benchmarks.models.heuristics [DATA.json]``.

Without a file, on 1,000 test questions of the generated world. After table 6 of Ray Choudhury et al. 2022.
"""

import argparse
import itertools
from pathlib import Path

import torch

from analysis.scores.hotpotqa import answer_f1, exact_match
from modelserver.inputs.hotpot import parse_gold, read_gold
from modelserver.registry import WEIGHTS
from modelserver.systems import heuristic
from modelserver.systems.heuristic import PREDICTORS, SELECTORS, Choice
from modelserver.world import generate

QUESTIONS = 1000


def main() -> None:
    """Print one row per choice of selector and predictor."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.heuristics", description=main.__doc__)
    parser.add_argument("data", nargs="?", type=Path, help="questions (default: the generated world)")
    path = parser.parse_args().data
    torch.set_num_threads(1)
    gold = read_gold(path) if path else parse_gold(generate("test", QUESTIONS, 1), "world")
    items = [example.item for example in gold]
    print(f"| selector | types by | F1 | exact match | n = {len(gold)} |\n|---|---|---|---|---|")
    for selector, predictor in itertools.product(SELECTORS, PREDICTORS):
        choice = Choice(selector, predictor)
        system = heuristic.load(
            WEIGHTS / "heuristic", torch.device("cpu"), name="heuristic", description="", choice=choice
        )
        answers = [found.answer for found in system.predict(items)]
        pairs = list(zip(gold, answers, strict=True))
        f1 = 100 * sum(answer_f1(example.answer, answer).f1 for example, answer in pairs) / len(pairs)
        exact = 100 * sum(exact_match(example.answer, answer) for example, answer in pairs) / len(pairs)
        print(f"| {selector} | {predictor} | {f1:.1f} | {exact:.1f} | |", flush=True)


if __name__ == "__main__":
    main()
