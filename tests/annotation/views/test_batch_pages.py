"""Tests of the pages of batches, due dates and pace.

They cover managers, annotators and bad input.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.actions import assignments
from annotation.models import Batch, Membership, Project, Role
from tests.annotation.factories import finished, make_items, make_member
from tests.annotation.views.test_manager_pages import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager() -> Membership:
    member = make_member(role=Role.MANAGER)
    make_items(member.project, 3)
    return member


def page(client: Client, project: Project, part: str = "", status: int = 200) -> str:
    response = client.get(f"/annotate/{project.slug}/{part}")
    assert response.status_code == status
    return response.getvalue().decode()


def assign(client: Client, project: Project, status: int = 302, **fields: object) -> str:
    response = client.post(f"/annotate/{project.slug}/batches/assign/", fields)
    assert response.status_code == status
    return response.content.decode()


def test_a_manager_assigns_changes_and_releases_a_batch(manager: Membership) -> None:
    project, annotator, client = manager.project, make_member(manager.project), client_of(manager.user)
    assert "No batches yet" in page(client, project, "batches/")
    yesterday = (timezone.localdate() - timedelta(days=1)).isoformat()
    assign(client, project, name="Pilot", username=annotator.user, number=2, due_on=yesterday)
    text = page(client, project, "batches/")
    assert "Assigned 2 items to" in text
    assert f'value="{yesterday}"' in text
    assert "Overdue" in text
    assert "1 batch is overdue." in page(client, project)
    batch = Batch.objects.get()
    due = f"/annotate/{project.slug}/batches/{batch.pk}/due/"
    assert "Enter the due date" in client.post(due, {"due_on": "soon"}, follow=True).content.decode()
    assert "Overdue" not in client.post(due, {"due_on": ""}, follow=True).content.decode()
    finished(assignments.assign_next_annotation(member=annotator))
    text = client.post(f"/annotate/{project.slug}/batches/{batch.pk}/release/", follow=True).content.decode()
    assert "Released 1 item of batch Pilot." in text
    assert "Finished</span>" in text


def test_bad_batches_are_refused_in_words(manager: Membership) -> None:
    project, client = manager.project, client_of(manager.user)
    name = make_member(project).user.username
    for fields, problem in (
        ({"username": name}, "Give a number of items, or choose items"),
        ({"username": name, "number": 1, "items": "i1"}, "Give a number of items, or choose items"),
        ({"username": "nobody", "number": 1}, "may not annotate in this project"),
        ({"username": name, "items": "i1\n i9 \n"}, "There is no ordinary item i9"),
        ({"username": name, "number": 0}, "greater than or equal to 1"),
        ({"username": name, "number": 1, "due_on": "31.31.2030"}, "Enter a valid date"),
    ):
        assert problem in assign(client, project, 422, name="Pilot", **fields)
    assert not Batch.objects.exists()
    assign(client, project, name="Pilot", username=name, items=" i3 \n\ni1\ni3")
    assert [row.item.external_id for row in Batch.objects.get().annotations.order_by("pk")] == ["i3", "i1"]
    assert "choose another name" in assign(client, project, 422, name="Pilot", username=name, number=1)


def test_annotators_see_their_batch_and_due_dates_and_no_page_of_managers(manager: Membership) -> None:
    project, annotator = manager.project, make_member(manager.project)
    Project.objects.filter(pk=project.pk).update(due_on="2020-01-31")
    assign(
        client_of(manager.user), project, name="Pilot", username=annotator.user, number=2, due_on="2031-01-31"
    )
    client = client_of(annotator.user)
    text = page(client, project)
    assert "Pilot" in text
    assert "0 / 2" in text
    assert "2031-01-31" in text
    assert "2020-01-31" in text
    assert text.count("Overdue") == 1  # the project, not the batch
    assert "Overdue" in client.get("/annotate/").content.decode()
    annotation = assignments.assign_next_annotation(member=annotator)
    text = client.get(f"/annotate/annotation/{annotation.pk}/").content.decode()
    assert "Pilot: 0 of 2 items finished, due 2031-01-31" in text
    batch = Batch.objects.get()
    for part in ("batches/", "pace/"):
        page(client, project, part, 403)
    for part in ("assign/", f"{batch.pk}/due/", f"{batch.pk}/release/"):
        assert client.post(f"/annotate/{project.slug}/batches/{part}").status_code == 403
    elsewhere = make_member(role=Role.MANAGER)
    address = f"/annotate/{elsewhere.project.slug}/batches/{batch.pk}/release/"
    assert client_of(elsewhere.user).post(address).status_code == 404


def test_the_page_of_pace_has_charts_and_a_file(manager: Membership) -> None:
    project, client = manager.project, client_of(manager.user)
    assert "Nothing was submitted" in page(client, project, "pace/")
    annotator = make_member(project)
    finished(assignments.assign_next_annotation(member=annotator))
    text = page(client, project, "pace/?days=7")
    today = timezone.localdate().isoformat()
    assert f'aria-label="{today}: 1' in text
    assert 'aria-label="under 5 s: 1"' in text
    assert "Nothing was submitted" not in page(client, project, "pace/?days=x")
    lines = page(client, project, "pace/?format=csv").splitlines()
    assert lines[0] == "annotator,day,submitted,median_seconds"
    assert lines[1].startswith(f"{annotator.user},{today},1,")


def test_the_due_date_of_a_project_is_set_in_its_settings(manager: Membership) -> None:
    project, client = manager.project, client_of(manager.user)
    body = {"title": "Dogs", "reservation_minutes": 120, "due_on": "2031-01-31"}
    assert client.post(f"/annotate/{project.slug}/settings/", body).status_code == 302
    assert 'value="2031-01-31"' in page(client, project, "settings/")
    assert "2031-01-31" in page(client, project, "audit/")
