"""Where the tests find the real data, which is never part of the project."""

from pathlib import Path

import pytest

from tests.paths import DATA


def real_data(name: str) -> Path:
    """Path of a real data file; skips the test where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the real data file {name} is not on this machine (set TOUCHSTONE_DATA)")
    return path
