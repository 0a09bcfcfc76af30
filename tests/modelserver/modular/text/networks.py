"""Items, states and tiny untrained networks for the tests of `text-nmn`."""

import numpy as np
import torch

from modelserver.inputs.encoders import create_encoder, extract_encoder
from modelserver.modular.text.examples import parse_examples
from modelserver.modular.text.modules import Modules
from modelserver.modular.text.network import Config, Network
from modelserver.modular.text.quantities import Quantity
from modelserver.modular.text.reading import Quantities, TextFeatures
from modelserver.modular.text.states import Attention, Mentions
from modelserver.modular.text.system import TextSystem
from modelserver.systems.contextual import Encoder
from modelserver.wire.schema import ModuleItem
from modelserver.world.games import generate
from modelserver.world.games.prose import tokenise

CPU = torch.device("cpu")
WIDTH = 16


def item(text, passage, *, program=None, id="a"):
    return ModuleItem(id=id, text=text, passage=passage, program=program, tokens=tokenise(passage))


def games(count, split="train", seed=3):
    return parse_examples(generate(split, count, seed), "games")


def encoder(seed=1, *, layers=1):
    torch.manual_seed(seed)
    texts = [text for example in games(20) for text in (example.item.text, example.item.passage)]
    model, tokenizer = create_encoder(texts, CPU, hidden=32, layers=layers, heads=2, pieces=600)
    return Encoder(extract_encoder(model, "new"), tokenizer)


def network(seed=1, **settings):
    return Network(encoder(seed), Config(width=WIDTH, **settings)).eval()


def system(model=None):
    return TextSystem(model or network(), name="text-nmn", description="untrained", revision="0" * 12)


def attention(words, *spans):
    """Return equal attention to all words of some spans."""
    weights = torch.zeros(words)
    for start, end in spans:
        weights[start:end] = 1
    return Attention(weights / weights.sum(), torch.ones(()))


def build_quantities(*quantities):
    """Return quantities given as (value, first word, beyond)."""
    return Quantities(
        tuple(Quantity(first, beyond, value) for value, first, beyond in quantities),
        tuple((first, beyond) for _, first, beyond in quantities),
    )


def mentions(words, quantities, *pairs):
    """Return mentions with equal probability of each pair.

    A pair is an event's first word and the number of a quantity.
    """
    joint = torch.zeros(words, len(quantities))
    for word, number in pairs:
        joint[word, number] = 1 / len(pairs)
    return Mentions(joint, quantities, torch.ones(()))


def text(words, *, numbers=(), dates=(), seed=0, question_words=3):
    """Return a passage of made-up words and vectors, after its modules."""
    torch.manual_seed(seed)
    modules = Modules(WIDTH).eval()
    passage = " ".join(f"w{n}" for n in range(words))
    question = " ".join(f"q{n}" for n in range(question_words))
    nothing = np.zeros(0, dtype=np.int64)
    reading = TextFeatures(
        item=item(question, passage),
        asked=tuple(tokenise(question)),
        encoded=None,
        question_first=nothing,
        first=nothing,
        same=np.zeros((question_words, words), dtype=bool),
        marked=(nothing, nothing),
        numbers=build_quantities(*numbers),
        dates=build_quantities(*dates),
    )
    return modules, modules.text(torch.randn(question_words, WIDTH), torch.randn(words, WIDTH), reading)
