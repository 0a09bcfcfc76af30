"""Fine-tune any encoder for `extractive-qa` on questions in the form of SQuAD, Quoref or HotpotQA."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from rich.console import Console
from rich.progress import Progress
from safetensors import SafetensorError
from torch import nn

from analysis.scores.hotpotqa import answer_f1, exact_match
from modelserver.evaluation.predict_file import predict_all
from modelserver.inputs.encoders import (
    WEIGHTS,
    find_folder,
    longest_window,
    new_encoder,
    open_encoder,
    save,
)
from modelserver.inputs.features import Ints
from modelserver.inputs.span_qa import FORMATS, ReadingExample, ReadingSet
from modelserver.inputs.windows import WindowReader, WindowSettings
from modelserver.systems.extractive import READING, ExtractiveSystem, window_reader
from modelserver.training import checkpoint, curves
from modelserver.training.span_loss import Labelled, groups, label, learnable, loss, readable
from modelserver.wire.errors import UnreadableData, UnreadableWeights

RATE, NEW_RATE = 3e-5, 5e-4  # of a trained encoder, as Devlin et al. (2019) have it, and of a new one
NEW = re.compile(r"new:([1-9]\d{0,4})x([1-9]\d{0,2})")
HEAD = 32  # hidden size of an attention head of a new encoder
STATE = "training.safetensors"  # in the folder of an unfinished training
LOG = "log.jsonl"
HELD_OUT = 20  # without dev data, one in so many examples is kept for it

Row = dict[str, float | None]


@dataclass(frozen=True)
class Recipe:
    """Everything beside the data and the encoder that the result depends on."""

    steps: int
    batch: int = 16  # examples in a step
    rate: float = RATE
    warm_up: float = 0.1  # share of the steps
    decay: float = 0.01  # of the weights, biases and normalisation aside
    clip: float = 1.0  # norm of the gradient
    windows: int = 4  # of an example that are learned from at most
    tokens: int = 8_192  # that run at once, padding included; more examples of a step run one after another
    check_every: int = 500
    patience: int = 6  # checks without a better F1 on dev after which training ends
    seed: int = 1


def pace(step: int, recipe: Recipe) -> float:
    """Return the share of the full learning rate: up in a line, then down in a line to 0."""
    rising = max(1, round(recipe.warm_up * recipe.steps))
    return min((step + 1) / rising, max(0.0, (recipe.steps - step) / max(1, recipe.steps - rising)))


class FineTuner:
    """An encoder in training: its data, optimiser and schedule.

    What a step learns from follows from the seed and its number, so that a training can be taken up.
    """

    def __init__(
        self,
        model: transformers.PreTrainedModel,
        tokenizer: transformers.PreTrainedTokenizerBase,
        reader: WindowReader,
        recipe: Recipe,
        examples: Sequence[ReadingExample],
    ) -> None:
        """``examples`` are such as `learnable` returns, one at least."""
        self.model, self.tokenizer, self.reader = model, tokenizer, reader
        self.recipe, self.examples = recipe, examples
        self.steps = 0
        torch.manual_seed(recipe.seed)  # dropout
        self.optimiser = torch.optim.AdamW(_decayed(model, recipe.decay), lr=recipe.rate)

    def step(self) -> float:
        """Learn from one batch and return its mean loss."""
        examples = self._batch()
        self.model.train()
        self.optimiser.zero_grad()
        total = 0.0
        for group in groups(examples, self.reader, self.recipe.tokens):
            inputs = self.reader.inputs([w for e in group for w in e.windows], self.model.device)
            with mixed_precision(self.model.device):
                outputs = self.model(**inputs.tensors)
            start, end = outputs.start_logits.float(), outputs.end_logits.float()
            value = loss(start, end, inputs.offset, group) / len(examples)
            value.backward()
            total += value.item()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = self.recipe.rate * pace(self.steps, self.recipe)
        self.optimiser.step()
        self.steps += 1
        return total

    def system(self) -> ExtractiveSystem:
        """Return the encoder as it stands, ready to predict."""
        return ExtractiveSystem(
            self.model.eval(), self.reader, name="extractive-qa", description="in training", revision="0" * 12
        )

    def save(self, folder: Path) -> None:
        """Write what `modelserver.systems.extractive.load` reads; each file appears whole or not at all."""
        reading = json.dumps(asdict(self.reader.reading), indent=2) + "\n"
        save(folder, self.model, self.tokenizer, {READING: reading})

    def write_state(self, path: Path, rows: list[Row]) -> None:
        """Write all that the training goes on from."""
        checkpoint.write(path, self.model, self.optimiser, list(rows), self._settings())

    def resume(self, path: Path) -> list[Row]:
        """Go back to where the state at ``path`` was written and return the log rows up to there."""
        rows = checkpoint.read(path, self.model, self.optimiser, self._settings())
        self.steps = int(rows[-1]["step"] or 0)
        return rows

    def _settings(self) -> dict[str, Any]:
        """Return what must be the same for a training to go on."""
        digests = {"encoder": self._encoder_digest, "data": self._data_digest}
        return asdict(self.recipe) | asdict(self.reader.reading) | digests

    @cached_property
    def _encoder_digest(self) -> str:
        config = {k: v for k, v in self.model.config.to_dict().items() if k != "_name_or_path"}
        text = json.dumps(config, sort_keys=True, default=str) + self.tokenizer.backend_tokenizer.to_str()
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _data_digest(self) -> str:
        digest = hashlib.sha256()
        for example in self.examples:
            digest.update(f"{example.item.model_dump_json()}{example.spans}".encode())
        return digest.hexdigest()

    def _batch(self) -> list[Labelled]:
        """Return the examples of the next step; each comes once before any comes again."""
        count, first = len(self.examples), self.steps * self.recipe.batch
        rng = np.random.default_rng((self.recipe.seed, 0, self.steps))
        found = []
        for place in range(first, first + self.recipe.batch):
            example = self.examples[self._order(place // count)[place % count]]
            found.append(label(example, self.reader, self.recipe.windows, rng))
        return [labelled for labelled in found if labelled is not None]

    @lru_cache(maxsize=2)  # noqa: B019 - as long as the training
    def _order(self, epoch: int) -> Ints:
        return np.random.default_rng((self.recipe.seed, 1, epoch)).permutation(len(self.examples))


def mixed_precision(device: torch.device) -> AbstractContextManager[None]:
    """Return the context of a forward pass: bfloat16 on a GPU that has it, and all 32 bits elsewhere."""
    able = device.type == "cuda" and torch.cuda.is_bf16_supported()
    context: AbstractContextManager[None] = torch.autocast(device.type, dtype=torch.bfloat16, enabled=able)
    return context


def _decayed(model: nn.Module, decay: float) -> list[dict[str, object]]:
    """Return the parameters in two groups: biases and normalisation, which have one axis, never decay."""
    wanted = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {"params": [p for p in wanted if p.ndim > 1], "weight_decay": decay},
        {"params": [p for p in wanted if p.ndim < 2], "weight_decay": 0.0},
    ]


def dev_scores(system: ExtractiveSystem, dev: Sequence[ReadingExample], *, device: str = "cpu") -> Row:
    """Return mean EM and F1 of the answers over all questions, in [0, 1].

    Of several right answers the best counts; where n answers belong together, one of them is 1/n of its F1
    and no exact match (see `read_quoref`). A question that the system does not take counts 0.
    """
    read = [example for example in dev if readable(example, system.reader)]
    predictions = predict_all(system, [example.item for example in read], device=device)
    em = f1 = 0.0
    for example, prediction in zip(read, predictions, strict=True):
        shared = len(example.answers) if example.together else 1
        em += shared == 1 and any(exact_match(gold, prediction.answer) for gold in example.answers)
        f1 += max(answer_f1(gold, prediction.answer).f1 for gold in example.answers) / shared
    return {"em": em / len(dev), "f1": f1 / len(dev)}


def finetune(
    tuner: FineTuner,
    dev: Sequence[ReadingExample],
    out: Path,
    *,
    resume: bool = False,
    report: Callable[[Row], None] = lambda row: None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Row:
    """Train by the recipe; leave the best checkpoint by F1 on dev, log.jsonl and curves.svg in ``out``.

    Returns the log row of that checkpoint: step, mean loss since the last row, seconds of wall and of
    processor time so far, and the scores on dev. With ``resume`` a training that was killed goes on from
    its last check, one that never reached a check begins, and one that has ended is left alone. Raises
    UnreadableData as `begin` does, and where ``out`` cannot be written.
    """
    if resume and not (out / STATE).exists() and (out / LOG).exists():
        return _best([json.loads(line) for line in (out / LOG).read_text("utf-8").splitlines()])
    rows = begin(tuner, out, resume)
    advance(tuner.steps)
    recipe, losses = tuner.recipe, []
    wall, processor = time.perf_counter(), time.process_time()
    if rows:
        wall -= rows[-1]["seconds"] or 0.0
        processor -= rows[-1]["processor_seconds"] or 0.0
    while tuner.steps < recipe.steps and _since_best(rows) < recipe.patience:
        losses.append(tuner.step())
        advance(1)
        if tuner.steps % recipe.check_every and tuner.steps != recipe.steps:
            continue
        row: Row = {"step": tuner.steps, "loss": float(np.mean(losses))}
        row["seconds"] = time.perf_counter() - wall
        row["processor_seconds"] = time.process_time() - processor
        row |= dev_scores(tuner.system(), dev, device=str(tuner.model.device))
        rows, losses = [*rows, row], []
        with _writing(out):
            tuner.write_state(out / STATE, rows)  # first, for a resumed training writes the rest again
            _publish(tuner, rows, out)
        report(row)
    (out / STATE).unlink(missing_ok=True)
    return _best(rows)


def begin(tuner: FineTuner, out: Path, resume: bool) -> list[Row]:
    """Return the log rows of the training to go on with, none for a new one. Raises as `make_room` does."""
    make_room(out, resume)
    if not (out / STATE).exists():
        return []
    rows = tuner.resume(out / STATE)
    with _writing(out):
        _publish(tuner, rows, out)
    return rows


def make_room(out: Path, resume: bool) -> None:
    """Make the folder, if it is not there.

    Nothing is overwritten: raises UnreadableData for a folder that holds a model, or an unfinished training
    where ``resume`` does not say to go on with it, and for one that cannot be written.
    """
    with _writing(out):
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    if (out / STATE).exists():
        if not resume:
            raise UnreadableData(f"{out}: holds an unfinished training; add --resume, or remove {STATE}")
    elif (out / WEIGHTS).exists() and not (resume and (out / LOG).exists()):
        raise UnreadableData(f"{out}: holds a model already; name another folder, or remove this one")


def _publish(tuner: FineTuner, rows: list[Row], out: Path) -> None:
    """Write weights, when they are the best so far, log and curves."""
    if rows[-1] is _best(rows):
        tuner.save(out)
    log = out / f"{LOG}.part"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    log.replace(out / LOG)
    curves.draw(out / "curves.svg", rows, "extractive-qa")


def _best(rows: Sequence[Row]) -> Row:
    """Return the first row with the highest F1."""
    return max(rows, key=lambda row: row["f1"] or 0.0)


def _since_best(rows: Sequence[Row]) -> int:
    """Return how many checks there were after the best."""
    return len(rows) - 1 - next(i for i, row in enumerate(rows) if row is _best(rows)) if rows else 0


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableData(f"{out}: cannot be written: {reason}") from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `train extractive-qa`."""
    recipe = Recipe(steps=1)
    parser.set_defaults(command=run)

    def add(flag: str, text: str, **settings: Any) -> None:
        shown = " (default: %(default)s)" if settings.get("default") is not None else ""
        parser.add_argument(flag, help=text + shown, **settings)

    text = "folder of a Hugging Face model, an id of the hub (with --allow-hub), or new:HIDDENxLAYERS"
    add("--encoder", text, required=True)
    parser.add_argument("--allow-hub", action="store_true", help="fetch --encoder from the hub if no folder")
    add("--data", "train on this file", type=Path, required=True, metavar="FILE")
    add("--format", "form of the data; squad is SQuAD 1.1 or 2.0", choices=sorted(FORMATS), required=True)
    text = f"choose the checkpoint on this file (default: every {HELD_OUT}th question of --data)"
    add("--dev-data", text, type=Path, metavar="FILE")
    add("--dev-format", "form of --dev-data (default: that of --data)", choices=sorted(FORMATS))
    add("--out", "new folder for weights, tokenizer, log and curves", type=Path, required=True, metavar="DIR")
    parser.add_argument("--resume", action="store_true", help="go on in --out where a training was killed")
    add("--epochs", "passes over the data", type=float, default=2.0)
    add("--steps", "train for so many steps instead of --epochs", type=int)
    add("--rate", f"learning rate (default: {RATE:g}; of a new encoder {NEW_RATE:g})", type=float)
    add(
        "--window",
        f"tokens read at once (default: {WindowSettings.window}, or what the encoder can)",
        type=int,
    )
    for flag, default, text in (
        ("--vocabulary", 8_000, "pieces of the tokenizer of a new encoder"),
        ("--batch", recipe.batch, "examples in a step"),
        ("--windows", recipe.windows, "windows of an example that a step learns from, at most"),
        ("--max-batch-tokens", recipe.tokens, "tokens that run at once; bounds the memory"),
        ("--check-every", recipe.check_every, "steps between checks on dev"),
        ("--patience", recipe.patience, "checks without a better F1 after which training ends"),
        ("--seed", recipe.seed, "seed of new weights, order and dropout"),
        ("--threads", 2, "CPU threads; the same number repeats exactly"),
    ):
        add(flag, text, type=int, default=default)
    add("--device", "cpu, cuda, cuda:1 …; bfloat16 is mixed in on a GPU", type=_device, default="cpu")


def _device(text: str) -> torch.device:
    try:
        device = torch.device(text)
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise argparse.ArgumentTypeError(f"{text!r} cannot be used: {reason}") from None
    return device


def run(options: argparse.Namespace) -> int:
    """Fine-tune and write the folder; the exit status is 0, or 2 for bad arguments."""
    if wrong := _wrong(options):
        sys.stderr.write(f"{wrong}\n")
        return 2
    make_room(options.out, options.resume)  # rather refused now than after an hour
    torch.set_num_threads(options.threads)
    train_set, dev = _data(options)
    torch.manual_seed(options.seed)  # weights of a new encoder or head
    model, tokenizer = _encoder(options, train_set)
    reader = _reader(options, model, tokenizer)
    examples = learnable(train_set, reader)
    if not examples:
        raise UnreadableData(f"{options.data}: not one answer is found in its context")
    sys.stderr.write(f"{len(examples)} of {len(train_set)} questions can be learned from\n")
    if long := sum(not readable(example, reader) for example in dev):
        sys.stderr.write(f"{long} of {len(dev)} dev questions are too long or empty, and count 0\n")
    tuner = FineTuner(model, tokenizer, reader, _recipe(options, len(examples)), examples)
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("extractive-qa: training", total=tuner.recipe.steps)
        best = finetune(
            tuner,
            dev,
            options.out,
            resume=options.resume,
            report=_print,
            advance=lambda steps: progress.advance(task, steps),
        )
    sys.stderr.write(f"{options.out}: the weights of step {best['step']:.0f}\n")
    return 0


def _wrong(options: argparse.Namespace) -> str | None:
    """Return what is wrong with the arguments, if anything."""
    names = (
        "steps",
        "batch",
        "windows",
        "max_batch_tokens",
        "check_every",
        "patience",
        "threads",
        "vocabulary",
    )
    for name in names:
        value = getattr(options, name)
        if value is not None and value < 1:
            return f"--{name.replace('_', '-')} must be at least 1"
    if not all(0 < value < math.inf for value in (options.epochs, options.rate or 1.0)):
        return "--epochs and --rate must be above 0"
    if options.window is not None and options.window < 16:
        return "--window must be at least 16"
    if options.encoder.startswith("new:") and not NEW.fullmatch(options.encoder):
        return f"--encoder {options.encoder}: a new encoder is new:HIDDENxLAYERS, such as new:128x2"
    return None


def _data(options: argparse.Namespace) -> tuple[list[ReadingExample], list[ReadingExample]]:
    examples = _told(options.data, FORMATS[options.format](options.data)).examples
    if options.dev_data is not None:
        read = FORMATS[options.dev_format or options.format]
        dev = _told(options.dev_data, read(options.dev_data)).examples
        if not dev:
            raise UnreadableData(f"{options.dev_data}: no question that can be scored")
        return examples, dev
    if len(examples) < HELD_OUT:
        raise UnreadableData(
            f"{options.data}: {len(examples)} examples; without --dev-data at least {HELD_OUT} are needed"
        )
    return [e for i, e in enumerate(examples) if i % HELD_OUT], examples[::HELD_OUT]


def _told(path: Path, read: ReadingSet) -> ReadingSet:
    for note in read.notes:
        sys.stderr.write(f"{path}: {note}\n")
    return read


def _encoder(
    options: argparse.Namespace, examples: Sequence[ReadingExample]
) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    if new := NEW.fullmatch(options.encoder):
        hidden, layers = int(new[1]), int(new[2])
        texts = (text for example in examples for text in _texts(example))
        return new_encoder(
            texts,
            options.device,
            hidden=hidden,
            layers=layers,
            heads=max(1, hidden // HEAD),
            pieces=options.vocabulary,
        )
    folder = find_folder(options.encoder, allow_hub=options.allow_hub)
    return open_encoder(folder, options.device, trained=False)


def _texts(example: ReadingExample) -> Iterator[str]:
    yield example.item.question
    for title, sentences in example.item.context:
        yield title
        yield from sentences


def _reader(
    options: argparse.Namespace,
    model: transformers.PreTrainedModel,
    tokenizer: transformers.PreTrainedTokenizerBase,
) -> WindowReader:
    most = longest_window(model, tokenizer)
    if options.window is not None and options.window > most:
        raise UnreadableData(f"--window {options.window}: the encoder reads at most {most} tokens")
    try:
        return window_reader(tokenizer, WindowSettings.of_at_most(most, options.window))
    except ValueError as error:
        raise UnreadableWeights(f"{options.encoder}: {error}") from error


def _recipe(options: argparse.Namespace, examples: int) -> Recipe:
    rate = options.rate or (NEW_RATE if options.encoder.startswith("new:") else RATE)
    return Recipe(
        steps=options.steps or math.ceil(options.epochs * examples / options.batch),
        batch=options.batch,
        rate=rate,
        windows=options.windows,
        tokens=options.max_batch_tokens,
        check_every=options.check_every,
        patience=options.patience,
        seed=options.seed,
    )


def _print(row: Row) -> None:
    shown = {name: None if value is None else round(value, 4) for name, value in row.items()}
    print(json.dumps(shown), flush=True)  # noqa: T201 - the log is the output of the command
