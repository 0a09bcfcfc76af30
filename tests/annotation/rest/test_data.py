"""The data API: what a script can read and bring in, and who may not."""

import io
import json
from typing import Any

import pytest
from django.test import Client
from rest_framework.exceptions import ParseError

from accounts.rest.bodies import read_blocks
from accounts.rest.problems import Refused
from annotation.actions import assignments
from annotation.actions.editing import save_operations
from annotation.actions.projects import set_member
from annotation.models import AuditEvent, Gold, Item, Membership, Role, SystemOutput
from annotation.queries.annotations import compute_outcome
from tests.annotation.factories import (
    box,
    finished,
    make_annotation,
    make_items,
    make_member,
    make_project,
    make_record,
    make_user,
    operation,
)
from tests.tokens import bearer

pytestmark = [pytest.mark.django_db, pytest.mark.database]

GOLD = {"layers": {"3": {"state": "done", "objects": [box("a")]}, "2": {"state": "nothing"}}}


class Script:
    """A program with somebody's token."""

    def __init__(self, member: Membership) -> None:
        self.client = Client(headers=bearer(member.user))
        self.base = f"/api/v1/projects/{member.project.slug}/"

    def get(self, path: str = "", code: int = 200, /, **query: Any) -> Any:
        response = self.client.get(self.base + path, query)
        assert response.status_code == code, response.content
        return response.json()

    def post(self, path: str, body: Any, status: int = 201, media: str = "application/json") -> Any:
        data = body if isinstance(body, (str, bytes)) else json.dumps(body)
        response = self.client.post(self.base + path, data, content_type=media)
        assert response.status_code == status, response.content
        return response.json()


def manager(**fields: Any) -> Membership:
    return make_member(make_project(**fields), Role.MANAGER)


def lines(*records: Any) -> str:
    return "".join(record.model_dump_json(exclude_defaults=True) + "\n" for record in records)


def test_it_works() -> None:
    member = manager()
    script = Script(member)
    report = script.post(
        "items/", lines(*(make_record(f"q{n}") for n in range(5))), media="application/x-ndjson"
    )
    assert report == {"added": 5, "unchanged": 0, "with_gold": 0, "annotations": 0, "images": 2}
    page = script.get("items/", limit=3)
    assert [item["external_id"] for item in page["results"]] == ["q0", "q1", "q2"]
    rest = script.client.get(page["next"]).json()
    assert [item["external_id"] for item in rest["results"]] == ["q3", "q4"]
    assert rest["next"] is None
    item = script.get(f"items/{page['results'][0]['id']}/")
    assert item == page["results"][0]
    assert item["answer"] is True
    assert item["images"][0] == {
        "id": item["images"][0]["id"],
        "name": "left.png",
        "width": None,
        "height": None,
        "url": "",
    }
    assert script.get()["items"] == 5
    event = AuditEvent.objects.get(project=member.project, kind="items_imported")
    assert event.actor == member.user


def test_my_projects_are_listed() -> None:
    member, _other = manager(), manager()
    listed = Script(member).client.get("/api/v1/projects/").json()["results"]
    assert [(project["slug"], project["roles"]) for project in listed] == [(member.project.slug, ["manager"])]


def test_items_as_a_list_and_the_same_again() -> None:
    script = Script(manager())
    body = [json.loads(lines(make_record("q1")))]
    assert script.post("items/", body)["added"] == 1
    assert script.post("items/", body) | {"images": 0} == {
        "added": 0, "unchanged": 1, "with_gold": 0, "annotations": 0, "images": 0,
    }  # fmt: skip


def test_a_dry_run_stores_nothing() -> None:
    script = Script(manager())
    response = script.post("items/?dry_run=true", lines(make_record("q1")), 200, "application/x-ndjson")
    assert response["added"] == 1
    assert not Item.objects.exists()


@pytest.mark.parametrize(
    ("body", "media", "status", "message"),
    [
        ("[", "application/json", 400, "JSON"),
        ("{}", "application/json", 422, "list"),
        ('[{"external_id": "a"}]', "application/json", 422, "0.kind: is missing"),
        ("x=1", "application/x-www-form-urlencoded", 415, "x-www-form"),
        ('{"external_id": "a"}\n', "application/x-ndjson", 422, "line 1."),
        ("[" * 100_000, "application/json", 400, "recursion"),
    ],
)
def test_malformed_bodies_are_told(body: str, media: str, status: int, message: str) -> None:
    answer = Script(manager()).post("items/", body, status, media)
    assert message in json.dumps(answer)
    assert not Item.objects.exists()


def test_a_line_that_is_wrong_stores_nothing_of_the_others() -> None:
    script = Script(manager())
    record = make_record("q2").model_dump(mode="json") | {"colour": "red"}
    body = lines(make_record("q1")) + json.dumps(record) + "\n"
    answer = script.post("items/", body, 422, "application/x-ndjson")
    problem = {"field": "line 2.colour", "detail": "there is no such field"}
    assert answer["errors"] == [problem]
    assert answer["detail"] == "line 2.colour: there is no such field"
    assert not Item.objects.exists()


def test_a_program_that_does_not_fit_is_told() -> None:
    script = Script(manager())
    record = make_record("q1").model_dump(mode="json") | {"program": "count(dogs)"}
    answer = script.post("items/", [record], 422)
    assert answer["errors"][0]["field"] == "item 1.program"
    assert "q1" in answer["detail"]


def test_long_bodies_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.rest.bodies.MOST_BYTES", 100)
    answer = Script(manager()).post("items/", [make_record().model_dump(mode="json")], 413)
    assert "at most 100" in answer["detail"]


def test_a_body_that_ends_early_is_told() -> None:
    class Cut:
        """A request whose connection broke after three of five bytes."""

        META = {"CONTENT_LENGTH": "5"}
        _request = io.BytesIO(b"abc")

    blocks = read_blocks(Cut())
    assert next(blocks) == b"abc"
    with pytest.raises(Refused, match="ends early") as refused:
        next(blocks)
    assert refused.value.status_code == ParseError.status_code


def test_lines_are_found_wherever_blocks_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.rest.bodies.BLOCK", 7)
    script = Script(manager())
    body = lines(*(make_record(f"q{n}", text="Straße 🐕") for n in range(5))).rstrip("\n")
    assert script.post("items/", body, media="application/x-ndjson")["added"] == 5


def test_unknown_parameters_are_errors() -> None:
    script = Script(manager())
    for name, value in {"stauts": "open", "limit": 0, "status": "half", "after": 3}.items():
        assert script.get("items/", 422, **{name: value})["errors"][0]["field"] == name


def test_items_by_status() -> None:
    member = manager()
    first, second = make_items(member.project, 2)
    finished(make_annotation(make_member(member.project)))
    Gold.objects.create(item=second, version=1, method="imported", document={})
    script = Script(member)

    def ids(status: str) -> list[str]:
        return [item["external_id"] for item in script.get("items/", status=status)["results"]]

    assert ids("complete") == [first.external_id]
    assert second.external_id in ids("open")
    assert ids("gold") == [second.external_id]
    assert first.external_id in ids("no gold")


def test_annotations_with_history() -> None:
    member = manager()
    annotation = finished(make_annotation(make_member(member.project)))
    script = Script(member)
    (row,) = script.get("annotations/")["results"]
    assert row["annotator"] == annotation.annotator.username
    assert row["revision"] == 2
    assert row["document"]["layers"]["3"]["state"] == "done"
    detail = script.client.get(f"/api/v1/annotations/{annotation.pk}/").json()
    assert [entry["revision"] for entry in detail["history"]] == [1, 2]
    assert detail["history"][0]["by"] == annotation.annotator.username
    assert detail["history"][0]["inverse"]["remove"] == ["a", "b"]
    assert script.get("annotations/", annotator="nobody")["results"] == []


def test_annotators_work_blind() -> None:
    project = make_project(annotators_per_item=2, show_answer=False)
    mine, theirs = make_annotation(make_member(project)), make_annotation(make_member(project))
    save_operations(annotation=theirs.pk, operations=[operation(0, 3, put=[box("x")])], by=theirs.annotator)
    script = Script(Membership.objects.get(user=mine.annotator))
    assert [annotation["id"] for annotation in script.get("annotations/")["results"]] == [str(mine.pk)]
    assert script.client.get(f"/api/v1/annotations/{theirs.pk}/").status_code == 404
    (item,) = script.get("items/")["results"]  # and only the items that they were handed
    assert item["external_id"] == mine.item.external_id
    assert [item[name] for name in ("answer", "purpose", "extra", "assigned", "has_gold")] == [None] * 5
    for path in ("gold/", "outputs/", "members/", "webhooks/"):
        script.get(path, 403)
    script.post("items/", [], 403)


def test_strangers_are_told_nothing() -> None:
    member, stranger = manager(), Script(manager())
    (item,) = make_items(member.project)
    foreign = f"/api/v1/projects/{member.project.slug}/"
    base = stranger.base
    for path in ("", "items/", f"items/{item.pk}/", "annotations/", "gold/", "members/", "webhooks/"):
        assert stranger.client.get(foreign + path).status_code == 404
    assert stranger.client.get(f"{base}items/{item.pk}/").status_code == 404
    assert stranger.client.post(
        f"{base}items/{item.pk}/gold/", json.dumps({"document": GOLD}), content_type="application/json"
    ).status_code == 404  # fmt: skip
    assert Client().get(foreign).status_code == 401


def test_gold_in_versions() -> None:
    member = make_member(make_project(), Role.ADJUDICATOR)
    (item,) = make_items(member.project)
    script = Script(member)
    first = script.post(f"items/{item.pk}/gold/", {"document": GOLD})
    assert (first["version"], first["current"], first["method"]) == (1, True, "imported")
    assert first["by"] == member.user.username
    script.post(f"items/{item.pk}/gold/", {"document": {}})
    (current,) = script.get("gold/")["results"]
    assert current["version"] == 2
    versions = script.get("gold/", versions="true", item=item.external_id)["results"]
    assert [version["version"] for version in versions] == [1, 2]
    assert versions[0]["document"]["layers"]["3"]["objects"][0]["box"] == box("a")["box"]


def test_gold_follows_the_rules_of_editing() -> None:
    member = make_member(make_project(), Role.ADJUDICATOR)
    (item,) = make_items(member.project)
    wrong = {"layers": {"2": {"state": "done", "objects": [{"id": "c", "ref": "nothing"}]}}}
    answer = Script(member).post(f"items/{item.pk}/gold/", {"document": wrong}, 422)
    assert answer["errors"][0]["field"].startswith("layers.2")
    assert not Gold.objects.exists()


def output(item: str, *probabilities: float) -> dict[str, Any]:
    proposals = [[[0.1, 0.1, 0.3, 0.5], [0.5, 0.5, 0.9, 0.9]], []]
    return {
        "id": item,
        "proposals": proposals,
        "modules": [{"index": 3, "module": "find", "probabilities": list(probabilities)}],
    }


def test_predictions_are_kept_apart() -> None:
    member = manager()
    (item,) = make_items(member.project)
    script = Script(member)
    path = "outputs/?system=nmn&revision=1"
    assert script.post(path, [output(item.external_id, 0.9, 0.1)]) == {"added": 1}
    assert script.post(path, [output(item.external_id, 0.9, 0.1)]) == {"added": 0}
    answer = script.post(path, [output(item.external_id, 0.8, 0.1)], 409)
    assert "use another revision" in answer["detail"]
    script.post("outputs/", [], 422)
    (row,) = script.get("outputs/", system="nmn")["results"]
    assert row["modules"][0]["probabilities"] == [0.9, 0.1]
    assert SystemOutput.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "unknown"}, "no item of this id"),
        ({"proposals": [[]]}, "2 images"),
        ({"modules": [{"index": 3, "module": "find", "probabilities": [0.5]}]}, "1 probabilities for 2"),
        ({"modules": [{"index": 3, "module": "filter", "probabilities": []}]}, "the step is find"),
        ({"modules": [{"index": 30, "module": "find"}]}, "not there"),
        ({"modules": [{"module": "find"}, {"module": "find"}]}, "no further 'find'"),
        ({"modules": [{"index": 3, "module": "find", "attention": [0.5]}]}, "1 values for 0 tokens"),
    ],
)
def test_predictions_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    member = manager()
    (item,) = make_items(member.project)
    body = [output(item.external_id, 0.9, 0.1), output(item.external_id, 0.9, 0.1) | change]
    answer = Script(member).post("outputs/?system=nmn&revision=1", body, 409)
    assert message in answer["detail"]
    assert not SystemOutput.objects.exists()


def test_members_and_guidelines() -> None:
    member = manager()
    user = make_user()
    script = Script(member)
    created = script.post("members/", {"user": user.username, "role": "adjudicator"}, 200)
    assert created["role"] == "adjudicator"
    assert len(script.get("members/")["results"]) == 2
    script.post("members/", {"user": "nobody"}, 422)
    answer = script.post("members/", {"user": member.user.username, "role": "annotator"}, 403)
    assert "your own" in answer["detail"]
    for text in (" ", "\u200b"):
        refusal = script.post("guidelines/", {"module": "find", "text": text}, 422)
        assert refusal["detail"] == "text: must not be empty"
    script.post("guidelines/", {"module": "find", "text": "Every dog."})
    script.post("guidelines/", {"module": "find", "text": "Every dog, also partly seen."})
    assert [guideline["version"] for guideline in script.get("guidelines/")["results"]] == [1, 2]


@pytest.mark.parametrize("path", ["items/", "annotations/", "gold/", "outputs/"])
def test_lists_cost_the_same_number_of_queries_however_long(
    path: str, django_assert_max_num_queries: Any
) -> None:
    member = manager(annotators_per_item=1)
    script = Script(member)
    items = make_items(member.project, 12)
    annotator = make_member(member.project)
    for item in items:
        finished(assignments.assign_next_annotation(member=annotator))
        script.post(f"items/{item.pk}/gold/", {"document": GOLD})
    script.post("outputs/?system=nmn&revision=1", [output(item.external_id, 0.9, 0.1) for item in items])
    with django_assert_max_num_queries(4):  # the token, the membership, the rows and what they name
        assert len(script.get(path)["results"]) == 12


def test_who_was_put_out_sees_nothing_more() -> None:
    member = manager()
    other = make_member(member.project)
    script = Script(other)
    script.get()
    set_member(project=member.project, user=other.user, role=Role.ANNOTATOR, active=False, by=None)
    script.get("", 404)


def test_the_status_of_items_is_not_told_to_annotators() -> None:
    """It would tell which items are hidden gold, and what others have done."""
    project = manager().project
    make_items(project, 2)
    member = make_member(project)
    assignments.assign_next_annotation(member=member)
    assert Script(member).get("items/", 403, status="gold")["detail"]


ITEM = make_record("x").model_dump_json(exclude_defaults=True)
OLD = '{"annotator":"a","document":{},"started":"0001-01-01T00:00:00+10:00"}'


@pytest.mark.parametrize(
    ("where", "body"),
    [
        ("items/", ITEM.replace('"answer":true', '"answer":NaN')),
        ("items/", ITEM.replace('"answer":true', '"answer":1e999')),
        ("items/", ITEM[:-1] + ',"extra":{"a":NaN}}'),
        ("items/", ITEM.replace('"x"', '"x\\u0000"')),
        ("items/", ITEM.replace('"left.png"', '"le\\u0000ft.png"')),
        ("items/", f'{ITEM[:-1]},"annotations":[{OLD}]}}'),
        ("outputs/?system=s&revision=r", '[{"id":"i1","modules":[],"answer":NaN}]'),
        ("outputs/?system=s&revision=r", '[{"id":"i1","modules":[],"answer":"a\\u0000"}]'),
        ("outputs/?system=s&revision=r", '[{"id":"i1\\u0000","modules":[]}]'),
    ],
)  # fmt: skip
def test_what_no_database_stores_is_refused(where: str, body: str) -> None:
    assert body not in (ITEM, ITEM[:-1])
    member = manager()
    make_items(member.project)
    script = Script(member)
    media = "application/x-ndjson" if where == "items/" else "application/json"
    answer = script.client.post(script.base + where, body, content_type=media)
    assert answer.status_code in (409, 422), answer.content
    assert answer.json()["detail"]


def test_a_label_of_hundreds_of_digits_is_compared() -> None:
    member = manager()
    record = make_record("x", program="count(find[dogs])", answer=10**400)
    Script(member).post("items/", lines(record), media="application/x-ndjson")
    annotation = assignments.assign_next_annotation(member=make_member(member.project))
    edit = operation(0, 1, put=[box("a")])
    saved = save_operations(annotation=annotation.pk, operations=[edit], by=annotation.annotator)
    assert compute_outcome(saved.annotation, saved.document)["values"][0] == 1


def test_items_are_ordered_and_moved_by_a_manager() -> None:
    person = manager()
    make_items(person.project, 3)
    script = Script(person)
    assert script.post("items/order/", {"order": "first", "items": ["i3", "i2"]}, 200) == {"items": 2}
    names = person.project.items.order_by("rank").values_list("external_id", flat=True)
    assert list(names) == ["i3", "i2", "i1"]
    assert script.post("items/order/", {"order": "file"}, 200) == {"items": 3}
    assert list(names.all()) == ["i1", "i2", "i3"]
    for wrong in (
        {"order": "first"},
        {"order": "last", "items": ["i1", "i1"]},
        {"order": "first", "items": ["i9"]},
        {"order": "random", "items": ["i1"]},
        {"order": "alphabet"},
    ):
        script.post("items/order/", wrong, 422)
    assert list(names.all()) == ["i1", "i2", "i3"]
    Script(make_member(person.project, Role.ADJUDICATOR)).post("items/order/", {"order": "random"}, 403)


def test_hidden_gold_is_not_moved() -> None:
    person = manager()
    make_items(person.project, 1, purpose="hidden gold")
    Script(person).post("items/order/", {"order": "first", "items": ["i1"]}, 422)
