"""Fixtures that every test may ask for, and the order of the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import translation

pytest_plugins = ["tests.services", "tests.site"]

# What starts whole sites and browsers: long files that mostly wait. They come first, so that at the end of a
# run no worker is left alone with one of them.
LONG = ("functional", "fault", "load")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.nodeid.split("/")[1] not in LONG)


@pytest.fixture(autouse=True)
def _no_language_left() -> Iterator[None]:
    """Django leaves the language of a test's last page active, for a server's next page sets its own."""
    yield
    translation.deactivate()
