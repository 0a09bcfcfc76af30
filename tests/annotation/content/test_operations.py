"""Operations edit documents by the rules, and each can be undone."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.programs import parse
from annotation.content.completeness import execute_document, open_nodes, resolve_references
from annotation.content.operations import Edit, apply, check_document
from annotation.content.schemas import Document
from annotation.errors import BadEdit
from tests.annotation.factories import BOXES, PROGRAM, SPANS, SPANS_PROGRAM, box, span

PROGRAM_OF_BOXES = parse(PROGRAM, kind="boxes")
PROGRAM_OF_SPANS = parse(SPANS_PROGRAM, kind="spans")


def edited(*edits: dict[str, Any], document: Document | None = None) -> Document:
    document = document or Document()
    for edit in edits:
        document, _inverse = apply(document, Edit.model_validate(edit), PROGRAM_OF_BOXES, BOXES)
    return document


TWO = {"node": 3, "put": [box("a"), box("b", image=1)], "state": "done"}


def test_it_works() -> None:
    document = edited(TWO, {"node": 2, "put": [{"id": "c", "ref": "b"}], "state": "done"})
    assert [mark.id for mark in document.layers[3].objects] == ["a", "b"]
    assert execute_document(document, PROGRAM_OF_BOXES).values == (False, 1, 1, 2, 2)
    assert [shape.box for shape in resolve_references(document, PROGRAM_OF_BOXES)[2]] == [
        (0.1, 0.1, 0.1 + 0.2, 0.5)
    ]
    assert open_nodes(document, PROGRAM_OF_BOXES) == []


def test_moving_a_box_moves_what_was_chosen_from_it() -> None:
    document = edited(
        TWO, {"node": 2, "put": [{"id": "c", "ref": "b"}]}, {"node": 3, "put": [box("b", at=0.6)]}
    )
    assert resolve_references(document, PROGRAM_OF_BOXES)[2][0].box[0] == 0.6


def test_removing_a_box_takes_what_refers_to_it_along_and_undo_brings_all_back() -> None:
    before = edited(TWO, {"node": 2, "put": [{"id": "c", "ref": "b"}], "state": "done"})
    after, inverse = apply(before, Edit(node=3, remove=("b",)), PROGRAM_OF_BOXES, BOXES)
    assert after.layers[2].objects == ()
    again, _redo = apply(after, Edit.model_validate(inverse), PROGRAM_OF_BOXES, BOXES)
    assert again == before


def test_the_program_is_wrong_can_be_said_and_taken_back() -> None:
    document, inverse = apply(
        Document(),
        Edit.model_validate({"problem": {"kind": "wrong module", "node": 2}}),
        PROGRAM_OF_BOXES,
        BOXES,
    )
    assert document.problem is not None
    assert open_nodes(document, PROGRAM_OF_BOXES) == []
    back, _redo = apply(document, Edit.model_validate(inverse), PROGRAM_OF_BOXES, BOXES)
    assert back.problem is None
    assert open_nodes(back, PROGRAM_OF_BOXES) == [3, 2]


def test_an_edit_that_does_not_speak_of_the_problem_leaves_it() -> None:
    document = edited({"problem": {"kind": "other"}}, TWO)
    assert document.problem is not None


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        ({"node": 9}, "node"),
        ({"node": 1, "put": [box("x")]}, "put.0"),
        ({"node": 3, "remove": ["x"]}, "remove"),
        ({"node": 3, "put": [box("x", image=2)]}, "put.0.image"),
        ({"node": 3, "put": [span("x", 0, 1)]}, "put.0"),
        ({"node": 3, "put": [{"id": "x", "ref": "a"}]}, "put.0"),
        ({"node": 2, "put": [{"id": "x", "ref": "nowhere"}]}, "put.0.ref"),
        ({"node": 2, "put": [box("x")]}, "put.0.reason"),
        ({"node": 2, "put": [box("x", reason="missed", links=["nowhere"])]}, "put.0.links"),
        ({"node": 2, "put": [{"id": "x", "ref": "a"}, {"id": "y", "ref": "a"}]}, "put"),
        ({"node": 2, "put": [{"id": "b", "ref": "a"}]}, "put"),
        ({"node": 3, "state": "nothing"}, "state"),
    ],
)
def test_what_breaks_a_rule_is_refused_with_its_field(edit: dict[str, Any], field: str) -> None:
    with pytest.raises(BadEdit) as caught:
        edited(TWO, edit)
    assert caught.value.field == field


def test_a_shared_step_is_edited_at_its_first_place() -> None:
    program = parse("equal(count(find[dogs]), count(find[dogs]))", kind="boxes")
    with pytest.raises(BadEdit, match="shares"):
        apply(Document(), Edit(node=4, state="done"), program, BOXES)


def test_drawing_where_nothing_was_said_to_be_says_done() -> None:
    assert edited({"node": 3, "state": "nothing"}, {"node": 3, "put": [box("x")]}).layers[3].state == "done"


def test_objects_pass_through_computed_steps() -> None:
    program = parse("exist(filter[black](in-left-image(find[dogs])))", kind="boxes")
    document, _ = apply(Document(), Edit.model_validate({"node": 3, "put": [box("a")]}), program, BOXES)
    document, _ = apply(
        document, Edit.model_validate({"node": 1, "put": [{"id": "c", "ref": "a"}]}), program, BOXES
    )
    assert execute_document(document, program).value is True


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"quote": "another"}, "put.0.quote"),
        ({"span": [0, 999]}, "put.0.span"),
        ({"tokens": [1, 2]}, "put.0.tokens"),
    ],
)
def test_a_span_names_one_place_three_times(change: dict[str, Any], field: str) -> None:
    good = span("x", 0, 1)
    apply(Document(), Edit.model_validate({"node": 2, "put": [good]}), PROGRAM_OF_SPANS, SPANS)
    with pytest.raises(BadEdit) as caught:
        apply(Document(), Edit.model_validate({"node": 2, "put": [good | change]}), PROGRAM_OF_SPANS, SPANS)
    assert caught.value.field == field


def test_a_document_from_outside_follows_the_same_rules() -> None:
    document = edited(TWO, {"node": 2, "put": [{"id": "c", "ref": "b"}]})
    assert check_document(document, PROGRAM_OF_BOXES, BOXES) == document
    hanging = Document(layers={2: document.layers[2]})
    with pytest.raises(BadEdit, match="no object 'b'"):
        check_document(hanging, PROGRAM_OF_BOXES, BOXES)


NAMES = st.sampled_from("abcdef")
NOTES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
EDITS = st.one_of(
    st.builds(
        lambda name, at, image: {"node": 3, "put": [box(name, at=at / 10, image=image)]},
        NAMES, st.integers(0, 7), st.integers(0, 1),
    ),
    st.builds(lambda name: {"node": 3, "remove": [name]}, NAMES),
    st.builds(lambda name, ref: {"node": 2, "put": [{"id": f"c{name}", "ref": ref}]}, NAMES, NAMES),
    st.builds(lambda name: {"node": 2, "remove": [f"c{name}"]}, NAMES),
    st.builds(
        lambda node, state: {"node": node, "state": state},
        st.integers(2, 3), st.sampled_from(["done", "open", "unsure"]),
    ),
    st.builds(lambda note: {"node": 3, "note": note}, NOTES),
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(EDITS, max_size=25))
def test_every_edit_is_undone_by_its_inverse(edits: list[dict[str, Any]]) -> None:
    document = Document()
    for edit in edits:
        try:
            after, inverse = apply(document, Edit.model_validate(edit), PROGRAM_OF_BOXES, BOXES)
        except BadEdit:
            continue
        back, _redo = apply(after, Edit.model_validate(inverse), PROGRAM_OF_BOXES, BOXES)
        assert _unordered(back) == _unordered(document)
        document = after


def _unordered(document: Document) -> dict[int, Any]:
    """Return layers without the order of their objects.

    Layers that nobody touched in effect are left out.
    """
    layers = {
        node: (layer.state, layer.note, {mark.id: mark for mark in layer.objects})
        for node, layer in document.layers.items()
    }
    return {node: content for node, content in layers.items() if content != ("open", "", {})}
