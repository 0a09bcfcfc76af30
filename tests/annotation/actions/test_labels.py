"""Labels of a project in progress are renamed, merged and deleted.

Stored work, late edits, files, pages and REST follow.
"""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from annotation.actions import assignments
from annotation.actions.data import import_items
from annotation.actions.editing import save_operations
from annotation.actions.labels import Uses, remove_label, rename_label
from annotation.actions.projects import change_labels, create_project
from annotation.content.labels import read_label_task
from annotation.content.schemas import ItemRecord
from annotation.errors import Conflict, StaleBase
from annotation.formats.jsonl import read_jsonl
from annotation.formats.source import Source
from annotation.models import Annotation, Gold, Membership, Project, Role, SystemOutput
from annotation.parsed_items import parse_task
from annotation.queries.annotations import list_recent_operations
from annotation.queries.export import write_items
from tests import workspaces
from tests.annotation.factories import PASSAGE, SPANS, make_member, make_project, operation, span
from tests.tokens import bearer

pytestmark = [pytest.mark.django_db, pytest.mark.database]

TASK = """
layers:
  - type: spans
    name: Entities
    labels: [Person, Place, Town]
    questions: [{type: choices, name: Roles, labels: [author, writer, reader], required: false}]
  - {type: relations, name: Links, labels: [knows, met], directed: false, required: false}
  - {type: choices, name: Tone, labels: [calm, quiet, loud], required: false}
  - {type: text, name: Why, required: false, show_if: {layer: Tone, labels: [quiet]}}
"""
MARKS = [
    span("a", 0, 1, label="Place", answers={"Roles": ["author", "writer"]}),
    span("b", 2, 3, label="Town"),
]
LINKS = [{"id": "r", "ends": ["a", "b"], "label": "knows"}, {"id": "s", "ends": ["b", "a"], "label": "met"}]
TONES = [{"id": "t", "value": "calm"}, {"id": "u", "value": "quiet"}]
OUTPUT = {"1": [span("m", 0, 1, label="Town")], "3": [{"id": "v", "value": "quiet"}]}


@pytest.fixture
def annotation() -> Annotation:
    """Give an annotation that uses most labels.

    Its item has gold and a model output.
    """
    task = read_label_task(TASK)
    project = create_project(
        slug="plain", title="Plain", kind="spans", workspace=workspaces.main(), by=None, labels=task
    )
    fields = {"external_id": "i", "kind": "spans", "program": task.text, "text": ""}
    record = ItemRecord.model_validate(fields | {"passage": PASSAGE, "tokens": SPANS.tokens})
    import_items(records=[record], project=project)
    annotation = assignments.assign_next_annotation(member=make_member(project))
    SystemOutput.objects.create(item=annotation.item, system="s", revision="1", modules=[], marks=OUTPUT)
    save(annotation, (1, MARKS), (2, LINKS), (3, TONES))
    document = Annotation.objects.get(pk=annotation.pk).document
    Gold.objects.create(item=annotation.item, version=1, method=Gold.Method.IMPORTED, document=document)
    return Annotation.objects.select_related("project", "item", "annotator").get(pk=annotation.pk)


def save(annotation: Annotation, *puts: tuple[int, list[Any]]) -> None:
    base = Annotation.objects.get(pk=annotation.pk).revision
    edits = [operation(base + offset, node, put=put) for offset, (node, put) in enumerate(puts)]
    save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator)


def objects(annotation: Annotation, node: int) -> list[dict[str, Any]]:
    stored: list[dict[str, Any]] = Annotation.objects.get(pk=annotation.pk).document["layers"][str(node)][
        "objects"
    ]
    return stored


def manager(annotation: Annotation) -> Membership:
    return make_member(annotation.project, Role.MANAGER)


def test_it_works(annotation: Annotation) -> None:
    by = manager(annotation).user
    uses = rename_label(project=annotation.project, layer="Entities", label="Town", new_name=" City ", by=by)
    assert uses == Uses(annotations=1, gold=1, suggestions=1)
    project = Project.objects.get()
    task = parse_task(project)
    assert task is not None
    assert task.layers[0].names == ("Person", "Place", "City")
    assert project.items.get().program == task.text
    assert [mark["label"] for mark in objects(annotation, 1)] == ["Place", "City"]
    assert Gold.objects.get().document["layers"]["1"]["objects"][1]["label"] == "City"
    assert SystemOutput.objects.get().marks["1"][0]["label"] == "City"
    event = project.audit.get(kind="label_renamed")
    assert (event.actor, event.data) == (
        by,
        {"layer": "Entities", "label": "Town", "to": "City", "annotations": 1},
    )


def test_a_merge_keeps_each_answer_and_relation_once(annotation: Annotation) -> None:
    project = annotation.project
    for layer, label, into in (
        ("Tone", "quiet", "calm"),
        ("Links", "met", "knows"),
        ("Entities", "Town", "Place"),
    ):
        remove_label(project=project, layer=layer, label=label, into=into, by=None)
    remove_label(project=project, layer="Entities", question="Roles", label="writer", into="author", by=None)
    assert [answer["value"] for answer in objects(annotation, 3)] == ["calm"]
    assert [(relation["label"], relation["ends"]) for relation in objects(annotation, 2)] == [
        ("knows", ["a", "b"])
    ]
    assert [mark["label"] for mark in objects(annotation, 1)] == ["Place", "Place"]
    assert objects(annotation, 1)[0]["answers"] == {"Roles": ["author"]}
    task = parse_task(Project.objects.get())
    assert task is not None
    condition = task.layers[3].show_if
    assert condition is not None
    assert condition.labels == ("calm",)
    assert project.audit.filter(kind="label_merged").count() == 4


def test_edits_and_undo_with_the_old_name_get_the_new_one(annotation: Annotation) -> None:
    project, before = annotation.project, annotation.revision
    rename_label(project=project, layer="Entities", label="Town", new_name="City", by=None)
    rename_label(project=project, layer="Entities", label="City", new_name="Stadt", by=None)
    late = operation(before, 1, put=[span("c", 4, 5, label="Town")])
    with pytest.raises(StaleBase):
        save_operations(annotation=annotation.pk, operations=[late], by=annotation.annotator)
    save(annotation, (1, [span("c", 4, 5, label="Town")]))
    assert [mark["label"] for mark in objects(annotation, 1)] == ["Place", "Stadt", "Stadt"]
    fresh = Annotation.objects.select_related("project").get(pk=annotation.pk)
    assert [mark["label"] for mark in list_recent_operations(fresh)[0]["operation"]["put"]] == [
        "Place",
        "Stadt",
    ]


def test_an_old_name_that_is_a_label_again_means_itself(annotation: Annotation) -> None:
    project = annotation.project
    rename_label(project=project, layer="Entities", label="Town", new_name="City", by=None)
    task = read_label_task(TASK.replace("[Person, Place, Town]", "[Person, Place, City, Town]"))
    change_labels(project=project, labels=task, by=manager(annotation).user)
    save(annotation, (1, [span("c", 4, 5, label="Town")]))
    assert [mark["label"] for mark in objects(annotation, 1)] == ["Place", "City", "Town"]
    rename_label(project=project, layer="Entities", label="City", new_name="Burg", by=None)
    rename_label(project=project, layer="Entities", label="Burg", new_name="City", by=None)
    assert [mark["label"] for mark in objects(annotation, 1)] == ["Place", "City", "Town"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"label": "Town"}, "“Town” is used 1 times in annotations, 1 times in gold and 1 times in sugg"),
        ({"label": "Nowhere"}, "“Entities” has no label “Nowhere”"),
        ({"layer": "Things", "label": "Town"}, "the project has no layer “Things”"),
        ({"question": "Mood", "label": "Town"}, "does not ask “Mood”"),
        ({"label": "Town", "into": "Village"}, "has no other label “Village”"),
        ({"label": "Town", "into": "Town"}, "has no other label “Town”"),
        ({"layer": "Tone", "label": "quiet"}, "is used"),
    ],
)
def test_what_cannot_be_removed_is_refused(
    annotation: Annotation, arguments: dict[str, str], sentence: str
) -> None:
    with pytest.raises(Conflict, match=sentence):
        remove_label(project=annotation.project, by=None, **{"layer": "Entities"} | arguments)
    assert Project.objects.get().labels == annotation.project.labels


def test_an_unused_label_is_deleted_unless_the_task_needs_it(annotation: Annotation) -> None:
    project = annotation.project
    assert remove_label(project=project, layer="Entities", label="Person", by=None) == Uses(0, 0, 0)
    assert "Person" not in project.items.get().program
    SystemOutput.objects.all().delete()
    save_operations(
        annotation=annotation.pk,
        operations=[operation(annotation.revision + 1, 3, remove=["u"])],
        by=annotation.annotator,
    )
    Gold.objects.all().delete()
    with pytest.raises(Conflict, match="“Why” is shown only if “quiet” is chosen"):
        remove_label(project=project, layer="Tone", label="quiet", by=None)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("Place", "merge them instead"), ("  ", "is missing"), ("x" * 61, "60"), ("a\nb", "name")],
)
def test_a_name_that_does_not_fit_is_refused(annotation: Annotation, name: str, sentence: str) -> None:
    with pytest.raises(Conflict, match=sentence):
        rename_label(project=annotation.project, layer="Entities", label="Town", new_name=name, by=None)


def test_programs_have_no_labels() -> None:
    with pytest.raises(Conflict, match="have programs"):
        rename_label(project=make_project(), layer="x", label="y", new_name="z", by=None)


def test_a_file_exported_before_can_be_imported_again(annotation: Annotation, tmp_path: Path) -> None:
    project = annotation.project
    write_items(project, "jsonl", tmp_path / "old.jsonl")
    rename_label(project=project, layer="Entities", label="Town", new_name="City", by=None)
    text = (tmp_path / "old.jsonl").read_text().replace('"external_id":"i"', '"external_id":"j"')
    (tmp_path / "new.jsonl").write_text(text)
    report = import_items(records=read_jsonl(Source(tmp_path / "new.jsonl")), project=Project.objects.get())
    assert (report.added, report.unchanged) == (1, 0)
    gold = Gold.objects.get(item__external_id="j").document
    assert [mark["label"] for mark in gold["layers"]["1"]["objects"]] == ["Place", "City"]


def test_over_rest(annotation: Annotation) -> None:
    member, address = manager(annotation), f"/api/v1/projects/{annotation.project.slug}/labels"
    client = Client(headers=bearer(member.user))

    def post(act: str, status: int, **body: str) -> Any:
        answer = client.post(
            f"{address}/{act}/", json.dumps({"layer": "Entities"} | body), "application/json"
        )
        assert answer.status_code == status, answer.content
        return answer.json()

    post("rename", 409, label="Town", new_name="Place")
    post("rename", 422, label="Town", new_name="")
    renamed = post("rename", 200, label="Town", new_name="City")["layers"][0]["labels"]
    assert [label["name"] for label in renamed] == ["Person", "Place", "City"]
    assert "is used 1 times" in post("remove", 409, label="City")["detail"]
    left = post("remove", 200, label="City", into="Place")["layers"][0]["labels"]
    assert [label["name"] for label in left] == ["Person", "Place"]
    client = Client(headers=bearer(annotation.annotator))
    post("remove", 403, label="Person")


def test_on_the_page(annotation: Annotation) -> None:
    client = Client()
    client.force_login(manager(annotation).user)
    page = f"/annotate/{annotation.project.slug}/labels/"
    town = json.dumps(["Entities", "", "Town"])
    assert "Delete or merge a label" in client.get(page).content.decode()
    refused = client.post(f"{page}remove/", {"label": town})
    assert refused.status_code == 422
    assert "is used 1 times in annotations" in refused.content.decode()
    assert client.post(f"{page}rename/", {"label": "nonsense", "new_name": "x"}).status_code == 422
    renamed = client.post(f"{page}rename/", {"label": town, "new_name": "City"}, follow=True)
    assert "Renamed the label." in renamed.content.decode()
    writer = json.dumps(["Entities", "Roles", "writer"])
    merged = client.post(f"{page}remove/", {"label": writer, "into": "author"}, follow=True)
    assert "Merged the labels." in merged.content.decode()
    assert objects(annotation, 1)[0]["answers"] == {"Roles": ["author"]}
    client.force_login(annotation.annotator)
    assert client.post(f"{page}rename/", {"label": town, "new_name": "x"}).status_code == 403


def test_by_command(annotation: Annotation) -> None:
    out, slug = StringIO(), annotation.project.slug
    call_command("change_label", slug, "Entities", "Town", "--rename", "City", stdout=out)
    assert out.getvalue() == "plain: changed 'Town' (annotations 1, gold 1, suggestions 1)\n"
    with pytest.raises(CommandError, match="is used 1 times"):
        call_command("change_label", slug, "Entities", "City", "--delete")
    call_command(
        "change_label", slug, "Entities", "author", "--question", "Roles", "--into", "reader", stdout=out
    )
    assert objects(annotation, 1)[0]["answers"] == {"Roles": ["reader", "writer"]}
