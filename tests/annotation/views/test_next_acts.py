"""Each page counts what waits rightly, and its button goes there."""

import pytest

from annotation.actions import assignments, review
from annotation.content.schemas import Document
from annotation.models import Annotation, Gold, Item, Project, Role
from tests.annotation.factories import finished, make_annotation, make_items, make_member, make_project
from tests.annotation.rest.test_annotations import client_of
from tests.html import join_lines

pytestmark = pytest.mark.django_db


def complete(project: Project, number: int) -> list[Item]:
    """Items that an annotator has finished."""
    items, member = make_items(project, number), make_member(project)
    for _item in items:
        finished(assignments.assign_next_annotation(member=member))
    return items


def test_imported_gold_settles_no_item_that_people_annotated_since() -> None:
    project = make_project()
    first, second = complete(project, 2)
    for item in (first, second):
        Gold.objects.create(item=item, version=1, method=Gold.Method.IMPORTED, document={})
    client = client_of(make_member(project, Role.MANAGER).user)
    address = f"/annotate/{project.slug}/"
    assert "2 items are complete and wait for a decision." in client.get(address).content.decode()
    page = client.get(f"{address}review/").content.decode()
    assert f'<a class="button" href="{address}items/{first.pk}/">' in page
    assert f'href="{address}items/{second.pk}/"' in client.get(f"{address}items/{first.pk}/").content.decode()
    assert f'href="{address}items/{first.pk}/"' in client.get(f"{address}items/{second.pk}/").content.decode()


def test_an_item_without_annotations_offers_no_adjudication() -> None:
    [item] = make_items(make_project())
    client = client_of(make_member(item.project, Role.MANAGER).user)
    page = client.get(f"/annotate/{item.project.slug}/items/{item.pk}/").content.decode()
    assert "/adjudicate/" not in page
    assert f'href="/annotate/{item.project.slug}/under-way/"' in page


def test_empty_lists_say_what_to_do() -> None:
    project = make_project()
    client = client_of(make_member(project, Role.MANAGER).user)
    for page in ("review", "under-way"):
        shown = client.get(f"/annotate/{project.slug}/{page}/").content.decode()
        assert '<div class="empty">' in shown
        assert "</a></div>" in join_lines(shown)


def test_a_returned_annotation_comes_first() -> None:
    project = make_project()
    complete(project, 3)
    annotation = project.annotations.earliest("pk")
    reviewer = make_member(project, Role.ADJUDICATOR).user
    review.return_annotation(annotation=annotation, revision=annotation.revision, text="Tighter", by=reviewer)
    page = client_of(annotation.annotator).get(f"/annotate/{project.slug}/")
    assert page.context["annotations"][0] == annotation
    assert "1 annotation was returned to you." in page.content.decode()
    listed = client_of(annotation.annotator).get("/annotate/").content.decode()
    assert f'action="/annotate/{project.slug}/next/"' in listed


def test_an_open_adjudication_was_not_returned_to_anybody() -> None:
    project = make_project()
    [item] = complete(project, 1)
    by = make_member(project, Role.ADJUDICATOR).user
    adjudication = review.start_adjudication(item=item, document=Document(), by=by)
    assert adjudication.status == Annotation.Status.RETURNED
    page = client_of(by).get(f"/annotate/{project.slug}/").content.decode()
    assert "returned to you" not in page
    assert '<span class="pill pill-active">In progress</span>adjudication' in join_lines(page)


def test_a_closed_project_gives_no_items() -> None:
    annotation = make_annotation()
    Project.objects.update(status=Project.Status.CLOSED)
    assert "/next/" not in client_of(annotation.annotator).get("/annotate/").content.decode()
