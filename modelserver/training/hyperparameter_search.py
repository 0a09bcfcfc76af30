"""Search the costs of the answer-fact coupling at random, after Schuff et al. 2020, appendix C.

Each run draws c1, c2, c3, lambda and the form of p_e, trains by the recipe, and is a row of search.jsonl.
As in the paper, the best run is the one with the largest share of span answers inside predicted facts on dev.
That share alone rewards a system that predicts every fact; its row shows what it cost in precision.

What run number i draws follows from the seed and i alone. Killed, the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from modelserver.registry import SYSTEMS
from modelserver.training.coupling_loss import FORMS, Coupling
from modelserver.training.recurrent import Recipe, Work, recurrent_arguments, too_small, train
from modelserver.wire.errors import UnreadableData

LOG, BEST = "search.jsonl", "best"  # in the folder of the search
Run = dict[str, Any]


@dataclass(frozen=True)
class Space:
    """What costs and lambda are drawn from: evenly, lambda on a logarithmic scale. Either form is likely."""

    costs: tuple[float, float] = (0.0, 5.0)
    fact_weights: tuple[float, float] = (3.0, 48.0)

    def draw(self, recipe: Recipe, seed: int, number: int) -> Recipe:
        """Return the recipe of a run. Its seed is the search's: runs differ in what is drawn alone."""
        rng = np.random.default_rng([seed, number])
        c1, c2, c3 = rng.uniform(*self.costs, size=3).tolist()
        low, high = self.fact_weights
        weight = math.exp(rng.uniform(math.log(low), math.log(high)))
        coupling = Coupling(c1, c2, c3, FORMS[int(rng.integers(len(FORMS)))])
        return replace(recipe, seed=seed, fact_weight=weight, coupling=coupling)


def search(
    work: Work,
    out: Path,
    *,
    runs: int,
    seed: int,
    space: Space,
    report: Callable[[Run], None] = lambda run: None,
    advance: Callable[[int], None] = lambda runs: None,
) -> Run:
    """Do the runs that search.jsonl does not hold yet, and return the best of all.

    Its weights end up in ``out``/best; those of the others are removed. Raises UnreadableData where
    search.jsonl is damaged or tells of other settings.
    """
    out.mkdir(parents=True, exist_ok=True)
    done = _read(out / LOG)
    encoder = work.encoder.digest() if work.encoder else None
    for number in range(runs):
        recipe = space.draw(work.recipe, seed, number)
        settings = {"system": work.config.system, "hidden": work.config.hidden, **asdict(recipe)}
        settings |= {"encoder": encoder}
        if number < len(done):
            _check(done[number], number, settings, out / LOG)
        else:
            started = time.perf_counter()
            scores = train(work.trainer(recipe), work.dev, out / f"run-{number}", resume=True)
            done.append(
                {"run": number, **settings, "scores": scores, "seconds": time.perf_counter() - started}
            )
            _append(out / LOG, done[-1])
            report(done[-1])
        _keep_best(out, done[: number + 1])
        advance(1)
    return best(done)


def best(done: Sequence[Run]) -> Run:
    """Return the run with the largest share of span answers inside predicted facts, the first of equals."""
    return max(done, key=lambda run: -1.0 if _inside(run) is None else _inside(run))


def _inside(run: Run) -> Any:
    return run["scores"]["loca_inside"]


def _keep_best(out: Path, done: Sequence[Run]) -> None:
    """Move the last run's weights to the place of the best where they are, and remove them where not."""
    last = out / f"run-{done[-1]['run']}"
    if not last.is_dir():
        return
    if best(done) is done[-1]:
        if (out / BEST).exists():
            shutil.rmtree(out / BEST)
        last.replace(out / BEST)
    else:
        shutil.rmtree(last)


def _read(path: Path) -> list[Run]:
    """Read the rows. A last line without its end was being written when the search was killed: it is cut."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        os.truncate(path, len(whole))
    rows = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            row = json.loads(line)
            _inside(row)
        except (ValueError, TypeError, KeyError) as error:
            raise UnreadableData(f"{path}: line {number}: not a run of a search: {error}") from error
        rows.append(row)
    return rows


def _check(row: Run, number: int, settings: dict[str, Any], path: Path) -> None:
    expected = json.loads(json.dumps({"run": number, **settings}))
    if differing := [name for name in expected if row.get(name) != expected[name]]:
        raise UnreadableData(f"{path}: line {number + 1}: made with another {', '.join(differing)}")


def _append(path: Path, row: Run) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    names = [name for name in SYSTEMS if name.endswith("-reg")]
    add, space = parser.add_argument, Space()
    add("system", metavar="SYSTEM", choices=names, help=" or ".join(names))
    add("--runs", type=int, default=100, help="runs in all (default: %(default)s, as the paper)")
    add("--seed", type=int, default=1, help="seed of draws, weights and order (default: %(default)s)")
    for flag, default, text in (
        ("--costs", space.costs, "range of c1, c2 and c3"),
        ("--fact-weights", space.fact_weights, "range of lambda, above 0"),
    ):
        shown = f"{text} (default: {default[0]:g} {default[1]:g})"
        add(flag, type=float, nargs=2, metavar=("LOW", "HIGH"), default=default, help=shown)
    recurrent_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Search and print the best run as JSON; the exit status is 0, or 2 for bad arguments."""
    if wrong := too_small(options) or ("--runs" if options.runs < 1 else None):
        sys.stderr.write(f"{wrong} must be at least 1\n")
        return 2
    space = Space(tuple(options.costs), tuple(options.fact_weights))
    if not (space.costs[0] <= space.costs[1] and 0 < space.fact_weights[0] <= space.fact_weights[1]):
        sys.stderr.write("--costs and --fact-weights are LOW HIGH, and a weight is above 0\n")
        return 2
    work = Work.of(options)
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{options.system}: searching", total=options.runs)
        found = search(
            work,
            options.out,
            runs=options.runs,
            seed=options.seed,
            space=space,
            report=lambda row: bar.console.print(_summary(row), highlight=False),
            advance=lambda runs: bar.advance(task, runs),
        )
    sys.stderr.write(f"{options.out / BEST}: the weights of run {found['run']}\n")
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0


def _summary(row: Run) -> str:
    coupling, scores = row["coupling"], row["scores"]
    costs = " ".join(f"{name} {coupling[name]:.2f}" for name in ("c1", "c2", "c3"))
    shown = " ".join(
        f"{name} {scores[name]:.3f}" for name in ("loca_inside", "em", "sp_prec", "sp_recall") if scores[name]
    )
    return f"run {row['run']}: {costs} lambda {row['fact_weight']:.1f} {coupling['form']}: {shown}"
