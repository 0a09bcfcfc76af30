"""Two plain tables, human measures and model scores by system, for people without an export bundle.

Each is a CSV file with a header: the first column names the systems, every other one is a measure or a score.
An empty cell is a missing value. Known names (key or label) bring their wanted direction and label.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.errors import InputError
from analysis.measures import find_measure
from analysis.ranks import Direction
from analysis.reading import Column, read_csv_header, read_table
from analysis.relations import Quantity, Relations, relate
from analysis.scores import find_score


def relate_tables(
    human: Path, model: Path, wanted: Mapping[str, Direction], *, rng: np.random.Generator
) -> Relations:
    """Relates every column of the one table to every column of the other, over the systems in both.

    wanted: direction by column name, above the known ones.

    Raises InputError naming file, line and column.
    """
    measures, scores = _read(human), _read(model)
    systems = [name for name in measures.index if name in scores.index]
    if len(systems) < 2:
        raise InputError(model, f"shares {len(systems)} systems with {human}; at least 2 are needed")
    for name in wanted:
        if name not in measures and name not in scores:
            raise InputError(human, f"no column {name!r} here nor in {model}")
    return relate(
        systems,
        [_measure(str(name), column, wanted) for name, column in measures.loc[systems].items()],
        [_score(str(name), column, wanted) for name, column in scores.loc[systems].items()],
        rng=rng,
    )


def _read(path: Path) -> pd.DataFrame:
    """The table's numbers by system."""
    header = read_csv_header(path)
    if len(header) < 2:
        raise InputError(path, "needs a column that names the systems and at least one with values")
    name, *values = header
    columns = [Column(name, "text", required=True, filled=True), *(Column(v, "number") for v in values)]
    table = read_table(path, columns)
    repeated = np.flatnonzero(table.frame.duplicated([name]))
    if len(repeated):
        row = int(repeated[0])
        raise table.fault(row, name, f"second row for {table.frame[name].iloc[row]!r}")
    return table.frame.set_index(name)


def _measure(name: str, values: pd.Series, wanted: Mapping[str, Direction]) -> Quantity:
    known = find_measure(name)
    direction = wanted.get(name, known.wanted if known else None)
    return Quantity(name, known.label if known else name, direction, values.to_numpy(float))


def _score(name: str, values: pd.Series, wanted: Mapping[str, Direction]) -> Quantity:
    known = find_score(name)
    direction = wanted.get(name, known.wanted if known else None)
    return Quantity(name, known.label if known else name, direction, values.to_numpy(float))
