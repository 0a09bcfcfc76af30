"""Measure counterfactuals, saliency and alignment of systems.

Run ``python -m benchmarks.models.reading [DATA ...]``.

DATA has the form of HotpotQA or of SQuAD; without one, questions of the generated world are asked. Says
how many instances there are and why others have none, then prints the alignment of each system and method
with n and 95 % intervals, and writes the records where ``--out`` says. The contexts are the paragraphs of the
supporting facts, or whole if these are not known.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from analysis.commands.counterfactuals import read_questions
from analysis.counterfactuals.alignment import Record, alignments, judge
from analysis.counterfactuals.drafts import draft
from analysis.counterfactuals.instances import Instance, Version, Weight
from analysis.counterfactuals.records import build_record, select_usable
from modelserver.registry import load_system
from modelserver.systems.predict_each import predict_each
from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import Explanation, ItemError, QAItem, SaliencyMethod, SaliencyOptions
from modelserver.wire.system_protocol import Predictor, find_explainer
from modelserver.world import generate

SYSTEMS = ("qi2019", "encoder-small", "encoder-mini", "heuristic")
METHODS: tuple[SaliencyMethod, ...] = ("integrated-gradients", "occlusion")
TOGETHER = 16  # items asked at once


def build_key(version: Version) -> str:
    """Return a key of a text."""
    return json.dumps([version.question, version.context])


def ask_system(system: Any, versions: dict[str, Version]) -> dict[str, Any]:
    """Return a system's answer or error for each distinct text."""
    items = {name: QAItem(id=str(i), question=v.question, context=v.context)
             for i, (name, v) in enumerate(versions.items())}  # fmt: skip
    answers: dict[str, Any] = {}
    for name, item in items.items():
        try:
            system.check(item)
        except InvalidRequest as error:
            answers[name] = ItemError(id=item.id, error="invalid_item", message=str(error))
    left = sorted(items.keys() - answers.keys(), key=lambda name: len(name))
    for at in range(0, len(left), TOGETHER):
        part = left[at : at + TOGETHER]
        answers |= zip(part, predict_each(system, [items[name] for name in part]), strict=True)
    return answers


class ExplainTask:
    """A system as what answers with its saliency."""

    def __init__(self, system: Any, options: SaliencyOptions) -> None:
        self.name, self.check, self.cost, self._options = system.name, system.check, system.cost, options
        self._explain = find_explainer(system)

    def predict(self, items: Sequence[QAItem]) -> Any:
        """Return the saliency of the items."""
        assert self._explain is not None
        return self._explain(items, self._options)


def compute_records(
    system: Predictor, instances: Sequence[Instance], methods: Sequence[SaliencyMethod], dataset: str
) -> Iterator[dict[str, Any]]:
    """Yield the records of a system; print errors to standard error."""
    originals = {build_key(instance.original): instance.original for instance in instances}
    answers = ask_system(
        system,
        originals | {build_key(instance.counterfactual): instance.counterfactual for instance in instances},
    )
    can = find_explainer(system) is not None
    for method in methods if can else [None]:
        began = time.process_time()
        reasons = ask_system(ExplainTask(system, SaliencyOptions(method=method)), originals) if method else {}
        lost: Counter[str] = Counter()
        for instance in instances:
            first, second = answers[build_key(instance.original)], answers[build_key(instance.counterfactual)]
            why = reasons.get(build_key(instance.original))
            if isinstance(first, ItemError) or isinstance(second, ItemError):
                lost["not answered"] += 1
                continue
            weights: list[Weight] | None = None
            if isinstance(why, Explanation):
                weights = [(s.article, s.index, s.start, s.end, s.score) for s in why.scores]
            elif why is not None:
                lost["no saliency, counted as not aligned"] += 1
                weights = []
            names = {"dataset": dataset, "system": system.name, "method": method or ""}
            yield build_record(instance, names, (first.answer, second.answer), weights)
        losses = "".join(f"; {number} {reason}" for reason, number in lost.items())
        seconds = time.process_time() - began
        print(f"  {system.name} {method or 'answers'}: {seconds:.0f} s{losses}", file=sys.stderr)


def format_percent(value: float | None) -> str:
    """Format a share in per cent."""
    return "–" if value is None else f"{100 * value:.1f}"


def format_table(answers: Sequence[dict[str, Any]]) -> str:
    """Return exact match and alignment of each group in Markdown."""
    lines = [
        "| system | step | words | n | EM | EM counterfactual | method | alignment (95 %) | answered twice "
        "| aligned among them | random parts |",
        "|---|---|---|---:|---:|---:|---|---:|---:|---:|---:|",
    ]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in answers:
        groups.setdefault((row["system"], row["step"], row["distribution"], row["method"]), []).append(row)
    for (system, step, distribution, method), rows in groups.items():
        em = [
            format_percent(float(np.mean([r[f"{k}_correct"] for r in rows])))
            for k in ("original", "counterfactual")
        ]
        cells = [system, step, distribution, str(len(rows)), *em, method or "–"]
        verdicts = alignments(judge([Record(**row) for row in rows], rng=np.random.default_rng(1)))
        for verdict in verdicts:
            low, high = verdict.interval
            interval = f"{format_percent(low)} to {format_percent(high)}"
            cells += [f"{format_percent(verdict.score)} ({interval})", str(verdict.answered)]
            cells += [format_percent(verdict.among_answered), format_percent(verdict.control)]
        lines.append("| " + " | ".join(cells + ["–"] * (4 * (not verdicts))) + " |")
    return "\n".join(lines)


def main() -> int:
    """Print the tables of all systems."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="*", type=Path, help="questions (default: the generated world)")
    parser.add_argument("--questions", type=int, default=400, help="of the generated world")
    parser.add_argument("--articles", type=int, default=2, help="of each of them, 2 to 8")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=get_args(SaliencyMethod))
    parser.add_argument("--distribution", nargs="+", default=["in", "out"], choices=["in", "out"])
    parser.add_argument(
        "--near-synonyms", action="store_true", help="also swaps that hardly change the meaning"
    )
    parser.add_argument("--out", type=Path, help="write the records here, one a line")
    options = parser.parse_args()
    torch.set_num_threads(1)
    loaded = [load_system(name) for name in options.systems]
    answers: list[dict[str, Any]] = []
    for path in options.data or [None]:
        world = generate("test", options.questions, 1, options.articles)
        questions = read_questions(path) if path else (dict(instance) for instance in world)
        drafts = draft(
            questions,
            extents=["paragraphs"],
            distributions=options.distribution,
            near_synonyms=options.near_synonyms,
        )
        instances = select_usable(drafts.instances, near_synonyms=options.near_synonyms)
        name = path.stem if path else "world"
        print(f"\n{name}: {len(instances)} instances")
        for (step, _, reason), number in drafts.skipped.items():
            print(f"  {number} left out of {step}: {reason}")
        rows = [
            row for instance in loaded for row in compute_records(instance, instances, options.methods, name)
        ]
        print(f"\n{format_table(rows)}", flush=True)
        answers += rows
    if options.out:
        options.out.write_text("".join(json.dumps(row) + "\n" for row in answers), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
