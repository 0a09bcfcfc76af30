"""Valid objects with no arguments, for the tests of the annotation app."""

from itertools import count
from typing import Any
from uuid import uuid4

from accounts.models import User
from annotation.actions import assignments
from annotation.actions.data import import_items
from annotation.actions.editing import save_operations, submit
from annotation.actions.projects import create_project, set_member
from annotation.content.operations import OperationIn, Subject
from annotation.content.schemas import Image, ItemRecord
from annotation.models import Annotation, Item, Membership, Project, Role
from tests import workspaces

_numbers = count(1)

PROGRAM = "equal(count(filter[black](find[dogs])), 2)"  # nodes: 0 equal, 1 count, 2 filter, 3 find, 4 the 2
PASSAGE = "Ada kicked a 30-yard goal. Bo kicked a 40-yard goal."
SPANS_PROGRAM = "count(filter[long](find[goals]))"  # nodes: 0 count, 1 filter, 2 find
BOXES = Subject(kind="boxes", images=2)


def tokens_of(text: str) -> tuple[tuple[int, int], ...]:
    """The tokens of a text with single spaces: its words."""
    tokens, start = [], 0
    for word in text.split(" "):
        tokens.append((start, start + len(word)))
        start += len(word) + 1
    return tuple(tokens)


SPANS = Subject(kind="spans", passage=PASSAGE, tokens=tokens_of(PASSAGE))


def box(name: str, *, image: int = 0, at: float = 0.1, **more: Any) -> dict[str, Any]:
    return {"id": name, "image": image, "box": [at, 0.1, at + 0.2, 0.5], **more}


def span(name: str, first: int, beyond: int, **more: Any) -> dict[str, Any]:
    """The span over some words of `PASSAGE`."""
    start, end = SPANS.tokens[first][0], SPANS.tokens[beyond - 1][1]
    return {
        "id": name, "span": [start, end], "tokens": [first, beyond], "quote": PASSAGE[start:end], **more,
    }  # fmt: skip


def operation(base: int, node: int, **fields: Any) -> OperationIn:
    return OperationIn.model_validate({"id": str(uuid4()), "base": base, "node": node, **fields})


def make_user(**fields: Any) -> User:
    """A user without a password: hashing one takes longer than most tests."""
    return User.objects.create(username=f"person{next(_numbers)}", password="!", **fields)


def make_project(**fields: Any) -> Project:
    number = next(_numbers)
    arguments = {
        "workspace": workspaces.main(),
        "slug": f"project{number}",
        "title": f"Project {number}",
        "kind": "boxes",
        "by": None,
    } | fields
    return create_project(**arguments)


def make_member(project: Project | None = None, role: Role = Role.ANNOTATOR) -> Membership:
    return set_member(project=project or make_project(), user=make_user(), role=role, by=None)


def make_record(external_id: str = "", *, kind: str = "boxes", **fields: Any) -> ItemRecord:
    values: dict[str, Any] = {"external_id": external_id or f"item{next(_numbers)}", "kind": kind}
    if kind == "boxes":
        values |= {"program": PROGRAM, "text": "There are two black dogs.", "answer": True}
        values["images"] = (Image(name="left.png"), Image(name="right.png"))
    else:
        values |= {"program": SPANS_PROGRAM, "text": "How many long goals were kicked?", "answer": 1}
        values |= {"passage": PASSAGE, "tokens": SPANS.tokens}
    return ItemRecord.model_validate(values | fields)


def make_items(project: Project, number: int = 1, **fields: Any) -> list[Item]:
    """Items of the project's kind, called i1, i2, …"""
    start = project.items.count() + 1
    records = [make_record(f"i{start + offset}", kind=project.kind) for offset in range(number)]
    import_items(records=records, project=project, **fields)
    return list(project.items.order_by("position")[start - 1 :])


def make_annotation(member: Membership | None = None, **fields: Any) -> Annotation:
    """A work that was just handed out, on an item made for it."""
    member = member or make_member(make_project(**fields))
    make_items(member.project)
    return assignments.assign_next_annotation(member=member)


def finished(annotation: Annotation) -> Annotation:
    """Draw two dogs, both black, and submit."""
    edits = [
        operation(annotation.revision, 3, put=[box("a"), box("b", at=0.5)], state="done"),
        operation(
            annotation.revision, 2, put=[{"id": "c", "ref": "a"}, {"id": "d", "ref": "b"}], state="done"
        ),
    ]
    saved = save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator)
    return submit(annotation=annotation.pk, revision=saved.annotation.revision, by=annotation.annotator)
