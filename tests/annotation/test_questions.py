"""Tests of questions about each mark.

They cover configuration, editing, comparison, other tools' files, and bots.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from analysis.gold_agreement import agreement
from annotation.bots.behaviours import BEHAVIOURS
from annotation.bots.drawing import Sheet, build_edits, draw
from annotation.content.adjudication import build_draft
from annotation.content.agreement import build_question_items, measure_likeness
from annotation.content.comparison import build_steps
from annotation.content.completeness import drop_hidden_parts, open_nodes
from annotation.content.label_changes import LabelChange, check_extends, relabel_task
from annotation.content.label_programs import LabelProgram
from annotation.content.labels import label_yaml, read_label_task
from annotation.content.operations import Edit, apply, check_document
from annotation.content.schemas import Box, Document, ItemRecord, Span
from annotation.errors import BadEdit
from annotation.formats.checks import check_record, parse_program_text
from annotation.formats.labelled import entries
from annotation.formats.labelled.losses import LOSSES, MORE_MARK_ANSWERS
from annotation.queries.annotations import build_program_tree
from foundation.imports.findings import Findings
from tests.annotation.factories import PASSAGE, SPANS, span
from tests.annotation.formats.labelled.plain_items import read, written

TASK = """
layers:
  - type: spans
    name: Entities
    labels: [Person, Place]
    questions:
      - {type: choice, name: Certainty, labels: [sure, unsure]}
      - {type: choices, name: Roles, labels: [author, reader], required: false}
      - {type: rating, name: Fame, required: false}
      - {type: text, name: Why, required: false}
  - {type: choice, name: Certainty of the text, labels: [sure, unsure], required: false}
"""
ALL = {"Certainty": ["sure"], "Roles": ["author", "reader"], "Fame": [4], "Why": ["A name."]}


def program(text: str = TASK) -> LabelProgram:
    parsed = parse_program_text(read_label_task(text).text, "spans")
    assert isinstance(parsed, LabelProgram)
    return parsed


def marked(**answers: Any) -> Document:
    """A document with two marks, of which the first has these answers."""
    marks = [
        span("a", 0, 1, label="Person", answers=answers or ALL),
        span("b", 2, 3, label="Place", answers={"Certainty": ["unsure"]}),
    ]
    edit = Edit.model_validate({"node": 1, "put": marks, "state": "done"})
    return apply(Document(), edit, program(), SPANS)[0]


def marks_of(document: Document | None) -> dict[str, dict[str, Any]]:
    """The answers about each mark, by its words."""
    assert document is not None
    marks = document.layers[1].objects
    return {mark.quote: mark.answers for mark in marks if isinstance(mark, Span)}


def record(gold: Document) -> ItemRecord:
    about = {"external_id": "text-1", "kind": "spans", "program": read_label_task(TASK).text, "text": ""}
    fields = about | {"passage": PASSAGE, "tokens": SPANS.tokens, "gold": gold}
    return check_record(ItemRecord.model_validate(fields))


def test_it_works() -> None:
    task = read_label_task(TASK)
    assert read_label_task(label_yaml(task)) == task
    assert read_label_task(task.text).text == task.text
    document = marked()
    assert check_document(document, program(), SPANS) == document
    assert Document.model_validate_json(document.model_dump_json()) == document
    assert open_nodes(document, program()) == []


IF_TASK = """
layers:
  - type: spans
    name: Entities
    labels: [Person, Place]
    questions:
      - {type: choice, name: Known, labels: ["yes", "no"], show_if: {labels: Person}}
      - {type: text, name: Source, show_if: {question: Known, labels: "yes"}}
"""


def if_marked(label: str, **answers: Any) -> Document:
    put = [span("a", 0, 1, label=label, answers=answers)]
    edit = Edit.model_validate({"node": 1, "put": put, "state": "done"})
    return apply(Document(), edit, program(IF_TASK), SPANS)[0]


@pytest.mark.parametrize(
    ("label", "answers", "is_open", "counts"),
    [
        ("Person", {}, True, []),
        ("Person", {"Known": ["no"]}, False, ["Known"]),
        ("Person", {"Known": ["yes"]}, True, ["Known"]),
        ("Person", {"Known": ["yes"], "Source": ["Her letters."]}, False, ["Known", "Source"]),
        ("Person", {"Known": ["no"], "Source": ["Her letters."]}, False, ["Known"]),
        ("Place", {}, False, []),
        ("Place", {"Known": ["yes"], "Source": ["Her letters."]}, False, []),
    ],
)
def test_questions_depend_on_labels_and_answers(
    label: str, answers: dict[str, list[str]], is_open: bool, counts: list[str]
) -> None:
    task = read_label_task(IF_TASK)
    assert read_label_task(label_yaml(task)) == task
    assert read_label_task(task.text).text == task.text
    document = if_marked(label, **answers)
    assert open_nodes(document, program(IF_TASK)) == ([1] if is_open else [])
    shown = drop_hidden_parts(document, program(IF_TASK))
    assert list(marks_of(shown)["Ada"]) == counts
    assert list(marks_of(document)["Ada"]) == list(answers)
    if list(answers) == counts:
        assert shown == document


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ({"labels": "Town"}, r"questions\[0\].show_if.labels: “Entities” has no label “Town”"),
        ({"question": "Known", "labels": "yes"}, "show_if.question: “Known” is not a choice before “Known”"),
        ({"question": "Source", "labels": "yes"}, "“Source” is not a choice before “Known”"),
        ({"labels": []}, "must have"),
    ],
)
def test_a_condition_of_a_question_that_cannot_hold_is_refused(
    condition: dict[str, Any], sentence: str
) -> None:
    configuration = json.loads(read_label_task(IF_TASK).text)
    configuration["layers"][0]["questions"][0]["show_if"] = condition
    with pytest.raises(ValueError, match=sentence):
        read_label_task(json.dumps(configuration))


@pytest.mark.parametrize(
    ("question", "label", "index", "expected"),
    [("", "Person", 0, ("Human",)), ("Known", "yes", 1, ("Human",)), ("", "Place", 0, ("Person",))],
)
def test_conditions_of_questions_follow_a_new_name(
    question: str, label: str, index: int, expected: tuple[str, ...]
) -> None:
    change = LabelChange(layer=1, question=question, label=label, to="Human")
    condition = relabel_task(read_label_task(IF_TASK), change).layers[0].questions[index].show_if
    assert condition is not None
    assert condition.labels == expected


def test_a_label_that_alone_shows_a_question_stays() -> None:
    with pytest.raises(ValueError, match="“Known” is shown only if “Person” is chosen"):
        relabel_task(read_label_task(IF_TASK), LabelChange(layer=1, label="Person", to=""))


def test_a_mark_without_answers_is_stored_as_before() -> None:
    assert "answers" not in Span.model_validate(span("a", 0, 1, label="Person")).model_dump(mode="json")


def test_keys_of_questions_follow_those_of_the_labels() -> None:
    shown = read_label_task(TASK).layers[0].shown()
    keys = [label["key"] for part in (shown, *shown["questions"]) for label in part["labels"]]
    assert keys == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        ({"type": "choice", "labels": ["x", "y"]}, "has no marks to ask about"),
        ({"questions": [{"type": "boxes", "name": "Q", "labels": ["x"]}]}, "cannot ask for boxes"),
        ({"questions": [{"type": "text", "name": "Q"}] * 2}, "asks “Q” twice"),
        ({"questions": [{"type": "choice", "name": "Q", "labels": ["x"]}]}, "two labels or more"),
        (
            {
                "labels": [{"name": "x", "key": "q"}],
                "questions": [{"type": "choices", "name": "Q", "labels": [{"name": "y", "key": "q"}]}],
            },
            "the key “q” twice",
        ),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(layer: dict[str, Any], sentence: str) -> None:
    defaults = {"type": "spans", "name": "N", "labels": ["x"], "questions": [{"type": "text", "name": "Q"}]}
    with pytest.raises(ValueError, match=sentence):
        read_label_task(json.dumps({"layers": [defaults | layer]}))


@pytest.mark.parametrize(
    ("answers", "field", "sentence"),
    [
        ({"Mood": ["sure"]}, "Mood", "does not ask “Mood” about its marks"),
        ({"Certainty": ["maybe"]}, "Certainty", "'maybe' is not a label of “Certainty”"),
        ({"Certainty": ["sure", "unsure"]}, "Certainty", "takes one answer"),
        ({"Roles": ["author", "author"]}, "Roles", "has an answer twice"),
        ({"Fame": [9]}, "Fame", "9 is not a rating of “Fame”: 1 to 5"),
        ({"Fame": ["4"]}, "Fame", "is not a rating"),
        ({"Why": [3]}, "Why", "takes a text"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(answers: Any, field: str, sentence: str) -> None:
    with pytest.raises(BadEdit, match=sentence) as error:
        marked(**answers)
    assert error.value.field == f"put.0.answers.{field}"


def test_a_step_is_open_until_required_questions_are_answered() -> None:
    assert open_nodes(marked(Fame=[1]), program()) == [1]
    unsure = marked(Fame=[1])
    unsure = unsure.model_copy(
        update={"layers": {1: unsure.layers[1].model_copy(update={"state": "unsure"})}}
    )
    assert open_nodes(unsure, program()) == []


def test_undo_brings_an_answer_back() -> None:
    before = marked()
    edit = Edit.model_validate({"node": 1, "put": [span("a", 0, 1, label="Person")]})
    without, inverse = apply(before, edit, program(), SPANS)
    assert marks_of(without)["Ada"] == {}
    assert apply(without, Edit.model_validate(inverse), program(), SPANS)[0] == before


def test_questions_can_be_added_to_a_project_under_way_but_not_dropped() -> None:
    task = read_label_task(TASK)
    without = read_label_task("layers: [{type: spans, name: Entities, labels: [Person, Place]}]")
    only_marks = task.model_copy(update={"layers": task.layers[:1]})
    check_extends(without, only_marks)
    with pytest.raises(ValueError, match="keeps the question “Certainty”"):
        check_extends(only_marks, without)
    fewer = read_label_task(TASK.replace("[author, reader]", "[author]"))
    with pytest.raises(ValueError, match="“Roles” keeps the label “reader”"):
        check_extends(task, fewer)


def test_adjudication_keeps_what_all_say_and_leaves_the_rest_open() -> None:
    people = {"A": marked(), "B": marked(**ALL | {"Certainty": ["unsure"], "Roles": ["reader", "author"]})}
    step = build_steps(program(), people, SPANS.tokens)[0]
    assert not step.unanimous
    first = step.clusters[0]
    assert step.answers(first)["Certainty"] == {"A": ("sure",), "B": ("unsure",)}
    begun = build_draft(program(), people, SPANS.tokens, PASSAGE)
    assert begun.layers[1].state == "open"
    assert marks_of(begun)["Ada"].keys() == {"Roles", "Fame", "Why"}
    same = build_draft(program(), {"A": marked(), "B": marked()}, SPANS.tokens, PASSAGE)
    assert same.layers[1].state == "done"


def test_agreement_counts_the_marks_that_two_people_share() -> None:
    people = {"A": marked(), "B": marked(Certainty=["unsure"], Fame=[4])}
    items = build_question_items("i", program(), people, SPANS.tokens)
    measured = agreement(items, "spans")
    named = {group.name: metrics for group, metrics in measured.groups.items() if group.by == "module"}
    assert named["Entities – Certainty: sure"]["agreed"].value == pytest.approx(0.5)
    assert named["Entities – Fame"]["agreed"].value == 1
    assert "Entities – Why" not in named
    assert build_question_items("i", program("layers: [{type: spans, name: E, labels: [x]}]"), {}) == []


def test_agreement_leaves_out_what_somebody_was_not_asked() -> None:
    stale = if_marked("Place", Known=["yes"], Source=["Her letters."])
    people = {"A": if_marked("Person", Known=["yes"]), "B": if_marked("Person", Known=["no"]), "C": stale}
    shown = {who: drop_hidden_parts(document, program(IF_TASK)) for who, document in people.items()}
    item, other = build_question_items(
        "i", program(IF_TASK), shown, SPANS.tokens
    )  # a mark as Person, one as Place
    assert [node.module for node in item.nodes][:2] == ["Entities – Known: yes", "Entities – Known: no"]
    assert {who: values.get(0) for who, values in item.values.items()} == {"A": True, "B": False, "C": None}
    assert not any(other.values.values())
    named = {group.name: metrics for group, metrics in agreement([item, other], "spans").groups.items()}
    assert named["Entities – Known: yes"]["agreed"].value == 0


def test_bots_answer_no_hidden_question() -> None:
    task = read_label_task(
        IF_TASK + "  - {type: choice, name: Tone, labels: [good, bad]}\n"
        "  - {type: text, name: Why, show_if: {layer: Tone, labels: bad}}\n"
    )
    tree = build_program_tree(program(task.text), task)
    sheet = Sheet(tree["nodes"], tree["walk"], "spans", 0, PASSAGE, SPANS.tokens)
    combinations = set()
    for seed in range(40):
        layers = draw(sheet, None, BEHAVIOURS["careful"], random.Random(seed))
        for mark in layers[1]:
            questions = task.layers[0].find_asked_questions(mark["label"], mark["answers"])
            assert mark["answers"].keys() == questions.keys()
            combinations.add((mark["label"], tuple(questions)))
        assert bool(layers[3]) == (layers[2][0]["value"] == "bad")
    assert combinations == {("Place", ()), ("Person", ("Known",)), ("Person", ("Known", "Source"))}


def test_scores_count_the_answers() -> None:
    assert measure_likeness(program(), marked(), marked(), SPANS.tokens, "spans") == 1
    other = measure_likeness(program(), marked(), marked(**ALL | {"Fame": [2]}), SPANS.tokens, "spans")
    # F1 of the marks is 1; of four answers that count one loses half of the scale.
    assert other == pytest.approx((1 + 3.5 / 4) / 2)


@pytest.mark.parametrize("with_task", [True, False])
def test_label_studio_holds_answers_about_marks(tmp_path: Path, *, with_task: bool) -> None:
    lost, findings = Findings(), Findings()
    path = written("labelstudio", [record(marked())], tmp_path, lost)
    results = json.loads(path.read_text())[0]["annotations"][0]["result"]
    [rating] = [result for result in results if result["type"] == "rating"]
    assert rating["id"] == results[0]["id"]
    assert rating["value"] == {"start": 0, "end": 3, "rating": 4}
    [again] = read("labelstudio", path, task=read_label_task(TASK) if with_task else None, findings=findings)
    assert not lost.repairs
    assert not findings.repairs
    assert marks_of(again.gold) == marks_of(marked())


def test_questions_follow_from_a_foreign_file(tmp_path: Path) -> None:
    edges = {"x": 10, "y": 10, "width": 20, "height": 20, "rotation": 0}
    results = [
        {"id": "r1", "type": "rectanglelabels", "from_name": "box", "to_name": "image",
         "value": edges | {"rectanglelabels": ["Dog"]}},
        {"id": "r1", "type": "choices", "from_name": "size", "to_name": "image",
         "value": edges | {"choices": ["small"]}},
        {"id": "r1", "type": "textarea", "from_name": "breed", "to_name": "image",
         "value": edges | {"text": ["?"]}},
        {"id": "c1", "type": "choices", "from_name": "scene", "to_name": "image",
         "value": {"choices": ["park"]}},
    ]  # fmt: skip
    task = {"id": 1, "data": {"image": "dog.png"}, "annotations": [{"ground_truth": True, "result": results}]}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task]))
    [item] = read("labelstudio", path, kind="boxes")
    layer = read_label_task(item.program).layers[0]
    assert [(question.type, question.name, question.required) for question in layer.questions] == [
        ("choices", "size", False),
        ("text", "breed", False),
    ]
    assert item.gold is not None
    [box] = item.gold.layers[1].objects
    assert isinstance(box, Box)
    assert box.answers == {"size": ("small",), "breed": ("?",)}


HOLD_ANSWERS = {"jsonl", "labelstudio", "brat", "w3c", "coco", "cvat"}


@pytest.mark.parametrize("name", sorted(set(LOSSES) - HOLD_ANSWERS - {"yolo", "voc"}))
def test_other_formats_count_the_answers_that_they_leave_out(tmp_path: Path, name: str) -> None:
    lost = Findings()
    written(name, [record(marked())], tmp_path, lost)
    assert {kind: repair.count for kind, repair in lost.repairs.items()}[entries.ABOUT_A_MARK] == 5


@pytest.mark.parametrize("with_task", [True, False])
@pytest.mark.parametrize("name", ["brat", "w3c"])
def test_files_of_texts_hold_answers_about_marks(tmp_path: Path, name: str, *, with_task: bool) -> None:
    lost, findings = Findings(), Findings()
    path = written(name, [record(marked())], tmp_path, lost)
    [again] = read(name, path, task=read_label_task(TASK) if with_task else None, findings=findings)
    assert not lost.repairs
    assert not findings.repairs
    assert marks_of(again.gold) == marks_of(marked())


def test_attributes_of_brat_have_letters_only_and_are_declared(tmp_path: Path) -> None:
    path = written("brat", [record(marked(Certainty=["sure"], Why=["Of\ntwo lines."]))], tmp_path)
    lines = (path / "gold" / "text-1.ann").read_text().splitlines()
    assert lines[2:] == ["A1\tCertainty T1 sure", "#2\tWhy T1\tOf two lines.", "A3\tCertainty T2 unsure"]
    assert "Certainty\tArg:<ENTITY>, Value:sure|unsure\n" in (path / "annotation.conf").read_text()


def test_attributes_of_a_foreign_brat_folder_answer_questions_of_their_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ada met Bo.")
    lines = "T1\tPerson 0 3\tAda\nA1\tCertainty T1 sure\nA2\tFame T1 9\nA3\tNegation T1\n"
    (tmp_path / "a.ann").write_text(lines)
    [item] = read("brat", tmp_path, task=read_label_task(TASK), findings=(findings := Findings()))
    assert marks_of(item.gold) == {"Ada": {"Certainty": ("sure",)}}
    assert findings.count(entries.ABOUT_A_MARK) == 2


BOXES = """
layers:
  - type: boxes
    name: Objects
    labels: [Ball, Tower]
    questions:
      - {type: choice, name: Cut off, labels: ["yes", "no"]}
      - {type: choices, name: Colours, labels: [red, blue], required: false}
      - {type: rating, name: Size, required: false}
      - {type: text, name: Note, required: false}
"""
SEEN = {"Cut off": ["yes"], "Colours": ["red", "blue"], "Size": [2], "Note": ["A <ball>."]}


@pytest.mark.parametrize("with_task", [True, False])
@pytest.mark.parametrize("name", ["coco", "cvat", "w3c"])
def test_files_of_images_hold_answers_about_marks(tmp_path: Path, name: str, *, with_task: bool) -> None:
    task = read_label_task(BOXES)
    boxes = [
        {"id": "a", "image": 0, "box": [0.1, 0.1, 0.4, 0.4], "label": "Ball", "answers": SEEN},
        {
            "id": "b",
            "image": 0,
            "box": [0.5, 0.5, 0.8, 0.8],
            "label": "Tower",
            "answers": {"Cut off": ["no"]},
        },
    ]
    gold = {"layers": {"1": {"state": "done", "objects": boxes}}}
    images = [{"name": "a.png", "width": 640, "height": 480}]
    fields = {"external_id": "a.png", "kind": "boxes", "program": task.text, "text": ""}
    item = check_record(ItemRecord.model_validate(fields | {"images": images, "gold": gold}))
    lost, findings = Findings(), Findings()
    path = written(name, [item], tmp_path, lost)
    [again] = read(name, path, task=task if with_task else None, kind="boxes", findings=findings)
    assert again.gold is not None
    [first, second] = [mark.answers for mark in again.gold.layers[1].objects if isinstance(mark, Box)]
    expected: dict[str, Any] = {question: tuple(values) for question, values in SEEN.items()}
    if name == "cvat":  # an attribute has one value
        expected["Colours"] = ("red",)
        assert lost.count(MORE_MARK_ANSWERS) == 1
    assert (first, second) == (expected, {"Cut off": ("no",)})
    assert not findings.repairs


def test_attributes_of_a_foreign_cvat_file_become_questions(tmp_path: Path) -> None:
    kinds = {"colour": "select", "speed": "number", "plate": "text", "parked": "checkbox"}
    declared = "".join(
        f"<attribute><name>{name}</name><input_type>{kind}</input_type></attribute>"
        for name, kind in kinds.items()
    )
    values = {"colour": "red", "speed": "1500", "plate": "X 1", "parked": "false"}
    attributes = "".join(f'<attribute name="{name}">{value}</attribute>' for name, value in values.items())
    path = tmp_path / "a.xml"
    path.write_text(
        f"<annotations><meta><task><labels><label><name>car</name><attributes>{declared}</attributes></label>"
        '</labels></task></meta><image name="a.png" width="100" height="100">'
        f'<box label="car" xtl="1" ytl="1" xbr="9" ybr="9">{attributes}</box></image></annotations>'
    )
    [item] = read("cvat", path, kind="boxes", findings=(findings := Findings()))
    questions = read_label_task(item.program).layers[0].questions
    assert [(question.type, question.name) for question in questions] == [
        ("choices", "colour"),
        ("text", "plate"),
    ]
    assert item.gold is not None
    [box] = item.gold.layers[1].objects
    assert isinstance(box, Box)
    assert box.answers == {"colour": ("red",), "plate": ("X 1",)}
    assert findings.count(entries.ABOUT_A_MARK) == 2


def test_bots_answer_about_their_marks() -> None:
    task, plain = read_label_task(TASK), program()
    tree = build_program_tree(plain, task)
    sheet = Sheet(tree["nodes"], tree["walk"], "spans", 0, PASSAGE, SPANS.tokens)
    for gold in (None, marked()):
        document = Document()
        for edit in build_edits(draw(sheet, gold, BEHAVIOURS["careful"], random.Random(1))):
            document, _inverse = apply(document, Edit.model_validate(edit), plain, SPANS)
        assert document.layers[1].objects
        assert open_nodes(document, plain) == []
