"""Train qi2019 or select-and-forget, with or without coupling."""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch

from modelserver.evaluation.scores import compute_scores, predict_gold
from modelserver.inputs.features import Features, Vocabulary, count_words, featurise, list_texts
from modelserver.inputs.hotpot import GoldExample, parse_gold, read_gold
from modelserver.systems import reader, recurrent
from modelserver.systems.batches import collate
from modelserver.systems.contextual import Contextual, Encoder
from modelserver.systems.reader import RecurrentSystem
from modelserver.systems.recurrent import Config, Embedding, Qi2019, SelectAndForget
from modelserver.training import encoder_options, loop
from modelserver.training.coupling_loss import Coupling, Form
from modelserver.training.encoder_options import EncoderOptions
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
    EncoderRate,
    LearningRate,
    Output,
    ScheduleName,
    Selecting,
    Whole,
    extract_options,
    options_of_command,
)
from modelserver.training.recurrent_loss import compute_loss, draw_batches, label
from modelserver.training.word_vectors import WordVectors, read_vectors
from modelserver.wire.errors import InvalidRequest, UnreadableData
from modelserver.wire.schema import QAItem
from modelserver.world import Split, generate

CPU = torch.device("cpu")
SystemName = Literal["qi2019", "select-and-forget", "qi2019-reg", "select-and-forget-reg"]


@options_of_command
class Recipe:
    """Everything but data and sizes that the weights depend on.

    Attributes:
        steps: Training steps.
        batch: Examples in a step.
        rate: Learning rate of all but the encoder.
        warm_up: Steps of rising learning rates.
        schedule: Fall of the learning rates after the warm-up: to a tenth, to
            zero, along a cosine to 2 % (by default), or not at all.
        clip: Largest norm of the gradient.
        rare: Words seen less often get no embedding of their own, because
            names must not be learned by heart.
        check_every: Steps between evaluations on dev.
        patience: Checks without a better joint F1 after which training stops
            early.
        fact_weight: Weight of the facts' loss (lambda).
        coupling: Costs of the answer-fact coupling, of the systems with "-reg".
        encoder_rate: Learning rate of an encoder.
        seed: Seed of weights and order.
    """

    steps: Count = 1800
    batch: BatchSize = 16
    rate: LearningRate = 3e-3
    warm_up: Whole = 60
    schedule: ScheduleName | None = None  # None, as in settings of runs before this option: they resume
    clip: Annotated[float, NOT_AN_OPTION] = 5.0
    rare: Annotated[int, NOT_AN_OPTION] = 15
    check_every: Count = 100
    patience: Count = 6
    fact_weight: Annotated[float, NOT_AN_OPTION] = 12.0
    coupling: Annotated[Coupling | None, NOT_AN_OPTION] = None
    encoder_rate: EncoderRate | None = None
    seed: Whole = 1


class Trainer(loop.Trainer[GoldExample]):
    """A recurrent reader in training.

    Args:
        config: Sizes of the reader.
        recipe: Schedule, loss and seed.
        examples: Those without a learnable answer are left out.
        vectors: Fixed word vectors.
        encoder: Start from a copy of it, in place of word embeddings.
        device: Device of the reader.
        mixed: Compute large products in bfloat16, whose range is that of 32
            bits, so that the loss needs no scaling.
    """

    selection = "joint_f1"
    model: Qi2019 | SelectAndForget

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
        self.title = config.system
        self.recipe, self.device, self.mixed, self.encoder = recipe, device, mixed, encoder
        self.config, self.vocabulary, embed = config, Vocabulary(()), None
        if encoder is not None:
            self.config = replace(config, window=encoder.window)
            embed = Contextual(deepcopy(encoder.model), encoder.tokenizer, self.config)
        else:
            self.vocabulary = Vocabulary.build(list_example_texts(examples), at_least=recipe.rare)
        if vectors is not None:
            self._add_words(vectors)
        self.model = recurrent.build(self.config, len(self.vocabulary), embed).to(device)
        labelled = [label(gold, self._features(gold.item)) for gold in examples]
        self.examples = [example for example in labelled if example is not None]
        if not self.examples:
            raise UnreadableData("training data: not one answer is found in its context")
        if vectors is not None:
            self._set_vectors(vectors)
        inside = self.model.embed.encoder if isinstance(self.model.embed, Contextual) else None
        encoder_rate = recipe.encoder_rate or encoder_options.RATE
        groups = group_by_rate(self.model, inside, rate=recipe.rate, encoder_rate=encoder_rate)
        self.optimiser = torch.optim.Adam(groups)
        self.total_steps, self.check_every = recipe.steps, recipe.check_every
        self.patience = recipe.patience
        self.source = draw_batches(self.examples, recipe.batch, np.random.default_rng(recipe.seed))
        self.steps = 0

    def _add_words(self, vectors: WordVectors) -> None:
        """Append words that only have a vector to those with an embedding."""
        learned = self.vocabulary.words
        self.vocabulary = Vocabulary(tuple(dict.fromkeys(learned + vectors.words)))
        size = vectors.table.shape[1]
        self.config = replace(self.config, vector_size=size, learned_words=len(learned))

    def _set_vectors(self, vectors: WordVectors) -> None:
        """Give each word its vector; words without one keep zeros."""
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

    def step(self) -> float:
        """Learn from one batch and return its loss."""
        examples = next(self.source)
        batch = collate([e.features for e in examples], self.device)
        gold = torch.from_numpy(np.concatenate([e.facts for e in examples])).to(self.device)
        self.model.train()
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.mixed):
            outputs = self.model(batch, gold)
        cost = compute_loss(outputs, examples, batch, self.recipe.fact_weight, self.recipe.coupling)
        value = self.descend(cost, clip=self.recipe.clip, pace=compute_pace(self.steps, self.recipe))
        self.steps += 1
        return value

    def settings(self) -> dict[str, Any]:
        """Return sizes, recipe and digests of the encoder and the data."""
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

    def go_to(self, step: int) -> None:
        """Skip the batches of the steps before; their order follows the seed."""
        for _ in range(self.steps, step):
            next(self.source)
        self.steps = step

    def evaluate(self, dev: Sequence[GoldExample]) -> Row:
        """Return the scores of `modelserver.evaluation.scores.scores`."""
        return compute_scores(dev, predict_gold(self.system(), dev, device=str(self.device)))

    def system(self) -> RecurrentSystem:
        """Return the reader with its current weights, ready to predict."""
        return RecurrentSystem(
            self.model, self.config, self.vocabulary,
            name=self.config.system, description="in training", revision="0" * 12, device=self.device,
        )  # fmt: skip

    def save(self, folder: Path) -> None:
        """Write what `modelserver.systems.reader.load` reads."""
        reader.save(folder, self.model, self.config, self.vocabulary)


def compute_pace(step: int, recipe: Recipe) -> float:
    """Return the share of the full learning rate at a step."""
    return compute_schedule_pace(step, recipe.schedule or "cosine", recipe.warm_up, recipe.steps)


def list_example_texts(examples: Iterable[GoldExample]) -> Iterator[str]:
    """Return every text of the examples: questions, titles and sentences."""
    return (text for gold in examples for text in list_texts(gold.question, gold.context))


@options_of_command
class RecurrentOptions(Data, Selecting, Compute, EncoderOptions, Recipe):
    """Data, sizes, schedule and device of any training of a recurrent reader.

    Attributes:
        hidden: Hidden size.
        full_precision: Compute in 32 bits on a GPU too, instead of mixed
            precision.
    """

    hidden: Count = Config("qi2019").hidden
    full_precision: bool = False
    threads: Count = 2


@options_of_command
class TrainOptions(RecurrentOptions, Output):
    """Everything that training a recurrent reader takes."""

    fact_weight: float = Recipe.fact_weight


@options_of_command
class CoupledTrainOptions(TrainOptions):
    """The same with the costs of the answer-fact coupling.

    Attributes:
        c1: Cost of a right answer from other facts.
        c2: Cost of a wrong answer from gold facts.
        c3: Cost of a wrong answer from other facts.
        explanation: Form of p_e, from the gold facts' probabilities.
    """

    c1: float = Coupling.c1
    c2: float = Coupling.c2
    c3: float = Coupling.c3
    explanation: Form = "sum"


def qi2019(*, options: TrainOptions) -> None:
    """Train BiDAF++ with joint fact and answer heads.

    Without further options, by the recipe of the shipped weights.
    """
    run("qi2019", options)


def select_and_forget(*, options: TrainOptions) -> None:
    """Train a reader that answers from the facts it selected alone.

    It learns to answer from the facts that it selects itself with the gold
    facts added: early in training there is something to answer from, and
    later it meets its own mistakes.
    """
    run("select-and-forget", options)


def qi2019_reg(*, options: CoupledTrainOptions) -> None:
    """Train qi2019 with the answer-fact coupling regulariser."""
    run("qi2019-reg", options)


def select_and_forget_reg(*, options: CoupledTrainOptions) -> None:
    """Train select-and-forget with the answer-fact coupling regulariser."""
    run("select-and-forget-reg", options)


def run(system: SystemName, options: TrainOptions) -> None:
    """Train a recurrent reader and write its weights folder."""
    require_free(options.out, **options.start)
    work = Work.of(system, options)
    coupling = None
    if isinstance(options, CoupledTrainOptions):
        coupling = Coupling(options.c1, options.c2, options.c3, options.explanation)
    trainer = work.trainer(replace(work.recipe, coupling=coupling))
    sys.stderr.write(f"{len(trainer.examples)} of {len(work.train)} examples can be learned from\n")
    train_with_progress(trainer, work.dev, options.out, **options.start)


@dataclass(frozen=True)
class Work:
    """Data, sizes, schedule and device of a training, opened."""

    config: Config
    recipe: Recipe
    train: list[GoldExample]
    dev: list[GoldExample]
    vectors: WordVectors | None
    device: torch.device
    mixed: bool
    encoder: Encoder | None = None

    @classmethod
    def of(cls, system: SystemName, options: RecurrentOptions) -> "Work":
        """Open what the options name; a new encoder's weights follow the seed."""
        device = options.apply()
        torch.manual_seed(options.seed)
        choose = options.selection.of
        train_set, dev = options.open_examples(
            lambda path: choose(read_gold(path), path),
            lambda split, n, seed: choose(
                _generate_examples(split, n, seed), f"generated questions, {split}"
            ),
        )
        vectors = None
        if options.word_vectors is not None:
            words = count_words(list_example_texts([*train_set, *dev]))
            vectors = read_vectors(options.word_vectors, wanted=words, first=options.most_vectors)
        return cls(
            config=Config(system, hidden=options.hidden),
            recipe=extract_options(options, Recipe, encoder_rate=options.learning_rate()),
            train=train_set,
            dev=dev,
            vectors=vectors,
            device=device,
            mixed=device.type == "cuda" and not options.full_precision,
            encoder=options.open_encoder(list_example_texts(train_set)),
        )

    def trainer(self, recipe: Recipe) -> Trainer:
        """Return a trainer by a recipe."""
        return Trainer(
            self.config,
            recipe,
            self.train,
            vectors=self.vectors,
            encoder=self.encoder,
            device=self.device,
            mixed=self.mixed,
        )


def _generate_examples(split: Split, n: int, seed: int) -> list[GoldExample]:
    return parse_gold(generate(split, n, seed), f"world {seed}, {split}")
