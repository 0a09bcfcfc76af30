"""The table of visual-nmn's variants: accuracy and faithfulness.

Source: Subramanian et al. 2020, Table 1. All variants are trained alike but
for what their names say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import torch
from cyclopts import Parameter

from analysis.io.command_line import BadUsage
from modelserver.modular.visual import folder
from modelserver.modular.visual.counting import CountKind
from modelserver.modular.visual.network import Config
from modelserver.modular.visual.scoring import compute_scores
from modelserver.training.loop import Row
from modelserver.training.options import options_of_command
from modelserver.training.tables import Table, format_cell, format_markdown
from modelserver.training.visual_nmn.command import (
    UNSUPERVISED,
    Scenes,
    ScoredOptions,
    require_lxmert,
    train_one,
)
from modelserver.training.visual_nmn.trainer import can_supervise
from modelserver.wire.errors import UnreadableData

VariantName = Literal[
    "lxmert",
    "layer",
    "sum",
    "graph",
    "graph-decont",
    "graph-pretraining",
    "graph-decont-pretraining",
    "layer-decont",
    "sum-decont",
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


def _make_config(count: CountKind, decontextualised: bool = False) -> Config:
    return Config("visual-nmn", count, decontextualised)


VARIANTS: dict[VariantName, Variant] = {
    "lxmert": Variant("LXMERT", Config("lxmert")),
    "layer": Variant("NMN with Layer-count", _make_config("layer")),
    "sum": Variant("NMN with Sum-count", _make_config("sum")),
    "graph": Variant("NMN with Graph-count", _make_config("graph")),
    "graph-decont": Variant("… + decontextualised", _make_config("graph", True)),
    "graph-pretraining": Variant("… + pretraining", _make_config("graph"), True),
    "graph-decont-pretraining": Variant("… + both", _make_config("graph", True), True),
    # Not in the paper: small new networks learn little from whole sentences.
    "layer-decont": Variant("NMN with Layer-count + decontextualised", _make_config("layer", True)),
    "sum-decont": Variant("NMN with Sum-count + decontextualised", _make_config("sum", True)),
    "layer-decont-pretraining": Variant("NMN with Layer-count + both", _make_config("layer", True), True),
    "sum-decont-pretraining": Variant("NMN with Sum-count + both", _make_config("sum", True), True),
}


@options_of_command
class TableOptions(ScoredOptions):
    """Everything that the table takes.

    Attributes:
        variants: Variants to train; all by default.
    """

    variants: Annotated[tuple[VariantName, ...], Parameter(consume_multiple=True)] = get_args(VariantName)


def visual_table(*, options: TableOptions) -> None:
    """Train and score the variants of visual-nmn.

    Each variant and seed has a folder of its own below --out.
    """
    keys: list[tuple[VariantName]] = [(name,) for name in options.variants]
    table = Table(options, keys)
    if "lxmert" in options.variants:
        require_lxmert(options)
    scenes = options.open_scenes(options.test_file)
    if not scenes.test:
        raise BadUsage(f"{options.train_file}: name items to score on with --test-file")
    require_pretraining(options.variants, scenes)

    def score(key: tuple[VariantName], seed: int, out: Path) -> dict[str, Any]:
        best, network = train_variant(key[0], scenes, options, seed, out)
        return {"step": best["step"], **compute_scores(network, scenes.test)}

    table.fill(score, format_table)


def require_pretraining(names: Iterable[VariantName], scenes: Scenes) -> None:
    """Raise UnreadableData if a pretrained variant would not be pretrained."""
    pretrained = [VARIANTS[name].title for name in names if VARIANTS[name].pretrained]
    if pretrained and not any(map(can_supervise, scenes.pretraining)):
        raise UnreadableData(
            f"{pretrained[0]}: {UNSUPERVISED}; name others with --pretraining-data, or other --variants"
        )


def train_variant(
    name: VariantName, scenes: Scenes, options: ScoredOptions, seed: int, out: Path
) -> tuple[Row, folder.Network]:
    """Return the best log row and weights of a variant; train if needed."""
    variant = VARIANTS[name]
    recipe = replace(options.recipe(pretrained=variant.pretrained), seed=seed)
    best = train_one(scenes, variant.config, recipe, options, out, **options.start)
    network, _, _ = folder.load(out, torch.device(options.device))
    return best, network


def format_table(table: dict[VariantName, dict[str, Any]]) -> str:
    """Return the table in Markdown: accuracy in per cent, shares, F1s.

    With several seeds each cell is a mean ± SD.
    """
    rows: list[list[str]] = []
    for name, scored in table.items():
        if "upper_bound" in scored and not any(row[0] == "upper bound" for row in rows):
            rows.append(["upper bound", "", *_format_cells({"faithfulness": scored["upper_bound"]})])
        rows.append(
            [VARIANTS[name].title, format_cell(scored, "accuracy", form=".1%"), *_format_cells(scored)]
        )
    return format_markdown(["", "accuracy", "P", "R", "F1", *MODULES], rows)


def _format_cells(scored: dict[str, Any]) -> list[str]:
    wanted = [("overall", part) for part in ("precision", "recall", "f1")]
    wanted += [(module, "f1") for module in MODULES]
    return [format_cell(scored, "faithfulness", *names) for names in wanted]
