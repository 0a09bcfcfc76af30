"""The table of text-nmn's variants: answers, programs and faithfulness."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from analysis.io.command_line import BAD_USAGE
from modelserver.modular.text.examples import Example
from modelserver.modular.text.network import Config
from modelserver.modular.text.reduction import unsorted
from modelserver.modular.text.scoring import Scores, score
from modelserver.modular.text.system import TextSystem, load
from modelserver.training.options import Count, Folder, options_of_command
from modelserver.training.tables import cell, markdown, over_seeds, write_json, write_text
from modelserver.training.text_nmn.loss import Supervision
from modelserver.training.text_nmn.trainer import NAME, TextOptions, games, read, train_one

TEST_EXAMPLES = 300
GROUPS = ("overall", "find", "filter", "relocate", "min-max", "find-arg")  # columns of Table 2


@dataclass(frozen=True)
class Variant:
    """A row of the table: modules of its programs, and its supervision."""

    text: str
    supervision: Supervision
    extract: bool = True
    sorting: bool = True


_ARGUMENTS = Supervision(auxiliary=True, outputs="arguments")
_ANSWERS = Supervision(programs=False, auxiliary=False, outputs="none")
TABLE = {
    "answers": Variant("no gold programs", _ANSWERS),
    "answers-without-extract": Variant("no gold programs, without extract-answer", _ANSWERS, extract=False),
    "programs": Variant("gold programs", Supervision(auxiliary=False, outputs="none")),
    "programs-without-sorting": Variant(
        "gold programs, numbers and dates, without sorting and comparison", _ARGUMENTS, sorting=False
    ),
    "programs-arguments": Variant("gold programs, numbers and dates", _ARGUMENTS),
    "programs-all": Variant(
        "gold programs and the outputs of all modules", replace(_ARGUMENTS, outputs="all")
    ),
}
# Subramanian et al. 2020, §5.2, for text: train on find-max-num and greater, test on find-min-num and less.
SPLIT = {name: TABLE[name] for name in ("programs", "programs-arguments")}


def learned(example: Example) -> bool:
    """Return whether the split trains on an example with the largest."""
    return _has(example, "find-max-num", "greater") and not asked(example)


def asked(example: Example) -> bool:
    """Return whether the split tests on an example with the smallest."""
    return _has(example, "find-min-num", "less")


def _has(example: Example, module: str, choice: str) -> bool:
    nodes = () if example.program is None else example.program.nodes
    return any(node.module == module or node.argument == choice for node in nodes)


@options_of_command
class TableOptions(TextOptions, Folder):
    """Everything that the table takes.

    Attributes:
        out: Folder for table.json, table.md, and a folder of each variant and
            seed.
        seeds: Number of seeds, from --seed on; the table has mean and SD.
        split: Learn on the largest, test on the smallest.
        weights: Score this folder of weights alone, and train nothing.
        only: Comma-separated variants; all by default.
        test: Number of generated test examples.
        test_file: Score on this file instead of generated games.
    """

    seeds: Count = 1
    split: bool = False
    weights: Path | None = None
    only: str | None = None
    test: Count = TEST_EXAMPLES
    test_file: Path | None = None


def text_table(*, options: TableOptions) -> int:
    """Train and score the variants of text-nmn.

    The table of Subramanian et al. 2020 (Table 2), and its split. Each
    variant and seed has a folder of its own below --out. A finished one is not
    trained again, and an interrupted one continues.
    """
    variants = SPLIT if options.split else TABLE
    chosen = options.only.split(",") if options.only else list(variants)
    if unknown := [name for name in chosen if name not in variants]:
        sys.stderr.write(f"error: --only: no variant {unknown[0]!r}; there are {', '.join(variants)}\n")
        return BAD_USAGE
    options.apply()
    test = read(options.test_file) if options.test_file else games("test", options.test, options.world_seed)
    if options.weights is not None:
        rows = {"weights": _row(options.weights.name, score(_loaded(options.weights, options), test))}
        return _publish(options.out, rows)
    train_set, dev = options.open_examples(read, games)
    if options.split:
        train_set, dev, test = (
            list(filter(keep, part)) for keep, part in ((learned, train_set), (learned, dev), (asked, test))
        )
    rows = {}
    for name in chosen:
        runs = {}
        for seed in range(options.seed, options.seed + options.seeds):
            own = replace(options, seed=seed)
            trained = _trained(own, variants[name], options.out / name / f"seed-{seed}", train_set, dev)
            runs[seed] = _row(variants[name].text, score(trained, test, given=options.split))
        rows[name] = over_seeds(runs)
        if len(runs) > 1:  # each interval is of one seed's losses; their means would be of nothing
            rows[name].pop("interval", None)
    return _publish(options.out, rows)


def _publish(out: Path, rows: dict[str, dict[str, Any]]) -> int:
    """Write and print the table; returns 0."""
    write_json(out / "table.json", rows)
    write_text(out / "table.md", table(rows))
    print(table(rows), end="")  # noqa: T201 - the table is the output of the command
    return 0


def _trained(
    options: TableOptions, variant: Variant, out: Path, train_set: list[Example], dev: list[Example]
) -> TextSystem:
    """Return a variant's best weights; train it unless its folder has them."""
    examples = train_set if variant.sorting else [unsorted(example) for example in train_set]
    supervision = replace(variant.supervision, beam=options.beam)
    config = Config(extract=variant.extract, sorting=variant.sorting)
    train_one(examples, dev, supervision, options, out, config, resume=True)
    return _loaded(out, options)


def _loaded(folder: Path, options: TableOptions) -> TextSystem:
    return load(folder, torch.device(options.device), name=NAME, description=folder.name)


def _row(text: str, scores: Scores) -> dict[str, Any]:
    """Return a row of the table.

    The 95 % confidence intervals of the losses come from a bootstrap over
    questions.
    """
    row: dict[str, Any] = {"text": text, "em": scores.em, "f1": scores.f1, "parsed": scores.parsed}
    if scores.faithfulness is not None:
        losses = scores.faithfulness.table()
        intervals = scores.faithfulness.intervals(rng=np.random.default_rng(1))
        row["loss"] = {name: losses[name].loss for name in GROUPS if name in losses}
        bounds = {name: intervals[name].interval for name in GROUPS if name in intervals}
        row["interval"] = {name: [each.low, each.high] for name, each in bounds.items() if each is not None}
        row["questions"] = losses["overall"].n
    return row


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Return the rows as a table in Markdown.

    F1 is in per cent; mean losses are in nats, and lower is better. With several
    seeds each cell is a mean ± SD.
    """
    heads = ("variant", "EM", "F1", "programs", *GROUPS)
    lines = []
    for row in rows.values():
        sd, cells = row.get("sd", {}), [row["text"]]
        for name in ("em", "f1", "parsed"):
            spread = sd.get(name)
            scaled = None if spread is None else 100 * spread
            cells.append("" if row[name] is None else cell(100 * row[name], scaled, form=".1f"))
        losses, spreads = row.get("loss", {}), sd.get("loss", {})
        cells += [cell(losses[name], spreads.get(name)) if name in losses else "" for name in GROUPS]
        lines.append(cells)
    return markdown([heads]) + "|---" * len(heads) + "|\n" + markdown(lines)
