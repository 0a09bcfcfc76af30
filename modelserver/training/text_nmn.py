"""Train `text-nmn`: without further arguments, by the recipe of the shipped weights, on generated games.

At each check the log, its curves, the state of the training and, when it is the best so far, the weights are
written. After a kill, ``--resume`` goes on from the last check; on a CPU the result is the same to the bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress
from torch import nn

from modelserver.inputs import encoders
from modelserver.inputs.encoders import find_folder, without_head
from modelserver.inputs.features import Ints
from modelserver.modular.text import network as networks
from modelserver.modular.text.drop import read_drop
from modelserver.modular.text.examples import Example, examples_of, read_items
from modelserver.modular.text.network import Config, Network
from modelserver.modular.text.reading import TextFeatures
from modelserver.modular.text.scoring import score
from modelserver.modular.text.system import TextSystem
from modelserver.systems.contextual import Encoder
from modelserver.training import checkpoint, curves
from modelserver.training.extractive import LOG, NEW, STATE, make_room
from modelserver.training.text_nmn_loss import Outputs, Supervision, loss
from modelserver.wire.errors import InvalidRequest, UnreadableData
from modelserver.world.games import generate
from modelserver.world.names import Split

NAME = "text-nmn"
TRAIN_EXAMPLES, DEV_EXAMPLES, WORLD_SEED = 6000, 100, 1
NEW_ENCODER, PIECES, HEAD = "new:64x2", 2000, 32
PRETRAINED_RATE = 3e-5  # learning rate of an encoder that was trained before
HELD_OUT = 20  # without dev data, one in so many examples is kept for it
CPU = torch.device("cpu")

Row = dict[str, float | None]


@dataclass(frozen=True)
class Recipe:
    """Everything beside the data, the sizes and the supervision that the result depends on."""

    steps: int = 800
    batch: int = 8
    rate: float = 2e-3
    encoder_rate: float = 1e-3  # of a new encoder; of a trained one PRETRAINED_RATE
    warm_up: float = 1 / 12  # share of the steps
    clip: float = 2.0  # norm of the gradient
    check_every: int = 200
    patience: int = 6  # checks without a better F1 on dev after which training ends
    seed: int = 1


class Trainer:
    """A network in training: its data, optimiser and schedule.

    What a step learns from follows from the seed and its number, so that a training can be taken up.
    """

    def __init__(
        self,
        encoder: Encoder,
        config: Config,
        recipe: Recipe,
        supervision: Supervision,
        examples: Sequence[Example],
        *,
        device: torch.device = CPU,
    ) -> None:
        """Raises UnreadableData for an example that the network does not take, and for none."""
        torch.manual_seed(recipe.seed)
        self.recipe, self.supervision, self.steps = recipe, supervision, 0
        self.network = Network(encoder, config).to(device)
        self.examples = [(example, self._read(example)) for example in examples]
        if not self.examples:
            raise UnreadableData("training data: there is no example")
        slow = list(self.network.encoder.parameters())
        apart = {id(parameter) for parameter in slow}
        quick = [p for p in self.network.parameters() if id(p) not in apart]
        groups = [{"params": quick, "full": recipe.rate}, {"params": slow, "full": recipe.encoder_rate}]
        self.optimiser = torch.optim.Adam(groups, lr=recipe.rate)

    def _read(self, example: Example) -> TextFeatures:
        try:
            return self.network.read(example.item)
        except InvalidRequest as error:
            message = f"training data: {example.item.id}: {error.field}: {error}"
            raise UnreadableData(message) from error

    def step(self) -> float | None:
        """Learn from one batch and return its mean loss, None where there is nothing to learn in it."""
        batch = self._batch()
        self.network.train()
        texts = self.network([reading for _, reading in batch])
        losses = [
            loss(self.network, text, example, self.supervision)
            for (example, _), text in zip(batch, texts, strict=True)
        ]
        known = [one for one in losses if one is not None]
        self.steps += 1
        if not known:
            return None
        value = torch.stack(known).sum() / len(batch)
        self.optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        for group in self.optimiser.param_groups:
            group["lr"] = group["full"] * pace(self.steps - 1, self.recipe)
        self.optimiser.step()
        return value.item()

    def _batch(self) -> list[tuple[Example, TextFeatures]]:
        """Return the examples of the next step; each comes once before any comes again."""
        count, begin = len(self.examples), self.steps * self.recipe.batch
        places = range(begin, begin + self.recipe.batch)
        return [self.examples[self._order(place // count)[place % count]] for place in places]

    @lru_cache(maxsize=2)  # noqa: B019 - as long as the training
    def _order(self, epoch: int) -> Ints:
        return np.random.default_rng((self.recipe.seed, epoch)).permutation(len(self.examples))

    def system(self) -> TextSystem:
        """Return the network as it stands, ready to execute."""
        return TextSystem(self.network, name=NAME, description="in training", revision="0" * 12)

    def settings(self) -> dict[str, Any]:
        """Return what must be the same for a training to go on: sizes, recipe, supervision and the data."""
        parts = asdict(self.network.config) | asdict(self.recipe) | asdict(self.supervision)
        return parts | {"data": self._digest}

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256()
        for example, _ in self.examples:
            known = f"{example.item.model_dump_json()}{example.answer_texts}{example.program}{example.gold}"
            digest.update(known.encode())
        return digest.hexdigest()


def pace(step: int, recipe: Recipe) -> float:
    """Return the share of the full learning rate: up in a line, then down along half a cosine to 2 %."""
    rising = max(1, round(recipe.warm_up * recipe.steps))
    if step < rising:
        return (step + 1) / rising
    done = min(1.0, (step - rising) / max(1, recipe.steps - rising))
    return 0.02 + 0.98 * (1 + math.cos(math.pi * done)) / 2


def dev_scores(system: TextSystem, dev: Sequence[Example]) -> Row:
    """Return EM and F1 of the answers, the share of right programs, and the modules' loss (`overall`)."""
    scores = score(system, dev)
    row: Row = {"em": scores.em, "f1": scores.f1, "parsed": scores.parsed, "overall": None}
    if scores.faithfulness is not None:
        row["overall"] = scores.faithfulness.table()["overall"].loss
    return row


def train(
    trainer: Trainer,
    dev: Sequence[Example],
    out: Path,
    *,
    resume: bool = False,
    report: Callable[[Row], None] = lambda row: None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Row:
    """Train by the recipe; leave the best checkpoint by F1 on dev, log.jsonl and curves.svg in ``out``.

    Returns the log row of that checkpoint: step, mean loss since the last row, seconds of wall and of
    processor time so far, and `dev_scores`. With ``resume`` a training that was killed goes on, and one that
    has ended is left alone. Raises UnreadableData as `finetuning.make_room`.
    """
    if resume and not (out / STATE).exists() and (out / LOG).exists():
        return best([json.loads(line) for line in (out / LOG).read_text("utf-8").splitlines()])
    make_room(out, resume)
    rows: list[Row] = []
    if (out / STATE).exists():
        rows = checkpoint.read(out / STATE, trainer.network, trainer.optimiser, trainer.settings())
        trainer.steps = int(rows[-1]["step"] or 0)
        _publish(trainer, rows, out)
        advance(trainer.steps)
    recipe, losses = trainer.recipe, []
    wall, processor = time.perf_counter(), time.process_time()
    if rows:
        wall -= rows[-1]["seconds"] or 0.0
        processor -= rows[-1]["processor_seconds"] or 0.0
    while trainer.steps < recipe.steps and _since_best(rows) < recipe.patience:
        losses.append(trainer.step())
        advance(1)
        if trainer.steps % recipe.check_every and trainer.steps != recipe.steps:
            continue
        known = [one for one in losses if one is not None]
        row: Row = {"step": trainer.steps, "loss": float(np.mean(known)) if known else None}
        row["seconds"] = time.perf_counter() - wall
        row["processor_seconds"] = time.process_time() - processor
        row |= dev_scores(trainer.system(), dev)
        rows, losses = [*rows, row], []
        checkpoint.write(out / STATE, trainer.network, trainer.optimiser, list(rows), trainer.settings())
        _publish(trainer, rows, out)
        report(row)
    (out / STATE).unlink(missing_ok=True)
    return best(rows)


def _publish(trainer: Trainer, rows: list[Row], out: Path) -> None:
    """Write weights, when they are the best so far, log and curves."""
    if rows[-1] is best(rows):
        networks.save(out, trainer.network)
    log = out / f"{LOG}.part"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    log.replace(out / LOG)
    curves.draw(out / "curves.svg", rows, NAME)


def best(rows: Sequence[Row]) -> Row:
    """Return the first row with the highest F1."""
    return max(rows, key=lambda row: row["f1"] or 0.0)


def _since_best(rows: Sequence[Row]) -> int:
    """Return how many checks there were after the best."""
    return len(rows) - 1 - next(i for i, row in enumerate(rows) if row is best(rows)) if rows else 0


def open_encoder(name: str, examples: Sequence[Example], *, allow_hub: bool = False) -> Encoder:
    """Return the encoder that a name stands for: a folder, an id of the hub, or new:HIDDENxLAYERS.

    A new one has its tokenizer from the examples and learns without dropout. Raises UnreadableWeights.
    """
    if new := NEW.fullmatch(name):
        hidden, layers = int(new[1]), int(new[2])
        texts = (text for example in examples for text in (example.item.text, example.item.passage))
        model, tokenizer = encoders.new_encoder(
            texts, CPU, hidden=hidden, layers=layers, heads=max(1, hidden // HEAD), pieces=PIECES
        )
        for part in model.modules():
            if isinstance(part, nn.Dropout):
                part.p = 0.0
        for rate in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            setattr(model.config, rate, 0.0)
    else:
        model, tokenizer = encoders.open_encoder(find_folder(name, allow_hub=allow_hub), CPU, trained=False)
    return Encoder(without_head(model, name), tokenizer)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `train text-nmn`."""
    recipe, supervision = Recipe(), Supervision()
    parser.set_defaults(command=run)

    def add(flag: str, text: str, **settings: Any) -> None:
        shown = " (default: %(default)s)" if settings.get("default") is not None else ""
        parser.add_argument(flag, help=text + shown, **settings)

    add("--out", "new folder for weights, configuration, log and curves", type=Path, required=True)
    parser.add_argument("--resume", action="store_true", help="go on in --out where a training was killed")
    add("--data", "train on items over a passage (.jsonl) or a file in DROP's form (.json)", type=Path)
    add(
        "--dev-data", f"choose the checkpoint on this file (default: every {HELD_OUT}th of --data)", type=Path
    )
    add("--world-seed", "seed of the generated games", type=int, default=WORLD_SEED)
    add("--train", "examples of the games", type=int, default=TRAIN_EXAMPLES)
    add("--dev", "dev examples of the games", type=int, default=DEV_EXAMPLES)
    add("--encoder", "folder of a model, id of the hub, or new:HIDDENxLAYERS", default=NEW_ENCODER)
    parser.add_argument("--allow-hub", action="store_true", help="fetch --encoder from the hub if no folder")
    parser.add_argument("--no-programs", action="store_true", help="learn from answers, not from programs")
    parser.add_argument("--no-extract-answer", action="store_true", help="programs without extract-answer")
    parser.add_argument("--no-sorting", action="store_true", help="programs without sorting and comparing")
    parser.add_argument(
        "--no-auxiliary", action="store_true", help="do not tell that numbers are near events"
    )
    text = "gold outputs to learn from: of no module, of find-num and find-date (arguments), of all"
    add("--module-outputs", text, choices=get_args(Outputs), default=supervision.outputs)
    add("--beam", "programs tried for a question where none is told", type=int, default=supervision.beam)
    add("--steps", "steps of training", type=int, default=recipe.steps)
    add("--batch", "examples in a step", type=int, default=recipe.batch)
    add("--rate", "learning rate of parser and modules", type=float, default=recipe.rate)
    text = f"of the encoder (default: {PRETRAINED_RATE:g}, of a new one {recipe.encoder_rate:g})"
    add("--encoder-rate", f"learning rate {text}", type=float)
    add("--check-every", "steps between checks", type=int, default=recipe.check_every)
    add("--patience", "checks without a better F1 that end it", type=int, default=recipe.patience)
    add("--width", "entries of the vectors that modules work on", type=int, default=Config.width)
    add("--seed", "seed of weights and order", type=int, default=recipe.seed)
    add("--device", "cpu, cuda, cuda:1 …", type=torch.device, default="cpu")
    add("--threads", "CPU threads; the same number repeats exactly", type=int, default=1)


def run(options: argparse.Namespace) -> int:
    """Train and write the weights folder; the exit status is 0, or 2 for bad arguments."""
    sizes = ("train", "dev", "beam", "steps", "batch", "check_every", "patience", "width", "threads")
    wrong = next((name for name in sizes if getattr(options, name) < 1), None)
    if wrong is not None:
        sys.stderr.write(f"--{wrong.replace('_', '-')} must be at least 1\n")
        return 2
    torch.set_num_threads(options.threads)
    train_set, dev = data(options)
    torch.manual_seed(options.seed)  # weights of a new encoder
    encoder = open_encoder(options.encoder, train_set, allow_hub=options.allow_hub)
    config = Config(
        width=options.width,
        window=encoder.window,
        extract=not options.no_extract_answer,
        sorting=not options.no_sorting,
    )
    trainer = Trainer(
        encoder, config, _recipe(options), _supervision(options), train_set, device=options.device
    )
    row = with_progress(trainer, dev, options.out, resume=options.resume)
    sys.stderr.write(f"{options.out}: the weights of step {row['step']:.0f}\n")
    return 0


def with_progress(trainer: Trainer, dev: Sequence[Example], out: Path, *, resume: bool) -> Row:
    """Train with a bar on standard error and a line of scores at each check on standard output."""
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{out.name}: training", total=trainer.recipe.steps)
        return train(
            trainer, dev, out, resume=resume, report=_print, advance=lambda steps: bar.advance(task, steps)
        )


def _recipe(options: argparse.Namespace) -> Recipe:
    return Recipe(
        steps=options.steps,
        batch=options.batch,
        rate=options.rate,
        encoder_rate=options.encoder_rate or encoder_rate(options.encoder),
        check_every=options.check_every,
        patience=options.patience,
        seed=options.seed,
    )


def encoder_rate(name: str) -> float:
    """Return the learning rate that an encoder has by default."""
    return Recipe.encoder_rate if NEW.fullmatch(name) else PRETRAINED_RATE


def _supervision(options: argparse.Namespace) -> Supervision:
    return Supervision(
        programs=not options.no_programs,
        auxiliary=not options.no_auxiliary,
        outputs=options.module_outputs,
        beam=options.beam,
    )


def data(options: argparse.Namespace) -> tuple[list[Example], list[Example]]:
    """Return the examples to learn from and those to choose the checkpoint on."""
    if options.data is None:
        return games("train", options.train, options.world_seed), games(
            "dev", options.dev, options.world_seed
        )
    examples = read(options.data)
    if options.dev_data is not None:
        return examples, read(options.dev_data)
    if len(examples) < HELD_OUT:
        message = f"{len(examples)} examples; without --dev-data at least {HELD_OUT} are needed"
        raise UnreadableData(f"{options.data}: {message}")
    return [e for i, e in enumerate(examples) if i % HELD_OUT], examples[::HELD_OUT]


def games(split: Split, count: int, seed: int) -> list[Example]:
    """Return generated examples."""
    return examples_of(generate(split, count, seed), f"games {seed}, {split}")


def read(path: Path) -> list[Example]:
    """Read a file of items (.jsonl), or one in DROP's form. Raises UnreadableData."""
    return read_items(path) if path.suffix == ".jsonl" else read_drop(path)


def _print(row: Row) -> None:
    shown = {name: round(value, 4) if value is not None else None for name, value in row.items()}
    print(json.dumps(shown), flush=True)  # noqa: T201 - the log is the output of the command
