"""Declare the columns of typed tables.

Readers of tables need pandas; what they read can be said without it.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Column:
    """One column of a table.

    kind: "text", "integer", "number" or "boolean". Numbers and booleans become floats (booleans 1 and 0)
    with NaN where missing. `required` columns must exist, `filled` ones must have a value in every row.
    """

    name: str
    kind: str
    required: bool = False
    filled: bool = False
    choices: tuple[str, ...] = ()
    low: float = -np.inf
    high: float = np.inf
