"""Paths of the real data, which is never part of the project."""

from pathlib import Path

import pytest

from tests.paths import DATA


def real_data(name: str) -> Path:
    """Return the path of a real data file; skip the test if it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the real data file {name} is not on this machine (set TOUCHSTONE_DATA)")
    return path
