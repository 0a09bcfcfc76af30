"""Where the tests find the real data, which is never part of the project."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def real_data(name: str) -> Path:
    """Path of a real data file; skips the test where it is absent."""
    path = Path(os.environ.get("TOUCHSTONE_DATA") or ROOT.parent / "shared" / "data") / name
    if not path.exists():
        pytest.skip(f"the real data file {name} is not on this machine (set TOUCHSTONE_DATA)")
    return path
