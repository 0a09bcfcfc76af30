"""Pictures of every kind of mark in the editor, which stay alike.

They lie beside this file. With RENEW_PICTURES=1 they are taken again; look at them before they are committed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.content.schemas import Document
from annotation.models import Annotation
from tests.functional.annotation.conftest import Editor
from tests.functional.annotation.test_plain_tasks import TEXT, make
from tests.functional.compared_pictures import lasting_difference, picture_of

pytestmark = pytest.mark.service

PICTURES = Path(__file__).parent / "pictures"
MOST_DIFFERENT = 0.001  # of the pixels: the line of a mark has more
WORDS = """
layers:
  - {type: spans, name: spans, labels: [Person, Place, Part]}
  - {type: relations, name: relations, labels: [lives in]}
"""
SHAPES = """
layers:
  - {type: boxes, name: boxes, labels: [Ball, Tower]}
  - {type: polygons, name: polygons, labels: [Ball, Tower]}
  - {type: ellipses, name: ellipses, labels: [Ball]}
  - {type: points, name: points, labels: [Top, Bottom]}
"""


def span(name: str, quote: str, tokens: tuple[int, int], label: str) -> dict[str, Any]:
    start = TEXT.index(quote)
    return {"id": name, "span": [start, start + len(quote)], "tokens": tokens, "quote": quote, "label": label}


IN_WORDS = {
    1: [
        span("a", "Ada Lovelace", (0, 2), "Person"),
        span("b", "London", (6, 7), "Place"),
        span("c", "Babb", (4, 5), "Part"),  # characters of a word
    ],
    2: [{"id": "r", "ends": ["a", "b"], "label": "lives in"}],
}
IN_IMAGES: dict[int, list[dict[str, Any]]] = {
    1: [
        {"id": "a", "box": [0.1, 0.1, 0.4, 0.5], "label": "Ball"},
        {"id": "b", "box": [0.3, 0.4, 0.6, 0.9], "label": "Tower"},
    ],
    2: [{"id": "c", "polygon": [[0.5, 0.1], [0.9, 0.2], [0.8, 0.6], [0.6, 0.4]], "label": "Tower"}],
    3: [{"id": "d", "box": [0.2, 0.2, 0.8, 0.6], "shape": "ellipse", "label": "Ball"}],
    4: [
        {"id": "e", "point": [0.3, 0.3], "label": "Top"},
        {"id": "f", "point": [0.7, 0.8], "label": "Bottom"},
    ],
}


@pytest.mark.parametrize(
    ("task", "kind", "marks"),
    [(WORDS, "spans", IN_WORDS), (SHAPES, "boxes", IN_IMAGES)],
    ids=["words", "images"],
)
def test_marks_look_as_they_did(
    editor: Editor, page: Page, task: str, kind: str, marks: dict[int, list[dict[str, Any]]]
) -> None:
    [pk] = make(editor, task, kind)
    layers = {
        node: {
            "state": "done",
            "objects": [({"image": 0} if kind == "boxes" else {}) | mark for mark in several],
        }
        for node, several in marks.items()
    }
    document = Document.model_validate({"layers": layers}).model_dump(mode="json")
    Annotation.objects.filter(pk=pk).update(document=document)
    page.set_viewport_size({"width": 1280, "height": 420 if kind == "spans" else 560})
    editor.open(page, pk)
    different = []
    for node in marks:
        name = page.locator("#step-title").inner_text()
        shown = page.locator(".passage" if kind == "spans" else ".sheet")
        expect(page.locator(".object-row").first).to_be_visible()
        path = PICTURES / f"{name}.png"
        if os.environ.get("RENEW_PICTURES"):
            PICTURES.mkdir(exist_ok=True)
            picture_of(shown).save(path, optimize=True)
        elif share := lasting_difference(shown, path, MOST_DIFFERENT):
            different.append(f"{path.name}: {share:.1%} of the pixels")
        if node < max(marks):
            page.keyboard.press(".")
            expect(page.locator("#step-title")).not_to_have_text(name)
    assert not different, "\n".join(different)
