"""Do faithful networks generalise better? Training and test programs that differ in what they are made of.

Source: Subramanian et al. 2020, section 5.2: longer programs than were trained on, more filters, and two
modules that were never seen together. Compared are Layer-count, Sum-count, and Graph-count with
decontextualised words and pretraining.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from modelserver.modular.visual import folder
from modelserver.modular.visual.scene_data import Example
from modelserver.modular.visual.scoring import scores
from modelserver.training.visual_nmn_command import (
    Scenes,
    data_arguments,
    open_scenes,
    recipe_of,
    sizes_of,
    train_one,
)
from modelserver.training.visual_nmn_table import VARIANTS
from modelserver.wire.errors import UnreadableData
from modelserver.world.items import whole

COMPARED = ("layer", "sum", "graph-decont-pretraining")
LONGEST = 7  # nodes of a program in training

Kind = Callable[[Sequence[str]], bool]

# Of each split, which modules of a program make it one to train on, and which one to test on.
SPLITS: dict[str, tuple[Kind, Kind]] = {
    "length": (lambda modules: len(modules) <= LONGEST, lambda modules: len(modules) > LONGEST),
    "filters": (lambda modules: modules.count("filter") <= 1, lambda modules: modules.count("filter") >= 2),
    "together": (
        lambda modules: not {"filter", "with-relation"} <= set(modules),
        lambda modules: {"filter", "with-relation"} <= set(modules),
    ),
}


def divided(scenes: Scenes, name: str, most: int) -> Scenes:
    """Return the scenes of a split. Tested is on scenes of every part, none of which is trained on.

    Pretraining, too, is without the programs that are tested. Raises UnreadableData for an empty part.
    """
    taught, asked = SPLITS[name]
    parts = [
        [each for each in part if taught(each.modules)]
        for part in (scenes.train, scenes.dev, scenes.pretraining)
    ]
    everything = [*scenes.test, *scenes.dev, *scenes.train]
    test = [each for each in everything if asked(each.modules)][:most]
    if not all(parts) or not test:
        raise UnreadableData(f"split {name}: there are too few scenes for all of its parts")
    return Scenes(train=parts[0], dev=parts[1], test=test, pretraining=parts[2])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="a folder for each split and variant")
    for flag, known in (("--splits", list(SPLITS)), ("--variants", list(COMPARED))):
        text = f"of {', '.join(known)} (default: all)"
        add(flag, nargs="+", choices=known, default=known, metavar="NAME", help=text)
    data_arguments(parser)
    parser.set_defaults(command=run, resume=True)


def run(options: argparse.Namespace) -> int:
    """Train each variant on each split, score it on what it has not seen the like of; prints a table."""
    torch.set_num_threads(options.threads)
    scenes = open_scenes(options.scenes, sizes_of(options))
    found: dict[str, dict[str, Any]] = {}
    for name in options.splits:
        part = divided(scenes, name, options.test)
        found[name] = {}
        for variant in options.variants:
            out = options.out / name / variant
            recipe = recipe_of(options)
            if not VARIANTS[variant].pretrained:
                recipe = replace(recipe, pretraining=0)
            train_one(part, VARIANTS[variant].config, recipe, options, out)
            network, _, _ = folder.load(out, torch.device("cpu"))
            seen = _short(network, part.dev)
            found[name][variant] = {
                "train": len(part.train),
                "seen": seen,
                "unseen": _short(network, part.test),
            }
            with whole(options.out / "splits.json") as partial:
                partial.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(written(found))
    return 0


def _short(network: folder.Network, examples: Sequence[Example]) -> dict[str, float]:
    scored = scores(network, examples)
    return {"n": scored["n"], "accuracy": scored["accuracy"], "f1": scored["faithfulness"]["overall"]["f1"]}


def written(found: dict[str, dict[str, Any]]) -> str:
    """Return the table in Markdown."""
    rows = ["| split | network | n | accuracy | faithfulness F1 | accuracy on programs as in training |"]
    rows.append("| --- | --- | --: | --: | --: | --: |")
    for name, variants in found.items():
        for variant, scored in variants.items():
            unseen, seen = scored["unseen"], scored["seen"]
            cells = [
                name,
                VARIANTS[variant].title if variant in ("layer", "sum") else "NMN with Graph-count + both",
            ]
            cells += [
                str(unseen["n"]),
                f"{unseen['accuracy']:.1%}",
                f"{unseen['f1']:.2f}",
                f"{seen['accuracy']:.1%}",
            ]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"
