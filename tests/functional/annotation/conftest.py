"""The editor in a real browser: where it is served from, and how items come to be, is said here alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.servers.basehttp import ThreadedWSGIServer
from django.core.wsgi import get_wsgi_application
from django.test import override_settings
from django.test.testcases import QuietWSGIRequestHandler
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from scripts.processes import ROOT
from tests.functional.annotation import standin
from tests.services import require

DESKTOP = ViewportSize(width=1280, height=860)
PHONE = ViewportSize(width=390, height=844)


@dataclass
class Editor:
    """A served editor: makes items, opens them, and tells what the site has stored."""

    url: str
    works: standin.Works

    def make(self, **item: Any) -> int:
        return self.works.add(**item).pk

    def open(self, page: Page, work: int) -> Page:
        page.goto(f"{self.url}/work/{work}/")
        expect(page.locator("#work[data-ready]")).to_be_attached()
        return page

    def stored(self, work: int) -> dict[str, Any]:
        """The document as the site has it."""
        return self.works.rows[work].document.model_dump(mode="json")

    def layer(self, work: int, node: int) -> dict[str, Any]:
        layers = {int(key): value for key, value in self.stored(work)["layers"].items()}
        return layers.get(node, {"state": "open", "objects": [], "note": ""})

    def objects(self, work: int, node: int) -> list[dict[str, Any]]:
        return self.layer(work, node)["objects"]

    def revision(self, work: int) -> int:
        return self.works.rows[work].revision


@pytest.fixture(scope="session")
def editor() -> Iterator[Editor]:
    """The editor on the stand-in."""
    if not (ROOT / "node_modules/@annotorious/annotorious/dist").is_dir():
        require("Annotorious is not installed (npm ci).")
    with override_settings(ROOT_URLCONF="tests.functional.annotation.standin"):
        server = ThreadedWSGIServer(("127.0.0.1", 0), QuietWSGIRequestHandler, ipv6=False)
        server.daemon_threads = True
        server.set_app(StaticFilesHandler(get_wsgi_application()))
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Editor(f"http://127.0.0.1:{server.server_port}", standin.WORKS)
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser profile; errors of the page fail the test."""
    context = browser.new_context(viewport=DESKTOP)
    wrong: list[str] = []
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on(
        "console", lambda line: wrong.append(line.text) if "Content Security Policy" in line.text else None
    )
    yield context
    context.close()
    standin.WORKS.broken = False
    assert wrong == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page on a desktop."""
    return context.new_page()
