"""Score a network on generated scenes: accuracy and module faithfulness."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from analysis.faithfulness.examples import OutputExample
from modelserver.modular.visual import folder
from modelserver.modular.visual.images import decode, propose
from modelserver.modular.visual.scene_data import Example, read_scenes
from modelserver.modular.visual.scoring import outputs, scores
from modelserver.wire.errors import UnreadableData
from modelserver.world.items import write_items


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add = parser.add_argument
    shipped = Path(__file__).resolve().parents[2] / "weights" / "visual-nmn"
    add("--scenes", type=Path, required=True, metavar="DIR", help="scenes with proposals")
    add("--split", choices=("train", "dev", "test"), default="test", help="(default: %(default)s)")
    add("--weights", type=Path, default=shipped, help="(default: the shipped ones of visual-nmn)")
    add("--proposer", action="store_true", help="take regions from the pictures, as the server does")
    add(
        "--outputs",
        type=Path,
        metavar="FILE",
        help="write the outputs of the modules, for `analysis faithfulness`",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Print the scores as JSON; the exit status is 0."""
    examples = read_scenes(options.scenes, options.split)
    if options.proposer:
        examples = [_proposed(each) for each in examples]
    network, _, revision = folder.load(options.weights, torch.device("cpu"))
    if options.outputs:
        _, predicted = outputs(network, examples)
        write_items(options.outputs, (_written(each) for each in predicted))
    sys.stdout.write(json.dumps({"revision": revision, **scores(network, examples)}, indent=2) + "\n")
    return 0


def _proposed(example: Example) -> Example:
    try:
        pictures = [path.read_bytes() for path in example.pictures]
    except OSError as error:
        raise UnreadableData(f"{error.filename}: {error.strerror}") from error
    return replace(example, regions=tuple(propose(decode(data, example.id)) for data in pictures))


def _written(output: OutputExample) -> dict[str, Any]:
    return {
        "id": output.id,
        "proposals": [boxes.tolist() for boxes in output.proposals],
        "modules": [
            {"index": node.index, "module": node.module, "probabilities": _rounded(node.probabilities)}
            for node in output.modules
        ],
    }


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 6) for value in values]
