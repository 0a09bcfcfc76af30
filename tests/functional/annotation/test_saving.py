"""Saving in the editor: offline, in two tabs, and after refusals.

Two tabs change the same, and a closed page leaves changes behind.
"""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from annotation.models import Role
from tests.annotation import factories
from tests.functional.annotation.conftest import Editor
from tests.functional.annotation.items import DOGS, FIND_DOGS, box, layer
from tests.functional.annotation.steps import at, drag, near, reload, saved

pytestmark = pytest.mark.service

OFFLINE_SECONDS = float(os.environ.get("TOUCHSTONE_OFFLINE_SECONDS", "3"))
STATUS = "#save-status"


def test_what_is_done_offline_is_kept_and_sent_later(editor: Editor, context: BrowserContext, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    saved(page)
    context.set_offline(True)
    drag(page, 0, (0.4, 0.1), (0.6, 0.3))
    expect(page.locator("#announcer")).to_contain_text("Offline: 1 change kept in this browser")
    drag(page, 0, (0.7, 0.1), (0.9, 0.3))
    expect(page.locator(STATUS)).to_have_text("⇡Offline: 2 changes kept in this browser")
    page.wait_for_timeout(OFFLINE_SECONDS * 1000)
    page.keyboard.press("d")
    expect(page.locator(STATUS)).to_contain_text("3 changes")
    assert len(editor.objects(annotation, FIND_DOGS)) == 1
    context.set_offline(False)
    saved(page)
    assert len(editor.objects(annotation, FIND_DOGS)) == 3
    assert editor.layer(annotation, FIND_DOGS)["state"] == "done"


def test_changes_outlive_the_page_while_the_site_is_down(editor: Editor, context: BrowserContext, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    editor.server.down = True
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    drag(page, 1, (0.1, 0.1), (0.3, 0.3))
    expect(page.locator(STATUS)).to_contain_text("2 changes kept in this browser")
    page.close()
    editor.server.down = False
    assert editor.objects(annotation, FIND_DOGS) == []
    again = editor.open(context.new_page(), annotation)
    saved(again)
    assert len(editor.objects(annotation, FIND_DOGS)) == 2
    again.keyboard.press("Control+z")
    saved(again)
    assert len(editor.objects(annotation, FIND_DOGS)) == 1


def test_leaving_the_page_right_after_an_edit_loses_nothing(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    page.goto("about:blank")
    editor.open(page, annotation)
    saved(page)
    assert len(editor.objects(annotation, FIND_DOGS)) == 1
    assert editor.revision(annotation) == 1  # sent on leaving or taken up after it, but applied once


def test_quick_edits_go_in_one_request(editor: Editor, page: Page):
    annotation = editor.make(**DOGS, layers={FIND_DOGS: layer(box("a", 0, 0.1, 0.1, 0.4, 0.4))})
    editor.open(page, annotation)
    sent: list[Route] = []

    def hold_the_first(route: Route) -> None:
        sent.append(route)
        if len(sent) > 1:
            route.continue_()

    page.route("**/operations/", hold_the_first)
    page.locator("#stage").focus()
    page.keyboard.press("Tab")
    for _press in range(40):
        page.keyboard.press("ArrowRight")
    while not sent:
        page.wait_for_timeout(20)
    sent[0].continue_()
    saved(page)
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0.1 + 40 / 640, 0.1, 0.4 + 40 / 640, 0.4), 1e-5)
    assert len(sent) <= 2  # what was done until the first was on its way, and all that was done meanwhile
    for _undo in range(editor.revision(annotation)):
        page.keyboard.press("Control+z")
    saved(page)
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0.1, 0.1, 0.4, 0.4), 1e-6)


def test_an_answer_that_got_lost_is_asked_for_again(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    lost: list[object] = []

    def lose(route):
        if lost:
            route.continue_()
        else:
            lost.append(route.fetch())  # the site has applied it, and nobody hears
            route.abort()

    page.route("**/operations/", lose)
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    expect(page.locator(STATUS)).to_contain_text("Offline")
    drag(page, 1, (0.1, 0.1), (0.3, 0.3))
    saved(page)
    assert len(editor.objects(annotation, FIND_DOGS)) == 2
    assert editor.revision(annotation) == 2


def two_tabs(editor: Editor, page: Page, other: Page) -> int:
    """Open one work in two profiles.

    The second one hears of the first one's changes only when it saves.
    """
    annotation = editor.make(
        **DOGS, layers={FIND_DOGS: layer(box("a", 0, 0.1, 0.1, 0.3, 0.3), box("b", 1, 0.5, 0.5, 0.7, 0.7))}
    )
    editor.open(page, annotation)
    editor.open(other, annotation)
    return annotation


@pytest.fixture
def other(context: BrowserContext) -> Page:
    """A page in another browser profile, as on another machine."""
    browser = context.browser
    assert browser
    return browser.new_context(viewport={"width": 1280, "height": 860}).new_page()


def test_changes_of_different_things_come_together_by_themselves(editor: Editor, page: Page, other: Page):
    annotation = two_tabs(editor, page, other)
    page.mouse.click(*at(page, 0, 0.2, 0.2))
    drag(page, 0, (0.2, 0.2), (0.4, 0.4))
    saved(page)
    drag(other, 1, (0.1, 0.1), (0.3, 0.3))
    saved(other)
    expect(other.get_by_role("dialog")).to_have_count(0)
    expect(other.locator(".object-row")).to_have_count(3)
    assert len(editor.objects(annotation, FIND_DOGS)) == 3
    near(editor.objects(annotation, FIND_DOGS)[0]["box"], (0.3, 0.3, 0.5, 0.5))
    other.context.close()


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        pytest.param("Mine", {(0.1, 0.5)}, marks=pytest.mark.soak),
        pytest.param("Theirs", {(0.4, 0.4)}, marks=pytest.mark.soak),
        ("Keep both", {(0.1, 0.5), (0.4, 0.4)}),
    ],
)
def test_changes_of_the_same_thing_are_put_before_the_person(
    editor: Editor, page: Page, other: Page, choice: str, left: set[tuple[float, float]]
):
    annotation = two_tabs(editor, page, other)
    page.mouse.click(*at(page, 0, 0.2, 0.2))
    drag(page, 0, (0.2, 0.2), (0.5, 0.5))
    saved(page)
    other.context.set_offline(True)  # or the conflict might come before the second box, and stand in its way
    other.mouse.click(*at(other, 0, 0.2, 0.2))
    drag(other, 0, (0.2, 0.2), (0.2, 0.6))
    drag(other, 1, (0.1, 0.1), (0.3, 0.3))
    expect(other.locator(".object-row")).to_have_count(3)
    other.context.set_offline(False)
    dialog = other.get_by_role("dialog")
    expect(dialog).to_contain_text("Conflicting changes")
    other.keyboard.press("Escape")  # no way round choosing
    expect(dialog).to_be_visible()
    reload(other)  # and nothing is lost by leaving
    expect(dialog).to_be_visible()
    dialog.get_by_text(choice, exact=True).click()
    dialog.get_by_role("button", name="Apply selection").click()
    saved(other)
    marks = editor.objects(annotation, FIND_DOGS)
    corners = {(round(mark["box"][0], 1), round(mark["box"][1], 1)) for mark in marks}
    assert corners == left | {(0.5, 0.5), (0.1, 0.1)}
    other.context.close()


def test_a_lost_answer_hides_nothing_that_came_after_it(editor: Editor, page: Page, other: Page):
    annotation = two_tabs(editor, page, other)
    lost: list[object] = []

    def lose(route):
        if lost:
            route.continue_()
        else:
            lost.append(route.fetch())
            drag(other, 1, (0.1, 0.1), (0.3, 0.3))
            saved(other)
            route.abort()

    page.route("**/operations/", lose)
    drag(page, 0, (0.5, 0.5), (0.8, 0.8))
    expect(page.locator(".object-row")).to_have_count(4)
    saved(page)
    assert len(editor.objects(annotation, FIND_DOGS)) == 4
    assert editor.revision(annotation) == 2
    other.context.close()


def test_a_choice_of_what_somebody_else_deletes_is_a_conflict(editor: Editor, page: Page, other: Page):
    annotation = two_tabs(editor, page, other)
    page.mouse.click(*at(page, 0, 0.2, 0.2))
    page.keyboard.press("Delete")
    saved(page)
    other.keyboard.press("d")
    other.keyboard.press("1")
    dialog = other.get_by_role("dialog")
    expect(dialog).to_contain_text("Deleted.")
    dialog.get_by_role("button", name="Apply selection").click()  # mine: it comes back, and is chosen
    saved(other)
    assert {mark["id"] for mark in editor.objects(annotation, FIND_DOGS)} == {"a", "b"}
    assert [choice["ref"] for choice in editor.objects(annotation, 4)] == ["a"]
    other.context.close()


def test_a_tab_of_the_same_browser_follows_along(editor: Editor, context: BrowserContext, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    second = editor.open(context.new_page(), annotation)
    drag(second, 0, (0.1, 0.1), (0.3, 0.3))
    expect(page.locator(".object-row")).to_have_count(1)


def test_a_refusal_is_said_and_only_that_change_taken_back(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)

    def refuse(route):
        first = route.request.post_data_json["operations"][0]
        body = {"detail": "A box is too small.", "operation": first["id"], "field": "put.0.box"}
        route.fulfill(status=422, json=body)

    page.route("**/operations/", refuse)
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    expect(page.locator("#notice")).to_contain_text("A box is too small.")
    expect(page.locator(STATUS)).to_contain_text("Not saved: 1 change kept in this browser")
    drag(page, 1, (0.5, 0.5), (0.7, 0.7))
    expect(page.locator(STATUS)).to_contain_text("2 changes")
    page.unroute("**/operations/")
    page.get_by_role("button", name="Discard this change").click()
    saved(page)
    expect(page.locator(".object-row")).to_have_count(1)
    assert [mark["image"] for mark in editor.objects(annotation, FIND_DOGS)] == [1]


def test_a_lost_place_closes_the_work_and_says_so(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    page.route(
        "**/operations/",
        lambda route: route.fulfill(
            status=410,
            json={"detail": "The reservation ended; what you did is kept."},  # words: allow - test data
        ),
    )
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    expect(page.locator("#notice")).to_contain_text("The reservation ended")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()


def test_a_new_login_in_another_tab_saves_what_waited(editor: Editor, context: BrowserContext, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    context.clear_cookies()
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    link = page.get_by_role("link", name="Log in in a new tab")
    expect(link).to_have_attribute("target", "_blank")
    expect(page.locator(STATUS)).to_contain_text("Not saved: 1 change kept in this browser")
    drag(page, 1, (0.5, 0.5), (0.7, 0.7))
    with context.expect_page() as opened:
        link.click()
    expect(opened.value.get_by_label("Password", exact=True)).to_be_visible()
    editor.log_in(page, editor.row(annotation).annotator)  # with a new token against forged requests
    saved(page)
    expect(page.locator("#notice")).to_be_hidden()
    assert len(editor.objects(annotation, FIND_DOGS)) == 2
    for _step in range(2):
        page.keyboard.press("u")
    saved(page)
    context.clear_cookies()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("button", name="Submit anyway").click()
    expect(page.locator(".foot-message").get_by_role("link")).to_have_text("Log in in a new tab")
    assert editor.row(annotation).status == "reserved"


def test_a_page_that_cannot_be_fetched_is_no_logout(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    page.route("**/operations/", lambda route: route.fulfill(status=403, json={"detail": "CSRF Failed."}))
    page.route(page.url, lambda route: route.abort())
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    expect(page.locator(STATUS)).to_contain_text("Offline: 1 change kept in this browser")
    page.unroute_all()
    saved(page)
    assert len(editor.objects(annotation, FIND_DOGS)) == 1


@pytest.mark.parametrize("role", [None, Role.ADJUDICATOR])
def test_another_account_does_not_take_what_waits(editor: Editor, page: Page, role: Role | None):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    project = editor.row(annotation).item.project
    editor.log_in(page, factories.make_member(project, role).user if role else factories.make_user())
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    expect(page.locator("#notice")).to_contain_text("Another account is logged in now.")
    expect(page.locator(STATUS)).to_contain_text("Not saved: 1 change kept in this browser")
    assert not editor.objects(annotation, FIND_DOGS)
    editor.log_in(page, editor.row(annotation).annotator)
    saved(page)
    expect(page.locator("#notice")).to_be_hidden()
    assert len(editor.objects(annotation, FIND_DOGS)) == 1


def test_lost_access_is_explained(editor: Editor, page: Page):
    annotation = editor.make(**DOGS)
    editor.open(page, annotation)
    page.route("**/operations/", lambda route: route.fulfill(status=404, json={"detail": "Not found."}))
    drag(page, 0, (0.1, 0.1), (0.3, 0.3))
    expect(page.locator("#notice")).to_contain_text("You have no access to this item any more.")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()


def test_nothing_is_chosen_beforehand_where_mine_is_deleted(editor: Editor, page: Page, other: Page):
    annotation = two_tabs(editor, page, other)
    page.mouse.click(*at(page, 0, 0.2, 0.2))
    drag(page, 0, (0.2, 0.2), (0.4, 0.4))
    saved(page)
    other.mouse.click(*at(other, 0, 0.2, 0.2))
    other.keyboard.press("Delete")
    dialog = other.get_by_role("dialog")
    expect(dialog).to_contain_text("Deleted.")
    expect(dialog.locator("input:checked")).to_have_count(0)
    dialog.get_by_role("button", name="Apply selection").click()
    expect(dialog).to_be_visible()  # the browser asks for a choice
    dialog.get_by_text("Theirs", exact=True).click()
    dialog.get_by_role("button", name="Apply selection").click()
    saved(other)
    assert len(editor.objects(annotation, FIND_DOGS)) == 2
    other.context.close()
