"""From page to page in a browser. A click returns before the next page is there, and so do keys."""

from playwright.sync_api import Locator, Page


def follow(what: Locator) -> None:
    """Click what leads to a page, and return when that page has been loaded."""
    with what.page.expect_navigation():
        what.click()


def enter(page: Page) -> None:
    """Press Enter where that leads to a page, and return when that page has been loaded."""
    with page.expect_navigation():
        page.keyboard.press("Enter")
