"""Tests of the editor's API: its content, its rights and its refusals."""

from typing import Any

import pytest
from django.test import Client

from annotation.actions import assignments, review
from annotation.actions.editing import save_operations
from annotation.models import Annotation, Role, SystemOutput
from tests.annotation.factories import (
    box,
    finished,
    make_annotation,
    make_items,
    make_member,
    make_project,
    make_user,
    operation,
    span,
)

pytestmark = pytest.mark.django_db


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, annotation: Annotation, name: str, body: Any) -> Any:
    return client.post(f"/api/v1/annotations/{annotation.pk}/{name}/", body, content_type="application/json")


def sent(*operations: Any) -> dict[str, Any]:
    return {"operations": [edit.model_dump(mode="json", exclude_unset=True) for edit in operations]}


def test_it_works() -> None:
    annotation = make_annotation()
    client = client_of(annotation.annotator)
    state = client.get(f"/api/v1/annotations/{annotation.pk}/editor/").json()
    assert state["program"]["walk"] == [3, 2, 1, 4, 0]
    assert [node["role"] for node in state["program"]["nodes"]] == [
        "compute", "compute", "choose", "draw", "compute",
    ]  # fmt: skip
    assert state["values"] == [None, None, None, None, 2]
    answer = post(client, annotation, "operations", sent(operation(0, 3, put=[box("a")], state="done")))
    assert answer.status_code == 200
    assert answer.json()["values"][3] == 1
    answer = post(
        client, annotation, "operations", sent(operation(1, 2, put=[{"id": "c", "ref": "a"}], state="done"))
    )
    assert answer.json()["mismatch"] is True  # one dog, and the label says there are two
    answer = post(client, annotation, "submit", {"revision": 2})
    assert answer.json() == {"next": f"/annotate/{annotation.project.slug}/", "annotation": None}


def test_a_stale_edit_gets_everything_that_a_merge_needs() -> None:
    annotation = make_annotation()
    client = client_of(annotation.annotator)
    first = operation(0, 3, put=[box("a")])
    post(client, annotation, "operations", sent(first))
    answer = post(client, annotation, "operations", sent(operation(0, 3, put=[box("b")])))
    assert answer.status_code == 409
    body = answer.json()
    assert body["revision"] == 1
    assert [row["id"] for row in body["operations"]] == [str(first.id)]
    assert body["document"]["layers"]["3"]["objects"][0]["id"] == "a"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "operations"),
        ({"operations": []}, "operations"),
        ({"operations": [{"base": 0}]}, "operations.0.id"),
        (sent(operation(0, 1, put=[box("a")])), "put.0"),
        ({"operations": [{"id": "x", "base": 0}]}, "operations.0.id"),
        ({"operations": [], "more": 1}, "operations"),
    ],
)
def test_a_wrong_edit_is_told_its_field(body: Any, field: str) -> None:
    annotation = make_annotation()
    answer = post(client_of(annotation.annotator), annotation, "operations", body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


def test_strangers_and_other_annotators_find_nothing() -> None:
    annotation = make_annotation()
    others = [make_user(), make_user(is_staff=True), make_member().user, make_member(annotation.project).user]
    for user in others:
        client = client_of(user)
        assert client.get(f"/api/v1/annotations/{annotation.pk}/editor/").status_code == 404
        assert post(client, annotation, "submit", {"revision": 0}).status_code == 404
    assert Client().get(f"/api/v1/annotations/{annotation.pk}/editor/").status_code in (401, 403)


def test_an_adjudicator_sees_a_work_but_does_not_change_it() -> None:
    annotation = make_annotation()
    client = client_of(make_member(annotation.project, Role.ADJUDICATOR).user)
    assert client.get(f"/api/v1/annotations/{annotation.pk}/editor/").status_code == 200
    answer = post(client, annotation, "operations", sent(operation(0, 3, put=[box("a")])))
    assert answer.status_code == 403


def test_open_steps_are_named_when_a_work_is_submitted_too_early() -> None:
    annotation = make_annotation()
    answer = post(client_of(annotation.annotator), annotation, "submit", {"revision": 0})
    assert answer.status_code == 422
    assert answer.json()["nodes"] == [3, 2]


def test_a_place_that_is_lost_is_410_and_says_that_the_work_is_kept() -> None:
    annotation = make_annotation()
    client = client_of(annotation.annotator)
    post(client, annotation, "operations", sent(operation(0, 3, put=[box("a")])))
    assert post(client, annotation, "release", {}).status_code == 200
    assignments.assign_next_annotation(member=make_member(annotation.project))
    answer = post(client, annotation, "operations", sent(operation(1, 3, put=[box("b")])))
    assert answer.status_code == 410
    assert "remains saved" in answer.json()["detail"]


def test_comments_are_added_and_resolved() -> None:
    annotation = make_annotation()
    client = client_of(annotation.annotator)
    comment = post(client, annotation, "comments", {"text": "Is this one dog or two?", "node": 3}).json()
    assert not comment["resolved"]
    assert post(client, annotation, f"comments/{comment['id']}/resolve", {}).json()["resolved"]
    other = make_annotation()
    assert post(client_of(other.annotator), other, f"comments/{comment['id']}/resolve", {}).status_code == 404


def test_a_returned_work_is_changed_and_submitted_again() -> None:
    annotation = finished(make_annotation())
    judge = make_member(annotation.project, Role.ADJUDICATOR).user
    review.return_annotation(
        annotation=annotation, revision=annotation.revision, text="The second dog is brown.", by=judge
    )
    client = client_of(annotation.annotator)
    assert post(client, annotation, "operations", sent(operation(2, 2, remove=["d"]))).status_code == 200
    assert post(client, annotation, "submit", {"revision": 3}).status_code == 200


def test_keys_are_kept_per_person() -> None:
    annotation = make_annotation()
    client = client_of(annotation.annotator)
    address = "/api/v1/keys/"
    client.put(address, {"keys": {"draw": "b"}}, content_type="application/json")
    assert client.get(f"/api/v1/annotations/{annotation.pk}/editor/").json()["keys"] == {"draw": "b"}
    wrong = client.put(address, {"keys": {"draw": ""}}, content_type="application/json")
    assert wrong.status_code == 422


def test_the_answer_and_the_mismatch_stay_hidden_where_the_project_says_so() -> None:
    annotation = make_annotation(show_answer=False)
    state = client_of(annotation.annotator).get(f"/api/v1/annotations/{annotation.pk}/editor/").json()
    assert state["item"]["answer"] is None
    assert state["mismatch"] is None


def test_saving_asks_the_database_a_fixed_number_of_times(django_assert_max_num_queries: Any) -> None:
    annotation = make_annotation()
    client = client_of(annotation.annotator)
    edits = [operation(0, 3, put=[box(f"b{n}")]) for n in range(40)]
    # The login is two; BEGIN, the work, the operations, the work again. A test's savepoint ends once.
    with django_assert_max_num_queries(7):
        post(client, annotation, "operations", sent(*edits))


def test_going_on_to_the_next_item_asks_the_database_a_fixed_number_of_times(
    django_assert_max_num_queries: Any,
) -> None:
    member = make_member(make_project(kind="spans"))
    make_items(member.project, 3)
    client = client_of(member.user)
    for _time in range(2):
        annotation = assignments.assign_next_annotation(member=member)
        problem = operation(0, 0, problem={"kind": "other"})
        revision = save_operations(
            annotation=annotation.pk, operations=[problem], by=member.user
        ).annotation.revision
        with django_assert_max_num_queries(22):
            answer = post(client, annotation, "submit", {"revision": revision, "go_on": True}).json()
        assert answer["annotation"]["item"]["external_id"] == f"i{_time + 2}"


def test_after_the_last_item_the_project_says_that_none_is_left() -> None:
    member = make_member(make_project(kind="spans"))
    make_items(member.project)
    annotation = assignments.assign_next_annotation(member=member)
    problem = operation(0, 0, problem={"kind": "other"})
    revision = save_operations(
        annotation=annotation.pk, operations=[problem], by=member.user
    ).annotation.revision
    client = client_of(member.user)
    answer = post(client, annotation, "submit", {"revision": revision, "go_on": True}).json()
    assert answer == {"next": f"/annotate/{member.project.slug}/", "annotation": None}
    assert "No items are left for you. Thank you!" in client.get(answer["next"]).content.decode()


def test_spans_go_the_same_way() -> None:
    member = make_member(make_project(kind="spans"))
    make_items(member.project)
    annotation = assignments.assign_next_annotation(member=member)
    answer = post(
        client_of(member.user), annotation, "operations", sent(operation(0, 2, put=[span("a", 3, 5)]))
    )
    assert answer.json()["values"][2] == 1


def test_an_adjudicator_does_not_give_back_what_somebody_else_has_but_a_manager_does() -> None:
    annotation = make_annotation()
    adjudicator, manager = (
        make_member(annotation.project, role).user for role in (Role.ADJUDICATOR, Role.MANAGER)
    )
    assert post(client_of(adjudicator), annotation, "release", {}).status_code == 403
    assert post(client_of(manager), annotation, "release", {}).status_code == 200


def test_one_edit_twice_in_a_batch_is_one_edit() -> None:
    annotation = make_annotation()
    edit = operation(0, 3, put=[box("a")])
    answer = post(client_of(annotation.annotator), annotation, "operations", sent(edit, edit))
    assert answer.status_code == 200
    assert [row["revision"] for row in answer.json()["saved"]] == [1, 1]


def test_a_step_that_is_not_there_cannot_be_what_is_wrong() -> None:
    annotation = make_annotation()
    edit = operation(0, 3, problem={"kind": "wrong module", "node": 999})
    answer = post(client_of(annotation.annotator), annotation, "operations", sent(edit))
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "problem.node")


def test_outputs_on_the_screen_are_noted() -> None:
    annotation = make_annotation(show_predictions=True)
    SystemOutput.objects.create(item=annotation.item, system="nmn", revision="1", modules=[])
    client = client_of(annotation.annotator)
    assert client.get(f"/api/v1/annotations/{annotation.pk}/editor/").json()["predictions"]
    assert Annotation.objects.get(pk=annotation.pk).predictions_shown == []
    for _time in range(2):
        assert post(client, annotation, "shown", {"outputs": ["nmn@1"]}).status_code == 204
        assert Annotation.objects.get(pk=annotation.pk).predictions_shown == ["nmn@1"]
    answer = post(client, annotation, "shown", {"outputs": ["nmn@2"]})
    assert (answer.status_code, "nmn@2" in answer.json()["detail"]) == (409, True)


@pytest.mark.parametrize("number", [2**63, 10**30])
def test_numbers_beyond_every_id_are_not_there(number: int) -> None:
    client = client_of(make_member().user)
    assert client.get(f"/api/v1/annotations/{number}/editor/").status_code == 404
    assert client.get(f"/annotate/annotation/{number}/").status_code == 404
