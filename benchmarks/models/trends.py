"""Train the papers' systems at small sizes, and judge their trends.

Run ``python -m benchmarks.models.trends``. With the store of the project it prints what has run.

Each trend says that one score is higher than another. Both are trained and scored under the same seeds;
ours is the mean difference with a 95 % t interval over seeds. It holds if the interval lies above 0, is
opposite if it lies below, and is open otherwise. Every finished cell, a system under a seed, is a line of
the store: the same command goes on where it stopped. ``--only readers visual/graph`` takes some of the cells,
``--processes 2`` runs two at a time.

The papers: S20 is Schuff et al. (2020), N20 Subramanian et al. (2020), R22 Ray Choudhury et al. (2022);
ours is what no paper shows.
Suhr and Artzi (2019) train nothing; `touchstone reproduce suhr2019` computes their numbers.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from ._trend_cells import KINDS, TINY, Scores, Sizes, run_cell

LEVEL = 0.95
Store = dict[tuple[str, int], Scores]  # by cell and seed


@dataclass(frozen=True)
class Trend:
    """A claim: the first score is higher than the second.

    Attributes:
        paper: Its source.
        claim: The finding of the paper.
        higher: Cell and score that is higher.
        lower: Cell and score that is lower.
    """

    paper: str
    claim: str
    higher: tuple[str, str]
    lower: tuple[str, str]


@dataclass(frozen=True)
class Result:
    """A trend as we find it.

    Attributes:
        difference: Mean over seeds, None without any.
        interval: Of the mean; None for fewer than 2 seeds.
        seeds: Number of seeds.
    """

    difference: float | None
    interval: tuple[float, float] | None
    seeds: int

    @property
    def verdict(self) -> str:
        """Return holds, opposite, open or, without scores, not run."""
        if not self.seeds:
            return "not run"
        if self.interval is None:
            return "open"
        low, high = self.interval
        return "holds" if low > 0 else "opposite" if high < 0 else "open"


_LAYER, _GRAPH, _PRETRAINED = "visual/layer", "visual/graph", "visual/graph-pretraining"
_BOTH, _FAITHFUL, _ACCURACY = "visual/graph-decont-pretraining", "faithfulness", "accuracy"
_LABELS = "labels/graph-decont"
_QI, _SF = "readers/qi2019", "readers/select-and-forget"
_ANSWERS, _DIRECT = "text/answers", "text/answers-without-extract"
_PROGRAMS, _SUPERVISED = "text/programs", "text/programs-arguments"
_SMALL, _MEDIUM, _LARGE = "reasons/small", "reasons/medium", "reasons/large"
_IG, _OCCLUSION = "alignment integrated-gradients", "alignment occlusion"
_OVERLAP, _EM_LOST = ("heuristics/overlap", "f1"), "em_lost"
_BOTH_IG, _BOTH_OCCLUSION = "aligned integrated-gradients", "aligned occlusion"

TRENDS = (
    Trend("S20", "S&F: answer F1 below Qi-2019", (_QI, "f1"), (_SF, "f1")),
    Trend("S20", "S&F: FaRM(4) above Qi-2019", (_SF, "farm_4"), (_QI, "farm_4")),
    Trend("S20", "S&F: LocA above Qi-2019", (_SF, "loca"), (_QI, "loca")),
    Trend("S20", "regularised: FaRM(4) higher", (f"{_QI}-reg", "farm_4"), (_QI, "farm_4")),
    Trend("S20", "regularised: LocA higher", (f"{_QI}-reg", "loca"), (_QI, "loca")),
    Trend("S20", "S&F regularised: LocA higher", (f"{_SF}-reg", "loca"), (_SF, "loca")),
    Trend("N20", "LXMERT: accuracy above Layer-count", ("visual/lxmert", _ACCURACY), (_LAYER, _ACCURACY)),
    Trend("N20", "Layer-count: accuracy above Sum-count", (_LAYER, _ACCURACY), ("visual/sum", _ACCURACY)),
    Trend("N20", "Sum-count: more faithful than Layer-count", ("visual/sum", _FAITHFUL), (_LAYER, _FAITHFUL)),
    Trend("N20", "Graph-count: more faithful than Layer-count", (_GRAPH, _FAITHFUL), (_LAYER, _FAITHFUL)),
    Trend("N20", "decontextualised: more faithful", ("visual/graph-decont", _FAITHFUL), (_GRAPH, _FAITHFUL)),
    Trend("N20", "pretraining: more faithful", (_PRETRAINED, _FAITHFUL), (_GRAPH, _FAITHFUL)),
    Trend("N20", "both: more faithful than pretraining", (_BOTH, _FAITHFUL), (_PRETRAINED, _FAITHFUL)),
    Trend("N20", "both: more faithful than Layer-count", (_BOTH, _FAITHFUL), (_LAYER, _FAITHFUL)),
    Trend("N20", "without extract-answer: lower loss", (_ANSWERS, "loss"), (_DIRECT, "loss")),
    Trend("N20", "without extract-answer: lower F1", (_ANSWERS, "f1"), (_DIRECT, "f1")),
    Trend("N20", "supervised numbers and dates: lower loss", (_PROGRAMS, "loss"), (_SUPERVISED, "loss")),
    Trend("N20", "no sorting: higher loss", (f"{_PROGRAMS}-without-sorting", "loss"), (_SUPERVISED, "loss")),
    Trend("R22", "larger encoder: higher F1", (_LARGE, "f1"), (_SMALL, "f1")),
    Trend("R22", "large: F1 falls outside training words", (_LARGE, "f1_in"), (_LARGE, "f1_out")),
    Trend("R22", "small: F1 falls on counterfactuals", (_SMALL, "f1"), (_SMALL, "f1_in")),
    Trend("R22", "larger encoder: lower alignment by IG", (_SMALL, _IG), (_LARGE, _IG)),
    Trend("R22", "larger encoder: higher alignment by occlusion", (_LARGE, _OCCLUSION), (_SMALL, _OCCLUSION)),
    # Those below were added when scores had been seen; the docs say so.
    Trend(
        "N20",
        "added: labels alone, Layer-count: accuracy above Sum-count",
        ("labels/layer-decont", _ACCURACY),
        ("labels/sum-decont", _ACCURACY),
    ),
    Trend(
        "N20",
        "added: labels alone, Sum-count: more faithful than Layer-count",
        ("labels/sum-decont", _FAITHFUL),
        ("labels/layer-decont", _FAITHFUL),
    ),
    Trend(
        "N20",
        "added: labels alone, Graph-count: more faithful than Layer-count",
        (_LABELS, _FAITHFUL),
        ("labels/layer-decont", _FAITHFUL),
    ),
    Trend(
        "N20",
        "added: labels alone, pretraining: more faithful",
        ("labels/graph-decont-pretraining", _FAITHFUL),
        (_LABELS, _FAITHFUL),
    ),
    Trend(
        "N20",
        "added: twice the steps, Layer-count: accuracy above Sum-count",
        ("longer/layer-decont", _ACCURACY),
        ("longer/sum-decont", _ACCURACY),
    ),
    Trend(
        "N20",
        "added: twice the steps, Sum-count: more faithful than Layer-count",
        ("longer/sum-decont", _FAITHFUL),
        ("longer/layer-decont", _FAITHFUL),
    ),
    Trend(
        "N20",
        "added: Sum-count: accuracy higher after twice the steps",
        ("longer/sum-decont", _ACCURACY),
        ("labels/sum-decont", _ACCURACY),
    ),
    Trend("S20", "added: S&F: facts F1 above Qi-2019", (_SF, "sp_f1"), (_QI, "sp_f1")),
    Trend("S20", "added: S&F: joint F1 below Qi-2019", (_QI, "joint_f1"), (_SF, "joint_f1")),
    Trend("S20", "added: regularised: facts F1 lower", (_QI, "sp_f1"), (f"{_QI}-reg", "sp_f1")),
    Trend("S20", "added: S&F regularised: facts F1 lower", (_SF, "sp_f1"), (f"{_SF}-reg", "sp_f1")),
    Trend("S20", "added: S&F regularised: FaRM(4) higher", (f"{_SF}-reg", "farm_4"), (_SF, "farm_4")),
    Trend("S20", "added: S&F regularised: FaRM(4) above Qi-2019", (f"{_SF}-reg", "farm_4"), (_QI, "farm_4")),
    Trend("S20", "added: S&F regularised: LocA above Qi-2019", (f"{_SF}-reg", "loca"), (_QI, "loca")),
    Trend("S20", "added: regularised: joint F1 lower", (_QI, "joint_f1"), (f"{_QI}-reg", "joint_f1")),
    Trend("S20", "added: S&F regularised: joint F1 lower", (_SF, "joint_f1"), (f"{_SF}-reg", "joint_f1")),
    *(
        Trend("S20", f"added: {words}: {score} of facts {direction}", *pair)
        for words, system in (("regularised", _QI), ("S&F regularised", _SF))
        for score, direction, pair in (
            ("recall", "higher", ((f"{system}-reg", "sp_recall"), (system, "sp_recall"))),
            ("precision", "lower", ((system, "sp_prec"), (f"{system}-reg", "sp_prec"))),
        )
    ),
    Trend("S20", "added: S&F: c_irr(4) below Qi-2019", (_QI, "c_irr_4"), (_SF, "c_irr_4")),
    Trend("S20", "added: S&F: fewer answers outside its facts", (_QI, "loca_outside"), (_SF, "loca_outside")),
    Trend("S20", "added: S&F: EM falls more without gold facts", (_SF, _EM_LOST), (_QI, _EM_LOST)),
    Trend("N20", "added: Layer-count: accuracy above Graph-count", (_LAYER, _ACCURACY), (_GRAPH, _ACCURACY)),
    Trend(
        "N20", "added: Graph-count: accuracy above Sum-count", (_GRAPH, _ACCURACY), ("visual/sum", _ACCURACY)
    ),
    Trend(
        "N20",
        "added: decontextualised: accuracy lower",
        (_GRAPH, _ACCURACY),
        ("visual/graph-decont", _ACCURACY),
    ),
    Trend("N20", "added: pretraining: accuracy above both", (_PRETRAINED, _ACCURACY), (_BOTH, _ACCURACY)),
    Trend("N20", "added: LXMERT: accuracy above both", ("visual/lxmert", _ACCURACY), (_BOTH, _ACCURACY)),
    Trend("N20", "added: supervised numbers and dates: F1 higher", (_SUPERVISED, "f1"), (_PROGRAMS, "f1")),
    Trend("N20", "added: no sorting: F1 lower", (_SUPERVISED, "f1"), (f"{_PROGRAMS}-without-sorting", "f1")),
    Trend(
        "N20",
        "added: labels alone, Layer-count: accuracy above Graph-count",
        ("labels/layer-decont", _ACCURACY),
        (_LABELS, _ACCURACY),
    ),
    Trend(
        "N20",
        "added: labels alone, Graph-count: accuracy above Sum-count",
        (_LABELS, _ACCURACY),
        ("labels/sum-decont", _ACCURACY),
    ),
    Trend(
        "R22",
        "added: larger encoder: higher F1 outside training words",
        (_LARGE, "f1_out"),
        (_SMALL, "f1_out"),
    ),
    Trend("R22", "added: small: alignment by IG above occlusion", (_SMALL, _IG), (_SMALL, _OCCLUSION)),
    Trend("R22", "added: large: alignment by occlusion above IG", (_LARGE, _OCCLUSION), (_LARGE, _IG)),
    Trend(
        "ours",
        "added: large: alignment by IG falls outside training words",
        (_LARGE, _IG),
        (_LARGE, f"{_IG} out"),
    ),
    Trend(
        "ours",
        "added: large: alignment by occlusion falls outside training words",
        (_LARGE, _OCCLUSION),
        (_LARGE, f"{_OCCLUSION} out"),
    ),
    Trend(
        "N20",
        "added: the smallest left out, supervised numbers and dates: F1 on it higher",
        ("text-split/programs-arguments", "f1"),
        ("text-split/programs", "f1"),
    ),
    *(
        Trend(
            "N20",
            f"added: {left_out} left out, Layer-count: accuracy on them above Graph-count + both",
            (f"visual-split/{split}/layer-decont", "accuracy unseen"),
            (f"visual-split/{split}/graph-decont-pretraining", "accuracy unseen"),
        )
        for split, left_out in (
            ("length", "long programs"),
            ("filters", "two filters"),
            ("together", "filter and relation together"),
        )
    ),
    *(
        Trend("R22", f"added: rule of {words}: F1 lower than most shared words", _OVERLAP, (name, "f1"))
        for name, words in (
            ("heuristics/lcs", "the longest subsequence"),
            ("heuristics/position", "the first sentence"),
            ("heuristics/encoder", "the nearest vector"),
        )
    ),
    Trend("R22", "added: large above medium: higher F1", (_LARGE, "f1"), (_MEDIUM, "f1")),
    Trend("R22", "added: medium above small: higher F1", (_MEDIUM, "f1"), (_SMALL, "f1")),
    Trend("R22", "added: lower alignment by IG, both answers right", (_SMALL, _BOTH_IG), (_LARGE, _BOTH_IG)),
    Trend(
        "R22",
        "added: higher alignment by occlusion, both answers right",
        (_LARGE, _BOTH_OCCLUSION),
        (_SMALL, _BOTH_OCCLUSION),
    ),
)


# The seed under which data, sizes and learning rate of a kind were chosen: its scores would flatter us.
CHOSEN_UNDER = {"reasons": 1, "labels": 1, "longer": 1}


def list_cells(trends: Iterable[Trend], only: Sequence[str] = ()) -> list[str]:
    """Return the cells of trends, each once.

    Args:
        trends: Of the papers.
        only: Kinds, such as readers, or whole names; empty for all.
    """
    names = dict.fromkeys(name for trend in trends for name, _ in (trend.higher, trend.lower))
    return [name for name in names if not only or name in only or name.partition("/")[0] in only]


def judge_trend(trend: Trend, store: Store, *, level: float = LEVEL) -> Result:
    """Return the mean difference of a trend with its t interval over seeds.

    Only seeds under which both cells have the score count, and none under which one was chosen.
    """
    (higher, first), (lower, second) = trend.higher, trend.lower
    chosen = {CHOSEN_UNDER.get(name.partition("/")[0]) for name in (higher, lower)}
    seeds = sorted(
        seed for name, seed in store if name == higher and (lower, seed) in store and seed not in chosen
    )
    values = np.array([
        store[higher, seed][first] - store[lower, seed][second] for seed in seeds
        if first in store[higher, seed] and second in store[lower, seed]
    ])  # fmt: skip
    if not len(values):
        return Result(None, None, 0)
    mean = float(values.mean())
    if len(values) < 2:
        return Result(mean, None, 1)
    half = float(student.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)
    return Result(mean, (mean - half, mean + half), len(values))


def read_store(path: Path, *, tiny: bool = False) -> Store:
    """Return the finished cells of a store, either tiny ones or others.

    A torn last line is not finished.
    """
    store: Store = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["tiny"] == tiny:
            store[row["cell"], row["seed"]] = row["scores"]
    return store


def fill(names: Sequence[str], options: argparse.Namespace) -> None:
    """Run the cells that the store lacks, several at a time if asked for.

    Args:
        names: Cells to run.
        options: Of the command line.

    Raises:
        RuntimeError: A cell failed; its reason is on standard error.
    """
    options.store.parent.mkdir(parents=True, exist_ok=True)
    if options.processes == 1:
        for name, seed in list_due_cells(names, options):
            run_and_store(name, seed, options)
        return
    running: list[BaseProcess] = []
    try:
        for name, seed in list_due_cells(names, options):
            process: BaseProcess = multiprocessing.get_context("spawn").Process(
                target=run_and_store, args=(name, seed, options), name=f"{name}, seed {seed}"
            )
            process.start()
            running.append(process)
            if len(running) == options.processes:
                _wait_for_one(running)
        while running:
            _wait_for_one(running)
    finally:
        for process in running:  # left by Ctrl-C or by a cell that failed
            process.terminate()


def _wait_for_one(running: list[BaseProcess]) -> None:
    """Wait until a process ends, and take it off the list."""
    connection.wait([process.sentinel for process in running])
    for process in [process for process in running if not process.is_alive()]:
        running.remove(process)
        if process.exitcode:
            raise RuntimeError(f"{process.name}: ended with status {process.exitcode}")


def list_due_cells(names: Sequence[str], options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Yield cells and seeds that the store lacks, until the time is over.

    The first seed of all comes first. Those under which sizes were chosen would not count.
    """
    store = read_store(options.store, tiny=options.tiny)
    end = time.monotonic() + 60 * options.minutes
    for seed in range(1, options.seeds + 1):
        for name in names:
            if (name, seed) in store or CHOSEN_UNDER.get(name.partition("/")[0]) == seed:
                continue
            if time.monotonic() > end:
                print("the time is over: the same command goes on", file=sys.stderr)
                return
            yield name, seed


def run_and_store(name: str, seed: int, options: argparse.Namespace) -> None:
    """Run a cell under a seed, and append its line to the store."""
    sizes, work = (TINY, options.work / "tiny") if options.tiny else (Sizes(), options.work)
    began = time.monotonic()
    scores = run_cell(name, seed, replace(sizes, device=options.device), work)
    about = {"cell": name, "seed": seed, "tiny": options.tiny}
    row = {**about, "seconds": round(time.monotonic() - began), "scores": scores}
    with options.store.open("a", encoding="utf-8") as file:
        file.write("\n" * _is_torn(options.store) + json.dumps(row) + "\n")


def _is_torn(path: Path) -> bool:
    """Return whether a killed command left a line without its end."""
    text = path.read_bytes()
    return bool(text) and not text.endswith(b"\n")


def format_table(trends: Iterable[Trend], store: Store) -> str:
    """Return the trends in Markdown: expected, ours, and whether it holds."""
    lines = ["| paper | expected | ours (95 % interval over seeds) | seeds | |", "|---|---|---:|---:|---|"]
    for trend in trends:
        result = judge_trend(trend, store)
        ours = "–" if result.difference is None else f"{result.difference:+.3f}"
        if result.interval is not None:
            ours += f" ({result.interval[0]:+.3f} to {result.interval[1]:+.3f})"
        lines.append(f"| {trend.paper} | {trend.claim} | {ours} | {result.seeds} | {result.verdict} |")
    return "\n".join(lines)


def format_means(store: Mapping[tuple[str, int], Scores]) -> str:
    """Return the mean scores of every cell in Markdown."""
    lines = ["| cell | seeds | scores |", "|---|---:|---|"]
    for name in dict.fromkeys(cell for cell, _ in store):
        runs = [scores for (cell, _), scores in store.items() if cell == name]
        shown = [
            f"{key} {np.mean([run[key] for run in runs]):.3f}"
            for key in runs[0] if all(key in run for run in runs)
        ]  # fmt: skip
        lines.append(f"| {name} | {len(runs)} | {', '.join(shown)} |")
    return "\n".join(lines)


def main() -> int:
    """Fill the store and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--store", type=Path, default=Path(__file__).with_name("trends.jsonl"), help="finished cells"
    )
    parser.add_argument("--work", type=Path, default=Path("build/trends"), help="data, weights and logs")
    kinds = ", ".join(KINDS)
    parser.add_argument("--only", nargs="+", default=[], help=f"kinds ({kinds}) or cells")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=480, help="start no cell after this time")
    parser.add_argument("--processes", type=int, default=1, help="cells at a time, one core each")
    parser.add_argument("--device", default="cpu", help="device of the commands: cpu, cuda, cuda:1 …")
    parser.add_argument("--tiny", action="store_true", help="sizes that only show that it runs")
    options = parser.parse_args()
    names = list_cells(TRENDS, options.only)
    if not names:
        parser.error(f"--only: no such cell; there are {', '.join(list_cells(TRENDS))}")
    if options.processes < 1:
        parser.error(f"--processes: must be at least 1, not {options.processes}")
    fill(names, options)
    store = read_store(options.store, tiny=options.tiny)
    print(format_table(TRENDS, store), format_means(store), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
