"""Train text-nmn, on generated games or on files."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Unpack

import numpy as np
import torch
from cyclopts import Parameter

from modelserver.inputs.features import Ints
from modelserver.modular.text import network as networks
from modelserver.modular.text.drop import read_drop
from modelserver.modular.text.examples import Example, parse_examples, read_items
from modelserver.modular.text.network import Config, Network
from modelserver.modular.text.reading import TextFeatures
from modelserver.modular.text.scoring import score
from modelserver.modular.text.system import TextSystem
from modelserver.systems.contextual import Encoder
from modelserver.training import loop
from modelserver.training.encoder_options import NEW, EncoderName, open_named
from modelserver.training.loop import (
    Row,
    compute_schedule_pace,
    group_by_rate,
    require_free,
    train_with_progress,
)
from modelserver.training.options import (
    NOT_AN_OPTION,
    BatchSize,
    Compute,
    Count,
    Data,
    DevCount,
    EncoderRate,
    Hub,
    LearningRate,
    Output,
    ScheduleName,
    Start,
    TrainCount,
    Whole,
    extract_options,
    options_of_command,
)
from modelserver.training.text_nmn.loss import Outputs, Supervision, compute_loss
from modelserver.wire.errors import InvalidRequest, UnreadableData
from modelserver.world.games import generate
from modelserver.world.names import Split

NAME = "text-nmn"
NEW_ENCODER, PIECES = "new:64x2", 2000
PRETRAINED_RATE, NEW_RATE = 3e-5, 1e-3  # learning rates of encoders
CPU = torch.device("cpu")


@options_of_command
class Recipe:
    """Everything but data, sizes and supervision that the weights depend on.

    Attributes:
        steps: Training steps.
        batch: Examples in a step.
        rate: Learning rate of parser and modules.
        encoder_rate: Learning rate of the encoder; 3e-5, or 1e-3 for a new
            one, by default.
        warm_up: Share of the steps, without ``warm_up_steps``.
        warm_up_steps: Steps of rising learning rates; by default a twelfth of
            all.
        schedule: Fall of the learning rates after the warm-up: to a tenth, to
            zero, along a cosine to 2 % (by default), or not at all.
        clip: Largest norm of the gradient.
        check_every: Steps between evaluations on dev.
        patience: Checks without a better F1 after which training stops early.
        seed: Seed of weights and order.
    """

    steps: Count = 800
    batch: BatchSize = 8
    rate: LearningRate = 2e-3
    encoder_rate: EncoderRate | None = None
    warm_up: Annotated[float, NOT_AN_OPTION] = 1 / 12
    warm_up_steps: Annotated[Whole | None, Parameter(name="--warm-up")] = None
    schedule: ScheduleName | None = None  # None, as in settings of runs before this option: they resume
    clip: Annotated[float, NOT_AN_OPTION] = 2.0
    check_every: Count = 200
    patience: Count = 6
    seed: Whole = 1


class Trainer(loop.Trainer[Example]):
    """A network over text in training.

    The batch of a step follows from the seed and the step's number alone, so
    that an interrupted run can continue.

    Args:
        encoder: To start from.
        config: Of the network.
        recipe: Schedule and seed.
        supervision: Gold to learn from besides answers.
        examples: At least one.
        device: Device of the network.

    Raises:
        UnreadableData: There is no example, or the network cannot read one.
    """

    title, selection = NAME, "f1"

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
        torch.manual_seed(recipe.seed)
        self.recipe, self.supervision, self.steps = recipe, supervision, 0
        self.total_steps, self.check_every = recipe.steps, recipe.check_every
        self.patience = recipe.patience
        self._encoder_digest = encoder.digest()  # before training changes it
        self.network = Network(encoder, config).to(device)
        self.model = self.network
        self.examples = [(example, self._read(example)) for example in examples]
        if not self.examples:
            raise UnreadableData("training data: there is no example")
        encoder_rate = recipe.encoder_rate or NEW_RATE
        groups = group_by_rate(
            self.network, self.network.encoder, rate=recipe.rate, encoder_rate=encoder_rate
        )
        self.optimiser = torch.optim.Adam(groups, lr=recipe.rate)

    def _read(self, example: Example) -> TextFeatures:
        try:
            return self.network.read(example.item)
        except InvalidRequest as error:
            message = f"training data: {example.item.id}: {error.field}: {error}"
            raise UnreadableData(message) from error

    def step(self) -> float | None:
        """Learn from one batch and return its mean loss, None if it has none."""
        batch = self._batch()
        self.network.train()
        texts = self.network([reading for _, reading in batch])
        losses = [
            compute_loss(self.network, text, example, self.supervision)
            for (example, _), text in zip(batch, texts, strict=True)
        ]
        learned = [loss for loss in losses if loss is not None]
        self.steps += 1
        if not learned:
            return None
        mean = torch.stack(learned).sum() / len(batch)
        return self.descend(mean, clip=self.recipe.clip, pace=compute_pace(self.steps - 1, self.recipe))

    def _batch(self) -> list[tuple[Example, TextFeatures]]:
        """Return the next examples; each comes once before any comes again."""
        count, begin = len(self.examples), self.steps * self.recipe.batch
        positions = range(begin, begin + self.recipe.batch)
        return [self.examples[self._order(i // count)[i % count]] for i in positions]

    @lru_cache(maxsize=2)  # noqa: B019 - as long as the training
    def _order(self, epoch: int) -> Ints:
        return np.random.default_rng((self.recipe.seed, epoch)).permutation(len(self.examples))

    def system(self) -> TextSystem:
        """Return the network with its current weights, ready to execute."""
        return TextSystem(self.network, name=NAME, description="in training", revision="0" * 12)

    def settings(self) -> dict[str, Any]:
        """Return sizes, recipe, supervision and digests of encoder and data."""
        parts = asdict(self.network.config) | asdict(self.recipe) | asdict(self.supervision)
        data = loop.hash_examples(example for example, _ in self.examples)
        return parts | {"encoder": self._encoder_digest, "data": data}

    def evaluate(self, dev: Sequence[Example]) -> Row:
        """Return `compute_dev_scores`."""
        return compute_dev_scores(self.system(), dev)

    def save(self, folder: Path) -> None:
        """Write what `modelserver.modular.text.system.load` reads."""
        networks.save(folder, self.network)


def compute_pace(step: int, recipe: Recipe) -> float:
    """Return the share of the full learning rate at a step."""
    warm_up = recipe.warm_up_steps
    if warm_up is None:
        warm_up = max(1, round(recipe.warm_up * recipe.steps))
    return compute_schedule_pace(step, recipe.schedule or "cosine", warm_up, recipe.steps)


def compute_dev_scores(system: TextSystem, dev: Sequence[Example]) -> Row:
    """Return EM, F1, share of right programs and mean module loss."""
    scores = score(system, dev)
    row: Row = {"em": scores.em, "f1": scores.f1, "parsed": scores.parsed, "overall": None}
    if scores.faithfulness is not None:
        row["overall"] = scores.faithfulness.table()["overall"].loss
    return row


def open_encoder(name: str, examples: Sequence[Example], *, allow_hub: bool = False) -> Encoder:
    """Return the named encoder; a new one has no dropout.

    Args:
        name: Folder, id of the hub, or new:HIDDENxLAYERS[-rotary].
        examples: A new tokenizer is made from their texts.
        allow_hub: Download what is not a folder.

    Raises:
        UnreadableWeights: The encoder cannot be read.
    """
    texts = (text for example in examples for text in (example.item.text, example.item.passage))
    return open_named(name, texts, PIECES, allow_hub=allow_hub, dropout=False)


@options_of_command
class TextOptions(Data, Compute, Recipe, Hub):
    """Data, encoder and schedule of any training of a network over text.

    Attributes:
        train_file: Train on this file instead of generated games: items over
            a passage (.jsonl) or a file in DROP's form (.json).
        encoder: Folder of a Hugging Face model, an id of the hub (with
            --allow-hub), or new:HIDDENxLAYERS[-rotary].
        beam: Programs tried for a question without a gold program.
    """

    train: TrainCount = 6000
    dev: DevCount = 100
    encoder: EncoderName = NEW_ENCODER
    beam: Count = Supervision.beam

    def recipe(self) -> Recipe:
        """Return schedule, learning rates and seed."""
        usual = NEW_RATE if NEW.fullmatch(self.encoder) else PRETRAINED_RATE
        return extract_options(self, Recipe, encoder_rate=self.encoder_rate or usual)


@options_of_command
class TrainOptions(TextOptions, Output):
    """Everything that training text-nmn takes.

    Attributes:
        no_programs: Learn from answers, not from gold programs.
        no_extract_answer: Programs without extract-answer.
        no_sorting: Programs without sorting and comparing.
        no_auxiliary: Do not teach that numbers stand near their events.
        module_outputs: Gold outputs to learn from: of no module, of find-num
            and find-date (arguments), of all.
        width: Entries of the vectors that modules compute on.
    """

    no_programs: bool = False
    no_extract_answer: bool = False
    no_sorting: bool = False
    no_auxiliary: bool = False
    module_outputs: Outputs = Supervision.outputs
    width: Count = Config.width


def text_nmn(*, options: TrainOptions) -> None:
    """Train the modular network over text.

    Without further options, by the recipe of the shipped weights, on
    generated games.
    """
    require_free(options.out, **options.start)
    supervision = Supervision(
        programs=not options.no_programs,
        auxiliary=not options.no_auxiliary,
        outputs=options.module_outputs,
        beam=options.beam,
    )
    train_set, dev = options.open_examples(read, generate_games)
    config = Config(
        width=options.width, extract=not options.no_extract_answer, sorting=not options.no_sorting
    )
    train_one(train_set, dev, supervision, options, options.out, config, **options.start)


def train_one(
    train_set: Sequence[Example],
    dev: Sequence[Example],
    supervision: Supervision,
    options: TextOptions,
    out: Path,
    config: Config,
    **start: Unpack[Start],
) -> Row:
    """Train a network.

    Args:
        train_set: To learn from.
        dev: To choose the best weights on.
        supervision: Gold to learn from besides answers.
        options: Encoder, schedule and device.
        out: Folder of the run.
        config: Of the network; its window becomes the encoder's.
        start: Continue or replace a run, see `train`.

    Returns:
        The log row of the best weights.
    """
    device = options.apply()
    torch.manual_seed(options.seed)  # weights of a new encoder
    encoder = open_encoder(options.encoder, train_set, allow_hub=options.allow_hub)
    config = replace(config, window=encoder.window)
    trainer = Trainer(encoder, config, options.recipe(), supervision, train_set, device=device)
    return train_with_progress(trainer, dev, out, **start)


def generate_games(split: Split, count: int, seed: int) -> list[Example]:
    """Return generated examples."""
    return parse_examples(generate(split, count, seed), f"games {seed}, {split}")


def read(path: Path) -> list[Example]:
    """Read a file of items (.jsonl), or one in DROP's form.

    Raises:
        UnreadableData: The file is malformed.
    """
    return read_items(path) if path.suffix == ".jsonl" else read_drop(path)
