"""The table of answer types: how well they are predicted from questions.

Source: Ray Choudhury et al. 2022, Table 7. Means over seeds, and their
standard deviations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch

from modelserver.systems.heuristic import Choice
from modelserver.training.heuristic import (
    Recipe,
    Trainer,
    TypesOptions,
    generate_labelled,
    read_labelled,
)
from modelserver.training.loop import train
from modelserver.training.options import (
    TestCount,
    TestFile,
    TrainCount,
    TrainFile,
    extract_options,
    options_of_command,
)
from modelserver.training.tables import Table, TableOptions, format_cell, format_markdown

Row = Literal["encoder", "words", "words-weighted"]
TITLES: dict[Row, str] = {
    "encoder": "encoder",
    "words": "convolution over words",
    "words-weighted": "… rare types weighted",
}


@options_of_command
class TypesTableOptions(TypesOptions, TableOptions):
    """Everything that the table takes.

    Attributes:
        train: Number of generated training examples.
        test: Number of generated test examples.
        world_seed: Seed of the generated examples.
        train_file: Train on this file instead of generated examples.
        test_file: Score on this file instead of generated examples.
    """

    train: TrainCount = 4000
    test: TestCount = 400
    world_seed: int = 1
    train_file: TrainFile | None = None
    test_file: TestFile | None = None


def types_table(*, options: TypesTableOptions) -> None:
    """Train and score the predictors of answer types.

    An encoder, a convolution over words, and one whose loss weighs rare types
    up. Each is trained for the given passes and scored on the test questions.
    """
    keys: list[tuple[Row]] = [(row,) for row in TITLES]
    table = Table(options, keys)
    encoder = options.find_encoder()
    options.apply()
    n, seed = options.train, options.world_seed
    file = options.train_file
    learned = read_labelled(file) if file else generate_labelled("train", n, seed)
    file = options.test_file
    test = read_labelled(file) if file else generate_labelled("test", options.test, seed)

    def score(key: tuple[Row], seed: int, out: Path) -> dict[str, float | None]:
        epochs = {"word_epochs": 0} if key == ("encoder",) else {"encoder_epochs": 0}
        recipe = extract_options(options, Recipe, seed=seed, weighted=key == ("words-weighted",), **epochs)
        torch.manual_seed(seed)
        trainer = Trainer(Choice(predictor="encoder"), recipe, learned, encoder)
        last = train(trainer, test, out, **options.start)  # the test set chooses nothing
        return {"n": len(test), "accuracy": last["accuracy"], "macro_f1": last["macro_f1"]}

    table.fill(score, format_table)


def format_table(table: dict[Row, dict[str, Any]]) -> str:
    """Return the table in Markdown; with several seeds, mean ± SD."""
    rows = []
    for name, title in TITLES.items():
        shares = [format_cell(table[name], part, form=".1%") for part in ("accuracy", "macro_f1")]
        rows.append([title, str(table[name]["n"]), *shares])
    return format_markdown(["types by", "n", "accuracy", "macro F1"], rows)
