"""Train ``world-lm``: a small causal language model that cites facts.

Its text is the prompt and the JSON of `modelserver.systems.language`. A rationale quotes the sentences that
the answer needs, each followed by its number. It learns from short contexts first, because copying is
learned before choosing: on to the next stage when the loss says so, not by the clock.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
import yaml
from cyclopts import Parameter
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import Lfm2Config, Lfm2ForCausalLM, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from modelserver.inputs import encoders
from modelserver.inputs.hotpot import GoldExample, parse_gold, read_gold
from modelserver.systems.language.causal import SYSTEM_FILE
from modelserver.systems.language.questions import FIELDS, Order, build_prompt, number_sentences
from modelserver.training import loop
from modelserver.training.loop import compute_cosine_pace, require_free, train_with_progress
from modelserver.training.muon import Muon
from modelserver.training.options import (
    NOT_AN_OPTION,
    Compute,
    Count,
    Data,
    DevCount,
    LearningRate,
    Output,
    TrainCount,
    Whole,
    extract_options,
    options_of_command,
)
from modelserver.wire.schema import Context, Fact, QAItem
from modelserver.world import generate

ORDERS: tuple[Order, ...] = ("explain-first", "answer-first")
SYSTEM = """\
prompt: |
  Question: {question}
  {sentences}
  Question: {question}
  {order}
numbers: behind
"""
PROMPT: str = yaml.safe_load(SYSTEM)["prompt"]
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"  # of a chat: the prompt alone
PADDING, END = "<pad>", "<end>"
# Distracting articles; CUT leaves of each needed article the needed sentences and one more.
CUT: Literal[-1] = -1
ALL_DISTRACTORS = 1_000
STAGES = (CUT, 0, 2, 4, ALL_DISTRACTORS)
LEARNED_LOSS = 0.25  # nats a token of the present stage's text, from which the next stage begins
OF_EARLIER = 0.3  # share of batches of the stages before
WEIGHTS = {"rationale": 1.0, "facts": 4.0, "type": 4.0, "answer": 4.0}
OF_FORM = 0.5  # weight of what stands around the values
HIDDEN, LAYERS, HEADS, POSITIONS = 128, 6, 4, 4_096


@options_of_command
class Recipe:
    """Everything but the data that the weights depend on.

    Attributes:
        steps: Batches in all.
        tokens: Tokens of a batch, padding included.
        rate: Learning rate of embeddings and norms; matrices have five times as much.
        warm_up: Steps of rising learning rate.
        clip: Largest norm of the gradient.
        check_every: Steps between evaluations on dev.
        pieces: Tokens of the vocabulary.
        seed: Seed of weights and order.
    """

    steps: Count = 12_000
    tokens: Annotated[Count, Parameter(name="--batch-tokens")] = 6_000
    rate: LearningRate = 4e-3
    warm_up: Annotated[int, NOT_AN_OPTION] = 50
    clip: Annotated[float, NOT_AN_OPTION] = 1.0
    check_every: Count = 250
    pieces: Annotated[Count, Parameter(name="--vocabulary-size")] = 3_000
    seed: Whole = 1


class Piece(NamedTuple):
    """A part of a text, and how much its tokens count in the loss."""

    text: str
    weight: float


def cut(gold: GoldExample, stage: int, rng: np.random.Generator) -> GoldExample:
    """Return an example with fewer articles, in random order.

    Args:
        gold: All its articles.
        stage: Distracting articles to keep, or CUT.
        rng: Chooses and orders.
    """
    needed = set(gold.supporting_facts)
    titles = {title for title, _ in needed}
    others = [number for number, (title, _) in enumerate(gold.context) if title not in titles]
    kept = set(rng.permutation(others)[: max(0, stage)].tolist())
    context: Context = []
    new_number: dict[Fact, Fact] = {}
    for number in rng.permutation(len(gold.context)).tolist():
        title, sentences = gold.context[number]
        if title not in titles and number not in kept:
            continue
        chosen = list(range(len(sentences)))
        if stage == CUT:
            rest = [index for index in chosen if (title, index) not in needed]
            spared = set(rng.permutation(rest)[:1].tolist())
            chosen = [index for index in chosen if (title, index) in needed or index in spared]
        new_number |= {(title, old): (title, new) for new, old in enumerate(chosen)}
        context.append((title, [sentences[index] for index in chosen]))
    facts = [new_number[fact] for fact in gold.supporting_facts if fact in new_number]
    return gold.model_copy(update={"context": context, "supporting_facts": facts})


def write_example(gold: GoldExample, order: Order) -> tuple[str, list[Piece]]:
    """Return the prompt of an example, and what the model should write."""
    texts = dict(gold.context)
    numbers = {fact: number for number, fact in enumerate(number_sentences(gold.context).facts, start=1)}
    quotes = (
        f"{texts[title][index].strip()} [{numbers[title, index]}]" for title, index in gold.supporting_facts
    )
    values = {
        "rationale": " ".join(quotes),
        "facts": ", ".join(str(numbers[fact]) for fact in gold.supporting_facts),
        "type": gold.answer if gold.answer in ("yes", "no") else "span",
        "answer": gold.answer,
    }
    pieces = []
    before = "{"
    for name in FIELDS[order]:
        opening, closing = ("[", "]") if name == "facts" else ('"', '"')
        pieces.append(Piece(f"{before}{json.dumps(name)}: {opening}", OF_FORM))
        pieces.append(Piece(json.dumps(values[name], ensure_ascii=False)[1:-1], WEIGHTS[name]))
        before = f"{closing}, "
    pieces.append(Piece(f"{closing}}}{END}", OF_FORM))
    item = QAItem.model_construct(question=gold.question, context=gold.context, labels=[])
    return build_prompt(PROMPT, item, order, "behind"), pieces


def create_tokenizer(texts: Sequence[str], pieces: int) -> PreTrainedTokenizerFast:
    """Return a byte-level tokenizer with a token for each digit."""
    learned = Tokenizer(models.BPE())
    splits = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    learned.pre_tokenizer = pre_tokenizers.Sequence(splits)
    learned.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learned.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=pieces, special_tokens=[PADDING, END], initial_alphabet=alphabet, show_progress=False
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=learned, pad_token=PADDING, eos_token=END, chat_template=TEMPLATE
    )


def create_model(tokenizer: PreTrainedTokenizerBase) -> Lfm2ForCausalLM:
    """Return an untrained model: short convolutions and attention in turns."""
    return Lfm2ForCausalLM(
        Lfm2Config(
            vocab_size=len(tokenizer),
            hidden_size=HIDDEN,
            intermediate_size=3 * HIDDEN,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS,
            layer_types=["conv", "full_attention"] * (LAYERS // 2),
            max_position_embeddings=POSITIONS,
            block_auto_adjust_ff_dim=False,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.eos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        )
    )


class Batch(NamedTuple):
    """Texts of one stage, padded at the end.

    Attributes:
        tokens: [texts, length].
        weights: Weight of each token in the loss, [texts, length].
        mask: 1 where there is a token, [texts, length].
    """

    tokens: Tensor
    weights: Tensor
    mask: Tensor


class Batches(torch.utils.data.Dataset[Batch]):
    """The batches of a stage, by step.

    Each follows from the seed, the step and the stage alone.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        examples: Sequence[GoldExample],
        recipe: Recipe,
        stage: int,
        steps: range,
    ) -> None:
        self.tokenizer, self.examples, self.recipe = tokenizer, examples, recipe
        self.stage, self.steps = stage, steps

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self.steps)

    def __getitem__(self, index: int) -> Batch:
        """Return the batch of a step."""
        rng = np.random.default_rng([self.recipe.seed, self.steps[index]])
        stage = self.stage
        if stage and rng.random() < OF_EARLIER:
            stage = int(rng.integers(stage))
        texts = list[tuple[list[int], list[float]]]()
        longest = 0
        while True:
            gold = self.examples[int(rng.integers(len(self.examples)))]
            order = ORDERS[int(rng.random() < 0.4)]
            text = encode(self.tokenizer, cut(gold, STAGES[stage], rng), order)
            longest = max(longest, len(text[0]))
            if texts and longest * (len(texts) + 1) > self.recipe.tokens:
                return pad_texts(texts)
            texts.append(text)


def encode(
    tokenizer: PreTrainedTokenizerBase, gold: GoldExample, order: Order
) -> tuple[list[int], list[float]]:
    """Return tokens and weights of a text."""
    prompt, pieces = write_example(gold, order)
    parts = tokenizer([prompt, *(piece.text for piece in pieces)], add_special_tokens=False)["input_ids"]
    weights = [0.0, *(piece.weight for piece in pieces)]
    return (
        [token for part in parts for token in part],
        [weight for part, weight in zip(parts, weights, strict=True) for _ in part],
    )


def pad_texts(texts: Sequence[tuple[list[int], list[float]]]) -> Batch:
    """Return texts as one batch."""
    shape = len(texts), max(len(tokens) for tokens, _ in texts)
    batch = Batch(
        torch.zeros(shape, dtype=torch.long), torch.zeros(shape), torch.zeros(shape, dtype=torch.long)
    )
    for row, (tokens, weights) in enumerate(texts):
        batch.tokens[row, : len(tokens)] = torch.tensor(tokens)
        batch.weights[row, : len(tokens)] = torch.tensor(weights)
        batch.mask[row, : len(tokens)] = 1
    return batch


class Staged(nn.Module):
    """A model and the stage of its curriculum, for one checkpoint."""

    stage: Tensor

    def __init__(self, model: Lfm2ForCausalLM) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("stage", torch.zeros((), dtype=torch.long))


class LanguageTrainer(loop.Trainer[GoldExample]):
    """A causal language model in training.

    Args:
        model: Untrained.
        tokenizer: The model's.
        recipe: Schedule and seed.
        examples: At least one.
        workers: Processes that make batches; 0 makes them here.
    """

    title, selection = "world-lm", "score"
    model: Staged

    def __init__(
        self,
        model: Lfm2ForCausalLM,
        tokenizer: PreTrainedTokenizerBase,
        recipe: Recipe,
        examples: Sequence[GoldExample],
        workers: int = 0,
    ) -> None:
        self.model, self.tokenizer, self.recipe, self.examples = Staged(model), tokenizer, recipe, examples
        self.workers = workers
        self.steps, self.total_steps, self.check_every = 0, recipe.steps, recipe.check_every
        hidden = {
            name
            for name, parameter in model.named_parameters()
            if parameter.ndim == 2 and "embed" not in name
        }
        self.optimiser = Muon(
            [parameter for name, parameter in model.named_parameters() if name in hidden],
            [parameter for name, parameter in model.named_parameters() if name not in hidden],
            matrix_rate=5 * recipe.rate,
            rate=recipe.rate,
        )
        self._batches: Iterator[Batch] = iter(())

    @property
    def stage(self) -> int:
        """Return the stage of the curriculum, counted from 0."""
        return int(self.model.stage)

    def step(self) -> float:
        """Learn from one batch and return its loss."""
        batch = next(self._batches, None) or self._make_batches()
        self.model.train()
        pace = compute_cosine_pace(self.steps, self.recipe.warm_up, self.recipe.steps)
        loss, _ = self._loss(batch)
        self.steps += 1
        return self.descend(loss, clip=self.recipe.clip, pace=pace)

    def evaluate(self, dev: Sequence[GoldExample]) -> loop.Row:
        """Return scores on dev; go to the next stage once this one is learned.

        ``loss_of_stage`` is that of the present stage's texts in nats a token, ``score`` the share of the
        tokens of values that are the likeliest, in whole contexts.
        """
        self.model.eval()
        with torch.inference_mode():
            of_stage, _ = self._evaluate_on_dev(dev, self.stage)
            whole, right = self._evaluate_on_dev(dev, len(STAGES) - 1)
        row: loop.Row = {
            "stage": float(self.stage),
            "loss_of_stage": of_stage,
            "dev_loss": whole,
            "score": right,
        }
        if of_stage < LEARNED_LOSS and self.stage < len(STAGES) - 1:
            self.model.stage += 1
        self._batches = iter(())
        return row

    def settings(self) -> dict[str, Any]:
        """Return the recipe and a digest of the data."""
        digest = hashlib.sha256("".join(gold.id for gold in self.examples).encode()).hexdigest()
        return asdict(self.recipe) | {"data": digest}

    def save(self, folder: Path) -> None:
        """Write model and tokenizer, 16 bits a weight, and the file of the system."""
        halved = copy.deepcopy(self.model.model).half()
        encoders.save(folder, halved, self.tokenizer, {SYSTEM_FILE: SYSTEM})

    def _make_batches(self) -> Batch:
        """Make the batches up to the next check; return the first."""
        until = min(self.total_steps, (self.steps // self.check_every + 1) * self.check_every)
        steps = range(self.steps, until)
        batches = Batches(self.tokenizer, self.examples, self.recipe, self.stage, steps)
        self._batches = iter(torch.utils.data.DataLoader(batches, batch_size=None, num_workers=self.workers))
        return next(self._batches)

    def _evaluate_on_dev(self, dev: Sequence[GoldExample], stage: int) -> tuple[float, float]:
        """Return loss in nats a token, and share of right tokens among values."""
        rng = np.random.default_rng(self.recipe.seed)
        texts = [
            encode(self.tokenizer, cut(gold, STAGES[stage], rng), ORDERS[n % 2]) for n, gold in enumerate(dev)
        ]
        texts.sort(key=lambda text: len(text[0]))
        size = max(1, self.recipe.tokens // len(texts[-1][0]))
        sums = torch.zeros(4, dtype=torch.float64)
        for start in range(0, len(texts), size):
            batch = pad_texts(texts[start : start + size])
            _, (nats, right, weights) = self._loss(batch)
            values = weights != OF_FORM
            sums += torch.tensor([nats.sum(), len(nats), (right & values).sum(), values.sum()])
        return float(sums[0] / sums[1]), float(sums[2] / sums[3])

    def _loss(self, batch: Batch) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Return the weighted loss, and three figures of each written token.

        They are its loss in nats, whether it is the likeliest, and its weight, [written].
        """
        network = self.model.model
        device = network.device
        tokens, weights, mask = (part.to(device, non_blocking=True) for part in batch)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            states = network.model(input_ids=tokens, attention_mask=mask).last_hidden_state[:, :-1]
            chosen = weights[:, 1:] > 0
            logits = network.lm_head(states[chosen])
        wanted, weight = tokens[:, 1:][chosen], weights[:, 1:][chosen]
        nats = cross_entropy(logits.float(), wanted, reduction="none")
        return (nats * weight).sum() / weight.sum(), (nats.detach(), logits.argmax(-1) == wanted, weight)


@options_of_command
class LanguageOptions(Data, Compute, Recipe, Output):
    """Everything that training ``world-lm`` takes.

    Attributes:
        workers: Processes that make batches; 0 makes them in this one.
    """

    train: TrainCount = 20_000
    dev: DevCount = 200
    workers: Whole = 0
    threads: Count = 2


def world_lm(*, options: LanguageOptions) -> None:
    """Train a small causal language model that cites what it answers from."""
    require_free(options.out, **options.start)
    device = options.apply()

    def generate_examples(split: Any, count: int, seed: int) -> list[GoldExample]:
        return parse_gold(generate(split, count, seed), "world")

    examples, dev = options.open_examples(read_gold, generate_examples)
    trainer = create_trainer(examples, extract_options(options, Recipe), device, options.workers)
    train_with_progress(trainer, dev, options.out, **options.start)


def create_trainer(
    examples: Sequence[GoldExample], recipe: Recipe, device: torch.device, workers: int = 0
) -> LanguageTrainer:
    """Return an untrained model about to learn."""
    torch.manual_seed(recipe.seed)
    texts = []
    for number, gold in enumerate(examples[:1_500]):
        prompt, pieces = write_example(gold, ORDERS[number % 2])
        texts.append(prompt + "".join(piece.text for piece in pieces).removesuffix(END))
    tokenizer = create_tokenizer(texts, recipe.pieces)
    model = create_model(tokenizer)
    model.to(device)  # type: ignore[arg-type]  # transformers wraps the method without its type
    return LanguageTrainer(model, tokenizer, recipe, examples, workers)
