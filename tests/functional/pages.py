"""Steps from page to page in a browser.

A click returns before the next page is there, and so do keys.
"""

from playwright.sync_api import Locator, Page

# For the shell: a user who owns the only workspace of a site.
ADD_OWNER = """
from accounts.actions.workspaces import give_role
from accounts.models import Role, User, Workspace
user = User.objects.create_user({name!r}, password={password!r})
give_role(workspace=Workspace.objects.get(), user=user, role=Role.OWNER, by=None)
"""


def fits(page: Page) -> bool:
    """Return whether the page is no wider than its window.

    Scripts may need time to hear of the window's new size.
    """
    for _look in range(10):
        if page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"):
            return True
        page.wait_for_timeout(300)
    return False


def follow(what: Locator) -> None:
    """Click what leads to a page, and return when that page has been loaded."""
    with what.page.expect_navigation():
        what.click()


def enter(page: Page) -> None:
    """Press Enter, and return when the next page has been loaded."""
    with page.expect_navigation():
        page.keyboard.press("Enter")
