"""Steps that the tests of the editor repeat on a page."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect


def saved(page: Page) -> None:
    expect(page.locator("#save-status")).to_have_attribute("data-kind", "saved")


def reload(page: Page) -> None:
    page.reload()
    expect(page.locator("#editor[data-ready]")).to_be_attached()


def sheet(page: Page, image: int) -> dict[str, float]:
    """Return the bounding box of an image on the screen."""
    box: Any = page.locator(".sheet").nth(image).bounding_box()
    return box


def at(page: Page, image: int, across: float, down: float) -> tuple[float, float]:
    """The screen's point at a fraction of an image."""
    box = sheet(page, image)
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def drag(page: Page, image: int, start: tuple[float, float], end: tuple[float, float]) -> None:
    # The library that draws boxes breaks at a box within 250 ms of the page's start, faster than a hand.
    page.evaluate("() => new Promise(done => setTimeout(done, Math.max(0, 300 - performance.now())))")
    page.mouse.move(*at(page, image, *start))
    page.mouse.down()
    for part in (0.3, 0.6, 1.0):
        page.mouse.move(*at(page, image, *(a + part * (b - a) for a, b in zip(start, end, strict=True))))
    page.mouse.up()
    # It hands a new one over a moment later.
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


def near(numbers: list[float], expected: tuple[float, ...], tolerance: float = 0.01) -> None:
    assert numbers == pytest.approx(list(expected), abs=tolerance)
