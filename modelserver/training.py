"""Train a recurrent system: without further arguments, by the recipe of the shipped weights.

`select-and-forget` learns to answer from the facts that it selects itself with the gold facts added, so that
early in training there is something to answer from, and later on it meets its own mistakes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from rich.console import Console
from rich.progress import Progress
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name everyone uses

from modelserver.errors import UnreadableData
from modelserver.evaluation import predict_gold, scores
from modelserver.gold import GoldExample, parse_gold, read_gold
from modelserver.systems import SYSTEMS, reader, recurrent
from modelserver.systems.reader import RecurrentSystem
from modelserver.systems.recurrent import ANSWER_TYPES, Batch, Config, Outputs
from modelserver.text import Features, Vocabulary, featurise, find_answer
from modelserver.world import Split, generate

IGNORED = -100  # a label that torch's cross-entropy leaves out
TRAIN_EXAMPLES, DEV_EXAMPLES, WORLD_SEED = 8000, 400, 1
CPU = torch.device("cpu")

Row = dict[str, float | None]


@dataclass(frozen=True)
class Recipe:
    """Everything beside the data and the sizes of the reader that the result depends on."""

    steps: int = 1800
    batch: int = 16
    rate: float = 3e-3
    warm_up: int = 60
    clip: float = 5.0  # norm of the gradient
    rare: int = 15  # words seen less often get no embedding of their own: names must not be learned by heart
    check_every: int = 100
    patience: int = 6  # checks without a better joint F1 on dev after which training ends
    fact_weight: float = 12.0  # of the facts' part of the loss
    seed: int = 1


@dataclass(frozen=True)
class Example:
    """A question as numbers with its labels. ``start`` and ``end`` are IGNORED where yes or no answers it."""

    features: Features
    start: int
    end: int
    type: int
    facts: npt.NDArray[np.bool_]  # [F] true for a gold fact


def label(gold: GoldExample, vocabulary: Vocabulary) -> Example | None:
    """Return features and labels, or None where the answer is not in the context and cannot be learned."""
    features = featurise(gold.item, vocabulary)
    wanted = set(gold.supporting_facts)
    facts = np.array([fact in wanted for fact in features.facts], dtype=bool)
    if gold.answer in ANSWER_TYPES[1:]:
        return Example(features, IGNORED, IGNORED, ANSWER_TYPES.index(gold.answer), facts)
    span = find_answer(features, gold.answer, wanted)
    return None if span is None else Example(features, *span, 0, facts)


def batches(examples: Sequence[Example], size: int, rng: np.random.Generator) -> Iterator[list[Example]]:
    """Yield batches for ever: each pass shuffles, then sorts runs of fifty batches by length."""
    run = size * 50
    while True:
        order = rng.permutation(len(examples))
        for first in range(0, len(order), run):
            part = sorted(order[first : first + run], key=lambda i: len(examples[i].features))
            groups = [part[i : i + size] for i in range(0, len(part), size)]
            for index in rng.permutation(len(groups)):
                yield [examples[i] for i in groups[index]]


def loss(outputs: Outputs, examples: Sequence[Example], batch: Batch, fact_weight: float) -> Tensor:
    """Return the sum of four cross-entropies: start, end, type and facts (Schuff et al. 2020, §3.3).

    The first three are means over examples; the last is a mean over facts, times ``fact_weight``.
    """
    groups = batch.context.by_example
    total = F.cross_entropy(outputs.type, torch.tensor([e.type for e in examples]))
    for logits, places in (
        (outputs.start, [e.start for e in examples]),
        (outputs.end, [e.end for e in examples]),
    ):
        spans = torch.tensor(places)
        padded = groups.pad(logits).masked_fill(~groups.mask, -1e30)  # [N, T]
        total = total + F.cross_entropy(padded, spans, ignore_index=IGNORED, reduction="sum") / len(examples)
    gold = torch.from_numpy(np.concatenate([e.facts for e in examples])).long()
    return total + fact_weight * F.cross_entropy(outputs.facts, gold)


class Trainer:
    """A reader in training: its data, optimiser and schedule."""

    def __init__(self, config: Config, recipe: Recipe, examples: Sequence[GoldExample]) -> None:
        torch.manual_seed(recipe.seed)
        self.config, self.recipe = config, recipe
        self.vocabulary = Vocabulary.build(chain.from_iterable(map(_texts, examples)), at_least=recipe.rare)
        labelled = [label(gold, self.vocabulary) for gold in examples]
        self.examples = [example for example in labelled if example is not None]
        if not self.examples:
            raise UnreadableData("training data: not one answer is found in its context")
        self.model = recurrent.build(config, len(self.vocabulary))
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=recipe.rate)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimiser, lambda step: pace(step, recipe))
        self.source = batches(self.examples, recipe.batch, np.random.default_rng(recipe.seed))

    def step(self) -> float:
        """Learn from one batch and return its loss."""
        examples = next(self.source)
        batch = recurrent.collate([e.features for e in examples], CPU)
        gold = torch.from_numpy(np.concatenate([e.facts for e in examples]))
        self.model.train()
        value = loss(self.model(batch, gold), examples, batch, self.recipe.fact_weight)
        self.optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self.optimiser.step()
        self.schedule.step()
        return value.item()

    def system(self) -> RecurrentSystem:
        """Return the reader as it stands, ready to predict."""
        return RecurrentSystem(
            self.model, self.config, self.vocabulary,
            name=self.config.system, description="in training", revision="0" * 12, device=CPU,
        )  # fmt: skip

    def save(self, folder: Path) -> None:
        reader.save(folder, self.model, self.config, self.vocabulary)


def pace(step: int, recipe: Recipe) -> float:
    """Return the share of the full learning rate: up in a line, then down along half a cosine to 2 %."""
    if step < recipe.warm_up:
        return (step + 1) / recipe.warm_up
    done = min(1.0, (step - recipe.warm_up) / max(1, recipe.steps - recipe.warm_up))
    return 0.02 + 0.98 * (1 + math.cos(math.pi * done)) / 2


def train(
    trainer: Trainer,
    dev: Sequence[GoldExample],
    out: Path,
    *,
    report: Callable[[Row], None] = lambda row: None,
    advance: Callable[[], None] = lambda: None,
) -> Row:
    """Train by the recipe; leave the best checkpoint by joint F1 on dev, and log.jsonl, in ``out``.

    Returns the log row of that checkpoint: step, mean training loss since the last row, seconds of wall and
    of processor time so far, and the scores on dev.
    """
    out.mkdir(parents=True, exist_ok=True)
    recipe, losses, since = trainer.recipe, [], 0
    best: Row = {"joint_f1": -1.0}
    wall, processor = time.perf_counter(), time.process_time()
    with (out / "log.jsonl").open("w", encoding="utf-8") as log:
        for step in range(1, recipe.steps + 1):
            losses.append(trainer.step())
            advance()
            if step % recipe.check_every and step != recipe.steps:
                continue
            row: Row = {"step": step, "loss": float(np.mean(losses))}
            row |= {
                "seconds": time.perf_counter() - wall,
                "processor_seconds": time.process_time() - processor,
            }
            row |= scores(dev, predict_gold(trainer.system(), dev))
            losses, since = [], since + 1
            log.write(json.dumps(row) + "\n")
            log.flush()
            report(row)
            if (row["joint_f1"] or 0.0) > (best["joint_f1"] or 0.0):
                trainer.save(out)
                best, since = row, 0
            if since >= recipe.patience:
                break
    return best


def _texts(gold: GoldExample) -> Iterator[str]:
    yield gold.question
    for title, sentences in gold.context:
        yield title
        yield from sentences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command: SYSTEM, then those of the way it is trained."""
    ways = parser.add_subparsers(dest="system", metavar="SYSTEM", required=True)
    for name, spec in SYSTEMS.items():
        _recurrent_arguments(ways.add_parser(name, help=spec.description, description=spec.description))


def _recurrent_arguments(parser: argparse.ArgumentParser) -> None:
    add, recipe = parser.add_argument, Recipe()
    add("--out", type=Path, required=True, help="folder for weights, configuration, vocabulary and log")
    add("--data", type=Path, help="train on this file in the HotpotQA form (default: a generated world)")
    add("--dev-data", type=Path, help="choose the checkpoint on this file (default: every 20th of --data)")
    add("--world-seed", type=int, default=WORLD_SEED, help="seed of the world (default: %(default)s)")
    add("--train", type=int, default=TRAIN_EXAMPLES, help="examples of the world (default: %(default)s)")
    add("--dev", type=int, default=DEV_EXAMPLES, help="dev examples of the world (default: %(default)s)")
    add("--steps", type=int, default=recipe.steps, help="default: %(default)s")
    add("--batch", type=int, default=recipe.batch, help="examples in a step (default: %(default)s)")
    add(
        "--check-every",
        type=int,
        default=recipe.check_every,
        help="steps between checks (default: %(default)s)",
    )
    add("--hidden", type=int, default=Config("qi2019").hidden, help="hidden size (default: %(default)s)")
    add("--seed", type=int, default=recipe.seed, help="seed of weights and order (default: %(default)s)")
    add(
        "--threads",
        type=int,
        default=2,
        help="CPU threads; the same number repeats exactly (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Train and write the weights folder; the exit status is 0, or 2 for bad arguments."""
    for name in ("train", "dev", "steps", "batch", "check_every", "hidden", "threads"):
        if getattr(options, name) < 1:
            sys.stderr.write(f"--{name.replace('_', '-')} must be at least 1\n")
            return 2
    torch.set_num_threads(options.threads)
    train_set, dev = _data(options)
    recipe = Recipe(
        steps=options.steps, batch=options.batch, check_every=options.check_every, seed=options.seed
    )
    trainer = Trainer(Config(options.system, hidden=options.hidden), recipe, train_set)
    sys.stderr.write(f"{len(trainer.examples)} of {len(train_set)} examples can be learned from\n")
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(f"{options.system}: training", total=recipe.steps)
        best = train(trainer, dev, options.out, report=_print, advance=lambda: progress.advance(task))
    sys.stderr.write(f"{options.out}: the weights of step {best['step']:.0f}\n")
    return 0


def _data(options: argparse.Namespace) -> tuple[list[GoldExample], list[GoldExample]]:
    if options.data is None:
        sizes: tuple[tuple[Split, int], ...] = (("train", options.train), ("dev", options.dev))
        train_set, dev = (
            parse_gold(generate(split, n, options.world_seed), f"world {options.world_seed}, {split}")
            for split, n in sizes
        )
        return train_set, dev
    examples = read_gold(options.data)
    if options.dev_data is not None:
        return examples, read_gold(options.dev_data)
    if len(examples) < 20:
        raise UnreadableData(
            f"{options.data}: {len(examples)} examples; without --dev-data at least 20 are needed"
        )
    return [e for i, e in enumerate(examples) if i % 20], examples[::20]


def _print(row: Row) -> None:
    shown = {name: round(value, 4) if value is not None else None for name, value in row.items()}
    print(json.dumps(shown), flush=True)  # noqa: T201 - the log is the output of the command
