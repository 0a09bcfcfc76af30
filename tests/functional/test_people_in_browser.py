"""Colleagues in a real browser, from the invitation to their work.

They sign up and use a second factor; strangers and analysts come, too.

With SCREENSHOTS set to a folder, pictures of the pages are written there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.accounts.people import code_for
from tests.functional.pages import follow
from tests.functional.test_accounts_in_browser import Looked, log_in, press
from tests.site import EmptySite, Site

pytestmark = pytest.mark.service

PASSWORD = "a harbour in the fog"
FILL = f"""
from accounts.models import Role, User
from tests.access.world import make_world
from tests.workspaces import give
for name, slug, role in (("ada", "main", "owner"), ("ina", "main", "analyst"), ("eve", "elsewhere", "owner")):
    world = make_world(slug) if role == "owner" else world
    user = User.objects.create_user(name, f"{{name}}@example.org", {PASSWORD!r})
    give(user, Role(role), workspace=world.workspace)
    if slug == "main":
        print(world.study.slug, world.project.slug)
"""


@pytest.fixture(scope="module")
def site(empty_site: EmptySite) -> Iterator[Site]:
    with empty_site(extra={"WEBHOOK_ALLOW_PRIVATE": "true"}) as running:
        yield running


@pytest.fixture(scope="module")
def names(site: Site) -> tuple[str, str]:
    """The short names of the study and the project of the main workspace."""
    lines = site.manage("shell", "--no-imports", "--command", FILL).split("\n")
    study, project = next(line for line in lines if line.strip()).split()
    return study, project


def test_an_invited_colleague_signs_up_and_works(
    site: Site, names: tuple[str, str], browser: Browser, axe_script: str
):
    look, study = Looked(axe_script), names[0]
    ada, bea = browser.new_context().new_page(), browser.new_context().new_page()
    log_in(ada, site, "ada", PASSWORD)
    follow(ada.get_by_role("link", name="People", exact=True))
    look(ada, "workspaces")
    follow(ada.get_by_role("link", name="Main", exact=True))
    look(ada, "people")
    pending = ada.get_by_role("button", name="Revoke").count()
    follow(ada.get_by_role("link", name="Invite a person"))
    ada.get_by_label("Role").select_option("researcher")
    look(ada, "invite")
    press(ada, "Create invitation")
    look(ada, "invited")
    link = ada.get_by_label("Link").input_value()
    ada.reload()  # comes to the list, and invites nobody else
    expect(ada.get_by_role("button", name="Revoke")).to_have_count(pending + 1)

    bea.goto(link)
    look(bea, "invitation")
    follow(bea.get_by_role("link", name="Create account"))
    bea.get_by_label("User name").fill("bea")
    bea.get_by_label("Password", exact=True).fill(PASSWORD)
    bea.get_by_label("Password again").fill(PASSWORD)
    look(bea, "sign-up")
    press(bea, "Create account")
    press(bea, "Accept invitation")
    expect(bea.locator(".menu-user > summary")).to_contain_text("bea")

    set_up_second_factor(bea, site)
    bea.goto(f"{site.url}/staff/studies/{study}/")
    press(bea, "Pause")
    expect(bea.get_by_text("Study paused.", exact=False)).to_be_visible()
    used = browser.new_context().new_page()
    used.goto(link)
    expect(used.locator("main")).to_contain_text("has been used")
    look(used, "invitation-used")
    assert look.found == []


def test_a_secret_is_made_once_though_its_page_is_reloaded(
    site: Site, names: tuple[str, str], browser: Browser, axe_script: str
):
    look, (study, project) = Looked(axe_script), names
    ada = browser.new_context().new_page()
    log_in(ada, site, "ada", PASSWORD)

    ada.goto(f"{site.url}/account/tokens/")
    tokens = ada.get_by_role("button", name="Revoke").count()
    ada.get_by_label("Name").fill("script")
    press(ada, "Create token")
    look(ada, "token")
    expect(ada.get_by_label("Token", exact=True)).to_be_visible()
    ada.reload()
    expect(ada.get_by_label("Token", exact=True)).to_have_count(0)
    expect(ada.get_by_role("button", name="Revoke")).to_have_count(tokens + 1)

    ada.goto(f"{site.url}/staff/studies/{study}/settings/")
    links = ada.locator("#links-title ~ table tbody tr").count()
    ada.get_by_role("button", name="Create link").focus()
    ada.keyboard.press("Enter")
    expect(ada.get_by_role("heading", name="New entry link")).to_be_visible()
    look(ada, "entry-link")
    ada.reload()
    expect(ada.get_by_role("heading", name="New entry link")).to_have_count(0)
    expect(ada.locator("#links-title ~ table tbody tr")).to_have_count(links + 1)

    ada.goto(f"{site.url}/staff/studies/{study}/participants/")
    follow(ada.locator("main tbody th a").first)
    ada.get_by_role("button", name="Replace personal link").click()
    follow(ada.get_by_role("dialog").get_by_role("button", name="Replace personal link"))
    personal = ada.locator("[data-once]").input_value()
    look(ada, "personal-link")
    ada.reload()
    expect(ada.get_by_role("heading", name="New personal link")).to_have_count(0)
    assert ada.request.get(personal).ok  # a second link would have ended this one

    for path in (f"staff/studies/{study}", f"annotate/{project}"):
        ada.goto(f"{site.url}/{path}/webhooks/")
        hooks = ada.get_by_role("button", name="End webhook").count()
        ada.get_by_label("Address").fill("http://127.0.0.1:9/hook")
        press(ada, "Add webhook")
        look(ada, f"webhook-{path.partition('/')[0]}")
        expect(ada.get_by_label("Secret", exact=True)).to_be_visible()
        ada.reload()
        expect(ada.get_by_label("Secret", exact=True)).to_have_count(0)
        expect(ada.get_by_role("button", name="End webhook")).to_have_count(hooks + 1)
    assert look.found == []


def set_up_second_factor(page: Page, site: Site) -> None:
    """Set one up, log out, and log in with a code."""
    page.goto(f"{site.url}/accounts/2fa/totp/activate/")
    if page.get_by_label("Password").count():
        page.get_by_label("Password").fill(PASSWORD)
        press(page, "Confirm")
    page.get_by_text("Enter the key by hand").click()
    secret = page.locator("#key").inner_text()
    page.get_by_label("Code", exact=True).fill(code_for(secret))
    press(page, "Turn on second factor")
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    page.locator(".menu-user > summary").click()
    press(page, "Log out")
    log_in(page, site, "bea", PASSWORD)
    page.get_by_label("Code").fill(code_for(secret))
    press(page, "Log in")


def test_a_person_of_another_workspace_finds_nothing(site: Site, names: tuple[str, str], browser: Browser):
    study, project = names
    eve = browser.new_context().new_page()
    log_in(eve, site, "eve", PASSWORD)
    for path in (
        f"/staff/studies/{study}/", f"/staff/studies/{study}/members/", f"/staff/studio/{study}/review/",
        f"/annotate/{project}/", f"/annotate/{project}/members/", "/people/main/", "/people/main/audit/",
        f"/api/v1/studies/{study}/", f"/api/v1/studies/{study}/participants/",
        f"/api/v1/projects/{project}/items/",
    ):  # fmt: skip
        response = eve.goto(f"{site.url}{path}")
        assert response is not None
        assert response.status == 404, path
    eve.goto(f"{site.url}/staff/")
    assert study not in eve.content()


def test_an_analyst_reads_and_is_told_why_they_may_not_more(
    site: Site, names: tuple[str, str], browser: Browser
):
    study, _project = names
    ina = browser.new_context().new_page()
    log_in(ina, site, "ina", PASSWORD)
    ina.goto(f"{site.url}/staff/studies/{study}/")
    assert ina.get_by_role("button", name="Pause").count() == 0
    for path in (f"/staff/studio/{study}/review/", f"/staff/studies/{study}/members/", "/people/main/"):
        response = ina.goto(f"{site.url}{path}")
        assert response is not None
        assert response.status == 403, path
        expect(ina.locator("main")).to_contain_text("With the role Analyst you may not")
