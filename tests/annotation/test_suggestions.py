"""Answers and module outputs become suggestions.

Documents say which ones were accepted.
"""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from annotation.content.agreement import measure_likeness
from annotation.content.labels import read_label_task
from annotation.content.operations import Edit, Subject, apply, check_document
from annotation.content.schemas import Document, SystemRecord
from annotation.formats.checks import parse_program_text
from annotation.suggestions import (
    Fit,
    build_marks,
    build_questions,
    build_suggestions,
    choose_default_fit,
    split_sentences,
)
from modelserver.wire.schema import AnswerLocation, QAPrediction
from tests.annotation.content.test_labels import COMMENT, ENTITIES, QUALITY, TONE, TOPIC, program
from tests.annotation.factories import BOXES, PASSAGE, PROGRAM, SPANS, SPANS_PROGRAM, span

TASK = program().task
FACTS = Fit(marks="facts", layer=ENTITIES, label="Place")


def answer(text: str, **more: Any) -> QAPrediction:
    return QAPrediction(id="i", answer=text, **{"facts": [], **more})


def values(answers: dict[int, QAPrediction]) -> dict[int, list[Any]]:
    marks, _score = build_marks(answers, program(), SPANS, Fit())
    return {node: [answer.value for answer in several] for node, several in marks.items()}  # type: ignore[union-attr]


def test_every_answer_layer_is_asked_with_its_options() -> None:
    questions = build_questions("i1", "Who won?", program(), PASSAGE, Fit())
    assert list(questions) == [TOPIC, TONE, QUALITY, COMMENT]
    assert questions[TOPIC].question == "Who won? Topic Answer with one of: sport, politics."
    assert "Answer with all that apply of: calm, angry, funny." in questions[TONE].question
    assert "Answer with one of: 0, 1, 2, 3, 4." in questions[QUALITY].question
    assert questions[COMMENT].question == "Who won?"
    assert [sentence for _title, several in questions[TOPIC].context for sentence in several] == [
        "Ada kicked a 30-yard goal.", " Bo kicked a 40-yard goal.",
    ]  # fmt: skip


def test_answers_become_labels_and_what_has_no_meaning_is_left_out() -> None:
    assert values({TOPIC: answer("Sport."), TONE: answer("calm and funny"), QUALITY: answer("3 of 4")}) == {
        TOPIC: ["sport"], TONE: ["calm", "funny"], QUALITY: [3],
    }  # fmt: skip
    assert values({TOPIC: answer("sport or politics"), QUALITY: answer("9"), COMMENT: answer("  ")}) == {}


def test_facts_and_answers_become_spans() -> None:
    prediction = answer("sport", facts=[("", 1), ("", 7)], answer_logprob=math.log(0.25))
    marks, score = build_marks({TOPIC: prediction}, program(), SPANS, FACTS)
    (mark,) = marks[ENTITIES]
    assert (mark.quote, mark.label) == ("Bo kicked a 40-yard goal.", "Place")  # type: ignore[union-attr]
    assert score == pytest.approx(0.25)
    check_document(Document.model_validate({"layers": {ENTITIES: {"objects": [mark]}}}), program(), SPANS)
    location = AnswerLocation(first=("", 1), last=("", 1), start=1, end=3)
    fit = Fit(marks="answer", layer=ENTITIES, label="Person")
    marks, score = build_marks({ENTITIES: answer("Bo", location=location)}, program(), SPANS, fit)
    assert [mark.quote for mark in marks[ENTITIES]] == ["Bo"]  # type: ignore[union-attr]
    assert score is None


def test_a_program_gets_the_answer_where_people_draw() -> None:
    parsed = parse_program_text(SPANS_PROGRAM, "spans")
    fit = choose_default_fit(None)
    assert list(build_questions("i", "Which goals?", parsed, PASSAGE, fit)) == [2]
    marks, _score = build_marks({2: answer("a 30-yard goal.")}, parsed, SPANS, fit)
    assert [mark.quote for mark in marks[2]] == ["a 30-yard goal."]  # type: ignore[union-attr]


def test_the_use_of_answers_follows_from_the_task() -> None:
    assert choose_default_fit(TASK) == Fit(marks="facts", layer=1, label="Person")
    spans = read_label_task("layers: [{type: spans, name: Names, labels: [Name]}]")
    assert choose_default_fit(spans) == Fit(marks="answer", layer=1, label="Name")
    assert choose_default_fit(read_label_task("layers: [{type: rating, name: Stars}]")) == Fit()


@pytest.mark.parametrize("text", ["", "One.", "One. Two!\n\nThree", "Say “no.” Then go.", "a.b c"])
def test_sentences_are_the_passage(text: str) -> None:
    joined = "".join(text[start:end] for start, end in split_sentences(text))
    assert "".join(joined.split()) == "".join(text.split())


def test_modules_suggest_likely_boxes_and_attended_words() -> None:
    proposals = [[[0.1, 0.1, 0.3, 0.5], [0.2, 0.2, 0.4, 0.4]], [[0.0, 0.0, 1.0, 1.0]]]
    modules = [
        {"index": 1, "module": "count", "value": 1},
        {"index": 3, "module": "find", "probabilities": [0.9, 0.5, 0.7]},
    ]
    suggestions = build_suggestions(
        "s7", parse_program_text(PROGRAM, "boxes"), BOXES, marks={}, proposals=proposals, modules=modules
    )
    assert [
        (suggestion["id"], suggestion["image"], suggestion["probability"]) for suggestion in suggestions[3]
    ] == [
        ("s7.3.0", 0, 0.9), ("s7.3.1", 1, 0.7),
    ]  # fmt: skip
    assert list(suggestions) == [3]
    attention = [0.4, 0.2, 0.1, 0.0, 0.3] + [0.0] * 5
    modules = [{"index": 2, "module": "find", "attention": attention}]
    suggestions = build_suggestions(
        "s8", parse_program_text(SPANS_PROGRAM, "spans"), SPANS, marks={}, modules=modules
    )
    assert [suggestion["quote"] for suggestion in suggestions[2]] == ["Ada kicked", "goal."]


def test_rejected_suggestions_are_kept_and_undone() -> None:
    edit = Edit.model_validate({"node": ENTITIES, "rejected": ["s1.1.0"]})
    document, inverse = apply(Document(), edit, program(), SPANS)
    assert document.layers[ENTITIES].rejected == ("s1.1.0",)
    assert Document.model_validate_json(document.model_dump_json()) == document
    nothing = Edit.model_validate({"node": ENTITIES, "state": "nothing"})
    assert apply(document, nothing, program(), SPANS)[0].layers[ENTITIES].rejected == ("s1.1.0",)
    undone, _inverse = apply(document, Edit.model_validate(inverse), program(), SPANS)
    assert undone.layers[ENTITIES].rejected == ()


def test_documents_of_people_alone_hold_nothing_about_suggestions() -> None:
    document = Document.model_validate(
        {"layers": {ENTITIES: {"objects": [span("a", 0, 1, label="Person")], "state": "done"}}}
    )
    assert "suggested" not in document.model_dump_json()
    assert "rejected" not in document.model_dump_json()


def test_an_output_says_something() -> None:
    with pytest.raises(ValidationError, match="is missing, and so are marks"):
        SystemRecord.model_validate({"id": "i1"})


def build_document(**layers: list[Any]) -> Document:
    nodes = {"topic": TOPIC, "tone": TONE, "quality": QUALITY, "comment": COMMENT}
    return Document.model_validate(
        {
            "layers": {
                nodes[name]: {"state": "done", "objects": [{"id": f"{name}{n}", "value": value}
                                                           for n, value in enumerate(several)]}
                for name, several in layers.items()
            }
        }
    )  # fmt: skip


@pytest.mark.parametrize("gold, answered, score", [
    (build_document(topic=["sport"]), build_document(topic=["sport"]), 1),
    (build_document(topic=["sport"]), build_document(topic=["politics"]), 0),
    (build_document(topic=["sport"]), build_document(), 0),
    (build_document(quality=[4]), build_document(quality=[3]), 0.75),
    (build_document(tone=["calm", "funny"]), build_document(tone=["calm"]), 2 / 3),
    (build_document(topic=["sport"], quality=[4]), build_document(topic=["sport"], quality=[2]), 0.75),
    (build_document(comment=["yes"]), build_document(comment=["no"]), None),
    (build_document(), build_document(topic=["sport"]), None),
])  # fmt: skip
def test_answers_are_scored(gold: Document, answered: Document, score: float | None) -> None:
    likeness = measure_likeness(program(), gold, answered, SPANS.tokens, "spans")
    assert likeness == (None if score is None else pytest.approx(score))


def test_a_task_of_answers_alone_is_scored() -> None:
    parsed = parse_program_text(read_label_task("layers: [{type: rating, name: Stars}]").text, "boxes")
    stars = Document.model_validate({"layers": {1: {"state": "done", "objects": [{"id": "a", "value": 5}]}}})
    assert measure_likeness(parsed, stars, stars, (), "boxes") == 1
    assert Subject(kind="boxes").images == 0
