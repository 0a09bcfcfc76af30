"""Documents that several people draw, to compare them."""

from typing import Any

from analysis.programs import parse
from annotation.content.operations import Edit, apply
from annotation.content.schemas import Document
from tests.annotation.factories import BOXES, PROGRAM, SPANS_PROGRAM, box

OF_BOXES = parse(PROGRAM, kind="boxes")
OF_SPANS = parse(SPANS_PROGRAM, kind="spans")


def drawn(*edits: dict[str, Any], program: Any = OF_BOXES, subject: Any = BOXES) -> Document:
    document = Document()
    for edit in edits:
        document, _inverse = apply(document, Edit.model_validate(edit), program, subject)
    return document


def two_dogs(shift: float = 0.0, *, black: str = "ab") -> Document:
    """Two dogs; those named in ``black`` are chosen."""
    put = [box("a", at=0.1 + shift), box("b", at=0.6 + shift)]
    chosen = [{"id": f"c{name}", "ref": name} for name in black]
    return drawn({"node": 3, "put": put, "state": "done"}, {"node": 2, "put": chosen, "state": "done"})
