"""Tables of trained variants as files: JSON and Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modelserver.world.items import whole


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, table: Any) -> None:
    """Write a table as JSON, whole or not at all."""
    write_text(path, json.dumps(table, indent=2) + "\n")


def markdown(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def over_seeds(runs: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the scores of a variant over its seeds.

    Args:
        runs: Scores of each seed, nested and named alike.

    Returns:
        The mean of each score, under its own names. With several runs also
        their sample standard deviation (n - 1), nested alike as ``sd``, and
        the runs themselves as ``seeds``.

    Examples:
        >>> over_seeds({1: {"n": 4, "accuracy": 0.5}, 2: {"n": 4, "accuracy": 1.0}})["accuracy"]
        0.75
    """
    listed = list(runs.values())
    mean: dict[str, Any] = _over(listed, np.mean)
    if len(listed) == 1:
        return mean
    return {**mean, "sd": _over(listed, lambda values: np.std(values, ddof=1)), "seeds": dict(runs)}


def _over(runs: Sequence[Any], summary: Callable[[list[Any]], Any]) -> Any:
    first = runs[0]
    if isinstance(first, Mapping):
        common = [name for name in first if all(name in run for run in runs)]
        return {name: _over([run[name] for run in runs], summary) for name in common}
    if isinstance(first, (list, tuple)):
        return [_over(values, summary) for values in zip(*runs, strict=True)]
    if isinstance(first, str) or any(each is None for each in runs):
        return first
    value = float(summary(list(runs)))
    return int(value) if isinstance(first, int) and value.is_integer() else value


def cell(mean: float, sd: float | None = None, *, form: str = ".2f") -> str:
    """Return a number as a table shows it, with its SD if there is one.

    Examples:
        >>> cell(0.714, 0.02, form=".1%"), cell(0.714)
        ('71.4 ± 2.0 %', '0.71')
    """
    if form.endswith("%"):
        digits = form[1:-1]
        shown = f"{100 * mean:.{digits}f}"
        return f"{shown} %" if sd is None else f"{shown} ± {100 * sd:.{digits}f} %"
    return f"{mean:{form}}" if sd is None else f"{mean:{form}} ± {sd:{form}}"
