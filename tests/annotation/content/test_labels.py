"""Label configurations are read and edited.

Refusals name the field.
"""

import json
import random
from typing import Any

import pytest
from pydantic import ValidationError

from analysis.gold_agreement import agreement
from analysis.programs import ProgramError
from annotation.bots import BEHAVIOURS
from annotation.bots.drawing import Sheet, build_edits, draw
from annotation.content.adjudication import build_draft
from annotation.content.agreement import build_agreement_item, measure_likeness
from annotation.content.completeness import drop_hidden_parts, find_hidden_nodes, open_nodes
from annotation.content.label_changes import LabelChange, relabel_task
from annotation.content.label_programs import LabelProgram
from annotation.content.labels import LabelTask, label_yaml, read_label_task
from annotation.content.operations import Edit, apply, check_document
from annotation.content.schemas import Document, Ellipse, KeyPoint, Polygon, Span
from annotation.errors import BadEdit
from annotation.formats.checks import parse_program_text
from tests.annotation.factories import BOXES, SPANS, span

TASK = """
layers:
  - {type: spans, name: Entities, labels: [Person, {name: Place, hint: Towns too, color: "#15803d", key: p}]}
  - {type: choice, name: Topic, labels: [sport, politics]}
  - {type: choices, name: Tone, labels: [calm, angry, funny], required: false}
  - {type: rating, name: Quality, lowest: 0, highest: 4}
  - {type: text, name: Comment, required: false}
"""
ENTITIES, TOPIC, TONE, QUALITY, COMMENT = range(1, 6)


def program() -> LabelProgram:
    parsed = parse_program_text(read_label_task(TASK).text, "spans")
    assert isinstance(parsed, LabelProgram)
    return parsed


def edited(*edits: dict[str, Any], document: Document | None = None) -> Document:
    document = document or Document()
    for edit in edits:
        document, _inverse = apply(document, Edit.model_validate(edit), program(), SPANS)
    return document


def test_it_works() -> None:
    document = edited(
        {"node": ENTITIES, "put": [span("a", 0, 1, label="Person")], "state": "done"},
        {"node": TOPIC, "put": [{"id": "n2", "value": "sport"}], "state": "done"},
        {"node": TONE, "put": [{"id": "n3.0", "value": "calm"}, {"id": "n3.2", "value": "funny"}]},
        {"node": QUALITY, "put": [{"id": "n4", "value": 0}], "state": "done"},
    )
    assert check_document(document, program(), SPANS) == document
    assert open_nodes(document, program()) == []  # tone and comment are optional
    assert document.layers[QUALITY].objects[0].value == 0  # type: ignore[union-attr]
    assert Document.model_validate_json(document.model_dump_json()) == document


NESTED = """  # words: allow - test data
layers:
  - type: choice
    name: Where
    labels:
      - Place
      - {name: Town, parent: Place}
      - {name: Port, parent: Town}
      - {name: River, parent: Place}
      - Nowhere
"""


def nested(task: LabelTask) -> list[tuple[str, str]]:
    return [(label.name, label.parent) for label in task.layers[0].labels]


def test_labels_stand_inside_others() -> None:
    task = read_label_task(NESTED)
    assert read_label_task(label_yaml(task)) == task
    assert nested(read_label_task(task.text)) == nested(task)
    assert [label.get("depth", 0) for label in task.layers[0].shown()["labels"]] == [0, 1, 2, 1, 0]


@pytest.mark.parametrize(
    ("parent", "index"), [("Nowhere", 3), ("Port", 1), ("Town", 1), ("Elsewhere", 3), ("Town", 4)]
)
def test_a_label_that_does_not_stand_below_its_parent_is_refused(parent: str, index: int) -> None:
    configuration = json.loads(read_label_task(NESTED).text)
    labels = configuration["layers"][0]["labels"]
    name = labels[index] if isinstance(labels[index], str) else labels[index]["name"]
    labels[index] = {"name": name, "parent": parent}
    if (parent, index) == ("Town", 4):
        labels.insert(4, "Person")
        index = 5
    with pytest.raises(ValueError, match=rf"labels\[{index}\].parent: “.*” must stand below “{parent}”"):
        read_label_task(json.dumps(configuration))


@pytest.mark.parametrize(
    ("label", "to", "expected"),
    [
        (
            "Place",
            "Site",
            [("Site", ""), ("Town", "Site"), ("Port", "Town"), ("River", "Site"), ("Nowhere", "")],
        ),
        ("Town", "", [("Place", ""), ("Port", "Place"), ("River", "Place"), ("Nowhere", "")]),
        ("Place", "Town", [("Town", ""), ("Port", "Town"), ("River", ""), ("Nowhere", "")]),
    ],
)
def test_what_is_inside_follows_a_changed_label(label: str, to: str, expected: list[tuple[str, str]]) -> None:
    change = LabelChange(layer=1, label=label, to=to)
    assert nested(relabel_task(read_label_task(NESTED), change)) == expected


def test_the_text_of_an_item_is_read_back_and_holds_no_colours() -> None:
    text = read_label_task(TASK).text
    assert str(parse_program_text(text, "spans")) == text
    assert "#15803d" not in text
    assert "Towns" not in text


def test_a_layer_shows_a_colour_and_a_key_for_each_label() -> None:
    labels = read_label_task(TASK).layers[0].shown()["labels"]
    assert labels == [
        {"name": "Person", "color": "#1d6fb8", "key": "1", "hint": ""},
        {"name": "Place", "color": "#15803d", "key": "p", "hint": "Towns too"},
    ]


def test_another_answer_replaces_the_first_and_undo_brings_it_back() -> None:
    first = edited({"node": TOPIC, "put": [{"id": "n2", "value": "sport"}]})
    second, inverse = apply(
        first,
        Edit.model_validate({"node": TOPIC, "put": [{"id": "n2", "value": "politics"}]}),
        program(),
        SPANS,
    )
    assert [answer.value for answer in second.layers[TOPIC].objects] == ["politics"]  # type: ignore[union-attr]
    assert apply(second, Edit.model_validate(inverse), program(), SPANS)[0] == first


@pytest.mark.parametrize(
    ("edit", "field", "sentence"),
    [
        ({"node": 0, "put": [{"id": "a", "value": "sport"}]}, "put.0", "it takes no objects"),
        ({"node": ENTITIES, "put": [span("a", 0, 1)]}, "put.0.label", "'' is not a label of “Entities”"),
        ({"node": ENTITIES, "put": [span("a", 0, 1, label="X")]}, "put.0.label", "'X' is not a label"),
        ({"node": ENTITIES, "put": [{"id": "a", "value": "Person"}]}, "put.0", "takes no answer"),
        ({"node": TOPIC, "put": [span("a", 0, 1, label="sport")]}, "put.0", "Topic takes an answer"),
        (
            {"node": TOPIC, "put": [{"id": "a", "value": "art"}]},
            "put.0.value",
            "'art' is not a label of “Topic”",
        ),
        (
            {"node": TOPIC, "put": [{"id": "a", "value": "sport"}, {"id": "b", "value": "politics"}]},
            "put",
            "takes one answer",
        ),
        (
            {"node": TONE, "put": [{"id": "a", "value": "calm"}, {"id": "b", "value": "calm"}]},
            "put",
            "has an answer twice",
        ),
        ({"node": QUALITY, "put": [{"id": "a", "value": 5}]}, "put.0.value", "5 is not a rating"),
        ({"node": QUALITY, "put": [{"id": "a", "value": "4"}]}, "put.0.value", "'4' is not a rating"),
        ({"node": COMMENT, "put": [{"id": "a", "value": 3}]}, "put.0.value", "takes a text"),
        ({"node": COMMENT, "put": [{"id": "a", "value": "x" * 10_001}]}, "put.0.value", "at most 10,000"),
    ],
)
def test_what_does_not_fit_is_refused(edit: dict[str, Any], field: str, sentence: str) -> None:
    with pytest.raises(BadEdit, match=sentence) as error:
        edited(edit)
    assert error.value.field == field


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("layers: [", "line 1: is not valid YAML"),
        ("layers: !!bool no answer", "line 1: 'no answer' is not a valid bool"),
        ("layers: []\na: !!timestamp soon", "line 2: 'soon' is not a valid timestamp"),
        # A few kilobytes of aliases would be merged for seconds.
        ("a: &a {" + "k, " * 999 + "}\nb: {<<: [" + "*a, " * 999 + "]}", "has too many parts"),
        ("", "^must be a mapping of fields"),
        ("layers: []", "layers: must have at least 1 item"),
        ("layers: [{type: span, name: A}]", r"layers\[0\].type: must be 'spans', 'boxes'"),
        ("layers: [{type: text}]", r"layers\[0\].name: is missing"),
        ("layers: [{type: spans, name: A}]", r"layers\[0\].labels: “A” needs one label or more"),
        ("layers: [{type: choice, name: A, labels: [b]}]", "needs two labels or more"),
        (
            "layers: [{type: choice, name: A, labels: [b, b]}]",
            r"layers\[0\].labels: “A” has the label “b” twice",
        ),
        ("layers: [{type: text, name: A, labels: [b]}]", "a layer of type text has none"),
        ("layers: [{type: rating, name: A, lowest: 5}]", r"layers\[0\].highest: must be greater than lowest"),
        ("layers: [{type: text, name: A}, {type: text, name: A}]", "layers: two have the name “A”"),
        (
            "layers: [{type: text, name: A, show_if: {layer: B, labels: [c]}}, "
            "{type: choice, name: B, labels: [c, d]}]",
            r"layers\[0\].show_if.layer: “B” is not a choice before “A”",
        ),
        (
            "layers: [{type: choice, name: B, labels: [c, d]}, "
            "{type: text, name: A, show_if: {layer: B, labels: [e]}}]",
            r"layers\[1\].show_if.labels: “B” has no label “e”",
        ),
        ("layers: [{type: text, name: A, show_if: {layer: A, labels: []}}]", r"show_if.labels: must have"),
        (
            "layers: [{type: spans, name: A, labels: [b]}, {type: boxes, name: B, labels: [b]}]",
            "spans of a text or marks in images, not both",
        ),
        (
            "layers: [{type: spans, name: A, labels: [{name: b, key: d}]}]",
            r"layers\[0\].labels\[0\].key: 'd' is not a digit or small letter",
        ),
        ("layers: [{type: spans, name: A, labels: [{name: b, color: red}]}]", "color: 'red' is not a colour"),
        (
            "layers: [{type: spans, name: A, labels: [{name: b, key: j}, {name: c, key: j}]}]",
            "has the key “j” twice",
        ),
        (
            "layers: [{type: choice, name: A, labels: [yes, no]}]",
            r"layers\[0\].labels\[0\].name: must be text; found true; put it in quotes",
        ),
        ("layers: [{type: choice, name: A, labels: [1, 2]}]", "must be text; found 1; put it in quotes"),
        ("layers: [{type: text, name: On}]", r"layers\[0\].name: must be text; found true; put it in quotes"),
        ("layers: [{type: text, name: 2020-01-02}]", "must be text; found 2020-01-02; put it in quotes"),
        ("layers: []\nlayers: []", "line 2: the key 'layers' is given twice"),
        (
            "layers:\n- type: choice\n  name: A\n  labels: [b, c]\n  labels: [d, e]",
            "line 5: the key 'labels' is given twice",
        ),
    ],
)
def test_a_malformed_configuration_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_label_task(text)


def test_a_task_of_another_kind_is_refused() -> None:
    with pytest.raises(ProgramError, match="layers: the task marks spans, and the project boxes"):
        parse_program_text(read_label_task(TASK).text, "boxes")


def people() -> dict[str, Document]:
    """Return the documents of two people who agree in part.

    They share a mark, a topic and a tone, and differ in a label, a tone and the rating.
    """
    shared = span("p", 5, 6, label="Place")
    first = edited(
        {"node": ENTITIES, "put": [span("a", 0, 1, label="Person"), shared], "state": "done"},
        {"node": TOPIC, "put": [{"id": "n2", "value": "sport"}], "state": "done"},
        {"node": TONE, "put": [{"id": "n3.0", "value": "calm"}], "state": "done"},
        {"node": QUALITY, "put": [{"id": "n4", "value": 2}], "state": "done"},
    )
    second = edited(
        {"node": ENTITIES, "put": [span("a", 0, 1, label="Place"), shared], "state": "done"},
        {"node": TOPIC, "put": [{"id": "n2", "value": "sport"}], "state": "done"},
        {
            "node": TONE,
            "put": [{"id": "n3.0", "value": "calm"}, {"id": "n3.1", "value": "angry"}],
            "state": "done",
        },
        {"node": QUALITY, "put": [{"id": "n4", "value": 4}], "state": "done"},
    )
    return {"A": first, "B": second}


def test_adjudication_starts_from_what_all_marked_with_the_same_label() -> None:
    start = build_draft(program(), people(), SPANS.tokens, SPANS.passage)
    [mark] = start.layers[ENTITIES].objects
    assert isinstance(mark, Span)
    assert (mark.label, mark.tokens) == ("Place", (5, 6))
    assert {node: layer.state for node, layer in start.layers.items()} == {
        ENTITIES: "open", TOPIC: "done", TONE: "open", QUALITY: "open", COMMENT: "open",
    }  # fmt: skip
    assert [answer.value for answer in start.layers[TONE].objects] == ["calm"]  # type: ignore[union-attr]
    assert check_document(start, program(), SPANS) == start


def test_agreement_compares_each_label_and_rating() -> None:
    item = build_agreement_item("i", program(), people(), tokens=SPANS.tokens)
    groups = agreement([item], "spans").groups
    assert {group.name for group in groups if group.by == "module"} == {
        "Entities: Person", "Entities: Place", "Topic: sport", "Topic: politics", "Tone: calm", "Tone: angry",
        "Tone: funny", "Quality",
    }  # fmt: skip
    f1 = {group.name: metrics["exact_f1"].value for group, metrics in groups.items() if "exact_f1" in metrics}
    # Of Place one mark is shared and one is the second person's: 2 · 1 / (1 + 2).
    assert f1["Entities: Person"] == 0
    assert f1["Entities: Place"] == pytest.approx(2 / 3)
    agreed = {
        group.name: metrics["agreed"].value for group, metrics in groups.items() if group.by == "module"
    }
    assert (agreed["Topic: sport"], agreed["Tone: angry"], agreed["Quality"]) == (1, 0, 0)


def test_bots_mark_with_labels_and_answer() -> None:
    nodes: list[dict[str, Any]] = [{"role": "compute", "children": []}] + [
        {"role": node.role, "children": [], "layer": layer.shown()}
        for node, layer in zip(program().nodes[1:], program().task.layers, strict=True)
    ]
    sheet = Sheet(nodes, program().walk, "spans", 0, SPANS.passage, SPANS.tokens)
    for gold in (None, people()["B"]):
        for name in BEHAVIOURS:
            drawn = draw(sheet, gold, BEHAVIOURS[name], random.Random(7))
            document = edited(*build_edits(drawn))
            assert open_nodes(document, program()) == []


def test_a_key_may_replace_what_is_merged() -> None:
    text = "layers:\n- &a {type: choice, name: A, labels: [b, c]}\n- {<<: *a, name: D}"
    assert [layer.name for layer in read_label_task(text).layers] == ["A", "D"]


CONDITIONAL = """  # words: allow - test data
layers:
  - {type: choice, name: Sentiment, labels: [good, bad, none]}
  - {type: choices, name: Reasons, labels: [price, taste], show_if: {layer: Sentiment, labels: [good, bad]}}
  - {type: text, name: Which, show_if: {layer: Reasons, labels: taste}}
"""
SENTIMENT, REASONS, WHICH = range(1, 4)


def conditional(sentiment: str, *reasons: str) -> Document:
    """Return a document with an answer to each question, hidden ones included."""
    layers = {
        SENTIMENT: [{"id": "s", "value": sentiment}],
        REASONS: [{"id": f"r{index}", "value": reason} for index, reason in enumerate(reasons)],
        WHICH: [{"id": "w", "value": "bitter"}],
    }
    return Document.model_validate(
        {"layers": {node: {"state": "done", "objects": objects} for node, objects in layers.items()}}
    )


def test_a_condition_hides_questions_and_those_that_depend_on_them() -> None:
    task = read_label_task(CONDITIONAL)
    program = parse_program_text(task.text, "spans")
    assert str(program) == task.text
    assert read_label_task(label_yaml(task)) == task
    assert open_nodes(Document(), program) == [SENTIMENT]
    layers = {SENTIMENT: {"objects": [{"id": "s", "value": "bad"}], "state": "done"}}
    assert open_nodes(Document.model_validate({"layers": layers}), program) == [REASONS]
    assert find_hidden_nodes(conditional("good", "taste"), program) == set()
    assert find_hidden_nodes(conditional("good", "price"), program) == {WHICH}
    # Taste counts no more, because the question for reasons is hidden itself.
    assert find_hidden_nodes(conditional("none", "taste"), program) == {REASONS, WHICH}
    shown = drop_hidden_parts(conditional("none", "taste"), program)
    assert set(shown.layers) == {SENTIMENT}
    assert drop_hidden_parts(shown, program) is shown


def test_hidden_answers_count_in_no_comparison() -> None:
    program = parse_program_text(read_label_task(CONDITIONAL).text, "spans")
    documents = {
        who: drop_hidden_parts(conditional(sentiment, "taste"), program)
        for who, sentiment in (("A", "good"), ("B", "none"))
    }
    values = build_agreement_item("i", program, documents).values
    reasons = {3, 4}  # after the three labels of the sentiment
    assert reasons <= values["A"].keys()
    assert not reasons & values["B"].keys()
    assert measure_likeness(program, documents["B"], documents["B"], (), "spans") == 1
    # A system may answer a question alone, without the one before it.
    alone = Document(layers={REASONS: documents["A"].layers[REASONS]})
    assert measure_likeness(program, alone, alone, (), "spans") == 1
    same = build_draft(program, dict.fromkeys("AB", documents["B"]), (), "")
    assert open_nodes(same, program) == []
    assert not same.layers[REASONS].objects


SHAPES = """
layers:
  - {type: polygons, name: Outlines, labels: [Ball]}
  - {type: ellipses, name: Rounds, labels: [Ball]}
  - {type: points, name: Points, labels: [Top]}
"""
TRIANGLE = [[0.1, 0.2], [0.5, 0.2], [0.3, 0.8]]


def shapes(*edits: dict[str, Any]) -> Document:
    document = Document()
    for edit in edits:
        program = parse_program_text(read_label_task(SHAPES).text, "boxes")
        document, _inverse = apply(document, Edit.model_validate(edit), program, BOXES)
    return document


def test_marks_of_each_shape_go_to_layers_of_their_type() -> None:
    document = shapes(
        {"node": 1, "put": [{"id": "a", "image": 0, "polygon": TRIANGLE, "label": "Ball"}]},
        {
            "node": 2,
            "put": [{"id": "b", "image": 0, "box": [0, 0, 1, 1], "shape": "ellipse", "label": "Ball"}],
        },
        {"node": 3, "put": [{"id": "c", "image": 0, "point": [0.5, 0.25], "label": "Top"}]},
    )
    marks = [document.layers[node].objects[0] for node in (1, 2, 3)]
    assert [type(mark) for mark in marks] == [Polygon, Ellipse, KeyPoint]
    assert [mark.box for mark in marks] == [  # type: ignore[union-attr]
        (0.1, 0.2, 0.5, 0.8), (0, 0, 1, 1), (0.5, 0.25, 0.5, 0.25),
    ]  # fmt: skip
    assert Document.model_validate_json(document.model_dump_json()) == document


@pytest.mark.parametrize(
    ("node", "mark"),
    [
        (1, {"box": [0, 0, 1, 1]}),
        (1, {"point": [0, 0]}),
        (2, {"box": [0, 0, 1, 1]}),
        (2, {"polygon": TRIANGLE}),
        (3, {"box": [0, 0, 1, 1]}),
        (1, {"polygon": TRIANGLE[:2]}),
        (1, {"polygon": [[0, 0], [1, 1.2], [0, 1]]}),
        (1, {"polygon": [[0, 0], [1, 0], [0.5, 0]]}),
        (1, {"polygon": "abc"}),
        (1, {"polygon": [[0], 1, None]}),
        (3, {"point": [0.5]}),
        (3, {"point": [float("nan"), 0]}),
        (2, {"box": [0, 0, 1, 1], "shape": "star"}),
    ],
)
def test_a_mark_of_another_or_no_shape_is_refused(node: int, mark: dict[str, Any]) -> None:
    label = "Top" if node == 3 else "Ball"
    with pytest.raises((BadEdit, ValidationError)):
        shapes({"node": node, "put": [{"id": "a", "image": 0, "label": label, **mark}]})
