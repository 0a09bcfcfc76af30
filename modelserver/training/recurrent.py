"""Train a recurrent system: without further arguments, by the recipe of the shipped weights.

`select-and-forget` learns to answer from the facts that it selects itself with the gold facts added, so that
early in training there is something to answer from, and later on it meets its own mistakes.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress as Bar
from torch import nn

from modelserver.evaluation.scores import predict_gold, scores
from modelserver.inputs.features import Features, Vocabulary, count_words, featurise
from modelserver.inputs.hotpot import GoldExample, parse_gold, read_gold
from modelserver.registry import ENCODERS, SYSTEMS
from modelserver.systems import reader, recurrent
from modelserver.systems.batches import collate
from modelserver.systems.contextual import Contextual, Encoder
from modelserver.systems.reader import RecurrentSystem
from modelserver.systems.recurrent import Config, Embedding
from modelserver.training import checkpoint, curves, encoder_options, extractive, heuristic
from modelserver.training import text_nmn as text_training
from modelserver.training import visual_nmn_command as visual_command
from modelserver.training.coupling_loss import FORMS, Coupling
from modelserver.training.recurrent_loss import batches, label, loss
from modelserver.training.word_vectors import WordVectors, read_vectors
from modelserver.wire.errors import InvalidRequest, UnreadableData
from modelserver.wire.schema import QAItem
from modelserver.world import Split, generate

TRAIN_EXAMPLES, DEV_EXAMPLES, WORLD_SEED = 8000, 400, 1
MOST_VECTORS = 50_000  # lines of a file of word vectors that are kept for words the data does not hold
STATE = "training.safetensors"  # in the folder of an unfinished training
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
    fact_weight: float = 12.0  # lambda, of the facts' part of the loss
    coupling: Coupling | None = None  # costs of the answer-fact coupling, of the systems with "-reg"
    encoder_rate: float | None = None  # of an encoder, which learns more slowly than the rest
    seed: int = 1


class Trainer:
    """A reader in training: its data, optimiser and schedule.

    ``mixed`` computes large products in 16-bit brain floats, which keep the range of 32 bits, so that no
    scaling of the loss is needed. An ``encoder`` starts from the weights given, which stay as they are.
    """

    def __init__(
        self,
        config: Config,
        recipe: Recipe,
        examples: Sequence[GoldExample],
        *,
        vectors: WordVectors | None = None,
        encoder: Encoder | None = None,
        device: torch.device = CPU,
        mixed: bool = False,
    ) -> None:
        torch.manual_seed(recipe.seed)
        self.recipe, self.device, self.mixed, self.encoder = recipe, device, mixed, encoder
        self.config, self.vocabulary, embed = config, Vocabulary(()), None
        if encoder is not None:
            self.config = replace(config, window=encoder.window)
            embed = Contextual(deepcopy(encoder.model), encoder.tokenizer, self.config)
        else:
            self.vocabulary = Vocabulary.build(texts(examples), at_least=recipe.rare)
        if vectors is not None:
            self._add_words(vectors)
        self.model = recurrent.build(self.config, len(self.vocabulary), embed).to(device)
        labelled = [label(gold, self._features(gold.item)) for gold in examples]
        self.examples = [example for example in labelled if example is not None]
        if not self.examples:
            raise UnreadableData("training data: not one answer is found in its context")
        if vectors is not None:
            self._place(vectors)
        self.optimiser = torch.optim.Adam(self._rates())
        self.source = batches(self.examples, recipe.batch, np.random.default_rng(recipe.seed))
        self.steps = 0

    def _add_words(self, vectors: WordVectors) -> None:
        """Append the words that have a vector alone to those that have an embedding of their own."""
        learned = self.vocabulary.words
        self.vocabulary = Vocabulary(tuple(dict.fromkeys(learned + vectors.words)))
        size = vectors.table.shape[1]
        self.config = replace(self.config, vector_size=size, learned_words=len(learned))

    def _place(self, vectors: WordVectors) -> None:
        """Give each word its vector; a word that the file does not hold keeps zeros."""
        assert isinstance(self.model.embed, Embedding)
        table = self.model.embed.vectors
        assert table is not None
        ids = torch.tensor([self.vocabulary.id(word) for word in vectors.words], device=self.device)
        table[ids] = torch.from_numpy(vectors.table).to(self.device)

    def _features(self, item: QAItem) -> Features:
        try:
            return self.model.embed.prepare(item, featurise(item, self.vocabulary))
        except InvalidRequest as error:
            raise UnreadableData(f"training data: {item.id}: {error.field}: {error}") from error

    def _rates(self) -> list[dict[str, Any]]:
        """Return all parameters with their full learning rate, those of an encoder apart."""
        slow: list[nn.Parameter] = []
        if isinstance(self.model.embed, Contextual):
            slow = list(self.model.embed.encoder.parameters())
        apart = set(slow)
        others = [p for p in self.model.parameters() if p not in apart]
        groups: list[dict[str, Any]] = [{"params": others, "full": self.recipe.rate}]
        if slow:
            groups.append({"params": slow, "full": self.recipe.encoder_rate or encoder_options.RATE})
        return groups

    def step(self) -> float:
        """Learn from one batch and return its loss."""
        examples = next(self.source)
        batch = collate([e.features for e in examples], self.device)
        gold = torch.from_numpy(np.concatenate([e.facts for e in examples])).to(self.device)
        self.model.train()
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.mixed):
            outputs = self.model(batch, gold)
        value = loss(outputs, examples, batch, self.recipe.fact_weight, self.recipe.coupling)
        self.optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        for group in self.optimiser.param_groups:
            group["lr"] = group["full"] * pace(self.steps, self.recipe)
        self.optimiser.step()
        self.steps += 1
        return value.item()

    def settings(self) -> dict[str, Any]:
        """Return what must be the same for a training to go on: sizes, recipe and a digest of the data."""
        recipe = {name: value for name, value in asdict(self.recipe).items() if name != "coupling"}
        coupling = asdict(self.recipe.coupling) if self.recipe.coupling else {}
        encoder = {} if self.encoder is None else {"encoder": self._encoder_digest}
        return asdict(self.config) | recipe | coupling | encoder | {"mixed": self.mixed, "data": self._digest}

    @cached_property
    def _encoder_digest(self) -> str:
        assert self.encoder is not None
        return self.encoder.digest()

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256(json.dumps(self.vocabulary.words).encode())
        for example in self.examples:
            digest.update(example.features.key.tobytes() + example.facts.tobytes())
        return digest.hexdigest()

    def resume(self, path: Path) -> list[Row]:
        """Go back to where the state at ``path`` was written and return the log rows up to there."""
        rows = checkpoint.read(path, self.model, self.optimiser, self.settings())
        self.steps = int(rows[-1]["step"] or 0)
        for _ in range(self.steps):  # the order of the data follows from the seed
            next(self.source)
        return rows

    def system(self) -> RecurrentSystem:
        """Return the reader as it stands, ready to predict."""
        return RecurrentSystem(
            self.model, self.config, self.vocabulary,
            name=self.config.system, description="in training", revision="0" * 12, device=self.device,
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
    resume: bool = False,
    report: Callable[[Row], None] = lambda row: None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Row:
    """Train by the recipe; leave the best checkpoint by joint F1 on dev, log.jsonl and curves.svg in ``out``.

    Returns the log row of that checkpoint: step, mean training loss since the last row, seconds of wall and
    of processor time so far, and the scores on dev. With ``resume`` a training that was killed goes on, one
    that never reached a check begins, and one that has ended is left alone. Without it, an unfinished
    training in ``out`` is not overwritten: UnreadableData is raised.
    """
    state = out / STATE
    if resume and not state.exists() and (out / "log.jsonl").exists():
        return _best([json.loads(line) for line in (out / "log.jsonl").read_text("utf-8").splitlines()])
    rows = _begin(trainer, out, resume)
    advance(trainer.steps)
    recipe, losses = trainer.recipe, []
    wall, processor = (time.perf_counter(), time.process_time())
    if rows:
        wall -= rows[-1]["seconds"] or 0.0
        processor -= rows[-1]["processor_seconds"] or 0.0
    while trainer.steps < recipe.steps and _since_best(rows) < recipe.patience:
        losses.append(trainer.step())
        advance(1)
        if trainer.steps % recipe.check_every and trainer.steps != recipe.steps:
            continue
        row: Row = {"step": trainer.steps, "loss": float(np.mean(losses))}
        row |= {
            "seconds": time.perf_counter() - wall,
            "processor_seconds": time.process_time() - processor,
        }
        row |= scores(dev, predict_gold(trainer.system(), dev, device=str(trainer.device)))
        rows, losses = [*rows, row], []
        _record(trainer, rows, out)
        report(row)
    state.unlink(missing_ok=True)
    return _best(rows)


def _begin(trainer: Trainer, out: Path, resume: bool) -> list[Row]:
    """Return the log rows of the training to go on with, none for a new one."""
    state = out / STATE
    if not state.exists():
        out.mkdir(parents=True, exist_ok=True)
        (out / "log.jsonl").unlink(missing_ok=True)  # a log without a state is that of a finished training
        return []
    if not resume:
        raise UnreadableData(f"{out}: holds an unfinished training; add --resume, or remove {STATE}")
    rows = trainer.resume(state)
    _publish(trainer, rows, out)
    return rows


def _record(trainer: Trainer, rows: list[Row], out: Path) -> None:
    """Write what is known at a check: the state first, for a resumed training writes the rest again."""
    checkpoint.write(out / STATE, trainer.model, trainer.optimiser, rows, trainer.settings())
    _publish(trainer, rows, out)


def _publish(trainer: Trainer, rows: list[Row], out: Path) -> None:
    """Write weights, when they are the best so far, log and curves."""
    if rows[-1] is _best(rows):
        trainer.save(out)
    log = out / "log.jsonl.part"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    log.replace(out / "log.jsonl")
    curves.draw(out / "curves.svg", rows, trainer.config.system)


def _best(rows: Sequence[Row]) -> Row:
    """Return the first row with the highest joint F1."""
    return max(rows, key=lambda row: row["joint_f1"] or 0.0)


def _since_best(rows: Sequence[Row]) -> int:
    """Return how many checks there were after the best."""
    return len(rows) - 1 - next(i for i, row in enumerate(rows) if row is _best(rows)) if rows else 0


def texts(examples: Iterable[GoldExample]) -> Iterator[str]:
    """Yield every text of the examples: questions, titles and sentences."""
    for gold in examples:
        yield gold.question
        for title, sentences in gold.context:
            yield title
            yield from sentences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command: SYSTEM, then those of the way it is trained."""
    ways = parser.add_subparsers(dest="system", metavar="SYSTEM", required=True)
    for name, spec in SYSTEMS.items():
        if name in ENCODERS:
            continue
        way = ways.add_parser(name, help=spec.description, description=spec.description)
        if name == "extractive-qa":
            extractive.add_arguments(way)
        elif name == "heuristic":
            heuristic.add_arguments(way)
        elif name == "text-nmn":
            text_training.add_arguments(way)
        elif name in ("visual-nmn", "lxmert"):
            visual_command.add_arguments(way, name)
        else:
            _train_arguments(way, name)


def _train_arguments(parser: argparse.ArgumentParser, system: str) -> None:
    add, recipe, coupling = parser.add_argument, Recipe(), Coupling()
    recurrent_arguments(parser)
    add("--seed", type=int, default=recipe.seed, help="seed of weights and order (default: %(default)s)")
    text = "lambda, weight of the facts' loss (default: %(default)s)"
    add("--fact-weight", type=float, default=recipe.fact_weight, help=text)
    add("--resume", action="store_true", help="go on with the training in --out where it was killed")
    if not system.endswith("-reg"):
        return
    for name, text in (
        ("c1", "right answer, other facts"),
        ("c2", "wrong answer, gold facts"),
        ("c3", "wrong answer, other facts"),
    ):
        default = getattr(coupling, name)
        add(f"--{name}", type=float, default=default, help=f"cost of {text} (default: %(default)s)")
    text = "p_e from the gold facts' probabilities (default: %(default)s)"
    add("--explanation", choices=FORMS, default=coupling.form, help=text)


def recurrent_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what any training of a recurrent system takes: data, sizes, schedule and device."""
    recipe = Recipe()

    def add(flag: str, text: str, **settings: Any) -> None:
        shown = " (default: %(default)s)" if settings.get("default") is not None else ""
        parser.add_argument(flag, help=text + shown, **settings)

    add("--out", "folder for weights, configuration, vocabulary, log and curves", type=Path, required=True)
    add("--data", "train on this file in the HotpotQA form (default: a generated world)", type=Path)
    add("--dev-data", "choose the checkpoint on this file (default: every 20th of --data)", type=Path)
    add("--world-seed", "seed of the world", type=int, default=WORLD_SEED)
    add("--train", "examples of the world", type=int, default=TRAIN_EXAMPLES)
    add("--dev", "dev examples of the world", type=int, default=DEV_EXAMPLES)
    words = parser.add_mutually_exclusive_group()
    text = "file of fixed word vectors in the form of GloVe (default: none)"
    words.add_argument("--word-vectors", type=Path, help=text)
    encoder_options.add_arguments(parser, words)
    add(
        "--most-vectors",
        "lines of that file kept for words that the data does not hold",
        type=int,
        default=MOST_VECTORS,
    )
    add("--steps", "steps of training", type=int, default=recipe.steps)
    add("--batch", "examples in a step", type=int, default=recipe.batch)
    add("--check-every", "steps between checks", type=int, default=recipe.check_every)
    add("--patience", "checks without a better joint F1 that end it", type=int, default=recipe.patience)
    add("--hidden", "hidden size", type=int, default=Config("qi2019").hidden)
    add("--device", "cpu, cuda, cuda:1 …", type=_device, default="cpu")
    add("--full-precision", "32 bits on a GPU too, where 16 are mixed in otherwise", action="store_true")
    add("--threads", "CPU threads; the same number repeats exactly", type=int, default=2)


def _device(text: str) -> torch.device:
    try:
        device = torch.device(text)
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"{text!r} is no device of torch") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise argparse.ArgumentTypeError("torch sees no GPU here")
    return device


def run(options: argparse.Namespace) -> int:
    """Train and write the weights folder; the exit status is 0, or 2 for bad arguments."""
    if wrong := too_small(options):
        sys.stderr.write(f"{wrong} must be at least 1\n")
        return 2
    work = Work.of(options)
    coupling = None
    if options.system.endswith("-reg"):
        coupling = Coupling(options.c1, options.c2, options.c3, options.explanation)
    recipe = replace(work.recipe, seed=options.seed, fact_weight=options.fact_weight, coupling=coupling)
    trainer = work.trainer(recipe)
    sys.stderr.write(f"{len(trainer.examples)} of {len(work.train)} examples can be learned from\n")
    with Bar(console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{options.system}: training", total=recipe.steps)
        best = train(
            trainer,
            work.dev,
            options.out,
            resume=options.resume,
            report=_print,
            advance=lambda steps: bar.advance(task, steps),
        )
    sys.stderr.write(f"{options.out}: the weights of step {best['step']:.0f}\n")
    return 0


def too_small(options: argparse.Namespace) -> str | None:
    """Return the first argument that must be at least 1 and is not."""
    sizes = ("train", "dev", "steps", "batch", "check_every", "patience", "hidden", "threads", "pieces")
    return next((f"--{name.replace('_', '-')}" for name in sizes if getattr(options, name) < 1), None)


@dataclass(frozen=True)
class Work:
    """What the arguments of `recurrent_arguments` ask for: data, sizes, schedule and device."""

    config: Config
    recipe: Recipe
    train: list[GoldExample]
    dev: list[GoldExample]
    vectors: WordVectors | None
    device: torch.device
    mixed: bool
    encoder: Encoder | None = None

    @classmethod
    def of(cls, options: argparse.Namespace) -> Work:
        torch.set_num_threads(options.threads)
        torch.manual_seed(options.seed)  # weights of a new encoder
        train_set, dev = _data(options)
        vectors = None
        if options.word_vectors is not None:
            words = count_words(texts([*train_set, *dev]))
            vectors = read_vectors(options.word_vectors, wanted=words, first=options.most_vectors)
        return cls(
            config=Config(options.system, hidden=options.hidden),
            recipe=Recipe(
                steps=options.steps,
                batch=options.batch,
                check_every=options.check_every,
                patience=options.patience,
                encoder_rate=encoder_options.learning_rate(options),
            ),
            train=train_set,
            dev=dev,
            vectors=vectors,
            device=options.device,
            mixed=options.device.type == "cuda" and not options.full_precision,
            encoder=encoder_options.open_encoder(options, texts(train_set)),
        )

    def trainer(self, recipe: Recipe) -> Trainer:
        return Trainer(
            self.config,
            recipe,
            self.train,
            vectors=self.vectors,
            encoder=self.encoder,
            device=self.device,
            mixed=self.mixed,
        )


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
