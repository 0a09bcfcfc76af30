"""Suites that run small with every test run, and at full size by ``make soak`` (``scripts/soak.py``)."""

import os
import random

SEED = os.environ.get("SOAK_SEED", "1")
WHOLE = "SOAK_COUNT" in os.environ  # run by make soak


def size(small: int, share: float = 1.0) -> int:
    """Return how many inputs or events: ``share`` of what ``make soak`` asks for, else the small number."""
    whole = os.environ.get("SOAK_COUNT")
    return small if whole is None else max(1, round(int(whole) * share))


def rng_of(suite: str, number: int) -> random.Random:
    """Return the generator of one input, so that it can be made again without those before it."""
    return random.Random(f"{SEED}/{suite}/{number}")
