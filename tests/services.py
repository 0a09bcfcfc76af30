"""Real servers and a real browser for the tests.

``make test`` starts the servers and names them in TEST_POSTGRES_URL, TEST_VALKEY_URL and TEST_REDIS_URL. If
pytest is called by itself, a fixture starts the server that it gives. If the machine lacks a part, the test
is skipped with one sentence; with TOUCHSTONE_REQUIRE_SERVICES=1 it fails.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest
import redis as redis_client
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.debian import find_chromium
from scripts.sites import servers
from scripts.sites.processes import ROOT

# Beside other tests a page may take its time.
expect.set_options(timeout=20_000)

Server = Callable[[], AbstractContextManager[str]]

_REDIS_PROTOCOL: dict[str, tuple[str, Server]] = {
    "valkey": ("TEST_VALKEY_URL", servers.run_valkey),
    "redis": ("TEST_REDIS_URL", servers.run_redis),
}


def require(sentence: str) -> None:
    """Skip a test without its service, or fail it if services are required."""
    if os.environ.get("TOUCHSTONE_REQUIRE_SERVICES") == "1":
        pytest.fail(f"A service is required here: {sentence}")
    pytest.skip(sentence)


def _server(stack: ExitStack, variable: str, start: Server) -> str:
    """Return the URL of the server of ``make test``, or of a new one."""
    url = os.environ.get(variable)
    if url:
        return url
    try:
        return stack.enter_context(start())
    except servers.NotAvailable as missing:
        require(str(missing))
        raise


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of the database ``postgres`` of a real server.

    Other databases are created from it.
    """
    with ExitStack() as stack:
        yield _server(stack, "TEST_POSTGRES_URL", servers.run_postgres)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """URL of an empty PostgreSQL database of the test's own."""
    with servers.copy_postgres_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session", params=list(_REDIS_PROTOCOL))
def redis_server(request: pytest.FixtureRequest, worker_number: int) -> Iterator[str]:
    """URL of Valkey and, in a second run of the test, of Redis.

    Each xdist worker has its own database.
    """
    with ExitStack() as stack:
        url = _server(stack, *_REDIS_PROTOCOL[request.param])
        yield f"{url.rpartition('/')[0]}/{worker_number}"


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """URL of an empty database of Valkey and, in a second run, of Redis."""
    client = redis_client.Redis.from_url(redis_server)
    client.flushdb()
    client.close()
    return redis_server


@pytest.fixture(scope="session")
def worker_number() -> int:
    """Number of this pytest-xdist worker, 0 without xdist."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    """The program of a real Chromium."""
    path = find_chromium()
    if path is None:
        require("Chromium is not installed (Debian package chromium-headless-shell).")
        raise AssertionError
    return path


@pytest.fixture(scope="session")
def chromium_launch(chromium_path: Path) -> Iterator[Callable[[], Browser]]:
    """Gives the running Chromium, started if there is none (or no more).

    Playwright keeps an event loop on this thread, in which no test without a browser could start one; it is
    set aside between modules.
    """
    # Chromium's sandbox does not run as root or in most containers. It opens only our own pages here.
    # The processor draws its pages: in a process of its own that takes a sixth of the time of a test.
    arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--in-process-gpu"]
    started: list[Browser] = []
    with sync_playwright() as playwright:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)

        def launch() -> Browser:
            asyncio._set_running_loop(loop)
            if not started or not started[-1].is_connected():
                started.append(playwright.chromium.launch(executable_path=chromium_path, args=arguments))
            return started[-1]

        yield launch
        asyncio._set_running_loop(loop)
        for chrome in started:
            chrome.close()


@pytest.fixture(scope="module")
def browser(chromium_launch: Callable[[], Browser]) -> Iterator[Browser]:
    """A running Chromium without a window, whose contexts end with the module."""
    with pytest.MonkeyPatch.context() as patch:
        # Django would take what runs beside playwright's loop for asynchronous code, and refuse its own
        # database calls, those of teardown included.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        chrome = chromium_launch()
        yield chrome
        for context in chrome.contexts:
            context.close()
        asyncio._set_running_loop(None)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in a fresh browser profile."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


# All that passes, with a piece of the page for each, takes twice as long to list and to send as the check.
# `void`, because playwright calls a function that a script ends with.
ONLY_VIOLATIONS = """
{
  const run = axe.run;
  void (axe.run = async (options) => {
    const { violations } = await run({ resultTypes: ["violations"], ...options });
    return { violations };
  });
}
"""


@pytest.fixture(scope="session")
def axe_script() -> str:
    """The source of axe-core, which finds accessibility problems in a page.

    Its ``axe.run(options)`` gives the violations alone.
    """
    path = ROOT / "node_modules/axe-core/axe.min.js"
    if not path.is_file():
        require("axe-core is not installed (npm ci).")
    return path.read_text(encoding="utf-8") + ONLY_VIOLATIONS
