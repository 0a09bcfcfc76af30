"""Suites that run small with the tests, and in full by ``make soak``.

``scripts/soak.py`` runs them at full size.
"""

import os
import random

SEED = os.environ.get("SOAK_SEED", "1")
WHOLE = "SOAK_COUNT" in os.environ  # run by make soak


def size(small: int, share: float = 1.0) -> int:
    """Return the number of inputs or events of a suite.

    It is ``share`` of what ``make soak`` asks for, else the small number.
    """
    whole = os.environ.get("SOAK_COUNT")
    return small if whole is None else max(1, round(int(whole) * share))


def rng_of(suite: str, number: int) -> random.Random:
    """Return the random generator of one input.

    The input can be made again without those before it.
    """
    return random.Random(f"{SEED}/{suite}/{number}")
