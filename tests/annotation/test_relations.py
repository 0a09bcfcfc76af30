"""Relations between marks: editing, adjudication and agreement."""

from typing import Any

import pytest
from pydantic import ValidationError

from analysis.gold_agreement import agreement
from annotation.content.adjudication import build_draft
from annotation.content.agreement import build_relation_item, measure_likeness
from annotation.content.comparison import build_steps
from annotation.content.completeness import drop_hidden_parts, open_nodes
from annotation.content.label_programs import LabelProgram
from annotation.content.labels import label_yaml, read_label_task
from annotation.content.operations import Edit, apply, check_document
from annotation.content.schemas import Document, Relation
from annotation.errors import BadEdit
from annotation.formats.checks import parse_program_text
from tests.annotation.factories import PASSAGE, SPANS, span

TASK = """
layers:
  - {type: spans, name: Entities, labels: [Person, Place]}
  - {type: relations, name: Relations, labels: [knows, lives in]}
  - {type: relations, name: Same, labels: [same as], directed: false, required: false}
"""
ENTITIES, RELATIONS, SAME = range(1, 4)
MARKS = [
    span("a", 0, 1, label="Person"), span("b", 2, 3, label="Person"), span("c", 5, 6, label="Place"),
]  # fmt: skip


def program(text: str = TASK) -> LabelProgram:
    parsed = parse_program_text(read_label_task(text).text, "spans")
    assert isinstance(parsed, LabelProgram)
    return parsed


def relation(name: str, first: str, second: str, label: str = "knows") -> dict[str, Any]:
    return {"id": name, "ends": [first, second], "label": label}


def edited(*edits: dict[str, Any], document: Document | None = None) -> Document:
    document = document or Document()
    for edit in edits:
        document, _inverse = apply(document, Edit.model_validate(edit), program(), SPANS)
    return document


def related(*relations: dict[str, Any], marks: Any = MARKS, **more: Any) -> Document:
    return edited(
        {"node": ENTITIES, "put": marks, "state": "done"},
        {"node": RELATIONS, "put": relations, "state": "done" if relations else "nothing"},
        {"node": SAME, "put": more.get("same", [])},
    )


def ends(document: Document, node: int = RELATIONS) -> set[tuple[str, str]]:
    return {relation.ends for relation in document.layers[node].objects if isinstance(relation, Relation)}


def test_it_works() -> None:
    task = read_label_task(TASK)
    assert read_label_task(label_yaml(task)) == task
    document = related(relation("r", "a", "b"), relation("s", "b", "a"))
    assert check_document(document, program(), SPANS) == document
    assert open_nodes(document, program()) == []
    assert Document.model_validate_json(document.model_dump_json()) == document


def test_relations_go_with_a_deleted_mark_and_come_back_with_it() -> None:
    document = related(
        relation("r", "a", "b"),
        relation("s", "a", "c", "lives in"),
        same=[relation("t", "a", "b", "same as")],
    )
    without, inverse = apply(
        document, Edit.model_validate({"node": ENTITIES, "remove": ["b"]}), program(), SPANS
    )
    assert ends(without) == {("a", "c")}
    assert ends(without, SAME) == set()
    back = apply(without, Edit.model_validate(inverse), program(), SPANS)[0]
    assert (ends(back), ends(back, SAME)) == (ends(document), ends(document, SAME))


@pytest.mark.parametrize(
    ("edit", "field", "sentence"),
    [
        ({"node": RELATIONS, "put": [relation("r", "a", "x")]}, "put.0.ends", "has no mark 'x'"),
        ({"node": RELATIONS, "put": [relation("r", "a", "b", "hates")]}, "put.0.label", "'hates' is not a"),
        ({"node": RELATIONS, "put": [MARKS[0] | {"id": "z"}]}, "put.0", "Relations takes relations"),
        ({"node": RELATIONS, "put": [{"id": "z", "value": "knows"}]}, "put.0", "Relations takes relations"),
        ({"node": ENTITIES, "put": [relation("r", "a", "b")]}, "put.0", "Entities takes no relations"),
        ({"node": RELATIONS, "put": [relation("r", "a", "b"), relation("s", "a", "b")]}, "put", "twice"),
        (
            {"node": SAME, "put": [relation("r", "a", "b", "same as"), relation("s", "b", "a", "same as")]},
            "put",
            "“Same” has a relation twice",
        ),
    ],
)
def test_what_does_not_fit_is_refused(edit: dict[str, Any], field: str, sentence: str) -> None:
    with pytest.raises(BadEdit, match=sentence) as error:
        edited({"node": ENTITIES, "put": MARKS}, edit)
    assert error.value.field == field


@pytest.mark.parametrize("wrong_ends", [["a", "a"], ["a"], ["a", "b", "c"], "ab", [1, 2]])
def test_a_relation_has_two_different_ends(wrong_ends: Any) -> None:
    with pytest.raises(ValidationError):
        Edit.model_validate({"node": RELATIONS, "put": [relation("r", "a", "b") | {"ends": wrong_ends}]})


def test_relations_need_marks_before_them() -> None:
    for text in (
        "layers: [{type: relations, name: R, labels: [a]}]",
        "layers: [{type: relations, name: R, labels: [a]}, {type: spans, name: S, labels: [b]}]",
    ):
        with pytest.raises(ValueError, match=r"layers\[0\]: “R” relates marks; put a layer of marks before"):
            read_label_task(text)


def test_relations_of_hidden_marks_are_hidden() -> None:
    text = (
        "layers: [{type: choice, name: C, labels: [y, n]}, "
        "{type: spans, name: S, labels: [Person], show_if: {layer: C, labels: y}}, "
        "{type: spans, name: T, labels: [Person]}, {type: relations, name: R, labels: [knows]}]"
    )
    layers = {
        1: {"objects": [{"id": "q", "value": "n"}]},
        2: {"objects": [MARKS[0]]},
        3: {"objects": [MARKS[1], span("d", 5, 6, label="Person")]},
        4: {"objects": [relation("r", "a", "b"), relation("s", "b", "d")]},
    }
    shown = drop_hidden_parts(Document.model_validate({"layers": layers}), program(text))
    assert ends(shown, 4) == {("b", "d")}


def people() -> dict[str, Document]:
    """Return the documents of two people, whose marks have other IDs.

    One of them marks a place more.
    """
    other = [mark | {"id": f"{mark['id']}2"} for mark in MARKS[:2]]
    return {
        "A": related(
            relation("r", "a", "b"),
            relation("s", "a", "c", "lives in"),
            same=[relation("t", "a", "b", "same as")],
        ),
        "B": related(relation("r2", "a2", "b2"), marks=other, same=[relation("t2", "b2", "a2", "same as")]),
    }


def test_adjudication_starts_from_the_relations_that_all_share() -> None:
    start = build_draft(program(), people(), SPANS.tokens, PASSAGE)
    marks = {mark.quote: mark.id for mark in start.layers[ENTITIES].objects}  # type: ignore[union-attr]
    assert ends(start) == {(marks[MARKS[0]["quote"]], marks[MARKS[1]["quote"]])}
    assert start.layers[RELATIONS].state == "open"  # one lives somewhere, says A alone
    # Nobody can say which end of an undirected relation comes first.
    assert len(ends(start, SAME)) == 1
    assert check_document(start, program(), SPANS) == start
    step = next(step for step in build_steps(program(), people(), SPANS.tokens) if step.node == RELATIONS)
    shown = [step.middle(cluster, SPANS.tokens, PASSAGE) for cluster in step.clusters]
    assert [(relation["label"], [end["quote"] for end in relation["ends"]]) for relation in shown] == [
        ("knows", [MARKS[0]["quote"], MARKS[1]["quote"]]),
        ("lives in", [MARKS[0]["quote"], MARKS[2]["quote"]]),
    ]


def test_agreement_counts_relations_between_the_same_marks() -> None:
    item = build_relation_item("i", program(), people(), SPANS.tokens)
    assert item is not None
    assert item.tokens == 3 * 2  # ordered pairs of the three marks
    groups = agreement([item], "spans").groups
    by_name = {group.name: metrics for group, metrics in groups.items() if group.by == "module"}
    assert by_name["Relations: knows"]["exact_f1"].value == 1
    assert by_name["Relations: knows"]["token_cohen"].value == pytest.approx(1)
    assert by_name["Relations: lives in"]["exact_f1"].value == 0
    turned = people() | {"B": related(relation("r", "b", "a"))}
    item = build_relation_item("i", program(), turned, SPANS.tokens)
    assert item is not None
    groups = agreement([item], "spans").groups
    by_name = {group.name: metrics for group, metrics in groups.items() if group.by == "module"}
    # Two of six pairs differ: observed agreement 4/6, expected (5·5 + 1·1)/36, kappa -1/5.
    assert by_name["Relations: knows"]["token_cohen"].value == pytest.approx(-1 / 5)
    assert by_name["Relations: knows"]["exact_f1"].value == 0


def test_a_score_against_gold_counts_relations() -> None:
    gold = people()["A"]
    assert measure_likeness(program(), gold, gold, SPANS.tokens, "spans") == 1
    without = related()
    # F1 of tokens is 1, of relations 0.
    assert measure_likeness(program(), gold, without, SPANS.tokens, "spans") == pytest.approx(1 / 2)
    marks = Document(layers={ENTITIES: gold.layers[ENTITIES]})
    assert measure_likeness(program(), marks, marks, SPANS.tokens, "spans") == 1
