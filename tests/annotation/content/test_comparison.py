"""Several people's documents side by side: steps, clusters, and what an adjudication starts from."""

from typing import Any

from analysis.gold_agreement import agreement
from analysis.programs import parse
from annotation.content.comparison import (
    build_agreement_item,
    build_draft,
    build_steps,
    list_letters,
    measure_disagreement,
)
from annotation.content.completeness import open_nodes
from annotation.content.operations import Edit, apply, check_document
from annotation.content.schemas import Chosen, Document
from tests.annotation.factories import BOXES, PROGRAM, SPANS, SPANS_PROGRAM, box, span

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


def test_it_works() -> None:
    found = build_steps(OF_BOXES, {"A": two_dogs(), "B": two_dogs(0.02)})
    assert [step.node for step in found] == [3, 2]
    assert all(step.unanimous for step in found)
    assert [sorted(one.members) for one in found[0].clusters] == [["A", "B"], ["A", "B"]]


def test_who_chose_differently_is_to_decide() -> None:
    find, chosen = build_steps(OF_BOXES, {"A": two_dogs(), "B": two_dogs(black="a")})
    assert find.unanimous
    assert not chosen.unanimous


def test_a_draft_holds_what_everybody_marked_and_leaves_the_rest_open() -> None:
    document = build_draft(OF_BOXES, {"A": two_dogs(), "B": two_dogs(0.02, black="a")}, (), "")
    check_document(document, OF_BOXES, BOXES)
    assert document.layers[3].state == "done"
    assert abs(document.layers[3].objects[0].box[0] - 0.11) < 1e-9  # in the middle of the two
    assert [one.ref for one in document.layers[2].objects if isinstance(one, Chosen)] == ["g3.0"]
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
    one = drawn({"node": 2, "put": [span("a", 2, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    other = drawn({"node": 2, "put": [span("x", 3, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    document = build_draft(OF_SPANS, {"A": one, "B": other, "C": other}, SPANS.tokens, SPANS.passage)
    check_document(document, OF_SPANS, SPANS)
    assert document.layers[2].objects[0].tokens == (3, 5)
    assert document.layers[2].state == "open"


def test_spans_with_other_borders_are_no_agreement() -> None:
    one = drawn({"node": 2, "put": [span("a", 2, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    other = drawn({"node": 2, "put": [span("x", 3, 5)], "state": "done"}, program=OF_SPANS, subject=SPANS)
    two, three = {"A": one, "B": other}, {"A": one, "B": other, "C": other}
    step = build_steps(OF_SPANS, three, SPANS.tokens)[0]
    [cluster] = step.clusters
    assert [sorted(variant.members) for variant in step.variants(cluster)] == [["B", "C"], ["A"]]
    assert not step.unanimous
    assert measure_disagreement(OF_SPANS, two, SPANS.tokens) == 0.5  # the other step has no objects
    assert measure_disagreement(OF_SPANS, three, SPANS.tokens) == 0.25
    assert measure_disagreement(OF_SPANS, {"B": other, "C": other}, SPANS.tokens) == 0


def test_agreement_compares_what_is_computed_too() -> None:
    item = build_agreement_item("i", OF_BOXES, {"A": two_dogs(), "B": two_dogs(black="a")})
    assert item.values["A"][1] == 2
    assert item.values["B"][1] == 1
    (parting,) = agreement([item], "boxes").partings
    assert parting.module == "filter"


def test_letters_go_on_after_z() -> None:
    assert list_letters(28)[-3:] == ["Z", "A2", "B2"]


def test_spans_of_characters_are_compared_by_characters():
    # Three people mark in 東京都, one token: two of them 東京, one 京都.
    tokens, passage = ((0, 3), (3, 5)), "東京都の人"
    program = parse("count(find[goals])", kind="spans")
    edges = {"A": (0, 2), "B": (0, 2), "C": (1, 3)}
    documents = {
        who: Document.model_validate(
            {"layers": {1: {"state": "done", "objects": [
                {"id": "s", "span": [start, end], "tokens": [0, 1], "quote": passage[start:end]}]}}}
        )
        for who, (start, end) in edges.items()
    }  # fmt: skip
    item = build_agreement_item("i", program, documents, tokens=tokens)
    assert item.tokens == 4
    assert [item.objects[who][1] for who in "ABC"] == [[(0, 2)], [(0, 2)], [(1, 3)]]
    [settled] = build_draft(program, documents, tokens, passage).layers[1].objects
    assert (settled.span, settled.tokens, settled.quote) == ((0, 2), (0, 1), "東京")
