"""Search the costs of the answer-fact coupling at random.

Each run draws c1, c2, c3, lambda and the form of p_e, trains by the recipe,
and is a row of search.jsonl (Schuff et al. 2020, appendix C). The draws of
run number i follow from the seed and i alone, so that an interrupted search
can continue.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.progress import Progress

from analysis.io.command_line import always_json
from modelserver.training.coupling_loss import FORMS, Coupling
from modelserver.training.loop import hash_examples, require_new, train
from modelserver.training.options import Count, Output, Start, Whole, options_of_command
from modelserver.training.recurrent import Recipe, RecurrentOptions, Work
from modelserver.wire.errors import UnreadableData

LOG, BEST = "search.jsonl", "best"  # in the folder of the search
Run = dict[str, Any]
Limits = tuple[float, float]  # the lowest and the highest value


def check_range(_: type, limits: tuple[float, float]) -> None:
    """Refuse limits in the wrong order.

    Raises:
        ValueError: The first is larger.
    """
    if not limits[0] <= limits[1]:
        raise ValueError("LOW must not be above HIGH")


def check_positive_range(_: type, limits: tuple[float, float]) -> None:
    """Refuse limits in the wrong order, or not above 0.

    Raises:
        ValueError: They are.
    """
    if not 0 < limits[0] <= limits[1]:
        raise ValueError("LOW must be above 0 and not above HIGH")


@dataclass(frozen=True)
class Space:
    """Ranges of the costs and of lambda.

    Costs are uniform, lambda is uniform on a logarithmic scale, and both
    forms of p_e are equally likely.
    """

    costs: tuple[float, float] = (0.0, 5.0)
    fact_weights: tuple[float, float] = (3.0, 48.0)

    def draw(self, recipe: Recipe, seed: int, number: int) -> Recipe:
        """Return the recipe of a run; its training seed is the search's."""
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
    **start: Unpack[Start],
) -> Run:
    """Do the runs that search.jsonl does not hold yet; return the best run.

    Its weights end up in ``out``/best; those of the others are removed.

    Args:
        work: Data, sizes and schedule.
        out: Folder of the search.
        runs: Number of runs in all.
        seed: Seed of draws, weights and order.
        space: Ranges to draw from.
        report: Called with each new row.
        advance: Called after each run.
        start: Continue or replace a search, see `train`.

    Raises:
        UnreadableData: search.jsonl is there and neither ``resume`` nor
            ``overwrite`` applies, is damaged or has other settings.
    """
    require_new(out / LOG, **start)
    out.mkdir(parents=True, exist_ok=True)
    if start.get("overwrite"):
        (out / LOG).unlink(missing_ok=True)
        shutil.rmtree(out / BEST, ignore_errors=True)
    done = _read(out / LOG)
    encoder = work.encoder.digest() if work.encoder else None
    digests = {"encoder": encoder, "data": hash_examples(work.train), "dev": hash_examples(work.dev)}
    for number in range(runs):
        recipe = space.draw(work.recipe, seed, number)
        settings = {"system": work.config.system, "hidden": work.config.hidden, **asdict(recipe), **digests}
        if number < len(done):
            _check(done[number], number, settings, out / LOG)
        else:
            started = time.perf_counter()
            scores = train(work.trainer(recipe), work.dev, out / f"run-{number}", **start)
            done.append(
                {"run": number, **settings, "scores": scores, "seconds": time.perf_counter() - started}
            )
            _append(out / LOG, done[-1])
            report(done[-1])
        _keep_best(out, done[: number + 1])
        advance(1)
    return find_best_run(done)


def find_best_run(done: Sequence[Run]) -> Run:
    """Return the first run with the largest share inside predicted facts."""
    return max(done, key=lambda run: -1.0 if _read_inside_share(run) is None else _read_inside_share(run))


def _read_inside_share(run: Run) -> Any:
    return run["scores"]["loca_inside"]


def _keep_best(out: Path, done: Sequence[Run]) -> None:
    """Keep the last run's weights if it is the best, or remove them."""
    last = out / f"run-{done[-1]['run']}"
    if not last.is_dir():
        return
    if find_best_run(done) is done[-1]:
        if (out / BEST).exists():
            shutil.rmtree(out / BEST)
        last.replace(out / BEST)
    else:
        shutil.rmtree(last)


def _read(path: Path) -> list[Run]:
    """Read the rows. Cut an unfinished last line of an interrupted search."""
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
            _read_inside_share(row)
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


@options_of_command
class SearchOptions(RecurrentOptions, Output):
    """Everything that the search takes.

    Attributes:
        out: Folder for search.jsonl and the best weights.
        resume: Continue the search in --out.
        overwrite: Replace the search in --out.
        runs: Number of runs; the paper has 100.
        seed: Seed of draws, weights and order.
        costs: Range of c1, c2 and c3.
        fact_weights: Range of lambda, above 0.
    """

    runs: Count = 100
    seed: Whole = 1
    costs: Annotated[Limits, Parameter(validator=check_range)] = Space.costs
    fact_weights: Annotated[Limits, Parameter(validator=check_positive_range)] = Space.fact_weights


@always_json
def search_costs(
    system: Annotated[Literal["qi2019-reg", "select-and-forget-reg"], Parameter(help="The reader to train.")],
    /,
    *,
    options: SearchOptions,
) -> None:
    """Search the costs of the answer-fact coupling at random.

    The best run has the largest share of span answers inside predicted facts
    on dev. That share alone rewards a system that predicts every fact; the
    row in search.jsonl shows the cost in precision.
    """
    require_new(options.out / LOG, **options.start)
    work = Work.of(system, options)
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{system}: searching", total=options.runs)
        winner = search(
            work,
            options.out,
            runs=options.runs,
            seed=options.seed,
            space=Space(options.costs, options.fact_weights),
            report=lambda row: bar.console.print(_format_summary(row), highlight=False),
            advance=lambda runs: bar.advance(task, runs),
            **options.start,
        )
    sys.stderr.write(f"{options.out / BEST}: the weights of run {winner['run']}\n")
    sys.stdout.write(json.dumps(winner, indent=2) + "\n")


def _format_summary(row: Run) -> str:
    coupling, scores = row["coupling"], row["scores"]
    costs = " ".join(f"{name} {coupling[name]:.2f}" for name in ("c1", "c2", "c3"))
    shown = " ".join(
        f"{name} {scores[name]:.3f}" for name in ("loca_inside", "em", "sp_prec", "sp_recall") if scores[name]
    )
    return f"run {row['run']}: {costs} lambda {row['fact_weight']:.1f} {coupling['form']}: {shown}"
