"""Declare the columns of typed tables.

Readers of tables need pandas; what they read can be said without it.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Numbers and booleans become floats (booleans 1 and 0) with NaN where missing.

    Attributes:
        name: Name in the file's header.
        kind: "text", "integer", "number" or "boolean".
        required: The column must exist.
        filled: It must have a value in every row.
        choices: The only texts allowed, if any.
        low: Smallest number allowed.
        high: Largest number allowed.
    """

    name: str
    kind: str
    required: bool = False
    filled: bool = False
    choices: tuple[str, ...] = ()
    low: float = -np.inf
    high: float = np.inf
