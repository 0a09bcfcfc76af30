"""Train the answer types of the heuristic system.

The label of a question is the type of its answer's mention in a supporting
fact. Questions whose answer is not mentioned there are left out (Ray
Choudhury et al. 2022, appendix A.3).
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from analysis.io.command_line import always_json
from modelserver.inputs import encoders
from modelserver.inputs.answer_types import EncoderTypes, WordCNN, compute_type_logprobs
from modelserver.inputs.features import Vocabulary
from modelserver.inputs.hotpot import GoldExample, parse_gold, read_gold
from modelserver.inputs.mentions import TYPES, MentionType, find_mention_type
from modelserver.systems.heuristic import Choice, Predictor, Selector, load, save
from modelserver.training import loop
from modelserver.training.loop import Row, require_free, train_with_progress
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
    TrainCount,
    Whole,
    extract_options,
    options_of_command,
)
from modelserver.wire.errors import UnreadableData
from modelserver.world import Split, generate

FEWEST_USES = 15  # words seen less often get no vector: names must not be learned by heart
UNTYPED = "no answer is a name, a date or a number of a supporting fact"


@dataclass(frozen=True)
class Labelled:
    """A question and the type of its answer."""

    question: str
    type: MentionType


def label_questions(examples: Iterable[GoldExample]) -> Iterator[Labelled]:
    """Yield the questions whose answer is mentioned in a supporting fact."""
    for gold in examples:
        facts = set(gold.supporting_facts)
        texts = (
            text for title, sentences in gold.context for number, text in enumerate(sentences)
            if (title, number) in facts
        )  # fmt: skip
        types = (find_mention_type(text, gold.answer) for text in texts)
        type_ = next((kind for kind in types if kind is not None), None)
        if type_ is not None:
            yield Labelled(gold.question, type_)


@options_of_command
class Recipe:
    """Everything but the data and the encoder that the weights depend on.

    Attributes:
        word_epochs: Passes over the data of the word model.
        encoder_epochs: Passes over the data of the encoder.
        word_rate: Learning rate of the word model.
        encoder_rate: Learning rate of the encoder; 1e-5 suits a pretrained
            one.
        batch: Questions in a step.
        clip: Largest norm of the gradient.
        weighted: Weigh rare types up in the word model's loss: each by the
            inverse of its frequency.
        seed: Seed of weights and order.
    """

    word_epochs: Count = 5
    encoder_epochs: Count = 3
    word_rate: LearningRate = 2e-3
    encoder_rate: EncoderRate = 1e-3
    batch: BatchSize = 32
    clip: Annotated[float, NOT_AN_OPTION] = 1.0
    weighted: Annotated[bool, NOT_AN_OPTION] = False
    seed: Whole = 1


class Trainer(loop.Trainer[Labelled]):
    """Both predictors of answer types in training, one after the other.

    The word model comes first. The encoder is made when its first step is
    due, so that its new weights follow the random numbers that the word model
    used up. The last weights remain, whatever their scores on dev are.

    Args:
        choice: Selector and predictor that the folder names.
        recipe: Schedule and seed.
        examples: Questions with the type of their answers.
        encoder: Folder of the encoder to start from; a new one by default.
    """

    title, selection = "heuristic", "step"

    def __init__(
        self,
        choice: Choice,
        recipe: Recipe,
        examples: Sequence[Labelled],
        encoder: Path | None = None,
    ) -> None:
        self.choice, self.recipe, self.examples, self.folder = choice, recipe, examples, encoder
        self.weights = compute_type_weights(examples) if recipe.weighted else None
        self.words = WordCNN(
            Vocabulary.build([example.question for example in examples], at_least=FEWEST_USES)
        )
        self.encoder: EncoderTypes | None = None
        self.optimiser: torch.optim.Optimizer = torch.optim.Adam(self.words.parameters(), lr=recipe.word_rate)
        self.check_every = -(-len(examples) // recipe.batch)  # steps of an epoch
        self.word_steps = recipe.word_epochs * self.check_every
        self.total_steps = self.word_steps + recipe.encoder_epochs * self.check_every
        self.steps = 0

    @property
    def model(self) -> nn.Module:  # type: ignore[override]
        """Return the parameters of a checkpoint: both predictors once both exist."""
        return self.words if self.encoder is None else nn.ModuleList([self.words, self.encoder])

    def step(self) -> float:
        """Learn from one batch and return its cross-entropy."""
        if self.steps == self.word_steps:
            self._begin_encoder()
        learner = self.encoder or self.words
        learner.train()
        chosen = self._batch()
        types = torch.tensor([TYPES.index(example.type) for example in chosen])
        weights = self.weights if learner is self.words else None
        loss = cross_entropy(learner([example.question for example in chosen]), types, weights)
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learner.parameters(), self.recipe.clip)
        self.optimiser.step()
        self.steps += 1
        return loss.item()

    def _begin_encoder(self) -> None:
        self.encoder = open_encoder(self.folder, [example.question for example in self.examples])
        self.optimiser = torch.optim.Adam(self.encoder.parameters(), lr=self.recipe.encoder_rate)

    def _batch(self) -> list[Labelled]:
        first = 0 if self.steps < self.word_steps else self.word_steps
        epoch, number = divmod(self.steps - first, self.check_every)
        rng = np.random.default_rng(self.recipe.seed)
        for _ in range(epoch + 1):
            order = rng.permutation(len(self.examples))
        return [self.examples[i] for i in np.array_split(order, self.check_every)[number]]

    def go_to(self, step: int) -> None:
        """Make the encoder if the checkpoint holds one."""
        if step > self.word_steps:
            self._begin_encoder()
        self.steps = step

    def is_candidate(self, row: Row) -> bool:
        """Return whether both predictors are trained."""
        return (row["step"] or 0) > self.word_steps

    def evaluate(self, dev: Sequence[Labelled]) -> Row:
        """Return accuracy and macro F1 of the predictor in training."""
        learner = (self.encoder or self.words).eval()
        return {**compute_accuracy(learner, dev)}

    def settings(self) -> dict[str, Any]:
        """Return choice, recipe and digests of encoder and data."""
        encoder = encoders.hash_files(self.folder) if self.folder else "new"
        digests = {"encoder": encoder, "data": loop.hash_examples(self.examples)}
        return asdict(self.choice) | asdict(self.recipe) | digests

    def save(self, folder: Path) -> None:
        """Write what `modelserver.systems.heuristic.load` reads."""
        assert self.encoder is not None
        save(folder, self.choice, self.words, self.encoder)


def compute_type_weights(examples: Sequence[Labelled]) -> torch.Tensor:
    """Return a weight for each of `TYPES`, 1 on average over the examples.

    A type of n examples has 1/n of their number by the number of types that
    occur; one that does not occur has 0.
    """
    counts = Counter(example.type for example in examples)
    share = len(examples) / len(counts)
    return torch.tensor([share / counts[kind] if counts[kind] else 0.0 for kind in TYPES])


def compute_accuracy(model: WordCNN | EncoderTypes, examples: Sequence[Labelled]) -> dict[str, float]:
    """Return accuracy and macro F1 over the types of labels or predictions."""
    chances = compute_type_logprobs(model, [example.question for example in examples])
    predicted = [TYPES[number] for number in chances.argmax(-1)]
    types = [example.type for example in examples]
    scores = []
    for kind in set(predicted) | set(types):
        both = sum(a == b == kind for a, b in zip(predicted, types, strict=True))
        scores.append(2 * both / (predicted.count(kind) + types.count(kind)))
    right = sum(a == b for a, b in zip(predicted, types, strict=True))
    return {"accuracy": right / len(examples), "macro_f1": sum(scores) / len(scores)}


@options_of_command
class TypesOptions(Compute, Recipe, Hub):
    """Options of the training of both predictors of answer types.

    Attributes:
        encoder: Encoder to start from, a folder or an id of the hub (with
            --allow-hub); a new small one by default.
    """

    encoder: str | None = None

    def find_encoder(self) -> Path | None:
        """Return the folder of the encoder to start from, None for a new one.

        Raises UnreadableWeights now, not after minutes of the word model.
        """
        if self.encoder is None:
            return None
        folder = encoders.find_folder(self.encoder, allow_hub=self.allow_hub)
        with torch.random.fork_rng():  # a new head takes random numbers
            open_encoder(folder, ())
        return folder


@options_of_command
class HeuristicOptions(Data, TypesOptions, Output):
    """Everything that training the answer types takes.

    Attributes:
        selector: Selector of sentences.
        predictor: Predictor of answer types.
    """

    train: TrainCount = 4000
    dev: DevCount = 400
    selector: Selector = "overlap"
    predictor: Predictor = "words"
    weighted: bool = False


@always_json
def heuristic(*, options: HeuristicOptions) -> None:
    """Train the answer types of the heuristic, in minutes on one core.

    A convolution over words and an encoder learn the type of the answer from
    the question. The log goes to --out; both scores on dev are printed.
    """
    require_free(options.out, **options.start)
    encoder = options.find_encoder()
    options.apply()
    torch.manual_seed(options.seed)
    train_set, dev = options.open_examples(read_labelled, generate_labelled)
    choice = Choice(options.selector, options.predictor)
    trainer = Trainer(choice, extract_options(options, Recipe), train_set, encoder)
    train_with_progress(trainer, dev, options.out, **options.start, report=lambda row: None)
    system = load(options.out, torch.device("cpu"), name="heuristic", description="")
    scores = {"words": compute_accuracy(system.words, dev), "encoder": compute_accuracy(system.encoder, dev)}
    sys.stdout.write(json.dumps({"train": len(train_set), "dev": len(dev), **scores}, indent=2) + "\n")


def read_labelled(path: Path) -> list[Labelled]:
    """Return the labelled questions of a file; raise UnreadableData for none."""
    return _require_examples(label_questions(read_gold(path)), str(path))


def generate_labelled(split: Split, count: int, seed: int) -> list[Labelled]:
    """Return those of a generated split; raise UnreadableData for none."""
    return _require_examples(
        label_questions(parse_gold(generate(split, count, seed), "world")), f"generated {split} data"
    )


def _require_examples(examples: Iterable[Labelled], source: str) -> list[Labelled]:
    if listed := list(examples):
        return listed
    raise UnreadableData(f"{source}: {UNTYPED}")


def open_encoder(folder: Path | None, questions: Sequence[str]) -> EncoderTypes:
    """Return a folder's encoder, or a new small one, to predict types with."""
    cpu = torch.device("cpu")
    if folder is None:
        model, tokenizer = encoders.create_encoder(questions, cpu, hidden=64, layers=2, heads=2, pieces=1500)
    else:
        model, tokenizer = encoders.open_encoder(folder, cpu, trained=False)
    return EncoderTypes(encoders.extract_encoder(model, folder or "new encoder"), tokenizer)
