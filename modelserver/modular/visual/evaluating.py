"""Score a network on generated scenes: accuracy and module faithfulness."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from analysis.faithfulness.examples import OutputExample
from modelserver.modular.visual import folder, scoring
from modelserver.modular.visual.images import decode, propose
from modelserver.modular.visual.scene_data import Example, read_scenes
from modelserver.wire.errors import UnreadableData
from modelserver.world.items import write_items
from modelserver.world.names import Split

SHIPPED = Path(__file__).resolve().parents[2] / "weights" / "visual-nmn"


def evaluate_scenes(
    *,
    scenes: Path,
    split: Split = "test",
    weights: Path = SHIPPED,
    proposer: bool = False,
    outputs: Path | None = None,
) -> None:
    """Score visual-nmn on generated scenes, and print the scores as JSON.

    Args:
        scenes: Folder of scenes with proposals.
        split: Split of the scenes.
        weights: Folder of weights; those shipped with visual-nmn by default.
        proposer: Propose regions from the pictures, as the server does.
        outputs: Write the modules' outputs, for `analysis faithfulness`.
    """
    examples = read_scenes(scenes, split)
    if proposer:
        examples = [_proposed(each) for each in examples]
    network, _, revision = folder.load(weights, torch.device("cpu"))
    if outputs:
        _, module_outputs = scoring.outputs(network, examples)
        write_items(outputs, (_written(each) for each in module_outputs))
    result = {"revision": revision, **scoring.scores(network, examples)}
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


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
