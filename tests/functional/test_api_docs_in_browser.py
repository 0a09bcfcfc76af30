"""The page that tries the REST API, and the webhooks of a study, in a real browser.

With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.site import Site, running_site
from tests.functional.pages import follow
from tests.functional.test_accounts_in_browser import Looked, log_in, press

pytestmark = pytest.mark.service

PASSWORD = "a harbour in the fog"
FILL = f"""
from accounts.actions.tokens import create_token
from accounts.models import Role, Scope, User
from tests.access.world import make_world
from tests.workspaces import give
world = make_world("main")
user = give(User.objects.create_user("ada", password={PASSWORD!r}), Role.OWNER, workspace=world.workspace)
print(world.study.slug, create_token(name="reader", scope=Scope.READ, days=7, by=user).key)
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site(extra={"DEBUG": "false"}) as running:
        yield running


@pytest.fixture(scope="module")
def names(site: Site) -> tuple[str, str]:
    """The short name of a study, and a token that may read."""
    study, token = site.manage("shell", "--no-imports", "--command", FILL).split()[-2:]
    return study, token


@pytest.fixture
def page(site: Site, names: tuple[str, str], browser: Browser) -> Iterator[Page]:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    errors: list[str] = []
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    log_in(page, site, "ada", PASSWORD)
    yield page
    assert errors == []


def execute(page: Page, operation: str, body: object = None) -> tuple[int, dict[str, object]]:
    """Open an operation by its id, send it, and return the status and the JSON of the answer."""
    block = page.locator(f"[id$='{operation}']")
    if block.get_by_role("button", name="Execute").count() == 0:
        block.locator(".opblock-summary-control").click()
        block.get_by_role("button", name="Try it out").click()
    if body is not None:
        block.locator("textarea").first.fill(json.dumps(body))
    with page.expect_response(lambda response: "/api/v1/" in response.url) as answer:
        block.get_by_role("button", name="Execute").click()
    expect(block.locator(".live-responses-table .response-col_status").first).to_contain_text(
        str(answer.value.status)
    )
    return answer.value.status, answer.value.json()


def test_it_works(site: Site, names: tuple[str, str], page: Page) -> None:
    page.goto(f"{site.url}/account/tokens/")
    follow(page.get_by_role("link", name="Try the REST API"))
    assert page.url == f"{site.url}/api/docs/"
    expect(page.get_by_text("/api/v1/workspaces/", exact=True).first).to_be_visible()
    status, answer = execute(page, "workspaces-list_workspaces")
    assert (status, [row["slug"] for row in answer["results"]]) == (200, ["main"])
