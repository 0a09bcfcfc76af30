"""Compare readers in bfloat16 and 8-bit integers with 32-bit floats.

Run ``python -m benchmarks.models.precisions``, on generated questions or with ``--data`` on a file in
HotpotQA's form. bfloat16 is torch's autocast; 8-bit are the weights of linear and recurrent layers, quantised
dynamically. Figures are processor time on one thread, the least of some turns, and how many answers stay the
same. No bar: the page about performance says why readers stay in 32 bits on a processor.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.models.farm import load_questions, run_single_pass
from modelserver.registry import load_system
from modelserver.wire.schema import QAItem

SYSTEMS = ("qi2019", "select-and-forget", "encoder-small")
TURNS = 3


def time_answers(system: Any, items: Sequence[QAItem]) -> tuple[float, list[str]]:
    """Return the least processor seconds of some passes, and the answers."""
    system.predict(items[:2])  # to warm up
    seconds, given = [], list[str]()
    for _ in range(TURNS):
        began = time.process_time()
        given = [row.answer for row in run_single_pass(system, items)]
        seconds.append(time.process_time() - began)
    return min(seconds), given


def quantise_model(model: nn.Module) -> nn.Module:
    """Return a copy of a model with 8-bit weights."""
    kinds: set[Any] = {nn.Linear, nn.GRU, nn.LSTM}
    quantise: Callable[..., nn.Module] = torch.ao.quantization.quantize_dynamic
    return quantise(copy.deepcopy(model), kinds, dtype=torch.qint8)


def main() -> int:
    """Print speed and equal answers by system."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.precisions", description=main.__doc__)
    parser.add_argument("--questions", type=int, default=32, help="(default: %(default)s)")
    parser.add_argument("--data", type=Path, help="questions in HotpotQA's form (default: generated ones)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # torch moves its quantisation to another package
    torch.set_num_threads(1)
    items, source = load_questions(options.data, options.questions)
    print(f"{len(items)} {source} questions")
    for name in SYSTEMS:
        system: Any = load_system(name)
        exact = system.model
        whole, expected = time_answers(system, items)
        for form in ("bfloat16", "8-bit"):
            system.model = quantise_model(exact) if form == "8-bit" else exact
            with torch.autocast("cpu", torch.bfloat16) if form == "bfloat16" else nullcontext():
                seconds, given = time_answers(system, items)
            same = sum(answer == other for answer, other in zip(given, expected, strict=True))
            print(f"{name} {form}: {whole / seconds:.2f} times as fast, {same} of {len(items)} answers equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
