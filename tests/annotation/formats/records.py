"""Items to write and read: hand-made ones, and any that hold together."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import PIL.Image
from hypothesis import settings
from hypothesis import strategies as st

from annotation.content.schemas import ItemRecord, Span
from annotation.formats.checks import check_record
from annotation.formats.texts import build_span, tokenize, trim_stretch

# Files are slow on a busy machine: how long an example takes says nothing here.
unhurried = settings(deadline=None, max_examples=60)

BOX_PROGRAM = "equal(count(find[dogs]), count(filter[black](find[dogs])))"  # find is 2, filter is 4
SPAN_PROGRAM = "find-max-num(find-num(filter[of the first half](find[field goals])))"  # 0 1 2 3
PASSAGE = "Élodie 👩\u200d👩\u200d👧 kicked a 49-yard field goal,\r\nthen\u00a0שלום e\u0301 hit 28 yards 🇬🇧."

# Characters that offsets get wrong: beyond the BMP, joined, combining, flags, two-character line ends, right
# to left, spaces that do not break.
HARD = (
    "👍🏽", "👩\u200d👩\u200d👧", "🇬🇧", "e\u0301", "\r\n", "\n", "\u00a0", " ", "שלום", "العربية", "न\u093f",
    "𝒳", "a", "Yard", "49", "1,000.5", "don't", ".", "-", "\u200b", "\t", '"', "\\",
)  # fmt: skip
texts = st.lists(
    st.sampled_from(HARD) | st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    min_size=1,
    max_size=30,
).map("".join)
passages = texts.filter(lambda text: bool(tokenize(text)))


def box_layers(prefix: str = "") -> dict[str, Any]:
    """Two dogs found, one of them chosen, and one new one with a reason."""
    dogs = [
        {"id": f"{prefix}a", "image": 0, "box": [0.1, 0.2, 0.3, 0.9]},
        {"id": f"{prefix}b", "image": 1, "box": [0.25, 0.0, 1.0, 0.5]},
    ]
    new = {"id": f"{prefix}d", "image": 1, "box": [0.5, 0.5, 0.75, 1.0], "reason": "not found below"}
    black = [{"id": f"{prefix}c", "ref": f"{prefix}a"}, new]
    return {
        "2": {"state": "done", "objects": dogs},
        "4": {"state": "unsure", "objects": black, "note": "dim"},
    }


def box_item(external_id: str = "dogs-1", **fields: Any) -> ItemRecord:
    """An image pair with gold and the work of two people."""
    document = {"layers": box_layers()}
    people = [
        {"annotator": "ann", "document": document, "revision": 7, "predictions_shown": ["nmn@2"],
         "started": datetime(2026, 3, 1, 9, 0, 30, tzinfo=UTC),
         "submitted": datetime(2026, 3, 1, 9, 4, tzinfo=UTC)},
        {"annotator": "bo", "status": "returned", "revision": 2, "document": {
            "layers": {"2": {"state": "nothing"}},
            "problem": {"kind": "wrong module", "node": 4,
                        "note": "black is no filter"}}},  # words: allow - test data
    ]  # fmt: skip
    images = [
        {"name": "pairs/left.png", "width": 64, "height": 48},
        {"name": "right.jpg", "width": 40, "height": 80},
    ]
    values: dict[str, Any] = {
        "external_id": external_id, "kind": "boxes", "program": BOX_PROGRAM, "answer": True, "images": images,
        "text": "All dogs are black.", "gold": document, "annotations": people,
        "extra": {"elsewhere": {"n": [1]}},
    }  # fmt: skip
    return check_record(ItemRecord.model_validate(values | fields))


def span_item(external_id: str = "game-1", passage: str = PASSAGE, **fields: Any) -> ItemRecord:
    """Return a passage with gold.

    It has two events, one of the first half, its number, and the largest.
    """
    tokens = tokenize(passage)

    def span(name: str, start: int, end: int, **more: Any) -> Span:
        return build_span(name, start, end, passage, tokens).model_copy(update=more)

    middle = max(1, len(passage) // 2)
    first, second = (
        span("e1", *_touching(passage, 0, middle)),
        span("e2", *_touching(passage, 0, len(passage))),
    )
    layers: dict[str, Any] = {
        "3": {"state": "done", "objects": [first, second]},
        "2": {"state": "done", "objects": [{"id": "f1", "ref": "e1"}]},
        "1": {"state": "done", "objects": [span("n1", *first.span, links=("f1",))], "value": 49},
        "0": {"state": "open", "note": "the longest"},
    }
    document = {"layers": layers}
    values: dict[str, Any] = {
        "external_id": external_id, "kind": "spans", "program": SPAN_PROGRAM,
        "text": "How long was the longest?", "passage": passage, "tokens": tokens, "answer": 49,
        "gold": document, "annotations": [{"annotator": "cleo", "document": document, "revision": 1}],
    }  # fmt: skip
    return check_record(ItemRecord.model_validate(values | fields))


def _touching(passage: str, start: int, end: int) -> tuple[int, int]:
    """Return the stretch without white space around it.

    A stretch of white space alone gives the first token.
    """
    first, last = trim_stretch(start, end, passage)
    return (first, last) if first < last else tokenize(passage)[0]


@st.composite
def box_items(draw: st.DrawFn) -> ItemRecord:
    """Image pairs with any boxes, on images of any size."""
    edges = st.floats(0, 1, width=32)
    boxes = draw(
        st.lists(
            st.tuples(st.integers(0, 1), edges, edges, edges, edges).filter(
                lambda box: abs(box[1] - box[3]) > 1e-3 and abs(box[2] - box[4]) > 1e-3
            ),
            max_size=6,
        )
    )
    objects = [
        {"id": f"o{number}", "image": image, "box": [min(x, u), min(y, v), max(x, u), max(y, v)]}
        for number, (image, x, y, u, v) in enumerate(boxes)
    ]
    picked = draw(st.lists(st.sampled_from(objects), unique_by=lambda mark: mark["id"])) if objects else []
    layers = {
        "2": {"state": "done" if objects else "nothing", "objects": objects},
        "4": {"state": "done", "objects": [{"id": f"c{mark['id']}", "ref": mark["id"]} for mark in picked]},
    }
    sizes = st.integers(1, 5000)
    images = [
        {"name": f"{name}.png", "width": draw(sizes), "height": draw(sizes)} for name in ("left", "right")
    ]
    return box_item(gold={"layers": layers}, annotations=[], images=images, text=draw(texts))


def picture(path: Path, size: tuple[int, int] = (64, 48), *, orientation: int = 1, **options: Any) -> Path:
    """An image file of that stored size, with an EXIF orientation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    PIL.Image.new("RGB", size, "grey").save(path, exif=exif, **options)
    return path
