"""Managers add labels to a project that has items; used ones stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import Role as WorkspaceRole
from annotation.actions import assignments
from annotation.actions.data import import_items
from annotation.actions.editing import save_operations
from annotation.content.labels import label_yaml, read_label_task
from annotation.errors import Conflict
from annotation.formats.jsonl import read_jsonl
from annotation.formats.source import Source
from annotation.models import Membership, Project, Role
from annotation.parsed_items import parse_task
from annotation.queries.export import write_items
from tests.annotation.content.test_labels import TASK, TOPIC
from tests.annotation.factories import make_member, make_project, operation
from tests.annotation.queries.test_suggestions import add, labelled
from tests.tokens import bearer
from tests.workspaces import give

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def ask(member: Membership, method: str, body: Any = None, status: int = 200) -> Any:
    address = f"/api/v1/projects/{member.project.slug}/labels/"
    client = Client(headers=bearer(member.user))
    response = getattr(client, method)(
        address, None if body is None else json.dumps(body), content_type="application/json"
    )
    assert response.status_code == status, response.content
    return response.json()


def layers_of(project: Project) -> list[dict[str, Any]]:
    task = parse_task(Project.objects.get(pk=project.pk))
    assert task is not None
    return [layer.model_dump(mode="json") for layer in task.layers]


def test_a_label_is_added_and_the_next_edit_may_use_it() -> None:
    manager = make_member(labelled(), Role.MANAGER)
    annotator = make_member(manager.project)
    item = add(manager.project)
    annotation = assignments.assign_next_annotation(member=annotator)
    layers = ask(manager, "get")["layers"]
    layers[TOPIC - 1]["labels"].append(
        {"name": "History", "color": "#123456", "key": "h", "hint": "Before 2000"}
    )
    layers[TOPIC - 1]["hint"] = "Choose the main topic."
    saved = ask(manager, "put", {"layers": layers})["layers"][TOPIC - 1]
    added = {"name": "History", "color": "#123456", "key": "h", "hint": "Before 2000"}
    assert saved["labels"][-1] == added
    assert saved["hint"] == "Choose the main topic."
    item.refresh_from_db()
    assert "History" in item.program
    edit = operation(0, TOPIC, put=[{"id": f"n{TOPIC}", "value": "History"}], state="done")
    save_operations(annotation=annotation.pk, operations=[edit], by=annotator.user)
    event = manager.project.audit.get(kind="labels_changed")
    assert (event.actor, event.data) == (manager.user, {"added": "History"})


def test_items_exported_before_a_label_was_added_can_be_imported_again(tmp_path: Path) -> None:
    manager = make_member(labelled(), Role.MANAGER)
    project = manager.project
    add(project)
    add(project, "i2")
    write_items(project, "jsonl", tmp_path / "old.jsonl")
    layers = ask(manager, "get")["layers"]
    layers[TOPIC - 1]["labels"].insert(0, {"name": "History"})
    ask(manager, "put", {"layers": layers})
    project.refresh_from_db()
    project.items.filter(external_id="i2").delete()
    report = import_items(records=read_jsonl(Source(tmp_path / "old.jsonl")), project=project)
    assert (report.added, report.unchanged) == (1, 1)
    [program] = set(project.items.values_list("program", flat=True))
    assert "History" in program
    # The other way, the file has a label that the project lacks.
    write_items(project, "jsonl", tmp_path / "new.jsonl")
    other = labelled(slug="other")
    with pytest.raises(Conflict, match="differs from the label configuration"):
        import_items(records=read_jsonl(Source(tmp_path / "new.jsonl")), project=other)


def test_labels_and_layers_that_items_may_use_stay() -> None:
    manager = make_member(labelled(), Role.MANAGER)
    add(manager.project)
    before = layers_of(manager.project)
    fewer = json.loads(json.dumps(before))
    name = fewer[TOPIC - 1]["labels"][0]["name"]
    fewer[TOPIC - 1]["labels"][0]["name"] = "Other"
    problem = ask(manager, "put", {"layers": fewer}, 409)
    assert f"keeps the label “{name}”" in problem["detail"]
    ask(manager, "put", {"layers": before[:-1]}, 409)
    renamed = json.loads(json.dumps(before))
    renamed[0]["name"] = "Things"
    ask(manager, "put", {"layers": renamed}, 409)
    ask(manager, "put", {"layers": [{"type": "circles", "name": "x"}]}, 422)
    ask(make_member(manager.project), "put", {"layers": before}, 403)
    assert ask(make_member(manager.project), "get")["layers"][0]["name"] == before[0]["name"]
    assert layers_of(manager.project) == before
    assert not manager.project.audit.filter(kind="labels_changed").exists()


def test_without_items_everything_changes_and_programs_take_no_labels() -> None:
    manager = make_member(labelled(), Role.MANAGER)
    ask(manager, "put", {"layers": [{"type": "choice", "name": "Tone", "labels": ["calm", "loud"]}]})
    assert [layer["name"] for layer in layers_of(manager.project)] == ["Tone"]
    programs = make_member(make_project(), Role.MANAGER)
    assert ask(programs, "get") == {"layers": []}


def test_a_project_of_a_plain_task_is_created_over_rest() -> None:
    manager = make_member(labelled(), Role.MANAGER)
    client = Client(headers=bearer(manager.user))
    body = {"workspace": "main", "slug": "ner", "title": "Names", "kind": "spans"}
    labels = {"layers": [{"type": "spans", "name": "Names", "labels": ["Person"]}]}
    give(manager.user, WorkspaceRole.MANAGER)
    for configuration, status in (({"layers": []}, 422), (labels, 201)):
        response = client.post(
            "/api/v1/projects/", json.dumps(body | {"labels": configuration}), "application/json"
        )
        assert response.status_code == status, response.content
    assert layers_of(Project.objects.get(slug="ner"))[0]["labels"][0]["name"] == "Person"


def test_a_manager_changes_labels_on_a_page() -> None:
    manager = make_member(labelled(), Role.MANAGER)
    add(manager.project)
    client = Client()
    client.force_login(manager.user)
    page = f"/annotate/{manager.project.slug}/labels/"
    assert "Add labels" in client.get(page).content.decode()
    task = parse_task(manager.project)
    assert task is not None
    assert read_label_task(label_yaml(task)) == task
    text = label_yaml(task).replace("  - name: sport\n", "  - name: sport\n  - name: chess\n", 1)
    answer = client.post(page, {"labels": text}, follow=True)
    assert "Saved the labels." in answer.content.decode()
    assert "chess" in [label["name"] for label in layers_of(manager.project)[TOPIC - 1]["labels"]]
    refused = client.post(page, {"labels": TASK})
    assert refused.status_code == 422
    assert "keeps the label" in refused.content.decode()
    assert client.post(page, {"labels": "layers: 3"}).status_code == 422
    client.force_login(make_member(manager.project).user)
    assert client.get(page).status_code == 403
