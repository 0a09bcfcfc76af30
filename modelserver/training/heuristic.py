"""Train the answer types of `heuristic`: a convolution over words and an encoder, in minutes on one core.

The label of a question is the type of its answer's mention in a supporting fact; questions whose answer is no
mention there are left out (Ray Choudhury et al. 2022, appendix A.3).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from modelserver.inputs import encoders
from modelserver.inputs.answer_types import EncoderTypes, WordCNN, predict_types
from modelserver.inputs.features import Vocabulary
from modelserver.inputs.hotpot import GoldExample, parse_gold, read_gold
from modelserver.inputs.mentions import TYPES, MentionType, type_of
from modelserver.systems.heuristic import PREDICTORS, SELECTORS, Choice, save
from modelserver.wire.errors import UnreadableData
from modelserver.world import Split, generate

TRAIN, DEV, WORLD_SEED = 4000, 400, 1
RARE = 15  # words seen less often get no vector: names must not be learned by heart


@dataclass(frozen=True)
class Labelled:
    """A question and the type of its answer."""

    question: str
    type: MentionType


def labelled(examples: Iterable[GoldExample]) -> Iterator[Labelled]:
    """Yield the questions whose answer is a mention in one of their supporting facts."""
    for gold in examples:
        facts = set(gold.supporting_facts)
        texts = (
            text for title, sentences in gold.context for number, text in enumerate(sentences)
            if (title, number) in facts
        )  # fmt: skip
        types = (type_of(text, gold.answer) for text in texts)
        found = next((kind for kind in types if kind is not None), None)
        if found is not None:
            yield Labelled(gold.question, found)


def fit(
    model: WordCNN | EncoderTypes, examples: Sequence[Labelled], *, epochs: int, rate: float, seed: int
) -> None:
    """Train in place with cross-entropy and Adam, 32 questions a step; leaves eval mode on.

    Raises UnreadableData where there is no example.
    """
    if not examples:
        raise UnreadableData("training data: no answer is a name, a date or a number of a supporting fact")
    rng, optimiser = np.random.default_rng(seed), torch.optim.Adam(model.parameters(), lr=rate)
    model.train()
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(len(examples)), -(-len(examples) // 32)):
            chosen = [examples[place] for place in batch]
            wanted = torch.tensor([TYPES.index(one.type) for one in chosen])
            loss = cross_entropy(model([one.question for one in chosen]), wanted)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
    model.eval()


def accuracy(model: WordCNN | EncoderTypes, examples: Sequence[Labelled]) -> dict[str, float]:
    """Return accuracy and macro F1 over the types that occur among labels or predictions."""
    found = predict_types(model, [one.question for one in examples])
    wanted = [one.type for one in examples]
    scores = []
    for kind in set(found) | set(wanted):
        both = sum(a == b == kind for a, b in zip(found, wanted, strict=True))
        scores.append(2 * both / (found.count(kind) + wanted.count(kind)))
    right = sum(a == b for a, b in zip(found, wanted, strict=True))
    return {"accuracy": right / len(examples), "macro_f1": sum(scores) / len(scores)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``train heuristic``."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="folder for the weights")
    add("--train", type=Path, metavar="DATA.json", help="questions (default: the generated world)")
    add("--dev", type=Path, metavar="DATA.json", help="questions to score on (default: the same world)")
    add("--encoder", type=Path, metavar="FOLDER", help="encoder to start from (default: a new small one)")
    add("--selector", choices=SELECTORS, default="overlap", help="of sentences (default: %(default)s)")
    add("--predictor", choices=PREDICTORS, default="words", help="of types (default: %(default)s)")
    add("--word-epochs", type=int, default=5, help="(default: %(default)s)")
    add("--encoder-epochs", type=int, default=3, help="(default: %(default)s)")
    add("--encoder-rate", type=float, default=1e-3, help="1e-5 for a pre-trained one (default: %(default)s)")
    add("--seed", type=int, default=1, help="of weights and order (default: %(default)s)")
    add("--threads", type=int, default=1, help="CPU threads (default: %(default)s)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Train both predictors, write the folder and print their scores on dev; the exit status is 0."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    train, dev = (list(labelled(gold)) for gold in _data(options))
    if not train or not dev:
        raise UnreadableData("no answer is a name, a date or a number of a supporting fact")
    questions = [one.question for one in train]
    words_model = WordCNN(Vocabulary.build(questions, at_least=RARE))
    fit(words_model, train, epochs=options.word_epochs, rate=2e-3, seed=options.seed)
    encoder = _encoder(options, questions)
    fit(encoder, train, epochs=options.encoder_epochs, rate=options.encoder_rate, seed=options.seed)
    save(options.out, Choice(options.selector, options.predictor), words_model, encoder)
    scores = {"words": accuracy(words_model, dev), "encoder": accuracy(encoder, dev)}
    sys.stdout.write(json.dumps({"train": len(train), "dev": len(dev), **scores}, indent=2) + "\n")
    return 0


def _data(options: argparse.Namespace) -> Iterator[list[GoldExample]]:
    splits: tuple[tuple[Path | None, Split, int], ...] = (
        (options.train, "train", TRAIN),
        (options.dev, "dev", DEV),
    )
    for path, split, count in splits:
        yield read_gold(path) if path else parse_gold(generate(split, count, WORLD_SEED), "world")


def _encoder(options: argparse.Namespace, questions: Sequence[str]) -> EncoderTypes:
    cpu = torch.device("cpu")
    if options.encoder is None:
        model, tokenizer = encoders.new_encoder(questions, cpu, hidden=64, layers=2, heads=2, pieces=1500)
    else:
        model, tokenizer = encoders.open_encoder(options.encoder, cpu, trained=False)
    return EncoderTypes(encoders.without_head(model, options.encoder or "new encoder"), tokenizer)
