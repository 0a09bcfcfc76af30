"""Fixtures that every test may ask for, and the order of the tests."""

from __future__ import annotations

import pytest

pytest_plugins = ["tests.services", "tests.site"]

# What starts whole sites and browsers: long files that mostly wait. They come first, so that at the end of a
# run no worker is left alone with one of them.
LONG = ("functional", "fault", "load")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.nodeid.split("/")[1] not in LONG)
