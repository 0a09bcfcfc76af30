"""The page that tries the REST API, and webhooks, in a real browser.

With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.functional.pages import follow
from tests.functional.test_accounts_in_browser import Looked, log_in, press
from tests.site import EmptySite, Site

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
def site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site() as running:
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
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    log_in(page, site, "ada", PASSWORD)
    yield page
    # A form that the site refuses is an error to the browser's console, too.
    assert [error for error in errors if "422" not in error] == []


def send(
    page: Page, operation: str, body: object = None, parameters: dict[str, str] | None = None
) -> tuple[int, Any, dict[str, str]]:
    """Send an operation from the page; return status, JSON and headers.

    The headers are those that were sent.
    """
    block = page.locator(f"#operations-{operation}")
    if block.count() == 0:
        page.locator(f"#operations-tag-{operation.partition('-')[0]}").click()
    if block.get_by_role("button", name="Execute").count() == 0:
        block.locator(".opblock-summary-control").click()
        block.get_by_role("button", name="Try it out").click()
    for name, value in (parameters or {}).items():
        block.get_by_placeholder(name).fill(value)
    if body is not None:
        block.locator("textarea").first.fill(json.dumps(body))
    with page.expect_response(lambda response: "/api/v1/" in response.url) as answer:
        block.get_by_role("button", name="Execute").click()
    shown = block.locator(".live-responses-table tbody .response-col_status").first
    expect(shown).to_contain_text(str(answer.value.status))
    return answer.value.status, answer.value.json(), answer.value.request.all_headers()


def test_it_works(site: Site, names: tuple[str, str], page: Page, axe_script: str) -> None:
    """With the login of the page: reading, and writing with its CSRF token."""
    look = Looked(axe_script)
    page.goto(f"{site.url}/account/tokens/")
    follow(page.get_by_role("link", name="Try the REST API"))
    assert page.url == f"{site.url}/api/docs/"
    expect(page.locator("#operations-tag-workspaces")).to_be_visible()
    look(page, "api-docs")
    status, answer, _headers = send(page, "workspaces-list_workspaces")
    assert (status, [row["slug"] for row in answer["results"]]) == (200, ["main"])
    expect(page.locator("#operations-workspaces-list_workspaces .live-responses-table")).to_contain_text(
        '"slug": "main"'
    )
    look(page, "api-docs-operation")
    page.locator("#operations-workspaces-create_an_invitation .opblock-summary-control").click()
    page.locator("#operations-workspaces-create_an_invitation").get_by_role(
        "button", name="Try it out"
    ).click()
    page.get_by_placeholder("slug").fill("main")
    status, answer, headers = send(page, "workspaces-create_an_invitation", {"role": "viewer"})
    assert (status, answer["role"]) == (201, "viewer")
    assert headers["x-csrftoken"]
    assert look.found == []


def test_with_a_token(site: Site, names: tuple[str, str], page: Page) -> None:
    page.goto(f"{site.url}/api/docs/")
    page.get_by_role("button", name="Authorize").first.click()
    dialog = page.locator(".dialog-ux")
    dialog.locator("#auth-bearer-value").fill(names[1])
    dialog.get_by_role("button", name="Apply credentials").first.click()
    dialog.get_by_role("button", name="Close").first.click()
    status, answer, headers = send(page, "studies-list_studies")
    assert (status, len(answer["results"])) == (200, 1)
    assert headers["authorization"] == f"Bearer {names[1]}"


def test_the_webhooks_of_a_study(site: Site, names: tuple[str, str], page: Page, axe_script: str) -> None:
    look = Looked(axe_script)
    page.goto(f"{site.url}/staff/studies/{names[0]}/settings/")
    follow(page.get_by_role("navigation").get_by_role("link", name="Webhooks"))
    page.get_by_label("Address").fill("http://127.0.0.1/")
    press(page, "Add webhook")
    expect(page.locator("#id_url_error").get_by_text("is not a public address")).to_be_visible()
    look(page, "webhooks-wrong")
    page.get_by_label("Address").fill("https://hooks.example/a")
    page.get_by_label("Quota reached").check()
    press(page, "Add webhook")
    assert len(page.get_by_label("Secret").input_value()) == 64
    look(page, "webhooks")
    follow(page.get_by_role("link", name="https://hooks.example/a"))
    look(page, "webhook")
    page.get_by_role("button", name="End webhook").click()
    follow(page.get_by_role("dialog").get_by_role("button", name="End webhook"))
    expect(page.get_by_text("The webhook has ended.")).to_be_visible()
    assert look.found == []
