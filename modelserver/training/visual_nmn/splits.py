"""Generalisation of visual-nmn to programs unlike those of training.

Source: Subramanian et al. 2020, section 5.2. The splits are longer programs
than in training, more filters, and two modules that never occurred together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from cyclopts import Parameter

from modelserver.modular.visual import folder
from modelserver.modular.visual.scene_data import Example
from modelserver.modular.visual.scoring import compute_scores
from modelserver.training.options import Count, options_of_command
from modelserver.training.tables import Table, format_cell, format_markdown
from modelserver.training.visual_nmn.command import Scenes, ScoredOptions, require_lxmert
from modelserver.training.visual_nmn.table import (
    VARIANTS,
    VariantName,
    require_pretraining,
    train_variant,
)
from modelserver.wire.errors import UnreadableData

SplitName = Literal["length", "filters", "together"]
COMPARED: tuple[VariantName, ...] = ("layer", "sum", "graph-decont-pretraining")  # by the source
LONGEST = 7  # nodes of a program in training

Kind = Callable[[Sequence[str]], bool]

# For each split: programs to train on, and programs to test on, by their modules.
SPLITS: dict[SplitName, tuple[Kind, Kind]] = {
    "length": (lambda modules: len(modules) <= LONGEST, lambda modules: len(modules) > LONGEST),
    "filters": (lambda modules: modules.count("filter") <= 1, lambda modules: modules.count("filter") >= 2),
    "together": (
        lambda modules: not {"filter", "with-relation"} <= set(modules),
        lambda modules: {"filter", "with-relation"} <= set(modules),
    ),
}


def split_scenes(scenes: Scenes, name: SplitName, most: int) -> Scenes:
    """Return the scenes of a split.

    Test scenes come from all parts, and neither training nor pretraining
    has their programs.

    Args:
        scenes: To split.
        name: Of the split.
        most: Test scenes, at most.

    Raises:
        UnreadableData: A part would be empty.
    """
    taught, asked = SPLITS[name]
    parts = [
        [scene for scene in part if taught(scene.modules)]
        for part in (scenes.train, scenes.dev, scenes.pretraining)
    ]
    everything = [*scenes.test, *scenes.dev, *scenes.train]
    test = [scene for scene in everything if asked(scene.modules)][:most]
    if not parts[0] or not parts[1] or not test:
        raise UnreadableData(f"split {name}: there are too few scenes for all of its parts")
    return Scenes(train=parts[0], dev=parts[1], test=test, pretraining=parts[2])


@options_of_command
class SplitOptions(ScoredOptions):
    """Everything that the splits take.

    Attributes:
        out: Folder for splits.json, splits.md, and a folder of each split,
            variant and seed.
        test: Number of test statements, at most; with scenes also of those
            generated to test on.
        splits: Splits to train on; all by default.
        variants: Variants to train; by default those of the source.
    """

    test: Count = 400
    splits: Annotated[tuple[SplitName, ...], Parameter(consume_multiple=True)] = get_args(SplitName)
    variants: Annotated[tuple[VariantName, ...], Parameter(consume_multiple=True)] = COMPARED


def visual_splits(*, options: SplitOptions) -> None:
    """Train visual-nmn on some programs and test it on others.

    By default compares Layer-count, Sum-count, and Graph-count with
    decontextualised words and pretraining, as the source does.
    """
    keys = [(name, variant) for name in options.splits for variant in options.variants]
    table = Table(options, keys, "splits.json")
    if "lxmert" in options.variants:
        require_lxmert(options)
    scenes = options.open_scenes(options.test_file)
    parts = {name: split_scenes(scenes, name, options.test) for name in options.splits}
    for part in parts.values():
        require_pretraining(options.variants, part)

    def score(key: tuple[SplitName, VariantName], seed: int, out: Path) -> dict[str, Any]:
        part = parts[key[0]]
        _, network = train_variant(key[1], part, options, seed, out)
        seen, unseen = _score_briefly(network, part.dev), _score_briefly(network, part.test)
        return {"train": len(part.train), "seen": seen, "unseen": unseen}

    table.fill(score, format_table)


def _score_briefly(network: folder.Network, examples: Sequence[Example]) -> dict[str, float]:
    """Return n, accuracy and, with gold boxes, F1."""
    scored = compute_scores(network, examples)
    short = {"n": scored["n"], "accuracy": scored["accuracy"]}
    if "faithfulness" in scored:
        short["f1"] = scored["faithfulness"]["overall"]["f1"]
    return short


def format_table(table: dict[SplitName, dict[VariantName, Any]]) -> str:
    """Return the table in Markdown; with several seeds, mean ± SD."""
    rows = []
    for name, variants in table.items():
        for variant, scored in variants.items():
            title = VARIANTS[variant].title.replace("…", VARIANTS["graph"].title)
            parts = [
                shown
                for part in ("unseen", "seen")
                for shown in (
                    format_cell(scored, part, "accuracy", form=".1%"),
                    format_cell(scored, part, "f1"),
                )
            ]
            rows.append([name, title, str(scored["unseen"]["n"]), *parts])
    scores = ["accuracy", "faithfulness F1", "accuracy as in training", "F1 as in training"]
    return format_markdown(["split", "network", "n", *scores], rows, texts=2)
