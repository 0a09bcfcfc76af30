"""The table of visual-nmn's variants: accuracy and faithfulness on scenes.

Source: Subramanian et al. 2020, Table 1. All variants are trained alike but
for what their names say.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import torch
from cyclopts import Parameter

from modelserver.modular.visual import folder
from modelserver.modular.visual.counting import CountKind
from modelserver.modular.visual.network import Config
from modelserver.modular.visual.scoring import scores
from modelserver.training.loop import Row
from modelserver.training.options import Folder, options_of_command
from modelserver.training.tables import markdown, write_json
from modelserver.training.visual_nmn.command import MOST, SceneOptions, Scenes, train_one

VariantName = Literal[
    "lxmert",
    "layer",
    "sum",
    "graph",
    "graph-decont",
    "graph-pretraining",
    "graph-decont-pretraining",
    "layer-decont-pretraining",
    "sum-decont-pretraining",
]
MODULES = ("find", "filter", "with-relation", "project")


@dataclass(frozen=True)
class Variant:
    """A row of the table."""

    title: str
    config: Config
    pretrained: bool = False


def _nmn(count: CountKind, decontextualised: bool = False) -> Config:
    return Config("visual-nmn", count, decontextualised, "best", MOST)


VARIANTS: dict[VariantName, Variant] = {
    "lxmert": Variant("LXMERT", Config("lxmert")),
    "layer": Variant("NMN with Layer-count", _nmn("layer")),
    "sum": Variant("NMN with Sum-count", _nmn("sum")),
    "graph": Variant("NMN with Graph-count", _nmn("graph")),
    "graph-decont": Variant("… + decontextualised", _nmn("graph", True)),
    "graph-pretraining": Variant("… + pretraining", _nmn("graph"), True),
    "graph-decont-pretraining": Variant("… + both", _nmn("graph", True), True),
    # Not in the paper: small new networks learn little without both.
    "layer-decont-pretraining": Variant("NMN with Layer-count + both", _nmn("layer", True), True),
    "sum-decont-pretraining": Variant("NMN with Sum-count + both", _nmn("sum", True), True),
}


@options_of_command
class TableOptions(SceneOptions, Folder):
    """Everything that the table takes.

    Attributes:
        out: Folder for table.json and a folder of each variant.
        variants: Variants to train; all by default.
    """

    variants: Annotated[tuple[VariantName, ...], Parameter(consume_multiple=True)] = get_args(VariantName)


def visual_table(*, options: TableOptions) -> None:
    """Train and score the variants of visual-nmn on generated scenes.

    Each variant has a folder of its own below --out. A finished variant is
    not trained again, and an interrupted one continues.
    """
    scenes = options.open_scenes()
    table: dict[VariantName, dict[str, Any]] = {}
    for name in options.variants:
        best, network = train_variant(name, scenes, options, options.out / name)
        table[name] = {"step": best["step"], **scores(network, scenes.test)}
        write_json(options.out / "table.json", table)
    sys.stdout.write(written(table))


def train_variant(
    name: VariantName, scenes: Scenes, options: SceneOptions, out: Path
) -> tuple[Row, folder.Network]:
    """Return the best log row and weights of a variant; train if needed."""
    variant = VARIANTS[name]
    best = train_one(
        scenes, variant.config, options.recipe(pretrained=variant.pretrained), options, out, resume=True
    )
    network, _, _ = folder.load(out, torch.device("cpu"))
    return best, network


def written(table: dict[VariantName, dict[str, Any]]) -> str:
    """Return the table in Markdown: accuracy in per cent, shares, F1s."""
    columns = ["", "accuracy", "P", "R", "F1", *MODULES]
    rows = [columns, ["---", *["--:"] * (len(columns) - 1)]]
    for name, scored in table.items():
        if "upper_bound" in scored and not any(row[0] == "upper bound" for row in rows):
            rows.append(["upper bound", "", *_cells(scored["upper_bound"])])
        rows.append([VARIANTS[name].title, f"{scored['accuracy']:.1%}", *_cells(scored.get("faithfulness"))])
    return markdown(rows)


def _cells(scored: dict[str, dict[str, float]] | None) -> list[str]:
    if scored is None:
        return [""] * (3 + len(MODULES))
    overall = scored["overall"]
    values = [overall["precision"], overall["recall"], overall["f1"]]
    return [f"{value:.2f}" for value in values] + [
        f"{scored[module]['f1']:.2f}" if module in scored else "" for module in MODULES
    ]
