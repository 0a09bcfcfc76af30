"""A counterfactual instance is confirmed in the editor, step by step.

It is drawn as drafted.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from analysis.counterfactuals.drafts import draft
from annotation.formats.counterfactuals import build_item, list_step_nodes
from tests.annotation.formats.test_counterfactuals import SANG
from tests.functional.annotation.conftest import Editor
from tests.functional.annotation.steps import saved

pytestmark = pytest.mark.service


def test_a_draft_is_confirmed_by_keys(editor: Editor, page: Page):
    """D confirms a step and goes on to the next open one.

    The draft stays.
    """
    (instance, *_) = draft([SANG], extents=["paragraphs"]).instances
    record = build_item(instance)
    annotation = editor.make(
        layers=record.extra["draft"]["layers"], kind="spans", program=record.program, text=record.text,
        passage=record.passage, tokens=record.tokens, extra=record.extra,
    )  # fmt: skip
    editor.open(page, annotation)
    for _ in list_step_nodes():
        page.keyboard.press("d")
        saved(page)
    assert [editor.layer(annotation, node)["state"] for node in list_step_nodes()] == ["done"] * 4
    assert [mark["quote"] for mark in editor.objects(annotation, list_step_nodes()[0])] == ["Ann"]
