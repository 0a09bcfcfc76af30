"""The table of text-nmn's variants: answers, programs and faithfulness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
import torch
from cyclopts import Parameter

from analysis.io.command_line import BadUsage
from modelserver.modular.text.examples import Example
from modelserver.modular.text.network import Config
from modelserver.modular.text.reduction import remove_sorting
from modelserver.modular.text.scoring import Scores, score
from modelserver.modular.text.system import TextSystem, load
from modelserver.training import tables
from modelserver.training.options import TestCount, TestFile, options_of_command
from modelserver.training.tables import Table, format_cell, format_markdown
from modelserver.training.text_nmn.loss import Supervision
from modelserver.training.text_nmn.trainer import NAME, TextOptions, generate_games, read, train_one

TEST_EXAMPLES = 300
VariantName = Literal[
    "answers",
    "answers-without-extract",
    "programs",
    "programs-without-sorting",
    "programs-arguments",
    "programs-all",
]
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
TABLE: dict[VariantName, Variant] = {
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
SPLIT: tuple[VariantName, ...] = ("programs", "programs-arguments")


def is_for_training(example: Example) -> bool:
    """Return whether the split trains on an example with the largest."""
    return _has(example, "find-max-num", "greater") and not is_for_testing(example)


def is_for_testing(example: Example) -> bool:
    """Return whether the split tests on an example with the smallest."""
    return _has(example, "find-min-num", "less")


def _has(example: Example, module: str, choice: str) -> bool:
    nodes = () if example.program is None else example.program.nodes
    return any(node.module == module or node.argument == choice for node in nodes)


@options_of_command
class TableOptions(TextOptions, tables.TableOptions):
    """Everything that the table takes.

    Attributes:
        leave_out_smallest: Train on questions for the largest alone, and test on
            those for the smallest.
        weights: Score this folder of weights alone, and train nothing.
        variants: Variants to train; all by default.
        test: Number of generated test examples.
        test_file: Score on this file instead of generated games.
    """

    leave_out_smallest: bool = False
    weights: Path | None = None
    variants: Annotated[tuple[VariantName, ...], Parameter(consume_multiple=True)] = ()
    world_seed: int = 1
    test: TestCount = TEST_EXAMPLES
    test_file: TestFile | None = None


def text_table(*, options: TableOptions) -> None:
    """Train and score the variants of text-nmn.

    The table of Subramanian et al. 2020 (Table 2), and its split.
    """
    names = options.variants or (SPLIT if options.leave_out_smallest else get_args(VariantName))
    if unknown := [name for name in names if options.leave_out_smallest and name not in SPLIT]:
        raise BadUsage(f"--leave-out-smallest has no variant {unknown[0]!r}; it has {', '.join(SPLIT)}")
    if options.weights is not None:
        _score_weights(options, options.weights)
        return
    table = Table(options, [(name,) for name in names])
    options.apply()
    test = _test_examples(options)
    train_set, dev = options.open_examples(read, generate_games)
    if options.leave_out_smallest:
        train_set, dev, test = (
            list(filter(keep, part))
            for keep, part in ((is_for_training, train_set), (is_for_training, dev), (is_for_testing, test))
        )

    def score_variant(key: tuple[VariantName], seed: int, out: Path) -> dict[str, Any]:
        variant = TABLE[key[0]]
        examples = train_set if variant.sorting else [remove_sorting(example) for example in train_set]
        supervision = replace(variant.supervision, beam=options.beam)
        config = Config(extract=variant.extract, sorting=variant.sorting)
        train_one(examples, dev, supervision, replace(options, seed=seed), out, config, **options.start)
        return _build_row(
            variant.text, score(_load_system(out, options), test, given=options.leave_out_smallest)
        )

    table.fill(score_variant, format_table)


def _score_weights(options: TableOptions, weights: Path) -> None:
    """Write and print the row of a folder of weights, which is not trained."""
    table = Table(replace(options, seeds=1), [("weights",)])
    options.apply()
    row = _build_row(weights.name, score(_load_system(weights, options), _test_examples(options)))
    table.fill(lambda *_: row, format_table)


def _test_examples(options: TableOptions) -> list[Example]:
    return (
        read(options.test_file)
        if options.test_file
        else generate_games("test", options.test, options.world_seed)
    )


def _load_system(folder: Path, options: TableOptions) -> TextSystem:
    return load(folder, torch.device(options.device), name=NAME, description=folder.name)


def _build_row(text: str, scores: Scores) -> dict[str, Any]:
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
        row["interval"] = {
            name: [interval.low, interval.high] for name, interval in bounds.items() if interval is not None
        }
        row["questions"] = losses["overall"].n
    return row


def format_table(rows: dict[str, dict[str, Any]]) -> str:
    """Return the rows as a table in Markdown.

    F1 is in per cent; mean losses are in nats, and lower is better. With several
    seeds each cell is a mean ± SD.
    """
    lines = []
    for row in rows.values():
        answers = [format_cell(row, name, form=".1%").removesuffix(" %") for name in ("em", "f1", "parsed")]
        lines.append([row["text"], *answers, *(format_cell(row, "loss", name) for name in GROUPS)])
    return format_markdown(["variant", "EM", "F1", "programs", *GROUPS], lines)
