"""People check and correct counterfactual instances.

They come from a file of drafts and go into a file of the checked ones.
"""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from analysis.counterfactuals.drafts import draft
from analysis.counterfactuals.instances import instances_text, read_instances
from annotation.actions import assignments
from annotation.actions.editing import save_operations, submit
from annotation.actions.projects import set_member
from annotation.actions.review import accept
from annotation.content.schemas import Document
from annotation.formats.counterfactuals import list_step_nodes
from annotation.models import Annotation, Item, Project, Role
from tests.annotation.factories import make_user, operation
from tests.annotation.formats.test_counterfactuals import OLDER, SANG

pytestmark = pytest.mark.django_db


def run(*arguments: str | Path) -> str:
    output = StringIO()
    call_command(*map(str, arguments), stdout=output)
    return output.getvalue()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    instances = draft([OLDER, SANG], distributions=["in"], extents=["paragraphs"]).instances[:2]
    (tmp_path / "drafts.jsonl").write_text(instances_text(instances), encoding="utf-8")
    output = run(
        "import_dataset", "reasons", tmp_path / "drafts.jsonl", "--name", "check", "--annotators", "2"
    )
    assert "2 items added" in output
    return Project.objects.get(slug="check")


def checked(annotation: Annotation, *, rejects: bool = False) -> Annotation:
    """Every step confirmed as drafted, or the whole rejected."""
    edits = [operation(annotation.revision, node, state="done") for node in list_step_nodes()]
    if rejects:
        problem = {"kind": "cannot be answered", "note": "nonsense"}
        edits = [operation(annotation.revision, list_step_nodes()[0], problem=problem)]
    saved = save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator)
    return submit(annotation=annotation.pk, revision=saved.annotation.revision, by=annotation.annotator)


def test_it_works(project: Project, tmp_path: Path):
    """Two people check two instances, and one of these is settled.

    The file says what each person found.
    """
    people = [set_member(project=project, user=make_user(), role=Role.ANNOTATOR, by=None) for _ in range(2)]
    judge = set_member(project=project, user=make_user(), role=Role.ADJUDICATOR, by=None).user
    for index, member in enumerate(people):
        annotation = assignments.assign_next_annotation(member=member)
        assert annotation.document == Item.objects.get(pk=annotation.item_id).extra["draft"]
        done = checked(annotation, rejects=bool(index))
    first = Annotation.objects.get(item__position=1, annotator=people[0].user)
    accept(annotation=first, revision=first.revision, by=judge)
    output = run("export_gold", "check", "--out", tmp_path / "checked.jsonl", "--format", "reasons")
    assert "2 items, 1 with gold" in output
    settled, unsettled = read_instances(tmp_path / "checked.jsonl")
    assert (settled.verdict, settled.reviews) == ("valid", ["valid", "rejected"])
    assert (unsettled.verdict, unsettled.reviews) == ("", [])
    assert done.item_id == first.item_id


def test_undo_goes_back_to_the_draft_and_no_further(project: Project):
    member = set_member(project=project, user=make_user(), role=Role.ANNOTATOR, by=None)
    annotation = assignments.assign_next_annotation(member=member)
    node = list_step_nodes()[0]
    (name,) = (mark.id for mark in Document.model_validate(annotation.document).layers[node].objects)
    gone = save_operations(
        annotation=annotation.pk, operations=[operation(0, node, remove=[name])], by=member.user
    )
    assert not Document.model_validate(gone.annotation.document).layers[node].objects
    inverse = gone.annotation.operations.get().inverse
    back = save_operations(annotation=annotation.pk, operations=[operation(1, **inverse)], by=member.user)
    assert Document.model_validate(back.annotation.document) == Document.model_validate(annotation.document)


def test_the_page_shows_the_draft(project: Project, client):
    member = set_member(project=project, user=make_user(), role=Role.ANNOTATOR, by=None)
    annotation = assignments.assign_next_annotation(member=member)
    client.force_login(member.user)
    text = client.get(f"/annotate/annotation/{annotation.pk}/").content.decode()
    assert "words that ought to count" in text
    assert "Changed question" in text
