"""Grids for tests, straight from arrays."""

import numpy as np

from analysis.participants.trial_grid import Grid


def make_grid(condition="a", *, people=10, items=8, seconds=None, correct=None, post=None, **answers):
    """Return a grid whose arrays are participants × items.

    NaN stands for a trial without a value. All trials are present.
    """
    arrays = [a for a in (seconds, correct, *answers.values()) if a is not None]
    shape = np.shape(arrays[0]) if arrays else (people, items)
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
    """Return positions 1..items in a random order for each participant.

    The shape is participants × items.
    """
    return 1.0 + np.argsort(rng.random((people, items)), axis=1)
