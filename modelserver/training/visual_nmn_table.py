"""Accuracy and faithfulness of variants of `visual-nmn` on generated scenes, shaped like a table of a paper.

Source: Subramanian et al. 2020, Table 1. Every variant is trained alike, but for what it is named for, in a
folder of its own; what has ended is not trained again, and what was killed goes on from its last check.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from modelserver.modular.visual import folder
from modelserver.modular.visual.network import Config
from modelserver.modular.visual.scoring import scores
from modelserver.training.visual_nmn_command import (
    MOST,
    data_arguments,
    open_scenes,
    recipe_of,
    sizes_of,
    train_one,
)
from modelserver.world.items import whole

MODULES = ("find", "filter", "with-relation", "project")


@dataclass(frozen=True)
class Variant:
    """A row of the table."""

    title: str
    config: Config
    pretrained: bool = False


def _nmn(count: Any, decontextualised: bool = False) -> Config:
    return Config("visual-nmn", count, decontextualised, "best", MOST)


VARIANTS: dict[str, Variant] = {
    "lxmert": Variant("LXMERT", Config("lxmert")),
    "layer": Variant("NMN with Layer-count", _nmn("layer")),
    "sum": Variant("NMN with Sum-count", _nmn("sum")),
    "graph": Variant("NMN with Graph-count", _nmn("graph")),
    "graph-decont": Variant("… + decontextualised", _nmn("graph", True)),
    "graph-pretraining": Variant("… + pretraining", _nmn("graph"), True),
    "graph-decont-pretraining": Variant("… + both", _nmn("graph", True), True),
    # Not in the paper: small networks that start from nothing learn little without both.
    "layer-decont-pretraining": Variant("NMN with Layer-count + both", _nmn("layer", True), True),
    "sum-decont-pretraining": Variant("NMN with Sum-count + both", _nmn("sum", True), True),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder for each variant")
    parser.add_argument(
        "--variants",
        nargs="+",
        choices=VARIANTS,
        default=list(VARIANTS),
        metavar="NAME",
        help=f"of {', '.join(VARIANTS)} (default: all)",
    )
    data_arguments(parser)
    parser.set_defaults(command=run, resume=True)


def run(options: argparse.Namespace) -> int:
    """Train what is not trained yet, score on the test scenes, and print the table; the exit status is 0."""
    torch.set_num_threads(options.threads)
    scenes = open_scenes(options.scenes, sizes_of(options))
    found: dict[str, Any] = {}
    for name in options.variants:
        variant = VARIANTS[name]
        recipe = recipe_of(options)
        if not variant.pretrained:
            recipe = replace(recipe, pretraining=0)
        best = train_one(scenes, variant.config, recipe, options, options.out / name)
        network, _, _ = folder.load(options.out / name, torch.device("cpu"))
        found[name] = {"step": best["step"], **scores(network, scenes.test)}
        with whole(options.out / "table.json") as partial:
            partial.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(written(found))
    return 0


def written(found: dict[str, Any]) -> str:
    """Return the table in Markdown: accuracy in per cent, the rest as shares, F1 for each module."""
    columns = ["", "accuracy", "P", "R", "F1", *MODULES]
    rows = [columns, ["---", *["--:"] * (len(columns) - 1)]]
    for name, scored in found.items():
        if "upper_bound" in scored and not any(row[0] == "upper bound" for row in rows):
            rows.append(["upper bound", "", *_cells(scored["upper_bound"])])
        rows.append([VARIANTS[name].title, f"{scored['accuracy']:.1%}", *_cells(scored.get("faithfulness"))])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cells(scored: dict[str, dict[str, float]] | None) -> list[str]:
    if scored is None:
        return [""] * (3 + len(MODULES))
    overall = scored["overall"]
    values = [overall["precision"], overall["recall"], overall["f1"]]
    return [f"{value:.2f}" for value in values] + [
        f"{scored[module]['f1']:.2f}" if module in scored else "" for module in MODULES
    ]
