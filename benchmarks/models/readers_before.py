"""Compare the readers' forward and FaRM(1..4) with an earlier commit's.

Run ``python -m benchmarks.models.readers_before`` in a clone that has the commit; by default the last one
before the readers' own kernels. Both run in turns on the same generated questions and, with ``--data``, on
questions of a file in HotpotQA's form: the forward in the server's batches, by the processor time of one
thread; the nine passes of `benchmarks.models.farm` on the earlier commit, on one thread or all, whichever is
quicker, and ``compute_farm_scores`` now, by the clock. The figure is the median over the turns of the ratio
within a turn.

Bars: 1.8 times the forward and 18 times the nine passes on questions of a file, 2.5 times on generated ones,
with equal answers and scores and probabilities within 1e-6.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Nothing of the project is imported up here: with --here all of it comes from the folder of another commit.
ROOT = Path(__file__).resolve().parents[2]
BEFORE = "078b3e15337ae3addc9b5a261f196aefa70a0bbb"
SYSTEMS = ("qi2019", "select-and-forget")
FORWARD, FARM, FARM_GENERATED, WITHIN = 1.8, 18.0, 2.5, 1e-6
TIMES = 5  # of what takes a second or two
Figures = dict[str, Any]


def measure_time(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds and the processor seconds of work."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - used


def measure_here(data: str, count: int, generated: int) -> dict[str, Figures]:
    """Return the figures of the commit whose packages are imported."""
    from modelserver.inputs.hotpot import parse_gold
    from modelserver.registry import load_system
    from modelserver.world import generate

    run_single_pass = _import_single_pass()
    records = {"generated": list(generate("test", generated, 1))}
    if data:
        records["file"] = json.loads(Path(data).read_text(encoding="utf-8"))[:count]
    figures = {}
    for name in SYSTEMS:
        system = load_system(name)
        for source, rows in records.items():
            items = [example.item for example in parse_gold(rows, source)]
            run_single_pass(system, items[:4])  # to warm up
            figures[f"{name} {source}"] = {
                "forward": _measure_forward_seconds(system, items),
                **_measure_farm_seconds(system, items),
                "answers": [
                    [row.answer, [fact.probability for fact in row.fact_probabilities or ()]]
                    for row in run_single_pass(system, items)
                ],
            }
    return figures


def _import_single_pass() -> Any:
    try:
        from benchmarks.models.farm import run_single_pass
    except ImportError:  # where an earlier commit has it
        from benchmarks.farm import one_pass as run_single_pass  # type: ignore[import-not-found, no-redef]
    return run_single_pass


def _measure_forward_seconds(system: Any, items: list[Any]) -> float:
    import torch

    try:
        from modelserver.inputs.packing import BatchLimits, plan_batches
    except ImportError:  # where an earlier commit has them
        from modelserver.serving.batching import BatchLimits
        from modelserver.serving.batching import plan as plan_batches  # type: ignore[attr-defined, no-redef]

    batches = [
        [items[at] for at in batch] for batch in plan_batches([*map(system.cost, items)], BatchLimits())
    ]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    least = min(measure_time(lambda: [system.predict(batch) for batch in batches])[1] for _ in range(TIMES))
    torch.set_num_threads(threads)
    return least


def _measure_farm_seconds(system: Any, items: list[Any]) -> Figures:
    """Return seconds of the nine passes and of FaRM, and the scores."""
    import torch

    try:
        from benchmarks.models.farm import nine_passes
    except ImportError:  # where an earlier commit has it
        from benchmarks.farm import nine_passes  # type: ignore[no-redef]

    try:
        from modelserver.evaluation.scores import compute_farm_scores
    except ImportError:  # where an earlier commit has them
        from modelserver.evaluation.scores import (  # type: ignore[attr-defined, no-redef]
            farm_scores as compute_farm_scores,
        )

    threads, passes = torch.get_num_threads(), []
    for number in (1, threads):
        torch.set_num_threads(number)
        passes.append(measure_time(lambda: nine_passes(system, items))[0])
    full = _import_single_pass()(system, items)
    scores = compute_farm_scores(system, items, full)
    farm = statistics.median(
        measure_time(lambda: compute_farm_scores(system, items, full))[0] for _ in range(TIMES)
    )
    return {"nine": min(passes), "farm": farm, "scores": scores}


def measure(tree: Path, options: argparse.Namespace) -> dict[str, Figures]:
    """Run `measure_here` on the packages of a folder."""
    command = [sys.executable, "-P", __file__, "--here", "--count", str(options.count)]
    command += ["--generated", str(options.generated)]
    command += ["--data", str(options.data.resolve())] if options.data else []
    env = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=env, stdout=subprocess.PIPE, check=True, text=True)
    figures: dict[str, Figures] = json.loads(done.stdout.splitlines()[-1])
    return figures


def is_different(before: Figures, now: Figures) -> bool:
    """Return whether answers, scores or probabilities differ."""
    pairs = list(zip(before["answers"], now["answers"], strict=True))
    return before["scores"] != now["scores"] or any(
        was != answer or any(abs(a - b) > WITHIN for a, b in zip(had, has, strict=True))
        for (was, had), (answer, has) in pairs
    )


def main() -> int:
    """Print a table; return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.models.readers_before", description=main.__doc__
    )
    parser.add_argument("--commit", default=BEFORE, help="to compare with (default: %(default)s)")
    parser.add_argument("--data", type=Path, help="questions in HotpotQA's form")
    parser.add_argument("--count", type=int, default=12, help="of them (default: %(default)s)")
    parser.add_argument("--generated", type=int, default=32, help="questions (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="of both (default: %(default)s)")
    parser.add_argument("--here", action="store_true", help="print the figures of these packages as JSON")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measure_here(str(options.data or ""), options.count, options.generated)))
        return 0
    with tempfile.TemporaryDirectory(prefix="touchstone-before-") as folder:
        command = ["git", "archive", options.commit]
        archive = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        turns = [(measure(Path(folder), options), measure(ROOT, options)) for _ in range(options.turns)]
    print("| system and questions | forward | FaRM: before, now | times as fast | bar | equal |")
    print("|---|---|---|---|--:|---|")
    missed = False
    for key in turns[0][0]:
        pairs = [(before[key], now[key]) for before, now in turns]
        forward = [before["forward"] / now["forward"] for before, now in pairs]
        farm = [before["nine"] / now["farm"] for before, now in pairs]
        seconds = [f"{before['nine']:.1f} s, {now['farm']:.2f} s" for before, now in pairs]
        of_file = key.endswith(" file")
        bar, equal = (FARM if of_file else FARM_GENERATED), not any(is_different(*pair) for pair in pairs)
        missed |= statistics.median(farm) < bar or not equal
        missed |= of_file and statistics.median(forward) < FORWARD
        print(
            f"| {key} | {', '.join(f'{x:.1f}' for x in forward)} | {'; '.join(seconds)} "
            f"| {', '.join(f'{x:.1f}' for x in farm)} | {bar:g} | {'yes' if equal else 'NO'} |"
        )
    print("A bar was missed." if missed else "All bars reached.")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
