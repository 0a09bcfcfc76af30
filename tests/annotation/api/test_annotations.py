"""The editor's API: what it gives, who gets it, and what a wrong request is told."""

from typing import Any

import pytest
from django.test import Client

from annotation.actions import assignments, review
from annotation.actions.editing import save_operations
from annotation.models import Role, SystemOutput, Work
from tests.annotation.factories import (
    box,
    finished,
    make_items,
    make_member,
    make_project,
    make_user,
    make_work,
    operation,
    span,
)

pytestmark = pytest.mark.django_db


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, work: Work, name: str, body: Any) -> Any:
    return client.post(f"/api/annotation/work/{work.pk}/{name}/", body, content_type="application/json")


def sent(*operations: Any) -> dict[str, Any]:
    return {"operations": [one.model_dump(mode="json", exclude_unset=True) for one in operations]}


def test_it_works() -> None:
    work = make_work()
    client = client_of(work.annotator)
    state = client.get(f"/api/annotation/work/{work.pk}/").json()
    assert state["program"]["walk"] == [3, 2, 1, 4, 0]
    assert [node["role"] for node in state["program"]["nodes"]] == [
        "compute", "compute", "choose", "draw", "compute",
    ]  # fmt: skip
    assert state["values"] == [None, None, None, None, 2]
    answer = post(client, work, "operations", sent(operation(0, 3, put=[box("a")], state="done")))
    assert answer.status_code == 200
    assert answer.json()["values"][3] == 1
    answer = post(
        client, work, "operations", sent(operation(1, 2, put=[{"id": "c", "ref": "a"}], state="done"))
    )
    assert answer.json()["mismatch"] is True  # one dog, and the label says there are two
    answer = post(client, work, "submit", {"revision": 2})
    assert answer.json() == {"next": f"/annotate/{work.project.slug}/"}


def test_a_stale_edit_gets_everything_that_a_merge_needs() -> None:
    work = make_work()
    client = client_of(work.annotator)
    first = operation(0, 3, put=[box("a")])
    post(client, work, "operations", sent(first))
    answer = post(client, work, "operations", sent(operation(0, 3, put=[box("b")])))
    assert answer.status_code == 409
    body = answer.json()
    assert body["revision"] == 1
    assert [one["id"] for one in body["operations"]] == [str(first.id)]
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
    work = make_work()
    answer = post(client_of(work.annotator), work, "operations", body)
    assert answer.status_code == 422
    assert answer.json()["field"] == field


def test_strangers_and_other_annotators_find_nothing() -> None:
    work = make_work()
    others = [make_user(), make_user(is_staff=True), make_member().user, make_member(work.project).user]
    for user in others:
        client = client_of(user)
        assert client.get(f"/api/annotation/work/{work.pk}/").status_code == 404
        assert post(client, work, "submit", {"revision": 0}).status_code == 404
    assert Client().get(f"/api/annotation/work/{work.pk}/").status_code in (401, 403)


def test_an_adjudicator_sees_a_work_but_does_not_change_it() -> None:
    work = make_work()
    client = client_of(make_member(work.project, Role.ADJUDICATOR).user)
    assert client.get(f"/api/annotation/work/{work.pk}/").status_code == 200
    answer = post(client, work, "operations", sent(operation(0, 3, put=[box("a")])))
    assert answer.status_code == 403


def test_open_steps_are_named_when_a_work_is_submitted_too_early() -> None:
    work = make_work()
    answer = post(client_of(work.annotator), work, "submit", {"revision": 0})
    assert answer.status_code == 422
    assert answer.json()["nodes"] == [3, 2]


def test_a_place_that_is_lost_is_410_and_says_that_the_work_is_kept() -> None:
    work = make_work()
    client = client_of(work.annotator)
    post(client, work, "operations", sent(operation(0, 3, put=[box("a")])))
    assert post(client, work, "release", {}).status_code == 200
    assignments.next_work(member=make_member(work.project))
    answer = post(client, work, "operations", sent(operation(1, 3, put=[box("b")])))
    assert answer.status_code == 410
    assert "kept" in answer.json()["detail"]


def test_comments_are_added_and_resolved() -> None:
    work = make_work()
    client = client_of(work.annotator)
    made = post(client, work, "comments", {"text": "Is this one dog or two?", "node": 3}).json()
    assert not made["resolved"]
    assert post(client, work, f"comments/{made['id']}/resolve", {}).json()["resolved"]
    other = make_work()
    assert post(client_of(other.annotator), other, f"comments/{made['id']}/resolve", {}).status_code == 404


def test_a_returned_work_is_changed_and_submitted_again() -> None:
    work = finished(make_work())
    judge = make_member(work.project, Role.ADJUDICATOR).user
    review.return_work(work=work, revision=work.revision, text="The second dog is brown.", by=judge)
    client = client_of(work.annotator)
    assert post(client, work, "operations", sent(operation(2, 2, remove=["d"]))).status_code == 200
    assert post(client, work, "submit", {"revision": 3}).status_code == 200


def test_keys_are_kept_per_person() -> None:
    work = make_work()
    client = client_of(work.annotator)
    client.put("/api/annotation/keys/", {"draw": "b"}, content_type="application/json")
    assert client.get(f"/api/annotation/work/{work.pk}/").json()["keys"] == {"draw": "b"}
    assert (
        client.put("/api/annotation/keys/", {"draw": ""}, content_type="application/json").status_code == 422
    )


def test_the_answer_and_the_mismatch_stay_hidden_where_the_project_says_so() -> None:
    work = make_work(show_answer=False)
    state = client_of(work.annotator).get(f"/api/annotation/work/{work.pk}/").json()
    assert state["item"]["answer"] is None
    assert state["mismatch"] is None


def test_saving_asks_the_database_a_fixed_number_of_times(django_assert_max_num_queries: Any) -> None:
    work = make_work()
    client = client_of(work.annotator)
    edits = [operation(0, 3, put=[box(f"b{n}")]) for n in range(40)]
    # Who is logged in is two; BEGIN, the work, the operations, the work again. A test's savepoint ends once.
    with django_assert_max_num_queries(7):
        post(client, work, "operations", sent(*edits))


def test_going_on_to_the_next_item_asks_the_database_a_fixed_number_of_times(
    django_assert_max_num_queries: Any,
) -> None:
    member = make_member(make_project(kind="spans"))
    make_items(member.project, 3)
    client = client_of(member.user)
    for _time in range(2):
        work = assignments.next_work(member=member)
        problem = operation(0, 0, problem={"kind": "other"})
        revision = save_operations(work=work.pk, operations=[problem], by=member.user).work.revision
        with django_assert_max_num_queries(22):
            answer = post(client, work, "submit", {"revision": revision, "go_on": True}).json()
        assert answer["work"]["item"]["external_id"] == f"i{_time + 2}"


def test_spans_go_the_same_way() -> None:
    member = make_member(make_project(kind="spans"))
    make_items(member.project)
    work = assignments.next_work(member=member)
    answer = post(client_of(member.user), work, "operations", sent(operation(0, 2, put=[span("a", 3, 5)])))
    assert answer.json()["values"][2] == 1


def test_an_adjudicator_does_not_give_back_what_somebody_else_has_but_a_manager_does() -> None:
    work = make_work()
    adjudicator, manager = (make_member(work.project, role).user for role in (Role.ADJUDICATOR, Role.MANAGER))
    assert post(client_of(adjudicator), work, "release", {}).status_code == 403
    assert post(client_of(manager), work, "release", {}).status_code == 200


def test_one_edit_twice_in_a_batch_is_one_edit() -> None:
    work = make_work()
    one = operation(0, 3, put=[box("a")])
    answer = post(client_of(work.annotator), work, "operations", sent(one, one))
    assert answer.status_code == 200
    assert [each["revision"] for each in answer.json()["saved"]] == [1, 1]


def test_a_step_that_is_not_there_cannot_be_what_is_wrong() -> None:
    work = make_work()
    edit = operation(0, 3, problem={"kind": "wrong module", "node": 999})
    answer = post(client_of(work.annotator), work, "operations", sent(edit))
    assert (answer.status_code, answer.json()["field"]) == (422, "problem.node")


def test_outputs_that_are_seen_again_after_taking_back_are_noted() -> None:
    work = finished(make_work(show_predictions=True))
    SystemOutput.objects.create(item=work.item, system="nmn", revision="1", modules=[])
    assert post(client_of(work.annotator), work, "take-back", {}).json()["predictions"]
    assert Work.objects.get(pk=work.pk).predictions_shown == ["nmn@1"]


@pytest.mark.parametrize("number", [2**63, 10**30])
def test_numbers_beyond_every_id_are_not_there(number: int) -> None:
    client = client_of(make_member().user)
    assert client.get(f"/api/annotation/work/{number}/").status_code == 404
    assert client.get(f"/annotate/work/{number}/").status_code == 404
