"""Tables of variants trained and scored under several seeds.

No postponed annotations: the options are extended, see `options`.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from modelserver.training.loop import require_free, require_new
from modelserver.training.options import Count, Output, Whole, options_of_command
from modelserver.world.items import write_whole

Key = TypeVar("Key", bound=tuple[str, ...])  # names of a row in table.json, from the outermost
NOT_AVERAGED = "interval"  # each is of one seed's scores; their means would be of nothing


@options_of_command
class TableOptions(Output):
    """The folder of a table, and its seeds.

    Attributes:
        out: Folder for table.json, table.md, and a folder of each row and
            seed.
        resume: Go on with the table in --out: what is trained is only scored,
            what was interrupted continues, and the table has the rows and
            seeds asked for.
        overwrite: Replace the table in --out and train its rows again.
        seeds: Number of seeds, from --seed on; the table has mean and SD.
    """

    seed: Whole = 1
    seeds: Count = 1


class Table(Generic[Key]):
    """A table in files that is trained and scored row by row.

    Args:
        options: Folder and seeds; resume or overwrite.
        keys: Names of each row; its weights are in OUT/NAMES…/seed-N.
        file: Name of the JSON file in the folder.

    Raises:
        UnreadableData: The folder holds a table or weights that are neither
            resumed nor overwritten.
    """

    def __init__(self, options: TableOptions, keys: Iterable[Key], file: str = "table.json") -> None:
        self.path = options.out / file
        seeds = range(options.seed, options.seed + options.seeds)
        self.folders = {
            key: {seed: options.out.joinpath(*key, f"seed-{seed}") for seed in seeds} for key in keys
        }
        require_new(self.path, **options.start)
        for folders in self.folders.values():
            for folder in folders.values():
                require_free(folder, **options.start)

    def fill(
        self,
        score: Callable[[Key, int, Path], Mapping[str, Any]],
        written: Callable[[dict[Any, Any]], str],
        **beside: Any,
    ) -> None:
        """Write all rows as JSON and Markdown, and print the latter.

        The JSON file is written after each seed of each row.

        Args:
            score: Returns the scores of a row under a seed; trains the row in
                the folder given.
            written: Returns the table in Markdown.
            beside: Further content of the table.
        """
        table = dict(beside)
        for key, folders in self.folders.items():
            runs: dict[int, Mapping[str, Any]] = {}
            part = table
            for name in key[:-1]:
                part = part.setdefault(name, {})
            for seed, folder in folders.items():
                runs[seed] = score(key, seed, folder)
                part[key[-1]] = average_over_seeds(runs)
                _write(self.path, json.dumps(table, indent=2) + "\n")
        text = written(table)
        _write(self.path.with_suffix(".md"), text)
        sys.stdout.write(text)


def _write(path: Path, text: str) -> None:
    with write_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def format_markdown(heads: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> str:
    """Return a table in Markdown; columns after the texts align right."""
    below = ["---"] * texts + ["--:"] * (len(heads) - texts)
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, below, *rows))


def average_over_seeds(runs: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the scores of a variant over its seeds.

    Args:
        runs: Scores of each seed, nested and named alike.

    Returns:
        The mean of each score, under its own names. With several runs also
        their sample standard deviation (n - 1), nested alike as ``sd``, and
        the runs themselves as ``seeds``, but no confidence intervals.

    Examples:
        >>> average_over_seeds({1: {"n": 4, "accuracy": 0.5}, 2: {"n": 4, "accuracy": 1.0}})["accuracy"]
        0.75
    """
    listed = list(runs.values())
    mean: dict[str, Any] = _summarise_runs(listed, np.mean)
    if len(listed) == 1:
        return mean
    return {**mean, "sd": _summarise_runs(listed, lambda values: np.std(values, ddof=1)), "seeds": dict(runs)}


def _summarise_runs(runs: Sequence[Any], summary: Callable[[list[Any]], Any]) -> Any:
    first = runs[0]
    if isinstance(first, Mapping):
        common = [name for name in first if all(name in run for run in runs)]
        if len(runs) > 1:
            common = [name for name in common if name != NOT_AVERAGED]
        return {name: _summarise_runs([run[name] for run in runs], summary) for name in common}
    if isinstance(first, (list, tuple)):
        return [_summarise_runs(values, summary) for values in zip(*runs, strict=True)]
    if isinstance(first, str) or any(run is None for run in runs):
        return first
    value = float(summary(list(runs)))
    return int(value) if isinstance(first, int) and value.is_integer() else value


def format_cell(row: Mapping[str, Any], *names: str, form: str = ".2f") -> str:
    """Return a score of a row as a table shows it, ± its SD if there is one.

    Args:
        row: Scores as `average_over_seeds` returns them.
        names: Of the score, from the outermost; the cell of one that is not
            there is empty.
        form: Of the number; of a percentage if it ends in %.

    Examples:
        >>> format_cell({"f1": 0.714, "sd": {"f1": 0.02}}, "f1", form=".1%")
        '71.4 ± 2.0 %'
        >>> format_cell({"find": {"f1": 0.714}}, "find", "f1"), format_cell({}, "find", "f1")
        ('0.71', '')
    """
    numbers = [number for part in (row, row.get("sd")) if (number := _read_nested(part, names)) is not None]
    shown = " ± ".join(f"{number:{form}}".rstrip("%") for number in numbers)
    return f"{shown} %" if shown and form.endswith("%") else shown


def _read_nested(part: Any, names: Sequence[str]) -> float | None:
    for name in names:
        part = (part or {}).get(name)
    return part
