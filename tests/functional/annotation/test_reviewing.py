"""Adjudication in a real browser, and the pages around the editor.

The pages are accessible, and no wider than a phone.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from annotation.actions import assignments, review
from annotation.actions.editing import take_back
from annotation.content.schemas import Chosen
from annotation.models import Annotation, Gold, Project, Role
from annotation.parsed_items import parse_document
from tests.annotation import factories
from tests.functional.annotation.conftest import DESKTOP, PHONE, Editor
from tests.functional.annotation.steps import saved
from tests.functional.annotation.test_editor import problems
from tests.functional.pages import fits

pytestmark = pytest.mark.service


def disagreement() -> tuple[Project, Any]:
    """Return a project with an item on which annotators disagree.

    The item has two black dogs: both annotators drew both, only one of them chose both. The project comes
    with its judge.
    """
    project = factories.make_project(annotators_per_item=2)
    factories.make_items(project)
    for chosen in ("ab", "a"):
        annotation = assignments.assign_next_annotation(member=factories.make_member(project))
        edits = [
            factories.operation(0, 3, put=[factories.box("a"), factories.box("b", at=0.5)], state="done"),
            factories.operation(1, 2, put=[{"id": f"c{name}", "ref": name} for name in chosen], state="done"),
        ]
        factories.save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator)
        factories.submit(annotation=annotation.pk, revision=2, by=annotation.annotator)
    return project, factories.make_member(project, Role.MANAGER)


def test_what_one_annotator_saw_is_taken_over_and_becomes_the_gold(editor: Editor, page: Page):
    project, judge = disagreement()
    editor.log_in(page, judge.user)
    page.goto(f"{editor.server.url}/annotate/{project.slug}/review/")
    page.get_by_role("link", name="i1").click()
    page.get_by_role("button", name="Adjudicate").click()
    expect(page.locator("#editor[data-ready]")).to_be_attached()
    expect(page.get_by_role("heading", name="Annotators’ marks")).to_be_visible()
    expect(page.locator(".cluster")).to_have_count(2)
    page.get_by_role("button", name="Add group 2, of A").press("Enter")
    expect(page.locator(".cluster .choice")).to_have_count(2)
    page.keyboard.press("d")
    saved(page)
    page.get_by_role("button", name="Set as gold").click()
    expect(page).to_have_url(f"{editor.server.url}/annotate/{project.slug}/review/")
    gold = parse_document(Gold.objects.get(current=True).document)
    assert [choice.ref for choice in gold.layers[2].objects if isinstance(choice, Chosen)] == ["g3.0", "g3.1"]
    assert (
        Annotation.objects.filter(task=Annotation.Task.ANNOTATION, status=Annotation.Status.ACCEPTED).count()
        == 2
    )


def test_a_returned_item_is_redone_by_touch(editor: Editor, browser: Browser):
    project, judge = disagreement()
    annotation = project.annotations.order_by("pk")[0]
    review.return_annotation(annotation=annotation, revision=2, text="Only the left dog.", by=judge.user)
    page = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    editor.log_in(page, annotation.annotator)
    page.goto(f"{editor.server.url}/annotate/{project.slug}/")
    page.get_by_role("link", name="Continue").tap()
    expect(page.locator("#editor[data-ready]")).to_be_attached()
    expect(page.locator(".returned")).to_contain_text("Only the left dog.")
    expect(page.locator(".foot-steps .button").first).to_be_disabled()  # it begins with the first step
    page.get_by_role("button", name="Unsure").tap()
    saved(page)
    page.get_by_role("button", name="Submit").tap()
    expect(page).to_have_url(f"{editor.server.url}/annotate/{project.slug}/")
    page.context.close()
    annotation.refresh_from_db()
    assert annotation.status == Annotation.Status.SUBMITTED
    assert parse_document(annotation.document).layers[3].state == "unsure"


def test_a_decision_from_a_page_that_is_out_of_date_changes_nothing_and_loses_nothing(
    editor: Editor, page: Page
):
    project, judge = disagreement()
    first, second = project.annotations.order_by("pk")
    editor.log_in(page, judge.user)
    page.goto(f"{editor.server.url}/annotate/{project.slug}/items/{first.item_id}/")
    take_back(annotation=first.pk, by=first.annotator)
    row = page.get_by_role("row", name="A Submitted")
    row.get_by_text("Return to A").click()
    row.get_by_label("Requested changes").fill("The left dog, please.")
    row.get_by_role("button", name="Return annotation").click()
    expect(page.get_by_role("alert")).to_contain_text("The left dog, please.")
    page.get_by_role("button", name="Accept A as gold").click()  # the second is A now, and so it says
    expect(page.get_by_text("Accepted annotation A as the gold of this item.")).to_be_visible()
    assert Gold.objects.get(current=True).annotation == second


def test_the_pages_around_the_editor_have_no_accessibility_problems(
    editor: Editor, browser: Browser, axe_script: str
):
    width = DESKTOP["width"]  # test_every_page_in_browser opens them at 320 pixels
    project, judge = disagreement()
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    editor.log_in(page, judge.user)
    base = f"{editor.server.url}/annotate/{project.slug}/"
    item = project.items.get()
    addresses = [
        "",
        "review/",
        f"items/{item.pk}/",
        "agreement/",
        "items/",
        "items/upload/",
        "members/",
        "settings/",
        "webhooks/",
        "export/",
        "guidelines/",
        "audit/",
    ]
    findings = []
    for address in ["../", *addresses]:
        page.goto(base + address)
        findings += [f"{address}: {problem}" for problem in problems(page, axe_script)]
        if not fits(page):
            findings.append(f"{address}: wider than {width} px")
    context.close()
    assert not findings, "\n".join(findings)
