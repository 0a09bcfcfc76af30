"""Tests of projects over REST: settings, images, items, review and files."""

import json
from io import BytesIO
from typing import Any

import PIL.Image
import pytest
from django.test import Client

from accounts.models import Role, Scope, Workspace
from annotation.actions.runs import start_run
from annotation.models import Annotation, AuditEvent, Gold, ImageFile, Item, Membership, Project
from annotation.models import Role as ProjectRole
from jobs.models import Job
from tests.annotation.actions.test_output_runs import server
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
from tests.studyapp.serving import eager
from tests.tokens import bearer
from tests.workspaces import give, main

__all__ = ["eager", "server"]

pytestmark = pytest.mark.django_db

PROJECTS = "/api/v1/projects/"
NEW = {"workspace": "main", "slug": "dogs", "title": "Dogs", "kind": "boxes"}


class Script:
    """A program with somebody's token."""

    def __init__(self, user: Any, scope: Scope = Scope.MANAGE) -> None:
        self.client = Client(headers=bearer(user, scope))

    def send(self, method: str, path: str, status: int, body: Any = None, /, **headers: str) -> Any:
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body)
        media = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        address = path if path.startswith("/api/") else f"/api/v1/{path}"
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        response = self.client.generic(method, address, content, content_type=media, headers=headers)
        assert response.status_code == status, getattr(response, "content", response)
        return response

    def get(self, path: str, status: int = 200) -> Any:
        return self.send("GET", path, status).json()

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        return self.send("POST", path, status, body).json()


def script_of(project: Project, role: ProjectRole = ProjectRole.MANAGER) -> Script:
    return Script(make_member(project, role).user)


def png(width: int = 40, height: int = 30, color: str = "red") -> bytes:
    file = BytesIO()
    PIL.Image.new("RGB", (width, height), color).save(file, "PNG")
    return file.getvalue()


def test_it_works() -> None:
    script = Script(give(make_user(), Role.MANAGER))
    created = script.post("projects/", NEW | {"annotators_per_item": 2}, 201)
    assert (created["status"], created["roles"], created["annotators_per_item"]) == ("open", ["manager"], 2)
    assert script.get("projects/?status=open&workspace=main")["results"][0]["id"] == created["id"]
    assert script.get("projects/?status=closed")["results"] == []
    assert script.post("projects/dogs/close/")["status"] == "closed"
    script.post("projects/dogs/close/", None, 409)
    assert script.post("projects/dogs/reopen/")["status"] == "open"


def test_a_project_is_created_once_for_a_key() -> None:
    script = Script(give(make_user(), Role.MANAGER))
    for replayed in (None, "true"):
        response = script.send("POST", "projects/", 201, NEW, Idempotency_Key="one")
        assert response.get("Idempotency-Replayed") == replayed
    assert Project.objects.count() == 1
    wrong = script.post("projects/", NEW, 422)
    assert [error["field"] for error in wrong["errors"]] == ["slug"]


def test_projects_are_created_where_one_manages() -> None:
    user = give(make_user(), Role.ANALYST)
    Workspace.objects.create(slug="foreign", name="Foreign")
    Script(user).post("projects/", NEW, 403)
    Script(user).post("projects/", NEW | {"workspace": "foreign"}, 404)
    assert not Project.objects.exists()


def test_a_change_of_settings_names_the_state_that_it_was_made_on() -> None:
    project = make_project()
    (item,) = make_items(project)
    script, path = script_of(project), f"projects/{project.slug}/"
    tag = script.send("GET", path, 200)["ETag"]
    script.send("PATCH", path, 428, {"title": "Cats"})
    changed = script.send("PATCH", path, 200, {"title": "Cats", "annotators_per_item": 3}, If_Match=tag)
    assert (changed.json()["title"], changed.json()["show_answer"]) == ("Cats", True)
    assert changed["ETag"] != tag
    item.refresh_from_db()
    assert item.annotators_wanted == 3
    script.send("PATCH", path, 412, {"title": "Mice"}, If_Match=tag)
    wrong = script.send("PATCH", path, 422, {"annotators_per_item": 0}, If_Match=changed["ETag"]).json()
    assert wrong["errors"][0]["field"] == "annotators_per_item"
    project.refresh_from_db()
    assert project.title == "Cats"


def test_progress_does_not_change_the_state_of_the_settings() -> None:
    project = make_project()
    script, path = script_of(project), f"projects/{project.slug}/"
    tag = script.send("GET", path, 200)["ETag"]
    make_items(project)
    response = script.send("GET", path, 200)
    assert (response["ETag"], response.json()["items"]) == (tag, 1)


def test_a_membership_ends() -> None:
    project = make_project()
    member = make_member(project)
    script, path = script_of(project), f"projects/{project.slug}/members/"
    ended = script.send("DELETE", f"{path}{member.user.username}/", 200).json()
    assert (ended["active"], ended["roles"]) == (False, [])
    script.send("DELETE", f"{path}nobody/", 404)
    assert len(script.get(path)["results"]) == 2


def test_images_are_uploaded_and_read(settings: Any, tmp_path: Any) -> None:
    settings.VAR_DIR = tmp_path
    project = make_project()
    make_items(project)
    script, path = script_of(project), f"projects/{project.slug}/images/"
    content = png()
    row = script.post(f"{path}?name=left.png", content, 201)
    assert (row["name"], row["width"], row["height"]) == ("left.png", 40, 30)
    assert script.post(f"{path}?name=left.png", content, 201) == row
    response = script.send("GET", row["url"], 200)
    assert (b"".join(response), response["Content-Type"]) == (content, "image/png")
    assert "immutable" in response["Cache-Control"]
    assert script.get(f"{path}?name=left.png")["results"] == [row]
    (item,) = script.get(f"projects/{project.slug}/items/")["results"]
    assert [image["url"] for image in item["images"]] == [row["url"], ""]
    assert AuditEvent.objects.filter(project=project, kind="image_added").count() == 1


@pytest.mark.parametrize(
    ("content", "status", "sentence"),
    [
        (png(color="blue"), 409, "another image of this name"),
        (png(30, 40), 409, "boxes would not fit"),
        (b"<svg></svg>", 422, "is not an image"),
        (b"", 422, "left.png"),
    ],
)
def test_images_that_are_refused(
    settings: Any, tmp_path: Any, content: bytes, status: int, sentence: str
) -> None:
    settings.VAR_DIR = tmp_path
    project = make_project()
    script, path = script_of(project), f"projects/{project.slug}/images/?name=left.png"
    script.post(path, png(), 201)
    problem = script.post(path, content, status)
    assert sentence in problem["detail"]
    assert str(tmp_path) not in problem["detail"]
    assert ImageFile.objects.get().width == 40


def test_an_image_is_served_as_what_it_is(settings: Any, tmp_path: Any) -> None:
    """Its name could claim to be a page, which browsers would run."""
    settings.VAR_DIR = tmp_path
    project = make_project()
    row = script_of(project).post(f"projects/{project.slug}/images/?name=page.html", png(), 201)
    response = Script(make_member(project).user).send("GET", row["url"], 200)
    assert (b"".join(response), response["Content-Type"]) == (png(), "image/png")


def test_an_annotator_works_with_a_token_of_that_scope() -> None:
    project = make_project()
    make_items(project, 2)
    script = Script(make_member(project).user, Scope.ANNOTATE)
    path = f"projects/{project.slug}/next/"
    state = script.post(path)["annotation"]
    assert script.post(path)["annotation"]["id"] == state["id"]  # it is resumed
    edits = [
        operation(0, 3, put=[box("a")], state="done"),
        operation(1, 2, put=[{"id": "c", "ref": "a"}], state="done"),
    ]
    body = {"operations": [edit.model_dump(mode="json", exclude_unset=True) for edit in edits]}
    saved = script.post(f"annotations/{state['id']}/operations/", body)
    script.post(f"annotations/{state['id']}/submit/", {"revision": saved["revision"]})
    second = script.post(path)["annotation"]
    assert second["item"]["external_id"] == "i2"
    script.post(f"annotations/{second['id']}/operations/", {**body, "operations": []}, 422)
    script.post(f"projects/{project.slug}/guidelines/", {"text": "Every dog."}, 403)


def test_when_no_item_is_left_the_reason_is_given() -> None:
    project = make_project()
    script = Script(make_member(project).user)
    nothing = script.post(f"projects/{project.slug}/next/")
    assert nothing == {"annotation": None, "reason": "No items are left for you. Thank you!"}
    project.status = Project.Status.CLOSED
    project.save()
    assert "closed" in script.post(f"projects/{project.slug}/next/", None, 403)["detail"]


def test_a_manager_assigns_an_item() -> None:
    project = make_project()
    (item,) = make_items(project)
    member = make_member(project)
    script, path = script_of(project), f"projects/{project.slug}/annotations/"
    row = script.post(path, {"item": item.external_id, "annotator": member.user.username}, 201)
    assert (row["annotator"], row["status"]) == (member.user.username, "reserved")
    other = {"item": item.external_id, "annotator": make_member(project).user.username}
    script.post(path, other, 410)
    for field, wrong in {"item": {**other, "item": "x"}, "annotator": {**other, "annotator": "x"}}.items():
        assert script.post(path, wrong, 422)["errors"][0]["field"] == field


def test_an_adjudicator_accepts_and_returns() -> None:
    project = make_project()
    first, second = (finished(make_annotation(make_member(project))) for _number in range(2))
    script = script_of(project, ProjectRole.ADJUDICATOR)
    gold = script.post(f"annotations/{first.pk}/accept/", {"revision": first.revision}, 201)
    assert (gold["method"], gold["annotation"]) == ("accepted", str(first.pk))
    stale = {"revision": second.revision - 1, "text": "A dog is missing."}
    script.post(f"annotations/{second.pk}/return/", stale, 409)
    returned = script.post(f"annotations/{second.pk}/return/", stale | {"revision": second.revision})
    assert returned["status"] == "returned"
    comments = script.get(f"annotations/{second.pk}/")["comments"]
    assert [comment["text"] for comment in comments] == ["A dog is missing."]
    annotator = Script(second.annotator)
    problem = annotator.post(f"annotations/{second.pk}/accept/", {"revision": second.revision}, 403)
    assert "review the annotations of others" in problem["detail"]


def test_an_adjudication_becomes_the_gold() -> None:
    project = make_project()
    annotation = finished(make_annotation(make_member(project)))
    (unfinished,) = make_items(project)
    script = script_of(project, ProjectRole.ADJUDICATOR)
    path = f"projects/{project.slug}/items/"
    state = script.post(f"{path}{annotation.item_id}/adjudicate/")
    assert state["task"] == "adjudication"
    assert script.post(f"{path}{annotation.item_id}/adjudicate/")["id"] == state["id"]
    script.post(f"annotations/{state['id']}/submit/", {"revision": state["revision"]})
    assert Gold.objects.get().method == Gold.Method.ADJUDICATED
    script.post(f"{path}{unfinished.pk}/adjudicate/", None, 409)


def test_agreement_of_two_annotators() -> None:
    project = make_project(annotators_per_item=2)
    make_items(project)
    for _number in range(2):
        state = Script(make_member(project).user).post(f"projects/{project.slug}/next/")["annotation"]
        finished(Annotation.objects.get(pk=state["id"]))
    agreement = script_of(project).get(f"projects/{project.slug}/agreement/")
    values = {row["measure"]: row["value"] for row in agreement["results"] if row["by"] == "drawn nodes"}
    assert (agreement["items"], values["f1_50"], values["agreed"]) == (1, 1.0, 1.0)
    assert agreement["first_differences"] == [{"module": None, "pairs": 1}]


def test_lists_are_streamed_as_lines_in_their_order() -> None:
    project = make_project()
    make_items(project, 3)
    response = script_of(project).send(
        "GET", f"projects/{project.slug}/items/", 200, Accept="application/x-ndjson"
    )
    rows = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]
    assert [row["external_id"] for row in rows] == ["i1", "i2", "i3"]


def test_files_go_through_jobs(settings: Any, tmp_path: Any, eager: None) -> None:
    settings.JOB_FOLDER = tmp_path / "jobs"
    project = make_project()
    script, path = script_of(project), f"projects/{project.slug}/"
    content = (make_record("a").model_dump_json() + "\n").encode()
    query = "imports/?format=jsonl&file_name=dogs.jsonl"
    for _time in range(2):
        started = script.send("POST", f"{path}{query}", 202, content, Idempotency_Key="one").json()
    assert Job.objects.filter(kind="import_items").count() == 1
    assert (started["kind"], started["subject"]) == ("import_items", project.slug)
    started = script.post(f"{path}exports/", {"format": "jsonl"}, 202)
    assert started["kind"] == "export_annotations"
    for job in Job.objects.all():
        assert job.options["project"] == project.pk
    wrong = script.post(f"{path}imports/?format=pdf", content, 422)
    assert wrong["errors"][0]["field"] == "format"
    script.post(f"{path}exports/", {"format": "pdf"}, 422)
    Script(make_member(project).user).post(f"{path}exports/", {"format": "jsonl"}, 403)


def test_a_run_is_started_and_cancelled(server: Any) -> None:
    project = make_project()
    make_items(project)
    script, path = script_of(project), f"projects/{project.slug}/runs/"
    begun = start_run(project=project, system="net", revision="r")
    row = script.post(path, {"system": "fake-modular"}, 201)
    assert (row["system"], row["items"], row["outputs"]) == ("fake-modular", 1, 0)
    assert script.post(f"{path}{begun.pk}/cancel/")["status"] == "cancelled"
    assert [run["system"] for run in script.get(path)["results"]] == ["net", "fake-modular"]
    assert script.post(path, {"system": "unknown"}, 422)["errors"][0]["field"] == "system"


def test_webhooks_and_their_deliveries(settings: Any) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    project = make_project()
    script, path = script_of(project), f"projects/{project.slug}/webhooks/"
    body = {"url": "http://127.0.0.1:9/", "kinds": ["items_imported"]}
    webhooks = [script.send("POST", path, 201, body, Idempotency_Key="one").json() for _time in range(2)]
    assert webhooks[0] == webhooks[1]
    refused = script.send("POST", path, 422, body | {"kinds": ["nope"]}, Idempotency_Key="two").json()
    assert "'nope' is not an event of a project" in str(refused)
    make_items(project)
    assert script.get(f"{path}{webhooks[0]['id']}/")["waiting"] == 1
    (delivery,) = script.get(f"{path}{webhooks[0]['id']}/deliveries/")["results"]
    assert (delivery["kind"], delivery["delivered_at"]) == ("items_imported", None)
    script.send("DELETE", f"{path}{webhooks[0]['id']}/", 204)
    assert script.get(path)["results"][0]["active"] is False


def test_managers_invite_to_their_project() -> None:
    project = make_project()
    script, path = script_of(project), f"projects/{project.slug}/invitations/"
    invitation = script.post(path, {"role": "annotator", "days": 3}, 201)
    assert (invitation["kind"], invitation["object"], "/invitation" in invitation["address"]) == (
        "project",
        project.slug,
        True,
    )
    [row] = script.get(path)["results"]
    assert row == {name: value for name, value in invitation.items() if name != "address"}
    owner = Script(give(make_user(), Role.OWNER))
    assert owner.get(f"workspaces/{main().slug}/invitations/")["results"] == [row]
    assert script_of(make_project()).client.delete(f"/api/v1/{path}{invitation['id']}/").status_code == 404
    script.send("DELETE", f"{path}{invitation['id']}/", 204)
    script.send("DELETE", f"{path}{invitation['id']}/", 404)
    assert script.get(path)["results"] == []


def test_nothing_is_stored_by_reads() -> None:
    annotation = make_annotation(show_predictions=True)
    before = Annotation.objects.values().get(pk=annotation.pk)
    script = Script(annotation.annotator)
    script.get(f"annotations/{annotation.pk}/editor/")
    script.get(f"annotations/{annotation.pk}/")
    assert Annotation.objects.values().get(pk=annotation.pk) == before
    assert Membership.objects.count() == Item.objects.count() == 1


def test_a_manager_decides_about_a_qualification() -> None:
    member = make_member()
    manager = script_of(member.project)
    path = f"projects/{member.project.slug}/members/{member.user.username}/qualify/"
    assert manager.post(path, {"qualified": False})["qualified"] is False
    assert manager.post(path, {"qualified": True})["qualified"] is True
    Script(member.user).post(path, {"qualified": True}, 403)
