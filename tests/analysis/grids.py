"""Grids for tests, straight from arrays."""

import numpy as np

from analysis.participants.trial_grid import Grid


def make_grid(condition="a", *, people=10, items=8, seconds=None, correct=None, post=None, **answers):
    """A grid; arrays are participants × items, NaN where a trial has no value. All trials are present."""
    given = [a for a in (seconds, correct, *answers.values()) if a is not None]
    shape = np.shape(given[0]) if given else (people, items)
    unknown = np.full(shape, np.nan)
    return Grid(
        condition=condition,
        participants=tuple(f"{condition}{i:04d}" for i in range(shape[0])),
        items=tuple(f"q{i:04d}" for i in range(shape[1])),
        present=np.ones(shape, dtype=bool),
        seconds=unknown if seconds is None else np.asarray(seconds, dtype=float),
        system_correct=unknown if correct is None else np.asarray(correct, dtype=float),
        answers={name: np.asarray(values, dtype=float) for name, values in answers.items()},
        post=post or {},
    )


def random_orders(rng, people, items):
    """Positions 1..items in a random order for each participant: participants × items."""
    return 1.0 + np.argsort(rng.random((people, items)), axis=1)
