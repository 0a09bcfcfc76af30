"""The table of answer types: how well they are predicted from questions.

Source: Ray Choudhury et al. 2022, Table 7. Means over seeds, and their
standard deviations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch

from modelserver.systems.heuristic import Choice
from modelserver.training.heuristic import (
    UNTYPED,
    Labelled,
    Recipe,
    Trainer,
    TypesOptions,
    accuracy,
    open_encoder,
    read_labelled,
    require_encoder,
)
from modelserver.training.options import Count, Folder, options_of_command, part_of
from modelserver.training.tables import cell, markdown, over_seeds, write_json
from modelserver.wire.errors import UnreadableData

Row = Literal["encoder", "words", "words-weighted"]
TITLES: dict[Row, str] = {
    "encoder": "encoder",
    "words": "convolution over words",
    "words-weighted": "… rare types weighted",
}


@options_of_command
class TypesTableOptions(TypesOptions, Folder):
    """Everything that the table takes.

    Attributes:
        out: Folder for table.json.
        train: Number of generated training examples.
        test: Number of generated test examples.
        world_seed: Seed of the generated examples.
        train_file: Train on this file instead of generated examples.
        test_file: Score on this file instead of generated examples.
        seeds: Number of seeds, from --seed on; the table has mean and SD.
    """

    train: Count = 4000
    test: Count = 400
    world_seed: int = 1
    train_file: Path | None = None
    test_file: Path | None = None
    seeds: Count = 1


def types_table(*, options: TypesTableOptions) -> None:
    """Train and score the predictors of answer types.

    An encoder, a convolution over words, and one whose loss weighs rare types
    up. Each is trained for the given passes and scored on the test questions.
    """
    require_encoder(options.encoder)
    options.apply()
    learned = read_labelled(options.train_file, "train", options.train, options.world_seed)
    test = read_labelled(options.test_file, "test", options.test, options.world_seed)
    if not test:
        raise UnreadableData(f"{options.test_file or 'test data'}: {UNTYPED}")
    runs: dict[Row, dict[int, dict[str, Any]]] = {row: {} for row in TITLES}
    table: dict[Row, dict[str, Any]] = {}
    for seed in range(options.seed, options.seed + options.seeds):
        for row, scores in _scores(options, seed, learned, test):
            runs[row][seed] = {"n": len(test), **scores}
            table[row] = over_seeds(runs[row])
            write_json(options.out / "table.json", table)
    sys.stdout.write(written(table))


def _scores(
    options: TypesTableOptions, seed: int, learned: Sequence[Labelled], test: Sequence[Labelled]
) -> Iterator[tuple[Row, dict[str, float]]]:
    """Yield the scores of each row under one seed."""
    plain: tuple[Row, bool] = ("words", False)
    for row, weighted in (plain, ("words-weighted", True)):
        trainer = _trainer(options, part_of(options, Recipe, seed=seed, weighted=weighted), learned)
        for _ in range(trainer.word_steps):
            trainer.step()
        yield row, accuracy(trainer.words.eval(), test)
    trainer = _trainer(options, part_of(options, Recipe, seed=seed), learned)
    trainer.go_to(trainer.word_steps)  # the word model is not trained a third time
    for _ in range(trainer.word_steps, trainer.total_steps):
        trainer.step()
    assert trainer.encoder is not None
    yield "encoder", accuracy(trainer.encoder.eval(), test)


def _trainer(options: TypesTableOptions, recipe: Recipe, learned: Sequence[Labelled]) -> Trainer:
    torch.manual_seed(recipe.seed)
    questions = [each.question for each in learned]
    return Trainer(Choice(), recipe, learned, lambda: open_encoder(options.encoder, questions))


def written(table: dict[Row, dict[str, Any]]) -> str:
    """Return the table in Markdown; with several seeds, mean ± SD."""
    rows = [["types by", "n", "accuracy", "macro F1"], ["---", "--:", "--:", "--:"]]
    for name, title in TITLES.items():
        scores, sd = table[name], table[name].get("sd", {})
        shares = [cell(scores[key], sd.get(key), form=".1%") for key in ("accuracy", "macro_f1")]
        rows.append([title, str(scores["n"]), *shares])
    return markdown(rows)
