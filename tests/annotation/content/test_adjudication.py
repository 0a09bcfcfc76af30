"""A draft of an adjudication has what everybody marked; the rest is open."""

from annotation.content.adjudication import build_draft
from annotation.content.completeness import open_nodes
from annotation.content.operations import check_document
from annotation.content.schemas import Chosen
from tests.annotation.content.documents import OF_BOXES, OF_SPANS, drawn, two_dogs
from tests.annotation.factories import BOXES, SPANS, box, span


def test_a_draft_holds_what_everybody_marked_and_leaves_the_rest_open() -> None:
    document = build_draft(OF_BOXES, {"A": two_dogs(), "B": two_dogs(0.02, black="a")}, (), "")
    check_document(document, OF_BOXES, BOXES)
    assert document.layers[3].state == "done"
    assert abs(document.layers[3].objects[0].box[0] - 0.11) < 1e-9  # in the middle of the two
    assert [mark.ref for mark in document.layers[2].objects if isinstance(mark, Chosen)] == ["g3.0"]
    assert open_nodes(document, OF_BOXES) == [2]


def test_a_draft_of_full_agreement_is_finished() -> None:
    assert open_nodes(build_draft(OF_BOXES, {"A": two_dogs(), "B": two_dogs()}, (), ""), OF_BOXES) == []


def test_nothing_here_by_all_is_nothing_here() -> None:
    nothing = drawn({"node": 3, "state": "nothing"}, {"node": 2, "state": "nothing"})
    assert build_draft(OF_BOXES, {"A": nothing, "B": nothing}, (), "").layers[3].state == "nothing"


def test_who_was_unsure_makes_a_step_one_to_decide() -> None:
    unsure = drawn({"node": 3, "put": [box("a")], "state": "unsure"}, {"node": 2, "state": "nothing"})
    assert build_draft(OF_BOXES, {"A": unsure, "B": unsure}, (), "").layers[3].state == "open"


def test_new_objects_where_one_chooses_stay_new() -> None:
    edits = (
        {"node": 3, "state": "nothing"},
        {"node": 2, "put": [box("n", reason="missed")], "state": "done"},
    )
    document = build_draft(OF_BOXES, {"A": drawn(*edits), "B": drawn(*edits)}, (), "")
    check_document(document, OF_BOXES, BOXES)
    assert document.layers[2].objects[0].reason


def test_spans_are_settled_on_what_most_chose() -> None:
    wide = drawn({"node": 2, "put": [span("a", 2, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    narrow = drawn({"node": 2, "put": [span("x", 3, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    document = build_draft(OF_SPANS, {"A": wide, "B": narrow, "C": narrow}, SPANS.tokens, SPANS.passage)
    check_document(document, OF_SPANS, SPANS)
    assert document.layers[2].objects[0].tokens == (3, 5)
    assert document.layers[2].state == "open"
