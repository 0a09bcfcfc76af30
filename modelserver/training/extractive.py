"""Fine-tune any encoder for extractive-qa, on SQuAD, Quoref or HotpotQA.

Annotations are not postponed, as in `modelserver.training.options`.
"""

import hashlib
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
import transformers
from cyclopts import Parameter
from cyclopts.validators import Number
from torch import nn

from analysis.io.command_line import BadUsage, only_with
from analysis.scores.hotpotqa import answer_f1, exact_match
from modelserver.evaluation.predict_file import predict_all
from modelserver.inputs.encoders import find_longest_window, save
from modelserver.inputs.features import Ints, list_texts
from modelserver.inputs.span_qa import FORMATS, ReadingExample, read_hotpotqa
from modelserver.inputs.windows import Inputs, WindowReader, WindowSettings
from modelserver.systems.extractive import READING, ExtractiveSystem, make_window_reader
from modelserver.training import loop
from modelserver.training.encoder_options import NEW, NEW_RATE, RATE, EncoderName, open_reader_model
from modelserver.training.loop import (
    Row,
    compute_schedule_pace,
    group_by_rate,
    make_room,
    train_with_progress,
)
from modelserver.training.options import (
    NOT_AN_OPTION,
    BatchSize,
    Compute,
    Count,
    EncoderRate,
    Hub,
    LearningRate,
    Output,
    Positive,
    ScheduleName,
    Selecting,
    Whole,
    extract_options,
    hold_out,
    options_of_command,
)
from modelserver.training.span_loss import (
    Labelled,
    compute_loss,
    group_by_length,
    is_readable,
    label,
    select_learnable,
)
from modelserver.wire.errors import UnreadableData, UnreadableWeights

Format = Literal["hotpotqa", "quoref", "squad"]
WITH_DEV_FILE = only_with("--dev-file")


@options_of_command
class Schedule:
    """The schedule of learning from any number of examples, with any encoder.

    Attributes:
        batch: Examples in a step.
        encoder_rate: Learning rate of the encoder; by default that of the head.
        warm_up: Share of the steps, without ``warm_up_steps``.
        warm_up_steps: Steps of rising learning rates; by default a tenth of all.
        schedule: Fall of the learning rates after the warm-up: to a tenth, to
            zero (by default), along a cosine to 2 %, or not at all.
        decay: Of the weights, biases and normalisation aside.
        clip: Largest norm of the gradient.
        windows: Windows of an example that a step learns from, at most.
        tokens: Tokens that run at once; bounds the memory.
        check_every: Steps between evaluations on dev.
        patience: Checks without a better score on dev after which training stops early.
        seed: Seed of new weights, order and dropout.
    """

    batch: BatchSize = 16
    encoder_rate: EncoderRate | None = None
    warm_up: Annotated[float, NOT_AN_OPTION] = 0.1
    warm_up_steps: Annotated[Whole | None, Parameter(name="--warm-up")] = None
    schedule: ScheduleName | None = None  # None, as in settings of runs before this option: they resume
    decay: Annotated[float, NOT_AN_OPTION] = 0.01
    clip: Annotated[float, NOT_AN_OPTION] = 1.0
    windows: Count = 4
    tokens: Annotated[Count, Parameter(name="--max-batch-tokens")] = 8_192
    check_every: Count = 500
    patience: Count = 6
    seed: Whole = 1


@dataclass(frozen=True, kw_only=True)
class Recipe(Schedule):
    """Everything but the data and the encoder that the weights depend on."""

    steps: int
    rate: float = RATE


def compute_pace(step: int, recipe: Recipe) -> float:
    """Return the share of the full learning rate at a step."""
    warm_up = recipe.warm_up_steps
    if warm_up is None:
        warm_up = max(1, round(recipe.warm_up * recipe.steps))
    return compute_schedule_pace(step, recipe.schedule or "linear-to-zero", warm_up, recipe.steps)


class FineTuner(loop.Trainer[ReadingExample]):
    """An encoder in fine-tuning.

    The batch of a step follows from the seed and the step's number alone, so
    that an interrupted run can continue.

    Args:
        model: An encoder with a span head.
        tokenizer: The encoder's.
        reader: Cuts contexts into windows.
        recipe: Schedule and seed.
        examples: At least one, from `select_learnable`.
    """

    title, selection = "extractive-qa", "f1"
    model: transformers.PreTrainedModel

    def __init__(
        self,
        model: transformers.PreTrainedModel,
        tokenizer: transformers.PreTrainedTokenizerBase,
        reader: WindowReader,
        recipe: Recipe,
        examples: Sequence[ReadingExample],
    ) -> None:
        self.model, self.tokenizer, self.reader = model, tokenizer, reader
        self.recipe, self.examples = recipe, examples
        self.steps, self.total_steps = 0, recipe.steps
        self.check_every, self.patience = recipe.check_every, recipe.patience
        torch.manual_seed(recipe.seed)  # dropout
        self.optimiser = torch.optim.AdamW(_group_by_rate_and_decay(model, recipe))

    def step(self) -> float:
        """Learn from one batch and return its mean loss."""
        rng = np.random.default_rng((self.recipe.seed, 0, self.steps))
        examples = self._batch(rng)
        self.model.train()
        self.optimiser.zero_grad()
        total = 0.0
        for group in group_by_length(examples, self.reader, self.recipe.tokens):
            value = self.sum_loss(group, rng) / len(examples)
            value.backward()
            total += value.item()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = parameters["full"] * compute_pace(self.steps, self.recipe)
        self.optimiser.step()
        self.steps += 1
        return total

    def label(self, example: ReadingExample, rng: np.random.Generator) -> Labelled | None:
        """Return the windows of an example that a step learns from."""
        return label(example, self.reader, self.recipe.windows, rng)

    def sum_loss(self, group: Sequence[Labelled], _rng: np.random.Generator) -> torch.Tensor:
        """Return the summed loss of examples."""
        inputs = self.inputs(group)
        with mixed_precision(self.model.device):
            outputs = self.model(**inputs.tensors)
        return compute_loss(outputs.start_logits.float(), outputs.end_logits.float(), inputs.offset, group)

    def inputs(self, group: Sequence[Labelled]) -> Inputs:
        """Return the windows of examples as the model takes them."""
        return self.reader.inputs([w for e in group for w in e.windows], self.model.device)

    def system(self) -> ExtractiveSystem:
        """Return the encoder with its current weights, ready to predict."""
        return ExtractiveSystem(
            self.model.eval(), self.reader, name="extractive-qa", description="in training", revision="0" * 12
        )

    def save(self, folder: Path) -> None:
        """Write what `modelserver.systems.extractive.load` reads."""
        reading = json.dumps(asdict(self.reader.reading), indent=2) + "\n"
        save(folder, self.model, self.tokenizer, {READING: reading})

    def evaluate(self, dev: Sequence[ReadingExample]) -> Row:
        """Return `compute_dev_scores`."""
        return compute_dev_scores(self.system(), dev, device=str(self.model.device))

    def settings(self) -> dict[str, Any]:
        """Return recipe, windows and digests of the encoder and the data."""
        digests = {"encoder": self._encoder_digest, "data": loop.hash_examples(self.examples)}
        return asdict(self.recipe) | asdict(self.reader.reading) | digests

    @property
    def _encoder_digest(self) -> str:
        config = {k: v for k, v in self.model.config.to_dict().items() if k != "_name_or_path"}
        text = json.dumps(config, sort_keys=True, default=str) + self.tokenizer.backend_tokenizer.to_str()
        return hashlib.sha256(text.encode()).hexdigest()

    def _batch(self, rng: np.random.Generator) -> list[Labelled]:
        """Return the next examples; each comes once before any comes again."""
        count, first = len(self.examples), self.steps * self.recipe.batch
        batch = []
        for position in range(first, first + self.recipe.batch):
            example = self.examples[self._order(position // count)[position % count]]
            batch.append(self.label(example, rng))
        return [labelled for labelled in batch if labelled is not None]

    @lru_cache(maxsize=2)  # noqa: B019 - as long as the training
    def _order(self, epoch: int) -> Ints:
        return np.random.default_rng((self.recipe.seed, 1, epoch)).permutation(len(self.examples))


def mixed_precision(device: torch.device) -> torch.autocast:
    """Return autocast to bfloat16 on a GPU that supports it."""
    supported = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=supported)


def _group_by_rate_and_decay(model: transformers.PreTrainedModel, recipe: Recipe) -> list[dict[str, Any]]:
    """Return parameters by their learning rate and weight decay.

    Biases and normalisation, which have one axis, have no decay.
    """
    encoder = model.base_model if recipe.encoder_rate else None
    return [
        {
            "params": [p for p in group["params"] if p.requires_grad and (p.ndim > 1) == has_decay],
            "full": group["full"],
            "weight_decay": recipe.decay * has_decay,
        }
        for group in group_by_rate(model, encoder, rate=recipe.rate, encoder_rate=recipe.encoder_rate or 0)
        for has_decay in (True, False)
    ]


def compute_dev_scores(
    system: ExtractiveSystem, dev: Sequence[ReadingExample], *, device: str = "cpu"
) -> Row:
    """Return mean EM and F1 of the answers over all questions, in [0, 1].

    Of several right answers the best counts. If n answers belong together,
    one of them scores 1/n of its F1 and no exact match (see `read_quoref`).
    A question that the system cannot read counts 0.
    """
    read = [example for example in dev if is_readable(example, system.reader)]
    predictions = predict_all(system, [example.item for example in read], device=device)
    em = f1 = 0.0
    for example, prediction in zip(read, predictions, strict=True):
        shared = len(example.answers) if example.together else 1
        em += shared == 1 and any(exact_match(gold, prediction.answer) for gold in example.answers)
        f1 += max(answer_f1(gold, prediction.answer).f1 for gold in example.answers) / shared
    return {"em": em / len(dev), "f1": f1 / len(dev)}


@options_of_command
class ExtractiveOptions(Selecting, Compute, Schedule, Hub, Output):
    """Everything that fine-tuning takes.

    Attributes:
        encoder: Folder of a Hugging Face model, an id of the hub (with
            --allow-hub), or new:HIDDENxLAYERS[-rotary].
        train_file: Train on this file.
        format: Form of the files; squad is SQuAD 1.1 or 2.0.
        dev_file: Choose the best weights on this file; by default on every
            20th question of --train-file.
        dev_format: Form of --dev-file, if it is another one.
        epochs: Passes over the data.
        steps: Training steps, instead of --epochs.
        learning_rate: Learning rate of the head, and of the encoder without
            --encoder-learning-rate; 3e-5, or 5e-4 for a new encoder, by default.
        window: Tokens read at once, 384 at most by default.
        vocabulary_size: Word pieces of a new encoder's tokenizer, at most.
        device: cpu, cuda, cuda:1 …; mixed precision on a GPU.
    """

    learns_answers: ClassVar[bool] = True
    encoder: EncoderName = field(kw_only=True)
    train_file: Path = field(kw_only=True)
    format: Format = field(kw_only=True)
    dev_file: Annotated[Path | None, Parameter(group=WITH_DEV_FILE)] = None
    dev_format: Annotated[Format | None, Parameter(group=WITH_DEV_FILE)] = None
    epochs: Positive = 2.0
    steps: Count | None = None
    learning_rate: LearningRate | None = None
    window: Annotated[int | None, Parameter(validator=Number(gte=16))] = None
    vocabulary_size: Count = 8000
    threads: Count = 2


def extractive_qa(*, options: ExtractiveOptions) -> None:
    """Fine-tune any Hugging Face encoder to mark answers."""
    device, train_set, dev, texts = begin(options)
    model, tokenizer = open_reader_model(
        options.encoder, texts, options.vocabulary_size, allow_hub=options.allow_hub, device=device
    )
    reader = make_reader(options, model, tokenizer)
    examples = select_learnable(train_set, reader)
    if not examples:
        raise UnreadableData(f"{options.train_file}: not one answer is found in its context")
    sys.stderr.write(f"{len(examples)} of {len(train_set)} questions can be learned from\n")
    if long := sum(not is_readable(example, reader) for example in dev):
        sys.stderr.write(f"{long} of {len(dev)} dev questions are too long or empty, and count 0\n")
    tuner = FineTuner(model, tokenizer, reader, make_recipe(options, len(examples)), examples)
    train_with_progress(tuner, dev, options.out, **options.start)


def begin(
    options: ExtractiveOptions,
) -> tuple[torch.device, list[ReadingExample], list[ReadingExample], Iterator[str]]:
    """Return the device, the examples to learn from, those of dev, and texts.

    A tokenizer may be made from the texts, which are those to learn from.

    Raises:
        UnreadableData: A file is malformed or empty, or --out holds a run.
    """
    make_room(options.out, **options.start)  # fail now rather than after an hour
    device = options.apply()
    train_set, dev = _read_data(options)
    torch.manual_seed(options.seed)  # weights of a new encoder or head
    items = (example.item for example in train_set)
    return (
        device,
        train_set,
        dev,
        (text for item in items for text in list_texts(item.question, item.context)),
    )


def _read_data(options: ExtractiveOptions) -> tuple[list[ReadingExample], list[ReadingExample]]:
    examples = _read(options.train_file, options.format, options)
    if options.dev_file is None:
        return hold_out(options.train_file, examples)
    dev = _read(options.dev_file, options.dev_format or options.format, options)
    if not dev:
        raise UnreadableData(f"{options.dev_file}: no question that can be scored")
    return examples, dev


def _read(path: Path, form: Format, options: ExtractiveOptions) -> list[ReadingExample]:
    if form == "hotpotqa":
        read = read_hotpotqa(path, options.selection)
    elif options.selection:
        raise BadUsage(f"{path}: --context and --reasoning need supporting facts; {form} has none")
    else:
        read = FORMATS[form](path)
    if read.left_out:
        sys.stderr.write(f"{path}: {read.left_out} unanswerable questions are left out\n")
    for note in read.notes if options.learns_answers else ():
        sys.stderr.write(f"{path}: {note}\n")
    return list(read.examples)


def make_reader(
    options: ExtractiveOptions,
    model: transformers.PreTrainedModel,
    tokenizer: transformers.PreTrainedTokenizerBase,
) -> WindowReader:
    """Return what cuts contexts into windows for the encoder.

    Raises:
        UnreadableData: The encoder reads less than --window at once.
        UnreadableWeights: Its tokenizer does not fit.
    """
    most = find_longest_window(model, tokenizer)
    if options.window is not None and options.window > most:
        raise UnreadableData(f"--window {options.window}: the encoder reads at most {most} tokens")
    try:
        return make_window_reader(tokenizer, WindowSettings.of_at_most(most, options.window))
    except ValueError as error:
        raise UnreadableWeights(f"{options.encoder}: {error}") from error


def make_recipe(options: ExtractiveOptions, examples: int) -> Recipe:
    """Return the schedule for so many examples."""
    rate = options.learning_rate or (NEW_RATE if NEW.fullmatch(options.encoder) else RATE)
    steps = options.steps or math.ceil(options.epochs * examples / options.batch)
    return Recipe(**asdict(extract_options(options, Schedule)), steps=steps, rate=rate)
