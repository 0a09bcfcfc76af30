"""Train and score the variants of `text-nmn`: the table of Subramanian et al. 2020 (Table 2), and its split.

Each variant has a folder of its own below ``--out``; one that was trained before is left alone, and one that
was killed goes on. Answers are scored on the test split of the games, or on ``--test-data``.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from modelserver.modular.text.examples import Example
from modelserver.modular.text.network import Config
from modelserver.modular.text.reduction import unsorted
from modelserver.modular.text.scoring import Scores, score
from modelserver.modular.text.system import TextSystem, load
from modelserver.training.text_nmn import (
    DEV_EXAMPLES,
    NAME,
    NEW_ENCODER,
    TRAIN_EXAMPLES,
    WORLD_SEED,
    Recipe,
    Trainer,
    data,
    encoder_rate,
    games,
    open_encoder,
    read,
    with_progress,
)
from modelserver.training.text_nmn_loss import Supervision
from modelserver.world.items import whole

TEST_EXAMPLES = 300
GROUPS = ("overall", "find", "filter", "relocate", "min-max", "find-arg")  # columns of Table 2


@dataclass(frozen=True)
class Variant:
    """A network of the table: what its programs may use, and what it is told."""

    text: str
    supervision: Supervision
    extract: bool = True
    sorting: bool = True


_TOLD = Supervision(auxiliary=True, outputs="arguments")
_ANSWERS = Supervision(programs=False, auxiliary=False, outputs="none")
TABLE = {
    "answers": Variant("no programs told", _ANSWERS),
    "answers-without-extract": Variant("no programs told, without extract-answer", _ANSWERS, extract=False),
    "programs": Variant("programs told", Supervision(auxiliary=False, outputs="none")),
    "programs-without-sorting": Variant(
        "programs, numbers and dates told, without sorting and comparison", _TOLD, sorting=False
    ),
    "programs-arguments": Variant("programs, numbers and dates told", _TOLD),
    "programs-all": Variant("programs and the outputs of all modules told", replace(_TOLD, outputs="all")),
}
# The text side of N20 §5.2: learn on the largest and on what is greater, answer about the smallest and less.
SPLIT = {
    "programs": Variant("programs told", Supervision(auxiliary=False, outputs="none")),
    "programs-arguments": Variant("programs, numbers and dates told", _TOLD),
}


def learned(example: Example) -> bool:
    """Return whether the split learns from an example: its program has the largest or greater alone."""
    return _has(example, "find-max-num", "greater") and not asked(example)


def asked(example: Example) -> bool:
    """Return whether the split asks an example: its program has the smallest or less."""
    return _has(example, "find-min-num", "less")


def _has(example: Example, module: str, choice: str) -> bool:
    nodes = () if example.program is None else example.program.nodes
    return any(node.module == module or node.argument == choice for node in nodes)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    recipe = Recipe()

    def add(flag: str, text: str, **settings: Any) -> None:
        shown = " (default: %(default)s)" if settings.get("default") is not None else ""
        parser.add_argument(flag, help=text + shown, **settings)

    add("--out", "folder for the variants' folders, table.json and table.md", type=Path, required=True)
    parser.add_argument("--split", action="store_true", help="learn on the largest, ask about the smallest")
    add("--weights", "score this folder of weights alone, and train nothing", type=Path)
    add("--only", "comma-separated variants (default: all)", type=lambda text: text.split(","))
    add("--data", "train on this file instead of games; see `train text-nmn`", type=Path)
    add("--dev-data", "choose checkpoints on this file", type=Path)
    add("--test-data", "score on this file", type=Path)
    add("--world-seed", "seed of the generated games", type=int, default=WORLD_SEED)
    add("--train", "examples of the games", type=int, default=TRAIN_EXAMPLES)
    add("--dev", "dev examples of the games", type=int, default=DEV_EXAMPLES)
    add("--test", "test examples of the games", type=int, default=TEST_EXAMPLES)
    add("--encoder", "folder of a model, id of the hub, or new:HIDDENxLAYERS", default=NEW_ENCODER)
    parser.add_argument("--allow-hub", action="store_true", help="fetch --encoder from the hub if no folder")
    add("--steps", "steps of training", type=int, default=recipe.steps)
    add("--check-every", "steps between checks", type=int, default=recipe.check_every)
    add("--beam", "programs tried for a question where none is told", type=int, default=Supervision.beam)
    add("--seed", "seed of weights and order", type=int, default=recipe.seed)
    add("--device", "cpu, cuda, cuda:1 …", type=torch.device, default="cpu")
    add("--threads", "CPU threads; the same number repeats exactly", type=int, default=1)


def run(options: argparse.Namespace) -> int:
    """Train what is not trained yet, score all and write the table; returns 0, or 2 for bad arguments."""
    variants = SPLIT if options.split else TABLE
    chosen = options.only or list(variants)
    if unknown := [name for name in chosen if name not in variants]:
        sys.stderr.write(f"--only: no variant {unknown[0]!r}; there are {', '.join(variants)}\n")
        return 2
    torch.set_num_threads(options.threads)
    test = _test(options)
    if options.weights is not None:
        rows = {"weights": _row(options.weights.name, score(_loaded(options.weights, options), test))}
        return _publish(options.out, rows)
    train_set, dev = data(options)
    if options.split:
        train_set, dev, test = (
            list(filter(keep, part)) for keep, part in ((learned, train_set), (learned, dev), (asked, test))
        )
    rows = {}
    for name in chosen:
        trained = _trained(options, variants[name], options.out / name, train_set, dev)
        rows[name] = _row(variants[name].text, score(trained, test, given=options.split))
    return _publish(options.out, rows)


def _publish(out: Path, rows: dict[str, dict[str, Any]]) -> int:
    """Write and print the table; returns 0."""
    _write(out / "table.json", json.dumps(rows, indent=2) + "\n")
    _write(out / "table.md", table(rows))
    print(table(rows), end="")  # noqa: T201 - the table is the output of the command
    return 0


def _test(options: argparse.Namespace) -> list[Example]:
    if options.test_data is not None:
        return read(options.test_data)
    return games("test", options.test, options.world_seed)


def _trained(
    options: argparse.Namespace, variant: Variant, out: Path, train_set: list[Example], dev: list[Example]
) -> TextSystem:
    """Train a variant, unless its folder holds it already, and return the checkpoint chosen on dev."""
    torch.manual_seed(options.seed)  # weights of a new encoder
    encoder = open_encoder(options.encoder, train_set, allow_hub=options.allow_hub)
    config = Config(window=encoder.window, extract=variant.extract, sorting=variant.sorting)
    recipe = Recipe(
        steps=options.steps,
        encoder_rate=encoder_rate(options.encoder),
        check_every=options.check_every,
        seed=options.seed,
    )
    told = train_set if variant.sorting else [unsorted(example) for example in train_set]
    supervision = replace(variant.supervision, beam=options.beam)
    trainer = Trainer(encoder, config, recipe, supervision, told, device=options.device)
    with_progress(trainer, dev, out, resume=True)
    return _loaded(out, options)


def _loaded(folder: Path, options: argparse.Namespace) -> TextSystem:
    return load(folder, options.device, name=NAME, description=folder.name)


def _row(text: str, scores: Scores) -> dict[str, Any]:
    """Return a row of the table with 95 % intervals of the losses from a bootstrap over questions."""
    row: dict[str, Any] = {"text": text, "em": scores.em, "f1": scores.f1, "parsed": scores.parsed}
    if scores.faithfulness is not None:
        losses = scores.faithfulness.table()
        intervals = scores.faithfulness.intervals(rng=np.random.default_rng(1))
        row["loss"] = {name: losses[name].loss for name in GROUPS if name in losses}
        found = {name: intervals[name].interval for name in GROUPS if name in intervals}
        row["interval"] = {name: [one.low, one.high] for name, one in found.items() if one is not None}
        row["questions"] = losses["overall"].n
    return row


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Return the rows as a table in Markdown: F1 in percent, and mean losses in nats, lower is better."""
    heads = ("variant", "EM", "F1", "programs", *GROUPS)
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows.values():
        shares = [row["em"], row["f1"], row["parsed"]]
        cells = [row["text"], *(f"{100 * share:.1f}" if share is not None else "" for share in shares)]
        losses = row.get("loss", {})
        cells += [f"{losses[name]:.2f}" if name in losses else "" for name in GROUPS]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _write(path: Path, text: str) -> None:
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")
