"""Accounts in a real browser, from passwords to OpenID Connect.

The tests also use a second factor, recovery codes and a one-time link.

With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.sites.site import Site, run_site
from tests.accounts.people import code_for
from tests.accounts.provider import PROVIDER, know, running_provider
from tests.functional.pages import fits, follow

pytestmark = pytest.mark.service

OLD, NEW, NEWEST = "a harbour in the fog", "seven boats at anchor", "the ferry leaves at noon"
ADD_PEOPLE = f"""
from accounts.models import User
for name in ("ada", "bea"):
    User.objects.create_user(name, f"{{name}}@example.org", {OLD!r})
User.objects.create_superuser("boss", password={OLD!r})
"""


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_provider(tmp_path_factory.mktemp("provider")) as url:
        know(url, "s-bea", email="bea@example.org", email_verified=True)
        yield url


@pytest.fixture(scope="module")
def site(provider: str) -> Iterator[Site]:
    """A site with people and a provider; with a broker, which counts codes."""
    providers = json.dumps([{**PROVIDER, "server_url": provider}])
    with run_site(extra={"OIDC_PROVIDERS": providers, "NO_PROXY": "127.0.0.1"}) as running:
        running.manage("shell", "--no-imports", "--command", ADD_PEOPLE)
        yield running


def log_in(page: Page, site: Site, name: str, password: str) -> None:
    page.goto(f"{site.url}/accounts/login/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    follow(page.get_by_role("button", name="Log in", exact=True))


def press(page: Page, name: str) -> None:
    follow(page.get_by_role("button", name=name, exact=True))


def is_open(page: Page, site: Site) -> bool:
    page.goto(f"{site.url}/accounts/sessions/")
    return page.url == f"{site.url}/accounts/sessions/"


class Looked:
    """Looks at pages at the widths of phones, a laptop and a wide screen."""

    def __init__(self, axe_script: str) -> None:
        self.axe_script, self.found = axe_script, list[str]()

    def __call__(self, page: Page, name: str) -> None:
        before = page.viewport_size
        for width in (320, 390, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 800})
            if folder := os.environ.get("SCREENSHOTS"):
                page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)
            if not fits(page):
                self.found.append(f"{name} is wider than {width} px")
        if before:
            page.set_viewport_size(before)
        # The page forbids inline scripts; what the browser evaluates itself is no script of the page.
        page.evaluate(self.axe_script)
        violations = page.evaluate("axe.run().then(result => result.violations.map(each => each.id))")
        self.found += [f"{name}: {rule}" for rule in violations]


def test_it_works(site: Site, browser: Browser, axe_script: str):
    """A person uses password, second factor, recovery code and sessions."""
    look = Looked(axe_script)
    page = browser.new_context().new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(f"{site.url}/accounts/login/")
    look(page, "login")
    log_in(page, site, "ada", "wrong")
    look(page, "login-wrong")
    expect(page.get_by_role("alert")).to_contain_text("not correct")
    log_in(page, site, "ada", OLD)
    assert page.url == f"{site.url}/start/"

    page.goto(f"{site.url}/accounts/")
    look(page, "password")
    page.get_by_label("Current password").fill(OLD)
    page.get_by_label("New password", exact=True).fill("123456789012")
    page.get_by_label("New password again").fill("123456789012")
    press(page, "Change password")
    expect(page.get_by_role("alert")).to_contain_text("numeric")
    look(page, "password-wrong")
    page.get_by_label("Current password").fill(OLD)
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("New password again").fill(NEW)
    press(page, "Change password")
    expect(page.get_by_text("Your password is changed.")).to_be_visible()

    follow(page.get_by_role("link", name="Second factor"))
    look(page, "second-factor")
    follow(page.get_by_role("link", name="Set up second factor"))
    look(page, "confirm")
    page.get_by_label("Password").fill(NEW)
    press(page, "Confirm")
    page.get_by_text("Enter the key by hand").click()
    look(page, "set-up")
    assert page.locator("img.qr").evaluate("picture => picture.naturalWidth") > 0
    secret = page.locator("#key").inner_text()
    page.get_by_label("Code", exact=True).fill(code_for(secret))
    press(page, "Turn on second factor")
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    look(page, "recovery-codes-hidden")
    press(page, "Show recovery codes")
    look(page, "recovery-codes")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download codes").click()
    recovery = page.locator(".recovery li").all_inner_texts()
    assert len(set(recovery)) == 10
    assert download.value.path().read_text().split() == recovery
    follow(page.get_by_role("link", name="Second factor"))
    look(page, "second-factor-on")
    for name, link in (("remove", "Remove second factor"), ("new-codes", "Create new codes")):
        follow(page.get_by_role("link", name=link))
        look(page, name)
        page.go_back()
    for name, link in (("e-mail", "E-mail"), ("sessions", "Sessions"), ("other-logins", "Other logins")):
        follow(page.get_by_role("link", name=link))
        look(page, name)

    page.locator(".menu-user > summary").click()
    press(page, "Log out")
    log_in(page, site, "ada", OLD)
    expect(page.get_by_role("alert")).to_be_visible()
    log_in(page, site, "ada", NEW)
    look(page, "code")
    assert not is_open(page, site)
    log_in(page, site, "ada", NEW)
    page.get_by_label("Code").fill(code_for(secret))
    press(page, "Log in")
    assert page.url == f"{site.url}/start/"

    other = browser.new_context().new_page()
    log_in(other, site, "ada", NEW)
    other.get_by_label("Code").fill(recovery[0])
    press(other, "Log in")
    assert is_open(other, site)
    press(other, "Log out everywhere else")
    assert not is_open(page, site)
    assert is_open(other, site)
    log_in(page, site, "ada", NEW)
    page.get_by_label("Code").fill(recovery[0])
    press(page, "Log in")
    expect(page.get_by_role("alert")).to_contain_text("not correct")
    assert look.found == []
    assert [error for error in errors if "Content Security Policy" in error] == []


def test_a_lost_password_comes_back_by_a_one_time_link(site: Site, browser: Browser, axe_script: str):
    look = Looked(axe_script)
    boss, page = browser.new_context().new_page(), browser.new_context().new_page()
    page.goto(f"{site.url}/accounts/login/")
    follow(page.get_by_role("link", name="Forgot your password?"))
    look(page, "reset")
    log_in(boss, site, "boss", OLD)
    key = site.manage(
        "shell",
        "--no-imports",
        "--command",
        "from accounts.models import User; print(User.objects.get(username='bea').pk)",
    ).strip()
    boss.goto(f"{site.url}/accounts/password/link/{key}/")
    look(boss, "make-link")
    press(boss, "Create link")
    look(boss, "link")
    link = boss.get_by_label("Link").input_value()
    page.goto(link)
    look(page, "new-password")
    page.get_by_label("New password", exact=True).fill(NEWEST)
    page.get_by_label("New password again").fill(NEWEST)
    press(page, "Set password")
    look(page, "new-password-set")
    follow(page.get_by_role("link", name="Log in"))
    log_in(page, site, "bea", NEWEST)
    assert is_open(page, site)
    page.goto(link)
    expect(page.get_by_role("heading", name="no longer works")).to_be_visible()
    look(page, "link-ended")
    page.goto(f"{site.url}/accounts/signup/")
    look(page, "sign-up-closed")
    assert look.found == []


def test_a_login_by_openid_connect(site: Site, provider: str, page: Page):
    page.goto(f"{site.url}/accounts/login/")
    page.get_by_role("button", name="Log in with Local university").click()
    page.wait_for_url(f"{provider}/**")
    page.locator("input[name=sub]").fill("s-bea")
    page.get_by_role("button", name="Authorize").click()
    page.wait_for_url(f"{site.url}/start/")
    expect(page.locator(".menu-user > summary")).to_contain_text("bea")
