"""Tests of batches, pace, order, labels and blind work over REST.

They use the client of the site itself.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from django.test import Client as Browser

from annotation.actions import assignments
from annotation.models import Membership, Project, Role
from tests.annotation.factories import finished, make_items, make_member
from tests.annotation.queries.test_suggestions import labelled
from tests.tokens import bearer
from touchstone.client import Client, Conflict, Invalid, NotAllowed, NotFound

pytestmark = pytest.mark.django_db

ASKED = ("Authorization", "Idempotency-Key", "If-Match", "Accept")


def client_of(member: Membership) -> Client:
    token = bearer(member.user)["Authorization"].removeprefix("Bearer ")
    return Client("http://testserver", token, transport=httpx.MockTransport(answer))


def answer(request: httpx.Request) -> httpx.Response:
    """Ask the site in this process."""
    response = Browser().generic(
        request.method,
        request.url.raw_path.decode(),
        request.content,
        content_type=request.headers.get("Content-Type", ""),
        headers={name: request.headers[name] for name in ASKED if name in request.headers},
    )
    return httpx.Response(response.status_code, headers=dict(response.items()), content=response.content)


@pytest.fixture
def manager() -> Membership:
    return make_member(role=Role.MANAGER)


def test_it_works(manager: Membership) -> None:
    project, annotator = manager.project, make_member(manager.project)
    make_items(project, 3)
    site, name = client_of(manager).projects, annotator.user.username
    batch = site.assign_batch(project.slug, "pilot", annotator=name, number=2, due_on="2020-01-31")
    assert (batch["items"], batch["finished"], batch["overdue"]) == (2, 0, True)
    finished(assignments.assign_next_annotation(member=annotator))
    assert [listed["finished"] for listed in client_of(annotator).projects.batches(project.slug)] == [1]
    assert site.change_due_date(project.slug, batch["id"], None)["overdue"] is False
    (row,) = site.pace(project.slug)
    assert (row["annotator"], row["submitted"]) == (name, 1)
    site.release_batch(project.slug, batch["id"])
    assert [listed["items"] for listed in site.batches(project.slug)] == [1]


def test_a_batch_takes_a_number_or_items_and_people_who_may_annotate(manager: Membership) -> None:
    slug, annotator = manager.project.slug, make_member(manager.project).user.username
    make_items(manager.project, 2)
    site = client_of(manager).projects
    wrong: list[dict[str, Any]] = [
        {"annotator": annotator},
        {"annotator": annotator, "number": 1, "items": ["i1"]},
        {"annotator": annotator, "items": ["i9"]},
        {"annotator": annotator, "items": ["i1", "i1"]},
        {"annotator": "nobody", "number": 1},
        {"annotator": annotator, "number": 0},
        {"annotator": annotator, "number": 1, "due_on": "soon"},
    ]
    for arguments in wrong:
        with pytest.raises(Invalid):
            site.assign_batch(slug, "pilot", **arguments)
    site.assign_batch(slug, "pilot", annotator=annotator, items=["i2"])
    with pytest.raises(Conflict):
        site.assign_batch(slug, "pilot", annotator=annotator, number=1)


def test_annotators_see_their_own_batches_and_strangers_none(manager: Membership) -> None:
    slug, annotator, other = manager.project.slug, make_member(manager.project), make_member(manager.project)
    make_items(manager.project, 1)
    batch = client_of(manager).projects.assign_batch(
        slug, "pilot", annotator=annotator.user.username, number=1
    )
    site = client_of(other).projects
    assert list(site.batches(slug)) == []
    for act in (
        lambda: site.release_batch(slug, batch["id"]),
        lambda: site.change_due_date(slug, batch["id"], None),
        lambda: site.pace(slug),
        lambda: site.assign_batch(slug, "more", annotator=other.user.username, number=1),
    ):
        with pytest.raises(NotAllowed):
            act()
    elsewhere = make_member(role=Role.MANAGER)
    with pytest.raises(NotFound):
        client_of(elsewhere).projects.release_batch(elsewhere.project.slug, batch["id"])


def test_the_client_orders_items_reads_labels_and_sets_blind_work(manager: Membership) -> None:
    make_items(manager.project, 3)
    site, slug = client_of(manager).projects, manager.project.slug
    assert site.order_items(slug, "last", items=["i1"]) == 1
    assert site.order_items(slug, "disputed") == 3
    assert site.labels(slug) == []
    person = make_member(manager.project).user.username
    assert site.set_member(slug, person, blind=True)["blind"] is True
    assert site.set_member(slug, person)["blind"] is True  # it stays as it is
    plain = make_member(labelled(), Role.MANAGER)
    layers = [dict(layer) for layer in client_of(plain).projects.labels(plain.project.slug)]
    changed = client_of(plain).projects.change_labels(plain.project.slug, layers)
    assert [layer["name"] for layer in changed] == [layer["name"] for layer in layers]


def test_the_due_date_of_a_project_is_a_setting(manager: Membership) -> None:
    site, slug = client_of(manager).projects, manager.project.slug
    etag = site.settings(slug).etag
    assert site.change_settings(slug, {"due_on": "2030-01-31"}, etag=etag).project["due_on"] == "2030-01-31"
    assert str(Project.objects.get(slug=slug).due_on) == "2030-01-31"
