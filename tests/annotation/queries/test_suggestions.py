"""Tests of suggestions: acceptance, visibility, and answers of readers."""

import json
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.actions import assignments, review
from annotation.actions.data import import_items
from annotation.actions.editing import save_operations, submit
from annotation.actions.outputs import import_outputs, note_shown
from annotation.actions.projects import create_project, set_member
from annotation.actions.runs import check_fit
from annotation.content.labels import read_label_task
from annotation.content.schemas import Document, ItemRecord, SystemRecord
from annotation.errors import Conflict
from annotation.models import Annotation, Gold, Item, Membership, OutputRun, Project, Role, SystemOutput
from annotation.queries.annotations import build_editor_state
from annotation.queries.qualification import compute_scores
from annotation.queries.suggestions import measure_acceptance
from annotation.suggestions import Fit
from tests import workspaces
from tests.annotation.actions.test_output_runs import executed, server
from tests.annotation.content.test_labels import ENTITIES, QUALITY, TASK, TOPIC
from tests.annotation.factories import PASSAGE, SPANS, make_member, operation, span
from tests.annotation.rest.test_annotations import client_of
from tests.studyapp.serving import eager, no_model_server

__all__ = ["eager", "no_model_server", "server"]

pytestmark = pytest.mark.django_db

PERSON, BO, WORD = (
    span("a", 0, 1, label="Person"), span("b", 5, 6, label="Person"), span("c", 2, 3, label="Place"),
)  # fmt: skip
MARKS: dict[int, list[dict[str, Any]]] = {
    ENTITIES: [PERSON, BO, WORD], TOPIC: [{"id": "d", "value": "politics"}],
}  # fmt: skip
QUALITY_ANSWER = {"node": QUALITY, "put": [{"id": "n4", "value": 3}], "state": "done"}


def labelled(task: str = TASK, **fields: Any) -> Project:
    arguments = {"slug": "plain", "title": "Plain", "workspace": workspaces.main(), "by": None}
    arguments |= {"kind": "spans", "annotators_per_item": 2, "show_predictions": True} | fields
    return create_project(labels=read_label_task(task), **arguments)


def add(project: Project, name: str = "i1", task: str = TASK, **fields: Any) -> Item:
    record: dict[str, Any] = {"external_id": name, "kind": "spans", "text": ""}
    record |= {"program": read_label_task(task).text, "passage": PASSAGE, "tokens": SPANS.tokens}
    import_items(records=[ItemRecord.model_validate(record)], project=project, **fields)
    return project.items.get(external_id=name)


def suggest(project: Project, **fields: Any) -> SystemOutput:
    record = SystemRecord.model_validate({"id": "i1", "marks": MARKS, **fields})
    import_outputs(records=[record], project=project, system="reader", revision="1")
    return SystemOutput.objects.get()


def handed_in(annotation: Annotation, *edits: dict[str, Any]) -> Annotation:
    sent = [operation(base, **edit) for base, edit in enumerate(edits)]
    saved = save_operations(annotation=annotation.pk, operations=sent, by=annotation.annotator)
    return submit(annotation=annotation.pk, revision=saved.annotation.revision, by=annotation.annotator)


def decided(member: Membership, key: str) -> Annotation:
    """Accept one suggestion, change one, reject one, and overrule the answer."""

    def taken(thing: dict[str, Any], suffix: str, *, changed: bool) -> dict[str, Any]:
        return thing | {"suggested": {"by": "reader@1", "id": f"{key}.{suffix}", "changed": changed}}

    annotation = assignments.assign_next_annotation(member=member)
    note_shown(annotation=annotation, outputs=["reader@1"], by=member.user)
    put = [taken(PERSON, "1.0", changed=False), taken(BO | {"label": "Place"}, "1.1", changed=True)]
    topic = taken({"id": "n2", "value": "sport"}, "2.0", changed=True)
    return handed_in(
        annotation,
        {"node": ENTITIES, "put": put, "rejected": [f"{key}.1.2"], "state": "done"},
        {"node": TOPIC, "put": [topic], "state": "done"},
        QUALITY_ANSWER,
    )


def alone(member: Membership) -> Annotation:
    """Mark two of the three without having seen any."""
    return handed_in(
        assignments.assign_next_annotation(member=member),
        {"node": ENTITIES, "put": [PERSON, BO], "state": "done"},
        {"node": TOPIC, "put": [{"id": "n2", "value": "politics"}], "state": "done"},
        QUALITY_ANSWER,
    )


def test_decisions_are_counted_apart_for_who_saw_them() -> None:
    project = labelled()
    add(project)
    key = f"s{suggest(project).pk}"
    decided(make_member(project), key)
    alone(make_member(project))
    (counted,) = measure_acceptance(project)
    assert (counted.system, counted.shown, counted.blind) == ("reader", 1, 1)
    assert (counted.suggested, counted.accepted, counted.changed, counted.rejected) == (4, 1, 2, 1)
    assert (counted.left, counted.percent) == (0, 25)
    # With those who saw nothing: two of three tokens are shared, F1 0.8, and the answer is the same.
    assert counted.with_blind == pytest.approx((0.8 + 1) / 2)
    # With those who saw it: a token of three is shared under its label, and the answer was overruled.
    assert counted.with_shown == pytest.approx(0.2)


def test_an_accepted_mark_that_was_deleted_counts_as_undecided() -> None:
    project = labelled()
    add(project)
    suggest(project)
    member = make_member(project)
    annotation = assignments.assign_next_annotation(member=member)
    note_shown(annotation=annotation, outputs=["reader@1"], by=member.user)
    nothing = {"node": ENTITIES, "state": "nothing"}
    handed_in(annotation, nothing, {"node": TOPIC, "state": "unsure"}, QUALITY_ANSWER)
    (counted,) = measure_acceptance(project)
    assert (counted.accepted, counted.left) == (0, 4)


def test_people_who_work_blind_get_no_outputs() -> None:
    project = labelled()
    add(project)
    output = suggest(project, score=0.5)
    member, other = make_member(project), make_member(project)
    annotation = assignments.assign_next_annotation(member=member)
    (shown,) = build_editor_state(annotation)["predictions"]
    assert (shown["score"], [suggestion["id"] for suggestion in shown["suggestions"][ENTITIES]]) == (
        0.5, [f"s{output.pk}.1.{index}" for index in range(3)],
    )  # fmt: skip
    set_member(project=project, user=other.user, role=Role.ANNOTATOR, blind=True, by=None)
    other.refresh_from_db()
    assert build_editor_state(assignments.assign_next_annotation(member=other))["predictions"] is None
    set_member(project=project, user=other.user, role=Role.ANNOTATOR, by=None)
    assert Membership.objects.get(pk=other.pk).blind  # who does not say it leaves it as it is
    state = client_of(other.user).get(f"/api/v1/annotations/{annotation.pk + 1}/editor/").json()
    assert state["predictions"] is None


RELATED = """
layers:
  - {type: spans, name: Entities, labels: [Person, Place]}
  - {type: spans, name: Words, labels: [verb], required: false}
  - {type: relations, name: Links, labels: [knows, met]}
"""


def test_relations_are_suggested_and_counted() -> None:
    project = labelled(RELATED, slug="linked")
    add(project, task=RELATED)
    links = [
        {"id": "r", "ends": ["a", "b"], "label": "knows"},
        {"id": "s", "ends": ["b", "a"], "label": "met"},
    ]
    output = suggest(project, marks={1: [PERSON, BO], 3: links})
    key = f"s{output.pk}"
    members = [make_member(project), make_member(project)]
    first, second = [assignments.assign_next_annotation(member=member) for member in members]
    (shown,) = build_editor_state(first)["predictions"]
    assert [suggestion["ends"] for suggestion in shown["suggestions"][3]] == [
        [f"{key}.1.0", f"{key}.1.1"], [f"{key}.1.1", f"{key}.1.0"],
    ]  # fmt: skip
    note_shown(annotation=first, outputs=["reader@1"], by=members[0].user)
    marks = [
        mark | {"suggested": {"by": "reader@1", "id": f"{key}.1.{n}"}} for n, mark in enumerate([PERSON, BO])
    ]
    taken = links[0] | {"suggested": {"by": "reader@1", "id": f"{key}.3.0"}}
    both = {"also": [{"node": 1, "put": marks, "state": "done"}], "rejected": [f"{key}.3.1"]}
    handed_in(first, {"node": 3, "put": [taken], "state": "done", **both})
    # Somebody who works alone relates a mark of a layer that the system does not cover.
    verb = span("v", 3, 4, label="verb")
    other = [links[0], {"id": "t", "ends": ["a", "v"], "label": "met"}]
    handed_in(
        second,
        {"node": 1, "put": [PERSON, BO], "state": "done"},
        {"node": 2, "put": [verb], "state": "done"},
        {"node": 3, "put": other, "state": "done"},
    )
    (counted,) = measure_acceptance(project)
    assert (counted.suggested, counted.accepted, counted.rejected, counted.left) == (4, 3, 1, 0)
    # All marks are shared; the system has one relation that the person does not have.
    assert counted.with_shown == counted.with_blind == pytest.approx((1 + 2 / 3) / 2)


@pytest.mark.parametrize("marks, message", [
    ({0: [PERSON]}, "computed"), ({ENTITIES: [PERSON | {"label": "Animal"}]}, "is not a label"),
    ({ENTITIES: [PERSON | {"quote": "Eve"}]}, "the quote differs"), ({9: [PERSON]}, "no step 9"),
    ({TOPIC: [{"id": "x", "value": "weather"}]}, "is not a label"),
])  # fmt: skip
def test_marks_that_do_not_fit_are_refused(marks: dict[int, Any], message: str) -> None:
    project = labelled()
    add(project)
    with pytest.raises(Exception, match=message):
        suggest(project, marks=marks)
    assert not SystemOutput.objects.exists()


def test_a_reader_is_asked_and_its_answers_are_suggested(server, eager) -> None:
    project = labelled()
    item = add(project)
    printed, _warned = executed(project, "--wait", "--system", "fake", "--reader")
    assert "outputs for 1 of 1 items" in printed
    output = SystemOutput.objects.get(item=item)
    assert output.modules == []
    assert OutputRun.objects.get().fit == {"marks": "facts", "layer": 1, "label": "Person"}
    with pytest.raises(CommandError, match="is a reader"):
        executed(project, "--wait", "--system", "fake")


def test_the_page_asks_a_reader_and_shows_what_became_of_it(server, eager) -> None:
    project = labelled()
    add(project)
    client = client_of(make_member(project, Role.MANAGER).user)
    page = client.get("/annotate/plain/outputs/").content.decode()
    assert "the answer → Entities: Place" in page
    fit = {"marks": "answer", "layer": 1, "label": "Place"}
    sent = {"system": "fake", "kind": "reader", "marks": json.dumps(fit)}
    assert "Started fake" in client.post("/annotate/plain/runs/start/", sent, follow=True).content.decode()
    assert OutputRun.objects.get().fit == fit
    wrong = sent | {"marks": json.dumps(fit | {"label": "Animal"})}
    refusal = client.post("/annotate/plain/runs/start/", wrong, follow=True).content.decode()
    assert "choose a layer of spans of this project" in refusal
    SystemOutput.objects.all().delete()
    key = f"s{suggest(project).pk}"
    decided(make_member(project), key)
    page = client.get("/annotate/plain/outputs/").content.decode()
    assert "Suggestions to annotators" in page
    assert "1 (25 %)" in page
    (row,) = client.get("/api/v1/projects/plain/outputs/acceptance/").json()["results"]
    assert (row["suggested"], row["accepted"], row["blind"], row["with_blind"]) == (4, 1, 0, None)
    annotator = client_of(make_member(project).user)
    assert annotator.get("/api/v1/projects/plain/outputs/acceptance/").status_code == 403
    started = client.post(
        "/api/v1/projects/plain/runs/",
        {"system": "fake", "kind": "reader", "fit": fit | {"layer": 2}},
        content_type="application/json",
    )
    assert (started.status_code, started.json()["detail"]) == (
        409, "fit: choose a layer of spans of this project, and one of its labels",
    )  # fmt: skip


def test_readers_need_a_text() -> None:
    project = Project(kind="boxes")
    with pytest.raises(Conflict, match="need a text"):
        check_fit(project, Fit())


def test_hidden_gold_of_answers_reaches_the_score_of_its_annotator() -> None:
    project = labelled(hidden_gold_every=2)
    add(project, "ordinary")
    hidden = add(project, "hidden", purpose=Item.Purpose.HIDDEN_GOLD)
    gold = Document.model_validate(
        {
            "layers": {
                TOPIC: {"state": "done", "objects": [{"id": "g2", "value": "sport"}]},
                QUALITY: {"state": "done", "objects": [{"id": "g4", "value": 1}]},
            }
        }
    )
    review.set_gold(item=hidden, document=gold, method=Gold.Method.IMPORTED, by=None)
    member = make_member(project)
    assert alone(member).item.external_id == "ordinary"
    answer = {"node": TOPIC, "put": [{"id": "n2", "value": "sport"}], "state": "done"}
    member.refresh_from_db()
    second = assignments.assign_next_annotation(member=member)
    assert second.item == hidden
    handed_in(second, {"node": ENTITIES, "state": "nothing"}, answer, QUALITY_ANSWER)
    # The topic is right, and the rating of 3 is two of four steps away from 1.
    scores = compute_scores(project)[member.user.username]
    assert scores.items == 1
    assert scores.mean == pytest.approx(0.75)
