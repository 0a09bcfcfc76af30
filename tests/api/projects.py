"""An annotation project with one of everything that the REST API can name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from uuid import uuid4

import PIL.Image

from accounts.actions.invitations import create_invitation
from accounts.models import Role as WorkspaceRole
from accounts.models import User
from annotation.actions.editing import save_operations
from annotation.actions.images import add_image
from annotation.actions.outputs import import_outputs
from annotation.actions.projects import add_webhook, set_member
from annotation.actions.review import add_comment, bring_gold, change_project
from annotation.actions.runs import start_run
from annotation.content.schemas import Document, SystemRecord
from annotation.models import Annotation, Batch, Delivery, Item, Membership, Project, Role
from tests.annotation import factories

PROJECT, ANNOTATION = "/api/v1/projects/{slug}/", "/api/v1/annotations/{id}/"
SYSTEM = {"system": "net", "revision": "1"}
GOLD = {
    "layers": {
        "3": {"state": "done", "objects": [factories.box("a"), factories.box("b", image=1)]},
        "2": {"state": "done", "objects": [{"id": "c", "ref": "a"}]},
    }
}


def picture() -> bytes:
    file = BytesIO()
    PIL.Image.new("RGB", (40, 30)).save(file, "PNG")
    return file.getvalue()


def output(item: str) -> dict[str, Any]:
    """Outputs of a system for an item of `factories.make_items`."""
    boxes = [[0.1, 0.1, 0.3, 0.5], [0.6, 0.6, 0.9, 0.9]]
    modules = [
        {"index": 2, "module": "filter", "probabilities": [0.9, 0.2, 0.7]},
        {"index": 3, "module": "find", "probabilities": [0.95, 0.6, 0.1]},
    ]
    return {"id": item, "proposals": [boxes, boxes[1:]], "modules": modules}


DOGS = [{"name": "yes"}, {"name": "no"}, {"name": "unclear"}]
LABELS = {"layers": [{"type": "choice", "name": "Dogs", "labels": DOGS}]}


@dataclass(frozen=True)
class ProjectWorld:
    """The IDs of the project's objects.

    Attributes:
        begun: An annotation of the owner with every step done.
        submitted: An annotation of the owner that was handed in.
    """

    project: Project
    owner: User
    item: Item
    begun: Annotation
    submitted: Annotation
    comment: int
    image: int
    webhook: int
    run: int
    invitation: int
    batch: int

    def parameters(self, operation: str, path: str) -> dict[str, Any]:
        """The path parameters that reach something."""
        decided = path.endswith(("/take-back/", "/accept/", "/return/"))
        ids = {"items": self.item.pk, "images": self.image, "webhooks": self.webhook, "runs": self.run,
               "invitations": self.invitation, "batches": self.batch}  # fmt: skip
        if path.startswith(ANNOTATION):
            number = (self.submitted if decided else self.begun).pk
        else:
            number = ids.get(path.removeprefix(PROJECT).partition("/")[0], 0)
        values = {"id": number, "slug": self.project.slug, "user": "second", "comment": self.comment}
        return {name: value for name, value in values.items() if "{" + name + "}" in path}

    def body(self, operation: str) -> Any:
        """Return the body that reaches something.

        It is None if the operation takes none, or any.
        """
        item = factories.make_record("next").model_dump(mode="json")
        edit = {"id": str(uuid4()), "base": self.begun.revision, "node": 2, "note": "Both are black."}
        bodies: dict[str, Any] = {
            "POST /api/v1/projects/": {"workspace": "main", "slug": "p", "title": "P", "kind": "spans"},
            f"PATCH {PROJECT}": {"title": "Black dogs", "annotators_per_item": 2},
            f"POST {PROJECT}members/": {"user": "second", "role": "adjudicator"},
            f"POST {PROJECT}invitations/": {"role": "annotator"},
            f"POST {PROJECT}guidelines/": {"module": "find", "text": "Every dog."},
            f"POST {PROJECT}webhooks/": {"url": "https://example.org/hook", "kinds": ["gold_set"]},
            f"POST {PROJECT}items/": [item],
            f"POST {PROJECT}items/{{id}}/gold/": {"document": GOLD},
            f"POST {PROJECT}images/": picture(),
            f"POST {PROJECT}imports/": b"{}",
            f"POST {PROJECT}exports/": {"format": "coco", "gold_only": True},
            f"POST {PROJECT}annotations/": {"item": self.item.external_id, "annotator": "owner"},
            f"POST {PROJECT}outputs/": [output(self.item.external_id)],
            f"POST {PROJECT}runs/": {"system": "fake-modular"},
            f"PUT {PROJECT}labels/": LABELS,
            f"POST {PROJECT}batches/": {"name": "second", "annotator": "owner", "number": 1},
            f"PATCH {PROJECT}batches/{{id}}/": {"due_on": "2031-01-31"},
            f"POST {PROJECT}labels/rename/": {"layer": "Dogs", "label": "no", "new_name": "none"},
            f"POST {PROJECT}labels/remove/": {"layer": "Dogs", "label": "unclear", "into": "no"},
            f"PUT {PROJECT}ml-backend/": {"url": "https://example.org"},
            f"POST {ANNOTATION}operations/": {"operations": [edit]},
            f"POST {ANNOTATION}submit/": {"revision": self.begun.revision, "go_on": True},
            f"POST {ANNOTATION}shown/": {"outputs": ["net@1"]},
            f"POST {ANNOTATION}accept/": {"revision": self.submitted.revision},
            f"POST {ANNOTATION}return/": {"revision": self.submitted.revision, "text": "Look again."},
            f"POST {ANNOTATION}comments/": {"text": "Is this a dog?", "node": 3},
            "PUT /api/v1/keys/": {"keys": {"draw": "b"}},
        }
        return bodies.get(operation)

    def query(self, operation: str) -> dict[str, str] | None:
        """The query that reaches something, if an empty one does not."""
        both = {f"{side}_{name}": value for side in ("first", "second") for name, value in SYSTEM.items()}
        queries = {
            f"POST {PROJECT}images/": {"name": "new.png"},
            f"POST {PROJECT}imports/": {"format": "jsonl"},
            f"POST {PROJECT}outputs/": {"system": "other", "revision": "1"},
            f"GET {PROJECT}outputs/faithfulness/": SYSTEM,
            f"GET {PROJECT}outputs/comparison/": {**both, "trials": "10"},
        }
        return queries.get(operation)

    def before(self, operation: str) -> None:
        """Bring the project into the state that the operation needs."""
        prepare: dict[str, Callable[..., Any]] = {f"POST {PROJECT}reopen/": change_project}
        if operation in prepare:
            prepare[operation](project=self.project, act="close", by=self.owner)
        if operation.partition(" ")[2].startswith(f"{PROJECT}labels/"):
            Project.objects.filter(pk=self.project.pk).update(labels=LABELS)


def make_project_world(owner: User, second: User, folder: Any) -> ProjectWorld:
    """Make a project that `owner` manages and annotates in."""
    project = factories.make_project(slug="dogs", by=owner, show_predictions=True)
    set_member(project=project, user=second, role=Role.ANNOTATOR, by=owner)
    hook = add_webhook(project=project, url="https://example.org/hook", kinds=[], by=owner)
    member = Membership.objects.get(project=project, user=owner)
    submitted = factories.finished(factories.make_annotation(member))
    begun = _done(factories.make_annotation(member))
    factories.make_items(project, 2)
    item = submitted.item
    bring_gold(item=item, document=Document.model_validate(GOLD), by=owner)
    for annotated_item in (item, begun.item):
        record = SystemRecord.model_validate(output(annotated_item.external_id))
        import_outputs(records=[record], project=project, **SYSTEM)
    invitation = create_invitation(
        workspace=project.workspace, role=WorkspaceRole.ANNOTATOR, days=7, by=owner, kind="project",
        shared=project,
    ).invitation  # fmt: skip
    file = folder / "picture"
    file.write_bytes(picture())
    assert Delivery.objects.filter(webhook=hook).exists()
    batch = Batch.objects.create(project=project, name="first", annotator=owner, created_by=owner)
    Annotation.objects.filter(pk=submitted.pk).update(batch=batch)
    return ProjectWorld(
        project=project,
        owner=owner,
        item=item,
        begun=begun,
        submitted=submitted,
        comment=add_comment(annotation=begun, text="Is this one?", by=owner).pk,
        image=add_image(project=project, name="left.png", source=file, by=owner).pk,
        webhook=hook.pk,
        run=start_run(project=project, system="net", revision="2", by=owner).pk,
        invitation=invitation.pk,
        batch=batch.pk,
    )


def _done(annotation: Annotation) -> Annotation:
    edits = [
        factories.operation(0, 3, put=[factories.box("a")], state="done"),
        factories.operation(1, 2, put=[{"id": "c", "ref": "a"}], state="done"),
    ]
    return save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator).annotation
