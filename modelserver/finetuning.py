"""Fine-tune any encoder for `extractive-qa` on questions in the form of SQuAD, Quoref or HotpotQA."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from analysis.xqa import answer_f1, exact_match
from modelserver.batching import BatchLimits
from modelserver.encoders import find_folder, longest_window, new_encoder, open_model, open_tokenizer, save
from modelserver.errors import InvalidRequest, UnreadableData
from modelserver.prediction import predict_all
from modelserver.reading_sets import FORMATS, GoldSpan, ReadingExample, ReadingSet
from modelserver.systems.extractive import READING, ExtractiveSystem
from modelserver.windows import Encoded, Reading, Window, WindowReader

NEW = re.compile(r"new:([1-9]\d{0,4})x([1-9]\d{0,2})")
HEAD = 32  # hidden size of an attention head of a new encoder
HELD_OUT = 20  # without dev data, one in so many examples is kept for it

Row = dict[str, float]


@dataclass(frozen=True)
class Recipe:
    """Everything beside the data and the encoder that the result depends on."""

    steps: int
    batch: int = 16  # examples in a step
    rate: float = 3e-5
    warm_up: float = 0.1  # share of the steps
    decay: float = 0.01  # of the weights, biases and normalisation aside
    clip: float = 1.0  # norm of the gradient
    windows: int = 4  # of an example that are learned from at most
    tokens: int = 8_192  # that run at once, padding included; more examples of a step run one after another
    check_every: int = 500
    patience: int = 6  # checks without a better F1 on dev after which training ends
    seed: int = 1


@dataclass(frozen=True)
class Labelled:
    """Windows of one example, at least one of which holds an answer.

    ``gold`` has for each window the first and the last tokens of the answers that it holds whole, counted
    from the window's first.
    """

    windows: list[Window]
    gold: list[list[tuple[int, int]]]


def token_span(encoded: Encoded, span: GoldSpan) -> tuple[int, int] | None:
    """Return the first and last token that touch a span of text, or None where there is none."""
    article, sentence, start, end = encoded.places.T
    here = article == span.article
    firsts = np.flatnonzero(here & (sentence == span.first) & (end > span.start))
    lasts = np.flatnonzero(here & (sentence == span.last) & (start < span.end))
    if not len(firsts) or not len(lasts) or firsts[0] > lasts[-1]:
        return None
    return int(firsts[0]), int(lasts[-1])


def label(
    example: ReadingExample, reader: WindowReader, most: int, rng: np.random.Generator
) -> Labelled | None:
    """Return at most ``most`` windows with their gold spans, or None where no window holds an answer whole.

    One window with an answer is always among them; the others are drawn from all, in the order of the text.
    """
    encoded = reader.encode(example.item)
    spans = [found for span in example.spans if (found := token_span(encoded, span))]
    windows = reader.windows(encoded)
    gold = [[(a - w.start, b - w.start) for a, b in spans if w.start <= a and b < w.end] for w in windows]
    holding = [number for number, inside in enumerate(gold) if inside]
    if not holding:
        return None
    chosen = list(range(len(windows)))
    if len(windows) > most:
        kept = int(rng.choice(holding))
        others = [number for number in chosen if number != kept]
        chosen = sorted([kept, *rng.choice(others, most - 1, replace=False).tolist()])
    return Labelled([windows[i] for i in chosen], [gold[i] for i in chosen])


def loss(start: Tensor, end: Tensor, offset: Sequence[int], examples: Sequence[Labelled]) -> Tensor:
    """Return the summed loss of examples whose windows lie in the rows of ``start`` and ``end``, [W, T].

    For each of the two, log of the sum of exp(logit) over the context tokens of all windows of an example,
    less the same over the gold ones; the mean of both. One normaliser for all windows makes their scores
    comparable (Clark and Gardner 2018, shared normalisation), as `ExtractiveSystem` compares them; several
    gold places share the probability as the model likes.
    """
    total, row = start.new_zeros(()), 0
    for example in examples:
        rows = range(row, row := row + len(example.windows))
        for side, logits in enumerate((start, end)):
            context = [
                logits[r, offset[r] : offset[r] + w.end - w.start]
                for r, w in zip(rows, example.windows, strict=True)
            ]
            gold = [
                tokens[sorted({span[side] for span in spans})]
                for tokens, spans in zip(context, example.gold, strict=True)
            ]
            total = total + (torch.logsumexp(torch.cat(context), 0) - torch.logsumexp(torch.cat(gold), 0)) / 2
    return total


def groups(examples: Sequence[Labelled], reader: WindowReader, tokens: int) -> Iterator[list[Labelled]]:
    """Yield groups of at most ``tokens`` tokens with padding, or of one example; like lengths together."""
    group: list[Labelled] = []
    rows = 0
    longest = {id(e): max(map(reader.length, e.windows)) for e in examples}
    for example in sorted(examples, key=lambda e: -longest[id(e)]):
        rows += len(example.windows)
        if group and rows * longest[id(group[0])] > tokens:
            yield group
            group, rows = [], len(example.windows)
        group.append(example)
    if group:
        yield group


def pace(step: int, recipe: Recipe) -> float:
    """Return the share of the full learning rate: up in a line, then down in a line to 0."""
    rising = max(1, round(recipe.warm_up * recipe.steps))
    return min((step + 1) / rising, max(0.0, (recipe.steps - step) / max(1, recipe.steps - rising)))


class FineTuner:
    """An encoder in training: its data, optimiser and schedule."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        reading: Reading,
        recipe: Recipe,
        examples: Sequence[ReadingExample],
    ) -> None:
        self.model, self.tokenizer, self.recipe = model, tokenizer, recipe
        self.reader = WindowReader(
            tokenizer.backend_tokenizer,
            reading,
            pad=tokenizer.pad_token_id,
            names=tokenizer.model_input_names,
        )
        self.examples = [example for example in examples if self._can_be_learned(example)]
        if not self.examples:
            raise UnreadableData("training data: not one answer is found in its context")
        self.rng = np.random.default_rng(recipe.seed)
        torch.manual_seed(recipe.seed)  # dropout
        self.optimiser = torch.optim.AdamW(_decayed(model, recipe.decay), lr=recipe.rate)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimiser, lambda step: pace(step, recipe))
        self._order: list[int] = []

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
        self.optimiser.step()
        self.schedule.step()
        return total

    def system(self) -> ExtractiveSystem:
        """Return the encoder as it stands, ready to predict."""
        return ExtractiveSystem(
            self.model.eval(), self.reader, name="extractive-qa", description="in training", revision="0" * 12
        )

    def save(self, folder: Path) -> None:
        """Write what `modelserver.systems.extractive.load` reads; each file appears whole or not at all."""
        reading = self.reader.reading
        values = {name: getattr(reading, name) for name in ("window", "overlap", "longest", "threshold")}
        save(folder, self.model, self.tokenizer, {READING: json.dumps(values, indent=2) + "\n"})

    def _can_be_learned(self, example: ReadingExample) -> bool:
        try:
            encoded = self.reader.encode(example.item)
        except InvalidRequest as error:
            raise UnreadableData(f"{example.item.id}: {error.field}: {error}") from error
        spans = [found for span in example.spans if (found := token_span(encoded, span))]
        return any(w.start <= a and b < w.end for w in self.reader.windows(encoded) for a, b in spans)

    def _batch(self) -> list[Labelled]:
        """Return the next examples; each comes once before any comes again."""
        while len(self._order) < self.recipe.batch:
            self._order += self.rng.permutation(len(self.examples)).tolist()
        chosen, self._order = self._order[: self.recipe.batch], self._order[self.recipe.batch :]
        found = [label(self.examples[i], self.reader, self.recipe.windows, self.rng) for i in chosen]
        return [labelled for labelled in found if labelled is not None]


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


def dev_scores(system: ExtractiveSystem, dev: Sequence[ReadingExample]) -> Row:
    """Return mean EM and F1 of the answers over all questions, in [0, 1].

    Of several right answers the best counts; where n answers belong together, one of them is 1/n of its F1
    and no exact match (see `read_quoref`).
    """
    items = [example.item for example in dev]
    predictions = predict_all(system, items, BatchLimits(), keep_going=False)
    em = f1 = 0.0
    for example, prediction in zip(dev, predictions, strict=True):
        shared = len(example.answers) if example.together else 1
        em += shared == 1 and any(exact_match(gold, prediction.answer) for gold in example.answers)
        f1 += max(answer_f1(gold, prediction.answer).f1 for gold in example.answers) / shared
    return {"em": em / len(dev), "f1": f1 / len(dev)}


def finetune(
    tuner: FineTuner,
    dev: Sequence[ReadingExample],
    out: Path,
    *,
    report: Callable[[Row], None] = lambda row: None,
    advance: Callable[[], None] = lambda: None,
) -> Row:
    """Train by the recipe; leave the best checkpoint by F1 on dev, and log.jsonl, in ``out``.

    Returns the log row of that checkpoint: step, mean loss since the last row, seconds of wall and of
    processor time so far, and the scores on dev.
    """
    out.mkdir(parents=True, exist_ok=True)
    recipe, losses, since = tuner.recipe, [], 0
    best: Row = {"f1": -1.0}
    wall, processor = time.perf_counter(), time.process_time()
    with (out / "log.jsonl").open("w", encoding="utf-8") as log:
        for step in range(1, recipe.steps + 1):
            losses.append(tuner.step())
            advance()
            if step % recipe.check_every and step != recipe.steps:
                continue
            row: Row = {"step": step, "loss": float(np.mean(losses))}
            row["seconds"] = time.perf_counter() - wall
            row["processor_seconds"] = time.process_time() - processor
            row |= dev_scores(tuner.system(), dev)
            losses, since = [], since + 1
            log.write(json.dumps(row) + "\n")
            log.flush()
            report(row)
            if row["f1"] > best["f1"]:
                tuner.save(out)
                best, since = row, 0
            if since >= recipe.patience:
                break
    return best


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `train extractive-qa`."""
    add, recipe = parser.add_argument, Recipe(steps=1)
    parser.set_defaults(command=run)
    text = "folder of a Hugging Face model, an id of the hub (with --allow-hub), or new:HIDDENxLAYERS"
    add("--encoder", required=True, help=text)
    add("--allow-hub", action="store_true", help="fetch the encoder from the hub where it is no folder")
    add("--data", type=Path, required=True, help="train on this file")
    add("--format", choices=sorted(FORMATS), required=True, help="form of the data, SQuAD 1.1 or 2.0 …")
    add("--dev-data", type=Path, help=f"choose the checkpoint on this file (default: every {HELD_OUT}th)")
    add("--dev-format", choices=sorted(FORMATS), help="form of --dev-data (default: that of --data)")
    add("--out", type=Path, required=True, help="folder for weights, configuration, tokenizer and log")
    add("--epochs", type=float, default=2.0, help="passes over the data (default: %(default)s)")
    add("--steps", type=int, help="train for so many steps instead of --epochs")
    add("--rate", type=float, help="learning rate (default: 3e-5; of a new encoder 5e-4)")
    add("--window", type=int, help="tokens read at once (default: 384, or what the encoder can)")
    add("--vocabulary", type=int, default=8_000, help="pieces of a new tokenizer (default: %(default)s)")
    for flag, default, text in (
        ("--batch", recipe.batch, "examples in a step"),
        ("--windows", recipe.windows, "windows of an example that are learned from at most"),
        ("--max-batch-tokens", recipe.tokens, "tokens that run at once; bounds the memory"),
        ("--check-every", recipe.check_every, "steps between checks on dev"),
        ("--patience", recipe.patience, "checks without a better F1 after which training ends"),
        ("--seed", recipe.seed, "seed of new weights, order and dropout"),
        ("--threads", 2, "CPU threads; the same number repeats exactly"),
    ):
        add(flag, type=int, default=default, help=f"{text} (default: %(default)s)")
    add(
        "--device", default="cpu", help="cpu, cuda, cuda:1 …; mixed precision on a GPU (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Fine-tune and write the folder; the exit status is 0, or 2 for bad arguments."""
    if wrong := _wrong(options):
        sys.stderr.write(f"{wrong}\n")
        return 2
    torch.set_num_threads(options.threads)
    train_set, dev = _data(options)
    torch.manual_seed(options.seed)  # weights of a new encoder or head
    model, tokenizer = _encoder(options, train_set)
    tuner = FineTuner(
        model, tokenizer, _reading(options, model, tokenizer), _recipe(options, len(train_set)), train_set
    )
    sys.stderr.write(f"{len(tuner.examples)} of {len(train_set)} examples can be learned from\n")
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("extractive-qa: training", total=tuner.recipe.steps)
        best = finetune(tuner, dev, options.out, report=_print, advance=lambda: progress.advance(task))
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
    if not options.epochs > 0 or (options.rate is not None and not options.rate > 0):
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
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    device = torch.device(options.device)
    if new := NEW.fullmatch(options.encoder):
        hidden, layers = int(new[1]), int(new[2])
        texts = (text for example in examples for text in _texts(example))
        return new_encoder(
            texts,
            device,
            hidden=hidden,
            layers=layers,
            heads=max(1, hidden // HEAD),
            pieces=options.vocabulary,
        )
    folder = find_folder(options.encoder, allow_hub=options.allow_hub)
    return open_model(folder, device, trained=False), open_tokenizer(folder)


def _texts(example: ReadingExample) -> Iterator[str]:
    yield example.item.question
    for title, sentences in example.item.context:
        yield title
        yield from sentences


def _reading(
    options: argparse.Namespace, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> Reading:
    most = longest_window(model, tokenizer)
    if options.window is None:
        return Reading.of_at_most(most)
    if options.window > most:
        raise UnreadableData(f"--window {options.window}: the encoder reads at most {most} tokens")
    return Reading(
        options.window, overlap=options.window // 3, longest=min(Reading.longest, options.window // 3 - 1)
    )


def _recipe(options: argparse.Namespace, examples: int) -> Recipe:
    rate = options.rate or (5e-4 if options.encoder.startswith("new:") else 3e-5)
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
    print(json.dumps({name: round(value, 4) for name, value in row.items()}), flush=True)  # noqa: T201 - output
