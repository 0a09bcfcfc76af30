"""Train visual-nmn on NLVR: pictures of three panels, and their sentences.

Source of the data: Suhr et al. 2017. Its sentences have no programs. Their
programs here say that the first kind of thing that a sentence names exists
and fits the whole sentence, as in
`exist(filter[…](filter[yellow](find[square])))`, or with "no" that none does.
The gold boxes of `find` and the inner `filter` follow from the drawing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import torch

from analysis.programs.notation import format_module
from modelserver.inputs.data_files import read_records
from modelserver.inputs.devices import Device
from modelserver.modular.visual import folder
from modelserver.modular.visual.images import decode, propose
from modelserver.modular.visual.network import Config, Question, VisualNetwork
from modelserver.modular.visual.plans import plan_program
from modelserver.modular.visual.scene_data import Example
from modelserver.modular.visual.scoring import compute_scores
from modelserver.modular.visual.utterances import attend
from modelserver.training.loop import train
from modelserver.training.options import (
    BatchSize,
    Count,
    LearningRate,
    extract_options,
    options_of_command,
)
from modelserver.training.tables import Table, TableOptions, format_cell, format_markdown
from modelserver.training.visual_nmn.trainer import PretrainingSteps, Recipe, Trainer
from modelserver.wire.errors import UnreadableData

WIDTH, HEIGHT, STEP = 400, 100, 150  # pixels of a picture; from the left of a panel to that of the next
ORDERS = tuple(permutations(range(3)))  # picture k shows in each slot the panel ORDERS[k][slot]
COLOURS = {"yellow": "yellow", "black": "black", "blue": "#0099ff"}
SHAPES = {"square": "square", "block": "square", "circle": "circle", "triangle": "triangle"}
ANYTHING = ("item", "object", "shape")
_NOUN = re.compile(
    rf"\b(?:(?P<colour>{'|'.join(COLOURS)})\s+)?(?P<noun>(?:{'|'.join([*SHAPES, *ANYTHING])})s?)\b",
    re.IGNORECASE,
)
_NONE = re.compile(r"^\W*(?:there\s+)?(?:is|are)\s+no\b|^\W*no\b", re.IGNORECASE)
HELD_OUT = 3  # every third sentence, with all its pictures, is for testing


def read(path: Path, images: Path, *, prefix: str = "dev") -> list[Example]:
    """Read the first picture of every example that has one.

    Args:
        path: Examples, one JSON object a line.
        images: Holds the folders named by the examples' ``directory``.
        prefix: With which the pictures' names begin.

    Returns:
        Examples with regions of the built-in proposer.

    Raises:
        UnreadableData: A line is malformed, or there is no picture.
    """

    def parse(row: dict[str, Any]) -> Example | None:
        picture = images / str(row["directory"]) / f"{prefix}-{row['identifier']}-0.png"
        return _build_example(row, picture) if picture.exists() else None

    examples = [example for example in read_records(path, parse) if example is not None]
    if not examples:
        raise UnreadableData(f"{images}: not one picture of {path} is there")
    return examples


def _build_example(row: dict[str, Any], picture: Path) -> Example:
    sentence = " ".join(row["sentence"].split())
    colour, noun = find_colour_and_noun(sentence)
    laid_out = plan_program(build_program(sentence))
    figures = [
        (figure, slot) for slot, panel in enumerate(ORDERS[0]) for figure in row["structured_rep"][panel]
    ]
    shaped = [(figure, slot) for figure, slot in figures if _is(figure, None, noun)]
    layers = [shaped] if colour is None else [[pair for pair in shaped if _is(pair[0], colour, noun)], shaped]
    marked = [node.index for node in laid_out.program.nodes if node.module in ("find", "filter")][1:]
    return Example(
        id=row["identifier"],
        sentence=sentence,
        question=Question(laid_out, attend(laid_out, sentence)),
        label=str(row["label"]).lower() == "true",
        gold={node: (_scale_boxes(layer),) for node, layer in zip(marked, layers, strict=True)},
        regions=(propose(decode(picture.read_bytes(), "")),),
    )


def find_colour_and_noun(sentence: str) -> tuple[str | None, str]:
    """Return colour, if any, and noun of the first thing in a sentence."""
    match = _NOUN.search(sentence)
    if match is None:
        return None, ANYTHING[1]
    return match["colour"] and match["colour"].lower(), match["noun"].lower()


def build_program(sentence: str) -> str:
    """Return the program of a sentence.

    >>> build_program("There is no blue item.")
    'equal(count(filter[There is no blue item](filter[blue](find[item]))), 0)'
    """
    colour, noun = find_colour_and_noun(sentence)
    things = (
        format_module("find", noun)
        if colour is None
        else f"{format_module('filter', colour)}({format_module('find', noun)})"
    )
    fitting = f"{format_module('filter', sentence.rstrip('. '))}({things})"
    return f"equal(count({fitting}), 0)" if _NONE.search(sentence) else f"exist({fitting})"


def _is(figure: dict[str, Any], colour: str | None, noun: str) -> bool:
    shape = SHAPES.get(noun.removesuffix("s"))
    right = colour is None or figure["color"].lower() == COLOURS[colour]
    return right and (shape is None or figure["type"] == shape)


def _scale_boxes(things: Sequence[tuple[dict[str, Any], int]]) -> Any:
    edges = [
        (STEP * slot + t["x_loc"], t["y_loc"], STEP * slot + t["x_loc"] + t["size"], t["y_loc"] + t["size"])
        for t, slot in things
    ]
    scaled = np.array(edges, np.float32).reshape(-1, 4) / np.array([WIDTH, HEIGHT] * 2, np.float32)
    return scaled.astype(np.float32)


def split_examples(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Return training and test examples without a common sentence."""
    sentences = sorted({_normalise_sentence(example) for example in examples})
    held = set(sentences[::HELD_OUT])
    return [e for e in examples if _normalise_sentence(e) not in held], [
        e for e in examples if _normalise_sentence(e) in held
    ]


def _normalise_sentence(example: Example) -> str:
    return example.sentence.lower().strip(". ")


@options_of_command
class NlvrOptions(Recipe, TableOptions):
    """Everything that training on NLVR takes.

    Attributes:
        train_file: NLVR examples to train and test on, one JSON object a line.
        images: Folder of the examples' directories.
        picture_prefix: Beginning of the pictures' names, before a hyphen.
        weights: Folder of the weights to start from.
        pretraining: Steps with gold boxes.
        steps: Steps with labels alone.
        rate: Learning rate of all but the encoder.
        fine_rate: The same after the steps with gold boxes.
        encoder_rate: Learning rate of the encoder; that of the rest by default.
        seed: Seed of the order.
        device: cpu, cuda, cuda:1 …
    """

    train_file: Path = field(kw_only=True)
    images: Path = field(kw_only=True)
    picture_prefix: str = "dev"
    weights: Path = Path(__file__).resolve().parents[2] / "weights" / "visual-nmn"
    pretraining: PretrainingSteps = 100
    steps: Count = 100
    batch: BatchSize = 16
    rate: LearningRate = 1e-3
    device: Device = "cpu"


def visual_nlvr(*, options: NlvrOptions) -> None:
    """Train and score visual-nmn on NLVR.

    Scores the weights on held-out sentences, trains on the others, and scores
    again.
    """
    table = Table(options, [("trained",)])
    learn, test = split_examples(read(options.train_file, options.images, prefix=options.picture_prefix))
    device = torch.device(options.device)
    network, config, revision = _open_network(options.weights, device)
    before = compute_scores(network, test)

    def score(_key: tuple[str], seed: int, out: Path) -> dict[str, Any]:
        network, _, _ = _open_network(options.weights, device)
        torch.manual_seed(seed)
        recipe = extract_options(options, Recipe, seed=seed)
        trainer = Trainer(network, config, recipe, learn, learn, source={"weights": revision})
        # The best weights are chosen on the training examples: there is too little data for a third part.
        train(trainer, learn, out, **options.start)
        return compute_scores(_open_network(out, device)[0], test)

    true = float(np.mean([example.label for example in test]))
    table.fill(
        score, format_table, train=len(learn), test=len(test), majority=max(true, 1 - true), before=before
    )


def _open_network(weights: Path, device: torch.device) -> tuple[VisualNetwork, Config, str]:
    network, config, revision = folder.load(weights, device, "visual-nmn")
    assert isinstance(network, VisualNetwork)
    return network, config, revision


def format_table(table: dict[str, Any]) -> str:
    """Return the table in Markdown; with several seeds, mean ± SD."""
    rows = [["majority", format_cell(table, "majority", form=".1%"), "", "", ""]]
    for name, title in (("before", "weights"), ("trained", "trained")):
        f1 = [
            format_cell(table[name], "faithfulness", module, "f1") for module in ("overall", "find", "filter")
        ]
        rows.append([title, format_cell(table[name], "accuracy", form=".1%"), *f1])
    return format_markdown(["", "accuracy", "F1", "find", "filter"], rows)
