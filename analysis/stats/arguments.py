"""Checks of arguments, with errors that name argument and value."""

from collections.abc import Collection, Iterable
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array


def check_level(level: float, name: str = "level") -> None:
    """Raise ValueError for a level or alpha that does not lie between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"{name} must lie between 0 and 1, not {level}")


def check_choice(value: object, choices: Collection[object], name: str) -> None:
    """Raise ValueError for a value that is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_count(value: int, least: int, name: str) -> None:
    """Raise ValueError for a number that is not whole or below the least."""
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be at least {least} and a whole number, not {value!r}")


def check_resamples(resamples: int, rng: np.random.Generator | None) -> None:
    """Raise ValueError for a negative number of resamples, or one without rng."""
    check_count(resamples, 0, "resamples")
    if resamples and rng is None:
        raise ValueError(f"resamples must be 0 or come with an rng, not {resamples} without one")


def check_columns(present: Iterable[str], needed: Iterable[str], name: str) -> None:
    """Raise ValueError for a table without a column that it needs."""
    if missing := [column for column in needed if column not in set(present)]:
        raise ValueError(f"{name} has no column {missing[0]!r}")


def check_finite(value: float, name: str) -> None:
    """Raise ValueError for a number that is NaN or infinite."""
    if not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number, not {value}")


def read_values(values: ArrayLike, name: str, *axes: str) -> Array:
    """Return numbers as an array; NaN stands for an undefined value.

    Args:
        values: The argument.
        name: Its name.
        *axes: The things that each axis counts, in the singular, such as "participant".

    Raises:
        ValueError: The values are not numbers, have other axes, or one is infinite.
    """
    plural = " × ".join(f"{axis}s" for axis in axes)
    expected = f"have one value per {axes[0]}" if len(axes) == 1 else f"be {plural}"
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must {expected}, numbers or NaN, not {values!r}") from None
    if array.ndim != len(axes):
        raise ValueError(f"{name} must {expected}, not shape {array.shape}")
    if np.isinf(array).any():
        raise ValueError(f"{name} holds an infinite value")
    return array
