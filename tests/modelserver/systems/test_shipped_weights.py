"""The folders of shipped weights are small, each and together."""

import pytest

from modelserver.registry import WEIGHTS

SIZES = {
    folder.name: sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    for folder in WEIGHTS.iterdir()
    if folder.is_dir()
}


@pytest.mark.parametrize("name", sorted(SIZES))
def test_each_is_small(name: str) -> None:
    assert SIZES[name] < 4_000_000


def test_together_they_are_small() -> None:
    assert len(SIZES) >= 10
    assert sum(SIZES.values()) < 25_000_000
