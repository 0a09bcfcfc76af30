"""Score a network on scenes or items: accuracy and module faithfulness."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import torch
from cyclopts import Group, Parameter
from cyclopts.validators import mutually_exclusive

from analysis.faithfulness.examples import OutputExample
from analysis.io.command_line import BadUsage, always_json, only_with
from analysis.io.errors import describe_os_error
from modelserver.inputs.devices import Device
from modelserver.modular.visual import folder, scoring
from modelserver.modular.visual.baseline import Baseline
from modelserver.modular.visual.images import decode, propose
from modelserver.modular.visual.region_files import read_regions
from modelserver.modular.visual.scene_data import Example, read_items, read_scenes
from modelserver.wire.errors import UnreadableData
from modelserver.world.items import write_items
from modelserver.world.names import Split

_DATA = Group(validator=mutually_exclusive)
WITH_SCENES, WITH_DATA = only_with("--scenes"), only_with("--data")
SHIPPED = Path(__file__).resolve().parents[2] / "weights" / "visual-nmn"


@always_json
def evaluate_scenes(
    *,
    scenes: Annotated[Path | None, Parameter(group=(_DATA, WITH_SCENES))] = None,
    data: Annotated[Path | None, Parameter(name=("--data", "--test-file"), group=(_DATA, WITH_DATA))] = None,
    regions: Annotated[Path | None, Parameter(group=WITH_DATA)] = None,
    split: Annotated[Split, Parameter(group=WITH_SCENES)] = "test",
    weights: Path = SHIPPED,
    proposer: Annotated[bool, Parameter(group=WITH_SCENES)] = False,
    outputs: Path | None = None,
    device: Device = "cpu",
) -> None:
    """Score visual-nmn on scenes or items, and print the scores as JSON.

    Args:
        scenes: Folder of scenes with proposals.
        data: Items instead of scenes, one JSON object a line with a program and an answer. --test-file is
            the same option.
        regions: Region features of the items' images, in a form of visual-nmn.md.
        split: Split of the scenes.
        weights: Folder of weights; those shipped with visual-nmn by default.
        proposer: Propose regions from the pictures, as the server does.
        outputs: Write the modules' outputs, for `analysis faithfulness`.
        device: cpu, cuda, cuda:1 …
    """
    examples = _read_examples(scenes, data, regions, split, proposer=proposer)
    network, _, revision = folder.load(weights, torch.device(device))
    size = network.encoder.config.visual_feat_dim
    if (width := examples[0].regions[0].features.shape[1]) != size:
        raise UnreadableData(f"{data or scenes}: its regions have {width} features; {weights} reads {size}")
    if outputs:
        if isinstance(network, Baseline):
            raise BadUsage(f"--outputs: {weights} is an lxmert, which has no modules; leave --outputs out")
        _, module_outputs = scoring.compute_outputs(network, examples)
        write_items(outputs, (_format_output(output) for output in module_outputs))
    result = {"revision": revision, **scoring.compute_scores(network, examples)}
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


def _read_examples(
    scenes: Path | None, data: Path | None, regions: Path | None, split: Split, *, proposer: bool
) -> list[Example]:
    if scenes is not None:
        examples = read_scenes(scenes, split)
        if not examples:
            raise UnreadableData(f"{scenes}: its split {split} holds no scene; choose another with --split")
        return [_add_proposals(example) for example in examples] if proposer else examples
    if data is None:
        raise BadUsage("name what to score on: --scenes FOLDER, or --data ITEMS with --regions PATH")
    if regions is None:
        raise BadUsage(f"{data}: its images need region features; name them with --regions")
    return read_items(data, read_regions(regions))


def _add_proposals(example: Example) -> Example:
    try:
        pictures = [path.read_bytes() for path in example.pictures]
    except OSError as error:
        raise UnreadableData(f"{error.filename}: {describe_os_error(error)}") from error
    return replace(example, regions=tuple(propose(decode(data, example.id)) for data in pictures))


def _format_output(output: OutputExample) -> dict[str, Any]:
    return {
        "id": output.id,
        "proposals": [boxes.tolist() for boxes in output.proposals],
        "modules": [
            {"index": node.index, "module": node.module, "probabilities": _round_values(node.probabilities)}
            for node in output.modules
        ],
    }


def _round_values(values: Iterable[float]) -> list[float]:
    return [round(float(value), 6) for value in values]
